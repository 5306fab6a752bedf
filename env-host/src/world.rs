//! A hosted world for those who step any [`World`]: one whose state nobody can read.
//!
//! Its digest is a hash over everything that each step gave, so two runs have equal digests if they gave the same.

use env_core::contract::StateError;
use env_core::digest::{Fnv1a, digest};
use env_core::draw::{DrawList, Shape};
use env_core::{Action, Spec, StepOutcome, World};

use crate::contract::{HostFacts, HostFault, HostStep, HostedWorld, Picture};

/// Width of a picture of pixels, cells.
const CELLS: f32 = 16.0;

/// A hosted world, and its last answers.
pub struct HostWorld {
    host: Box<dyn HostedWorld>,
    step: HostStep,
    history: u64,
    picture: Picture,
    /// The end of the world before its time; it stands still from then on.
    fault: Option<HostFault>,
}

impl HostWorld {
    /// A world that is about to start an episode.
    pub fn new(host: Box<dyn HostedWorld>) -> Self {
        Self {
            host,
            step: HostStep::default(),
            history: 0,
            picture: Picture::None,
            fault: None,
        }
    }

    /// The facts that were fixed before the first episode.
    pub fn facts(&self) -> &HostFacts {
        self.host.facts()
    }

    fn take(&mut self, done: Result<HostStep, HostFault>) {
        match done {
            Ok(step) => {
                let outcome = &step.outcome;
                let said = (
                    self.history,
                    outcome.rewards.map(f32::to_bits),
                    (outcome.terminated, outcome.truncated, outcome.over),
                    &outcome.events,
                    outcome
                        .components
                        .iter()
                        .map(|part| part.to_bits())
                        .collect::<Vec<_>>(),
                    (step.score, step.seat_scores, step.acting),
                    step.observed,
                );
                self.history = digest(&said);
                self.step = step;
            }
            Err(fault) => self.fail(fault),
        }
    }

    fn fail(&mut self, fault: HostFault) {
        self.step.outcome.clear();
        self.step.outcome.over = true;
        self.step.infos.clear();
        self.fault.get_or_insert(fault);
    }
}

impl World for HostWorld {
    fn spec(&self) -> &Spec {
        self.host.spec()
    }

    fn reset(&mut self, seed: u64) {
        self.history = Fnv1a::EMPTY.value();
        let done = self.host.reset(seed).cloned();
        self.take(done);
    }

    fn step(&mut self, actions: &[Action]) -> &StepOutcome {
        if self.fault.is_none() {
            let done = self.host.step(actions).cloned();
            self.take(done);
        }
        &self.step.outcome
    }

    fn observe(&mut self, seat: usize, out: &mut Vec<f32>) {
        if let Err(fault) = self.host.observe(seat, out) {
            self.fail(fault);
            out.clear();
            out.resize(self.spec().observation_len(), 0.0);
        }
    }

    fn mask(&mut self, seat: usize) -> u64 {
        self.step.masks.get(seat).copied().unwrap_or(u64::MAX)
    }

    // Only sessions on pages go back; a host never does.
    fn save(&mut self, _slot: usize) {}

    fn load(&mut self, _slot: usize) {}

    fn digest(&mut self) -> u64 {
        self.history
    }

    fn state(&mut self, out: &mut Vec<u8>) {
        out.clear();
    }

    fn restore(&mut self, _bytes: &[u8]) -> Result<(), StateError> {
        Err(StateError)
    }

    fn acting(&mut self) -> u16 {
        self.step.acting
    }

    fn score(&mut self) -> i64 {
        self.step.score
    }

    fn seat_score(&mut self, seat: usize) -> i64 {
        self.step.seat_scores.get(seat).copied().unwrap_or(0)
    }

    fn draw(&mut self, seat: Option<usize>, out: &mut DrawList) {
        out.begin(1.0, 1.0, 0);
        let drawn = self.host.picture(seat.unwrap_or(0), &mut self.picture);
        match (drawn, &self.picture) {
            (Err(fault), _) => self.fail(fault),
            (Ok(()), Picture::None) => {}
            (Ok(()), Picture::List(list)) => out.clone_from(list),
            (Ok(()), Picture::Pixels(pixels)) => {
                let size = |edge: u32| u16::try_from(edge).ok().filter(|edge| *edge > 0);
                let (Some(width), Some(height)) = (size(pixels.width), size(pixels.height)) else {
                    return;
                };
                let rows = CELLS * f32::from(height) / f32::from(width);
                out.begin(CELLS, rows, 0);
                let rgb = pixels.rgb.clone();
                out.push(
                    0,
                    [0.0, 0.0, CELLS, rows],
                    Shape::Pixels { width, height, rgb },
                );
            }
        }
    }

    fn point(&mut self, seat: usize, at: [f32; 2]) -> Option<Action> {
        if !self.spec().pointer || self.fault.is_some() {
            return None;
        }
        let meant = self.host.point(seat, at);
        meant.map_err(|fault| self.fail(fault)).ok().flatten()
    }

    fn describe(&mut self, seat: usize, out: &mut String) {
        if let Err(fault) = self.host.describe(seat, out) {
            self.fail(fault);
            out.clear();
        }
    }

    fn choose(&mut self, seat: usize) -> Option<Action> {
        let chosen = self.host.choose(seat);
        chosen.map_err(|fault| self.fail(fault)).ok()
    }

    fn infos(&self) -> Option<String> {
        let rows = self.step.infos.iter();
        let rows: Vec<_> = rows
            .map(|info| (info.seat, &info.name, &info.value))
            .collect();
        let json = (!rows.is_empty()).then(|| serde_json::to_string(&rows));
        json.and_then(Result::ok)
    }

    fn inject(&mut self, _draws: &[u32]) {}

    fn fault(&self) -> Option<String> {
        self.fault.as_ref().map(ToString::to_string)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NativeHost;

    fn opened() -> HostWorld {
        let world = env_core::envs::open("overcooked", "{}").unwrap();
        HostWorld::new(Box::new(NativeHost::new(world, Vec::new())))
    }

    #[test]
    fn a_world_behind_the_contract_plays_as_it_does_itself() {
        let (mut hosted, mut native) =
            (opened(), env_core::envs::open("overcooked", "{}").unwrap());
        hosted.reset(7);
        native.reset(7);
        let (mut one, mut other) = (Vec::new(), Vec::new());
        for step in 0..60_u16 {
            let actions = [step % 6, step / 2 % 6];
            assert_eq!(hosted.step(&actions), native.step(&actions));
            hosted.observe(1, &mut one);
            native.observe(1, &mut other);
            assert_eq!((&one, hosted.score()), (&other, native.score()));
        }
        assert_eq!(hosted.fault(), None);
    }

    #[test]
    fn equal_seeds_and_actions_give_equal_digests_and_others_do_not() {
        let digest = |seed: u64, last: u16| {
            let mut world = opened();
            world.reset(seed);
            (0..5).for_each(|step| drop(world.step(&[step % 4, 4]).clone()));
            world.step(&[last, 4]);
            world.digest()
        };
        assert_eq!(digest(7, 1), digest(7, 1));
        assert_ne!(digest(7, 1), digest(7, 2));
    }
}
