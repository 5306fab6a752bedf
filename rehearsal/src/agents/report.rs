//! The findings after agents took part in a study, for people and for scripts.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use study::Outcome;

use super::{AgentOptions, AgentPolicy};
use crate::record::Record;
use crate::report::{RehearsalReport, Stuck};

/// The findings after agents took part in a study.
#[derive(Clone, Debug, Serialize)]
pub struct AgentsReport {
    /// The study.
    pub study: String,
    /// Seed of every random number.
    pub seed: u64,
    /// The data folder.
    pub data: String,
    /// The results of each agent.
    pub agents: Vec<AgentSummary>,
    /// The results of each group of agents that met in an episode.
    pub groups: Vec<AgentGroup>,
    /// Sessions that got stuck, or whose data differ from what the agent saw.
    pub stuck: Vec<Stuck>,
    /// Problems of the data as a whole.
    pub wrong: Vec<String>,
}

/// The results of an agent.
#[derive(Clone, Debug, Serialize)]
pub struct AgentSummary {
    /// Its name.
    pub agent: String,
    /// Its sessions.
    pub sessions: usize,
    /// Sessions that completed the study.
    pub completed: usize,
    /// Episodes that it played, with anybody.
    pub episodes: usize,
    /// The mean score of these episodes; `None` if there are none.
    pub mean_score: Option<f64>,
}

/// The results of agents that met.
#[derive(Clone, Debug, Serialize)]
pub struct AgentGroup {
    /// Their names, in the order of the alphabet.
    pub agents: Vec<String>,
    /// Episodes that they played together.
    pub episodes: usize,
    /// The mean score of these episodes.
    pub mean_score: f64,
}

impl AgentsReport {
    pub(super) fn new(options: &AgentOptions, judged: RehearsalReport, records: &[Record]) -> Self {
        let count = options.policies.len();
        let policies = options.policies.iter().enumerate();
        let summary = |(at, policy): (usize, &AgentPolicy)| {
            let own: Vec<&Record> = records.iter().skip(at).step_by(count).collect();
            AgentSummary::new(policy, &own)
        };
        Self {
            study: judged.study,
            seed: options.seed,
            data: options.data.display().to_string(),
            agents: policies.map(summary).collect(),
            groups: list_groups(&options.policies, records),
            stuck: judged.stuck,
            wrong: judged.wrong,
        }
    }

    /// Returns true if every session ended in a declared outcome, and the data are whole.
    pub fn is_fine(&self) -> bool {
        self.stuck.is_empty() && self.wrong.is_empty()
    }
}

/// Lists who met in the episodes of several agents.
fn list_groups(policies: &[AgentPolicy], records: &[Record]) -> Vec<AgentGroup> {
    let mut episodes: BTreeMap<&str, (Vec<&str>, i64)> = BTreeMap::new();
    for (record, policy) in records.iter().zip(policies.iter().cycle()) {
        for (id, verdict) in &record.verdicts {
            let (agents, score) = episodes.entry(id).or_default();
            agents.push(&policy.name);
            *score = verdict.score;
        }
    }
    let mut groups: BTreeMap<Vec<&str>, Vec<i64>> = BTreeMap::new();
    for (mut agents, score) in episodes.into_values().filter(|(met, _)| met.len() > 1) {
        agents.sort_unstable();
        groups.entry(agents).or_default().push(score);
    }
    let group = |(agents, scores): (Vec<&str>, Vec<i64>)| AgentGroup {
        agents: agents.into_iter().map(str::to_owned).collect(),
        episodes: scores.len(),
        mean_score: scores.iter().sum::<i64>() as f64 / scores.len() as f64,
    };
    groups.into_iter().map(group).collect()
}

impl AgentSummary {
    fn new(policy: &AgentPolicy, records: &[&Record]) -> Self {
        let is_complete =
            |record: &&&Record| record.outcome.as_deref() == Some(Outcome::Completed.name());
        let scores = records.iter().flat_map(|record| record.verdicts.values());
        let scores: Vec<f64> = scores.map(|verdict| verdict.score as f64).collect();
        let episodes = scores.len();
        Self {
            agent: policy.name.clone(),
            sessions: records.len(),
            completed: records.iter().filter(is_complete).count(),
            episodes,
            mean_score: (episodes > 0).then(|| scores.iter().sum::<f64>() / episodes as f64),
        }
    }
}

impl fmt::Display for AgentsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            study, seed, data, ..
        } = self;
        writeln!(f, "{study}: agents took part, seed {seed}")?;
        let names = self.agents.iter().map(|of| of.agent.chars().count());
        let width = names.max().unwrap_or(0).max("agent".len());
        writeln!(
            f,
            "  {:<width$}  {:>8}  {:>9}  {:>8}  {:>10}",
            "agent", "sessions", "completed", "episodes", "mean score"
        )?;
        for of in &self.agents {
            let score = of
                .mean_score
                .map_or(String::new(), |score| format!("{score:.1}"));
            let (name, sessions, completed, episodes) =
                (&of.agent, of.sessions, of.completed, of.episodes);
            writeln!(
                f,
                "  {name:<width$}  {sessions:>8}  {completed:>9}  {episodes:>8}  {score:>10}"
            )?;
        }
        for group in &self.groups {
            let AgentGroup {
                agents,
                episodes,
                mean_score,
            } = group;
            let agents = agents.join(" and ");
            writeln!(
                f,
                "  {agents} met in {episodes} episodes, mean score {mean_score:.1}"
            )?;
        }
        for Stuck {
            session,
            because,
            trace,
            ..
        } in &self.stuck
        {
            writeln!(f, "\nsession {session}: {}\n{trace}", because.join("; "))?;
        }
        for wrong in &self.wrong {
            writeln!(f, "\n{wrong}")?;
        }
        match self.is_fine() {
            true => write!(
                f,
                "The data are in {data}, and were verified; tables: coplay export --data {data} --out tables"
            ),
            false => write!(f, "\nThe data are in {data}, with these problems"),
        }
    }
}
