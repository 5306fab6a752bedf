//! Episodes simulated again: what every table of episodes takes its rows from.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use archive::{Replica, replay_from};
use env_core::shared::count_own_actions;
use env_core::{Spec, StepEvent, StepOutcome};
use protocol::change::Change;
use protocol::control::EndReason;
use protocol::log::{self, Log, Record};
use protocol::{Controller, Seat, Tick};
use store::KnownLogs;

use super::report::{ExportReport, Skipped};
use super::table::EpisodeKeys;
use crate::verify::check_record;

/// An episode as it was simulated again, or taken from its log.
pub(super) struct SimulatedEpisode<'a> {
    pub(super) data: &'a Path,
    pub(super) path: PathBuf,
    pub(super) log: Log,
    pub(super) spec: Spec,
    pub(super) steps: Vec<Step>,
    /// In the order of ticks.
    pub(super) happenings: Vec<Happenings>,
    /// True if the log is the only record, so that states, observations and pictures cannot be computed again.
    pub(super) is_only_recorded: bool,
    /// The reason of its end; `None` while it runs.
    pub(super) reason: Option<EndReason>,
    /// When it ended, microseconds since the Unix epoch; `None` if the database does not know it.
    pub(super) ended_us: Option<u64>,
    /// Its number among the group's episodes, from 0; `None` if the database does not know it.
    pub(super) round: Option<u32>,
    /// The seats of people who withdrew their data: no table has their rows.
    pub(super) left_out: BTreeSet<Seat>,
}

impl SimulatedEpisode<'_> {
    /// The first cells of a row of a seat.
    pub(super) fn keys(&self, seat: Seat) -> EpisodeKeys<'_> {
        EpisodeKeys::new(&self.log.header, self.round, seat)
    }

    /// The last score of the group that is known; 0 before the first tick.
    pub(super) fn score(&self) -> Option<i64> {
        match self.steps.last() {
            Some(step) => step.score,
            None => Some(0),
        }
    }

    /// True if a table of `what` can have rows of the episode. If not, tells that its log is the only record of it and does
    /// not have that.
    pub(super) fn has_recomputed(&self, what: Recomputed, report: &mut ExportReport) -> bool {
        let has_it = |record: &Record| match what {
            Recomputed::States => false,
            Recomputed::Observations => matches!(record, Record::Observations { .. }),
            Recomputed::Pictures => matches!(record, Record::Viewed { .. }),
        };
        if self.is_only_recorded && !self.log.records.iter().any(has_it) {
            let (path, reason) = (self.path.clone(), what.say_missing());
            report.skipped.push(Skipped { path, reason });
            return false;
        }
        true
    }

    /// Opens the episode at its first state, to go through it once more.
    pub(super) fn open_again(&self) -> anyhow::Result<Replica> {
        let stored = archive::open_stored(&self.data.join(archive::FOLDER));
        Ok(match self.is_only_recorded {
            true => archive::open_past_episode(&self.log, stored)?.0,
            false => Replica::open(&self.log.header, stored)?,
        })
    }

    /// True if a person plays a seat before the step of a tick, so that somebody is shown something there.
    pub(super) fn is_watched(&self, seat: Seat, tick: Tick) -> bool {
        let changes: Vec<Change> = self.log.changes().cloned().collect();
        let controller = archive::controller_at(&self.log.header, &changes, seat, tick);
        *controller == Controller::Human
    }
}

/// Data of an episode that come from its simulation, not from its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recomputed {
    States,
    Observations,
    Pictures,
}

impl Recomputed {
    /// Says why an episode has none.
    fn say_missing(self) -> String {
        let (what, remedy) = match self {
            Self::States => ("states", ""),
            Self::Observations => (
                "observations",
                "; with `record_observations: true` in its stage, later episodes keep them",
            ),
            Self::Pictures => ("pixels", ", and its log has no pictures"),
        };
        format!(
            "{what}: the world of this host does not repeat itself, so that they cannot be computed again{remedy}"
        )
    }
}

