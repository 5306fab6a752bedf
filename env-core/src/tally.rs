//! A world that knows the sum of each seat's rewards, for studies whose formulas ask for it.
//!
//! The sums go wherever the state goes: into slots, into the bytes of the state, and back. They are no part of the
//! digest, because they follow from the states before.
//!
//! This module must not know who asks.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::contract::StateError;
use crate::draw::DrawList;
use crate::{Action, MAX_SEATS, Spec, StepOutcome, World};

/// The bytes of one sum.
const SUM: usize = size_of::<f64>();

/// A world with the sums of its rewards.
#[derive(Debug)]
pub struct TalliedWorld<W> {
    world: W,
    sums: [f64; MAX_SEATS],
    kept: Vec<[f64; MAX_SEATS]>,
}

/// Adds the rewards of a step to the sums. One that is no number counts nothing, as it would make every later sum none.
pub fn add_rewards(sums: &mut [f64], rewards: &[f32]) {
    for (sum, &reward) in sums.iter_mut().zip(rewards) {
        *sum += if reward.is_finite() {
            f64::from(reward)
        } else {
            0.0
        };
    }
}

/// Appends the sums to bytes, as [`TalliedWorld`] has them behind its state: 8 bytes each, little-endian.
pub fn write_sums(sums: &[f64], out: &mut Vec<u8>) {
    out.extend(sums.iter().flat_map(|sum| sum.to_le_bytes()));
}

/// Reads what [`write_sums`] has written; `None` unless these are as many bytes, of numbers.
pub fn read_sums(bytes: &[u8], seats: usize) -> Option<Vec<f64>> {
    let (sums, rest) = bytes.as_chunks::<SUM>();
    let sums: Vec<f64> = sums.iter().map(|sum| f64::from_le_bytes(*sum)).collect();
    let is_whole = rest.is_empty() && sums.len() == seats;
    (is_whole && sums.iter().all(|sum| sum.is_finite())).then_some(sums)
}

impl<W: World> TalliedWorld<W> {
    /// A world before its first state.
    pub fn new(world: W) -> Self {
        Self {
            world,
            sums: [0.0; MAX_SEATS],
            kept: Vec::new(),
        }
    }

    fn seats(&self) -> usize {
        usize::from(self.world.spec().seats).min(MAX_SEATS)
    }
}

impl<'a, W: World + Send + 'a> TalliedWorld<W> {
    /// Returns the same, for callers that take any world.
    pub fn boxed(world: W) -> Box<dyn World + Send + 'a> {
        Box::new(Self::new(world))
    }
}

impl<W: World> World for TalliedWorld<W> {
    fn spec(&self) -> &Spec {
        self.world.spec()
    }

    fn reset(&mut self, seed: u64) {
        self.world.reset(seed);
        self.sums = [0.0; MAX_SEATS];
    }

    fn step(&mut self, actions: &[Action]) -> &StepOutcome {
        let outcome = self.world.step(actions);
        add_rewards(&mut self.sums, &outcome.rewards);
        outcome
    }

    fn observe(&mut self, seat: usize, out: &mut Vec<f32>) {
        self.world.observe(seat, out);
    }

    fn mask(&mut self, seat: usize) -> u64 {
        self.world.mask(seat)
    }

    fn save(&mut self, slot: usize) {
        self.world.save(slot);
        if self.kept.len() <= slot {
            self.kept.resize(slot + 1, [0.0; MAX_SEATS]);
        }
        self.kept[slot] = self.sums;
    }

    fn load(&mut self, slot: usize) {
        self.world.load(slot);
        if let Some(sums) = self.kept.get(slot) {
            self.sums = *sums;
        }
    }

    fn digest(&mut self) -> u64 {
        self.world.digest()
    }

    fn state(&mut self, out: &mut Vec<u8>) {
        self.world.state(out);
        write_sums(&self.sums[..self.seats()], out);
    }

    fn is_canonical(&self) -> bool {
        self.world.is_canonical()
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        let seats = self.seats();
        let at = bytes.len().checked_sub(seats * SUM).ok_or(StateError)?;
        let (state, sums) = bytes.split_at(at);
        let sums = read_sums(sums, seats).ok_or(StateError)?;
        self.world.restore(state)?;
        self.sums[..seats].copy_from_slice(&sums);
        Ok(())
    }

