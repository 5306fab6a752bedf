//! The check of the laws finds an environment that breaks one: a small counter, broken in one way at a time.

use std::sync::atomic::{AtomicU32, Ordering};

use env_core::conformance::check;
use env_core::contract::{ActionSpec, FieldSpec, ParamError};
use env_core::draw::{DrawList, Shape, Sprite};
use env_core::{Action, Environment, Spec, StepOutcome};
use serde::{Deserialize, Serialize};

/// In which way it is broken; 0 for not at all.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Params {
    flaw: u8,
}

const AMBIENT: u8 = 1;
const UNWRITTEN: u8 = 2;
const WILD_ACTION: u8 = 3;
const PAID_AFTER_THE_END: u8 = 4;
const ENDLESS: u8 = 5;
const REFUSES_ITS_STATES: u8 = 6;
const NOT_FINITE: u8 = 7;
const TWIN_ITEMS: u8 = 8;
const HIDDEN_STATE: u8 = 9;
const UNKNOWN_EVENT: u8 = 10;
const TWIN_KEYS: u8 = 11;
const SILENT: u8 = 12;
const PAID_TOO_MUCH: u8 = 13;
const SEES_TOO_MUCH: u8 = 14;

static AROUND_IT: AtomicU32 = AtomicU32::new(0);

struct Counter(u8);

/// The count, and a part that its bytes leave out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct State {
    steps: u32,
    sum: u32,
    #[serde(skip)]
    hidden: u32,
}

impl Environment for Counter {
    const ID: &'static str = "counter";
    const VERSION: &'static str = "1.0.0";
    type Params = Params;
    type State = State;

    fn new(params: Params) -> Result<Self, ParamError> {
        Ok(Self(params.flaw))
    }

    fn params_schema() -> &'static str {
        "{}"
    }

    fn sprites() -> &'static [Sprite] {
        &[]
    }

    fn spec(&self) -> Spec {
        let key = if self.0 == TWIN_KEYS { "KeyA" } else { "KeyB" };
        let action = |name: &str, key: &str| ActionSpec {
            name: name.into(),
            momentary: false,
            keys: vec![key.into()],
            ..ActionSpec::default()
        };
        Spec {
            id: Self::ID.into(),
            version: Self::VERSION.into(),
            title: "Counter".into(),
            seats: 1,
            actions: vec![action("wait", "KeyA"), action("count", key)],
            noop: 0,
            observation: vec![FieldSpec {
                name: "sum".into(),
                shape: vec![2],
                range: (self.0 == SEES_TOO_MUCH).then_some([0.0, 3.0]),
            }],
            reward_range: Some([0.0, 1.0]),
            tick_hz: 10,
            horizon: 40,
            events: vec!["counted".into()],
            compact: false,
            ..Spec::default()
        }
    }

    fn reset(&self, _seed: u64) -> State {
        State {
            steps: 0,
            sum: 0,
            hidden: 0,
        }
    }

    fn step(&self, state: &mut State, actions: &[Action], outcome: &mut StepOutcome) {
        outcome.clear();
        let wanted = actions.first().copied().unwrap_or(0);
        let over = state.steps >= 40;
        let counts = wanted == 1 || (self.0 == WILD_ACTION && wanted > 1);
        if counts && (!over || self.0 == PAID_AFTER_THE_END) {
            state.sum += 1;
            outcome.rewards[0] = match self.0 {
                NOT_FINITE => f32::INFINITY,
                PAID_TOO_MUCH => 1.5,
                _ => 1.0,
            };
            let kind = if self.0 == UNKNOWN_EVENT { 7 } else { 0 };
            outcome.events.push(env_core::StepEvent {
                kind,
                seat: 0,
                to: None,
                value: 1.0,
            });
        }
        state.sum += if self.0 == AMBIENT {
            AROUND_IT.fetch_add(1, Ordering::Relaxed)
        } else {
            0
        };
        state.hidden += u32::from(self.0 == HIDDEN_STATE);
        state.steps = if over { state.steps } else { state.steps + 1 };
        outcome.over = state.steps >= 40 && self.0 != ENDLESS;
    }

    fn observe(&self, state: &State, _seat: usize, out: &mut [f32]) {
        out[0] = state.sum as f32;
        if self.0 != UNWRITTEN {
            out[1] = 0.0;
        }
    }

    fn score(&self, state: &State) -> i64 {
        i64::from(state.sum)
    }

    fn draw(&self, state: &State, _seat: Option<usize>, out: &mut DrawList) {
        out.begin(1.0, 1.0, 0);
        for item in 0..=u32::from(self.0 == TWIN_ITEMS) {
            out.push(
                1,
                [item as f32, 0.0, 1.0, 1.0],
                Shape::Ellipse { color: state.sum },
            );
        }
    }

    fn describe(&self, state: &State, _seat: usize, out: &mut String) {
        if self.0 != SILENT {
            *out += &format!("The sum is {}.", state.sum);
        }
    }

    fn valid(&self, state: &State) -> bool {
        self.0 != REFUSES_ITS_STATES && state.steps <= 40 && state.sum <= 1_000_000
    }
}

#[test]
fn a_sound_environment_passes() {
    check::<Counter>([Params::default()]).unwrap();
}

#[test]
fn every_flaw_is_found_and_named() {
    for (flaw, law) in [
        (AMBIENT, "goes the same way again"),
        (UNWRITTEN, "every value of an observation is written"),
        (WILD_ACTION, "out of range or missing is the no-op"),
        (PAID_AFTER_THE_END, "after the end nothing is earned"),
        (ENDLESS, "over at its horizon"),
        (REFUSES_ITS_STATES, "is restored from its bytes"),
        (NOT_FINITE, "rewards are finite"),
        (PAID_TOO_MUCH, "a reward is in its range"),
        (SEES_TOO_MUCH, "is in the range of its field"),
        (TWIN_ITEMS, "items have different ids"),
        (HIDDEN_STATE, "a restored state is the state"),
        (UNKNOWN_EVENT, "an event has a kind"),
        (TWIN_KEYS, "a key has one action"),
        (SILENT, "told the state in words"),
    ] {
        let found = check::<Counter>([Params { flaw }]).unwrap_err();
        assert!(found.to_string().contains(law), "flaw {flaw}: {found}");
    }
}
