//! One row a tick and seat, by re-simulation.

use std::fs;
use std::path::Path;

use archive::{Replica, replay};
use protocol::change::Change;
use protocol::log::{self, Log};
use protocol::{Controller, Seat, Tick};
use serde::Serialize;
use store::reason_name;

use super::ExportReport;
use super::episode_tables::{EpisodeTable, SimulatedEpisode};
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
    /// After the tick.
    score: i64,
    terminated: bool,
    truncated: bool,
    /// Why the episode ended; empty while it runs.
    ended_on: &'a str,
}

/// A tick of a seat, before it has the names of its episode.
pub(super) struct Step {
    pub(super) seat: Seat,
    controller: Controller,
    tick: Tick,
    action: u16,
    action_name: String,
    reward: f32,
    score: i64,
    terminated: bool,
    truncated: bool,
}

/// Simulates an episode as a whole before anything of it is exported, so that a table holds no part of a wrong one.
/// Gives its log, the names of its actions and its steps.
pub(super) fn simulate_steps(path: &Path) -> anyhow::Result<(Log, Vec<String>, Vec<Step>)> {
    let log = log::read(&fs::read(path)?)?;
    let changes: Vec<Change> = log.changes().cloned().collect();
    let mut steps = Vec::new();
    let episodes = path.parent().unwrap_or(Path::new(""));
    let replica = replay(&log, archive::stored(episodes), |row, replica| {
        let tick = Tick(replica.ticks().0 - 1);
        steps.extend((0..).map(Seat).zip(row).map(|(seat, action)| {
            let controller = archive::controller_at(&log.header, &changes, seat, tick);
            step(replica, seat, controller, *action)
        }));
    })?;
    let actions = replica.spec().actions.iter();
    let actions = actions.map(|action| action.name.clone()).collect();
    Ok((log, actions, steps))
}

fn step(replica: &Replica, seat: Seat, controller: &Controller, action: u16) -> Step {
    let outcome = replica.outcome();
    Step {
        seat,
        controller: controller.clone(),
        tick: Tick(replica.ticks().0 - 1),
        action,
        action_name: replica.spec().actions[usize::from(action)].name.clone(),
        reward: outcome.rewards[seat.index()],
        score: replica.score(),
        terminated: outcome.terminated >> seat.0 & 1 == 1,
        truncated: outcome.truncated >> seat.0 & 1 == 1,
    }
}

/// The name of a controller in the tables.
pub(super) fn controller_name(controller: &Controller) -> &str {
    match controller {
        Controller::Human => "human",
        Controller::Vacant => "vacant",
        Controller::Ai { policy } => policy,
    }
}

impl Step {
    /// The score after the tick.
    pub(super) fn score(&self) -> i64 {
        self.score
    }

    fn row<'a>(&'a self, ended_on: &'a str) -> StepRow<'a> {
        StepRow {
            controller: controller_name(&self.controller),
            is_bot: matches!(self.controller, Controller::Ai { .. }),
            tick: self.tick.0,
            action: self.action,
            action_name: &self.action_name,
            reward: self.reward,
            score: self.score,
            terminated: self.terminated,
            truncated: self.truncated,
            ended_on,
        }
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
            self.0.add(&(keys, step.row(ended_on)))
        })
    }

    fn finish(self: Box<Self>, report: &mut ExportReport) -> anyhow::Result<()> {
        report.tables.push(self.0.finish()?);
        Ok(())
    }
}
