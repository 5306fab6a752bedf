//! The findings after agents took part in a study, for people and for scripts.

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
            stuck: judged.stuck,
            wrong: judged.wrong,
        }
    }

    /// Returns true if every session ended in a declared outcome, and the data are whole.
    pub fn is_fine(&self) -> bool {
        self.stuck.is_empty() && self.wrong.is_empty()
    }
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
