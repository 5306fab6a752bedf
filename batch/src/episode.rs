//! The record that a batch keeps of an instance beside its state.

use env_core::{MAX_SEATS, StepOutcome};
use serde::{Deserialize, Serialize};

/// Step between states of SplitMix64.
///
/// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The position of an instance: the next seeds, and the results of its episode so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// The stream of seeds: the caller's seed starts the first episode, and the outputs of SplitMix64, seeded by it,
    /// start the following ones.
    pub seeds: u64,
    /// Steps so far.
    pub length: u32,
    /// True once the episode is over.
    pub over: bool,
    /// Sum of the rewards so far, by seat; entries past the last seat are 0.
    pub returns: [f32; MAX_SEATS],
}

impl Episode {
    /// The first episode after the caller gave a seed.
    pub fn new(seed: u64) -> Self {
        Self {
            seeds: seed,
            length: 0,
            over: false,
            returns: [0.0; MAX_SEATS],
        }
    }

    /// Turns to the next episode and returns its seed.
    pub fn next_seed(&mut self) -> u64 {
        *self = Self::new(self.seeds.wrapping_add(GAMMA));
        let mut bits = self.seeds;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Adds the results of a step.
    pub fn record(&mut self, outcome: &StepOutcome, seats: usize) {
        self.length = self.length.saturating_add(1);
        self.over = outcome.over;
        for (sum, reward) in self.returns.iter_mut().zip(&outcome.rewards).take(seats) {
            *sum += reward;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_of_an_instance_never_change() {
        let mut episode = Episode::new(1_234_567);
        let seeds: [u64; 3] = std::array::from_fn(|_| episode.next_seed());
        // The published first outputs of SplitMix64 for this seed.
        assert_eq!(
            seeds,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }
}
