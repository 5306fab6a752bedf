//! The observation: a stack of layers over the kitchen, or over the part that a cook sees.
//!
//! The values of the tiles are laid out once, and copied. Then cooks, things and clocks are written.
//!
//! Source: JaxMARL 0.2.0, `get_obs_default` in `overcooked_v2/overcooked.py`.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::items::{self, COOKED, PLATE};
use super::kitchen::{Kitchen, Tile};
use super::params::Params;
use super::state::{Cook, State};
use crate::observer::{Marker, Trail};
use crate::value::{Forms, Value};

/// Layers that do not depend on the number of ingredients: place and direction of the cook and of the others, six
/// kinds of things, the clock of pots, and a plate and a cook's mark in each of four groups of items.
pub(super) const FIXED: usize = 25;
/// Layers of a cook before its item: place and direction.
pub(super) const COOK: usize = 5;
/// Tiles with a layer, in their order; the piles come after them.
pub(super) const TILES: [Tile; 6] = [
    Tile::Counter,
    Tile::Goal,
    Tile::Pot,
    Tile::Indicator,
    Tile::Button,
    Tile::Plates,
];

/// The observation of a kitchen.
#[derive(Debug)]
pub(super) struct Observer {
    /// Rows, columns and layers of an observation.
    shape: [usize; 3],
    ingredients: u8,
    /// True if a layer shows deliveries.
    shows_delivery: bool,
    /// Cells that are seen in each direction; `None` for the whole kitchen.
    radius: Option<usize>,
    /// The cells that tell more than what lies there: pots, goals, indicators and buttons.
    telling: Vec<(usize, Tile)>,
    /// Column and row of each cell.
    places: Vec<[usize; 2]>,
    /// Columns of the laid out values, which reach as far beyond the kitchen as a cook sees.
    wide: usize,
    /// The values that no step changes.
    ground: Forms,
}

impl Observer {
    /// Lays out a kitchen.
    pub(super) fn new(kitchen: &Kitchen, params: &Params) -> Self {
        let radius = params.view_radius.map(usize::from);
        let layers = FIXED
            + 5 * usize::from(kitchen.ingredients)
            + usize::from(params.indicate_successful_delivery);
        let [rows, cols] = match radius {
            Some(radius) => [2 * radius + 1; 2],
            None => [kitchen.rows, kitchen.cols],
        };
        let outside = radius.unwrap_or(0);
        let wide = kitchen.cols + 2 * outside;
        let tells = |&(_, tile): &(usize, Tile)| {
            matches!(
                tile,
                Tile::Pot | Tile::Goal | Tile::Indicator | Tile::Button
            )
        };
        let mut observer = Self {
            shape: [rows, cols, layers],
            ingredients: kitchen.ingredients,
            shows_delivery: params.indicate_successful_delivery,
            radius,
            telling: kitchen
                .tiles
                .iter()
                .copied()
                .enumerate()
                .filter(tells)
                .collect(),
            places: (0..kitchen.cells() as u16)
                .map(|cell| kitchen.column_and_row(cell))
                .collect(),
            wide,
            ground: Forms::default(),
        };
        let mut values = vec![0; wide * (kitchen.rows + 2 * outside) * layers];
        for (cell, &tile) in kitchen.tiles.iter().enumerate() {
            if let Some(layer) = observer.tile_layer(tile) {
                let (row, col) = (cell / kitchen.cols + outside, cell % kitchen.cols + outside);
                values[(row * wide + col) * layers + layer] = 1;
            }
        }
        observer.ground = Forms::new(values);
        observer
    }

    /// Rows, columns and layers.
    pub(super) fn shape(&self) -> Vec<u32> {
        self.shape.iter().map(|&side| side as u32).collect()
    }

    /// Layers of an item: plate, cooked, and the count of each ingredient.
    fn item_len(&self) -> usize {
        2 + usize::from(self.ingredients)
    }

    /// The first layer of the tiles.
    fn tiles_at(&self) -> usize {
        2 * (COOK + self.item_len())
    }