    fn acting(&mut self) -> u16 {
        self.world.acting()
    }

    fn score(&mut self) -> i64 {
        self.world.score()
    }

    fn seat_score(&mut self, seat: usize) -> i64 {
        self.world.seat_score(seat)
    }

    fn reward_sum(&self, seat: usize) -> Option<f64> {
        self.sums[..self.seats()].get(seat).copied()
    }

    fn draw(&mut self, seat: Option<usize>, out: &mut DrawList) {
        self.world.draw(seat, out);
    }

    fn point(&mut self, seat: usize, at: [f32; 2]) -> Option<Action> {
        self.world.point(seat, at)
    }

    fn describe(&mut self, seat: usize, out: &mut String) {
        self.world.describe(seat, out);
    }

    fn choose(&mut self, seat: usize) -> Option<Action> {
        self.world.choose(seat)
    }

    fn played(&self) -> Option<&[Action]> {
        self.world.played()
    }

    fn proposals(&mut self, seat: usize) -> &[Action] {
        self.world.proposals(seat)
    }

    fn infos(&self) -> Option<String> {
        self.world.infos()
    }

    fn inject(&mut self, draws: &[u32]) {
        self.world.inject(draws);
    }

    fn fault(&self) -> Option<String> {
        self.world.fault()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envs;

    /// A world of two agents who pay for every collision.
    fn world() -> TalliedWorld<Box<dyn World + Send>> {
        let world = envs::open("goal_seeking", r#"{"seats":2}"#).unwrap();
        let mut world = TalliedWorld::new(world);
        world.reset(5);
        world
    }

    /// Walks in changing directions, and returns the sum of each seat's rewards.
    fn walk(world: &mut TalliedWorld<Box<dyn World + Send>>, steps: u16) -> [f64; 2] {
        let mut earned = [0.0; 2];
        for step in 0..steps {
            let outcome = world.step(&[step / 5 % 4, step / 3 % 4]);
            add_rewards(&mut earned, &outcome.rewards);
        }
        earned
    }

    fn sums(world: &TalliedWorld<Box<dyn World + Send>>) -> [f64; 2] {
        [0, 1].map(|seat| world.reward_sum(seat).unwrap())
    }

    #[test]
    fn the_sums_go_back_with_the_state() {
        let mut tallied = world();
        let early = walk(&mut tallied, 30);
        assert!(early.iter().all(|sum| *sum != 0.0), "{early:?}");
        assert_eq!((sums(&tallied), tallied.reward_sum(2)), (early, None));
        tallied.save(2);
        let mut bytes = Vec::new();
        tallied.state(&mut bytes);
        let later = walk(&mut tallied, 20);
        assert_ne!(sums(&tallied), early);
        tallied.load(2);
        assert_eq!(sums(&tallied), early);
        assert_eq!(walk(&mut tallied, 20), later);

        let mut elsewhere = world();
        elsewhere.restore(&bytes).unwrap();
        assert_eq!(sums(&elsewhere), early);
        assert_eq!(walk(&mut elsewhere, 20), later);
        assert_eq!(elsewhere.digest(), tallied.digest());
    }

    #[test]
    fn a_state_without_its_sums_is_refused_and_changes_nothing() {
        let mut tallied = world();
        walk(&mut tallied, 30);
        let (before, digest) = (sums(&tallied), tallied.digest());
        let (mut plain, mut endless) = (Vec::new(), Vec::new());
        tallied.world.state(&mut plain);
        endless.extend_from_slice(&plain);
        write_sums(&[f64::INFINITY, 0.0], &mut endless);
        for bytes in [&plain[..], &endless, &plain[..3]] {
            assert_eq!(tallied.restore(bytes), Err(StateError));
            assert_eq!((sums(&tallied), tallied.digest()), (before, digest));
        }
    }

    #[test]
    fn a_reward_that_is_no_number_counts_nothing() {
        let mut sums = [1.0, 2.0];
        add_rewards(&mut sums, &[f32::NAN, 0.5, 3.0]);
        assert_eq!(sums, [1.0, 2.5]);
    }
}
