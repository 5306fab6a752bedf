//! Observations as maps with channels.
//!
//! The values of fixed tiles are laid out once, and copied. Then cooks, pots and things are added.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::super::ground::{KitchenGround, Tile};
use super::super::kitchen::{CEC_SIDE, Kitchen};
use super::super::params::Encoding;
use super::super::state::{Item, Recipe};
use super::Scene;
use crate::observer::Marker;
use crate::value::{Forms, Value};

/// The place of a cell that no map shows.
const NOWHERE: usize = usize::MAX / 2;

/// A map of a kitchen.
#[derive(Clone, Debug)]
pub(super) struct Map {
    encoding: Encoding,
    pub(super) channels: usize,
    /// One for a flag.
    pub(super) factor: i32,
    /// For each cell of the ground, the place of its first channel.
    pub(super) starts: Vec<usize>,
    /// The values that no step changes: those of the tiles, unless each episode has its own.
    ground: Forms,
    /// The same when the end is near, for encodings that show it.
    urgent: Option<Forms>,
}

impl Map {
    /// Lays out an encoding; `None` for one that is no map.
    pub(super) fn new(kitchen: &Kitchen, encoding: Encoding) -> Option<Self> {
        let (channels, factor) = match encoding {
            Encoding::Lossless | Encoding::Jaxmarl | Encoding::Cec => (26, 1),
            Encoding::LosslessX255 => (26, 255),
            Encoding::Neurips2019 => (20, 1),
            Encoding::Neurips2019X255 => (20, 255),
            Encoding::ZscEval => (25, 255),
            Encoding::Features | Encoding::Neurips2019Features => return None,
        };
        let sides = super::sides(kitchen).map(|side| side as usize);
        let is_by_rows = encoding.is_by_rows();
        let [cols, rows] = match encoding {
            Encoding::Cec => [CEC_SIDE; 2],
            _ => sides,
        };
        let strides = match is_by_rows {
            true => [channels, cols * channels],
            false => [rows * channels, channels],
        };
        let start = |cell: usize| {
            let place = [cell % kitchen.ground.cols, cell / kitchen.ground.cols];
            let [x, y] = place.map(|at| at.wrapping_sub(kitchen.margin));
            match x < sides[0] && y < sides[1] {
                true => x * strides[0] + y * strides[1],
                false => NOWHERE,
            }
        };
        let mut map = Self {
            encoding,
            channels,
            factor,
            starts: (0..kitchen.ground.cells()).map(start).collect(),
            ground: Forms::default(),
            urgent: None,
        };
        let mut values = vec![0.0; cols * rows * channels];
        map.lay(kitchen, cols, sides, &mut values);
        map.ground = Forms::of_floats(values.clone());
        let urgent = match encoding {
            Encoding::Lossless | Encoding::LosslessX255 | Encoding::Jaxmarl | Encoding::Cec => 25,
            Encoding::ZscEval => 24,
            _ => return Some(map),
        };
        let cells = values.chunks_exact_mut(channels);
        cells.for_each(|cell| cell[urgent] = factor as f32);
        map.urgent = Some(Forms::of_floats(values));
        Some(map)
    }

    /// Writes what no step changes over zeros.
    fn lay(&self, kitchen: &Kitchen, cols: usize, sides: [usize; 2], out: &mut [f32]) {
        if self.encoding == Encoding::Cec {
            // Around the kitchen is wall.
            for (at, cell) in out.chunks_exact_mut(self.channels).enumerate() {
                if at % cols >= sides[0] || at / cols >= sides[1] {
                    cell[11] = 1.0;
                }
            }
        }
        if !kitchen.generated {
            let marker = Marker::new(out);
            Canvas { map: self, marker }.tiles(&kitchen.ground);
        }
    }

    /// Number of values.
    pub(super) fn len(&self) -> usize {
        <f32 as Value>::of(&self.ground).len()
    }

