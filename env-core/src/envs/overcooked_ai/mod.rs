//! The kitchens of overcooked_ai and of its successors: one environment, with the rules and the observations that
//! published policies were trained with.
//!
//! Each set of rules equals its original, step by step; `cargo xtask parity` plays recordings of the originals.

mod describe;
mod draw;
mod events;
pub mod generate;
pub mod ground;
pub mod kitchen;
pub mod layouts;
mod literal;
mod observe;
pub mod params;
pub mod recipes;
pub mod state;
mod step;

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::contract::{
    Action, ActionSpec, Environment, ParamError, Spec, StepOutcome, range_of_sums,
};
use crate::draw::{DrawList, Sprite};
use crate::observer::{BatchObserver, Trail};
use crate::rng::Rng;
use crate::value::Value;
pub use events::EVENTS;
use ground::{KitchenGround, MOST_COOKS, TILES, Tile};
use kitchen::Kitchen;
use observe::Observer;
pub use observe::{
    COOK_CHANNELS, ITEM_NUMBERS, MapSide, MapTables, POT_LOOKS, RECIPE_NUMBERS, item_of,
    name_channel, number_item, number_recipe, recipe_of,
};
pub use params::{Dialect, Encoding, Params, Shaped};
use recipes::MOST_INGREDIENTS;
pub use state::{Cook, Item, Lying, Pot, Recipe, State};
use step::Stepping;
pub use step::{COMPONENTS, INTERACT, STAY};

/// The longest horizon, steps.
const LONGEST_HORIZON: u32 = 1 << 24;

/// The environment.
#[derive(Clone, Debug)]
pub struct OvercookedAi {
    params: Params,
    kitchen: Kitchen,
    observer: Observer,
}

impl OvercookedAi {
    /// The kitchen.
    pub fn kitchen(&self) -> &Kitchen {
        &self.kitchen
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Finds the values of the maps that it shows; `None` if it shows something else, or if each episode has its own ground.
    pub fn find_map_tables(&self) -> Option<MapTables> {
        self.observer
            .find_map_tables(&self.kitchen, self.params.horizon)
    }

    /// The ground of an episode.
    pub fn ground<'a>(&'a self, state: &State) -> Cow<'a, KitchenGround> {
        self.kitchen.ground(state)
    }

    fn over(&self, state: &State) -> bool {
        state.steps >= self.params.horizon
    }

    fn look<V: Value>(&self, state: &State, seat: usize, out: &mut [V]) {
        let ground = self.kitchen.ground(state);
        self.observer
            .observe(&self.kitchen, &ground, state, seat, out);
    }

    fn look_all<V: Value>(&self, state: &State, trail: Option<&mut Trail<V>>, out: &mut [V]) {
        let ground = self.kitchen.ground(state);
        self.observer
            .observe_all(&self.kitchen, &ground, state, trail, out);
    }
}

fn refuse<T>(field: &str, reason: &str) -> Result<T, ParamError> {
    Err(ParamError {
        field: field.into(),
        reason: reason.into(),
    })
}

fn check(params: &Params) -> Result<(), ParamError> {
    if !(1..=LONGEST_HORIZON).contains(&params.horizon) {
        return refuse("horizon", "must be 1 to 16777216");
    }
    if params.tick_hz > 60 {
        return refuse("tick_hz", "must be 0 to 60");
    }
    let is_amount = |amount: f32| (-1e6..=1e6).contains(&amount);
    if !is_amount(params.shaping) {
        return refuse("shaping", "must be a number from -1000000 to 1000000");
    }
    if let Some(shaped) = params.shaped
        && ![shaped.placement, shaped.dish, shaped.soup]
            .into_iter()
            .all(is_amount)
    {
        return refuse("shaped", "must have numbers from -1000000 to 1000000");
    }
    if params
        .delivery_reward
        .is_some_and(|points| !is_amount(points))
    {
        return refuse(
            "delivery_reward",
            "must be a number from -1000000 to 1000000",
        );
    }
    Ok(())
}

