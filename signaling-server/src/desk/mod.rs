//! The researcher's dashboard: a page, and the interface that it and programs use (`pages/desk.openapi.json` describes it).
//!
//! Its view is a function of the arbiter's state ([`server_core::overview`]), and its deeds are orders to the
//! arbiter ([`server_core::desk`]): this module asks, formats and forwards. Pages of participants hear of neither.

mod access;
pub mod call;
mod error;
mod keys;
mod machine;
mod messages;
mod orders;
mod state;
mod tables;
mod view;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};

use crate::http::secure_alone;
pub use state::{Desk, DeskParts, link_path};
pub use tables::TableWriter;

const PAGE: &str = include_str!("../../pages/desk.html");
const SCRIPT: &str = include_str!("../../pages/desk.js");
const MESSAGES: &str = include_str!("../../pages/desk_messages.js");
const PARTS: &str = include_str!("../../pages/desk_parts.js");
const STYLE: &str = include_str!("../../pages/desk.css");
const OPENAPI: &str = include_str!("../../pages/desk.openapi.json");

/// The most bytes of a request: more than any order has.
const MOST_BYTES: usize = 16 * 1024;

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
            "/desk/messages.js",
            get(async || page("text/javascript; charset=utf-8", MESSAGES)),
        )
        .route(
            "/desk/parts.js",
            get(async || page("text/javascript; charset=utf-8", PARTS)),
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
            "/desk/api/participants/{participant}/room",
            post(orders::move_to_room),
        )
        .route(
            "/desk/api/participants/{participant}/end",
            post(orders::end_session),
        )
        .route(
            "/desk/api/participants/{participant}/bonus",
            post(orders::correct_bonus),
        )
        .route(
            "/desk/api/participants/{participant}/seat",
            post(orders::give_seat),
        )
        .route(
            "/desk/api/messages",
            get(messages::list_all).post(messages::write_to_everybody),
        )
        .route(
            "/desk/api/groups/{group}/messages",
            post(messages::write_to_group),
        )
        .route(
            "/desk/api/participants/{participant}/messages",
            get(messages::list_of).post(messages::write_to_participant),
        )
        .route(
            "/desk/api/participants/{participant}/messages/read",
            post(messages::mark_read),
        )
        .route(
            "/desk/api/participants/{participant}/check",
            post(messages::check_attention),
        )
        .route("/desk/api/tables/{format}", get(tables::download))
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

    /// Reads the routes above from this file: added routes must be described.
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
