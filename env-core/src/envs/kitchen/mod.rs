//! Kitchens: cooks, pots, plates, soups, orders, wanted recipes; the parts that `overcooked` and `overcooked_v2` share.
//!
//! Two sets of rules: [`RuleSet::Cogrid`] equals CoGrid 0.3.2 field for field, its oddities included;
//! [`RuleSet::Corrected`], the default, fixes the oddities that the pages of the two environments list.

mod check;
mod describe;
mod draw;
mod earn;
pub(crate) mod features;
pub mod kinds;
pub mod layouts;
pub mod params;
mod tick;

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::contract::ParamError;
use crate::draw::{DrawList, Sprite};
use crate::grid::random_draws::MAX_ROLLS;
use crate::grid::{
    self, CogridRules, Draws, EMPTY, Fog, Grid, GridWorld, Interaction, KindId, KindSet, Motion,
    OwnFeature, Pay, Sight, State, StepDraws, Tables, WorldPlan,
};
use features::{KitchenFacts, KitchenFeatures, KitchenNow, ShownOrder};
use params::{KitchenReward, Params, Variant};

/// The most orders at a time.
pub const MAX_ORDERS: usize = MAX_ROLLS;

/// An order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KitchenOrder {
    /// The soup: 1 onion soup, 2 tomato soup; 0 for a place that is free.
    pub soup: u8,
    /// Steps until it expires; 0 in a place that is free.
    pub left: u16,
}

/// The part of a kitchen's state beside the grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extra {
    /// The orders by their places.
    pub orders: [KitchenOrder; MAX_ORDERS],
    /// The number of expired orders.
    pub expired: u32,
    /// Which of [`Params::targets`] is wanted.
    pub target: u8,
    /// True if soup was delivered in the last step, and another may be wanted now.
    pub delivered: bool,
    /// By the rules of CoGrid: bit `f` is set if fixture `f` is a button that was lit after the last step.
    pub lit: u64,
}

/// A soup that may be wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Target {
    soup: KindId,
    /// Its ingredients, sorted.
    ingredients: [KindId; kinds::SOUP_SIZE as usize],
}

/// The kinds that the rules of kitchens name; [`EMPTY`] for kinds that a kitchen of the first version lacks.
#[derive(Clone, Copy, Debug)]
struct Ids {
    ingredients: [KindId; 2],
    soups: [KindId; 2],
    plate: KindId,
    pot: KindId,
    open_pot: KindId,
    zone: KindId,
    open_zone: KindId,
    indicator: KindId,
    button: KindId,
}

/// Cooking, as a grid world.
#[derive(Debug)]
pub struct Cooking<V: Variant> {
    params: Params<V>,
    ids: Ids,
    /// Every soup.
    soups: KindSet,
    targets: Vec<Target>,
    features: KitchenFeatures,
    /// The probability that a free place gets an order of the first recipe, and of one of the first two.
    spawn: [f32; 2],
    /// True if there is only what the rewards declare: no orders, no wanted soup.
    plain: bool,
    /// True if something happens at the beginning of a step.
    ticks: bool,
    /// By the rules of CoGrid: the kind of pot that rewards look at.
    paid_pot: KindId,
}

/// The kitchens of an environment.
pub type Kitchens<V> = Grid<Cooking<V>, CogridKitchen>;

impl<V: Variant> Cooking<V> {
    /// The parameters.
    pub fn params(&self) -> &Params<V> {
        &self.params
    }

    /// The most orders at a time.
    fn places(&self) -> usize {
        usize::from(max_orders(&self.params))
    }

    /// The soup that is wanted, if not every soup is welcome.
    fn target(&self, extra: &Extra) -> Option<&Target> {
        self.targets.get(usize::from(extra.target))
    }

    /// Checks whether the button in a cell is lit.
    fn is_lit(&self, tables: &Tables, state: &State<Extra>, cell: u16) -> bool {
        let button = state.fixture_in(tables, cell);
        button.is_some_and(|index| state.fixture(tables, index).timer() > 0)
    }

    /// Checks whether a seat sees the soup that is wanted.
    fn is_shown(&self, tables: &Tables, state: &State<Extra>, seat: usize) -> bool {
        let seen = |&cell: &u16| tables.can_see(seat, state.agents[seat].cell, cell);
        (0..tables.cells as u16)
            .filter(seen)
            .any(|cell| match state.kind(cell) {
                EMPTY => false,
                kind if kind == self.ids.indicator => true,
                kind => kind == self.ids.button && self.is_lit(tables, state, cell),
            })
    }
}

