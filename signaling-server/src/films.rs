//! The replays that participants watch: computed from the logs of their own episodes, for the pages of their sessions, or
//! from those of clips of AI partners.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use protocol::Seat;
use protocol::log::read_log;
use replay::{FILM_FILES, Film, FilmOrder};
use serde::Deserialize;
use server_core::token::token_hash;
use store::StudyStore;
use store::data_folder::clip_file;
use study::stage::{ClipSource, ClipView, WatchClip};
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
    /// The hash of the study.
    study: String,
    /// The films of clips of AI partners that somebody has watched, by stage and number: they are the same for everybody.
    made: Mutex<BTreeMap<(String, usize), Bytes>>,
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
            study: study.hash.clone(),
            made: Mutex::default(),
            slot: Arc::new(Semaphore::new(1)),
        }
    }

    /// Returns the film of a clip, packed; `None` if the session has no such episode, or somebody withdrew it. The
    /// permit is held until the computation is over, even if nobody waits for it any more.
    async fn compute(
        &self,
        request: &FilmRequest,
        permit: OwnedSemaphorePermit,
    ) -> anyhow::Result<Option<Bytes>> {
        let clips = self.clips.get(&request.stage);
        let at = request.clip.checked_sub(1);
        let Some(clip) = clips.zip(at).and_then(|(clips, at)| clips.get(at)) else {
            return Ok(None);
        };
        let (log, seat) = match &clip.source {
            ClipSource::Partners(_) => {
                if let Some(packed) = self.find_made(request) {
                    return Ok(Some(packed));
                }
                let path = clip_file(&self.data, &self.study, &request.stage, request.clip);
                let bytes = std::fs::read(&path).with_context(|| path.display().to_string())?;
                (read_log(&bytes)?, None)
            }
            ClipSource::Own { stage, episode } => {
                let played = self.find_episode(&request.session, stage, *episode);
                let Some((episode, seat)) = played.await? else {
                    return Ok(None);
                };
                let log = open_log(&self.data, &episode)?;
                let withdrawn = store::read_withdrawn(&self.data).await?;
                if withdrawn.groups.contains(&log.header.group) {
                    return Ok(None);
                }
                (log, Some(Seat(seat)))
            }
        };
        let order = FilmOrder {
            view: seat.filter(|_| clip.view == ClipView::Own),
            own: seat,
            from_s: clip.from_s,
            to_s: clip.to_s,
        };
        let stored = stored_files(&self.data);
        let work = move || {
            let _permit = permit;
            Film::compute_film(&log, stored, order).map(|film| Bytes::from(film.pack()))
        };
        let packed = tokio::task::spawn_blocking(work).await?;
        let packed = packed.context("the simulation")?;
        if seat.is_none() {
            let key = (request.stage.clone(), request.clip);
            let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
            made.insert(key, packed.clone());
        }
        Ok(Some(packed))
    }

    /// The film of a clip of AI partners, if somebody has watched it before.
    fn find_made(&self, request: &FilmRequest) -> Option<Bytes> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.get(&(request.stage.clone(), request.clip)).cloned()
    }

    /// The episode of a clip, and the seat of the person of the session in it.
    async fn find_episode(
        &self,
        session: &str,
        stage: &str,
        number: Option<u16>,
    ) -> anyhow::Result<Option<(String, u8)>> {
        let Some(store) = StudyStore::find(&self.data).await? else {
            return Ok(None);
        };
        let played = store.list_last_episodes(&token_hash(session), stage).await;
        store.close().await;
        let mut played = played?;
        Ok(match number {
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
