//! One row a tick and seat, by re-simulation.

use std::fs;
use std::path::Path;

use archive::{Replica, replay};
use env_core::Spec;
use protocol::change::Change;
use protocol::log::{self, Log};
use protocol::{Controller, Seat, Tick};
use store::reason_name;

use super::ExportReport;
use super::column::row;
use super::episode_tables::{EpisodeTable, SimulatedEpisode};
use super::output::Output;
use super::step_events::Happenings;
use super::table::{EpisodeKeys, Table};

row! {
    /// One row per tick and seat: what people and AI partners did, by re-simulation.
    struct StepRow<'a> {
        /// The controller of the seat in this tick: `human`, `vacant` (nobody: the no-op), or the policy of the AI
        /// partner.
        controller: &'a str,
        /// True if an AI partner played this tick.
        is_bot: bool,
        /// The tick, from 0.
        tick: u32,
        /// The action of the seat.
        action: u16,
        /// Its name.
        action_name: &'a str,
        /// The reward of the seat for this tick, as the environment gives it to learners: it may be shaped, and nobody is
        /// paid by it.
        reward: f32,
        /// The score that people see, after the tick; pay follows it.
        score: i64,
        /// The score of the seat, after the tick.
        seat_score: i64,
        /// True if the seat reached a terminal state in this tick.
        terminated: bool,
        /// True if the seat was cut off in this tick, for example by the horizon.
        truncated: bool,
        /// How the episode ended: `played`, `partner_left` or `technical`; missing while it runs.
        ended_on: &'a str,
    }
}

/// A tick of a seat, before it has the names of its episode.
pub(super) struct Step {
    pub(super) seat: Seat,
    tick: Tick,
    action: u16,
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
    let (mut steps, mut happenings) = (Vec::new(), Vec::new());
    let episodes = path.parent().unwrap_or(Path::new(""));
    let replica = replay(&log, archive::stored(episodes), |row, replica| {
        let tick = Tick(replica.ticks().0 - 1);
        happenings.extend(Happenings::of(tick, replica.spec(), replica.outcome()));
        let seats = (0..).map(Seat).zip(row);
        steps.extend(seats.map(|(seat, action)| step(replica, seat, *action)));
    })?;
    Ok(Simulation {
        spec: replica.spec().clone(),
        log,
        steps,
        happenings,
    })
}

fn step(replica: &mut Replica, seat: Seat, action: u16) -> Step {
    let seat_score = replica.seat_score(seat);
    let outcome = replica.outcome();
    Step {
        seat,
        tick: Tick(replica.ticks().0 - 1),
        action,
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

    fn row<'a>(
        &self,
        spec: &'a Spec,
        controller: &'a Controller,
        ended_on: &'a str,
    ) -> StepRow<'a> {
        let action = spec.actions.get(usize::from(self.action));
        StepRow {
            controller: controller_name(controller),
            is_bot: matches!(controller, Controller::Ai { .. }),
            tick: self.tick.0,
            action: self.action,
            action_name: action.map_or("", |action| &action.name),
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
        let header = &episode.log.header;
        let steps = episode.steps.iter();
        let mut steps = steps.filter(|step| !episode.left_out.contains(&step.seat));
        steps.try_for_each(|step| {
            let controller = archive::controller_at(header, &changes, step.seat, step.tick);
            let row = step.row(&episode.spec, controller, ended_on);
            self.0.add(&(episode.keys(step.seat), row))
        })
    }

    fn finish(self: Box<Self>, report: &mut ExportReport) -> anyhow::Result<()> {
        report.tables.push(self.0.finish()?);
        Ok(())
    }
}
