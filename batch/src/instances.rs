//! The two kinds of instances: states of one environment value, and separate worlds.

use env_core::contract::StateError;
use env_core::envs::NativeEnvironment;
use env_core::instance::{read_state, write_state};
use env_core::{Action, StepOutcome, Trail, World};

/// The instances of a batch. The value is shared by the threads; a slot is one instance.
pub(crate) trait Instances: Send + Sync + 'static {
    /// See [`crate::chunk::Chunk::GRAIN`].
    const GRAIN: usize;
    type Slot: Send;
    fn reset(&self, slot: &mut Self::Slot, seed: u64);
    fn step(&self, slot: &mut Self::Slot, actions: &[Action], outcome: &mut StepOutcome);
    /// Writes the observations of this many seats; the trail is that of `out`, if this is the only one who writes it.
    fn observe(
        &self,
        slot: &mut Self::Slot,
        seats: usize,
        trail: Option<&mut Trail<f32>>,
        out: &mut [f32],
    );
    /// The same, a byte a value.
    fn observe_compact(
        &self,
        slot: &mut Self::Slot,
        seats: usize,
        trail: Option<&mut Trail<i8>>,
        out: &mut [i8],
    );
    fn mask(&self, slot: &mut Self::Slot, seat: usize) -> u64;
    fn state(&self, slot: &mut Self::Slot, out: &mut Vec<u8>);
    fn restore(&self, slot: &mut Self::Slot, bytes: &[u8]) -> Result<(), StateError>;
    /// Returns why an instance stands still, if it failed.
    fn fault(&self, _slot: &Self::Slot) -> Option<String> {
        None
    }
}

/// Gives each seat its part of the observations of all.
fn each<V>(seats: usize, out: &mut [V], mut write: impl FnMut(usize, &mut [V])) {
    // An environment may observe nothing, and chunks of nothing are none.
    let len = (out.len() / seats).max(1);
    for (seat, out) in out.chunks_exact_mut(len).enumerate() {
        write(seat, out);
    }
}

/// One environment; a slot is a state.
pub(crate) struct Natives<E>(pub(crate) E);

impl<E: NativeEnvironment> Instances for Natives<E> {
    const GRAIN: usize = 16;

    type Slot = E::State;

    fn reset(&self, slot: &mut E::State, seed: u64) {
        *slot = self.0.reset(seed);
    }

    fn step(&self, slot: &mut E::State, actions: &[Action], outcome: &mut StepOutcome) {
        self.0.step(slot, actions, outcome);
    }

    fn observe(
        &self,
        slot: &mut E::State,
        seats: usize,
        trail: Option<&mut Trail<f32>>,
        out: &mut [f32],
    ) {
        self.0.observe_all(slot, seats, trail, out);
    }

    fn observe_compact(
        &self,
        slot: &mut E::State,
        seats: usize,
        trail: Option<&mut Trail<i8>>,
        out: &mut [i8],
    ) {
        self.0.observe_all_compact(slot, seats, trail, out);
    }

    fn mask(&self, slot: &mut E::State, seat: usize) -> u64 {
        self.0.mask(slot, seat)
    }

    fn state(&self, slot: &mut E::State, out: &mut Vec<u8>) {
        write_state(slot, out);
    }

    fn restore(&self, slot: &mut E::State, bytes: &[u8]) -> Result<(), StateError> {
        *slot = read_state(&self.0, bytes)?;
        Ok(())
    }
}

/// Worlds that know nothing of each other.
pub(crate) struct Worlds;

/// A world, and the memory that its observations pass through.
pub(crate) struct Slot {
    world: Box<dyn World + Send>,
    values: Vec<f32>,
}

impl Worlds {
    /// The slots of worlds; world `i` starts with seed `i`.
    pub(crate) fn make_slots(worlds: Vec<Box<dyn World + Send>>) -> Vec<Slot> {
        let start = |(mut world, seed): (Box<dyn World + Send>, u64)| {
            world.reset(seed);
            let values = Vec::with_capacity(world.spec().observation_len());
            Slot { world, values }
        };
        worlds.into_iter().zip(0..).map(start).collect()
    }
}

impl Instances for Worlds {
    /// A module takes its time.
    const GRAIN: usize = 1;

    type Slot = Slot;

    fn reset(&self, slot: &mut Slot, seed: u64) {
        slot.world.reset(seed);
    }

    fn step(&self, slot: &mut Slot, actions: &[Action], outcome: &mut StepOutcome) {
        let given = slot.world.step(actions);
        outcome.rewards = given.rewards;
        (outcome.terminated, outcome.truncated) = (given.terminated, given.truncated);
        outcome.over = given.over;
        outcome.events.clear();
        outcome.events.extend_from_slice(&given.events);
    }

    fn observe(&self, slot: &mut Slot, seats: usize, _: Option<&mut Trail<f32>>, out: &mut [f32]) {
        each(seats, out, |seat, out| {
            slot.world.observe(seat, &mut slot.values);
            out.copy_from_slice(&slot.values);
        });
    }

    fn observe_compact(
        &self,
        slot: &mut Slot,
        seats: usize,
        _: Option<&mut Trail<i8>>,
        out: &mut [i8],
    ) {
        each(seats, out, |seat, out| {
            slot.world.observe(seat, &mut slot.values);
            for (byte, value) in out.iter_mut().zip(&slot.values) {
                *byte = *value as i8;
            }
        });
    }

    fn mask(&self, slot: &mut Slot, seat: usize) -> u64 {
        slot.world.mask(seat)
    }

    fn state(&self, slot: &mut Slot, out: &mut Vec<u8>) {
        slot.world.state(out);
    }

    fn restore(&self, slot: &mut Slot, bytes: &[u8]) -> Result<(), StateError> {
        slot.world.restore(bytes)
    }

    fn fault(&self, slot: &Slot) -> Option<String> {
        slot.world.fault()
    }
}
