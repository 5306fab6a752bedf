//! An environment opened by its id, as the server's replica opens it, given to a session; it keeps in mind through
//! which states it came.

use std::collections::BTreeMap;

use env_core::contract::StateError;
use env_core::draw::DrawList;
use env_core::{Action, Spec, StepOutcome, World};
use protocol::control::Plan;
use protocol::log::Header;

use crate::agent;

/// A native environment of any kind.
pub struct Native {
    world: Box<dyn World + Send>,
    outcome: StepOutcome,
    /// The digest after each step that is not taken back, since the world was reset.
    states: Vec<u64>,
    /// The number of these steps in each slot.
    slots: BTreeMap<usize, usize>,
    /// The number of these steps in each state whose bytes were requested, by its digest.
    kept: BTreeMap<u64, usize>,
}

impl Native {
    /// Opens the environment of a plan.
    ///
    /// # Errors
    /// It is unknown, or refuses its parameters.
    pub fn open(plan: &Plan) -> Result<Self, String> {
        let world = open(&plan.env, &plan.params)?;
        let world = agent::share(world, plan.shared.as_ref(), &plan.controllers)?;
        Ok(Self::new(world))
    }

    /// Opens the environment of the file of an episode.
    ///
    /// # Errors
    /// It is unknown, or refuses its parameters.
    pub(crate) fn recorded_world(header: &Header) -> Result<Self, String> {
        let world = open(&header.env, &header.params)?;
        let world = agent::share(world, header.shared.as_ref(), &header.controllers)?;
        Ok(Self::new(world))
    }

    /// Opens an environment by its id, with parameters as JSON.
    ///
    /// # Errors
    /// It is unknown, or refuses its parameters.
    pub fn named_world(env: &str, params: &str) -> Result<Self, String> {
        Ok(Self::new(open(env, params)?))
    }

    fn new(world: Box<dyn World + Send>) -> Self {
        Self {
            world,
            outcome: StepOutcome::default(),
            states: Vec::new(),
            slots: BTreeMap::new(),
            kept: BTreeMap::new(),
        }
    }

    /// The digest after each step since the world was reset or, in the middle of an episode, restored.
    pub fn states(&self) -> &[u64] {
        &self.states
    }
}

fn open(env: &str, params: &str) -> Result<Box<dyn World + Send>, String> {
    env_core::envs::open(env, params).map_err(|error| error.to_string())
}

impl World for Native {
    fn spec(&self) -> &Spec {
        self.world.spec()
    }

    fn reset(&mut self, seed: u64) {
        self.world.reset(seed);
        self.states.clear();
        self.kept.clear();
    }

    fn step(&mut self, actions: &[Action]) -> &StepOutcome {
        self.outcome.clone_from(self.world.step(actions));
        self.states.push(self.world.digest());
        &self.outcome
    }

    fn observe(&mut self, seat: usize, out: &mut Vec<f32>) {
        self.world.observe(seat, out);
    }

    fn save(&mut self, slot: usize) {
        self.world.save(slot);
        self.slots.insert(slot, self.states.len());
    }

    fn load(&mut self, slot: usize) {
        self.world.load(slot);
        let steps = self.slots.get(&slot).copied();
        self.states
            .truncate(steps.expect("a slot is saved before it is loaded"));
    }

    fn digest(&mut self) -> u64 {
        self.world.digest()
    }

    fn state(&mut self, out: &mut Vec<u8>) {
        self.kept.insert(self.world.digest(), self.states.len());
        self.world.state(out);
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        self.world.restore(bytes)?;
        if let Some(steps) = self.kept.get(&self.world.digest()) {
            self.states.truncate(*steps);
        }
        Ok(())
    }

    fn score(&mut self) -> i64 {
        self.world.score()
    }

    fn draw(&mut self, seat: Option<usize>, out: &mut DrawList) {
        self.world.draw(seat, out);
    }

    fn describe(&mut self, seat: usize, out: &mut String) {
        self.world.describe(seat, out);
    }

    fn inject(&mut self, draws: &[u32]) {
        self.world.inject(draws);
    }
}