    /// Writes what no step changes.
    pub(super) fn write_ground<V: Value>(&self, urgent: bool, out: &mut [V]) {
        let ground = match &self.urgent {
            Some(near) if urgent => near,
            _ => &self.ground,
        };
        out.copy_from_slice(V::of(ground));
    }

    /// Writes over the ground what these seats see there, a map each.
    pub(super) fn write<V: Value>(
        &self,
        scene: &Scene<'_>,
        seats: Range<usize>,
        marker: Marker<'_, V>,
    ) {
        let mut canvas = Canvas { map: self, marker };
        if scene.kitchen.generated {
            canvas.tiles(scene.ground);
        }
        match self.encoding {
            Encoding::Jaxmarl | Encoding::Cec => canvas.jaxmarl(scene),
            Encoding::Neurips2019 | Encoding::Neurips2019X255 => canvas.neurips2019(scene),
            // ZSC-Eval leaves out the channel of the soups that are done.
            Encoding::ZscEval => canvas.with_tomatoes(scene, None),
            _ => canvas.with_tomatoes(scene, Some(21)),
        }
        for (number, seat) in seats.enumerate() {
            canvas.marker.turn_to(number);
            canvas.cooks(scene, seat);
        }
    }
}

/// Maps in the making.
struct Canvas<'a, V> {
    map: &'a Map,
    marker: Marker<'a, V>,
}

