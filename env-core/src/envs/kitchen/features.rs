//! The features that only kitchens have: items, orders, layouts, masks of kitchen things, the wanted soup.
//!
//! Source: CoGrid 0.3.2, `envs/overcooked/features.py`.

use alloc::format;
use alloc::vec::Vec;

use super::MAX_ORDERS;
use crate::grid::observe::{ingredients, made_values};
use crate::grid::state::State;
use crate::grid::tables::Hand;
use crate::grid::{ContainerSet, EMPTY, KindId, KindSet, OwnFeature, Tables, ViewWindow};

/// The names of the features.
pub(crate) const NAMES: [&str; 6] = [
    "closest_objects",
    "environment_layout",
    "layout_id",
    "object_type_masks",
    "order_observation",
    "overcooked_inventory",
];
/// Source: CoGrid 0.3.2, `envs/overcooked/features.py:461`.
const ITEMS: [&str; 5] = ["onion", "onion_soup", "plate", "tomato", "tomato_soup"];
/// Source: CoGrid 0.3.2, `envs/overcooked/features.py:611`.
const MASKS: [&str; 10] = [
    "counter",
    "delivery_zone",
    "onion",
    "onion_soup",
    "onion_stack",
    "plate",
    "plate_stack",
    "tomato",
    "tomato_soup",
    "tomato_stack",
];
/// Source: CoGrid 0.3.2, `envs/overcooked/features.py:773`.
const GROUND: [&str; 6] = [
    "counter",
    "pot",
    "onion",
    "plate",
    "onion_stack",
    "plate_stack",
];
/// Source: CoGrid 0.3.2, `envs/overcooked/features.py:199`.
const CLOSEST: [&str; 7] = [
    "counter",
    "delivery_zone",
    "onion",
    "onion_soup",
    "onion_stack",
    "plate",
    "plate_stack",
];
/// Rows and columns of CoGrid's masks, of its `environment_layout`, and its layouts.
const COGRID_MASK: [usize; 2] = [7, 11];
const COGRID_GROUND: [usize; 2] = [11, 7];
const COGRID_LAYOUTS: u8 = 7;
/// The number of pots in CoGrid's features.
const COGRID_POTS: usize = 2;
/// The orders that CoGrid shows of a kitchen that has none: places and recipes.
const COGRID_ORDERS: [usize; 2] = [3, 2];
/// The ingredients of CoGrid's view, in the order of their channels.
const COGRID_INGREDIENTS: [&str; 4] = ["onion", "tomato", "broccoli", "mushroom"];

/// Facts of a kitchen, fixed by its parameters; missing facts stay at their default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KitchenFacts {
    /// Index of the layout, below `layouts`.
    pub layout: u8,
    /// Number of layouts to distinguish; CoGrid knows 7.
    pub layouts: u8,
    /// Kinds that `overcooked_inventory` distinguishes, in order; empty for CoGrid's five.
    pub items: Vec<KindId>,
    /// The most orders at a time, 0 to [`MAX_ORDERS`]; 0 for a kitchen without orders.
    pub orders: u8,
    /// Number of recipes that an order chooses from.
    pub recipes: u8,
    /// Steps that a new order has.
    pub time_limit: u16,
    /// Soups of which one is wanted at a time; empty for a kitchen that wants any.
    pub targets: Vec<KindId>,
    /// Kinds that always show which soup is wanted; a switch shows it while it is lit.
    pub indicators: KindSet,
    /// Rows and columns that `local_view` sees in each direction; `None` for the whole grid.
    pub view_radius: Option<u8>,
}

/// An order as the features show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShownOrder {
    /// Index of the recipe, below [`KitchenFacts::recipes`].
    pub recipe: u8,
    /// Steps left.
    pub left: u16,
}

/// The part of a kitchen's state that is not in its grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KitchenNow {
    /// The orders by their places; `None` in a free place.
    pub orders: [Option<ShownOrder>; MAX_ORDERS],
    /// Index into [`KitchenFacts::targets`].
    pub target: u8,
    /// True if soup was delivered in the last step.
    pub delivered: bool,
}

