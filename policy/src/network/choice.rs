//! How an action is chosen from one value an action: the greatest, or drawn.

use serde::{Deserialize, Serialize};

use crate::state::SplitMix;

/// How an action is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionChoice {
    /// Ticks from one decision to the next; the seat does nothing in between.
    pub every: u8,
    /// Divisor of the values before an action is drawn, in proportion to its exponential; none to take the
    /// greatest, of equal ones the first.
    pub temperature: Option<f32>,
}

impl Default for ActionChoice {
    fn default() -> Self {
        Self {
            every: 1,
            temperature: None,
        }
    }
}

/// The index of the greatest value, of equal ones the first; one that is no number is never it.
pub(super) fn greatest(values: &[f32]) -> usize {
    let better = |best: Option<(usize, f32)>, (index, value): (usize, f32)| match best {
        Some((_, best_value)) if value > best_value => Some((index, value)),
        None if !value.is_nan() => Some((index, value)),
        best => best,
    };
    let best = values.iter().copied().enumerate().fold(None, better);
    best.map_or(0, |(index, _)| index)
}

/// An index drawn in proportion to the exponential of its value, divided by the temperature.
pub(super) fn drawn(values: &[f32], temperature: f32, rng: &mut SplitMix) -> usize {
    let best = greatest(values);
    let top = values.get(best).copied().unwrap_or_default();
    // 24 bits: every one of them is a number of its own.
    let fraction = rng.below(1 << 24) as f32 / (1_u32 << 24) as f32;
    let weight = |value: f32| match (value - top) / temperature {
        power if power.is_nan() => 0.0,
        power => libm::expf(power),
    };
    let total = values.iter().fold(0.0, |sum, value| sum + weight(*value));
    let (aim, mut sum) = (fraction * total, 0.0);
    for (index, value) in values.iter().enumerate() {
        sum += weight(*value);
        if sum > aim {
            return index;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_greatest_is_taken() {
        assert_eq!(greatest(&[1.0, 3.0, 3.0, -1.0]), 1);
        assert_eq!(greatest(&[f32::NAN, -2.0, f32::NAN, -1.0]), 3);
        assert_eq!(greatest(&[f32::NEG_INFINITY, f32::NEG_INFINITY]), 0);
        assert_eq!(greatest(&[f32::NAN]), 0);
    }

    #[test]
    fn draws_are_in_proportion() {
        let mut rng = SplitMix::seeded(0, 11);
        let mut drawn_by = [0_u32; 3];
        for _ in 0..40_000 {
            drawn_by[drawn(&[0.0, 1.0, 2.0], 1.0, &mut rng)] += 1;
        }
        let total: f32 = [0.0_f32, 1.0, 2.0].map(libm::expf).iter().sum();
        for (value, count) in [0.0_f32, 1.0, 2.0].into_iter().zip(drawn_by) {
            let (expected, found) = (libm::expf(value) / total, count as f32 / 40_000.0);
            assert!((expected - found).abs() < 0.01, "{expected} {found}");
        }
    }

    #[test]
    fn a_low_temperature_takes_the_greatest_and_nothing_odd_is_drawn() {
        let mut rng = SplitMix::seeded(0, 3);
        for _ in 0..200 {
            assert_eq!(drawn(&[0.5, 0.1, 0.4], 0.001, &mut rng), 0);
            assert_eq!(drawn(&[f32::NAN, 0.0], 1.0, &mut rng), 1);
            assert_eq!(drawn(&[f32::INFINITY, 0.0], 1.0, &mut rng), 0);
        }
    }
}
