//! Policies that look at nothing: one that does nothing, one that presses at random. For tests and as
//! the floor of comparisons.

use env_core::contract::StateError;
use env_core::{Action, Policy, Spec};

use crate::state::{Digest, Slots, SplitMix, read, write};

/// Does nothing.
pub(crate) struct Idle {
    noop: Action,
}

impl Idle {
    pub(crate) fn new(spec: &Spec) -> Self {
        Self { noop: spec.noop }
    }
}

impl Policy for Idle {
    fn reset(&mut self, _seat: usize, _seed: u64) {}
    fn act(&mut self, _observation: &[f32]) -> Action {
        self.noop
    }
    fn save(&mut self, _slot: usize) {}
    fn load(&mut self, _slot: usize) {}
    fn digest(&self) -> u64 {
        Digest::new().end()
    }
    fn state(&self, out: &mut Vec<u8>) {
        out.clear();
    }
    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        if bytes.is_empty() {
            Ok(())
        } else {
            Err(StateError)
        }
    }
}

/// Takes an action that is a directive of the environment once, and then does nothing: the environment carries it out.
pub(crate) struct Follow {
    noop: Action,
    directive: Option<Action>,
    /// True once the action was taken.
    taken: bool,
    slots: Slots<bool>,
}

impl Follow {
    /// Without a directive, it does nothing until it gets one. `None` if the environment has no directives, or not this
    /// one.
    pub(crate) fn new(spec: &Spec, word: Option<&str>) -> Option<Self> {
        let mut all = (0..)
            .zip(&spec.actions)
            .filter(|(_, known)| known.directive);
        let directive = match word {
            Some(word) => Some(all.find(|(_, known)| known.name == word)?.0),
            None => {
                all.next()?;
                None
            }
        };
        Some(Self {
            noop: spec.noop,
            directive,
            taken: false,
            slots: Slots::default(),
        })
    }
}

impl Policy for Follow {
    fn reset(&mut self, _seat: usize, _seed: u64) {
        self.taken = false;
    }
    fn act(&mut self, _observation: &[f32]) -> Action {
        match std::mem::replace(&mut self.taken, true) {
            true => self.noop,
            false => self.directive.unwrap_or(self.noop),
        }
    }
    fn save(&mut self, slot: usize) {
        self.slots.save(slot, &self.taken);
    }
    fn load(&mut self, slot: usize) {
        self.slots.load(slot, &mut self.taken);
    }
    fn digest(&self) -> u64 {
        let mut digest = Digest::new();
        digest.write_word(u64::from(self.taken));
        digest.end()
    }
    fn state(&self, out: &mut Vec<u8>) {
        write(&self.taken, out);
    }
    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        self.taken = read(bytes)?;
        Ok(())
    }
}

/// Takes each action with the same probability.
pub(crate) struct Random {
    actions: u32,
    rng: SplitMix,
    slots: Slots<SplitMix>,
}

impl Random {
    pub(crate) fn new(spec: &Spec) -> Self {
        let actions = u32::try_from(spec.actions.len())
            .unwrap_or(u32::from(Action::MAX))
            .clamp(1, 1 << 16);
        Self {
            actions,
            rng: SplitMix::default(),
            slots: Slots::default(),
        }
    }
}

impl Policy for Random {
    fn reset(&mut self, seat: usize, seed: u64) {
        self.rng = SplitMix::seeded(seat, seed);
    }
    fn act(&mut self, _observation: &[f32]) -> Action {
        Action::try_from(self.rng.draw_below(self.actions)).unwrap_or_default()
    }
    fn save(&mut self, slot: usize) {
        self.slots.save(slot, &self.rng);
    }
    fn load(&mut self, slot: usize) {
        self.slots.load(slot, &mut self.rng);
    }
    fn digest(&self) -> u64 {
        let mut digest = Digest::new();
        self.rng.digest(&mut digest);
        digest.end()
    }
    fn state(&self, out: &mut Vec<u8>) {
        write(&self.rng, out);
    }
    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        self.rng = read(bytes)?;
        Ok(())
    }
}