/// The names and the keys of the actions, in the order of all originals.
///
/// Source: `overcooked-ai` 1.1.0, `mdp/actions.py`.
fn actions() -> Vec<ActionSpec> {
    let action = |name: &str, momentary, keys: [&str; 2]| ActionSpec {
        name: name.into(),
        momentary,
        keys: keys
            .into_iter()
            .filter(|key| !key.is_empty())
            .map(Into::into)
            .collect(),
        directive: false,
    };
    [
        action("move_up", false, ["ArrowUp", "KeyW"]),
        action("move_down", false, ["ArrowDown", "KeyS"]),
        action("move_right", false, ["ArrowRight", "KeyD"]),
        action("move_left", false, ["ArrowLeft", "KeyA"]),
        action("noop", false, [""; 2]),
        action("interact", true, ["Space", "KeyE"]),
    ]
    .into()
}

impl OvercookedAi {
    /// The range of a cook's reward in a step: each cook may deliver, which all are paid for, and its own step on the way to
    /// a soup is paid besides.
    fn reward_range(&self) -> [f32; 2] {
        let shaped = self.kitchen.shaped;
        let shaped = [shaped.placement, shaped.dish, shaped.soup];
        let shaped = shaped.into_iter().fold([0.0; 2], |[least, most], points| {
            let points = f64::from(points * self.params.shaping);
            [
                if points < least { points } else { least },
                if points > most { points } else { most },
            ]
        });
        let cooks = self.kitchen.start.cooks.len() as f64;
        let delivered = self.kitchen.recipes.points_range();
        range_of_sums([delivered.map(|points| cooks * f64::from(points)), shaped])
    }

    /// The points and the steps of each soup, and the numbers of ingredients that a pot needs to cook and has room for.
    fn constants(&self) -> Vec<(String, f32)> {
        let recipes = &self.kitchen.recipes;
        let least = match self.params.rules.starts_by_interact() {
            true => 1,
            false => recipes.full,
        };
        let pots = [("pot_least", least), ("pot_full", recipes.full)];
        let pots = pots.map(|(name, count)| (String::from(name), count.into()));
        let soups = recipes::all_recipes(recipes.full).flat_map(|soup| {
            let Recipe { onions, tomatoes } = soup;
            [
                (format!("points_{onions}_{tomatoes}"), recipes.points(soup)),
                (
                    format!("steps_{onions}_{tomatoes}"),
                    recipes.time(soup).into(),
                ),
            ]
        });
        pots.into_iter().chain(soups).collect()
    }
}

impl Environment for OvercookedAi {
    const ID: &'static str = "overcooked_ai";
    const VERSION: &'static str = "1.0.0";

    type Params = Params;
    type State = State;

