//! An environment opened by its id, as the server's replica opens it, given to a session.

use env_core::contract::StateError;
use env_core::draw::DrawList;
use env_core::{Action, Outcome, Spec, World};
use protocol::control::Plan;

/// A native environment of any kind.
pub struct Native(Box<dyn World + Send>);

impl Native {
    /// Opens the environment of a plan.
    ///
    /// # Errors
    /// It is unknown, or refuses its parameters.
    pub fn open(plan: &Plan) -> Result<Self, String> {
        let world = env_core::envs::open(&plan.env, &plan.params);
        world.map(Self).map_err(|error| error.to_string())
    }
}

impl World for Native {
    fn spec(&self) -> &Spec {
        self.0.spec()
    }

    fn reset(&mut self, seed: u64) {
        self.0.reset(seed);
    }

    fn step(&mut self, actions: &[Action]) -> &Outcome {
        self.0.step(actions)
    }

    fn observe(&mut self, seat: usize, out: &mut Vec<f32>) {
        self.0.observe(seat, out);
    }

    fn save(&mut self, slot: usize) {
        self.0.save(slot);
    }

    fn load(&mut self, slot: usize) {
        self.0.load(slot);
    }

    fn digest(&mut self) -> u64 {
        self.0.digest()
    }

    fn state(&mut self, out: &mut Vec<u8>) {
        self.0.state(out);
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        self.0.restore(bytes)
    }

    fn score(&mut self) -> i64 {
        self.0.score()
    }

    fn draw(&mut self, out: &mut DrawList) {
        self.0.draw(out);
    }

    fn describe(&mut self, seat: usize, out: &mut String) {
        self.0.describe(seat, out);
    }

    fn inject(&mut self, draws: &[u32]) {
        self.0.inject(draws);
    }
}
