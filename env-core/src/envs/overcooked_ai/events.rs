//! The events of a step, and the tests that they depend on.
//!
//! Source: `overcooked-ai` 1.1.0, `overcooked_mdp.py`: `EVENT_TYPES`, `log_object_*`, `is_*_useful`, `is_potting_*`.

use super::ground::Tile;
use super::params::Dialect;
use super::recipes::Recipes;
use super::state::{Item, Pot, Recipe, State};

/// The names of the events.
pub const EVENTS: [&str; 25] = [
    "tomato_pickup",
    "useful_tomato_pickup",
    "tomato_drop",
    "useful_tomato_drop",
    "potting_tomato",
    "onion_pickup",
    "useful_onion_pickup",
    "onion_drop",
    "useful_onion_drop",
    "potting_onion",
    "dish_pickup",
    "useful_dish_pickup",
    "dish_drop",
    "useful_dish_drop",
    "soup_pickup",
    "soup_delivery",
    "soup_drop",
    "optimal_onion_potting",
    "optimal_tomato_potting",
    "viable_onion_potting",
    "viable_tomato_potting",
    "catastrophic_onion_potting",
    "catastrophic_tomato_potting",
    "useless_onion_potting",
    "useless_tomato_potting",
];

/// The event of a soup that is delivered.
pub(super) const DELIVERY: u16 = 15;
const POTTING: [u16; 2] = [9, 4];
const JUDGED: [u16; 4] = [17, 19, 21, 23];

/// The number of pots of each kind.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pots {
    all: usize,
    /// Pots that are ready or cook.
    busy: usize,
    /// Pots that do not cook and have room, but are not empty.
    begun: usize,
    /// Pots that take nothing more.
    full: usize,
}

impl Pots {
    pub(super) fn count(pots: &[Pot], recipes: &Recipes) -> Self {
        let mut counted = Self {
            all: pots.len(),
            ..Self::default()
        };
        for pot in pots {
            let (cooks, count) = (pot.clock > 0, pot.contents.count());
            let is_full = cooks || count >= recipes.full;
            counted.busy += usize::from(cooks);
            counted.full += usize::from(is_full);
            counted.begun += usize::from(!is_full && count > 0);
        }
        counted
    }
}

/// Checks whether a dish is needed.
pub(super) fn is_dish_useful(state: &State, pots: Pots) -> bool {
    state.cooks.len() == 2 && wants_dish(state, pots.busy + pots.begun)
}

/// Checks whether a dish that is taken from the dispenser is paid for.
///
/// Source: the originals; JaxMARL looks at the pots of the moment, and CEC takes walls for plates.
pub(super) fn is_dish_paid(rules: Dialect, state: &State, pots: Pots) -> bool {
    match rules {
        Dialect::New | Dialect::Old | Dialect::Zsc => is_dish_useful(state, pots),
        Dialect::Neurips2019 => wants_dish(state, pots.busy + pots.begun),
        Dialect::Jaxmarl => {
            let filled = |pot: &&Pot| pot.contents.count() > 0;
            wants_dish(state, state.pots.iter().filter(filled).count())
        }
        Dialect::Cec => false,
    }
}

/// Checks that no dish lies around, and that fewer dishes are in hands than pots need.
fn wants_dish(state: &State, pots: usize) -> bool {
    let lies = state.lying.iter().any(|lying| lying.item == Item::Dish);
    let held = state.cooks.iter().filter(|cook| cook.held == Item::Dish);
    !lies && held.count() < pots
}

/// Checks whether the other one of two cooks holds a thing.
fn other_holds(state: &State, seat: usize, item: Item) -> bool {
    state.cooks[1 - seat].held == item
}

/// The events of a thing that is taken from a dispenser, a counter or a pot.
pub(super) fn picked_up(state: &State, pots: Pots, seat: usize, item: Item) -> [Option<u16>; 2] {
    let two = state.cooks.len() == 2;
    let (kind, is_useful) = match item {
        Item::Nothing => return [None; 2],
        Item::Soup(_) => return [Some(14), None],
        Item::Dish => (10, is_dish_useful(state, pots)),
        Item::Onion | Item::Tomato => {
            let is_needed = || pots.all != pots.full || other_holds(state, seat, Item::Dish);
            (if item == Item::Onion { 5 } else { 0 }, two && is_needed())
        }
    };
    [Some(kind), is_useful.then_some(kind + 1)]
}

/// The events of a thing that is put on a counter.
pub(super) fn put_down(state: &State, pots: Pots, seat: usize, item: Item) -> [Option<u16>; 2] {
    let two = state.cooks.len() == 2;
    let (kind, is_useful) = match item {
        Item::Nothing => return [None; 2],
        Item::Soup(_) => return [Some(16), None],
        Item::Dish => {
            let helps = || pots.full == 0 && !other_holds(state, seat, Item::Onion);
            (12, two && helps())
        }
        Item::Onion | Item::Tomato => {
            let helps = || pots.all == pots.full && !other_holds(state, seat, Item::Dish);
            (if item == Item::Onion { 7 } else { 2 }, two && helps())
        }
    };
    [Some(kind), is_useful.then_some(kind + 1)]
}

/// The effect of an ingredient on the possible soups of a pot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Potting {
    /// The best soup is worth the same as before.
    pub(super) is_optimal: bool,
    /// A soup with points can still be made.
    pub(super) is_viable: bool,
    is_catastrophic: bool,
    is_useless: bool,
}

impl Potting {
    pub(super) fn judge(rules: Dialect, recipes: &Recipes, from: Recipe, to: Recipe) -> Self {
        let [old, new] = [from, to].map(|recipe| recipes.best_value(recipe));
        let is_lost = |points: f32| match rules {
            Dialect::Zsc => points <= 0.0,
            _ => points == 0.0,
        };
        Self {
            is_optimal: old == new,
            is_viable: new > 0.0,
            is_catastrophic: old > 0.0 && is_lost(new),
            is_useless: is_lost(old),
        }
    }

    /// The events of an ingredient that is put into a pot.
    pub(super) fn events(self, is_onion: bool) -> impl Iterator<Item = u16> {
        let shift = u16::from(!is_onion);
        let holds = [
            self.is_optimal,
            self.is_viable,
            self.is_catastrophic,
            self.is_useless,
        ];
        let judged = JUDGED.into_iter().zip(holds);
        let judged = judged.filter_map(move |(kind, holds)| holds.then_some(kind + shift));
        core::iter::once(POTTING[usize::from(shift)]).chain(judged)
    }
}

/// The thing that a dispenser gives.
pub(super) fn dispensed_item(tile: Tile) -> Item {
    match tile {
        Tile::Onions => Item::Onion,
        Tile::Tomatoes => Item::Tomato,
        Tile::Dishes => Item::Dish,
        _ => Item::Nothing,
    }
}