    fn new(params: Params) -> Result<Self, ParamError> {
        check(&params)?;
        let kitchen = Kitchen::new(&params)?;
        params.appearance.check(kitchen.start.cooks.len())?;
        if !params.appearance.kinds.is_empty() {
            return refuse(
                "appearance.kinds",
                "must be empty: these things have one look",
            );
        }
        let observer = Observer::new(
            &kitchen,
            params.rules,
            &params.observation,
            params.horizon,
            params.counter_goals,
        )?;
        Ok(Self {
            params,
            kitchen,
            observer,
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
            title: "Overcooked-AI".into(),
            seats: self.kitchen.start.cooks.len() as u8,
            actions: actions(),
            noop: STAY,
            observation: self.observer.fields(&self.kitchen),
            tick_hz: self.params.tick_hz,
            horizon: self.params.horizon,
            events: EVENTS.map(Into::into).into(),
            compact: self.observer.is_compact(&self.kitchen),
            components: COMPONENTS.map(Into::into).into(),
            reward_range: Some(self.reward_range()),
            constants: self.constants(),
            ..Spec::default()
        }
    }

    fn reset(&self, seed: u64) -> State {
        let mut state = self.kitchen.start.clone();
        let mut rng = Rng::new(seed);
        if self.kitchen.generated {
            let (ground, starts) = generate::generate(|bound| rng.below(bound));
            generate::carry_items(&mut state, &ground);
            for (cook, cell) in state.cooks.iter_mut().zip(starts) {
                cook.cell = cell;
            }
        }
        if self.params.rules.is_onions_only() && self.params.directions.is_none() {
            let cooks = state.cooks.iter_mut();
            cooks.for_each(|cook| cook.facing = rng.below(4) as u8);
        }
        state
    }

    fn step(&self, state: &mut State, actions: &[Action], outcome: &mut StepOutcome) {
        outcome.clear();
        if !self.over(state) {
            let ground = self.kitchen.ground(state);
            let mut stepping = Stepping {
                rules: self.params.rules,
                kitchen: &self.kitchen,
                ground: &ground,
                shaping: self.params.shaping,
                outcome,
            };
            stepping.run(state, actions);
            if self.over(state) {
                outcome.truncated = (1 << state.cooks.len()) - 1;
            }
        }
        outcome.over = self.over(state);
    }

    fn observe(&self, state: &State, seat: usize, out: &mut [f32]) {
        self.look(state, seat, out);
    }

    fn mask(&self, state: &State, seat: usize) -> u64 {
        let ground = self.kitchen.ground(state);
        step::mask(self.params.rules, &self.kitchen, &ground, state, seat)
    }

    fn score(&self, state: &State) -> i64 {
        state.score
    }

    fn draw(&self, state: &State, _seat: Option<usize>, out: &mut DrawList) {
        draw::draw(self, state, out);
    }

    fn describe(&self, state: &State, seat: usize, out: &mut String) {
        describe::describe(self, state, seat, out);
    }

    fn valid(&self, state: &State) -> bool {
        let kitchen = &self.kitchen;
        let has_ground = if kitchen.generated {
            let cells = generate::RINGED_SIDE * generate::RINGED_SIDE;
            usize::from(state.cols) == generate::RINGED_SIDE
                && state.ground.len() == cells
                && state
                    .ground
                    .iter()
                    .all(|&tile| usize::from(tile) < TILES.len())
        } else {
            state.cols == 0 && state.ground.is_empty()
        };
        if !has_ground || state.cooks.len() != kitchen.start.cooks.len() {
            return false;
        }
        let ground = kitchen.ground(state);
        ground.open_border().is_none() && is_valid(kitchen, &ground, state)
    }
}

/// Checks that everything in a state is where it can be.
fn is_valid(kitchen: &Kitchen, ground: &KitchenGround, state: &State) -> bool {
    let fits = |recipe: Recipe| recipe.count() <= kitchen.recipes.full.min(MOST_INGREDIENTS);
    let is_item = |item: Item| match item {
        Item::Soup(contents) => fits(contents) && contents.count() > 0,
        _ => true,
    };
    let cook = |(seat, cook): (usize, &Cook)| {
        let others = &state.cooks[..seat];
        usize::from(cook.cell) < ground.cells()
            && ground.tile(cook.cell) == Tile::Floor
            && cook.facing < 4
            && is_item(cook.held)
            && others.iter().all(|other| other.cell != cook.cell)
    };
    let pot = |pot: &Pot| {
        let time = kitchen.recipes.time(pot.contents);
        fits(pot.contents)
            && pot
                .tick()
                .is_none_or(|tick| pot.contents.count() > 0 && tick <= time)
    };
    let lying = |(at, lying): (usize, &Lying)| {
        usize::from(lying.cell) < ground.cells()
            && ground.tile(lying.cell) == Tile::Counter
            && lying.item != Item::Nothing
            && is_item(lying.item)
            && state.lying[..at]
                .iter()
                .all(|other| other.cell != lying.cell)
    };
    state.cooks.len() <= MOST_COOKS
        && state.pots.len() == ground.pots.len()
        && state.cooks.iter().enumerate().all(cook)
        && state.pots.iter().all(pot)
        && state.lying.iter().enumerate().all(lying)
}

impl BatchObserver for OvercookedAi {
    fn observe_compact(&self, state: &State, seat: usize, out: &mut [i8]) {
        self.look(state, seat, out);
    }

    fn observe_all(
        &self,
        state: &State,
        _: usize,
        trail: Option<&mut Trail<f32>>,
        out: &mut [f32],
    ) {
        self.look_all(state, trail, out);
    }

    fn observe_all_compact(
        &self,
        state: &State,
        _: usize,
        trail: Option<&mut Trail<i8>>,
        out: &mut [i8],
    ) {
        self.look_all(state, trail, out);
    }
}