    /// The layer of a tile.
    fn tile_layer(&self, tile: Tile) -> Option<usize> {
        let layer = match tile {
            Tile::Pile(ingredient) => Some(TILES.len() + usize::from(ingredient)),
            tile => TILES.iter().position(|&other| other == tile),
        };
        layer.map(|layer| self.tiles_at() + layer)
    }

    /// Number of values.
    fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Writes the observation of a seat.
    pub(super) fn observe<V: Value>(&self, state: &State, seat: usize, out: &mut [V]) {
        self.write_ground(state, seat, out);
        self.write(state, seat..seat + 1, Marker::new(out));
    }

    /// Writes the observations of all seats, one after the other.
    pub(super) fn observe_all<V: Value>(
        &self,
        state: &State,
        trail: Option<&mut Trail<V>>,
        out: &mut [V],
    ) {
        let (len, seats) = (self.len(), state.cooks.len());
        if self.radius.is_some() {
            // A cook that sees a part has another ground wherever it goes.
            let seats = out.chunks_exact_mut(len).enumerate();
            return seats.for_each(|(seat, out)| self.observe(state, seat, out));
        }
        let mut trail = Trail::worth(trail, len);
        let is_laid = match &mut trail {
            Some(trail) => trail.take_back(0, out),
            None => false,
        };
        if !is_laid {
            let seats = out.chunks_exact_mut(len).enumerate();
            seats.for_each(|(seat, out)| self.write_ground(state, seat, out));
        }
        self.write(state, 0..seats, Marker::of_all(out, trail, [0, len], seats));
    }

    /// Writes what no step changes in the cells that a seat sees.
    fn write_ground<V: Value>(&self, state: &State, seat: usize, out: &mut [V]) {
        let [rows, cols, layers] = self.shape;
        let [x, y] = self.corner(state, seat);
        let ground = V::of(&self.ground);
        for (row, out) in out.chunks_exact_mut(cols * layers).enumerate().take(rows) {
            let start = ((y + row) * self.wide + x) * layers;
            out.copy_from_slice(&ground[start..][..out.len()]);
        }
    }

    /// Column and row of the first cell that a seat sees, counted from that of the laid out values.
    fn corner(&self, state: &State, seat: usize) -> [usize; 2] {
        match self.radius {
            Some(_) => self.places[usize::from(state.cooks[seat].cell)],
            None => [0, 0],
        }
    }

    /// Writes over the ground what these seats see there; several see the same cells.
    fn write<V: Value>(&self, state: &State, seats: Range<usize>, marker: Marker<'_, V>) {
        let mut window = Window {
            observer: self,
            corner: self.corner(state, seats.start),
            marker,
        };
        window.put_things(state);
        for (number, seat) in seats.enumerate() {
            let own = state.cooks[seat];
            window.marker.turn_to(number);
            window.put_cook(&own, 0);
            for (other, cook) in state.cooks.iter().enumerate() {
                let is_here = |there: &Cook| there.cell == cook.cell;
                if other != seat && !is_here(&own) && !state.cooks[..other].iter().any(is_here) {
                    window.put_cook(cook, COOK + self.item_len());
                }
            }
        }
    }
}

/// The layers of the whole kitchen, for batches that write many observations together.
#[derive(Clone, Debug)]
pub struct KitchenLayers {
    /// Number of values.
    pub len: usize,
    /// The place of the first layer of each cell.
    pub starts: Vec<usize>,
    /// Layers of an item: plate, cooked, and the count of each ingredient.
    pub item_len: usize,
    /// Layers of a cook before its item: place and direction. Those of the cook itself come first, then those of others.
    pub cook_len: usize,
    /// The first layer of what lies there.
    pub thing: usize,
    /// The first layer of the wanted recipe, where it is shown.
    pub recipe: usize,
    /// The layer of the clock of a pot.
    pub clock: usize,
    /// The layer of a delivery at a goal, if there is one.
    pub delivery: Option<usize>,
    /// The values that no step changes.
    pub ground: Forms,
}

