//! The replays that participants watch: computed from the logs of their own episodes, for the pages of their sessions.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use protocol::Seat;
use replay::{FILM_FILES, Film, FilmOrder};
use serde::Deserialize;
use server_core::token::token_hash;
use store::StudyStore;
use study::stage::{ClipView, WatchClip};
use study::{StageKind, Study};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::app::App;
use crate::assets::media_type;
use crate::replays::{open_log, stored_files};

/// The longest request, bytes.
const MAX_REQUEST: usize = 1_024;

/// The replays that a server gives out.
#[derive(Debug)]
pub struct Films {
    data: PathBuf,
    /// The clips of each watch stage.
    clips: BTreeMap<String, Vec<WatchClip>>,
    /// Only one is computed at a time.
    slot: Arc<Semaphore>,
}

/// A page asks for a clip.
#[derive(Debug, Deserialize)]
struct FilmRequest {
    /// The token of its session.
    session: String,
    /// The id of the stage.
    stage: String,
    /// The number of the clip, from 1.
    clip: usize,
}

impl Films {
    /// The replays of a study and of its data folder.
    pub fn new(study: &Study, data: &std::path::Path) -> Self {
        let clips = study.timeline.iter().filter_map(|stage| match &stage.kind {
            StageKind::Watch(watch) => Some((stage.id.clone(), watch.clips.clone())),
            _ => None,
        });
        Self {
            data: data.to_owned(),
            clips: clips.collect(),
            slot: Arc::new(Semaphore::new(1)),
        }
    }

    /// Returns the film of a clip, packed; `None` if the session has no such episode, or somebody withdrew it. The
    /// permit is held until the computation is over, even if nobody waits for it any more.
    async fn compute(
        &self,
        request: &FilmRequest,
        permit: OwnedSemaphorePermit,
    ) -> anyhow::Result<Option<Vec<u8>>> {
        let clips = self.clips.get(&request.stage);
        let at = request.clip.checked_sub(1);
        let Some(clip) = clips.zip(at).and_then(|(clips, at)| clips.get(at)) else {
            return Ok(None);
        };
        let Some((episode, seat)) = self.find_episode(&request.session, clip).await? else {
            return Ok(None);
        };
        let log = open_log(&self.data, &episode)?;
        let withdrawn = store::withdrawn(&self.data).await?;
        if withdrawn.groups.contains(&log.header.group) {
            return Ok(None);
        }
        let order = FilmOrder {
            view: (clip.view == ClipView::Own).then_some(Seat(seat)),
            own: Some(Seat(seat)),
            from_s: clip.from_s,
            to_s: clip.to_s,
        };
        let stored = stored_files(&self.data);
        let work = move || {
            let _permit = permit;
            Film::compute(&log, stored, order).map(|film| film.pack())
        };
        let packed = tokio::task::spawn_blocking(work).await?;
        packed.context("the simulation").map(Some)
    }

    /// The episode of a clip, and the seat of the person of the session in it.
    async fn find_episode(
        &self,
        session: &str,
        clip: &WatchClip,
    ) -> anyhow::Result<Option<(String, u8)>> {
        let Some(store) = StudyStore::find(&self.data).await? else {
            return Ok(None);
        };
        let played = store
            .list_last_episodes(&token_hash(session), &clip.stage)
            .await;
        store.close().await;
        let mut played = played?;
        Ok(match clip.episode {
            None => played.pop(),
            Some(number) => played.into_iter().nth(usize::from(number) - 1),
        })
    }
}

/// `POST /film`: a replay for the page of a session. Pages of sites ask from another origin; nobody finds anything
/// without the token of a session.
pub(crate) async fn serve_film(State(app): State<Arc<App>>, body: Bytes) -> Response {
    let parsed = (body.len() <= MAX_REQUEST).then(|| serde_json::from_slice(&body).ok());
    let Some(request) = parsed.flatten() else {
        return (StatusCode::BAD_REQUEST, "This is no request for a film.\n").into_response();
    };
    let Ok(permit) = Arc::clone(&app.films.slot).acquire_owned().await else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let found = app.films.compute(&request, permit).await;
    let packed = found.unwrap_or_else(|error| {
        tracing::warn!("a film cannot be shown: {error:#}");
        None
    });
    let resource_policy = HeaderName::from_static("cross-origin-resource-policy");
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::CACHE_CONTROL, "no-store"),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (resource_policy, "cross-origin"),
    ];
    match packed {
        Some(packed) => (headers, packed).into_response(),
        None => (StatusCode::NOT_FOUND, headers, "There is no such film.\n").into_response(),
    }
}

/// `/film/…`: a file of the component that shows films on pages.
pub(crate) async fn serve_film_file(Path(name): Path<String>) -> Response {
    let found = FILM_FILES.iter().find(|(known, _)| *known == name);
    match found {
        Some((name, text)) => {
            let headers = [
                (header::CONTENT_TYPE, media_type(name)),
                (header::CACHE_CONTROL, "no-cache"),
            ];
            (headers, *text).into_response()
        }
        None => (StatusCode::NOT_FOUND, "There is nothing here.\n").into_response(),
    }
}
