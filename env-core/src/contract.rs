//! The contracts: [`Environment`] (what an author writes), [`World`] (what a session drives, native or module),
//! [`Policy`] (what plays a seat without a person).

mod spec;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::draw::{DrawList, Sprite};

pub use spec::{Action, ActionSpec, FieldSpec, MAX_SEATS, Spec, range_of_sums};

/// Something that happened in a step, for sounds and analysis.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepEvent {
    /// Index into [`Spec::events`].
    pub kind: u16,
    /// The seat that caused it.
    pub seat: u8,
    /// The seat to which it happened, if there is one.
    pub to: Option<u8>,
    /// The amount; its meaning depends on the kind.
    pub value: f32,
}

/// The result of a step. Reused from step to step; cleared by the environment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepOutcome {
    /// Reward per seat; entries past the last seat are 0.
    pub rewards: [f32; MAX_SEATS],
    /// Bit `s` is set if seat `s` reached a terminal state in this step.
    pub terminated: u16,
    /// Bit `s` is set if the horizon cut seat `s` off in this step.
    pub truncated: u16,
    /// True once the episode is over for everyone: no further step counts.
    pub over: bool,
    /// Events, in a fixed order.
    pub events: Vec<StepEvent>,
    /// The rewards in parts: for each seat in turn, one value for each of [`Spec::components`].
    /// An environment may leave it empty where nothing was earned; [`World::step`] gives zeros then.
    pub components: Vec<f32>,
}

impl StepOutcome {
    /// Empties the outcome for the next step, keeping its memory.
    pub fn clear(&mut self) {
        self.rewards = [0.0; MAX_SEATS];
        (self.terminated, self.truncated, self.over) = (0, 0, false);
        self.events.clear();
        self.components.clear();
    }

    /// Adds to the reward of a seat, under one of the components that `spec` names.
    pub fn earn(&mut self, spec: &Spec, seat: usize, component: usize, amount: f32) {
        let names = spec.components.len();
        if self.components.is_empty() {
            self.components.resize(usize::from(spec.seats) * names, 0.0);
        }
        if let Some(part) = self.components.get_mut(seat * names + component)
            && component < names
        {
            *part += amount;
        }
        if let Some(reward) = self.rewards.get_mut(seat) {
            *reward += amount;
        }
    }
}

/// The reason why parameters were refused: the field, what is wrong, how to fix it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct ParamError {
    /// The field of the parameters.
    pub field: String,
    /// The fault and how to fix it.
    pub reason: String,
}

/// State bytes that are not a state of this environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("these bytes are not a state of this environment with these parameters")]
pub struct StateError;

/// A deterministic environment.
///
/// The value holds what its parameters fix (layout, tables); the state is apart, plain and comparable,
/// and its random numbers come from a generator inside it.
pub trait Environment: Sized {
    /// Environment id; one noun, also the name of its file, page and module.
    const ID: &'static str;
    /// Semantic version of the rules.
    const VERSION: &'static str;

    /// Parameters, read from JSON.
    type Params: Serialize + DeserializeOwned + Default + Clone + Debug;
    /// State: plain data, random generator included.
    type State: Serialize + DeserializeOwned + Clone + PartialEq + Debug;

    /// Builds the environment.
    ///
    /// # Errors
    /// [`ParamError`] with the field that is wrong.
    fn new(params: Self::Params) -> Result<Self, ParamError>;

    /// JSON Schema of the parameters.
    fn params_schema() -> &'static str;

    /// The pictures that its draw lists name.
    fn sprites() -> &'static [Sprite];

    /// The facts that the parameters fix.
    fn spec(&self) -> Spec;

    /// The first state of the episode with this seed.
    fn reset(&self, seed: u64) -> Self::State;

    /// Advances the state by one step. `actions` has one entry per seat; an entry out of range is the no-op. A step
    /// after the end stays over, gives no rewards and does not change the score. The world should stand still, but
    /// rules that equal an original elsewhere may let it continue.
    fn step(&self, state: &mut Self::State, actions: &[Action], outcome: &mut StepOutcome);

    /// Writes the observation of a seat: [`Spec::observation_len`] values, all written.
    fn observe(&self, state: &Self::State, seat: usize, out: &mut [f32]);

    /// The actions that may have an effect for a seat: bit `a` for action `a`; the no-op is always among them.
    fn mask(&self, _state: &Self::State, _seat: usize) -> u64 {
        u64::MAX
    }