impl Observer {
    /// Finds the layers; `None` if each cook sees a part of the kitchen only.
    pub(super) fn find_layers(&self) -> Option<KitchenLayers> {
        if self.radius.is_some() {
            return None;
        }
        let [thing, recipe, clock] = self.things_at();
        Some(KitchenLayers {
            len: self.len(),
            starts: (0..self.places.len())
                .map(|cell| cell * self.shape[2])
                .collect(),
            item_len: self.item_len(),
            cook_len: COOK,
            thing,
            recipe,
            clock,
            delivery: self.shows_delivery.then_some(clock + 1),
            ground: self.ground.clone(),
        })
    }

    /// The first layers of what lies somewhere, of recipes that are shown, and of clocks.
    fn things_at(&self) -> [usize; 3] {
        let things = self.tiles_at() + TILES.len() + usize::from(self.ingredients);
        let recipe = things + self.item_len();
        [things, recipe, recipe + self.item_len()]
    }
}

/// The part of a kitchen that a cook sees, in the making.
struct Window<'a, V> {
    observer: &'a Observer,
    /// See [`Observer::corner`].
    corner: [usize; 2],
    marker: Marker<'a, V>,
}

impl<V: Value> Window<'_, V> {
    /// The place of the first layer of a cell, if it is seen.
    #[inline]
    fn start(&self, cell: usize) -> Option<usize> {
        let [rows, cols, layers] = self.observer.shape;
        let outside = self.observer.radius.unwrap_or(0);
        let [x, y] = *self.observer.places.get(cell)?;
        let row = (y + outside).wrapping_sub(self.corner[1]);
        let col = (x + outside).wrapping_sub(self.corner[0]);
        (row < rows && col < cols).then(|| (row * cols + col) * layers)
    }

    #[inline]
    fn put(&mut self, place: usize, value: V) {
        self.marker.change(place, |there| *there = value);
    }

    /// A cook, from a layer on.
    fn put_cook(&mut self, cook: &Cook, layer: usize) {
        if let Some(start) = self.start(cook.cell.into()) {
            let start = start + layer;
            self.put(start, V::ONE);
            self.put(start + 1 + usize::from(cook.facing), V::ONE);
            self.put_item(start + COOK, cook.held);
        }
    }

    /// Things in cells, recipes that are shown, clocks and deliveries.
    fn put_things(&mut self, state: &State) {
        let observer = self.observer;
        let [things, recipe, clock] = observer.things_at();
        for (at, cell) in state.cells.iter().enumerate() {
            if cell.items != 0
                && let Some(start) = self.start(at)
            {
                self.put_item(start + things, cell.items);
            }
        }
        for &(at, tile) in &observer.telling {
            let (Some(start), Some(cell)) = (self.start(at), state.cells.get(at)) else {
                continue;
            };
            if shows_recipe(tile, cell.timer) {
                self.put_item(start + recipe, state.recipe);
            }
            if tile == Tile::Pot && cell.timer > 0 {
                self.put(start + clock, V::whole(cell.timer.into()));
            }
            if tile == Tile::Goal && observer.shows_delivery && state.delivered {
                self.put(start + clock + 1, V::ONE);
            }
        }
    }

    /// An item: plate, cooked, and the count of each ingredient.
    #[inline]
    fn put_item(&mut self, start: usize, item: u32) {
        if item & PLATE != 0 {
            self.put(start, V::ONE);
        }
        if item & COOKED != 0 {
            self.put(start + 1, V::ONE);
        }
        if item >> 2 != 0 {
            for ingredient in 0..self.observer.ingredients {
                let place = start + 2 + usize::from(ingredient);
                self.put(place, V::whole(items::count_of(item, ingredient) as i32));
            }
        }
    }
}

/// Checks whether a thing shows the wanted recipe.
pub(super) fn shows_recipe(tile: Tile, timer: u8) -> bool {
    tile == Tile::Indicator || tile == Tile::Button && timer > 0
}
