//! The page for researchers: who is where in the study, and how the others ended. It only reads, shows pseudonyms
//! alone, and is found by nobody without the token of its link.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::extract::{Path as Part, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Json, Router};
use protocol::hash::sha256_hex;
use serde::Serialize;
use store::data_folder::secret;
use store::{self, Session, SqliteStore};
use study::{Progress, Study};

use crate::http::secure_alone;

const PAGE: &str = include_str!("../pages/admin.html");
const SCRIPT: &str = include_str!("../pages/admin.js");
const STYLE: &str = include_str!("../pages/admin.css");

/// The study that the admin page shows, and the token that opens it.
#[derive(Debug)]
pub struct Admin {
    token: String,
    study: Arc<Study>,
    data: PathBuf,
}

/// How a study stands.
#[derive(Debug, Serialize)]
pub struct StudyStatus {
    /// The study that runs.
    pub study: RunningStudy,
    /// Every session, the newest first.
    pub sessions: Vec<Row>,
    /// How many ended in each outcome.
    pub outcomes: BTreeMap<String, usize>,
    /// How many episodes there are.
    pub episodes: Episodes,
}

/// The study that runs.
#[derive(Debug, Serialize)]
pub struct RunningStudy {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// Its title.
    pub title: String,
    /// SHA-256 of its canonical form.
    pub hash: String,
}

/// A session.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Pseudonym.
    pub participant: String,
    /// Id of the stage.
    pub stage: String,
    /// Position on the way, from 1.
    pub visit: usize,
    /// Length of the way, as far as it is drawn.
    pub visits: usize,
    /// How it ended; `None` while it runs.
    pub outcome: Option<String>,
    /// ISO-8601 UTC.
    pub began: String,
    /// ISO-8601 UTC.
    pub ended: Option<String>,
}

/// Counts of episodes.
#[derive(Debug, Default, Serialize)]
pub struct Episodes {
    /// Those that run.
    pub running: usize,
    /// Those that are over.
    pub over: usize,
}

impl Admin {
    /// The page of a data folder; its link is the same after every restart.
    ///
    /// # Errors
    /// The disk refused.
    pub fn open(study: Arc<Study>, data: &Path) -> std::io::Result<Self> {
        let mut token = sha256_hex(&secret(data, "admin.key")?);
        token.truncate(32);
        Ok(Self {
            token,
            study,
            data: data.to_owned(),
        })
    }

    /// Where the page is, below the address of the server.
    pub fn path(&self) -> String {
        format!("/admin/{}/", self.token)
    }

    /// How the study stands.
    ///
    /// # Errors
    /// The database failed.
    pub async fn status(&self) -> anyhow::Result<StudyStatus> {
        let store = SqliteStore::read(&self.data).await?;
        let sessions = store.sessions().await;
        store.close().await;
        let mut rows: Vec<Row> = sessions?
            .into_iter()
            .map(|session| self.row(session))
            .collect();
        rows.reverse();
        let mut outcomes = BTreeMap::new();
        for outcome in rows.iter().filter_map(|row| row.outcome.clone()) {
            *outcomes.entry(outcome).or_default() += 1;
        }
        let known = store::episodes(&self.data).await?;
        let over = known
            .iter()
            .filter(|episode| episode.reason.is_some())
            .count();
        let study = &self.study;
        Ok(StudyStatus {
            study: RunningStudy {
                id: study.id.clone(),
                version: study.version.clone(),
                title: study.title.usual().to_owned(),
                hash: study.hash.clone(),
            },
            sessions: rows,
            outcomes,
            episodes: Episodes {
                running: known.len() - over,
                over,
            },
        })
    }

    fn row(&self, session: Session) -> Row {
        let progress: Progress = serde_json::from_str(&session.position).unwrap_or_default();
        Row {
            participant: session.participant,
            stage: progress.stage(&self.study).id.clone(),
            visit: usize::from(progress.position()) + 1,
            visits: progress.count(&self.study).into(),
            outcome: session.outcome,
            began: session.created_at,
            ended: session.ended_at,
        }
    }
}

/// The routes of the page.
pub fn router(admin: Arc<Admin>) -> Router {
    Router::new()
        .route("/admin/{token}", get(without_slash))
        .route(
            "/admin/{token}/",
            get(async |who, token| file(who, token, "text/html; charset=utf-8", PAGE)),
        )
        .route(
            "/admin/{token}/page.js",
            get(async |who, token| file(who, token, "text/javascript; charset=utf-8", SCRIPT)),
        )
        .route(
            "/admin/{token}/page.css",
            get(async |who, token| file(who, token, "text/css; charset=utf-8", STYLE)),
        )
        .route("/admin/{token}/state", get(state))
        .layer(axum::middleware::map_response(secure_alone))
        .with_state(admin)
}

async fn without_slash(State(admin): State<Arc<Admin>>, Part(token): Part<String>) -> Response {
    match token == admin.token {
        true => Redirect::to(&admin.path()).into_response(),
        false => StatusCode::NOT_FOUND.into_response(),
    }
}

fn file(
    State(admin): State<Arc<Admin>>,
    Part(token): Part<String>,
    media: &'static str,
    text: &'static str,
) -> Response {
    match token == admin.token {
        true => (
            [
                (header::CONTENT_TYPE, media),
                (header::CACHE_CONTROL, "no-store"),
            ],
            text,
        )
            .into_response(),
        false => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn state(State(admin): State<Arc<Admin>>, Part(token): Part<String>) -> Response {
    if token != admin.token {
        return StatusCode::NOT_FOUND.into_response();
    }
    match admin.status().await {
        Ok(status) => Json(status).into_response(),
        Err(error) => {
            tracing::warn!(%error, "the status cannot be read");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
