//! Chance: one generator for each set of rules, and draws that a recording brings.

use alloc::boxed::Box;

use serde::{Deserialize, Serialize};

use crate::contract::MAX_SEATS;
use crate::rng::{Rng, numpy};

/// The most uniform numbers that a world draws in a step by the rules of CoGrid.
pub const MAX_ROLLS: usize = 8;

/// The source of random draws: one generator for each set of rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Draws {
    /// For the corrected rules.
    Xoshiro(Rng),
    /// For the rules of CoGrid, which draws from NumPy.
    Numpy(numpy::Generator),
}

/// The draws of one step as a recording has them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Injected {
    /// The rank of each seat in the movement; the lower moves first.
    pub ranks: Option<[u8; MAX_SEATS]>,
    /// Uniform numbers in 0..1, in the order of drawing.
    pub rolls: Option<[f32; MAX_ROLLS]>,
    /// A number that the world draws at most once a step (the next recipe of a kitchen).
    pub choice: Option<u32>,
}

/// The draws of the next step by the rules of CoGrid: its key, the uniform numbers, and the rank of each seat.
/// A world draws uniform numbers in every step, or none at all.
pub fn preview_draws(draws: &Draws, seats: usize, rolls: &mut [f32]) -> (u64, [u8; MAX_SEATS]) {
    let mut draws = draws.clone();
    let mut random = StepDraws::new(&mut draws, None);
    let key = random.key;
    if !rolls.is_empty() {
        random.rolls(&mut draws, rolls);
    }
    (key, random.ranks(&mut draws, seats))
}

/// The draws of the present step; they come from [`super::State::draws`].
#[derive(Debug)]
pub struct StepDraws {
    injected: Option<Box<Injected>>,
    /// By the rules of CoGrid: the key of the step.
    key: u64,
}

impl StepDraws {
    /// Begins a step.
    #[inline]
    pub(super) fn new(draws: &mut Draws, injected: Option<Box<Injected>>) -> Self {
        let key = match draws {
            Draws::Xoshiro(_) => 0,
            // Source: CoGrid 0.3.2, `cogrid_env.py:493`.
            Draws::Numpy(generator) => generator.integers(1 << 31),
        };
        Self { injected, key }
    }

    /// The rank of each seat in the movement: the lower moves first.
    #[inline]
    pub(super) fn ranks(&mut self, draws: &mut Draws, seats: usize) -> [u8; MAX_SEATS] {
        if let Some(ranks) = self.injected.as_ref().and_then(|injected| injected.ranks) {
            return ranks;
        }
        let mut ranks = core::array::from_fn(|seat| seat as u8);
        match draws {
            Draws::Xoshiro(rng) => rng.shuffle(&mut ranks[..seats]),
            Draws::Numpy(_) => {
                // Source: CoGrid 0.3.2, `core/pipeline/movement.py`.
                let mut step = numpy::Generator::new(self.key);
                step.integers((1 << 63) - 1);
                step.permute(&mut ranks[..seats]);
            }
        }
        ranks
    }

    /// The seat of two that moves first.
    #[inline]
    pub(super) fn first_of_two(&mut self, draws: &mut Draws) -> usize {
        match (draws, &self.injected) {
            (Draws::Xoshiro(rng), None) => usize::from(rng.flip()),
            (draws, _) => usize::from(self.ranks(draws, 2)[0] & 1),
        }
    }

    /// Uniform numbers in 0..1.
    pub fn rolls(&mut self, draws: &mut Draws, out: &mut [f32]) {
        if let Some(rolls) = self.injected.as_ref().and_then(|injected| injected.rolls) {
            out.iter_mut()
                .zip(rolls)
                .for_each(|(out, roll)| *out = roll);
            return;
        }
        match draws {
            Draws::Xoshiro(rng) => out
                .iter_mut()
                .for_each(|out| *out = (rng.bits() >> 40) as f32 / (1 << 24) as f32),
            Draws::Numpy(_) => {
                // Source: CoGrid 0.3.2, `envs/overcooked/config.py:86-143`: the key continues for the movement.
                let mut step = numpy::Generator::new(self.key);
                self.key = step.integers((1 << 63) - 1);
                out.iter_mut().for_each(|out| *out = step.random() as f32);
            }
        }
    }

    /// Draws a whole number below `bound`, evenly. A recording may determine it.
    pub fn choose(&mut self, draws: &mut Draws, bound: u32) -> u32 {
        let said = self.injected.as_ref().and_then(|injected| injected.choice);
        match (said, draws) {
            (Some(choice), _) => choice.checked_rem(bound).unwrap_or(0),
            (None, Draws::Xoshiro(rng)) => rng.below(bound),
            // CoGrid draws this from a generator that no seed fixes; here it comes from the key of the step.
            (None, Draws::Numpy(_)) => {
                numpy::Generator::new(self.key ^ 1 << 62).integers(u64::from(bound)) as u32
            }
        }
    }
}
