//! The random generator that lives inside a state: xoshiro256++, seeded through SplitMix64.
//!
//! Its outputs are part of the file format: a recorded episode replays only with the same generator.
//! [`numpy`] holds another one, for rules that are equal to a Python original.

pub mod numpy;

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// The generator; plain data, saved and compared with the state that holds it.
///
/// Source: Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Xoshiro256PlusPlus")]
pub struct Rng(Xoshiro256PlusPlus);

impl TryFrom<Xoshiro256PlusPlus> for Rng {
    type Error = &'static str;

    /// Refuses the one state that no seed leads to: it gives zeros for ever, and who rejects them draws for ever.
    fn try_from(read: Xoshiro256PlusPlus) -> Result<Self, Self::Error> {
        let mut next = read.clone();
        next.next_u64();
        match next == read {
            true => Err("a generator whose state is 0"),
            false => Ok(Self(read)),
        }
    }
}

impl Rng {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// The next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// True or false, evenly.
    #[inline]
    pub fn flip(&mut self) -> bool {
        self.bits() >> 63 == 1
    }

    /// A whole number below `bound`, evenly; 0 if the bound is 0.
    ///
    /// Source: Lemire, "Fast random integer generation in an interval", 2019, with rejection.
    pub fn below(&mut self, bound: u32) -> u32 {
        loop {
            let product = (self.bits() >> 32) * u64::from(bound);
            let low = product as u32;
            if low >= bound || low >= bound.wrapping_neg().checked_rem(bound).unwrap_or(0) {
                return (product >> 32) as u32;
            }
        }
    }

    /// Puts a slice into an order drawn evenly from all its orders.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u32 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_outputs_never_change() {
        let mut rng = Rng::new(0);
        let first: [u64; 4] = core::array::from_fn(|_| rng.bits());
        assert_eq!(
            first,
            [
                0x53175d61490b23df,
                0x61da6f3dc380d507,
                0x5c0fdf91ec9a7bfc,
                0x02eebf8c3bbe5e1a
            ]
        );
        let small: [u32; 8] = core::array::from_fn(|_| rng.below(10));
        assert_eq!(small, [4, 0, 8, 8, 2, 0, 3, 0]);
    }

    #[test]
    fn a_generator_that_stands_still_is_refused() {
        let bytes = postcard::to_allocvec(&Rng::new(5)).unwrap();
        assert_eq!(postcard::from_bytes::<Rng>(&bytes).unwrap(), Rng::new(5));
        assert!(postcard::from_bytes::<Rng>(&[0; 32]).is_err());
        // By its bytes: the state, the increment, no half of a word.
        let stuck = |increment: u8| postcard::from_bytes::<numpy::Generator>(&[0, increment, 0]);
        assert!(stuck(0).is_err());
        assert!(stuck(1).is_ok());
    }

    #[test]
    fn draws_below_a_bound_are_even() {
        let mut rng = Rng::new(7);
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            counts[rng.below(6) as usize] += 1;
        }
        assert!(
            counts.iter().all(|&n| (9_600..10_400).contains(&n)),
            "{counts:?}"
        );
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.below(1), 0);
    }

    #[test]
    fn shuffling_reaches_every_order() {
        let mut rng = Rng::new(3);
        let mut seen = alloc::collections::BTreeSet::new();
        for _ in 0..200 {
            let mut items = [0, 1, 2];
            rng.shuffle(&mut items);
            seen.insert(items);
        }
        assert_eq!(seen.len(), 6);
    }
}
