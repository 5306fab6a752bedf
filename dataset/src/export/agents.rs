//! The table of the agents that took part instead of people.

use std::collections::BTreeSet;
use std::path::Path;

use super::column::row;
use super::known::KnownData;
use super::output::Output;
use super::report::ExportReport;
use super::table::Table;
use crate::agents::{self, AgentSession};

row! {
    /// One row per session of an agent that took part in the place of a person.
    struct AgentRow<'a> {
        /// Pseudonym of the participant that the agent was.
        participant_id: &'a str,
        /// The session.
        session_id: &'a str,
        /// The name of the agent.
        agent: &'a str,
        /// Its policy: the name of a script, or the file of a model.
        policy: &'a str,
        /// The softmax temperature of a model; missing if it took the action with the greatest value.
        temperature: Option<f64>,
        /// Ticks from one decision of a model to the next.
        every_ticks: u8,
        /// The encoding of the observation that was chosen for a model; missing if its input shapes identified it.
        observation: &'a str,
        /// True if a model chose only among actions that may have an effect.
        action_mask: bool,
        /// Ticks by which its actions came late.
        delay_ticks: u8,
        /// The share of ticks in which a random action replaced the chosen one.
        noise: f64,
    }
}

/// Writes the table.
///
/// # Errors
/// The error of the disk.
pub(super) fn write_table(
    data: &Path,
    output: &Output,
    known: &KnownData,
    report: &mut ExportReport,
) -> anyhow::Result<()> {
    let agents = agents::read_agents(data)?;
    let mut table = Table::create::<AgentRow<'_>>(output, "agents")?;
    let sessions: BTreeSet<&str> = known.sessions.iter().map(|of| of.id.as_str()).collect();
    let is_exported = |of: &&AgentSession| sessions.contains(of.session_id.as_str());
    for of in agents.iter().filter(is_exported) {
        table.add(&AgentRow {
            participant_id: &of.participant_id,
            session_id: &of.session_id,
            agent: &of.agent,
            policy: &of.policy,
            temperature: of.temperature,
            every_ticks: of.every_ticks,
            observation: &of.observation,
            action_mask: of.action_mask,
            delay_ticks: of.delay_ticks,
            noise: of.noise,
        })?;
    }
    report.tables.push(table.finish()?);
    Ok(())
}
