//! One row a tick and seat, by re-simulation.

use std::fs;
use std::path::Path;

use archive::{Replica, replay};
use env_core::Spec;
use protocol::change::Change;
use protocol::log::{self, Log};
use protocol::{Controller, Seat, Tick};
use serde::Serialize;
use store::reason_name;

use super::ExportReport;
use super::episode_tables::{EpisodeTable, SimulatedEpisode};
use super::step_events::Happenings;
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

/// A tick of a seat, before it has the names of its episode.
pub(super) struct Step {
    pub(super) seat: Seat,
    controller: Controller,
    tick: Tick,
    action: u16,
    action_name: String,
    reward: f32,
    score: i64,
    seat_score: i64,
    terminated: bool,
    truncated: bool,
}

/// An episode that was simulated again.
pub(super) struct Simulation {
    pub(super) log: Log,
    pub(super) spec: Spec,
    pub(super) steps: Vec<Step>,
    pub(super) happenings: Vec<Happenings>,
}

/// Simulates an episode as a whole before anything of it is exported, so that a table holds no part of a wrong one.
pub(super) fn simulate_episode(path: &Path) -> anyhow::Result<Simulation> {
    let log = log::read(&fs::read(path)?)?;
    let changes: Vec<Change> = log.changes().cloned().collect();
    let (mut steps, mut happenings) = (Vec::new(), Vec::new());
    let episodes = path.parent().unwrap_or(Path::new(""));
    let replica = replay(&log, archive::stored(episodes), |row, replica| {
        let tick = Tick(replica.ticks().0 - 1);
        happenings.extend(Happenings::of(tick, replica.spec(), replica.outcome()));
        steps.extend((0..).map(Seat).zip(row).map(|(seat, action)| {
            let controller = archive::controller_at(&log.header, &changes, seat, tick);
            step(replica, seat, controller, *action)
        }));
    })?;
    Ok(Simulation {
        spec: replica.spec().clone(),
        log,
        steps,
        happenings,
    })
}

fn step(replica: &mut Replica, seat: Seat, controller: &Controller, action: u16) -> Step {
    let seat_score = replica.seat_score(seat);
    let outcome = replica.outcome();
    Step {
        seat,
        controller: controller.clone(),
        tick: Tick(replica.ticks().0 - 1),
        action,
        action_name: replica.spec().actions[usize::from(action)].name.clone(),
        reward: outcome.rewards[seat.index()],
        score: replica.score(),
        seat_score,
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
    /// The score of the group after the tick.
    pub(super) fn score(&self) -> i64 {
        self.score
    }

    /// The score of the seat after the tick.
    pub(super) fn seat_score(&self) -> i64 {
        self.seat_score
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
            seat_score: self.seat_score,
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
