//! A network that plays a seat.

use std::ops::Range;
use std::sync::Arc;

use env_core::contract::StateError;
use env_core::{Action, Policy, Spec};
use serde::{Deserialize, Serialize};

use super::kernels::Filters;
use super::{Misfit, Network, choice};
use crate::state::{Digest, Slots, SplitMix, read, write};

/// The state of a model from tick to tick.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct State {
    rng: SplitMix,
    /// Ticks until the next decision.
    rest: u8,
    /// The memory, register by register. Always finite.
    memory: Vec<f32>,
}

impl Clone for State {
    fn clone(&self) -> Self {
        Self {
            rng: self.rng,
            rest: self.rest,
            memory: self.memory.clone(),
        }
    }

    /// Keeps the memory that there is: a rollback clones often.
    fn clone_from(&mut self, other: &Self) {
        (self.rng, self.rest) = (other.rng, other.rest);
        self.memory.clone_from(&other.memory);
    }
}

/// A network in a seat.
pub(crate) struct Player {
    network: Arc<Network>,
    noop: Action,
    /// Where what the network takes lies in an observation, and at which of its own values each part begins.
    parts: Vec<(Range<usize>, usize)>,
    /// Those of its convolutions.
    filters: Vec<Filters>,
    /// By register; those of memory and observation are written before each decision.
    values: Vec<Vec<f32>>,
    state: State,
    slots: Slots<State>,
}

impl Player {
    /// Has a network play an environment.
    pub(crate) fn new(network: Arc<Network>, spec: &Spec) -> Result<Self, Misfit> {
        network.check_fit(spec)?;
        let parts = network.parts(spec)?;
        let zeros = |len: &u32| vec![0.0; *len as usize];
        let values = network.registers.iter().map(zeros).collect();
        let mut player = Self {
            noop: spec.noop,
            parts,
            filters: network.filters(),
            values,
            state: State::default(),
            slots: Slots::default(),
            network,
        };
        player.forget();
        Ok(player)
    }

    fn forget(&mut self) {
        self.state.memory.clear();
        self.state.memory.resize(self.network.memory_len(), 0.0);
    }

    /// Finds the values of the actions.
    fn decide(&mut self, observation: &[f32], mask: u64) {
        // No step fills this register, so what no part reaches stays 0.
        for (part, at) in &self.parts {
            let own = observation.get(part.clone()).unwrap_or_default();
            for (taken, value) in self.values[0].iter_mut().skip(*at).zip(own) {
                *taken = *value;
            }
        }
        if let Some(register) = self.network.mask {
            let values = self.values[usize::from(register)].iter_mut();
            for (action, value) in values.enumerate() {
                *value = f32::from(choice::is_allowed(mask, action));
            }
        }
        self.recall();
        self.network.run(&self.filters, &mut self.values);
        self.remember();
    }

    fn remember(&mut self) {
        let mut kept = self.state.memory.iter_mut();
        for memory in &self.network.memory {
            let left = &self.values[usize::from(memory.leaves)];
            for (value, kept) in left.iter().zip(kept.by_ref()) {
                // What is no number has bits that differ between machines.
                *kept = if value.is_finite() { *value } else { 0.0 };
            }
        }
    }

    fn recall(&mut self) {
        let mut rest = self.state.memory.as_slice();
        for memory in &self.network.memory {
            let entered = &mut self.values[usize::from(memory.enters)];
            let (own, others) = rest.split_at(entered.len());
            entered.copy_from_slice(own);
            rest = others;
        }
    }
}

/// A network that tells the values of the actions, one observation after the other, and plays nothing itself.
pub struct ActionValues(Player);

impl ActionValues {
    /// Asks a network about an environment, from the start of an episode on.
    ///
    /// # Errors
    /// [`Misfit`]
    pub fn new(network: Arc<Network>, spec: &Spec) -> Result<Self, Misfit> {
        Player::new(network, spec).map(Self)
    }

    /// The values of the actions for an observation, after all that were given before.
    pub fn next(&mut self, observation: &[f32], mask: u64) -> &[f32] {
        self.0.decide(observation, mask);
        &self.0.values[usize::from(self.0.network.logits)]
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.0.network
    }
}

