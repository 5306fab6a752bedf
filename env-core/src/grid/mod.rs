//! The grid toolkit: a multi-agent grid world is a plan of what there is, and a few lines of its own rules.
//!
//! A world implements [`GridWorld`]: it declares kinds of thing with what a hand can do with them, a layout,
//! features and rewards; [`Grid`] is then its [`Environment`]. What the declarations cannot say, a world adds
//! through the methods that have a default. Two sets of rules: [`RuleSet::Cogrid`] plays field for field like
//! CoGrid 0.3.2, [`RuleSet::Corrected`] mends its artefacts.

mod appearance;
pub mod cogrid;
pub mod describe;
pub mod draw;
mod fog;
mod interactions;
pub mod kind;
pub mod layout;
pub mod motion;
mod movement;
pub mod observe;
pub mod plan;
pub mod random_draws;
mod reset;
pub mod reward;
pub mod state;
mod step;
pub mod tables;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::marker::PhantomData;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::contract::{Action, Environment, ParamError, Spec, StepOutcome};
use crate::draw::{DrawList, Sprite};
use crate::observer::BatchObserver;
use crate::rng::Rng;

pub use appearance::Appearance;
pub use cogrid::{CogridRules, Declared, Sight};
pub use fog::Fog;
pub use kind::{EMPTY, Kind, KindId, KindSet, Names, Recipe, Use};
pub use layout::{Chart, GridGround};
pub use motion::{ActionSet, Motion};
use observe::Observer;
pub use observe::{ContainerSet, OwnFeature, ViewWindow};
pub use plan::{Layout, RuleSet, WorldPlan};
pub use random_draws::{Draws, Injected, StepDraws};
pub use reward::{Act, CompiledWhen, Interaction, Pay, Reward, When};
pub use state::{Agent, Direction, Fixture, State};
pub use tables::Tables;

/// A grid world, as its author writes it.
pub trait GridWorld: Sized + Debug {
    /// Environment id.
    const ID: &'static str;
    /// Semantic version of the rules.
    const VERSION: &'static str;
    /// Name for people.
    const TITLE: &'static str;
    /// True if [`GridWorld::terminated`] may say yes where no kind is terminal.
    const TERMINATES: bool = false;
    /// True if the methods of the world put other kinds into cells, besides what the declared uses do.
    /// Observations of a world that says no are faster, for what can never change is not written again.
    const CHANGES_GROUND: bool = true;

    /// Parameters, read from JSON.
    type Params: Serialize + DeserializeOwned + Default + Clone + Debug;
    /// The world's part of the state; `()` for none.
    type Extra: Serialize + DeserializeOwned + Clone + PartialEq + Debug;

    /// JSON Schema of the parameters; by default one that says nothing of them.
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
    /// Rows that are no layout of this world become free floor; conformance tells of them.
    fn generate(&self, _rng: &mut Rng) -> Vec<String> {
        Vec::new()
    }

    /// Checks whether bytes that were read as the extra state may be one.
    fn valid(&self, _tables: &Tables, _state: &State<Self::Extra>) -> bool {
        true
    }

    /// Checks whether the plan says everything that a step does with these parameters: the methods that tick, act, earn
    /// and terminate are left at their defaults, or do nothing else. A batch may then play many instances at once.
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

    /// An act of the world's own, tried before the declared uses. Nobody else stands in `cell`.
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

    /// A feature that the world adds to those of the toolkit, if it knows the name.
    fn feature(&self, _tables: &Tables, _name: &str) -> Option<OwnFeature> {
        None
    }