/// The features; of the default ones a cook that is alone has no distance to others.
fn features<V: Variant>(params: &Params<V>) -> Vec<String> {
    let mut features = params.features.clone();
    if params.seats == 1 && features == Params::<V>::default().features {
        features.retain(|name| name != "dist_to_other_players");
    }
    features
}

/// Returns how far `local_view` sees; the default does not matter without that feature.
fn view_radius<V: Variant>(params: &Params<V>) -> Option<u8> {
    let looks = params.features.iter().any(|name| name == "local_view");
    let default = Params::<V>::default().view_radius;
    params
        .view_radius
        .filter(|&radius| looks || Some(radius) != default)
}

fn max_orders<V: Variant>(params: &Params<V>) -> u8 {
    params.orders.as_ref().map_or(0, |orders| orders.max_active)
}

/// Returns the facts for the features of a kitchen.
fn facts<V: Variant>(
    params: &Params<V>,
    tables: &Tables,
    targets: &[Target],
    indicator: KindId,
) -> Result<KitchenFacts, ParamError> {
    let indicator = Some(indicator).filter(|&kind| kind != EMPTY);
    Ok(KitchenFacts {
        layout: check::layout_number(params),
        layouts: check::layout_count(V::V2, params.rules),
        items: check::find_items(params, tables)?,
        orders: max_orders(params),
        recipes: 2,
        time_limit: params.orders.as_ref().map_or(0, |orders| orders.time_limit),
        targets: targets.iter().map(|target| target.soup).collect(),
        indicators: indicator
            .into_iter()
            .fold(KindSet::default(), KindSet::with),
        view_radius: view_radius(params),
    })
}

fn now(extra: &Extra) -> KitchenNow {
    KitchenNow {
        orders: extra.orders.map(|order| {
            let recipe = order.soup.checked_sub(1)?;
            Some(ShownOrder {
                recipe,
                left: order.left,
            })
        }),
        target: extra.target,
        delivered: extra.delivered,
    }
}

impl<V: Variant> GridWorld for Cooking<V> {
    const ID: &'static str = if V::V2 { "overcooked_v2" } else { "overcooked" };
    const VERSION: &'static str = if V::V2 { "1.0.0" } else { "2.0.0" };
    const TITLE: &'static str = if V::V2 { "Overcooked V2" } else { "Overcooked" };
    const CHANGES_GROUND: bool = false;

    type Params = Params<V>;
    type Extra = Extra;