    /// The seats whose actions count in the next step: bit `s` for seat `s`. By default all of them.
    /// Fewer make turns; the action of another seat is then the no-op.
    fn acting(&self, _state: &Self::State) -> u16 {
        u16::MAX
    }

    /// The score of the group, which people see: the confirmed score also decides their pay.
    fn score(&self, state: &Self::State) -> i64;

    /// The score of a seat; by default the group's.
    fn seat_score(&self, state: &Self::State, _seat: usize) -> i64 {
        self.score(state)
    }

    /// Draws the state: as a seat sees it, or all of it for nobody's eyes in particular.
    fn draw(&self, state: &Self::State, seat: Option<usize>, out: &mut DrawList);

    /// The action that a point on a seat's picture means, in cells from its left upper corner; `None` if it means nothing.
    /// By default no point does; [`Spec::pointer`] says so.
    fn point(&self, _state: &Self::State, _seat: usize, _at: [f32; 2]) -> Option<Action> {
        None
    }

    /// Describes the state in words, as seen from a seat: for screen readers and language models. The words leave out
    /// everything that the seat must not see.
    fn describe(&self, state: &Self::State, seat: usize, out: &mut String);

    /// Checks that a state read from bytes belongs to this environment: indexes in range, no NaN.
    fn valid(&self, state: &Self::State) -> bool;

    /// Checks what the environment makes for the episode of a seed, such as its own ground.
    /// Conformance asks for many seeds; by default there is nothing to check.
    ///
    /// # Errors
    /// [`ParamError`] with what is wrong in it.
    fn check_episode(&self, _seed: u64) -> Result<(), ParamError> {
        Ok(())
    }

    /// Replaces the random draws of the next step, to replay recordings made elsewhere.
    /// The meaning of the words belongs to the environment; by default there is none.
    fn inject(&self, _state: &mut Self::State, _draws: &[u32]) {}
}

/// A running environment as a session sees it: native ([`crate::Instance`]) or a module in the browser.
pub trait World {
    /// The facts that the parameters fix.
    fn spec(&self) -> &Spec;
    /// Starts the episode with this seed.
    fn reset(&mut self, seed: u64);
    /// Advances by one step and returns the outcome.
    fn step(&mut self, actions: &[Action]) -> &StepOutcome;
    /// Writes the observation of a seat; resizes `out` to [`Spec::observation_len`].
    fn observe(&mut self, seat: usize, out: &mut Vec<f32>);
    /// The actions that may have an effect for a seat; see [`Environment::mask`].
    fn mask(&mut self, _seat: usize) -> u64 {
        u64::MAX
    }
    /// Keeps the state in a slot. Slots are few, small numbers; their memory is reused.
    fn save(&mut self, slot: usize);
    /// Brings back the state of a slot that was saved.
    fn load(&mut self, slot: usize);
    /// The digest of the state: equal on every machine if the states are equal.
    fn digest(&mut self) -> u64;
    /// Replaces `out` by the canonical bytes of the state.
    fn state(&mut self, out: &mut Vec<u8>);
    /// True if equal states have equal bytes. In other worlds, only digests show whether states are equal.
    fn is_canonical(&self) -> bool {
        true
    }
    /// Takes up a state from its canonical bytes.
    ///
    /// # Errors
    /// [`StateError`]; the state is then unchanged.
    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError>;
    /// The seats whose actions count in the next step, a bit each; see [`Environment::acting`].
    fn acting(&mut self) -> u16 {
        u16::MAX
    }
    /// The score of the group, which people see.
    fn score(&mut self) -> i64;
    /// The score of a seat; see [`Environment::seat_score`].
    fn seat_score(&mut self, _seat: usize) -> i64 {
        self.score()
    }
    /// The sum of a seat's rewards since the episode began; `None` of a world that does not keep it. See
    /// [`crate::tally`].
    fn reward_sum(&self, _seat: usize) -> Option<f64> {
        None
    }
    /// Replaces `out` by the picture of the state as a seat sees it, or of all of it.
    fn draw(&mut self, seat: Option<usize>, out: &mut DrawList);
    /// The action that a point on a seat's picture means; see [`Environment::point`].
    fn point(&mut self, _seat: usize, _at: [f32; 2]) -> Option<Action> {
        None
    }
    /// Replaces `out` by the state in words, as seen from a seat.
    fn describe(&mut self, seat: usize, out: &mut String);
    /// The action that a function of the environment's author chooses for a seat; only worlds on hosts bring one.
    fn choose(&mut self, _seat: usize) -> Option<Action> {
        None
    }
    /// Returns the actions that the seats took in the last step, where actions stand for the choices of AI partners;
    /// `None` if these are the given actions. See [`crate::shared`].
    fn played(&self) -> Option<&[Action]> {
        None
    }
    /// Returns the actions that AI partners would choose for a seat in the present state; empty for a seat that is not
    /// shared.
    fn proposals(&mut self, _seat: usize) -> &[Action] {
        &[]
    }
    /// The infos of the last step that the study names: a JSON list of `[seat or null, name, value]`; `None` if there are
    /// none. Only worlds on hosts have them.
    fn infos(&self) -> Option<String> {
        None
    }
    /// Replaces the random draws of the next step; see [`Environment::inject`].
    fn inject(&mut self, draws: &[u32]);
    /// Returns why the world stands still, if it failed: a module may fail, a native environment does not. Every step
    /// is then over and earns nothing, and all answers are harmless.
    fn fault(&self) -> Option<String> {
        None
    }
}