/// A table, or several, with rows of each episode.
pub(super) trait EpisodeTable {
    /// Adds the rows of an episode; what cannot be a row is put into the report.
    fn add_episode(
        &mut self,
        episode: &SimulatedEpisode<'_>,
        report: &mut ExportReport,
    ) -> anyhow::Result<()>;

    /// Finishes the files, and puts them into the report.
    fn finish(self: Box<Self>, report: &mut ExportReport) -> anyhow::Result<()>;
}

/// A tick of a seat, before it has the names of its episode.
pub(super) struct Step {
    pub(super) seat: Seat,
    pub(super) tick: Tick,
    /// The action that the seat took.
    pub(super) action: u16,
    /// The number of the AI partner that decided instead of the person who shares the seat with it.
    pub(super) partner: Option<usize>,
    /// The actions that the AI partners of a shared seat wanted.
    pub(super) proposals: Vec<u16>,
    /// `None`, as all that follows, where a world does not repeat itself and its log does not have it.
    pub(super) reward: Option<f32>,
    /// The group's score after the tick.
    pub(super) score: Option<i64>,
    /// The seat's score after the tick.
    pub(super) seat_score: Option<i64>,
    pub(super) terminated: Option<bool>,
    pub(super) truncated: Option<bool>,
}

/// An episode that was simulated again, or taken from its log.
pub(super) struct Simulation {
    pub(super) log: Log,
    pub(super) spec: Spec,
    pub(super) steps: Vec<Step>,
    pub(super) happenings: Vec<Happenings>,
    /// True if the log is the only record, so that nothing else can be computed again.
    pub(super) is_only_recorded: bool,
}

/// Simulates a whole episode before anything of it is exported, so that a table has no part of a wrong or changed
/// episode. If it was on a host and its world does not repeat itself, it is taken from its log.
pub(super) fn simulate_episode(path: &Path, known: &KnownLogs) -> anyhow::Result<Simulation> {
    let bytes = fs::read(path)?;
    let log = log::read_log(&bytes)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let (mut steps, mut happenings) = (Vec::new(), Vec::new());
    let episodes = path.parent().unwrap_or(Path::new(""));
    let stored = archive::open_stored(episodes);
    let mut replica = Replica::open(&log.header, stored.clone())?;
    check_record(&name, (&log, &bytes), replica.spec(), known).map_err(anyhow::Error::msg)?;
    if archive::is_only_recorded(&log, Box::new(stored)) {
        return Ok(take_record(log, replica.spec()));
    }
    let own = count_own_actions(replica.spec());
    let (inputs, seats) = (log.rows(), log.count_seats());
    let mut proposed = list_proposals(&mut replica);
    let replica = replay_from(replica, &log, |row, replica| {
        let tick = Tick(replica.ticks().0 - 1);
        happenings.extend(Happenings::of(tick, replica.spec(), replica.outcome()));
        let inputs = &inputs[tick.0 as usize * seats..];
        for (seat, (action, input)) in (0..).map(Seat).zip(row.iter().zip(inputs)) {
            let mut step = step(replica, seat, *action);
            step.partner = usize::from(*input).checked_sub(own);
            step.proposals = std::mem::take(&mut proposed[seat.index()]);
            steps.push(step);
        }
        proposed = list_proposals(replica);
    })?;
    Ok(Simulation {
        spec: replica.spec().clone(),
        log,
        steps,
        happenings,
        is_only_recorded: false,
    })
}

