//! How an action is chosen from one value an action: the greatest, or drawn.

use serde::{Deserialize, Serialize};

use crate::state::SplitMix;

/// How an action is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionChoice {
    /// Ticks from one decision to the next; the seat does nothing in between.
    pub every: u8,
    /// Divisor of the values before an action is drawn, in proportion to its exponential; `None` to take the greatest,
    /// of equal ones the first.
    pub temperature: Option<f32>,
    /// True to choose only among the actions that may have an effect, as the environment's mask says.
    pub is_masked: bool,
}

impl Default for ActionChoice {
    fn default() -> Self {
        Self {
            every: 1,
            temperature: None,
            is_masked: false,
        }
    }
}

/// True if a mask allows an action; an action beyond its bits may always have an effect.
pub(super) fn is_allowed(mask: u64, action: usize) -> bool {
    action >= 64 || mask >> action & 1 == 1
}

/// The index of the greatest value, of equal ones the first; one that is no number is never it.
pub(super) fn find_greatest(values: &[f32]) -> usize {
    greatest_allowed(values, u64::MAX)
}

/// The index of the greatest value that a mask allows.
pub(super) fn greatest_allowed(values: &[f32], mask: u64) -> usize {
    let better = |best: Option<(usize, f32)>, (index, value): (usize, f32)| match best {
        Some((_, best_value)) if value > best_value => Some((index, value)),
        None if !value.is_nan() => Some((index, value)),
        best => best,
    };
    let allowed = values.iter().copied().enumerate();
    let allowed = allowed.filter(|(index, _)| is_allowed(mask, *index));
    let best = allowed.fold(None, better).map(|(index, _)| index);
    best.unwrap_or_else(|| {
        (0..values.len())
            .find(|it| is_allowed(mask, *it))
            .unwrap_or(0)
    })
}

/// An index that a mask allows, drawn in proportion to the exponential of its value, divided by the temperature.
pub(super) fn draw_action(
    values: &[f32],
    mask: u64,
    temperature: f32,
    rng: &mut SplitMix,
) -> usize {
    let best = greatest_allowed(values, mask);
    let top = values.get(best).copied().unwrap_or_default();
    // 24 bits: each value is a different number.
    let fraction = rng.draw_below(1 << 24) as f32 / (1_u32 << 24) as f32;
    let weight = |(index, value): (usize, &f32)| match (value - top) / temperature {
        _ if !is_allowed(mask, index) => 0.0,
        power if power.is_nan() => 0.0,
        power => libm::expf(power),
    };
    let weights = values.iter().enumerate().map(weight);
    let total = weights.clone().fold(0.0, |sum, weight| sum + weight);
    let (aim, mut sum) = (fraction * total, 0.0);
    for (index, weight) in weights.enumerate() {
        sum += weight;
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
        assert_eq!(find_greatest(&[1.0, 3.0, 3.0, -1.0]), 1);
        assert_eq!(find_greatest(&[f32::NAN, -2.0, f32::NAN, -1.0]), 3);
        assert_eq!(find_greatest(&[f32::NEG_INFINITY, f32::NEG_INFINITY]), 0);
        assert_eq!(find_greatest(&[f32::NAN]), 0);
    }

    #[test]
    fn draws_are_in_proportion() {
        let mut rng = SplitMix::seeded(0, 11);
        let mut drawn_by = [0_u32; 3];
        for _ in 0..40_000 {
            drawn_by[draw_action(&[0.0, 1.0, 2.0], u64::MAX, 1.0, &mut rng)] += 1;
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
            assert_eq!(draw_action(&[0.5, 0.1, 0.4], u64::MAX, 0.001, &mut rng), 0);
            assert_eq!(draw_action(&[f32::NAN, 0.0], u64::MAX, 1.0, &mut rng), 1);
            assert_eq!(
                draw_action(&[f32::INFINITY, 0.0], u64::MAX, 1.0, &mut rng),
                0
            );
        }
    }

    #[test]
    fn what_a_mask_forbids_is_never_chosen() {
        let (values, mask) = ([5.0, 1.0, 2.0, f32::NAN], 0b1110);
        assert_eq!(greatest_allowed(&values, mask), 2);
        assert_eq!(greatest_allowed(&[1.0, f32::NAN], 0b10), 1);
        let mut rng = SplitMix::seeded(0, 5);
        let drawn: Vec<usize> = (0..200)
            .map(|_| draw_action(&values, mask, 1.0, &mut rng))
            .collect();
        assert!(drawn.contains(&1) && drawn.iter().all(|it| [1, 2].contains(it)));
    }
}