impl<W: World + ?Sized> World for Box<W> {
    fn spec(&self) -> &Spec {
        (**self).spec()
    }

    fn reset(&mut self, seed: u64) {
        (**self).reset(seed);
    }

    fn step(&mut self, actions: &[Action]) -> &StepOutcome {
        (**self).step(actions)
    }

    fn observe(&mut self, seat: usize, out: &mut Vec<f32>) {
        (**self).observe(seat, out);
    }

    fn mask(&mut self, seat: usize) -> u64 {
        (**self).mask(seat)
    }

    fn save(&mut self, slot: usize) {
        (**self).save(slot);
    }

    fn load(&mut self, slot: usize) {
        (**self).load(slot);
    }

    fn digest(&mut self) -> u64 {
        (**self).digest()
    }

    fn state(&mut self, out: &mut Vec<u8>) {
        (**self).state(out);
    }

    fn is_canonical(&self) -> bool {
        (**self).is_canonical()
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        (**self).restore(bytes)
    }

    fn acting(&mut self) -> u16 {
        (**self).acting()
    }

    fn score(&mut self) -> i64 {
        (**self).score()
    }

    fn seat_score(&mut self, seat: usize) -> i64 {
        (**self).seat_score(seat)
    }

    fn reward_sum(&self, seat: usize) -> Option<f64> {
        (**self).reward_sum(seat)
    }

    fn draw(&mut self, seat: Option<usize>, out: &mut DrawList) {
        (**self).draw(seat, out);
    }

    fn point(&mut self, seat: usize, at: [f32; 2]) -> Option<Action> {
        (**self).point(seat, at)
    }

    fn describe(&mut self, seat: usize, out: &mut String) {
        (**self).describe(seat, out);
    }

    fn choose(&mut self, seat: usize) -> Option<Action> {
        (**self).choose(seat)
    }

    fn played(&self) -> Option<&[Action]> {
        (**self).played()
    }

    fn proposals(&mut self, seat: usize) -> &[Action] {
        (**self).proposals(seat)
    }

    fn infos(&self) -> Option<String> {
        (**self).infos()
    }

    fn inject(&mut self, draws: &[u32]) {
        (**self).inject(draws);
    }

    fn fault(&self) -> Option<String> {
        (**self).fault()
    }
}

/// An AI partner inside the simulation: a pure function of the observation and of its own small state.
/// It runs on every peer and in the server's replica, and is saved and loaded with the world.
pub trait Policy: Send {
    /// Starts an episode for a seat.
    fn reset(&mut self, seat: usize, seed: u64);
    /// Chooses the action for the observation of its seat.
    fn act(&mut self, observation: &[f32]) -> Action;
    /// Tells if its choice depends on the action mask of its seat ([`World::mask`]): it is then asked by `act_masked`.
    fn wants_mask(&self) -> bool {
        false
    }
    /// Chooses the action for the observation of its seat and the actions that may have an effect there.
    fn act_masked(&mut self, observation: &[f32], _mask: u64) -> Action {
        self.act(observation)
    }
    /// Keeps its state in a slot.
    fn save(&mut self, slot: usize);
    /// Brings back the state of a slot that was saved.
    fn load(&mut self, slot: usize);
    /// Digest of its state.
    fn digest(&self) -> u64;
    /// Replaces `out` by the bytes of its state.
    fn state(&self, out: &mut Vec<u8>);
    /// Takes up a state from its bytes.
    ///
    /// # Errors
    /// [`StateError`]; the state is then unchanged.
    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError>;
}
