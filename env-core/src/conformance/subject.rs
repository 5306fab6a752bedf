//! The worlds that are checked, and the other ways to their observations.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::{LawVerdict, law};
use crate::contract::{Environment, World};
use crate::instance::Instance;
use crate::observer::BatchObserver;

/// A world and what else its kind lets a check look at.
pub(super) trait Subject: World {
    /// Checks whether it stands where another stands.
    fn alike(&mut self, other: &mut Self) -> bool {
        if self.digest() != other.digest() {
            return false;
        }
        let (mut one, mut two) = (Vec::new(), Vec::new());
        self.state(&mut one);
        other.state(&mut two);
        one == two || !self.is_canonical()
    }
}

impl Subject for dyn World {}

impl<E: Environment> Subject for Instance<E> {
    fn alike(&mut self, other: &mut Self) -> bool {
        self.current() == other.current() && self.digest() == other.digest()
    }
}

/// A check of other ways to the observation `now` of a seat; `earlier` is one of the same seat.
pub(super) type CloserLook<W> = fn(&W, usize, earlier: &[f32], now: &[f32]) -> LawVerdict;

/// The ways in which a batch observes.
pub(super) fn look_closer<E: BatchObserver>(
    world: &Instance<E>,
    seat: usize,
    earlier: &[f32],
    now: &[f32],
) -> LawVerdict {
    let (env, state) = (world.env(), world.current());
    let mut values = earlier.to_vec();
    env.refresh(state, seat, &mut values);
    law(
        values == now,
        "an observation brought up to date is the observation",
        || format!("seat {seat}"),
    )?;
    if !env.spec().compact {
        return Ok(());
    }
    let wide = |bytes: &[i8]| bytes.iter().zip(now).all(|(&b, &v)| f32::from(b) == v);
    let mut bytes = vec![0x55; now.len()];
    env.observe_compact(state, seat, &mut bytes);
    law(
        wide(&bytes),
        "the compact observation has the same numbers",
        || format!("seat {seat}"),
    )?;
    bytes = earlier.iter().map(|&value| value as i8).collect();
    env.refresh_compact(state, seat, &mut bytes);
    law(
        wide(&bytes),
        "a compact observation brought up to date is the observation",
        || format!("seat {seat}"),
    )
}
