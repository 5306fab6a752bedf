//! A world that is sensitive to the order of everything, for any number of seats.

use env_core::contract::{ActionSpec, FieldSpec, ParamError};
use env_core::draw::{DrawList, Sprite};
use env_core::{Action, Environment, Instance, Spec, StepOutcome};
use serde::{Deserialize, Serialize};

/// How many actions there are; the last one is momentary.
pub(crate) const ACTIONS: u64 = 6;

/// Seats and steps.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Params {
    pub(crate) seats: u8,
    pub(crate) horizon: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    steps: u32,
    places: Vec<i32>,
    memory: u64,
}

pub(crate) struct Toy(Params);

/// A toy that runs.
pub(crate) fn world(seats: u8, horizon: u32) -> Instance<Toy> {
    Instance::new(Toy(Params { seats, horizon }))
}

/// Source: Vigna, SplitMix64.
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

impl Environment for Toy {
    const ID: &'static str = "toy";
    const VERSION: &'static str = "1.0.0";
    type Params = Params;
    type State = State;

    fn new(params: Params) -> Result<Self, ParamError> {
        Ok(Self(params))
    }

    fn params_schema() -> &'static str {
        "{}"
    }

    fn sprites() -> &'static [Sprite] {
        &[]
    }

    fn spec(&self) -> Spec {
        let action = |name: &str| ActionSpec {
            name: name.into(),
            momentary: name == "press",
            keys: Vec::new(),
            ..ActionSpec::default()
        };
        Spec {
            id: Self::ID.into(),
            version: Self::VERSION.into(),
            title: "Toy".into(),
            seats: self.0.seats,
            actions: ["noop", "up", "down", "swap", "mirror", "press"]
                .map(action)
                .into(),
            noop: 0,
            observation: vec![FieldSpec {
                name: "all".into(),
                shape: vec![2],
                ..FieldSpec::default()
            }],
            tick_hz: 60,
            horizon: self.0.horizon,
            events: Vec::new(),
            compact: false,
            ..Spec::default()
        }
    }

    fn reset(&self, seed: u64) -> State {
        State {
            steps: 0,
            places: vec![0; usize::from(self.0.seats)],
            memory: mix(seed),
        }
    }

    fn step(&self, state: &mut State, actions: &[Action], outcome: &mut StepOutcome) {
        outcome.clear();
        for (seat, &action) in actions.iter().enumerate() {
            match action {
                1 => state.places[seat] += 1,
                2 => state.places[seat] -= 1,
                3 => state.places.swap(seat, 0),
                4 => state.places[seat] = state.places[0] - state.places[seat],
                _ => {}
            }
            let place = state.places[seat] as u64;
            state.memory = mix(state.memory ^ u64::from(action) ^ place << 8);
        }
        state.steps += 1;
        outcome.over = state.steps >= self.0.horizon;
    }

    fn observe(&self, state: &State, seat: usize, out: &mut [f32]) {
        out.copy_from_slice(&[state.places[seat] as f32, (state.memory % 1024) as f32]);
    }

    fn score(&self, state: &State) -> i64 {
        state.places.iter().map(|&place| i64::from(place)).sum()
    }

    fn draw(&self, _state: &State, _seat: Option<usize>, _out: &mut DrawList) {}

    fn describe(&self, _state: &State, _seat: usize, _out: &mut String) {}

    fn valid(&self, state: &State) -> bool {
        state.places.len() == usize::from(self.0.seats)
    }
}
