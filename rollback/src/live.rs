//! The values of a running episode that formulas may ask for, and the end that a study puts to it.

use std::borrow::Cow;

use env_core::{MAX_SEATS, World};
use formula::{Expr, Scope, Value};

/// An episode after some ticks, as formulas know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live {
    /// The score of the group, which people see.
    pub score: i64,
    /// The score of each seat; 0 beyond the last one.
    pub scores: [i64; MAX_SEATS],
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
        let score = |seat| match seat < usize::from(seats) {
            true => world.seat_score(seat),
            false => 0,
        };
        Self {
            scores: std::array::from_fn(score),
            seats,
            score: world.score(),
            ticks,
            tick_hz: tick_hz.max(1),
            horizon,
        }
    }

    fn seconds(&self, ticks: u32) -> f64 {
        f64::from(ticks) / f64::from(self.tick_hz)
    }

    /// True if the study ends the episode here. A formula that has no value, such as a division by zero, ends nothing.
    pub fn ends(&self, until: &Expr) -> bool {
        formula::eval(until, self) == Ok(Value::Bool(true))
    }
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
