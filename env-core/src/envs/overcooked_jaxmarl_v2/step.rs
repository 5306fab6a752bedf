//! One step: everybody moves, then hands act in the order of seats, then the clocks run.
//!
//! Source: JaxMARL 0.2.0, `step_agents` and `process_interact` in `overcooked_v2/overcooked.py`.

use alloc::vec;
use alloc::vec::Vec;

use super::items::{self, COOKED, FULL, PLATE};
use super::kitchen::{Kitchen, Tile};
use super::params::Params;
use super::state::{Cook, State};
use super::{BUTTON_PART, DELIVERY_PART, INTERACT, SHAPED_PART};
use crate::contract::{Action, Spec, StepEvent, StepOutcome};

/// Steps that a pot cooks.
pub(super) const COOK_TIME: u8 = 20;
/// Steps that a button shows the recipe.
pub(super) const BUTTON_TIME: u8 = 10;
/// Points for the wanted soup.
pub(super) const DELIVERY_POINTS: f32 = 20.0;
/// Points that a button costs.
pub(super) const BUTTON_COST: f32 = 5.0;

/// An event, in the order of [`super::EVENTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Happening {
    Delivery,
    WrongDelivery,
    Button,
    Placement,
    CookingStart,
    DishPickup,
    PlatePickup,
}

impl Happening {
    /// The shaped reward.
    ///
    /// Source: JaxMARL 0.2.0, `SHAPED_REWARDS` in `overcooked_v2/settings.py`.
    fn shaped(self) -> f32 {
        match self {
            Self::Placement | Self::PlatePickup => 3.0,
            Self::CookingStart | Self::DishPickup => 5.0,
            Self::Delivery | Self::WrongDelivery | Self::Button => 0.0,
        }
    }
}

/// A step in the making.
pub(super) struct Stepping<'a> {
    pub kitchen: &'a Kitchen,
    pub params: &'a Params,
    pub spec: &'a Spec,
    pub outcome: &'a mut StepOutcome,
}

