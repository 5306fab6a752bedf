//! The routes: the front end, environment modules, networks, media, and the door to the session.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use protocol::hash::sha256_hex;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use study::recruitment::Provider;

use crate::app::{App, own_bytes};
use crate::assets::media_type;
use crate::films;
use crate::http_range::{Range, find_range};
use crate::socket;

/// The content security policy of pages: their own files, one session (`ws: wss:`, or the server of a site), nothing else.
/// The styles come last: a caller may add their hashes.
pub(crate) fn make_policy(session: &str) -> String {
    format!(
        "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' data: blob:; \
         connect-src 'self' {session}; worker-src 'self' blob:; object-src 'none'; base-uri 'none'; style-src 'self'"
    )
}

/// The addition for Mechanical Turk: its pages embed the study, and take the form that is handed in.
const MTURK: &str = "; form-action https://www.mturk.com https://workersandbox.mturk.com; frame-ancestors 'self' \
     https://www.mturk.com https://worker.mturk.com https://workersandbox.mturk.com https://requester.mturk.com \
     https://requestersandbox.mturk.com";

/// The page of a server that was built without its front end.
const NO_FRONT_END: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>Coplay</title>\
     <h1>The front end is not built</h1><p>This server runs, but it was built without its pages. \
     Run <code>cargo xtask demo</code> in the checkout, or name a built folder with <code>--dist</code>.</p></html>";

/// Builds the whole service.
pub fn build_handler(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(index))
        .route("/healthz", get(healthz))
        .route("/session", get(socket::upgrade))
        .route("/site", get(answer_site))
        .route("/film", post(films::serve_film))
        .route("/film/{file}", get(films::serve_film_file))
        .route("/modules/{file}", get(module))
        .route("/networks/{file}", get(network))
        .route("/pyodide/{version}/{file}", get(python))
        .route("/media/{file}", get(media))
        .fallback(get(asset))
        .layer(axum::middleware::map_response_with_state(
            Arc::clone(&app),
            secure,
        ))
        .with_state(app)
}

async fn healthz(State(app): State<Arc<App>>) -> Response {
    match app.disk.find_fault() {
        Some(fault) => (StatusCode::SERVICE_UNAVAILABLE, format!("{fault}\n")).into_response(),
        None => "ok\n".into_response(),
    }
}

async fn index(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let page = match app.sentences.is_none() && app.parents.is_empty() {
        true => serve(&app, "index.html", &headers),
        false => index_of_study(&app),
    };
    match page {
        Some(mut page) => {
            page.extensions_mut().insert(Styles::of(&app));
            page
        }
        None => (StatusCode::SERVICE_UNAVAILABLE, Html(NO_FRONT_END)).into_response(),
    }
}

/// The page with the sentences of the study in it, and the origins of pages around it.
fn index_of_study(app: &App) -> Option<Response> {
    let page = app.assets.read("index.html")?;
    let mut page = String::from_utf8_lossy(&page).into_owned();
    if let Some(sentences) = &app.sentences {
        page = sentences.enter(&page);
    }
    if !app.parents.is_empty() {
        let parents = app.parents.join(" ");
        let element = format!("<meta name=\"coplay-parents\" content=\"{parents}\"></head>");
        page = page.replacen("</head>", &element, 1);
    }
    Some(respond(
        media_type("index.html"),
        "no-cache",
        page.into_bytes().into(),
        false,
    ))
}

/// The styles in the page itself, as its policy names them: exactly these texts, and no others.
#[derive(Clone)]
struct Styles(String);

impl Styles {
    fn of(app: &App) -> Self {
        let page = app.assets.read("index.html").unwrap_or_default();
        Self(name_styles(&String::from_utf8_lossy(&page)))
    }
}

