//! An episode on a host as its log has it, for a world that does not come out equal when it is run again: what was
//! shown, observed and earned takes the place of the world.

use std::collections::BTreeMap;

use env_core::contract::StateError;
use env_core::draw::DrawList;
use env_core::guest::Sprite;
use env_core::view::ViewWorld;
use env_core::{Action, Spec, StepOutcome, World};
use protocol::control::EndReason;
use protocol::log::{Header, Log, Record};
use protocol::{Seat, Tick};

use crate::observations::RecordedObservations;
use crate::outcomes::{RecordedOutcome, list_recorded_outcomes};
use crate::repetition::is_only_recorded;
use crate::replica::{Replica, ReplicaError};
use crate::shown::open_past_world;

/// Lists the rewards of a hosted episode, `[tick, seat]`, row-major. A crash may have cut off those of the last ticks:
/// they are `None`.
pub fn list_recorded_rewards(log: &Log) -> Vec<Option<f32>> {
    let seats = log.count_seats();
    let mut found = vec![None; log.through.0 as usize * seats];
    for record in &log.records {
        let Record::Observed { first, rewards, .. } = record else {
            continue;
        };
        let start = first.0 as usize * seats;
        let places = found.iter_mut().skip(start);
        for (place, bits) in places.zip(rewards) {
            *place = Some(f32::from_bits(*bits));
        }
    }
    found
}

/// An episode at its first state: simulated again, or, if its log is the only record of it, shown as it was recorded.
/// With the pictures that its draw lists name.
///
/// # Errors
/// [`ReplicaError`]; also if the log is the only record, and older than records of what pages were shown.
pub fn open_past_episode(
    log: &Log,
    stored: impl Fn(&str) -> std::io::Result<Vec<u8>> + Send + Clone + 'static,
) -> Result<(Replica, Vec<Sprite>), ReplicaError> {
    let (world, sprites) = open_past_world(&log.header, &stored)?;
    if !is_only_recorded(log, Box::new(stored.clone())) {
        let replica = Replica::of_world(&log.header, world, Box::new(stored))?;
        return Ok((replica, sprites));
    }
    let recorded = RecordedWorld::new(world.spec(), log);
    let recorded = recorded.map_err(|reason| not_repeatable(&log.header, &reason))?;
    let seats = log.count_seats();
    let knows_observations = recorded.observations.are_complete(seats, log.through);
    let replica = Replica::of_record(&log.header, Box::new(recorded), knows_observations)?;
    Ok((replica, sprites))
}

/// The error of an episode whose world does not repeat itself, where that stands in the way.
pub fn not_repeatable(header: &Header, reason: &str) -> ReplicaError {
    ReplicaError::Module {
        env: header.env.clone(),
        hash: header.module.clone(),
        reason: reason.into(),
    }
}

/// A world that goes through the ticks of a log. It has the view of each seat, as far as a person played there. The whole
/// world is shown as the page saw it that was shown something last, and so are other seats, unless the world has secrets.
struct RecordedWorld {
    spec: Spec,
    tick: Tick,
    seats: Vec<ViewWorld>,
    /// The seats that somebody was shown.
    watched: Vec<bool>,
    /// The seat whose page was shown something last.
    newest: usize,
    /// For a seat that nobody was shown.
    blank: ViewWorld,
    /// The views of the pages: after how many steps, the seat, and the view.
    views: Vec<(Tick, Seat, Vec<u8>)>,
    /// How many of them are taken.
    taken: usize,
    observations: RecordedObservations,
    /// `[tick, seat]`, row-major.
    rewards: Vec<Option<f32>>,
    /// One a tick; empty if the log has none.
    outcomes: Vec<RecordedOutcome>,
    digests: BTreeMap<Tick, u64>,
    /// The score after the end, once there is one.
    last: Option<(Tick, i64)>,
    ended: bool,
    outcome: StepOutcome,
}

impl RecordedWorld {
    fn new(spec: &Spec, log: &Log) -> Result<Self, String> {
        let seats = log.count_seats();
        let (mut views, mut digests) = (Vec::new(), BTreeMap::new());
        for record in &log.records {
            match record {
                Record::Viewed { seat, tick, bytes } => views.push((*tick, *seat, bytes.clone())),
                Record::Digest {
                    tick,
                    seat: None,
                    digest,
                } => {
                    digests.insert(*tick, *digest);
                }
                Record::End(ending) => {
                    digests.insert(ending.ticks, ending.digest);
                }
                _ => {}
            }
        }
        if views.is_empty() && log.through > Tick(0) {
            return Err(
                "it does not repeat itself, and the log has no pictures: an older version of Coplay wrote it, or the people \
                 who saw them have withdrawn"
                    .into(),
            );
        }
        let mut watched = vec![false; seats];
        for (_, seat, _) in &views {
            watched[seat.index()] = true;
        }
        let played = |end: &protocol::log::Ending| end.reason == EndReason::Played;
        let mut world = Self {
            spec: spec.clone(),
            tick: Tick(0),
            seats: vec![ViewWorld::new(spec.clone()); seats],
            newest: watched.iter().position(|watched| *watched).unwrap_or(0),
            blank: ViewWorld::new(spec.clone()),
            watched,
            views,
            taken: 0,
            observations: RecordedObservations::read(log, spec.observation_len())?,
            rewards: list_recorded_rewards(log),
            outcomes: list_recorded_outcomes(log),
            digests,
            last: log.ending.map(|ending| (ending.ticks, ending.score)),
            ended: log.ending.as_ref().is_some_and(played),
            outcome: StepOutcome::default(),
        };
        world.take_views();
        Ok(world)
    }