impl<V: Value> Canvas<'_, V> {
    #[inline]
    fn add(&mut self, cell: u16, channel: usize, value: i32) {
        if let Some(start) = self.map.starts.get(usize::from(cell)) {
            let value = V::whole(value * self.map.factor);
            self.marker.change(start + channel, |there| *there += value);
        }
    }

    /// The tiles that have a channel.
    fn tiles(&mut self, ground: &KitchenGround) {
        let channel = match self.map.encoding {
            Encoding::Neurips2019 | Encoding::Neurips2019X255 => terrain_2019,
            _ => terrain,
        };
        for (cell, &tile) in (0..).zip(ground.tiles()) {
            if let Some(channel) = channel(tile) {
                self.add(cell, channel, 1);
            }
        }
    }

    /// Channels 0 to 9: where the cooks are, and which way they look. In 2019, the other one is cook 1 for cook 0, cook 0
    /// for cook 1, and nobody for the rest.
    ///
    /// Source: overcooked_ai at the tag `neurips2019`, `process_for_player`: `1 - primary_agent_idx`.
    fn cooks(&mut self, scene: &Scene<'_>, seat: usize) {
        let is_2019 = matches!(
            self.map.encoding,
            Encoding::Neurips2019 | Encoding::Neurips2019X255
        );
        for (number, cook) in scene.state.cooks.iter().enumerate() {
            let other = usize::from(number != seat);
            if is_2019 && other == 1 && number + seat != 1 {
                continue;
            }
            self.add(cook.cell, other, 1);
            self.add(cook.cell, 2 + 4 * other + usize::from(cook.facing), 1);
        }
    }

    fn recipe(&mut self, cell: u16, channel: usize, recipe: Recipe) {
        self.add(cell, channel, recipe.onions.into());
        self.add(cell, channel + 1, recipe.tomatoes.into());
    }

    /// The 26 channels, or the 25 without the soups that are done.
    ///
    /// Source: `overcooked-ai` 1.1.0, `lossless_state_encoding`; ZSC-Eval f940869, `lossless_state_encoding` and
    /// `featurize_fn`.
    fn with_tomatoes(&mut self, scene: &Scene<'_>, done: Option<usize>) {
        let loose = done.map_or(21, |done| done + 1);
        for (&cell, pot) in scene.ground.pots.iter().zip(&scene.state.pots) {
            let Some(left) = scene.left(pot) else {
                self.recipe(cell, 16, pot.contents);
                continue;
            };
            self.recipe(cell, 18, pot.contents);
            self.add(cell, 20, left.into());
            if let (Some(done), 0) = (done, left) {
                self.add(cell, done, 1);
            }
        }
        for (cell, item) in scene.state.items() {
            match item {
                Item::Nothing => {}
                Item::Dish => self.add(cell, loose, 1),
                Item::Onion => self.add(cell, loose + 1, 1),
                Item::Tomato => self.add(cell, loose + 2, 1),
                Item::Soup(contents) => {
                    self.recipe(cell, 18, contents);
                    if let Some(done) = done {
                        self.add(cell, done, 1);
                    }
                }
            }
        }
    }

    /// JaxMARL's 26 channels, `[row, column, channel]`.
    ///
    /// Source: JaxMARL 0.2.0, `get_obs`; crossEnvCooperation 71ed348, `make_9x9_layout`.
    fn jaxmarl(&mut self, scene: &Scene<'_>) {
        for (&cell, pot) in scene.ground.pots.iter().zip(&scene.state.pots) {
            let onions = pot.contents.onions.into();
            let Some(left) = scene.left(pot) else {
                self.add(cell, 16, onions);
                continue;
            };
            self.add(cell, 18, onions);
            self.add(cell, 20, left.into());
            self.add(cell, 21, i32::from(left == 0));
        }
        // A counter with something on it is no wall.
        for lying in &scene.state.lying {
            self.add(lying.cell, 11, -1);
        }
        for (cell, item) in scene.state.items() {
            match item {
                Item::Nothing | Item::Tomato => {}
                Item::Dish => self.add(cell, 22, 1),
                Item::Onion => self.add(cell, 23, 1),
                Item::Soup(contents) => {
                    self.add(cell, 18, contents.onions.into());
                    self.add(cell, 21, 1);
                }
            }
        }
    }

    /// The 20 channels. While a cook holds a thing of a kind, things of that kind in the kitchen are left out:
    /// there, the things in hands replace the others.
    ///
    /// Source: overcooked_ai at the tag `neurips2019`, `lossless_state_encoding` and `all_objects_by_type`.
    fn neurips2019(&mut self, scene: &Scene<'_>) {
        let channel = |item: Item| match item {
            Item::Nothing | Item::Tomato => None,
            Item::Soup(_) => Some(17),
            Item::Dish => Some(18),
            Item::Onion => Some(19),
        };
        let cooks = &scene.state.cooks;
        let is_held = |kind: usize| cooks.iter().any(|cook| channel(cook.held) == Some(kind));
        if !is_held(17) {
            for (&cell, pot) in scene.ground.pots.iter().zip(&scene.state.pots) {
                self.add(cell, 15, pot.contents.onions.into());
                self.add(cell, 16, pot.tick().unwrap_or(0).into());
            }
        }
        for lying in &scene.state.lying {
            if let Some(kind) = channel(lying.item).filter(|&kind| !is_held(kind)) {
                self.add(lying.cell, kind, 1);
            }
        }
        for cook in cooks {
            if let Some(kind) = channel(cook.held) {
                self.add(cook.cell, kind, 1);
            }
        }
    }
}

/// The channels of the terrain with tomatoes.
fn terrain(tile: Tile) -> Option<usize> {
    Some(match tile {
        Tile::Floor | Tile::Wall => return None,
        Tile::Pot => 10,
        Tile::Counter => 11,
        Tile::Onions => 12,
        Tile::Tomatoes => 13,
        Tile::Dishes => 14,
        Tile::Serving => 15,
    })
}

/// The channels of the terrain of 2019.
fn terrain_2019(tile: Tile) -> Option<usize> {
    Some(match tile {
        Tile::Floor | Tile::Wall | Tile::Tomatoes => return None,
        Tile::Pot => 10,
        Tile::Counter => 11,
        Tile::Onions => 12,
        Tile::Dishes => 13,
        Tile::Serving => 14,
    })
}