impl Network {
    /// The values of the actions for what it takes of an observation, after what is remembered, which it replaces; for tests and tools.
    /// Both are as long as the network says; `mask` has the actions that may have an effect, as bits.
    pub fn values(&self, observation: &[f32], mask: u64, memory: &mut [f32]) -> Vec<f32> {
        let len = |register: &u32| vec![0.0; *register as usize];
        let mut player = Player {
            noop: 0,
            parts: vec![(0..self.inputs(), 0)],
            filters: self.filters(),
            values: self.registers.iter().map(len).collect(),
            state: State::default(),
            slots: Slots::default(),
            network: Arc::new(self.clone()),
        };
        player.state.memory = memory.to_vec();
        player.decide(observation, mask);
        memory.copy_from_slice(&player.state.memory);
        player.values[usize::from(self.logits)].clone()
    }

    /// The values that it takes of a whole observation of an environment that it fits.
    pub fn take_values(&self, spec: &Spec, observation: &[f32]) -> Vec<f32> {
        let mut taken = vec![0.0; self.inputs()];
        for (part, at) in self.parts(spec).unwrap_or_default() {
            let own = observation.get(part).unwrap_or_default();
            for (taken, value) in taken.iter_mut().skip(at).zip(own) {
                *taken = *value;
            }
        }
        taken
    }

    /// True if its choices depend on the environment's action mask.
    pub fn wants_mask(&self) -> bool {
        self.mask.is_some() || self.choice.is_masked
    }

    /// The action that it takes by the values of the actions, without drawing.
    pub fn best_action(&self, values: &[f32], mask: u64) -> usize {
        let mask = if self.choice.is_masked {
            mask
        } else {
            u64::MAX
        };
        choice::greatest_allowed(values, mask)
    }

    /// Number of values that it remembers.
    pub fn memory_len(&self) -> usize {
        let memory = self.memory.iter();
        memory.map(|memory| self.len(memory.enters)).sum()
    }
}

impl Policy for Player {
    fn reset(&mut self, seat: usize, seed: u64) {
        (self.state.rng, self.state.rest) = (SplitMix::seeded(seat, seed), 0);
        self.forget();
    }

    fn act(&mut self, observation: &[f32]) -> Action {
        self.act_masked(observation, u64::MAX)
    }

    fn wants_mask(&self) -> bool {
        self.network.wants_mask()
    }

    fn act_masked(&mut self, observation: &[f32], mask: u64) -> Action {
        if self.state.rest > 0 {
            self.state.rest -= 1;
            return self.noop;
        }
        let choice = self.network.choice;
        self.state.rest = choice.every - 1;
        self.decide(observation, mask);
        let logits = &self.values[usize::from(self.network.logits)];
        let mask = if choice.is_masked { mask } else { u64::MAX };
        let chosen = match choice.temperature {
            Some(temperature) => {
                choice::draw_action(logits, mask, temperature, &mut self.state.rng)
            }
            None => choice::greatest_allowed(logits, mask),
        };
        Action::try_from(chosen).unwrap_or(self.noop)
    }

    fn save(&mut self, slot: usize) {
        self.slots.save(slot, &self.state);
    }

    fn load(&mut self, slot: usize) {
        self.slots.load(slot, &mut self.state);
    }

    fn digest(&self) -> u64 {
        let mut digest = Digest::new();
        self.state.rng.digest(&mut digest);
        digest.write_word(u64::from(self.state.rest));
        for value in &self.state.memory {
            digest.write_word(u64::from(value.to_bits()));
        }
        digest.end()
    }

    fn state(&self, out: &mut Vec<u8>) {
        write(&self.state, out);
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        let state: State = read(bytes)?;
        let fits = state.memory.len() == self.state.memory.len()
            && state.rest < self.network.choice.every
            && state.memory.iter().all(|value| value.is_finite());
        if !fits {
            return Err(StateError);
        }
        self.state = state;
        Ok(())
    }
}
