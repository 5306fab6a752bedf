//! `coplay rehearse`: bots take part in a study, with faults, before people do, and every session is judged.
//!
//! The bots are the same in both modes. In the virtual one, everything runs in this process on a virtual clock
//! (`virtual_run`): the real arbiter, archive and database, and a simulated network. In the other one, the server is the
//! program itself in a process of its own, over real sockets (`process`).

#![forbid(unsafe_code)]

mod answers;
mod bot;
mod browser;
mod entry;
mod fault;
mod hands;
mod judge;
mod line;
mod messages;
mod process;
mod quiz;
mod quota;
mod record;
mod report;
mod schedule;
mod tables;
mod trace;
mod virtual_run;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use serde::Serialize;
use study::{Assignment, EnvFactsByStage, StageKind, Study};

use catalog::StartError;
use catalog::read_study;
use record::Shared;
use store::SqliteStore;

pub use fault::{Fault, Faults};
pub use process::honest::HonestPage;
pub use report::RehearsalReport;

/// The way in which a rehearsal is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RehearsalMode {
    /// In one process, on a virtual clock.
    Virtual,
    /// Over the real program and real sockets.
    Process,
}

/// How a rehearsal is run.
#[derive(Clone, Debug)]
pub struct RehearsalOptions {
    /// The way in which it is run; the program, the speed and browsers belong to [`RehearsalMode::Process`] alone.
    pub mode: RehearsalMode,
    /// The program whose `serve` is the server.
    pub program: PathBuf,
    /// Study folder.
    pub study: PathBuf,
    /// A new data folder that is kept; `None` for one that is removed at the end.
    pub data: Option<PathBuf>,
    /// Number of sessions.
    pub sessions: usize,
    /// Faults that may happen.
    pub faults: Faults,
    /// How often the server is killed, if that fault is chosen.
    pub kills: usize,
    /// People who arrive in a minute, on average.
    pub arrivals_per_min: f64,
    /// Seed of every random number.
    pub seed: u64,
    /// The highest speed of time, as a multiple of real time.
    pub speed: f64,
    /// Number of sessions, the first ones, that are real pages in a Chromium.
    pub browsers: usize,
    /// The Chromium; `None` for the one in the path.
    pub chromium: Option<PathBuf>,
    /// True if the program has the pages that a browser shows.
    pub has_pages: bool,
}

/// Rehearses a study.
///
/// # Errors
/// [`StartError::Study`] with the problems of the study, or the reason why it cannot be rehearsed here. Problems of the
/// rehearsal itself are in the [`RehearsalReport`].
pub async fn rehearse(options: &RehearsalOptions) -> Result<RehearsalReport, StartError> {
    let (study, facts) = read_study(&options.study).map_err(StartError::Study)?;
    Ok(rehearsed(options, study, &facts).await?)
}

async fn rehearsed(
    options: &RehearsalOptions,
    study: Study,
    facts: &EnvFactsByStage,
) -> anyhow::Result<RehearsalReport> {
    can_be_rehearsed(&study)?;
    let scratch = tempfile::tempdir().context("a temporary folder")?;
    let data = match &options.data {
        Some(data) => data.clone(),
        None => scratch.path().join("data"),
    };
    anyhow::ensure!(
        !data.join(store::FILE).exists(),
        "{} holds data already; a rehearsal wants a folder of its own",
        data.display()
    );
    let study = Arc::new(study);
    let played = match options.mode {
        RehearsalMode::Virtual => virtual_run::rehearse(options, study, facts, &data).await?,
        RehearsalMode::Process => {
            process::rehearse(options, study, facts, &data, scratch.path()).await?
        }
    };
    judge::judge(played, &data, &scratch.path().join("tables")).await
}

/// # Errors
/// The reason why not.
fn can_be_rehearsed(study: &Study) -> anyhow::Result<()> {
    let many = |kind: &StageKind| matches!(kind, StageKind::Env(env) if env.people() > 1);
    let together = study.timeline.iter().any(|stage| many(&stage.kind));
    anyhow::ensure!(
        study.net.fallback || !together,
        "the study has `net: {{fallback: none}}`, and bots have no WebRTC: they play through the server's WebSockets. \
         Rehearse a copy with `fallback: websocket`"
    );
    Ok(())
}

/// The findings of a rehearsal before the data are read.
pub(crate) struct Played {
    options: RehearsalOptions,
    study: Arc<Study>,
    /// The key of each session in the data, and its record here.
    sessions: Vec<(String, Shared)>,
    /// The assignments of participants, each time that the server had been killed.
    snapshots: Vec<BTreeMap<String, Assignment>>,
    /// Time of the study that passed, and time of the machine.
    lasted_us: u64,
    took: Duration,
    /// Processor time of the server's process, if it had one.
    cpu_s: Option<f64>,
    round_trips: Vec<u64>,
    kills: usize,
    /// Product name of the browser, if there was one.
    chromium: Option<String>,
    log: String,
}

/// The random assignment of each participant, from the database.
async fn assignments(data: &Path) -> anyhow::Result<BTreeMap<String, Assignment>> {
    let store = SqliteStore::read(data).await?;
    let sessions = store.sessions().await?;
    store.close().await;
    let mut drawn = BTreeMap::new();
    for session in sessions {
        let progress: study::Progress = serde_json::from_str(&session.position)?;
        // One that nobody has begun may be forgotten.
        if progress.has_begun() {
            drawn.insert(session.participant, progress.assignment().clone());
        }
    }
    Ok(drawn)
}
