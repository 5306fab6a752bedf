//! Overcooked: two cooks, onions, plates, pots and a delivery zone; soups earn the reward for both.
//!
//! Two sets of rules: [`Rules::Cogrid`] equals CoGrid 0.3.2 field for field, its oddities included;
//! [`Rules::Corrected`], the default, mends what `docs/environments/overcooked.md` lists.

mod describe;
mod draw;
pub mod kitchen;
mod observe;
mod reset;
pub mod state;
mod step;

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::contract::{Action, ActionSpec, Environment, Outcome, ParamError, Spec};
use crate::draw::{DrawList, Sprite};
use kitchen::{Kitchen, Layout, SEATS};
use state::State;

/// Turns and steps up; the others follow in CoGrid's order.
pub const MOVE_UP: Action = 0;
/// Turns and steps down.
pub const MOVE_DOWN: Action = 1;
/// Turns and steps left.
pub const MOVE_LEFT: Action = 2;
/// Turns and steps right.
pub const MOVE_RIGHT: Action = 3;
/// Takes, puts, cooks, plates, delivers: whatever the cell in front allows.
pub const PICK_UP_OR_DROP: Action = 4;
/// Does nothing in these kitchens.
pub const TOGGLE: Action = 5;
/// Does nothing.
pub const NOOP: Action = 6;

/// Event: a soup was delivered.
pub const DELIVERY: u16 = 0;
/// Event: an onion went into a pot.
pub const ONION_IN_POT: u16 = 1;
/// Event: a ready soup was taken with a plate.
pub const SOUP_IN_DISH: u16 = 2;

/// Which rules hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rules {
    /// CoGrid 0.3.2, field for field, seeds included.
    #[serde(rename = "cogrid-0.3.2")]
    Cogrid,
    /// The same game with the artefacts mended.
    #[default]
    #[serde(rename = "corrected")]
    Corrected,
}

/// What each event pays, to both cooks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rewards {
    /// For a delivered soup; also its worth in the score.
    pub delivery: f32,
    /// For an onion put into a pot.
    pub onion_in_pot: f32,
    /// For a soup taken with a plate.
    pub soup_in_dish: f32,
}

impl Default for Rewards {
    fn default() -> Self {
        Self {
            delivery: 20.0,
            onion_in_pot: 3.0,
            soup_in_dish: 5.0,
        }
    }
}

/// Parameters; each has a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The kitchen.
    pub layout: Layout,
    /// The rules.
    pub rules: Rules,
    /// Steps after which the episode ends.
    pub horizon: u32,
    /// Steps per second.
    pub tick_hz: u16,
    /// What events pay.
    pub rewards: Rewards,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            layout: Layout::default(),
            rules: Rules::default(),
            horizon: 1000,
            tick_hz: 10,
            rewards: Rewards::default(),
        }
    }
}

/// The environment: parameters and the tables of its kitchen.
#[derive(Clone, Debug)]
pub struct Overcooked {
    params: Params,
    kitchen: Kitchen,
    /// The part of an observation that never changes: the places of fixed objects.
    fixed: Vec<f32>,
}

impl Overcooked {
    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The tables of the kitchen.
    pub fn kitchen(&self) -> &Kitchen {
        &self.kitchen
    }

    fn is_cogrid(&self) -> bool {
        self.params.rules == Rules::Cogrid
    }

    fn over(&self, state: &State) -> bool {
        state.steps >= self.params.horizon
    }
}

fn check(params: &Params) -> Result<(), ParamError> {
    let refuse = |field: &str, reason: &str| {
        Err(ParamError {
            field: field.into(),
            reason: reason.into(),
        })
    };
    if params.horizon == 0 {
        return refuse("horizon", "an episode needs at least 1 step");
    }
    if !(1..=60).contains(&params.tick_hz) {
        return refuse("tick_hz", "must be 1 to 60 steps per second");
    }
    let Rewards {
        delivery,
        onion_in_pot,
        soup_in_dish,
    } = params.rewards;
    for (field, value) in [
        ("rewards.delivery", delivery),
        ("rewards.onion_in_pot", onion_in_pot),
        ("rewards.soup_in_dish", soup_in_dish),
    ] {
        if !(-1e6..=1e6).contains(&value) {
            return refuse(field, "must be a number from -1000000 to 1000000");
        }
    }
    Ok(())
}

impl Environment for Overcooked {
    const ID: &'static str = "overcooked";
    const VERSION: &'static str = "1.0.0";

    type Params = Params;
    type State = State;

    fn new(params: Params) -> Result<Self, ParamError> {
        check(&params)?;
        let kitchen = Kitchen::new(params.layout);
        let fixed = observe::fixed(&kitchen);
        Ok(Self {
            params,
            kitchen,
            fixed,
        })
    }

    fn params_schema() -> &'static str {
        include_str!("params.schema.json")
    }

    fn sprites() -> &'static [Sprite] {
        draw::SPRITES
    }

    fn spec(&self) -> Spec {
        Spec {
            id: Self::ID.into(),
            version: Self::VERSION.into(),
            title: "Overcooked".into(),
            seats: SEATS as u8,
            actions: actions(),
            noop: NOOP,
            observation: observe::fields(),
            tick_hz: self.params.tick_hz,
            horizon: self.params.horizon,
            events: vec![
                "delivery".into(),
                "onion_in_pot".into(),
                "soup_in_dish".into(),
            ],
            compact: true,
        }
    }

    fn reset(&self, seed: u64) -> State {
        reset::reset(self, seed)
    }

    fn step(&self, state: &mut State, actions: &[Action], outcome: &mut Outcome) {
        step::step(self, state, actions, outcome);
    }

    fn observe(&self, state: &State, seat: usize, out: &mut [f32]) {
        observe::observe(self, state, seat, out);
    }

    fn score(&self, state: &State) -> i64 {
        (f64::from(state.soups) * f64::from(self.params.rewards.delivery)) as i64
    }

    fn draw(&self, state: &State, out: &mut DrawList) {
        draw::draw(self, state, out);
    }

    fn describe(&self, state: &State, seat: usize, out: &mut String) {
        describe::describe(self, state, seat, out);
    }

    fn valid(&self, state: &State) -> bool {
        state.fits(&self.kitchen, self.is_cogrid())
    }

    /// Takes the rank of each seat in the movement of the next step; the lower rank moves first.
    fn inject(&self, state: &mut State, ranks: &[u32]) {
        if let [a, b, ..] = ranks {
            state.injected = Some(u8::from(b < a));
        }
    }
}

fn actions() -> Vec<ActionSpec> {
    let action = |name: &str, momentary, keys: &[&str]| ActionSpec {
        name: name.into(),
        momentary,
        keys: keys.iter().map(|&key| key.into()).collect(),
    };
    vec![
        action("move_up", false, &["ArrowUp", "KeyW"]),
        action("move_down", false, &["ArrowDown", "KeyS"]),
        action("move_left", false, &["ArrowLeft", "KeyA"]),
        action("move_right", false, &["ArrowRight", "KeyD"]),
        action("pick_up_or_drop", true, &["Space", "KeyE"]),
        action("toggle", true, &[]),
        action("noop", false, &[]),
    ]
}
