//! One row for each tick and seat.

use env_core::Spec;
use protocol::change::Change;
use store::reason_name;

use super::column::row;
use super::output::Output;
use super::report::ExportReport;
use super::simulation::{EpisodeTable, SimulatedEpisode, Step};
use super::table::{EpisodeKeys, Table};

row! {
    /// One row per tick and seat: what people and AI partners did, by re-simulation, or by the log of a host whose world
    /// does not repeat itself.
    struct StepRow<'a> {
        /// The controller of the seat in this tick: `human`, `vacant` (nobody: the no-op), or the policy of the AI
        /// partner.
        controller: &'a str,
        /// True if an AI partner played this tick, also one with whom the person shares the seat.
        is_bot: bool,
        /// The tick, from 0.
        tick: u32,
        /// The action of the seat.
        action: u16,
        /// Its name.
        action_name: &'a str,
        /// The reward of the seat for this tick, as the environment gives it to learners: it may be shaped, and nobody is
        /// paid by it.
        reward: Option<f32>,
        /// The score that people see, after the tick; pay follows it.
        score: Option<i64>,
        /// The score of the seat, after the tick.
        seat_score: Option<i64>,
        /// True if the seat reached a terminal state in this tick.
        terminated: Option<bool>,
        /// True if the seat was cut off in this tick, for example by the horizon.
        truncated: Option<bool>,
        /// How the episode ended: `played`, `partner_left` or `technical`; missing while it runs.
        ended_on: &'a str,
    }
}

/// The row of a step.
fn row<'a>(
    step: &Step,
    spec: &'a Spec,
    (controller, is_bot): (&'a str, bool),
    ended_on: &'a str,
) -> StepRow<'a> {
    let action = spec.actions.get(usize::from(step.action));
    StepRow {
        controller,
        is_bot,
        tick: step.tick.0,
        action: step.action,
        action_name: action.map_or("", |action| &action.name),
        reward: step.reward,
        score: step.score,
        seat_score: step.seat_score,
        terminated: step.terminated,
        truncated: step.truncated,
        ended_on,
    }
}

/// The table of steps.
pub(super) struct StepTable(Table);

impl StepTable {
    pub(super) fn create(output: &Output) -> anyhow::Result<Self> {
        Table::create::<(EpisodeKeys<'_>, StepRow<'_>)>(output, "steps").map(Self)
    }
}

impl EpisodeTable for StepTable {
    fn add_episode(
        &mut self,
        episode: &SimulatedEpisode<'_>,
        _: &mut ExportReport,
    ) -> anyhow::Result<()> {
        let ended_on = episode.reason.map_or("", reason_name);
        let changes: Vec<Change> = episode.log.changes().cloned().collect();
        let steps = episode.steps.iter();
        let mut steps = steps.filter(|step| !episode.left_out.contains(&step.seat));
        steps.try_for_each(|step| {
            let controller = episode.controller(&changes, step);
            let row = row(step, &episode.spec, controller, ended_on);
            self.0.add(&(episode.keys(step.seat), row))
        })
    }

    fn finish(self: Box<Self>, report: &mut ExportReport) -> anyhow::Result<()> {
        report.tables.push(self.0.finish()?);
        Ok(())
    }
}