    fn params_schema() -> &'static str {
        if V::V2 {
            include_str!("overcooked_v2.schema.json")
        } else {
            include_str!("overcooked.schema.json")
        }
    }

    fn sprites() -> &'static [Sprite] {
        kinds::sprites(V::V2)
    }

    fn plan(params: &Params<V>) -> Result<WorldPlan, ParamError> {
        check::check_params(params)?;
        Ok(WorldPlan {
            title: None,
            rules: params.rules,
            seats: usize::from(params.seats),
            actions: params.actions,
            horizon: params.horizon,
            tick_hz: params.tick_hz,
            kinds: kinds::kinds(V::V2, params.rules, params.cook_time),
            layout: grid::Layout::Fixed(check::read_rows(params)?),
            features: features(params),
            view_radius: view_radius(params),
            fog: Fog::All(V::V2),
            rewards: params.rewards.iter().map(earn::declare_reward).collect(),
            figures: None,
            appearance: params.appearance.clone(),
        })
    }

    fn new(params: Params<V>, tables: &Tables) -> Result<Self, ParamError> {
        let id = |name: &str| tables.id(name).unwrap_or(EMPTY);
        let ids = Ids {
            ingredients: ["onion", "tomato"].map(id),
            soups: ["onion_soup", "tomato_soup"].map(id),
            plate: id("plate"),
            pot: id("pot"),
            open_pot: id("open_pot"),
            zone: id("delivery_zone"),
            open_zone: id("open_delivery_zone"),
            indicator: id("recipe_indicator"),
            button: id("button_indicator"),
        };
        let targets = check::find_targets(&params, tables)?;
        let facts = facts(&params, tables, &targets, ids.indicator)?;
        let spawn = params.orders.as_ref().map(|orders| orders.spawn);
        let spawn = spawn.unwrap_or_default();
        let dishes = tables.containers.iter().flat_map(|pot| &pot.dishes);
        let has = |kind| {
            let ground = tables.ground.as_ref();
            kind != EMPTY && ground.is_some_and(|ground| ground.kinds.contains(&kind))
        };
        Ok(Self {
            ids,
            soups: dishes.fold(KindSet::default(), |set, dish| set.with(dish.result)),
            spawn: [spawn.onion_soup, spawn.onion_soup + spawn.tomato_soup],
            plain: params.rewards.iter().all(|paid| earn::is_plain(paid.kind))
                && targets.is_empty()
                && params.orders.is_none(),
            ticks: !targets.is_empty() || params.orders.is_some(),
            paid_pot: if has(ids.open_pot) {
                ids.open_pot
            } else {
                ids.pot
            },
            features: KitchenFeatures::new(facts, tables),
            targets,
            params,
        })
    }

    fn start(&self, _tables: &Tables, draws: &mut Draws) -> Extra {
        let count = self.targets.len() as u32;
        let target = match draws {
            _ if count == 0 => 0,
            Draws::Xoshiro(rng) => rng.below(count),
            // CoGrid draws it from a generator that no seed fixes; its own generator must not be touched.
            Draws::Numpy(generator) => generator.clone().integers(u64::from(count)) as u32,
        };
        Extra {
            target: target as u8,
            ..Extra::default()
        }
    }

    fn valid(&self, tables: &Tables, state: &State<Extra>) -> bool {
        check::check_state(self, tables, state)
    }

    fn is_declared(&self) -> bool {
        self.plain && !self.ticks
    }

    #[inline]
    fn tick(
        &self,
        tables: &Tables,
        state: &mut State<Extra>,
        random: &mut StepDraws,
        pay: &mut Pay<'_>,
    ) {
        if V::V2 && state.steps == 0 && tables.is_cogrid() {
            tick::lose_timers(tables, state);
        }
        if self.ticks {
            tick::tick_kitchen(self, tables, state, random, pay);
        }
    }

    #[inline]
    fn earn(
        &self,
        tables: &Tables,
        state: &mut State<Extra>,
        did: &Interaction,
        pay: &mut Pay<'_>,
    ) {
        if self.plain {
            pay.declared(tables, did);
        } else {
            earn::pay_act(self, tables, state, did, pay);
        }
    }

    fn reward_bounds(&self, tables: &Tables, reward: usize) -> Option<[f64; 2]> {
        let paid = self.params.rewards.get(reward)?;
        Some(earn::reward_bounds(paid, tables))
    }

    fn feature(&self, tables: &Tables, name: &str) -> Option<OwnFeature> {
        self.features.find(tables, name)
    }

    /// Shares, and by the rules of CoGrid in the view how many of each ingredient.
    fn feature_range(&self, tables: &Tables, name: &str) -> Option<[f32; 2]> {
        let counts = tables.is_cogrid() && name == "local_view";
        Some([0.0, if counts { kinds::SOUP_SIZE.into() } else { 1.0 }])
    }

    fn features() -> &'static [&'static str] {
        &features::NAMES
    }

    fn observe(
        &self,
        tables: &Tables,
        state: &State<Extra>,
        name: &str,
        seat: usize,
        out: &mut [f32],
    ) {
        let now = now(&state.extra);
        self.features.write(tables, state, &now, (name, seat), out);
    }

    /// Nothing but the buttons of the second version is toggled.
    fn is_of_use(&self, motion: Motion) -> bool {
        V::V2 || motion != Motion::Toggle
    }

    fn draw(&self, tables: &Tables, state: &State<Extra>, out: &mut DrawList) {
        draw::draw_kitchen(self, tables, state, out);
    }

    fn describe(&self, tables: &Tables, state: &State<Extra>, seat: usize, out: &mut String) {
        describe::describe_kitchen(self, tables, state, seat, out);
    }
}

/// The rules of kitchens by CoGrid: deliveries that count for orders, buttons, and pay for attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CogridKitchen;

impl<V: Variant> CogridRules<Cooking<V>> for CogridKitchen {
    fn act(
        world: &Cooking<V>,
        tables: &Tables,
        state: &mut State<Extra>,
        seat: usize,
        cell: u16,
        motion: Motion,
    ) -> bool {
        tick::act_cogrid(world, tables, state, seat, cell, motion)
    }

    fn earn(
        world: &Cooking<V>,
        tables: &Tables,
        state: &mut State<Extra>,
        sights: &[Sight],
        before: &Extra,
        pay: &mut Pay<'_>,
    ) {
        earn::earn_cogrid(world, tables, state, sights, before, pay);
    }
}