    /// The names of the features of the world's own, for whoever misspells one.
    fn features() -> &'static [&'static str] {
        &[]
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

/// A grid world as an environment; `C` is what it does by the rules of CoGrid besides what it declares.
#[derive(Debug)]
pub struct Grid<W: GridWorld, C = Declared> {
    world: W,
    tables: Tables,
    observer: Observer,
    pictures: draw::Pictures,
    title: String,
    horizon: u32,
    tick_hz: u16,
    rewards: Vec<Reward>,
    cogrid: PhantomData<C>,
}

impl<W: GridWorld, C> Grid<W, C> {
    /// The world.
    pub fn world(&self) -> &W {
        &self.world
    }

    /// Its tables.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Steps after which an episode is truncated.
    pub fn horizon(&self) -> u32 {
        self.horizon
    }
}

impl<W: GridWorld, C: CogridRules<W>> Environment for Grid<W, C> {
    const ID: &'static str = W::ID;
    const VERSION: &'static str = W::VERSION;

    type Params = W::Params;
    type State = State<W::Extra>;

    fn new(params: W::Params) -> Result<Self, ParamError> {
        let plan = W::plan(&params)?;
        let mut tables = Tables::new(&plan)?;
        plan.appearance.dress(&mut tables)?;
        let world = W::new(params, &tables)?;
        let observer = Observer::new(&world, &tables, &plan)?;
        let pictures = draw::Pictures::new(&tables, W::sprites(), plan.figures)?;
        Ok(Self {
            world,
            tables,
            observer,
            pictures,
            title: plan.title.unwrap_or_else(|| W::TITLE.into()),
            horizon: plan.horizon,
            tick_hz: plan.tick_hz,
            rewards: plan.rewards,
            cogrid: PhantomData,
        })
    }

    fn params_schema() -> &'static str {
        W::params_schema()
    }

    fn sprites() -> &'static [Sprite] {
        W::sprites()
    }

    fn spec(&self) -> Spec {
        let rewards = self.rewards.iter();
        let rewards: Vec<String> = rewards.map(|reward| reward.name.clone()).collect();
        Spec {
            id: W::ID.into(),
            version: W::VERSION.into(),
            title: self.title.clone(),
            seats: self.tables.seats as u8,
            actions: self
                .tables
                .action_specs(|motion| self.world.is_of_use(motion)),
            noop: self.tables.noop,
            observation: self.observer.fields(),
            tick_hz: self.tick_hz,
            horizon: self.horizon,
            events: rewards.clone(),
            components: rewards,
            compact: self.observer.is_compact(),
            perfect_information: self.tables.fog == 0,
            ..Spec::default()
        }
    }

    fn reset(&self, seed: u64) -> Self::State {
        reset::reset_grid(self, seed)
    }

    fn step(&self, state: &mut Self::State, actions: &[Action], outcome: &mut StepOutcome) {
        step::step_grid(self, state, actions, outcome);
    }

    fn observe(&self, state: &Self::State, seat: usize, out: &mut [f32]) {
        self.observer
            .observe(&self.world, &self.tables, state, seat, out);
    }

    fn mask(&self, state: &Self::State, seat: usize) -> u64 {
        let may = |motion: Motion| match motion {
            Motion::Reach | Motion::Toggle => interactions::would_act(self, state, seat, motion),
            Motion::Stay | Motion::Walk(_) | Motion::Forward | Motion::Turn(_) => true,
        };
        let motions = self.tables.motions.iter().enumerate();
        motions.fold(0, |mask, (action, &motion)| {
            mask | u64::from(may(motion)) << action
        })
    }

    fn score(&self, state: &Self::State) -> i64 {
        self.world.score(&self.tables, state)
    }

    fn draw(&self, state: &Self::State, seat: Option<usize>, out: &mut DrawList) {
        self.pictures.draw(&self.tables, state, out);
        self.world.draw(&self.tables, state, out);
        if let Some(seat) = seat.filter(|&seat| seat < self.tables.seats) {
            self.tables.cover(seat, state.agents[seat].cell, out);
        }
    }

    fn describe(&self, state: &Self::State, seat: usize, out: &mut String) {
        if seat < self.tables.seats {
            describe::describe_grid(&self.tables, state, seat, out);
            self.world.describe(&self.tables, state, seat, out);
            describe::describe_time_left(self.horizon.saturating_sub(state.steps), out);
        }
    }

    fn valid(&self, state: &Self::State) -> bool {
        reset::check_state(self, state) && self.world.valid(&self.tables, state)
    }

    /// Words: the rank of each seat in the movement, then the bits of eight uniform `f32`, then a choice.
    /// What is left out, and ranks and numbers that cannot be, leave the draw to the generator.
    fn check_episode(&self, seed: u64) -> Result<(), ParamError> {
        reset::check_ground(self, seed)
    }

    fn inject(&self, state: &mut Self::State, draws: &[u32]) {
        let seats = self.tables.seats;
        let mut injected = Injected::default();
        if let Some(ranks) = draws.get(..seats)
            && ranks.iter().all(|&rank| (rank as usize) < seats)
        {
            let mut all = [0; crate::MAX_SEATS];
            all.iter_mut()
                .zip(ranks)
                .for_each(|(rank, &word)| *rank = word as u8);
            injected.ranks = Some(all);
        }
        if let Some(rolls) = draws.get(seats..seats + random_draws::MAX_ROLLS) {
            let rolls = core::array::from_fn(|index| f32::from_bits(rolls[index]));
            let can_be = rolls.iter().all(|roll| (0.0..=1.0).contains(roll));
            injected.rolls = Some(rolls).filter(|_| can_be);
        }
        injected.choice = draws.get(seats + random_draws::MAX_ROLLS).copied();
        let said = injected != Injected::default();
        state.injected = said.then(|| Box::new(injected));
    }
}

impl<W: GridWorld, C: CogridRules<W>> BatchObserver for Grid<W, C> {
    fn refresh(&self, state: &Self::State, seat: usize, out: &mut [f32]) {
        self.observer
            .refresh(&self.world, &self.tables, state, seat, out);
    }

    fn observe_compact(&self, state: &Self::State, seat: usize, out: &mut [i8]) {
        self.observer
            .observe(&self.world, &self.tables, state, seat, out);
    }

    fn refresh_compact(&self, state: &Self::State, seat: usize, out: &mut [i8]) {
        self.observer
            .refresh(&self.world, &self.tables, state, seat, out);
    }

    fn observe_all(&self, state: &Self::State, _: usize, fresh: bool, out: &mut [f32]) {
        self.observer
            .observe_all(&self.world, &self.tables, state, fresh, out);
    }

    fn observe_all_compact(&self, state: &Self::State, _: usize, fresh: bool, out: &mut [i8]) {
        self.observer
            .observe_all(&self.world, &self.tables, state, fresh, out);
    }
}

/// The sentence for a name that nothing has: what there is, and which was probably meant.
pub(crate) fn tell_unknown<'a>(
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> String {
    let near = known
        .clone()
        .map(|other| (strsim::levenshtein(name, other), other))
        .min()
        .filter(|&(distance, other)| distance <= 1 + other.len() / 4);
    let hint = near.map_or_else(String::new, |(_, other)| {
        format!("; did you mean `{other}`?")
    });
    let list = known.collect::<Vec<_>>().join(", ");
    let list = if list.is_empty() { "none" } else { &list };
    format!("there is no {what} `{name}`{hint} (there is: {list})")
}
