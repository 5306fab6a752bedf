//! One row per screened session: the measurements of the page, if they may be known, or what was lacking.

use std::path::Path;

use anyhow::Context as _;
use store::{Session, StudyStore};
use study::Progress;
use study::screening::Measured;

use super::column::row;
use super::options::ExportOptions;
use super::output::Output;
use super::report::ExportReport;
use super::table::Table;

row! {
    /// One row per session that was screened. Measurements are missing for people who did not agree or could not take
    /// part, and where nothing could be measured.
    struct ScreeningRow {
        /// The study, as in the study file.
        study_id: String,
        /// The version of the study, as in the study file.
        version: String,
        /// Pseudonym of the person.
        participant_id: String,
        /// Pseudonym of the session.
        session_id: String,
        /// The keys of `screening` that the person did not meet at the last attempt, separated by spaces; missing for
        /// people who could take part.
        lacks: String,
        /// The kind of device.
        device: Option<String>,
        /// True if the browser can connect to other pages.
        webrtc: Option<bool>,
        /// True if it can fill the screen.
        fullscreen: Option<bool>,
        /// True if it can play sound.
        audio: Option<bool>,
        /// True if it takes keys, as far as browsers tell.
        keyboard: Option<bool>,
        /// True if it takes touches.
        touch: Option<bool>,
        /// Width of the window, CSS pixels.
        width: Option<u16>,
        /// Height of the window, CSS pixels.
        height: Option<u16>,
        /// Round trip to the server, the median of several, milliseconds.
        rtt_ms: Option<f64>,
        /// Frames per second.
        fps: Option<f64>,
        /// A step of the slowest environment, the median of several, milliseconds.
        step_ms: Option<f64>,
    }
}

/// Writes `screening`.
///
/// # Errors
/// The error of the disk or of the database.
pub(super) async fn write_table(
    data: &Path,
    output: &Output,
    options: &ExportOptions,
    report: &mut ExportReport,
) -> anyhow::Result<()> {
    let mut table = Table::create::<ScreeningRow>(output, "screening")?;
    let mut sessions = Vec::new();
    if let Some(store) = StudyStore::find(data).await? {
        sessions = store.sessions().await?;
        store.close().await;
    }
    for session in sessions {
        let damaged = || format!("the place of {} is damaged", session.participant);
        let progress: Progress = serde_json::from_str(&session.position).with_context(damaged)?;
        let measured = progress.facts().screening.as_deref();
        let is_screened = measured.is_some() || !progress.lacks().is_empty();
        if is_screened && options.is_within(session.seen_us) {
            table.add(&screening_row(session, &progress, measured)?)?;
        }
    }
    report.tables.push(table.finish()?);
    Ok(())
}

fn screening_row(
    session: Session,
    progress: &Progress,
    measured: Option<&Measured>,
) -> anyhow::Result<ScreeningRow> {
    let lacks: Vec<&str> = progress.lacks().iter().map(|lack| lack.name()).collect();
    let device = measured.map(|measured| serde_json::to_value(measured.device));
    Ok(ScreeningRow {
        study_id: session.study,
        version: session.study_version,
        participant_id: session.participant,
        session_id: session.id,
        lacks: lacks.join(" "),
        device: device
            .transpose()?
            .and_then(|name| name.as_str().map(str::to_owned)),
        webrtc: measured.map(|measured| measured.webrtc),
        fullscreen: measured.map(|measured| measured.fullscreen),
        audio: measured.map(|measured| measured.audio),
        keyboard: measured.map(|measured| measured.keyboard),
        touch: measured.map(|measured| measured.touch),
        width: measured.map(|measured| measured.width),
        height: measured.map(|measured| measured.height),
        rtt_ms: measured.and_then(|measured| measured.rtt_ms),
        fps: measured.and_then(|measured| measured.fps),
        step_ms: measured.and_then(|measured| measured.step_ms),
    })
}
