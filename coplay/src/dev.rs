//! `coplay dev`: a study that is loaded again whenever its folder changes. Pages follow, and show its faults.
//!
//! Its data are only for trying: their folder says so, and they are reset when stages, blocks or factors change.

mod watch;

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, ensure};
use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use catalog::StartError;
use catalog::lint::{self, Found};
use catalog::read_study;
use serde::Serialize;
use signaling_server::desk::{self, Desk};
use signaling_server::http::secure_alone;
use signaling_server::replays::{self, SharedReplays};
use signaling_server::server::{Server, ServerOptions};
use signaling_server::world_faults::{WorldFault, WorldFaults};
use store::data_folder;
use store::study_version::{self, OnStudyChange};
use study::plural::count;
use study::{Problem, Study};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::downloads::make_table_writer;
use watch::Watch;

const SCRIPT: &str = include_str!("../pages/dev.js");
const STYLE: &str = include_str!("../pages/dev.css");

/// The style sheet and script that are added to the page of a participant.
const HEAD: &str = "<link rel=\"stylesheet\" href=\"/dev/page.css\">\n<script src=\"/dev/page.js\"></script>\n</head>";

/// The longest page that it is added to, bytes.
const MAX_PAGE: usize = 1024 * 1024;

/// The file that marks a data folder as one for trying.
const TRIAL: &str = "trial";

/// The files that stay when a data folder is reset, so that printed links stay valid.
const KEPT: [&str; 6] = [
    TRIAL,
    "lock",
    "links.key",
    "desk.sqlite",
    "replay.key",
    "turn.secret",
];

/// The state of the study, as its pages learn it.
#[derive(Clone, Debug, Default, Serialize)]
struct News {
    /// How often the study was loaded.
    loaded: u32,
    /// How often its data were reset.
    anew: u32,
    /// The faults of the study as it is in the folder now.
    faults: Vec<Found>,
    /// The environments that broke down since it was loaded.
    breakdowns: Vec<WorldFault>,
}

type Shared = Arc<Mutex<News>>;

/// The state for pages: the study, and the environments that broke down.
type Told = (Shared, Arc<WorldFaults>);

/// Tells if a data folder is for trying.
pub fn is_trial(data: &Path) -> bool {
    data.join(TRIAL).is_file()
}

/// Deletes the content of a data folder for trying, except the files of its links.
///
/// # Errors
/// The disk refused.
fn begin_anew(data: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(data)? {
        let entry = entry?;
        if KEPT.iter().any(|kept| entry.file_name() == *kept) {
            continue;
        }
        let path = entry.path();
        let removed = match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(&path),
            false => fs::remove_file(&path),
        };
        removed.with_context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(())
}

/// Prepares a data folder for a study. Returns true if it was reset, because people in it walked another route.
fn prepare(data: &Path, study: &Study, fresh: bool) -> anyhow::Result<bool> {
    if !data_folder::is_there(data) {
        return Ok(false);
    }
    ensure!(
        is_trial(data),
        "{} holds data that `coplay dev` has not made; dev throws its data away when the study changes, so name a folder of its own with --data",
        data.display()
    );
    let kept = study_version::list_kept(data)?;
    let is_other = kept.iter().any(|text| !study.walks_as(text));
    if fresh || is_other {
        begin_anew(data)?;
    }
    Ok(fresh || is_other)
}

