//! `coplay rehearse`: bots take part in a study, with faults, before people do, and every session is judged.
//!
//! The bots are the same in both modes. In the virtual one, everything runs in this process on a virtual clock
//! (`virtual_run`): the real arbiter, archive and database, and a simulated network. In the other one, the server is the
//! program itself in its own process, over real sockets (`process`).

#![forbid(unsafe_code)]

mod agent;
mod agents;
mod answers;
mod bot;
mod browser;
mod entry;
mod fault;
mod hands;
mod judge;
mod line;
mod link_counts;
mod messages;
mod options;
mod played;
mod process;
mod quiz;
mod quota;
mod record;
mod report;
mod schedule;
mod spread;
mod tables;
mod trace;
mod virtual_run;
mod watching;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use study::{EnvFactsByStage, StageKind, Study};

use catalog::StartError;
use catalog::read_study;

pub use agents::{AgentOptions, AgentPolicy, AgentSummary, AgentsReport, play_agents};
pub use fault::{Fault, Faults};
pub use link_counts::LinkCounts;
pub use options::{RehearsalMode, RehearsalOptions};
pub use process::honest::HonestPage;
pub use report::RehearsalReport;

use played::Played;

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
    can_be_rehearsed(&study, options)?;
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
    // The data folder of a rehearsal that ends, well or not, is kept.
    let mut unfinished = Unfinished(is_new(&data).then(|| data.clone()));
    let played = play(options, Arc::new(study), facts, &data, scratch.path()).await;
    unfinished.0 = None;
    judge::judge_sessions(played?, &data, &scratch.path().join("tables")).await
}

/// Returns true if there is nothing in a folder yet, so that a rehearsal may delete it.
fn is_new(data: &Path) -> bool {
    match std::fs::read_dir(data) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// The new data folder of a rehearsal that has not ended; it is deleted if the rehearsal is stopped.
struct Unfinished(Option<PathBuf>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        // Nobody is left who could be told of an error.
        let _ = self.0.take().map(std::fs::remove_dir_all);
    }
}

async fn play(
    options: &RehearsalOptions,
    study: Arc<Study>,
    facts: &EnvFactsByStage,
    data: &Path,
    scratch: &Path,
) -> anyhow::Result<Played> {
    match options.mode {
        RehearsalMode::Virtual => {
            virtual_run::rehearse(options, study, facts, data, Vec::new()).await
        }
        RehearsalMode::Process => process::rehearse(options, study, facts, data, scratch).await,
    }
}

/// # Errors
/// The reason why not.
fn can_be_rehearsed(study: &Study, options: &RehearsalOptions) -> anyhow::Result<()> {
    let many = |kind: &StageKind| matches!(kind, StageKind::Env(env) if env.people() > 1);
    let together = study.timeline.iter().any(|stage| many(&stage.kind));
    anyhow::ensure!(
        study.net.fallback || options.has_webrtc || !together,
        "the study has `net: {{fallback: none}}`, and bots without WebRTC play through the server's WebSockets: add --webrtc, \
         or rehearse a copy with `fallback: websocket`"
    );
    Ok(())
}