/// The steps of an episode as its log has them. An older log has actions and rewards, and the score of the group at the
/// end.
fn take_record(log: Log, spec: &Spec) -> Simulation {
    let (seats, end) = (log.count_seats(), log.ending);
    let rewards = archive::list_recorded_rewards(&log);
    let outcomes = archive::list_recorded_outcomes(&log);
    let happenings = (0..).map(Tick).zip(&outcomes);
    let happenings = happenings.filter_map(|(tick, outcome)| {
        Happenings::new(tick, spec, outcome.events.clone(), &outcome.components)
    });
    let happenings = happenings.collect();
    let cells = log.rows().into_iter().zip(rewards).enumerate();
    let steps = cells.map(|(at, (action, reward))| {
        let tick = Tick((at / seats) as u32);
        let is_last = tick.0 + 1 == log.through.0;
        // Where a crash has cut off the rewards, the outcome is missing, too.
        let outcome = outcomes.get(tick.0 as usize).filter(|_| reward.is_some());
        let (seat, score) = (at % seats, outcome.map(|outcome| outcome.score));
        let flag = |bits: u16| bits >> seat & 1 == 1;
        Step {
            seat: Seat(seat as u8),
            tick,
            action,
            partner: usize::from(action).checked_sub(count_own_actions(spec)),
            proposals: Vec::new(),
            reward,
            score: end.filter(|_| is_last).map(|end| end.score).or(score),
            seat_score: outcome.and_then(|outcome| outcome.seat_scores.get(seat).copied()),
            terminated: outcome.map(|outcome| flag(outcome.terminated)),
            truncated: outcome.map(|outcome| flag(outcome.truncated)),
        }
    });
    Simulation {
        spec: spec.clone(),
        steps: steps.collect(),
        log,
        happenings,
        is_only_recorded: true,
    }
}

/// Lists the actions that the AI partners of each seat want in the present state.
fn list_proposals(replica: &mut Replica) -> Vec<Vec<u16>> {
    let seats = 0..usize::from(replica.spec().seats);
    seats
        .map(|seat| replica.world().proposals(seat).to_vec())
        .collect()
}

fn step(replica: &mut Replica, seat: Seat, action: u16) -> Step {
    let seat_score = replica.seat_score(seat);
    let outcome = replica.outcome();
    Step {
        seat,
        tick: Tick(replica.ticks().0 - 1),
        action,
        partner: None,
        proposals: Vec::new(),
        reward: Some(outcome.rewards[seat.index()]),
        score: Some(replica.score()),
        seat_score: Some(seat_score),
        terminated: Some(outcome.terminated >> seat.0 & 1 == 1),
        truncated: Some(outcome.truncated >> seat.0 & 1 == 1),
    }
}

impl SimulatedEpisode<'_> {
    /// The name of the controller that decided in a step, as tables have it, and whether it was an AI partner.
    pub(super) fn controller<'a>(&'a self, changes: &'a [Change], step: &Step) -> (&'a str, bool) {
        let header = &self.log.header;
        let controller = archive::controller_at(header, changes, step.seat, step.tick);
        let shared = header.shared.as_ref();
        let shared = shared.filter(|_| *controller == Controller::Human);
        let partner = shared.zip(step.partner);
        match partner.and_then(|(shared, at)| shared.policies.get(at)) {
            Some(policy) => (policy, true),
            None => (
                controller_name(controller),
                matches!(controller, Controller::Ai { .. }),
            ),
        }
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

/// The events and parts of rewards of a tick, before they have the names of their episode.
pub(super) struct Happenings {
    pub(super) tick: Tick,
    pub(super) events: Vec<StepEvent>,
    /// Seat, index of the component, amount; zero amounts are left out.
    pub(super) rewards: Vec<(Seat, usize, f32)>,
}

impl Happenings {
    /// Those of a tick; `None` if there were none.
    fn of(tick: Tick, spec: &Spec, outcome: &StepOutcome) -> Option<Self> {
        Self::new(tick, spec, outcome.events.clone(), &outcome.components)
    }

    /// Those of a tick with these events and parts of rewards; `None` if there were none.
    fn new(tick: Tick, spec: &Spec, events: Vec<StepEvent>, components: &[f32]) -> Option<Self> {
        let names = spec.components.len().max(1);
        let parts = components.iter().enumerate();
        let earned = parts.filter(|(_, amount)| **amount != 0.0);
        let rewards = earned.map(|(at, amount)| (Seat((at / names) as u8), at % names, *amount));
        let found = Self {
            tick,
            events,
            rewards: rewards.collect(),
        };
        (!found.events.is_empty() || !found.rewards.is_empty()).then_some(found)
    }
}
