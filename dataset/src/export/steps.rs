//! One row for each tick and seat.

use std::path::Path;

use protocol::Controller;
use serde::Serialize;
use store::reason_name;

use super::report::ExportReport;
use super::simulation::{EpisodeTable, SimulatedEpisode, Step, controller_name};
use super::table::{EpisodeKeys, Table};

/// One tick of one seat. Columns have the field's names; `tick` is the step within the episode.
#[derive(Default, Serialize)]
struct StepRow<'a> {
    controller: &'a str,
    is_bot: bool,
    tick: u32,
    action: u16,
    action_name: &'a str,
    reward: f32,
    /// Of the group, after the tick.
    score: i64,
    /// Of the seat, after the tick.
    seat_score: i64,
    terminated: bool,
    truncated: bool,
    /// Why the episode ended; empty while it runs.
    ended_on: &'a str,
}

/// The row of a step.
fn row<'a>(step: &'a Step, ended_on: &'a str) -> StepRow<'a> {
    StepRow {
        controller: controller_name(&step.controller),
        is_bot: matches!(step.controller, Controller::Ai { .. }),
        tick: step.tick.0,
        action: step.action,
        action_name: &step.action_name,
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
    pub(super) fn create(out: &Path) -> anyhow::Result<Self> {
        Table::create::<(EpisodeKeys<'_>, StepRow<'_>)>(out, "steps").map(Self)
    }
}

impl EpisodeTable for StepTable {
    fn add_episode(
        &mut self,
        episode: &SimulatedEpisode<'_>,
        _: &mut ExportReport,
    ) -> anyhow::Result<()> {
        let ended_on = episode.reason.map_or("", reason_name);
        let steps = episode.steps.iter();
        let mut steps = steps.filter(|step| !episode.left_out.contains(&step.seat));
        steps.try_for_each(|step| {
            let keys = EpisodeKeys::new(&episode.log.header, step.seat);
            self.0.add(&(keys, row(step, ended_on)))
        })
    }

    fn finish(self: Box<Self>, report: &mut ExportReport) -> anyhow::Result<()> {
        report.tables.push(self.0.finish()?);
        Ok(())
    }
}
