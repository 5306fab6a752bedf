//! Parts of every policy's state: random numbers, slots to keep it in, and its digest.

use env_core::contract::StateError;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Random numbers with one word of state.
///
/// Source: splitmix64, Steele, Lea and Flood 2014.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SplitMix {
    state: u64,
}

impl SplitMix {
    /// Its own stream for each seat of an episode.
    pub(crate) fn seeded(seat: usize, seed: u64) -> Self {
        let mut rng = Self { state: seed };
        rng.state = rng.next().wrapping_add(seat as u64);
        Self { state: rng.next() }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `n`, which is not 0. The bias is below `n` in 2^32.
    pub(crate) fn draw_below(&mut self, n: u32) -> u32 {
        (((self.next() >> 32) * u64::from(n)) >> 32) as u32
    }

    pub(crate) fn digest(self, digest: &mut Digest) {
        digest.write_word(self.state);
    }
}

/// Saved states by slot. Memory is taken once a slot.
#[derive(Debug)]
pub(crate) struct Slots<T>(Vec<Option<T>>);

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Clone> Slots<T> {
    pub(crate) fn save(&mut self, slot: usize, state: &T) {
        if self.0.len() <= slot {
            self.0.resize_with(slot + 1, || None);
        }
        match &mut self.0[slot] {
            Some(saved) => saved.clone_from(state),
            empty => *empty = Some(state.clone()),
        }
    }

    /// Loads a state; one that was never saved leaves the state as it is.
    pub(crate) fn load(&self, slot: usize, state: &mut T) {
        if let Some(Some(saved)) = self.0.get(slot) {
            state.clone_from(saved);
        }
    }
}

/// Replaces `out` by the bytes of a state.
pub(crate) fn write(state: &impl Serialize, out: &mut Vec<u8>) {
    out.clear();
    *out =
        postcard::to_extend(state, std::mem::take(out)).expect("plain data serialises into memory");
}

/// Reads a state from its bytes, all of them.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, StateError> {
    match postcard::take_from_bytes(bytes) {
        Ok((state, [])) => Ok(state),
        _ => Err(StateError),
    }
}

/// Digest over words.
///
/// Source: FNV-1a, 64 bits, over the little-endian bytes.
pub(crate) struct Digest(u64);

impl Digest {
    pub(crate) fn new() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }

    pub(crate) fn write_word(&mut self, word: u64) {
        for byte in word.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }

    pub(crate) fn end(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_matches_its_published_stream() {
        let mut rng = SplitMix { state: 1_234_567 };
        assert_eq!(
            [rng.next(), rng.next()],
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]
        );
    }

    #[test]
    fn below_stays_below() {
        let mut rng = SplitMix::seeded(1, 7);
        let drawn: Vec<u32> = (0..200).map(|_| rng.draw_below(6)).collect();
        assert!((0..6).all(|n| drawn.contains(&n)) && drawn.iter().all(|n| *n < 6));
    }
}
