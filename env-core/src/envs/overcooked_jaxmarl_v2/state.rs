//! States: cooks, cells, the wanted recipe.

use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::items::{self, COOKED, FULL, PLATE};
use super::kitchen::{Kitchen, Tile};
use super::params::Params;
use super::step::{BUTTON_TIME, COOK_TIME};
use crate::rng::Rng;

/// A cook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cook {
    /// Its cell.
    pub cell: u16,
    /// Its direction: 0 up, 1 down, 2 right, 3 left.
    pub facing: u8,
    /// The item in its hands, 0 for nothing.
    pub held: u32,
}

/// A cell: the thing there or in its pot, and the clock of its pot or button.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// The item, 0 for nothing.
    pub items: u32,
    /// Steps until the pot is ready, or until the button goes dark.
    pub timer: u8,
}

/// The state of a kitchen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Steps so far.
    pub steps: u32,
    /// The cooks, by seat.
    pub cooks: Vec<Cook>,
    /// The cells, row-major.
    pub cells: Vec<Cell>,
    /// The wanted recipe.
    pub recipe: u32,
    /// True if the wanted soup was delivered in the last step.
    pub delivered: bool,
    /// Points so far.
    pub score: i64,
    /// The recipe that is wanted after a delivery in the next step, if it is given and not drawn.
    pub next: Option<u32>,
    /// The random generator.
    pub rng: Rng,
}

/// A draw from weighted choices, in hundredths.
fn choose(rng: &mut Rng, weights: [u32; 4]) -> usize {
    let mut left = rng.below(weights.iter().sum());
    for (choice, weight) in weights.into_iter().enumerate() {
        if left < weight {
            return choice;
        }
        left -= weight;
    }
    0
}

impl State {
    /// The first state of a seed.
    pub(super) fn start(kitchen: &Kitchen, params: &Params, seed: u64) -> Self {
        let cook = |&cell: &u16| Cook {
            cell,
            facing: 0,
            held: 0,
        };
        let mut state = Self {
            steps: 0,
            cooks: kitchen.starts.iter().map(cook).collect(),
            cells: vec![Cell::default(); kitchen.cells()],
            recipe: 0,
            delivered: false,
            score: 0,
            next: None,
            rng: Rng::new(seed),
        };
        state.recipe = state.draw_recipe(kitchen);
        if params.random_reset || params.random_agent_positions {
            state.scatter_cooks(kitchen);
        }
        if params.random_reset {
            state.scatter_items(kitchen, params);
        }
        state
    }

    /// Draws one of the recipes.
    pub(super) fn draw_recipe(&mut self, kitchen: &Kitchen) -> u32 {
        let count = kitchen.recipes.len() as u32;
        kitchen.recipes[self.rng.below(count) as usize]
    }

    /// Puts each cook somewhere in its part of the kitchen, in seat order.
    fn scatter_cooks(&mut self, kitchen: &Kitchen) {
        for seat in 0..self.cooks.len() {
            let part = kitchen.part(kitchen.starts[seat]);
            let is_free = |&cell: &u16| {
                kitchen.part(cell) == part
                    && self.cooks[..seat].iter().all(|other| other.cell != cell)
            };
            let free: Vec<u16> = (0..kitchen.cells() as u16).filter(is_free).collect();
            let cook = &mut self.cooks[seat];
            cook.cell = free[self.rng.below(free.len() as u32) as usize];
            cook.facing = self.rng.below(4) as u8;
        }
    }

    /// Puts something into hands and pots, and onto counters.
    ///
    /// Source: JaxMARL 0.2.0, `_randomize_state`: the same chances, from another generator.
    fn scatter_items(&mut self, kitchen: &Kitchen, params: &Params) {
        for seat in 0..self.cooks.len() {
            self.cooks[seat].held = self.draw_item(kitchen, [50, 10, 25, 15]);
        }
        for (cell, tile) in kitchen.tiles.iter().enumerate() {
            match tile {
                Tile::Counter => self.cells[cell].items = self.draw_item(kitchen, [50, 10, 30, 10]),
                Tile::Pot => self.cells[cell] = self.draw_pot(kitchen, params),
                _ => {}
            }
        }
    }

    /// Nothing, a plate, an ingredient or a soup of one of the recipes.
    fn draw_item(&mut self, kitchen: &Kitchen, chances: [u32; 4]) -> u32 {
        match choose(&mut self.rng, chances) {
            0 => 0,
            1 => PLATE,
            2 => items::ingredient_bits(self.rng.below(kitchen.ingredients.into()) as u8),
            _ => items::plated_recipe(self.draw_recipe(kitchen)),
        }
    }

    /// A pot that is empty, filled, cooking or ready.
    fn draw_pot(&mut self, kitchen: &Kitchen, params: &Params) -> Cell {
        let count = u32::from(kitchen.ingredients);
        let mut drawn = [0; 3];
        drawn
            .iter_mut()
            .for_each(|one| *one = items::ingredient_bits(self.rng.below(count) as u8));
        let part: u32 = drawn[..1 + self.rng.below(3) as usize].iter().sum();
        let full = if params.start_cooking_interaction {
            part
        } else {
            drawn.iter().sum()
        };
        let timer = 1 + self.rng.below(COOK_TIME.into()) as u8;
        let (items, timer) = match choose(&mut self.rng, [40, 35, 15, 10]) {
            0 => (0, 0),
            1 => (part, 0),
            2 => (full, timer),
            _ => (full | COOKED, 0),
        };
        Cell { items, timer }
    }

    /// Checks whether it is a state of a kitchen.
    pub(super) fn is_valid(&self, kitchen: &Kitchen, params: &Params) -> bool {
        let count = kitchen.ingredients;
        let cook = |(seat, cook): (usize, &Cook)| {
            usize::from(cook.cell) < kitchen.cells()
                && kitchen.tiles[usize::from(cook.cell)] == Tile::Floor
                && cook.facing < 4
                && items::is_carried(cook.held, count)
                && self.cooks[..seat]
                    .iter()
                    .all(|other| other.cell != cook.cell)
        };
        let cell = |(cell, tile): (&Cell, &Tile)| match tile {
            Tile::Counter => cell.timer == 0 && items::is_carried(cell.items, count),
            Tile::Pot => {
                let is_ready = cell.items & COOKED != 0;
                items::is_in_pot(cell.items, count)
                    && cell.timer <= COOK_TIME
                    && (cell.timer == 0
                        || !is_ready && (1..=FULL).contains(&items::count(cell.items)))
            }
            Tile::Button => cell.items == 0 && cell.timer < BUTTON_TIME,
            _ => *cell == Cell::default(),
        };
        let is_recipe = |recipe: &u32| kitchen.recipes.contains(recipe);
        self.steps <= params.horizon
            && self.cooks.len() == kitchen.starts.len()
            && self.cooks.iter().enumerate().all(cook)
            && self.cells.len() == kitchen.cells()
            && self.cells.iter().zip(&kitchen.tiles).all(cell)
            && is_recipe(&self.recipe)
            && self.next.as_ref().is_none_or(is_recipe)
            && self.score.unsigned_abs() <= u64::from(u32::MAX) * 320
    }
}
