//! Overcooked V2 as JaxMARL plays it: kitchens in which only some cooks may see which soup is wanted.
//!
//! Source: JaxMARL 0.2.0, `environments/overcooked_v2`, after Gessler et al., "OvercookedV2: Rethinking Overcooked for
//! Zero-Shot Coordination", 2025. CoGrid's version of it is [`super::overcooked_v2`].

mod describe;
mod draw;
pub mod items;
mod kitchen;
mod layouts;
mod names;
mod observe;
mod params;
mod state;
mod step;

use alloc::string::String;
use alloc::vec;

use crate::MAX_SEATS;
use crate::contract::{Action, ActionSpec, Environment, FieldSpec, ParamError, Spec, StepOutcome};
use crate::draw::{DrawList, Sprite};
use crate::observer::{BatchObserver, Trail};
pub use kitchen::{Kitchen, Tile};
pub use layouts::{LAYOUTS, NamedLayout};
pub use names::name_layer;
pub use observe::KitchenLayers;
use observe::Observer;
pub use params::Params;
pub use state::{Cell, Cook, State};
use step::{BUTTON_COST, COOK_TIME, DELIVERY_POINTS, Stepping};

/// Names of the events, in the order of the steps that they stand for.
const EVENTS: [&str; 7] = [
    "delivery",
    "wrong_delivery",
    "button",
    "placement",
    "cooking_start",
    "dish_pickup",
    "plate_pickup",
];
/// Parts of the reward.
const COMPONENTS: [&str; 3] = ["delivery", "button", "shaped"];
const DELIVERY_PART: usize = 0;
const BUTTON_PART: usize = 1;
const SHAPED_PART: usize = 2;
/// The greatest shaped reward of a cook in a step.
const MOST_SHAPED: f32 = 5.0;

/// The action that does nothing.
pub const STAY: Action = 4;
/// The action of the hands.
pub const INTERACT: Action = 5;

/// The environment.
#[derive(Debug)]
pub struct OvercookedJaxmarlV2 {
    params: Params,
    kitchen: Kitchen,
    observer: Observer,
    spec: Spec,
}

/// The direction of an action: right, down, left, up are the first four.
fn direction(action: Action) -> Option<u8> {
    [2, 1, 3, 0].get(usize::from(action)).copied()
}

fn actions() -> vec::Vec<ActionSpec> {
    let action = |name: &str, momentary, keys: &[&str]| ActionSpec {
        name: name.into(),
        momentary,
        keys: keys.iter().map(|&key| key.into()).collect(),
        directive: false,
    };
    vec![
        action("move_right", false, &["ArrowRight", "KeyD", "GamepadRight"]),
        action("move_down", false, &["ArrowDown", "KeyS", "GamepadDown"]),
        action("move_left", false, &["ArrowLeft", "KeyA", "GamepadLeft"]),
        action("move_up", false, &["ArrowUp", "KeyW", "GamepadUp"]),
        action("noop", false, &[]),
        action("interact", true, &["Space", "KeyE", "GamepadSouth"]),
    ]
}

fn spec(params: &Params, kitchen: &Kitchen, observer: &Observer) -> Spec {
    let seats = kitchen.starts.len();
    let shaped = MOST_SHAPED
        * if params.shaping < 0.0 {
            -params.shaping
        } else {
            params.shaping
        };
    let worst = if params.negative_rewards {
        DELIVERY_POINTS
    } else {
        BUTTON_COST
    };
    let shows_recipe = kitchen.recipes.len() == 1 || kitchen.tiles.contains(&Tile::Indicator);
    Spec {
        id: OvercookedJaxmarlV2::ID.into(),
        version: OvercookedJaxmarlV2::VERSION.into(),
        title: "Overcooked V2 (JaxMARL)".into(),
        seats: seats as u8,
        actions: actions(),
        noop: STAY,
        observation: vec![FieldSpec {
            name: "kitchen".into(),
            shape: observer.shape(),
            range: Some([0.0, COOK_TIME.into()]),
        }],
        tick_hz: params.tick_hz,
        horizon: params.horizon,
        events: EVENTS.map(Into::into).into(),
        compact: true,
        reward_range: Some([
            -(seats as f32) * worst - shaped,
            seats as f32 * DELIVERY_POINTS + shaped,
        ]),
        components: COMPONENTS.map(Into::into).into(),
        perfect_information: params.view_radius.is_none() && shows_recipe,
        ..Spec::default()
    }
}

