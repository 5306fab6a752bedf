//! Shared parts of the tests of kitchens: states that are set up cell by cell, and steps in words.

use env_core::envs::kitchen::params::{Params, Variant};
use env_core::envs::kitchen::{Extra, Kitchens};
use env_core::grid::{self, Direction, RuleSet};
use env_core::{Environment, StepOutcome};

pub(crate) type State = grid::State<Extra>;

/// The events of a step: the name of each with its seat and value, and the reward of each seat.
pub(crate) type Told = (Vec<(String, u8, f32)>, Vec<f32>);

/// A kitchen with a state.
pub(crate) struct Scene<V: Variant> {
    pub(crate) env: Kitchens<V>,
    pub(crate) state: State,
}

/// The same scene by both rules: CoGrid's first.
pub(crate) fn both<V: Variant>(params: &Params<V>) -> [Scene<V>; 2] {
    [RuleSet::Cogrid, RuleSet::Corrected].map(|rules| {
        Scene::new(Params {
            rules,
            ..params.clone()
        })
    })
}

impl<V: Variant> Scene<V> {
    pub(crate) fn new(params: Params<V>) -> Self {
        let env = Kitchens::<V>::new(params).unwrap();
        let state = env.reset(0);
        Self { env, state }
    }

    pub(crate) fn cell(&self, row: usize, col: usize) -> u16 {
        (row * self.env.tables().cols + col) as u16
    }

    /// The number of a kind; `""` for nothing.
    pub(crate) fn id(&self, name: &str) -> u8 {
        match name {
            "" => 0,
            name => self.env.tables().id(name).unwrap(),
        }
    }

    pub(crate) fn name(&self, kind: u8) -> &str {
        self.env.tables().kind(kind).map_or("", |kind| &kind.name)
    }

    pub(crate) fn put(&mut self, seat: usize, at: [usize; 2], facing: Direction, held: &str) {
        let (cell, held) = (self.cell(at[0], at[1]), self.id(held));
        let agent = &mut self.state.agents[seat];
        (agent.cell, agent.facing, agent.held) = (cell, facing, held);
    }

    pub(crate) fn fill(&mut self, at: [usize; 2], contents: &[&str], timer: u8) {
        let contents: Vec<u8> = contents.iter().map(|name| self.id(name)).collect();
        let cell = self.cell(at[0], at[1]);
        let index = self.state.fixture_in(self.env.tables(), cell).unwrap();
        let tables = self.env.tables();
        self.state.set_fixture(tables, index, timer, &contents);
    }

    /// Count and timer of a pot.
    pub(crate) fn pot(&self, at: [usize; 2]) -> (u8, u8) {
        let tables = self.env.tables();
        let index = self
            .state
            .fixture_in(tables, self.cell(at[0], at[1]))
            .unwrap();
        let pot = self.state.fixture(tables, index);
        (pot.count(), pot.timer())
    }

    pub(crate) fn value(&self, at: [usize; 2]) -> u8 {
        self.state.value(self.env.tables(), self.cell(at[0], at[1]))
    }

    pub(crate) fn held(&self, seat: usize) -> &str {
        self.name(self.state.agents[seat].held)
    }

    pub(crate) fn step(&mut self, actions: &[u16]) -> Told {
        assert!(self.env.valid(&self.state), "{:?}", self.state);
        let mut outcome = StepOutcome::default();
        self.env.step(&mut self.state, actions, &mut outcome);
        assert!(self.env.valid(&self.state), "{:?}", self.state);
        let spec = self.env.spec();
        let events = outcome.events.iter().map(|event| {
            let name = spec.events[usize::from(event.kind)].clone();
            (name, event.seat, event.value)
        });
        let rewards = outcome.rewards[..usize::from(spec.seats)].to_vec();
        (events.collect(), rewards)
    }

    /// The values of a field of an observation.
    pub(crate) fn field(&self, seat: usize, name: &str) -> Vec<f32> {
        let spec = self.env.spec();
        let mut values = vec![0.0; spec.observation_len()];
        self.env.observe(&self.state, seat, &mut values);
        let mut start = 0;
        for field in &spec.observation {
            let len = field.shape.iter().product::<u32>() as usize;
            if field.name == name {
                return values[start..start + len].to_vec();
            }
            start += len;
        }
        panic!("no field {name} in {:?}", spec.observation)
    }
}

/// An event as a step reports it.
pub(crate) fn event(name: &str, seat: u8, value: f32) -> (String, u8, f32) {
    (name.into(), seat, value)
}
