//! A grid world as an environment.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;

use super::cogrid::{CogridRules, Declared};
use super::motion::Motion;
use super::observe::Observer;
use super::random_draws::{self, Injected};
use super::reward::Reward;
use super::state::State;
use super::tables::Tables;
use super::world::GridWorld;
use super::{describe, draw, interactions, reset, step};
use crate::contract::{Action, Environment, ParamError, Spec, StepOutcome, range_of_sums};
use crate::draw::{DrawList, Sprite};
use crate::observer::{BatchObserver, Trail};

/// A grid world as an environment; `C` is what it does by the rules of CoGrid beyond its declarations.
#[derive(Debug)]
pub struct Grid<W: GridWorld, C = Declared> {
    pub(super) world: W,
    pub(super) tables: Tables,
    pub(super) observer: Observer,
    pub(super) pictures: draw::Pictures,
    pub(super) title: String,
    pub(super) horizon: u32,
    pub(super) tick_hz: u16,
    pub(super) rewards: Vec<Reward>,
    pub(super) cogrid: PhantomData<C>,
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

    /// The observer of its seats.
    pub fn observer(&self) -> &Observer {
        &self.observer
    }

    /// Steps after which an episode is truncated.
    pub fn horizon(&self) -> u32 {
        self.horizon
    }

    /// Returns the range of a seat's reward in a step, if the world says how much each of its rewards can pay.
    fn reward_range(&self) -> Option<[f32; 2]> {
        let rewards = 0..self.rewards.len();
        let parts = rewards.map(|reward| self.world.reward_bounds(&self.tables, reward));
        parts.collect::<Option<Vec<_>>>().map(range_of_sums)
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
        plan.appearance.dress_kinds(&mut tables)?;
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
            reward_range: self.reward_range(),
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
            self.tables.draw_cover(seat, state.agents[seat].cell, out);
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
    /// The generator draws whatever is left out, and replaces ranks and numbers that are impossible.
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

    fn observe_all(
        &self,
        state: &Self::State,
        _: usize,
        trail: Option<&mut Trail<f32>>,
        out: &mut [f32],
    ) {
        self.observer
            .observe_all(&self.world, &self.tables, state, trail, out);
    }

    fn observe_all_compact(
        &self,
        state: &Self::State,
        _: usize,
        trail: Option<&mut Trail<i8>>,
        out: &mut [i8],
    ) {
        self.observer
            .observe_all(&self.world, &self.tables, state, trail, out);
    }
}