impl OvercookedJaxmarlV2 {
    /// The kitchen.
    pub fn kitchen(&self) -> &Kitchen {
        &self.kitchen
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Finds the layers of its observations; `None` if each cook sees a part of the kitchen only.
    pub fn find_layers(&self) -> Option<KitchenLayers> {
        self.observer.find_layers()
    }

    fn is_over(&self, state: &State) -> bool {
        state.steps >= self.params.horizon
    }
}

impl Environment for OvercookedJaxmarlV2 {
    const ID: &'static str = "overcooked_jaxmarl_v2";
    const VERSION: &'static str = "1.0.0";

    type Params = Params;
    type State = State;

    fn new(params: Params) -> Result<Self, ParamError> {
        params.check()?;
        let kitchen = Kitchen::new(&params)?;
        params.appearance.check(kitchen.starts.len())?;
        let observer = Observer::new(&kitchen, &params);
        let spec = spec(&params, &kitchen, &observer);
        Ok(Self {
            params,
            kitchen,
            observer,
            spec,
        })
    }

    fn params_schema() -> &'static str {
        include_str!("params.schema.json")
    }

    fn sprites() -> &'static [Sprite] {
        draw::SPRITES
    }

    fn spec(&self) -> Spec {
        self.spec.clone()
    }

    fn reset(&self, seed: u64) -> State {
        State::start(&self.kitchen, &self.params, seed)
    }

    fn step(&self, state: &mut State, actions: &[Action], outcome: &mut StepOutcome) {
        outcome.clear();
        if !self.is_over(state) {
            let mut stepping = Stepping {
                kitchen: &self.kitchen,
                params: &self.params,
                spec: &self.spec,
                outcome,
            };
            stepping.run(state, actions);
            if self.is_over(state) {
                outcome.truncated = u16::MAX >> (MAX_SEATS - state.cooks.len());
            }
        }
        outcome.over = self.is_over(state);
    }

    fn observe(&self, state: &State, seat: usize, out: &mut [f32]) {
        self.observer.observe(state, seat, out);
    }

    fn score(&self, state: &State) -> i64 {
        state.score
    }

    fn draw(&self, state: &State, seat: Option<usize>, out: &mut DrawList) {
        draw::draw(self, state, seat, out);
    }

    fn describe(&self, state: &State, seat: usize, out: &mut String) {
        // Writing into a String cannot fail.
        let _ = describe::describe(self, state, seat, out);
    }

    fn valid(&self, state: &State) -> bool {
        state.is_valid(&self.kitchen, &self.params)
    }

    /// Gives the recipe, as an item, that is wanted after a delivery in the next step.
    fn inject(&self, state: &mut State, draws: &[u32]) {
        let given = draws.first().copied();
        state.next = given.filter(|recipe| self.kitchen.recipes.contains(recipe));
    }
}

impl BatchObserver for OvercookedJaxmarlV2 {
    fn observe_compact(&self, state: &State, seat: usize, out: &mut [i8]) {
        self.observer.observe(state, seat, out);
    }

    fn observe_all(
        &self,
        state: &State,
        _: usize,
        trail: Option<&mut Trail<f32>>,
        out: &mut [f32],
    ) {
        self.observer.observe_all(state, trail, out);
    }

    fn observe_all_compact(
        &self,
        state: &State,
        _: usize,
        trail: Option<&mut Trail<i8>>,
        out: &mut [i8],
    ) {
        self.observer.observe_all(state, trail, out);
    }
}