/// The styles in a page, as its policy names them.
pub(crate) fn name_styles(page: &str) -> String {
    let texts = page.split("<style>").skip(1);
    let texts = texts.filter_map(|text| Some(text.split_once("</style>")?.0));
    let named = |text| format!(" 'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)));
    texts.map(named).collect()
}

async fn asset(State(app): State<Arc<App>>, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    let icon = || {
        (path == "favicon.ico")
            .then(|| serve(&app, "icons/favicon.svg", &headers))
            .flatten()
    };
    serve(&app, path, &headers)
        .or_else(icon)
        .unwrap_or_else(not_found)
}

/// The parameter of the question that names the version of a site.
const BUILT: &str = "built=";

#[derive(Serialize)]
struct SiteAnswer {
    fault: Option<String>,
}

/// Answers `/site`: tells the page of a site what is wrong with it. Any origin may read that, and nothing else.
async fn answer_site(State(app): State<Arc<App>>, uri: Uri, headers: HeaderMap) -> Response {
    let origin = headers.get(header::ORIGIN).and_then(|it| it.to_str().ok());
    let asked = uri.query().unwrap_or_default().split('&');
    let built = asked.filter_map(|part| part.strip_prefix(BUILT)).next();
    let fault = (app.sites).find_fault(origin.unwrap_or_default(), built.unwrap_or_default());
    let resource_policy = HeaderName::from_static("cross-origin-resource-policy");
    let open = [
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (header::CACHE_CONTROL, "no-store"),
        (resource_policy, "cross-origin"),
    ];
    (open, Json(SiteAnswer { fault })).into_response()
}

/// The header of an archive, with the version of the release of Python that runs it.
const PYTHON: HeaderName = HeaderName::from_static("coplay-pyodide");

/// The header with the unpacked size of a file, for progress.
const SIZE: HeaderName = HeaderName::from_static("coplay-size");

/// The time that a browser may cache a file that is named by its hash: it never changes.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// A module under its hash: `<sha256>.wasm`, or the facts of a hosted environment: `<sha256>.facts`.
async fn module(
    State(app): State<Arc<App>>,
    Path(file): Path<String>,
    headers: HeaderMap,
) -> Response {
    if let Some(hash) = file.strip_suffix(".facts") {
        return match app.facts(hash) {
            Some(facts) => respond("application/json", IMMUTABLE, facts.into(), false),
            None => not_found(),
        };
    }
    let Some(found) = file.strip_suffix(".wasm").and_then(|hash| app.module(hash)) else {
        return not_found();
    };
    // The source of a world on a host is nobody's but the researcher's.
    if page_python::is_source(&found.bytes) {
        return not_found();
    }
    if page_python::is_archive(&found.bytes) {
        return archive(found.bytes);
    }
    match found.packed.filter(|_| accepts_brotli(&headers)) {
        Some(packed) => respond("application/wasm", IMMUTABLE, packed, true),
        None => respond("application/wasm", IMMUTABLE, found.bytes, false),
    }
}

/// An environment in Python, with the version of the release that runs it.
fn archive(bytes: Bytes) -> Response {
    let manifest = page_python::Manifest::read(&bytes);
    let version = manifest.map(|manifest| HeaderValue::try_from(manifest.pyodide));
    let Ok(Ok(version)) = version else {
        return not_found();
    };
    let mut response = respond("application/zip", IMMUTABLE, bytes, false);
    response.headers_mut().insert(PYTHON, version);
    response
}

/// A file of the release of Python that pages load.
async fn python(Path((version, file)): Path<(String, String)>, headers: HeaderMap) -> Response {
    let found = tokio::task::spawn_blocking(move || {
        let release = page_python::find_release(Some(&version))?;
        release.read_file(&file).map(|bytes| (file, bytes))
    });
    let Ok(Some((file, served))) = found.await else {
        return not_found();
    };
    let is_packed = served.packed.is_some() && accepts(&headers, "gzip");
    let size = HeaderValue::from(served.bytes.len());
    let body = served.packed.filter(|_| is_packed).unwrap_or(served.bytes);
    let mut response = respond(media_type(&file), IMMUTABLE, body.into(), false);
    let headers = response.headers_mut();
    headers.insert(SIZE, size);
    if is_packed {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// The network of an AI partner under its hash: `<sha256>.network`.
async fn network(State(app): State<Arc<App>>, Path(file): Path<String>) -> Response {
    let found = file.strip_suffix(".network");
    match found.and_then(|hash| app.network(hash)) {
        Some(bytes) => respond("application/octet-stream", IMMUTABLE, bytes, false),
        None => not_found(),
    }
}

/// The policy of an SVG that somebody opens by itself: it may only be seen.
const PICTURE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// A picture or video under its hash: all of it, or the range that a video player asks for.
async fn media(
    State(app): State<Arc<App>>,
    Path(file): Path<String>,
    headers: HeaderMap,
) -> Response {
    let Some(found) = app.media.get(&file) else {
        return not_found();
    };
    let all = Bytes::from_owner(Arc::clone(&found.bytes));
    let asked = headers
        .get(header::RANGE)
        .and_then(|range| range.to_str().ok());
    let (status, body, content_range) = match find_range(asked, all.len()) {
        Range::All => (StatusCode::OK, all, None),
        Range::Part(part) => {
            let told = format!("bytes {}-{}/{}", part.start, part.end - 1, all.len());
            (StatusCode::PARTIAL_CONTENT, all.slice(part), Some(told))
        }
        Range::Beyond => {
            let told = format!("bytes */{}", all.len());
            (StatusCode::RANGE_NOT_SATISFIABLE, Bytes::new(), Some(told))
        }
    };
    let fixed = [
        (header::CONTENT_TYPE, found.media_type()),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (header::ACCEPT_RANGES, "bytes"),
        (header::CONTENT_SECURITY_POLICY, PICTURE_POLICY),
    ];
    let mut response = (status, fixed, body).into_response();
    if let Some(told) = content_range {
        let told = HeaderValue::try_from(told).expect("digits are a header value");
        response.headers_mut().insert(header::CONTENT_RANGE, told);
    }
    response
}

/// A file of the front end, from its Brotli form where there is one and the browser takes it.
/// Answers "not modified" to a browser that still has these very bytes.
fn serve(app: &App, path: &str, headers: &HeaderMap) -> Option<Response> {
    let packed = accepts_brotli(headers)
        .then(|| app.assets.read(&format!("{path}.br")))
        .flatten();
    let is_packed = packed.is_some();
    let bytes = packed.or_else(|| app.assets.read(path))?;
    let tag = format!("\"{}\"", sha256_hex(&bytes));
    let known = headers
        .get(header::IF_NONE_MATCH)
        .is_some_and(|known| known == tag.as_str());
    let mut response = if known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        respond(media_type(path), "no-cache", own_bytes(bytes), is_packed)
    };
    let tag = HeaderValue::try_from(tag).expect("hex digits in quotes are a header value");
    response.headers_mut().insert(header::ETAG, tag);
    Some(response)
}

fn respond(media: &'static str, cache: &'static str, bytes: Bytes, packed: bool) -> Response {
    let mut response = Response::new(Body::from(bytes));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if packed {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("br"));
    }
    response
}

fn accepts_brotli(headers: &HeaderMap) -> bool {
    accepts(headers, "br")
}

fn accepts(headers: &HeaderMap, coding: &str) -> bool {
    let listed = headers
        .get(header::ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok())
        .unwrap_or("");
    listed.split(',').any(|listed| {
        let mut parts = listed.split(';').map(str::trim);
        parts.next() == Some(coding) && parts.next() != Some("q=0")
    })
}

fn not_found() -> Response {
    (StatusCode::NOT_FOUND, "There is nothing here.\n").into_response()
}

async fn secure(State(app): State<Arc<App>>, response: Response) -> Response {
    let policy = match app.provider {
        Provider::Mturk => MTURK,
        _ => ALONE,
    };
    // The frames come last in both.
    let parents = app.parents.iter().map(|origin| format!(" {origin}"));
    secured(
        response,
        &parents.fold(policy.to_owned(), |policy, parent| policy + &parent),
    )
}

/// The addition for a page that is in no frame of others.
const ALONE: &str = "; form-action 'none'; frame-ancestors 'self'";

/// Adds the policy of a page that is in no frame of others.
pub async fn secure_alone(response: Response) -> Response {
    secured(response, ALONE)
}

fn secured(mut response: Response, own: &str) -> Response {
    let styles = response.extensions_mut().remove::<Styles>();
    let styles = styles.map_or(String::new(), |Styles(styles)| styles);
    let policy = HeaderValue::try_from(format!("{}{styles}{own}", make_policy("ws: wss:")));
    let policy = policy.expect("the policies are plain text");
    let headers = response.headers_mut();
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(policy);
    let fixed = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in fixed {
        let value = HeaderValue::from_static(value);
        response.headers_mut().entry(name).or_insert(value);
    }
    response
}
