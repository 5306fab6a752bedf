//! The researcher's dashboard: a page, and the interface that it and programs use (`pages/desk.openapi.json` describes it).
//!
//! Its view is a function of the arbiter's state ([`server_core::overview`]), and its deeds are orders to the
//! arbiter ([`server_core::desk`]): this module asks, formats and forwards. Pages of participants hear of neither.

mod access;
pub mod call;
mod error;
mod keys;
mod machine;
mod orders;
mod view;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use clock::Clock;
use store::SqliteStore;
use store::desk_keys::{DeskKeys, DeskRole, KeyKind};
use tokio::sync::{Mutex, Semaphore, mpsc};

use crate::disk::DiskRoom;
use crate::http::secure_alone;
use crate::world_faults::WorldFaults;
use call::DeskCall;
use view::Snapshot;

const PAGE: &str = include_str!("../../pages/desk.html");
const SCRIPT: &str = include_str!("../../pages/desk.js");
const STYLE: &str = include_str!("../../pages/desk.css");
const OPENAPI: &str = include_str!("../../pages/desk.openapi.json");

/// The most bytes of a request: more than any order has.
const MOST_BYTES: usize = 16 * 1024;

/// The most streams of news that are open at once.
const STREAMS: usize = 32;

/// The most requests that look a key up at once.
const REQUESTS: usize = 32;

/// The parts of a server that its dashboard uses.
#[derive(Debug)]
pub struct DeskParts {
    /// Calls to the driver.
    pub calls: mpsc::Sender<DeskCall>,
    /// The server's clock.
    pub clock: Clock,
    /// The disk of the data folder.
    pub disk: Arc<DiskRoom>,
    /// Environments that broke down.
    pub faults: Arc<WorldFaults>,
}

/// The dashboard of a server.
#[derive(Debug)]
pub struct Desk {
    parts: DeskParts,
    keys: DeskKeys,
    store: SqliteStore,
    data: PathBuf,
    /// True if browsers reach it by HTTPS.
    is_secure: bool,
    /// The last view, for all who look at the same time.
    seen: Mutex<Option<Arc<Snapshot>>>,
    streams: Arc<Semaphore>,
    requests: Semaphore,
}

impl Desk {
    /// Opens the dashboard of a data folder that a server has open.
    ///
    /// # Errors
    /// The database or the file of keys failed.
    pub async fn open(data: &Path, parts: DeskParts, is_secure: bool) -> anyhow::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            parts,
            keys: DeskKeys::open(data).await?,
            store: SqliteStore::open(data).await?,
            data: data.to_owned(),
            is_secure,
            seen: Mutex::default(),
            streams: Arc::new(Semaphore::new(STREAMS)),
            requests: Semaphore::new(REQUESTS),
        }))
    }

    /// Makes a link that signs one browser in, to administer; gives its part behind the address of the server.
    ///
    /// # Errors
    /// The file of keys failed.
    pub async fn make_link(&self) -> anyhow::Result<String> {
        let role = DeskRole::Administer;
        let made = self
            .keys
            .issue(KeyKind::Link, "", role, self.now_s())
            .await?;
        Ok(link_path(&made.1))
    }

    fn now_s(&self) -> u64 {
        self.parts.clock.now_us() / 1_000_000
    }
}

/// The part of a link to the dashboard behind the address of the server. The secret is in the fragment, which a browser
/// sends to nobody.
pub fn link_path(secret: &str) -> String {
    format!("/desk#key={secret}")
}

/// The routes of the dashboard.
pub fn router(desk: Arc<Desk>) -> Router {
    Router::new()
        .route(
            "/desk",
            get(async || page("text/html; charset=utf-8", PAGE)),
        )
        .route(
            "/desk/page.js",
            get(async || page("text/javascript; charset=utf-8", SCRIPT)),
        )
        .route(
            "/desk/page.css",
            get(async || page("text/css; charset=utf-8", STYLE)),
        )
        .route(
            "/desk/api/openapi.json",
            get(async || page("application/json", OPENAPI)),
        )
        .route("/desk/api/me", get(access::show_me))
        .route(
            "/desk/api/session",
            post(access::sign_in).delete(access::sign_out),
        )
        .route("/desk/api/keys", get(keys::list).post(keys::issue))
        .route("/desk/api/keys/{id}", delete(keys::revoke))
        .route("/desk/api/overview", get(view::show_overview))
        .route("/desk/api/events", get(view::stream_events))
        .route("/desk/api/interventions", get(orders::list_interventions))
        .route("/desk/api/recruitment", post(orders::set_recruitment))
        .route("/desk/api/places", post(orders::set_places))
        .route(
            "/desk/api/participants/{participant}/wait",
            post(orders::change_wait),
        )
        .route(
            "/desk/api/participants/{participant}/end",
            post(orders::end_session),
        )
        .route(
            "/desk/api/participants/{participant}/bonus",
            post(orders::correct_bonus),
        )
        .layer(DefaultBodyLimit::max(MOST_BYTES))
        .layer(axum::middleware::map_response(secure_alone))
        .with_state(desk)
}

fn page(media: &'static str, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, media),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, text).into_response()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    /// The routes above, read from this very file: what is added there has to be described.
    fn routes() -> BTreeSet<String> {
        let (text, _) = include_str!("mod.rs").split_once("#[cfg(test)]").unwrap();
        let parts = text
            .split('"')
            .filter(|part| part.starts_with("/desk/api/"));
        parts.map(str::to_owned).collect()
    }

    #[test]
    fn the_openapi_document_describes_every_route_and_no_other() {
        let document: Value = serde_json::from_str(OPENAPI).unwrap();
        let paths = document["paths"].as_object().unwrap();
        let mut described: BTreeSet<String> = paths.keys().cloned().collect();
        described.insert("/desk/api/openapi.json".to_owned());
        assert_eq!(described, routes());
    }
}
