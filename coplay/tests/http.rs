//! The routes, without a socket.

use std::path::{Path, PathBuf};

use axum::body::Body;
use axum::http::{Request, Response, StatusCode, header};
use protocol::hash::sha256_hex;
use server_core::limits::Limits;
use signaling_server::assets::Assets;
use signaling_server::http::build_handler;
use signaling_server::server::{Server, ServerOptions};
use signaling_server::site::{make_offline_site, make_site};
use store::StudyStore;
use tower::ServiceExt as _;

const MODULE: &[u8] = b"\0asm\x01\0\0\0";

/// A server of the example over a folder with these files of a front end.
async fn server(dir: &Path, files: &[(&str, &[u8])]) -> Server {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/overcooked-dyad");
    server_of(example, dir, files).await
}

async fn server_of(study: PathBuf, dir: &Path, files: &[(&str, &[u8])]) -> Server {
    let dist = dir.join("dist");
    std::fs::create_dir_all(dist.join("modules")).unwrap();
    std::fs::create_dir_all(dist.join("icons")).unwrap();
    for (name, bytes) in files {
        std::fs::write(dist.join(name), bytes).unwrap();
    }
    let options = ServerOptions {
        study,
        data: dir.join("data"),
        links: 1,
        open: false,
        assets: Assets::Folder(dist),
        limits: Limits::default(),
        turn: None,
        access: Default::default(),
        models: Default::default(),
        changed: Default::default(),
    };
    Server::start(options).await.unwrap()
}

async fn get(server: &Server, path: &str, accepts: &str) -> Response<Body> {
    ask(server, path, (header::ACCEPT_ENCODING, accepts)).await
}

async fn ask(
    server: &Server,
    path: &str,
    (name, value): (header::HeaderName, &str),
) -> Response<Body> {
    let request = Request::get(path)
        .header(name, value)
        .body(Body::empty())
        .unwrap();
    build_handler(server.app.clone())
        .oneshot(request)
        .await
        .unwrap()
}

fn value(response: &Response<Body>, name: header::HeaderName) -> &str {
    response
        .headers()
        .get(name)
        .map_or("", |value| value.to_str().unwrap())
}

async fn body(response: Response<Body>) -> Vec<u8> {
    axum::body::to_bytes(response.into_body(), 1 << 20)
        .await
        .unwrap()
        .to_vec()
}

#[tokio::test]
async fn pages_come_packed_where_the_browser_takes_it_and_under_a_strict_policy() {
    let dir = tempfile::tempdir().unwrap();
    let files: [(&str, &[u8]); 4] = [
        ("index.html", b"plain"),
        ("index.html.br", b"packed"),
        ("icons/favicon.svg", b"<svg/>"),
        ("modules/overcooked.wasm", MODULE),
    ];
    let server = server(dir.path(), &files).await;

    let page = get(&server, "/?s=token", "gzip, br").await;
    assert_eq!(value(&page, header::CONTENT_ENCODING), "br");
    assert_eq!(value(&page, header::CACHE_CONTROL), "no-cache");
    assert!(
        value(&page, header::CONTENT_SECURITY_POLICY)
            .starts_with("default-src 'self'; script-src 'self' 'wasm")
    );
    assert_eq!(body(page).await, b"packed");
    for accepts in ["gzip", "br;q=0", ""] {
        let page = get(&server, "/", accepts).await;
        assert_eq!(
            (value(&page, header::CONTENT_ENCODING), page.status()),
            ("", StatusCode::OK)
        );
        assert_eq!(body(page).await, b"plain");
    }
    let icon = get(&server, "/favicon.ico", "").await;
    assert_eq!(value(&icon, header::CONTENT_TYPE), "image/svg+xml");
    for path in [
        "/nothing.js",
        "/../data/links.key",
        "/%2e%2e/data/links.key",
        "/modules/overcooked.wasm",
    ] {
        assert_eq!(
            get(&server, path, "br").await.status(),
            StatusCode::NOT_FOUND,
            "{path}"
        );
    }
}

#[tokio::test]
async fn styles_in_the_page_are_named_by_their_hash_and_no_others_are_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let page = b"<style>abc</style><style></style>";
    let files: [(&str, &[u8]); 3] = [
        ("index.html", page),
        ("icons/a.svg", b"<svg/>"),
        ("modules/overcooked.wasm", MODULE),
    ];
    let server = server(dir.path(), &files).await;
    let policy = value(
        &get(&server, "/", "").await,
        header::CONTENT_SECURITY_POLICY,
    )
    .to_owned();
    let styles = policy
        .split("; ")
        .find(|part| part.starts_with("style-src"));
    assert_eq!(
        styles,
        Some(
            "style-src 'self' 'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=' \
             'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
        )
    );
    let icon = get(&server, "/icons/a.svg", "").await;
    assert!(value(&icon, header::CONTENT_SECURITY_POLICY).contains("style-src 'self';"));
}

/// A page as the build makes it, with the sentences of the first second in English.
const PAGE: &str = "<html lang=\"en\"><meta charset=\"utf-8\">\
    <script type=\"application/json\" id=\"first-texts\">[[\"en\",{\"first_heading\":\"Ready\"}]]</script></head>\
    <h1 data-text=\"first_heading\">Ready</h1><noscript>\n<p class=\"notice\" lang=\"en\">None</p></noscript></html>";

