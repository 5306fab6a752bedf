//! The contract of a grid world with its author.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::motion::Motion;
use super::observe::OwnFeature;
use super::plan::WorldPlan;
use super::random_draws::{Draws, StepDraws};
use super::reward::{Interaction, Pay};
use super::state::{Agent, State};
use super::tables::Tables;
use crate::contract::{Action, ParamError};
use crate::draw::{DrawList, Sprite};
use crate::rng::Rng;

/// A grid world, as its author writes it.
pub trait GridWorld: Sized + Debug {
    /// Environment id.
    const ID: &'static str;
    /// Semantic version of the rules.
    const VERSION: &'static str;
    /// Name for people.
    const TITLE: &'static str;
    /// True if [`GridWorld::terminated`] may return true although no kind is terminal.
    const TERMINATES: bool = false;
    /// True if the methods of the world put other kinds into cells, beyond the declared uses. Observations of a world
    /// that says no are faster, because what can never change is not written again.
    const CHANGES_GROUND: bool = true;

    /// Parameters, read from JSON.
    type Params: Serialize + DeserializeOwned + Default + Clone + Debug;
    /// The world's part of the state; `()` for none.
    type Extra: Serialize + DeserializeOwned + Clone + PartialEq + Debug;

    /// JSON Schema of the parameters; by default one that says nothing about them.
    fn params_schema() -> &'static str {
        r#"{"type":"object"}"#
    }

    /// The pictures that its kinds name; see [`crate::art`].
    fn sprites() -> &'static [Sprite] {
        &[]
    }

    /// Declares the world with these parameters.
    ///
    /// # Errors
    /// [`ParamError`] with the field that is wrong.
    fn plan(params: &Self::Params) -> Result<WorldPlan, ParamError>;

    /// Builds the world, once its plan is compiled.
    ///
    /// # Errors
    /// [`ParamError`] with the field that is wrong.
    fn new(params: Self::Params, tables: &Tables) -> Result<Self, ParamError>;

    /// Gives the world's part of the first state of an episode.
    fn start(&self, tables: &Tables, draws: &mut Draws) -> Self::Extra;

    /// Makes the ground of an episode, if the layout is [`Layout::Generated`]: rows of symbols.
    /// Rows that are not a layout of this world become free floor; conformance reports them.
    fn generate(&self, _rng: &mut Rng) -> Vec<String> {
        Vec::new()
    }

    /// Checks whether bytes that were read as the extra state may be one.
    fn valid(&self, _tables: &Tables, _state: &State<Self::Extra>) -> bool {
        true
    }

    /// Checks whether the plan says everything that a step does with these parameters: the methods that tick, act, earn
    /// and terminate are left at their defaults, or do nothing else. A batch may then play many instances together.
    fn is_declared(&self) -> bool {
        false
    }

    /// Happens at the beginning of each step, after the timers and before the agents move.
    fn tick(
        &self,
        _tables: &Tables,
        _state: &mut State<Self::Extra>,
        _random: &mut StepDraws,
        _pay: &mut Pay<'_>,
    ) {
    }

    /// Performs the world's own act, before the declared uses. Nobody else stands in `cell`.
    fn act(
        &self,
        _tables: &Tables,
        _state: &mut State<Self::Extra>,
        _seat: usize,
        _cell: u16,
        _motion: Motion,
    ) -> Option<Interaction> {
        None
    }

    /// Checks whether [`GridWorld::act`] would do something.
    fn may_act(
        &self,
        _tables: &Tables,
        _state: &State<Self::Extra>,
        _seat: usize,
        _cell: u16,
        _motion: Motion,
    ) -> bool {
        false
    }

    /// Pays for an act that succeeded; by default the declared rewards.
    fn earn(
        &self,
        tables: &Tables,
        _state: &mut State<Self::Extra>,
        did: &Interaction,
        pay: &mut Pay<'_>,
    ) {
        pay.declared(tables, did);
    }

    /// Happens at the end of each step, once everything else is paid: for what depends on how agents moved.
    /// `before` is how they were when the step began.
    fn after(
        &self,
        _tables: &Tables,
        _state: &mut State<Self::Extra>,
        _before: &[Agent],
        _actions: &[Action],
        _pay: &mut Pay<'_>,
    ) {
    }

    /// Returns the least and the greatest sum that a seat gets from the reward with an index in one step; `None` if the
    /// world does not say it. A world that pays only the declared rewards returns [`Tables::declared_bounds`].
    fn reward_bounds(&self, _tables: &Tables, _reward: usize) -> Option<[f64; 2]> {
        None
    }

    /// Checks whether a seat has reached a terminal state: by default, whether it stands on a kind that is one.
    fn terminated(&self, tables: &Tables, state: &State<Self::Extra>, seat: usize) -> bool {
        tables.terminal.has(state.kind(state.agents[seat].cell))
    }

    /// The score that people see.
    fn score(&self, _tables: &Tables, state: &State<Self::Extra>) -> i64 {
        state.score as i64
    }

    /// Checks whether an action ever does something here: one that does not has no keys.
    fn is_of_use(&self, _motion: Motion) -> bool {
        true
    }

    /// Returns a feature that the world adds to those of the toolkit, if it knows the name.
    fn feature(&self, _tables: &Tables, _name: &str) -> Option<OwnFeature> {
        None
    }

    /// Lists the names of the world's own features, for hints about misspelled names.
    fn features() -> &'static [&'static str] {
        &[]
    }

    /// Returns the least and the greatest value of a feature that the world writes; `None` if the world does not say
    /// them.
    fn feature_range(&self, _tables: &Tables, _name: &str) -> Option<[f32; 2]> {
        None
    }

    /// Writes a feature of the world for a seat; of `local_view` only the channels that the world added.
    fn observe(
        &self,
        _tables: &Tables,
        _state: &State<Self::Extra>,
        _name: &str,
        _seat: usize,
        _out: &mut [f32],
    ) {
    }

    /// Draws over the grid, after everything else.
    fn draw(&self, _tables: &Tables, _state: &State<Self::Extra>, _out: &mut DrawList) {}

    /// Adds words to the description that a seat is given.
    fn describe(
        &self,
        _tables: &Tables,
        _state: &State<Self::Extra>,
        _seat: usize,
        _out: &mut String,
    ) {
    }
}

/// The parameters of a world that has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoParams {}
