//! Observations as maps with channels.

use super::super::ground::Tile;
use super::super::state::{Item, Recipe};
use super::Scene;

/// A map in the making.
struct Canvas<'a> {
    out: &'a mut [f32],
    channels: usize,
    /// Values from a column to the next, and from a row to the next.
    strides: [usize; 2],
    cols: usize,
    /// Cells of the ring around the ground.
    margin: usize,
    /// Columns and rows without the ring.
    sides: [usize; 2],
    factor: f32,
}

impl<'a> Canvas<'a> {
    fn new(scene: &Scene<'_>, channels: usize, factor: f32, out: &'a mut [f32]) -> Self {
        let margin = scene.kitchen.margin;
        let sides = [scene.ground.cols, scene.ground.rows].map(|side| side - 2 * margin);
        Self {
            strides: [sides[1] * channels, channels],
            cols: scene.ground.cols,
            out,
            channels,
            margin,
            sides,
            factor,
        }
    }

    /// The same with rows before columns, of this many columns.
    fn by_rows(mut self, cols: usize) -> Self {
        self.strides = [self.channels, cols * self.channels];
        self
    }

    fn add(&mut self, cell: u16, channel: usize, value: f32) {
        let cell = usize::from(cell);
        let place = [cell % self.cols, cell / self.cols].map(|at| at.wrapping_sub(self.margin));
        if place[0] < self.sides[0] && place[1] < self.sides[1] {
            let at = place[0] * self.strides[0] + place[1] * self.strides[1] + channel;
            if let Some(value_there) = self.out.get_mut(at) {
                *value_there += value * self.factor;
            }
        }
    }

    fn fill(&mut self, channel: usize) {
        let cells = self.out.chunks_exact_mut(self.channels);
        cells.for_each(|cell| cell[channel] = self.factor);
    }

    /// Channels 0 to 9: where the cooks are, and which way they look.
    fn cooks(&mut self, scene: &Scene<'_>) {
        let own = &scene.state.cooks[scene.seat];
        self.add(own.cell, 0, 1.0);
        self.add(own.cell, 2 + usize::from(own.facing), 1.0);
        for other in scene.others() {
            self.add(other.cell, 1, 1.0);
            self.add(other.cell, 6 + usize::from(other.facing), 1.0);
        }
    }

    /// The tiles that have a channel.
    fn tiles(&mut self, scene: &Scene<'_>, channel: impl Fn(Tile) -> Option<usize>) {
        for (cell, &tile) in (0..).zip(scene.ground.tiles()) {
            if let Some(channel) = channel(tile) {
                self.add(cell, channel, 1.0);
            }
        }
    }

