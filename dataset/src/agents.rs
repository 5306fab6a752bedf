//! The agent of each session, in a data folder of agents that took part instead of people.

use std::path::Path;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

/// The file of a data folder with the agents.
pub const FILE: &str = "agents.json";

/// A session of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentSession {
    /// Pseudonym of the participant that it was.
    pub participant_id: String,
    /// The session.
    pub session_id: String,
    /// The name of the agent.
    pub agent: String,
    /// Its policy: the name of a script, or the file of a model.
    pub policy: String,
    /// The softmax temperature of a model; `None` if it took the best action.
    pub temperature: Option<f64>,
    /// Ticks from one decision of a model to the next.
    pub every_ticks: u8,
    /// The encoding of the observation that was chosen for a model; empty if its shapes decided.
    pub observation: String,
    /// True if a model chose only among actions that may have an effect.
    pub action_mask: bool,
    /// Ticks by which its actions came late.
    pub delay_ticks: u8,
    /// The share of ticks in which a random action replaced the chosen one.
    pub noise: f64,
}

/// Writes the file into a data folder.
///
/// # Errors
/// The error of the disk.
pub fn write_agents(data: &Path, agents: &[AgentSession]) -> anyhow::Result<()> {
    let path = data.join(FILE);
    let text = serde_json::to_string_pretty(agents)? + "\n";
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Reads the sessions of agents in a data folder; empty if people took part.
///
/// # Errors
/// The file cannot be read.
pub fn read_agents(data: &Path) -> anyhow::Result<Vec<AgentSession>> {
    let path = data.join(FILE);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(&path);
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    let agents = serde_json::from_str(&text);
    agents.with_context(|| format!("{} is not as this program writes it", path.display()))
}
