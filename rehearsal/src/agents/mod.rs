//! `coplay agent play`: agents take part in a study instead of people.
//!
//! They take the same stages: a bot of the rehearsal goes through the study and answers the forms, and the policy of
//! the agent plays the episodes. Everything runs on the virtual clock of a rehearsal, without faults. The data folder
//! is like that of a study with people, and also has the agent of each session.

mod fit;
mod policy_choice;
mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use catalog::{StartError, read_study};
use dataset::agents::AgentSession;
use server_core::token::token_hash;
use store::StudyStore;
use study::disconnect::InputDelay;
use study::stage::CompiledModel;
use study::{EnvFactsByStage, StageKind, Study};

use crate::fault::Faults;
use crate::options::{RehearsalMode, RehearsalOptions};
use crate::record::Shared;
use crate::{judge, virtual_run};

pub use policy_choice::AgentPolicy;
pub use report::{AgentSummary, AgentsReport};

/// Agents that arrive in a minute, on average: so they meet in waiting rooms before the time there is up.
const ARRIVALS_PER_MIN: f64 = 60.0;

/// The beginning of the name of the folder that has the data until they are complete.
const PARTIAL: &str = ".coplay-agents-";

/// How agents take part in a study.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// Study folder.
    pub study: PathBuf,
    /// The agents, which share the sessions.
    pub policies: Vec<AgentPolicy>,
    /// Number of sessions.
    pub sessions: usize,
    /// Seed of every random number.
    pub seed: u64,
    /// The new data folder.
    pub data: PathBuf,
}

/// Lets agents take part in a study. The data folder exists once all have ended, or not at all.
///
/// # Errors
/// [`StartError::Study`] with the problems of the study; or the reason why an agent cannot take part or why the data
/// folder cannot be made, or the error of the disk. Problems of sessions are in the [`AgentsReport`].
pub async fn play_agents(options: &AgentOptions) -> Result<AgentsReport, StartError> {
    let (study, facts) = read_study(&options.study).map_err(StartError::Study)?;
    Ok(play(options, study, &facts).await?)
}

async fn play(
    options: &AgentOptions,
    study: Study,
    facts: &EnvFactsByStage,
) -> anyhow::Result<AgentsReport> {
    check_names(&options.policies)?;
    let (agents, models) = fit::fit_all(&options.policies, &study, facts)?;
    let scratch = make_scratch(&options.data)?;
    let data = scratch.path().join("data");
    let study = Arc::new(prepare_study(study, models));
    let rehearsal = rehearsal_options(options);
    let played = virtual_run::rehearse(&rehearsal, study, facts, &data, agents.clone()).await?;
    let sessions = played.sessions.clone();
    write_agents(&data, &options.policies, &sessions).await?;
    let judged = judge::judge_sessions(played, &data, &scratch.path().join("tables")).await?;
    publish(&data, &options.data)?;
    let records = sessions.iter().map(|(_, record)| record.lock().clone());
    Ok(AgentsReport::new(
        options,
        judged,
        &records.collect::<Vec<_>>(),
    ))
}

/// Refuses agents with the same name: nobody could distinguish them in the data.
fn check_names(policies: &[AgentPolicy]) -> anyhow::Result<()> {
    let mut known = BTreeSet::new();
    for policy in policies {
        anyhow::ensure!(
            known.insert(&policy.name),
            "two agents are called `{name}`; give one of them another name, such as `--policy {policy},name={name}_2`",
            name = policy.name,
            policy = policy.policy
        );
    }
    Ok(())
}

/// Prepares the study for agents. An action enters the tick that was observed, as in training, and nobody plays beyond
/// the known inputs of the others. The hash stays that of the study, because no stage differs.
fn prepare_study(mut study: Study, models: Vec<CompiledModel>) -> Study {
    for stage in &mut study.timeline {
        if let StageKind::Env(env) = &mut stage.kind {
            env.input_delay = InputDelay { min: 0, max: 0 };
            env.window = Some(1);
        }
    }
    for model in models {
        if study
            .models
            .iter()
            .all(|known| known.sha256 != model.sha256)
        {
            study.models.push(model);
        }
    }
    study
}

fn rehearsal_options(options: &AgentOptions) -> RehearsalOptions {
    RehearsalOptions {
        mode: RehearsalMode::Virtual,
        program: PathBuf::new(),
        study: options.study.clone(),
        data: Some(options.data.clone()),
        sessions: options.sessions,
        faults: Faults::default(),
        kills: 0,
        arrivals_per_min: ARRIVALS_PER_MIN,
        seed: options.seed,
        speed: 1.0,
        browsers: 0,
        chromium: None,
        has_webrtc: false,
        has_pages: false,
    }
}

/// Makes the folder that has the data until they are complete, beside the data folder.
fn make_scratch(data: &Path) -> anyhow::Result<tempfile::TempDir> {
    let is_free = match std::fs::read_dir(data) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    anyhow::ensure!(
        is_free,
        "{} is there already; agents need a new data folder, so give another one with --data",
        data.display()
    );
    let parent = match data.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let made = std::fs::create_dir_all(parent)
        .and_then(|()| tempfile::Builder::new().prefix(PARTIAL).tempdir_in(parent));
    made.with_context(|| format!("cannot write to {}", parent.display()))
}

/// Moves the complete data to their place.
fn publish(from: &Path, to: &Path) -> anyhow::Result<()> {
    if to.exists() {
        // It is empty, and not every system moves a folder onto another one.
        std::fs::remove_dir(to).with_context(|| format!("cannot replace {}", to.display()))?;
    }
    std::fs::rename(from, to).with_context(|| format!("cannot make {}", to.display()))
}

/// Writes which session was which agent.
async fn write_agents(
    data: &Path,
    policies: &[AgentPolicy],
    sessions: &[(String, Shared)],
) -> anyhow::Result<()> {
    let store = StudyStore::read(data).await?;
    let stored = store.sessions().await?;
    store.close().await;
    let mut by_token: BTreeMap<String, &AgentPolicy> = BTreeMap::new();
    for ((_, record), policy) in sessions.iter().zip(policies.iter().cycle()) {
        if let Some(token) = &record.lock().token {
            by_token.insert(token_hash(token), policy);
        }
    }
    let of_session = |session: &store::Session| {
        let policy = by_token.get(&session.token_hash)?;
        Some(policy.describe(&session.participant, &session.id))
    };
    let agents: Vec<AgentSession> = stored.iter().filter_map(of_session).collect();
    dataset::agents::write_agents(data, &agents)
}