    fn recipe(&mut self, cell: u16, channel: usize, recipe: Recipe) {
        self.add(cell, channel, f32::from(recipe.onions));
        self.add(cell, channel + 1, f32::from(recipe.tomatoes));
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

/// The 26 channels.
///
/// Source: `overcooked-ai` 1.1.0, `lossless_state_encoding`.
pub(super) fn lossless(scene: &Scene<'_>, factor: f32, out: &mut [f32]) {
    with_tomatoes(scene, Canvas::new(scene, 26, factor, out), Some(21));
}

/// The 25 channels, without the soups that are done.
///
/// Source: ZSC-Eval f940869, `lossless_state_encoding` and `featurize_fn`.
pub(super) fn zsc_eval(scene: &Scene<'_>, out: &mut [f32]) {
    with_tomatoes(scene, Canvas::new(scene, 25, 255.0, out), None);
}

fn with_tomatoes(scene: &Scene<'_>, mut canvas: Canvas<'_>, done: Option<usize>) {
    let loose = done.map_or(21, |done| done + 1);
    canvas.cooks(scene);
    canvas.tiles(scene, terrain);
    if scene.urgent {
        canvas.fill(loose + 3);
    }
    for (&cell, pot) in scene.ground.pots.iter().zip(&scene.state.pots) {
        match pot.tick() {
            None => canvas.recipe(cell, 16, pot.contents),
            Some(tick) => {
                let left = scene
                    .kitchen
                    .recipes
                    .time(pot.contents)
                    .saturating_sub(tick);
                canvas.recipe(cell, 18, pot.contents);
                canvas.add(cell, 20, f32::from(left));
                if let (Some(done), 0) = (done, left) {
                    canvas.add(cell, done, 1.0);
                }
            }
        }
    }
    for (cell, item) in scene.state.items() {
        match item {
            Item::Nothing => {}
            Item::Dish => canvas.add(cell, loose, 1.0),
            Item::Onion => canvas.add(cell, loose + 1, 1.0),
            Item::Tomato => canvas.add(cell, loose + 2, 1.0),
            Item::Soup(contents) => {
                canvas.recipe(cell, 18, contents);
                if let Some(done) = done {
                    canvas.add(cell, done, 1.0);
                }
            }
        }
    }
}

/// JaxMARL's 26 channels, `[row, column, channel]`; in a square of this side, the rest is wall.
///
/// Source: JaxMARL 0.2.0, `get_obs`; crossEnvCooperation 71ed348, `make_9x9_layout`.
pub(super) fn jaxmarl(scene: &Scene<'_>, square: Option<usize>, out: &mut [f32]) {
    let canvas = Canvas::new(scene, 26, 1.0, out);
    let [cols, rows] = canvas.sides;
    let side = square.unwrap_or(cols);
    let mut canvas = canvas.by_rows(side);
    if let Some(side) = square {
        for (at, cell) in canvas.out.chunks_exact_mut(26).enumerate() {
            if at % side >= cols || at / side >= rows {
                cell[11] = 1.0;
            }
        }
    }
    canvas.cooks(scene);
    canvas.tiles(scene, terrain);
    if scene.urgent {
        canvas.fill(25);
    }
    for (&cell, pot) in scene.ground.pots.iter().zip(&scene.state.pots) {
        let onions = f32::from(pot.contents.onions);
        match pot.tick() {
            None => canvas.add(cell, 16, onions),
            Some(tick) => {
                let left = scene
                    .kitchen
                    .recipes
                    .time(pot.contents)
                    .saturating_sub(tick);
                canvas.add(cell, 18, onions);
                canvas.add(cell, 20, f32::from(left));
                canvas.add(cell, 21, if left == 0 { 1.0 } else { 0.0 });
            }
        }
    }
    // A counter with something on it is no wall.
    for lying in &scene.state.lying {
        canvas.add(lying.cell, 11, -1.0);
    }
    for (cell, item) in scene.state.items() {
        match item {
            Item::Nothing | Item::Tomato => {}
            Item::Dish => canvas.add(cell, 22, 1.0),
            Item::Onion => canvas.add(cell, 23, 1.0),
            Item::Soup(contents) => {
                canvas.add(cell, 18, f32::from(contents.onions));
                canvas.add(cell, 21, 1.0);
            }
        }
    }
}

/// Writes the 20 channels. While a cook holds a thing of a kind, things of that kind in the kitchen are left out:
/// there, the things in hands replace the others.
///
/// Source: overcooked_ai at the tag `neurips2019`, `lossless_state_encoding` and `all_objects_by_type`.
pub(super) fn neurips2019(scene: &Scene<'_>, factor: f32, out: &mut [f32]) {
    let mut canvas = Canvas::new(scene, 20, factor, out);
    canvas.cooks(scene);
    canvas.tiles(scene, |tile| {
        Some(match tile {
            Tile::Floor | Tile::Wall | Tile::Tomatoes => return None,
            Tile::Pot => 10,
            Tile::Counter => 11,
            Tile::Onions => 12,
            Tile::Dishes => 13,
            Tile::Serving => 14,
        })
    });
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
            canvas.add(cell, 15, f32::from(pot.contents.onions));
            canvas.add(cell, 16, f32::from(pot.tick().unwrap_or(0)));
        }
    }
    for lying in &scene.state.lying {
        if let Some(kind) = channel(lying.item).filter(|&kind| !is_held(kind)) {
            canvas.add(lying.cell, kind, 1.0);
        }
    }
    for cook in cooks {
        if let Some(kind) = channel(cook.held) {
            canvas.add(cook.cell, kind, 1.0);
        }
    }
}
