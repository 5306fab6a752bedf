//! A step: interacts, then movement, then the pots.
//!
//! Source: `overcooked-ai` 1.1.0 and `overcooked` 0.2.1, `get_state_transition`; JaxMARL 0.2.0, `step_agents`;
//! overcooked_ai at the tag `neurips2019`; ZSC-Eval f940869. Differences among them are marked.

use core::hint::select_unpredictable;

use super::events::{self, DELIVERY, Pots, Potting};
use super::ground::{KitchenGround, Tile};
use super::kitchen::Kitchen;
use super::params::Dialect;
use super::state::{Cook, Item, Lying, State};
use crate::contract::{Action, StepEvent, StepOutcome};

/// The action that does nothing.
pub const STAY: Action = 4;
/// The action that acts on the cell ahead.
pub const INTERACT: Action = 5;

/// Names of the parts of a reward.
pub const COMPONENTS: [&str; 4] = ["delivery", "placement", "dish", "soup"];
const PLACEMENT: usize = 1;
const DISH: usize = 2;
const SOUP: usize = 3;

/// A step in progress: its rules, and the outcome that it writes.
pub(super) struct Stepping<'a> {
    pub(super) rules: Dialect,
    pub(super) kitchen: &'a Kitchen,
    pub(super) ground: &'a KitchenGround,
    pub(super) shaping: f32,
    pub(super) outcome: &'a mut StepOutcome,
}

impl Stepping<'_> {
    /// Advances a state.
    pub(super) fn run(&mut self, state: &mut State, actions: &[Action]) {
        let mut pots = None;
        let action = |seat: usize| match actions.get(seat) {
            Some(&action) if action <= INTERACT => action,
            _ => STAY,
        };
        for seat in 0..state.cooks.len() {
            if action(seat) == INTERACT {
                // As they are before anyone acts.
                let recipes = &self.kitchen.recipes;
                let pots = pots.get_or_insert_with(|| Pots::count(&state.pots, recipes));
                self.interact(state, seat, *pots);
            }
        }
        self.walk(state, action);
        state.steps += 1;
        self.cook(state);
    }

    fn happens(&mut self, seat: usize, kind: u16, value: f32) {
        self.outcome.events.push(StepEvent {
            kind,
            seat: seat as u8,
            to: None,
            value,
        });
    }

    fn note(&mut self, seat: usize, kinds: [Option<u16>; 2]) {
        for kind in kinds.into_iter().flatten() {
            self.happens(seat, kind, 0.0);
        }
    }

    fn earn(&mut self, cooks: usize, seat: usize, component: usize, amount: f32) {
        let names = COMPONENTS.len();
        self.outcome.components.resize(cooks * names, 0.0);
        let add = |sum: &mut f32| *sum = (*sum + amount).clamp(f32::MIN, f32::MAX);
        add(&mut self.outcome.components[seat * names + component]);
        add(&mut self.outcome.rewards[seat]);
    }

    fn shape(&mut self, state: &State, seat: usize, component: usize) {
        let shaped = self.kitchen.shaped;
        let amount = [0.0, shaped.placement, shaped.dish, shaped.soup][component] * self.shaping;
        if amount != 0.0 {
            self.earn(state.cooks.len(), seat, component, amount);
        }
    }

    /// Carries out the interact of a cook, as the cooks before it left everything.
    fn interact(&mut self, state: &mut State, seat: usize, pots: Pots) {
        let Cook { cell, facing, held } = state.cooks[seat];
        let ahead = self.ground.cell_ahead(cell, facing);
        let tile = self.ground.tile(ahead);
        match (tile, held) {
            (Tile::Counter, Item::Nothing) => {
                let item = state.item_on(ahead);
                self.note(seat, events::picked_up(state, pots, seat, item));
                state.cooks[seat].held = state.take(ahead);
            }
            (Tile::Counter, item) if state.item_on(ahead) == Item::Nothing => {
                self.note(seat, events::put_down(state, pots, seat, item));
                state.cooks[seat].held = Item::Nothing;
                state.lying.push(Lying { cell: ahead, item });
            }
            (Tile::Onions | Tile::Tomatoes | Tile::Dishes, Item::Nothing) => {
                let item = events::dispensed_item(tile);
                // A tomato from its dispenser is no event.
                if tile != Tile::Tomatoes {
                    self.note(seat, events::picked_up(state, pots, seat, item));
                }
                if tile == Tile::Dishes && events::is_dish_paid(self.rules, state, pots) {
                    self.shape(state, seat, DISH);
                }
                state.cooks[seat].held = item;
            }
            (Tile::Pot, _) => {
                if let Some(pot) = self.ground.pot_at(ahead) {
                    self.use_pot(state, seat, pot, pots);
                }
            }
            (Tile::Serving, Item::Soup(contents)) => {
                let points = self.kitchen.recipes.points(contents);
                state.cooks[seat].held = Item::Nothing;
                state.score = state.score.saturating_add(points as i64);
                self.happens(seat, DELIVERY, points);
                let cooks = state.cooks.len();
                for paid in 0..cooks {
                    self.earn(cooks, paid, 0, points);
                }
            }
            _ => {}
        }
    }

    fn use_pot(&mut self, state: &mut State, seat: usize, number: usize, pots: Pots) {
        let Some(pot) = state.pots.get(number).copied() else {
            return;
        };
        let recipes = &self.kitchen.recipes;
        let is_onion = state.cooks[seat].held == Item::Onion;
        match state.cooks[seat].held {
            Item::Nothing => {
                let is_idle = pot.clock == 0 && pot.contents.count() > 0;
                if is_idle && self.rules.starts_by_interact() {
                    state.pots[number].clock = 1;
                }
            }
            Item::Dish => {
                let time = recipes.time(pot.contents);
                if pot.tick().is_some_and(|tick| tick >= time) {
                    let soup = Item::Soup(pot.contents);
                    self.note(seat, events::picked_up(state, pots, seat, soup));
                    state.cooks[seat].held = soup;
                    state.pots[number] = super::state::Pot::default();
                    self.shape(state, seat, SOUP);
                }
            }
            Item::Onion | Item::Tomato => {
                let mut contents = pot.contents;
                let (own, other) = match is_onion {
                    true => (&mut contents.onions, contents.tomatoes),
                    false => (&mut contents.tomatoes, contents.onions),
                };
                let mixes = other > 0 && self.rules == Dialect::Neurips2019;
                if pot.clock > 0 || pot.contents.count() >= recipes.full || mixes {
                    return;
                }
                *own += 1;
                let potting = Potting::judge(self.rules, recipes, pot.contents, contents);
                let is_full = contents.count() == recipes.full;
                state.cooks[seat].held = Item::Nothing;
                state.pots[number].contents = contents;
                // These rules count the steps of a pot from the moment in which it is full.
                let at_once = self.rules.is_onions_only() || self.rules == Dialect::Neurips2019;
                if is_full && at_once {
                    state.pots[number].clock = 1;
                }
                if self.rules != Dialect::Zsc || potting.is_optimal || potting.is_viable {
                    self.shape(state, seat, PLACEMENT);
                }
                for kind in potting.events(is_onion) {
                    self.happens(seat, kind, 0.0);
                }
            }
            _ => {}
        }
    }

    /// Moves the cooks at the same time: each turns, and all stay where they are if two of them collide or swap.
    ///
    /// People and learning agents are hard to predict: their ways are selected, not branched on.
    fn walk(&self, state: &mut State, action: impl Fn(usize) -> Action) {
        let mut targets = [0; super::ground::MOST_COOKS];
        for (seat, (cook, target)) in state.cooks.iter_mut().zip(&mut targets).enumerate() {
            let turns = action(seat) < STAY;
            cook.facing = select_unpredictable(turns, action(seat) as u8, cook.facing);
            let ahead = self.ground.cell_ahead(cook.cell, cook.facing);
            let walks = turns & (self.ground.tile(ahead) == Tile::Floor);
            *target = select_unpredictable(walks, ahead, cook.cell);
        }
        let mut collide = false;
        for (one, (cook, &target)) in state.cooks.iter().zip(&targets).enumerate() {
            for (other, &second) in state.cooks[..one].iter().zip(&targets) {
                let swap = (target == other.cell) & (second == cook.cell);
                collide |= (target == second) | swap;
            }
        }
        for (cook, &target) in state.cooks.iter_mut().zip(&targets) {
            cook.cell = select_unpredictable(collide, cook.cell, target);
        }
    }

    /// Lets the pots cook.
    fn cook(&self, state: &mut State) {
        let recipes = &self.kitchen.recipes;
        for pot in &mut state.pots {
            if self.rules == Dialect::Old && pot.clock == 0 && pot.contents.count() == 3 {
                pot.clock = 1;
            }
            if pot
                .tick()
                .is_some_and(|tick| tick < recipes.time(pot.contents))
            {
                pot.clock += 1;
            }
        }
    }
}