    /// Shows what the pages were shown up to now.
    fn take_views(&mut self) {
        while let Some((tick, seat, bytes)) = self.views.get(self.taken) {
            if *tick > self.tick {
                return;
            }
            if self.seats[seat.index()].restore(bytes).is_err() {
                tracing::warn!(
                    tick = tick.0,
                    seat = seat.0,
                    "a recorded view cannot be shown"
                );
            }
            self.newest = seat.index();
            self.taken += 1;
        }
    }

    /// The world as a seat saw it, or else as somebody did.
    fn seen_from(&mut self, seat: Option<usize>) -> &mut ViewWorld {
        let watched = |seat: usize| self.watched.get(seat).copied().unwrap_or_default();
        match seat {
            Some(seat) if watched(seat) => &mut self.seats[seat],
            Some(_) if self.spec.secret => &mut self.blank,
            _ => &mut self.seats[self.newest],
        }
    }

    /// The outcome of the last step, if the log has it.
    fn last_outcome(&self) -> Option<&RecordedOutcome> {
        let step = self.tick.0.checked_sub(1)?;
        self.outcomes.get(step as usize)
    }

    fn is_last(&self) -> bool {
        self.last.is_some_and(|(ticks, _)| ticks == self.tick)
    }
}

impl World for RecordedWorld {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn reset(&mut self, _seed: u64) {}

    fn step(&mut self, _actions: &[Action]) -> &StepOutcome {
        let seats = self.seats.len();
        let start = self.tick.0 as usize * seats;
        self.tick.0 += 1;
        self.take_views();
        self.outcome.clear();
        let recorded = self.rewards.iter().skip(start).take(seats);
        for (reward, recorded) in self.outcome.rewards.iter_mut().zip(recorded) {
            *reward = recorded.unwrap_or_default();
        }
        if let Some(recorded) = self.last_outcome().cloned() {
            (self.outcome.terminated, self.outcome.truncated) =
                (recorded.terminated, recorded.truncated);
            (self.outcome.events, self.outcome.components) = (recorded.events, recorded.components);
        }
        self.outcome.over = self.ended && self.is_last();
        &self.outcome
    }

    fn observe(&mut self, seat: usize, out: &mut Vec<f32>) {
        out.clear();
        let found = self.observations.get(Seat(seat as u8), self.tick);
        out.extend(found.unwrap_or_default());
        out.resize(self.spec.observation_len(), 0.0);
    }

    fn mask(&mut self, seat: usize) -> u64 {
        match self.watched.get(seat) {
            Some(true) => self.seats[seat].mask(seat),
            _ => u64::MAX,
        }
    }

    // Nobody goes back in a record.
    fn save(&mut self, _slot: usize) {}

    fn load(&mut self, _slot: usize) {}

    fn digest(&mut self) -> u64 {
        self.digests.get(&self.tick).copied().unwrap_or_default()
    }

    fn state(&mut self, out: &mut Vec<u8>) {
        out.clear();
    }

    fn restore(&mut self, _bytes: &[u8]) -> Result<(), StateError> {
        Err(StateError)
    }

    fn acting(&mut self) -> u16 {
        self.seen_from(None).acting()
    }

    fn score(&mut self) -> i64 {
        match self.last {
            Some((ticks, score)) if ticks == self.tick => score,
            _ => match self.last_outcome() {
                Some(outcome) => outcome.score,
                None => self.seen_from(None).score(),
            },
        }
    }

    fn seat_score(&mut self, seat: usize) -> i64 {
        let recorded = self.last_outcome().and_then(|it| it.seat_scores.get(seat));
        match recorded {
            Some(score) => *score,
            None => self.seen_from(Some(seat)).seat_score(seat),
        }
    }

    fn draw(&mut self, seat: Option<usize>, out: &mut DrawList) {
        self.seen_from(seat).draw(seat, out);
    }

    fn describe(&mut self, seat: usize, out: &mut String) {
        self.seen_from(Some(seat)).describe(seat, out);
    }

    fn inject(&mut self, _draws: &[u32]) {}
}