impl Stepping<'_> {
    /// Makes the step.
    pub(super) fn run(&mut self, state: &mut State, actions: &[Action]) {
        let action = |seat: usize| actions.get(seat).copied().unwrap_or(super::STAY);
        walk(self.kitchen, &mut state.cooks, action);
        let plates = state.cooks.iter().filter(|cook| cook.held == PLATE);
        let plates = plates.count();
        state.delivered = false;
        let recipe = state.recipe;
        for seat in 0..state.cooks.len() {
            if action(seat) == INTERACT {
                self.interact(state, seat, recipe, plates);
            }
        }
        run_clocks(self.kitchen, state);
        let next = state.next.take();
        if state.delivered && self.params.sample_recipe_on_delivery {
            state.recipe = next.unwrap_or_else(|| state.draw_recipe(self.kitchen));
        }
        state.steps += 1;
    }

    /// The hands of a cook at the cell in front of it; `plates` were in hands before anybody acted.
    fn interact(&mut self, state: &mut State, seat: usize, recipe: u32, plates: usize) {
        let Cook { cell, facing, held } = state.cooks[seat];
        let (front, stays) = self.kitchen.reach_cell(cell, facing);
        let before = state.cells[usize::from(front)];
        let (mut after, mut hand) = (before, held);
        let is_empty = held == 0;
        match self.kitchen.tiles[usize::from(front)] {
            Tile::Floor | Tile::Indicator => {}
            Tile::Counter if is_empty != (before.items == 0) => {
                (after.items, hand) = (held, before.items);
            }
            Tile::Counter => {}
            Tile::Plates if is_empty => hand = PLATE,
            Tile::Pile(number) if is_empty => hand = items::ingredient_bits(number),
            Tile::Plates | Tile::Pile(_) => {}
            Tile::Goal if held & COOKED != 0 => {
                hand = 0;
                self.deliver(state, seat, held == items::plated_recipe(recipe));
            }
            Tile::Goal => {}
            Tile::Button if is_empty => {
                after.timer = BUTTON_TIME;
                self.earn(state, seat, Happening::Button, -BUTTON_COST, BUTTON_PART);
            }
            Tile::Button => {}
            Tile::Pot if before.timer > 0 => {}
            Tile::Pot if before.items & COOKED != 0 => {
                if held == PLATE {
                    (after.items, hand) = (0, before.items + held);
                    if hand == items::plated_recipe(recipe) {
                        self.shape(seat, Happening::DishPickup);
                    }
                }
            }
            Tile::Pot => (after, hand) = self.fill(seat, before, held, recipe),
        }
        if hand == PLATE && is_empty && self.is_plate_useful(state, plates) {
            self.shape(seat, Happening::PlatePickup);
        }
        if stays {
            state.cells[usize::from(front)] = after;
        }
        state.cooks[seat].held = hand;
    }

    /// Puts an ingredient into a pot that does not cook, or starts it.
    fn fill(
        &mut self,
        seat: usize,
        before: super::Cell,
        held: u32,
        recipe: u32,
    ) -> (super::Cell, u32) {
        let (mut after, mut hand) = (before, held);
        if items::is_ingredient(held) && items::count(before.items) != FULL {
            (after.items, hand) = (before.items + held, 0);
            let of_it = held | held << 1;
            if before.items & of_it < recipe & of_it {
                self.shape(seat, Happening::Placement);
            }
        }
        if !self.params.start_cooking_interaction {
            if items::count(after.items) == FULL {
                after.timer = COOK_TIME;
            }
        } else if held == 0 && before.items != 0 {
            after.timer = COOK_TIME;
            if before.items == recipe {
                self.shape(seat, Happening::CookingStart);
            }
        }
        (after, hand)
    }

    /// Checks whether a taken plate is paid: no plate lies around, and hands have fewer plates than there are pots with
    /// contents.
    fn is_plate_useful(&self, state: &State, plates: usize) -> bool {
        let cells = state.cells.iter().zip(&self.kitchen.tiles);
        let pots = cells.filter(|(cell, tile)| **tile == Tile::Pot && cell.items != 0);
        plates < pots.count() && state.cells.iter().all(|cell| cell.items != PLATE)
    }

    fn deliver(&mut self, state: &mut State, seat: usize, is_wanted: bool) {
        if is_wanted {
            state.delivered = true;
            self.earn(
                state,
                seat,
                Happening::Delivery,
                DELIVERY_POINTS,
                DELIVERY_PART,
            );
        } else {
            let cost = if self.params.negative_rewards {
                -DELIVERY_POINTS
            } else {
                0.0
            };
            self.earn(state, seat, Happening::WrongDelivery, cost, DELIVERY_PART);
        }
    }

    /// Points for everybody.
    fn earn(&mut self, state: &mut State, seat: usize, what: Happening, points: f32, part: usize) {
        self.happen(seat, what, points);
        state.score += points as i64;
        for everybody in 0..state.cooks.len() {
            self.outcome.earn(self.spec, everybody, part, points);
        }
    }

    /// Shaped reward for one cook.
    fn shape(&mut self, seat: usize, what: Happening) {
        self.happen(seat, what, what.shaped());
        if self.params.shaping != 0.0 {
            let points = self.params.shaping * what.shaped();
            self.outcome.earn(self.spec, seat, SHAPED_PART, points);
        }
    }

    fn happen(&mut self, seat: usize, what: Happening, value: f32) {
        self.outcome.events.push(StepEvent {
            kind: what as u16,
            seat: seat as u8,
            to: None,
            value,
        });
    }
}

/// Moves and turns all cooks at the same time.
fn walk(kitchen: &Kitchen, cooks: &mut [Cook], action: impl Fn(usize) -> Action) {
    let before: Vec<u16> = cooks.iter().map(|cook| cook.cell).collect();
    for (seat, cook) in cooks.iter_mut().enumerate() {
        if let Some(direction) = super::direction(action(seat)) {
            cook.facing = direction;
            let next = kitchen.step_from(cook.cell, direction);
            if kitchen.tiles[usize::from(next)] == Tile::Floor {
                cook.cell = next;
            }
        }
    }
    // Cooks who share a cell go back, until nobody does: a cook who goes back may be in the way of another.
    loop {
        let shares = |seat: usize| {
            let mut others = (0..cooks.len()).filter(|&other| other != seat);
            others.any(|other| cooks[other].cell == cooks[seat].cell)
        };
        let back: Vec<usize> = (0..cooks.len()).filter(|&seat| shares(seat)).collect();
        if back.is_empty() {
            break;
        }
        back.into_iter()
            .for_each(|seat| cooks[seat].cell = before[seat]);
    }
    let mut swapped = vec![false; cooks.len()];
    for (one, two) in (0..cooks.len()).flat_map(|two| (0..two).map(move |one| (one, two))) {
        if cooks[one].cell == before[two] && cooks[two].cell == before[one] {
            (swapped[one], swapped[two]) = (true, true);
        }
    }
    for (seat, _) in swapped.iter().enumerate().filter(|(_, swapped)| **swapped) {
        cooks[seat].cell = before[seat];
    }
}

/// The clocks of pots and buttons.
fn run_clocks(kitchen: &Kitchen, state: &mut State) {
    for (cell, tile) in state.cells.iter_mut().zip(&kitchen.tiles) {
        if cell.timer > 0 {
            cell.timer -= 1;
            if *tile == Tile::Pot && cell.timer == 0 {
                cell.items |= COOKED;
            }
        }
    }
}