/// Runs a study until `stop`, and loads it again whenever its folder changes if `reload` says so; `fresh` deletes
/// earlier data. `told` gets the first start, with the link to the dashboard after the address of the server.
///
/// # Errors
/// The study is wrong at the start, or the server failed.
pub async fn run(
    options: ServerOptions,
    reload: bool,
    fresh: bool,
    listener: TcpListener,
    mut stop: impl Future<Output = ()> + Unpin,
    told: impl FnOnce(&Server, &str) -> std::io::Result<()>,
) -> Result<(), StartError> {
    let news = Shared::default();
    let (mut told, mut fresh) = (Some(told), fresh);
    let listener = listener.into_std().context("the listener")?;
    let mut watch = Watch::of(&options.study, &options.data);
    loop {
        let (study, _) = read_study(&options.study).map_err(StartError::Study)?;
        let anew = prepare(&options.data, &study, fresh)?;
        if anew && !fresh {
            eprintln!(
                "the id, stages, blocks or factors changed, so the data of earlier trials were deleted"
            );
        }
        fresh = false;
        let hash = study.hash.clone();
        let server = Server::start(ServerOptions {
            changed: OnStudyChange::Carry,
            ..options.clone()
        });
        let server = server.await?;
        fs::write(
            options.data.join(TRIAL),
            "Data of `coplay dev`: made for trying, thrown away when the study changes.\n",
        )
        .context("the data folder")?;
        let desk = server.open_desk(false).await?;
        desk.offer_tables(make_table_writer());
        if let Some(told) = told.take() {
            let link = desk.make_link().await?;
            told(&server, &link).context("the standard output")?;
        }
        {
            let mut news = news.lock().expect("nobody panics with it");
            news.loaded += 1;
            news.anew += u32::from(anew);
            news.faults.clear();
        }
        let replays = server.replays().context("the data folder")?;
        let server = with_pages(
            server,
            Arc::clone(&desk),
            replays,
            reload.then(|| Arc::clone(&news)),
        );
        let listener = listener
            .try_clone()
            .and_then(TcpListener::from_std)
            .context("the listener")?;
        let (halt, halted) = oneshot::channel::<()>();
        let mut serving = tokio::spawn(server.serve(listener, async { drop(halted.await) }));
        let again = tokio::select! {
            () = &mut stop => false,
            ended = &mut serving => return ended.context("the server")?.map_err(StartError::Other),
            () = next_version(&mut watch, &options.study, &hash, &news), if reload => true,
        };
        // If it is gone already, its own result says why.
        let _ = halt.send(());
        serving.await.context("the server")??;
        desk.close().await;
        if !again {
            return Ok(());
        }
    }
}

/// Waits for a different version of the study without faults; reports the faults of versions before it.
async fn next_version(watch: &mut Watch, dir: &Path, hash: &str, news: &Shared) {
    loop {
        let files = watch.list_changed().await;
        let files: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
        let faults = match read_study(dir) {
            Ok((study, _)) if study.hash != hash => {
                eprintln!("{} changed: the study is loaded again", files.join(", "));
                return;
            }
            Ok(_) => Vec::new(),
            Err(problems) => told_faults(dir, problems),
        };
        news.lock().expect("nobody panics with it").faults = faults;
    }
}

fn told_faults(dir: &Path, problems: Vec<Problem>) -> Vec<Found> {
    let found = lint::list_found(dir, problems);
    let count = count(found.len(), "fault");
    eprintln!(
        "{}: changed, with {count}; the last version without faults keeps running",
        dir.display()
    );
    found.iter().for_each(|fault| eprintln!("{fault}\n"));
    found
}

/// Adds the dashboard to a server, and, with news, what its pages follow them by.
fn with_pages(
    server: Server,
    desk: Arc<Desk>,
    replays: SharedReplays,
    news: Option<Shared>,
) -> Server {
    let replays = replays::router(replays.for_desk(desk.clone()));
    let desk = desk::router(desk).merge(replays);
    let faults = Arc::clone(&server.faults);
    server.wrapped(move |router| match news {
        None => router.merge(desk),
        Some(news) => Router::new()
            .route("/dev/state", get(state))
            .route(
                "/dev/page.js",
                get(async || text("text/javascript; charset=utf-8", SCRIPT)),
            )
            .route(
                "/dev/page.css",
                get(async || text("text/css; charset=utf-8", STYLE)),
            )
            .layer(axum::middleware::map_response(secure_alone))
            .with_state((news, faults))
            .merge(desk)
            .merge(router.layer(axum::middleware::from_fn(followed))),
    })
}

async fn state(State((news, faults)): State<Told>) -> Response {
    let mut news = news.lock().expect("nobody panics with it").clone();
    news.breakdowns = faults.list();
    ([(header::CACHE_CONTROL, "no-store")], Json(news)).into_response()
}

fn text(media: &'static str, text: &'static str) -> Response {
    (
        [
            (header::CONTENT_TYPE, media),
            (header::CACHE_CONTROL, "no-store"),
        ],
        text,
    )
        .into_response()
}

/// Lets the page of a participant follow the news.
async fn followed(mut request: Request, next: Next) -> Response {
    if request.uri().path() != "/" {
        return next.run(request).await;
    }
    // What is packed or not sent at all cannot be added to.
    request.headers_mut().remove(header::ACCEPT_ENCODING);
    request.headers_mut().remove(header::IF_NONE_MATCH);
    let (mut parts, body) = next.run(request).await.into_parts();
    let Ok(bytes) = axum::body::to_bytes(body, MAX_PAGE).await else {
        return parts.into_response();
    };
    let page = String::from_utf8_lossy(&bytes).replacen("</head>", HEAD, 1);
    parts.headers.remove(header::ETAG);
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, page.into())
}
