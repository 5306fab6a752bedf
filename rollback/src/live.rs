//! The values of a running episode that formulas may ask for, and the end that a study puts to it.

use std::borrow::Cow;

use env_core::{MAX_SEATS, World};
use formula::{Expr, Scope, Value};

/// An episode after some ticks, as formulas know it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Live {
    /// The score of the group, which people see.
    pub score: i64,
    /// The score of each seat; 0 beyond the last one.
    pub scores: [i64; MAX_SEATS],
    /// The sum of each seat's rewards; `None` where nobody keeps it.
    pub rewards: Option<[f64; MAX_SEATS]>,
    /// Seats.
    pub seats: u8,
    /// Ticks played.
    pub ticks: u32,
    /// Ticks per second.
    pub tick_hz: u16,
    /// Ticks of an episode, at most.
    pub horizon: u32,
}

impl Live {
    /// The world after this many ticks.
    pub fn of<W: World + ?Sized>(world: &mut W, ticks: u32, tick_hz: u16) -> Self {
        let (horizon, seats) = (world.spec().horizon, world.spec().seats);
        let rewards = sums_of(world, seats.into());
        let score = |seat| match seat < usize::from(seats) {
            true => world.seat_score(seat),
            false => 0,
        };
        Self {
            rewards,
            scores: std::array::from_fn(score),
            seats,
            score: world.score(),
            ticks,
            tick_hz: tick_hz.max(1),
            horizon,
        }
    }

    /// The same, with the sums of the rewards from elsewhere than the world.
    #[must_use]
    pub fn with_rewards(self, sums: &[f64]) -> Self {
        Self {
            rewards: Some(pad(sums)),
            ..self
        }
    }

    fn seconds(&self, ticks: u32) -> f64 {
        f64::from(ticks) / f64::from(self.tick_hz)
    }

    /// True if the study ends the episode here. A formula that has no value, such as a division by zero, ends nothing.
    pub fn has_ended(&self, until: &Expr) -> bool {
        formula::eval(until, self) == Ok(Value::Bool(true))
    }
}

/// The sums of the rewards, if the world keeps them. A page asks after each tick, so nothing is allocated.
fn sums_of<W: World + ?Sized>(world: &W, seats: usize) -> Option<[f64; MAX_SEATS]> {
    let mut sums = [0.0; MAX_SEATS];
    for (seat, sum) in sums.iter_mut().enumerate().take(seats) {
        *sum = world.reward_sum(seat)?;
    }
    Some(sums)
}

/// The sums with a place for every seat that there may be.
fn pad(sums: &[f64]) -> [f64; MAX_SEATS] {
    std::array::from_fn(|seat| sums.get(seat).copied().unwrap_or(0.0))
}

impl Scope for Live {
    fn value(&self, name: &str) -> Option<Cow<'_, Value>> {
        // Scores are far below 2^53, above which a number would not be whole.
        #[allow(clippy::cast_precision_loss, reason = "see above")]
        let number_of = |score: i64| score as f64;
        if name == "scores" {
            let scores = self.scores.iter().take(self.seats.into());
            let scores = scores.map(|score| Value::Number(number_of(*score)));
            return Some(Cow::Owned(Value::List(scores.collect())));
        }
        if name == "rewards" {
            let sums = self.rewards.as_ref()?.iter().take(self.seats.into());
            return Some(Cow::Owned(Value::List(
                sums.copied().map(Value::Number).collect(),
            )));
        }
        let number = match name {
            "score" => number_of(self.score),
            "ticks" => f64::from(self.ticks),
            "elapsed_s" => self.seconds(self.ticks),
            "left_s" => self.seconds(self.horizon.saturating_sub(self.ticks)),
            _ => return None,
        };
        Some(Cow::Owned(Value::Number(number)))
    }
}