/// The actions that have an effect for a cook, a bit each.
///
/// Source: ZSC-Eval f940869, `_get_available_actions`.
pub(super) fn mask(
    rules: Dialect,
    kitchen: &Kitchen,
    ground: &KitchenGround,
    state: &State,
    seat: usize,
) -> u64 {
    let Some(&Cook { cell, facing, held }) = state.cooks.get(seat) else {
        return u64::MAX;
    };
    let ahead = ground.cell_ahead(cell, facing);
    let tile = ground.tile(ahead);
    let is_empty = held == Item::Nothing;
    let acts = match tile {
        Tile::Floor | Tile::Wall => false,
        Tile::Counter => is_empty != (state.item_on(ahead) == Item::Nothing),
        Tile::Onions | Tile::Tomatoes | Tile::Dishes => is_empty,
        Tile::Serving => matches!(held, Item::Soup(_)),
        Tile::Pot if is_empty => {
            let pot = ground.pot_at(ahead).and_then(|pot| state.pots.get(pot));
            let waits = pot.is_some_and(|pot| {
                let is_ready = pot
                    .tick()
                    .is_some_and(|tick| tick >= kitchen.recipes.time(pot.contents));
                pot.contents.count() > 0 && !is_ready
            });
            rules.starts_by_interact() && waits
        }
        Tile::Pot => !matches!(held, Item::Soup(_)),
    };
    let mut mask = (1 << (INTERACT + 1)) - 1;
    if tile != Tile::Floor {
        mask &= !(1 << facing);
    }
    if !acts {
        mask &= !(1 << INTERACT);
    }
    mask
}
