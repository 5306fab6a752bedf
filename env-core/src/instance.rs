//! An environment with its state, for native sessions and for modules.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::Serialize;

use crate::contract::{Action, Environment, Spec, StateError, StepOutcome, World};
use crate::digest::digest;
use crate::draw::DrawList;

/// Replaces `out` by the canonical bytes of a state.
pub fn write_state(state: &impl Serialize, out: &mut Vec<u8>) {
    out.clear();
    *out = postcard::to_extend(state, core::mem::take(out))
        .expect("plain data serialises into memory");
}

/// Reads a state of this environment from its canonical bytes.
///
/// # Errors
/// [`StateError`].
pub fn read_state<E: Environment>(env: &E, bytes: &[u8]) -> Result<E::State, StateError> {
    let (state, rest) = postcard::take_from_bytes::<E::State>(bytes).map_err(|_| StateError)?;
    if !rest.is_empty() || !env.valid(&state) {
        return Err(StateError);
    }
    Ok(state)
}

/// An environment and the facts that its parameters fix: any number of instances have them together.
#[derive(Debug)]
pub(crate) struct Built<E> {
    env: E,
    spec: Spec,
}

impl<E: Environment> Built<E> {
    pub(crate) fn new(env: E) -> Arc<Self> {
        let spec = env.spec();
        Arc::new(Self { env, spec })
    }
}

/// A running environment.
#[derive(Debug)]
pub struct Instance<E: Environment> {
    built: Arc<Built<E>>,
    state: E::State,
    outcome: StepOutcome,
    /// Saved states; the memory of each is reused.
    slots: Vec<Option<E::State>>,
}

impl<E: Environment> Instance<E> {
    /// Starts an environment at the first state of seed 0.
    pub fn new(env: E) -> Self {
        Self::of(Built::new(env))
    }

    /// Starts an environment that others may run too, at the first state of seed 0.
    pub(crate) fn of(built: Arc<Built<E>>) -> Self {
        Self {
            state: built.env.reset(0),
            built,
            outcome: StepOutcome::default(),
            slots: Vec::new(),
        }
    }

    /// The environment.
    pub fn env(&self) -> &E {
        &self.built.env
    }

    /// The state; [`World::state`] gives its bytes.
    pub fn current(&self) -> &E::State {
        &self.state
    }
}

impl<E: Environment> World for Instance<E> {
    fn spec(&self) -> &Spec {
        &self.built.spec
    }

    fn reset(&mut self, seed: u64) {
        self.state = self.built.env.reset(seed);
    }

    fn step(&mut self, actions: &[Action]) -> &StepOutcome {
        self.built
            .env
            .step(&mut self.state, actions, &mut self.outcome);
        let parts = usize::from(self.built.spec.seats) * self.built.spec.components.len();
        self.outcome.components.resize(parts, 0.0);
        &self.outcome
    }

    fn observe(&mut self, seat: usize, out: &mut Vec<f32>) {
        out.resize(self.built.spec.observation_len(), 0.0);
        self.built.env.observe(&self.state, seat, out);
    }

    fn mask(&mut self, seat: usize) -> u64 {
        self.built.env.mask(&self.state, seat)
    }

    fn save(&mut self, slot: usize) {
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, || None);
        }
        match &mut self.slots[slot] {
            Some(kept) => kept.clone_from(&self.state),
            empty => *empty = Some(self.state.clone()),
        }
    }

    fn load(&mut self, slot: usize) {
        if let Some(Some(kept)) = self.slots.get(slot) {
            self.state.clone_from(kept);
        }
    }

    fn digest(&mut self) -> u64 {
        digest(&self.state)
    }

    fn state(&mut self, out: &mut Vec<u8>) {
        write_state(&self.state, out);
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        self.state = read_state(&self.built.env, bytes)?;
        Ok(())
    }

    fn acting(&mut self) -> u16 {
        self.built.env.acting(&self.state)
    }

    fn score(&mut self) -> i64 {
        self.built.env.score(&self.state)
    }

    fn seat_score(&mut self, seat: usize) -> i64 {
        self.built.env.seat_score(&self.state, seat)
    }

    fn draw(&mut self, seat: Option<usize>, out: &mut DrawList) {
        self.built.env.draw(&self.state, seat, out);
    }

    fn point(&mut self, seat: usize, at: [f32; 2]) -> Option<Action> {
        self.built.env.point(&self.state, seat, at)
    }

    fn describe(&mut self, seat: usize, out: &mut String) {
        out.clear();
        self.built.env.describe(&self.state, seat, out);
    }

    fn inject(&mut self, draws: &[u32]) {
        self.built.env.inject(&mut self.state, draws);
    }
}