/// A study in French and English, without a server if one wants, that says some of its first sentences in its own words.
fn write_french_study(study: &Path) {
    std::fs::create_dir_all(study).unwrap();
    let files = [
        (
            "study.yaml",
            "format: 1\ntexts: fr.yaml\noffline: {}\n\
             study: {id: petite, version: 1.0.0, title: {fr: Petite, en: Small}, contact: lab@example.edu, \
             language: fr, languages: [fr, en]}\n\
             timeline: [{id: thanks, type: end, file: thanks.md}]\n",
        ),
        (
            "fr.yaml",
            "first_heading: 'Un <instant> & </script>'\nfirst_no_script: Activez JavaScript.\n",
        ),
        ("thanks.md", "# Merci\n"),
        ("thanks.en.md", "# Thanks\n"),
    ];
    for (name, text) in files {
        std::fs::write(study.join(name), text).unwrap();
    }
}

#[tokio::test]
async fn the_page_of_a_study_begins_in_its_languages_however_it_is_served() {
    let dir = tempfile::tempdir().unwrap();
    let study = dir.path().join("study");
    write_french_study(&study);
    let files: [(&str, &[u8]); 2] = [
        ("index.html", PAGE.as_bytes()),
        ("offline_wasm_bg.wasm", MODULE),
    ];
    let server = server_of(study.clone(), dir.path(), &files).await;
    let assets = Assets::Folder(dir.path().join("dist"));
    let scratch = dir.path().join("scratch");
    let site = make_site(&study, &assets, "wss://study.example.edu", &scratch).unwrap();
    let offline = make_offline_site(&study, &assets, &scratch).unwrap();
    let served = body(get(&server, "/", "br").await).await;
    for page in [
        &served[..],
        &site.files["index.html"],
        &offline.files["index.html"],
    ] {
        let page = std::str::from_utf8(page).unwrap();
        for part in [
            "<html lang=\"fr\">",
            "<h1 data-text=\"first_heading\">Un &lt;instant> &amp; &lt;/script></h1>",
            "<noscript>\n<p class=\"notice\" lang=\"fr\">Activez JavaScript.</p>\n\
             <p class=\"notice\" lang=\"en\">This study runs in your browser and needs JavaScript.",
            "id=\"first-texts\">[[\"fr\",{",
            "\"first_heading\":\"Un \\u003cinstant> & \\u003c/script>\"",
            "[\"en\",{",
            "\"first_heading\":\"Getting ready\"",
        ] {
            assert!(page.contains(part), "{part} is not in {page}");
        }
        assert!(
            !page.contains("<instant>") && !page.contains(">None<"),
            "{page}"
        );
    }
}

#[tokio::test]
async fn a_browser_that_has_the_page_is_told_so_until_it_changes() {
    let dir = tempfile::tempdir().unwrap();
    let files: [(&str, &[u8]); 2] = [
        ("index.html", b"plain"),
        ("modules/overcooked.wasm", MODULE),
    ];
    let server = server(dir.path(), &files).await;
    let again = async |tag| ask(&server, "/", (header::IF_NONE_MATCH, tag)).await;
    let tag = value(&get(&server, "/", "").await, header::ETAG).to_owned();
    let page = again(&tag).await;
    assert_eq!(page.status(), StatusCode::NOT_MODIFIED);
    assert_eq!(body(page).await, b"");
    let page = again("\"something older\"").await;
    assert_eq!(value(&page, header::ETAG), tag);
    assert_eq!(body(page).await, b"plain");
}

#[tokio::test]
async fn a_module_has_the_name_of_its_hash_and_never_changes() {
    let dir = tempfile::tempdir().unwrap();
    let files: [(&str, &[u8]); 2] = [("index.html", b"page"), ("modules/overcooked.wasm", MODULE)];
    let server = server(dir.path(), &files).await;
    let hash = sha256_hex(MODULE);
    let module = get(&server, &format!("/modules/{hash}.wasm"), "").await;
    assert_eq!(value(&module, header::CONTENT_TYPE), "application/wasm");
    assert_eq!(
        value(&module, header::CACHE_CONTROL),
        "public, max-age=31536000, immutable"
    );
    assert_eq!(body(module).await, MODULE);
    let kept = std::fs::read(dir.path().join(format!("data/modules/{hash}.wasm"))).unwrap();
    assert_eq!(kept, MODULE);
    let other = hash.replace(&hash[..8], "00000000");
    assert_eq!(
        get(&server, &format!("/modules/{other}.wasm"), "")
            .await
            .status(),
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn a_program_without_its_front_end_says_how_to_build_it() {
    let dir = tempfile::tempdir().unwrap();
    let server = server(dir.path(), &[]).await;
    let page = get(&server, "/", "br").await;
    assert_eq!(page.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(
        String::from_utf8(body(page).await)
            .unwrap()
            .contains("cargo xtask demo")
    );
    assert_eq!(get(&server, "/healthz", "").await.status(), StatusCode::OK);
}

#[tokio::test]
async fn looking_at_a_link_takes_no_session_and_nobody_may_frame_the_page() {
    let dir = tempfile::tempdir().unwrap();
    let files: [(&str, &[u8]); 2] = [("index.html", b"page"), ("modules/overcooked.wasm", MODULE)];
    let server = server(dir.path(), &files).await;
    let link = format!("/?s={}", server.links[0]);
    for method in ["GET", "HEAD"] {
        let request = Request::builder().method(method).uri(&link);
        let request = request
            .header("sec-purpose", "prefetch")
            .body(Body::empty());
        let answer = build_handler(server.app.clone())
            .oneshot(request.unwrap())
            .await;
        let answer = answer.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        let policy = value(&answer, header::CONTENT_SECURITY_POLICY);
        assert!(
            policy.ends_with("form-action 'none'; frame-ancestors 'self'"),
            "{policy}"
        );
    }
    let store = StudyStore::read(&dir.path().join("data")).await.unwrap();
    assert!(store.sessions().await.unwrap().is_empty());
}