/// The features of a kitchen, with their tables.
#[derive(Clone, Debug)]
pub(crate) struct KitchenFeatures {
    facts: KitchenFacts,
    window: ViewWindow,
    /// Ingredients in the channels of the view.
    ingredients: Vec<KindId>,
    /// Composition of each soup that may be wanted: on a plate, cooked, its ingredients.
    targets: Vec<Vec<f32>>,
    switches: KindSet,
    sinks: KindSet,
}

impl KitchenFeatures {
    pub(crate) fn new(facts: KitchenFacts, tables: &Tables) -> Self {
        let ingredients = match tables.is_cogrid() {
            // CoGrid: an ingredient that the world does not have counts the empty slots.
            true => COGRID_INGREDIENTS
                .iter()
                .map(|name| tables.id(name).unwrap_or(EMPTY))
                .collect(),
            false => ingredients(tables),
        };
        let (made, row) = (made_values(tables, &ingredients), 2 + ingredients.len());
        let of = |wanted: fn(&Hand) -> bool| {
            let hands = tables.hands.iter().enumerate();
            let found = hands.filter(|(_, hand)| wanted(hand));
            found.fold(KindSet::default(), |set, (kind, _)| {
                set.with(kind as KindId)
            })
        };
        Self {
            window: ViewWindow::new(tables, facts.view_radius),
            ingredients,
            targets: facts
                .targets
                .iter()
                .map(|&soup| made[usize::from(soup) * row..][..row].into())
                .collect(),
            switches: of(|hand| matches!(hand, Hand::Switch(_))),
            sinks: of(|hand| matches!(hand, Hand::Sink(_))),
            facts,
        }
    }

    /// The feature with a name, if it is one of a kitchen.
    pub(crate) fn find(&self, tables: &Tables, name: &str) -> Option<OwnFeature> {
        let found = match name {
            "overcooked_inventory" if !self.facts.items.is_empty() => {
                Ok(OwnFeature::Held(self.facts.items.clone()))
            }
            "overcooked_inventory" => find_kinds(tables, &ITEMS).map(OwnFeature::Held),
            "closest_objects" => find_kinds(tables, &CLOSEST).map(OwnFeature::Closest),
            "next_to_pot" if tables.is_cogrid() => {
                cogrid_pots(tables).map(OwnFeature::ContainersBeside)
            }
            "ordered_pot_features" if tables.is_cogrid() => {
                cogrid_pots(tables).map(OwnFeature::Containers)
            }
            "object_type_masks" => masks(tables, &MASKS, COGRID_MASK, true),
            "environment_layout" => masks(tables, &GROUND, COGRID_GROUND, false),
            "layout_id" => self.layout(tables),
            "order_observation" => self.orders(tables),
            "local_view" => Ok(OwnFeature::View {
                ingredients: self.ingredients.clone(),
                channels: self.view_channels(tables),
            }),
            _ => return None,
        };
        Some(found.unwrap_or_else(|refused| refused))
    }

    fn layout(&self, tables: &Tables) -> Result<OwnFeature, OwnFeature> {
        let layouts = match tables.is_cogrid() {
            true => COGRID_LAYOUTS,
            false => self.facts.layouts,
        };
        if self.facts.layout >= layouts {
            let reason = "tells known layouts apart, and this is none of them: take it out";
            return Err(OwnFeature::Refused(reason.into()));
        }
        Ok(OwnFeature::OneOf {
            index: self.facts.layout,
            len: layouts,
        })
    }

    fn orders(&self, tables: &Tables) -> Result<OwnFeature, OwnFeature> {
        // CoGrid: a kitchen without orders shows empty ones.
        if self.facts.orders == 0 && !tables.is_cogrid() {
            let reason = "is about orders, and there are none: take it out, or add orders";
            return Err(OwnFeature::Refused(reason.into()));
        }
        let [places, recipes] = self.shown_orders();
        Ok(OwnFeature::Grid([places as u32, recipes as u32 + 1].into()))
    }

    /// Places and recipes of `order_observation`.
    fn shown_orders(&self) -> [usize; 2] {
        match self.facts.orders {
            0 => COGRID_ORDERS,
            orders => [
                usize::from(orders).min(MAX_ORDERS),
                self.facts.recipes.into(),
            ],
        }
    }

