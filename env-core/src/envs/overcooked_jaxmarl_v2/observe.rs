//! The observation: a stack of layers over the kitchen, or over the part that a cook sees.
//!
//! Source: JaxMARL 0.2.0, `get_obs_default` in `overcooked_v2/overcooked.py`.

use super::items::{self, COOKED, PLATE};
use super::kitchen::{Kitchen, Tile};
use super::params::Params;
use super::state::{Cook, State};

/// Layers that do not depend on the number of ingredients: place and direction of the cook and of the others, six
/// kinds of things, the clock of pots, and a plate and a cook's mark in each of four groups of items.
const FIXED: usize = 25;

/// Rows, columns and layers.
pub(super) fn shape(kitchen: &Kitchen, params: &Params) -> [usize; 3] {
    let ingredients = usize::from(kitchen.ingredients);
    let layers = FIXED + 5 * ingredients + usize::from(params.indicate_successful_delivery);
    match params.view_radius {
        Some(radius) => {
            let side = 2 * usize::from(radius) + 1;
            [side, side, layers]
        }
        None => [kitchen.rows, kitchen.cols, layers],
    }
}

/// The layers of one cell, filled from the first on.
struct Layers<'a> {
    out: &'a mut [f32],
    at: usize,
    ingredients: u8,
}

impl Layers<'_> {
    fn put(&mut self, value: impl Into<f32>) {
        self.out[self.at] = value.into();
        self.at += 1;
    }

    fn put_flag(&mut self, flag: bool) {
        self.put(u8::from(flag));
    }

    /// An item: plate, cooked, and the count of each ingredient.
    fn put_item(&mut self, item: u32) {
        self.put_flag(item & PLATE != 0);
        self.put_flag(item & COOKED != 0);
        for ingredient in 0..self.ingredients {
            self.put(items::count_of(item, ingredient) as u8);
        }
    }

    /// A cook that stands here, or nobody.
    fn put_cook(&mut self, cook: Option<&Cook>) {
        self.put_flag(cook.is_some());
        for direction in 0..4 {
            self.put_flag(cook.is_some_and(|cook| cook.facing == direction));
        }
        self.put_item(cook.map_or(0, |cook| cook.held));
    }
}

/// Writes the observation of a seat.
pub(super) fn observe(
    kitchen: &Kitchen,
    params: &Params,
    state: &State,
    seat: usize,
    out: &mut [f32],
) {
    let [rows, cols, layers] = shape(kitchen, params);
    let [x, y] = kitchen.place(state.cooks[seat].cell);
    let radius = params.view_radius.map(usize::from);
    for (at, out) in out.chunks_exact_mut(layers).enumerate().take(rows * cols) {
        let (row, col) = (at / cols, at % cols);
        let inside = match radius {
            Some(radius) => place(kitchen, row + y, col + x, radius),
            None => Some(at),
        };
        match inside {
            Some(cell) => write(kitchen, params, state, seat, cell, out),
            None => out.fill(0.0),
        }
    }
}

/// The cell at a row and column that count from a corner this many cells outside of the kitchen.
fn place(kitchen: &Kitchen, row: usize, col: usize, outside: usize) -> Option<usize> {
    let (row, col) = (row.checked_sub(outside)?, col.checked_sub(outside)?);
    (row < kitchen.rows && col < kitchen.cols).then_some(row * kitchen.cols + col)
}

fn write(
    kitchen: &Kitchen,
    params: &Params,
    state: &State,
    seat: usize,
    at: usize,
    out: &mut [f32],
) {
    let (tile, cell) = (kitchen.tiles[at], state.cells[at]);
    let is_here = |cook: &&Cook| usize::from(cook.cell) == at;
    let own = Some(&state.cooks[seat]).filter(is_here);
    let other = state.cooks.iter().find(is_here).filter(|_| own.is_none());
    let mut layers = Layers {
        out,
        at: 0,
        ingredients: kitchen.ingredients,
    };
    layers.put_cook(own);
    layers.put_cook(other);
    for kind in [
        Tile::Counter,
        Tile::Goal,
        Tile::Pot,
        Tile::Indicator,
        Tile::Button,
        Tile::Plates,
    ] {
        layers.put_flag(tile == kind);
    }
    for ingredient in 0..kitchen.ingredients {
        layers.put_flag(tile == Tile::Pile(ingredient));
    }
    layers.put_item(cell.items);
    layers.put_item(if shows_recipe(tile, cell.timer) {
        state.recipe
    } else {
        0
    });
    layers.put(if tile == Tile::Pot { cell.timer } else { 0 });
    if params.indicate_successful_delivery {
        layers.put_flag(tile == Tile::Goal && state.delivered);
    }
}

/// Checks whether a thing shows the wanted recipe.
pub(super) fn shows_recipe(tile: Tile, timer: u8) -> bool {
    tile == Tile::Indicator || tile == Tile::Button && timer > 0
}
