//! The values of a running episode that formulas may ask for, and the end that a study puts to it.

use std::borrow::Cow;

use env_core::World;
use formula::{Expr, Scope, Value};

/// An episode after some ticks, as formulas know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live {
    /// The score that people see.
    pub score: i64,
    /// Ticks played.
    pub ticks: u32,
    /// Ticks per second.
    pub tick_hz: u16,
    /// Ticks of an episode, at most.
    pub horizon: u32,
}

impl Live {
    /// The world after so many ticks.
    pub fn of<W: World + ?Sized>(world: &mut W, ticks: u32, tick_hz: u16) -> Self {
        let horizon = world.spec().horizon;
        Self {
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
        let number = match name {
            "score" => self.score as f64,
            "ticks" => f64::from(self.ticks),
            "elapsed_s" => self.seconds(self.ticks),
            "left_s" => self.seconds(self.horizon.saturating_sub(self.ticks)),
            _ => return None,
        };
        Some(Cow::Owned(Value::Number(number)))
    }
}