    /// The channels of the wanted soup and of a delivery.
    fn view_channels(&self, tables: &Tables) -> usize {
        match tables.is_cogrid() || !self.targets.is_empty() {
            true => 2 + self.ingredients.len() + 1,
            false => 0,
        }
    }

    /// Writes a feature as seen from a seat.
    pub(crate) fn write<X>(
        &self,
        tables: &Tables,
        state: &State<X>,
        now: &KitchenNow,
        (name, seat): (&str, usize),
        out: &mut [f32],
    ) {
        match name {
            "order_observation" => self.write_orders(now, out),
            "local_view" => self.write_view(tables, state, now, seat, out),
            _ => {}
        }
    }

    /// For each place a value for each recipe, and the share of the time that is left.
    fn write_orders(&self, now: &KitchenNow, out: &mut [f32]) {
        let [_, recipes] = self.shown_orders();
        let time_limit = f32::from(self.facts.time_limit.max(1));
        for (out, order) in out.chunks_exact_mut(recipes + 1).zip(&now.orders) {
            out.fill(0.0);
            let Some(order) = order else {
                continue;
            };
            if let Some(recipe) = out[..recipes].get_mut(usize::from(order.recipe)) {
                *recipe = 1.0;
            }
            out[recipes] = f32::from(order.left) / time_limit;
        }
    }

    /// On indicators and lit switches the composition of the wanted soup; on sinks whether soup was delivered.
    fn write_view<X>(
        &self,
        tables: &Tables,
        state: &State<X>,
        now: &KitchenNow,
        seat: usize,
        out: &mut [f32],
    ) {
        let [rows, cols] = self.window.size();
        let (len, own) = (out.len() / (rows * cols), self.view_channels(tables));
        let target = self.targets.get(usize::from(now.target));
        let place = |cell: u16| {
            let (row, col) = tables.column_and_row(cell);
            [row as i32, col as i32]
        };
        let center = place(state.agents[seat].cell);
        for (cell, &kind) in (0..).zip(state.kinds(tables)) {
            let (shows, sinks) = (self.shows(tables, state, cell, kind), self.sinks.has(kind));
            if !shows && !sinks {
                continue;
            }
            let Some(at) = self.window.place_of(center, place(cell)) else {
                continue;
            };
            let out = &mut out[(at + 1) * len - own..(at + 1) * len];
            if let (true, Some(target)) = (shows, target) {
                out[..own - 1].copy_from_slice(target);
            }
            if sinks {
                out[own - 1] = f32::from(u8::from(now.delivered));
            }
        }
    }

    /// Checks whether a cell shows which soup is wanted.
    fn shows<X>(&self, tables: &Tables, state: &State<X>, cell: u16, kind: KindId) -> bool {
        if !self.switches.has(kind) || self.facts.indicators.has(kind) {
            return self.facts.indicators.has(kind);
        }
        if tables.is_cogrid() {
            // CoGrid: a switch is lit while its cell shows a number.
            return state.value(tables, cell) > 0;
        }
        let switch = state.fixture_in(tables, cell);
        switch.is_some_and(|index| state.fixture(tables, index).timer() > 0)
    }
}

/// The kinds with these names, or the refusal of a feature that is about them.
fn find_kinds(tables: &Tables, names: &[&str]) -> Result<Vec<KindId>, OwnFeature> {
    let find = |name: &&str| {
        tables.id(name).ok_or_else(|| {
            OwnFeature::Refused(format!(
                "is about the kind `{name}`, which this world does not have: take the feature out, or declare the kind"
            ))
        })
    };
    names.iter().map(find).collect()
}

/// Finds the pots in CoGrid's features.
fn cogrid_pots(tables: &Tables) -> Result<ContainerSet, OwnFeature> {
    let kinds = find_kinds(tables, &["pot"])?.into_iter();
    Ok(ContainerSet {
        kinds: kinds.fold(KindSet::default(), KindSet::with),
        count: COGRID_POTS,
        ingredients: find_kinds(tables, &["onion", "tomato"])?,
    })
}

fn masks(
    tables: &Tables,
    names: &[&str],
    cogrid: [usize; 2],
    lying: bool,
) -> Result<OwnFeature, OwnFeature> {
    Ok(OwnFeature::Masks {
        kinds: find_kinds(tables, names)?,
        cogrid,
        lying,
    })
}
