//! The view: the study, its machine and warnings, once or as a stream of server-sent events.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{IntoResponse, Response};
use http_body_util::channel::{Channel, Sender};
use serde::Serialize;
use server_core::overview::StudyOverview;
use server_core::warnings::{DeskWarning, MachineState, list_warnings};
use store::desk_keys::DeskRole;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::call::DeskCall;
use super::error::DeskError;
use super::machine::read_machine;
use super::state::Desk;

/// Those who look within this time see the same, microseconds.
const SHARED_US: u64 = 400_000;

/// The pace of a stream.
const EACH: Duration = Duration::from_secs(1);

/// The number of looks after which a stream sends something although nothing has changed.
const AT_LEAST: u32 = 10;

/// A study as it is seen.
#[derive(Debug, Serialize)]
pub(super) struct Snapshot {
    #[serde(flatten)]
    study: Box<StudyOverview>,
    machine: MachineState,
    warnings: Vec<DeskWarning>,
}

impl Snapshot {
    /// True if nothing else than the time and the machine is different.
    fn is_like(&self, other: &Self) -> bool {
        let own = StudyOverview {
            at_us: other.study.at_us,
            ..(*self.study).clone()
        };
        own == *other.study && self.warnings == other.warnings
    }
}

impl Desk {
    /// The study as it is now, or was a moment ago.
    pub(super) async fn look(&self) -> Result<Arc<Snapshot>, DeskError> {
        let mut seen = self.seen.lock().await;
        let now_us = self.parts.clock.now_us();
        let recent = |it: &&Arc<Snapshot>| now_us.saturating_sub(it.study.at_us) < SHARED_US;
        if let Some(seen) = seen.as_ref().filter(recent) {
            return Ok(Arc::clone(seen));
        }
        let (answer, answered) = oneshot::channel();
        let asked = self.parts.calls.send(DeskCall::Look(answer)).await;
        asked.map_err(|_| DeskError::Away)?;
        let study = answered.await.map_err(|_| DeskError::Away)?;
        let machine = read_machine(&self.data, &self.parts.disk, &self.parts.faults);
        let warnings = list_warnings(&study, &machine);
        let snapshot = Arc::new(Snapshot {
            study,
            machine,
            warnings,
        });
        *seen = Some(Arc::clone(&snapshot));
        Ok(snapshot)
    }

    /// Forgets the last overview, because something was changed.
    pub(super) async fn look_again(&self) {
        *self.seen.lock().await = None;
    }
}

/// `GET /desk/api/overview`
pub(super) async fn show_overview(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
) -> Result<Response, DeskError> {
    desk.require_role(&headers, DeskRole::Look).await?;
    let seen = desk.look().await?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(&*seen)).into_response())
}

/// `GET /desk/api/events`
pub(super) async fn stream_events(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
) -> Result<Response, DeskError> {
    desk.require_role(&headers, DeskRole::Look).await?;
    let permit = Arc::clone(&desk.streams).try_acquire_owned();
    let permit = permit.map_err(|_| DeskError::Busy)?;
    let (sender, body) = Channel::<Bytes, std::convert::Infallible>::new(1);
    tokio::spawn(send_events(desk, headers, sender, permit));
    let told = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // nginx in front passes events on as they come.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((told, Body::new(body)).into_response())
}

/// Sends the overview whenever it changes, until the browser or the server is gone or the key is revoked.
async fn send_events(
    desk: Arc<Desk>,
    headers: HeaderMap,
    mut sender: Sender<Bytes>,
    _permit: OwnedSemaphorePermit,
) {
    let mut pace = tokio::time::interval(EACH);
    let (mut last, mut quiet) = (None::<Arc<Snapshot>>, 0);
    loop {
        pace.tick().await;
        let signed_in = desk.require_role(&headers, DeskRole::Look).await;
        let seen = match signed_in {
            Ok(_) => desk.look().await,
            Err(error) => Err(error),
        };
        let Ok(seen) = seen else {
            return;
        };
        quiet += 1;
        let is_new = last.as_ref().is_none_or(|last| !last.is_like(&seen));
        if !is_new && quiet < AT_LEAST {
            continue;
        }
        quiet = 0;
        let Ok(text) = serde_json::to_string(&*seen) else {
            return;
        };
        let event = format!("event: overview\ndata: {text}\n\n");
        if sender.send_data(event.into()).await.is_err() {
            return;
        }
        last = Some(seen);
    }
}
