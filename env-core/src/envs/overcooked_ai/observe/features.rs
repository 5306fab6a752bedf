//! Observations as lists of numbers.

use super::super::ground::Tile;
use super::super::state::{Cook, Item, Pot};
use super::Scene;
use super::distance::Distances;

/// The number of pots in the 96 numbers.
const POTS: usize = 2;

/// Writes numbers one after the other.
struct Writer<'a, 'b> {
    scene: &'a Scene<'b>,
    distances: &'a Distances,
    out: &'a mut [f32],
    at: usize,
}

impl Writer<'_, '_> {
    fn put(&mut self, value: f32) {
        if let Some(place) = self.out.get_mut(self.at) {
            *place = value;
        }
        self.at += 1;
    }

    fn flag(&mut self, holds: bool) {
        self.put(if holds { 1.0 } else { 0.0 });
    }

    /// Writes where a cell is, as seen from another.
    fn delta(&mut self, from: u16, to: Option<u16>) {
        let ground = self.scene.ground;
        let [x, y] = to.map_or([0.0; 2], |to| {
            let (from, to) = (ground.column_and_row(from), ground.column_and_row(to));
            [0, 1].map(|axis| to[axis] as f32 - from[axis] as f32)
        });
        self.put(x);
        self.put(y);
    }

    fn place(&mut self, cell: u16) {
        for at in self.scene.ground.column_and_row(cell) {
            self.put(at as f32 - self.scene.kitchen.margin as f32);
        }
    }

    fn closest(&mut self, cook: &Cook, cells: impl Iterator<Item = u16>) -> Option<u16> {
        let nearest = self.distances.nearest_cell(cook, cells);
        self.delta(cook.cell, nearest);
        nearest
    }

    fn direction(&mut self, cook: &Cook) {
        (0..4).for_each(|way| self.flag(cook.facing == way));
    }

    fn walls(&mut self, cook: &Cook) {
        let ground = self.scene.ground;
        for way in 0..4 {
            let beside = ground.cell_beside(cook.cell, way);
            self.flag(beside.is_none_or(|cell| ground.tile(cell) != Tile::Floor));
        }
    }
}

/// Checks whether a thing is of the kind of another, whatever is in a soup.
fn is_like(item: Item, kind: Item) -> bool {
    core::mem::discriminant(&item) == core::mem::discriminant(&kind)
}

/// The cells where a thing can be taken: dispensers in reading order, then counters in the order of putting down.
fn sources(scene: &Scene<'_>, tile: Tile, kind: Item) -> impl Iterator<Item = u16> {
    let lying = scene.state.lying.iter();
    let lying = lying.filter(move |lying| is_like(lying.item, kind));
    scene
        .ground
        .cells_of(tile)
        .chain(lying.map(|lying| lying.cell))
}

/// The cells with a soup.
fn soups(scene: &Scene<'_>) -> impl Iterator<Item = u16> {
    let lying = scene.state.lying.iter();
    let lying = lying.filter(|lying| matches!(lying.item, Item::Soup(_)));
    lying.map(|lying| lying.cell)
}

/// 46 numbers of every cook, oneself first; then where the others are, and where oneself is.
///
/// Source: `overcooked-ai` 1.1.0, `featurize_state`.
pub(super) fn features(scene: &Scene<'_>, distances: &Distances, out: &mut [f32]) {
    let mut writer = Writer {
        scene,
        distances,
        out,
        at: 0,
    };
    let own = &scene.state.cooks[scene.seat];
    writer.cook(own);
    scene.others().for_each(|cook| writer.cook(cook));
    for cook in scene.others() {
        writer.delta(own.cell, Some(cook.cell));
    }
    writer.place(own.cell);
}

impl Writer<'_, '_> {
    fn cook(&mut self, cook: &Cook) {
        let scene = self.scene;
        self.direction(cook);
        let soup = Item::Soup(Default::default());
        for kind in [Item::Onion, soup, Item::Dish, Item::Tomato] {
            self.flag(is_like(cook.held, kind));
        }
        for (tile, kind) in [
            (Tile::Onions, Item::Onion),
            (Tile::Tomatoes, Item::Tomato),
            (Tile::Dishes, Item::Dish),
        ] {
            match is_like(cook.held, kind) {
                true => self.delta(cook.cell, None),
                false => drop(self.closest(cook, sources(scene, tile, kind))),
            }
        }
        let contents = match cook.held {
            Item::Soup(contents) => {
                self.delta(cook.cell, None);
                contents
            }
            _ => {
                let nearest = self.closest(cook, soups(scene));
                match nearest.map(|cell| scene.state.item_on(cell)) {
                    Some(Item::Soup(contents)) => contents,
                    _ => Default::default(),
                }
            }
        };
        self.put(f32::from(contents.onions));
        self.put(f32::from(contents.tomatoes));
        self.closest(cook, scene.ground.cells_of(Tile::Serving));
        let is_free = |&cell: &u16| scene.state.item_on(cell) == Item::Nothing;
        self.closest(cook, scene.ground.cells_of(Tile::Counter).filter(is_free));
        let mut told = [None; POTS];
        for number in 0..POTS {
            let rest = scene.ground.pots.iter().copied();
            let rest = rest.filter(|&cell| !told[..number].contains(&Some(cell)));
            told[number] = self.distances.nearest_cell(cook, rest);
            self.pot(cook, told[number]);
        }
        self.walls(cook);
    }

    fn pot(&mut self, cook: &Cook, cell: Option<u16>) {
        let scene = self.scene;
        let found = cell.and_then(|cell| scene.ground.pot_at(cell));
        let Some(pot) = found.and_then(|pot| scene.state.pots.get(pot)) else {
            (0..10).for_each(|_| self.put(0.0));
            return;
        };
        let recipes = &scene.kitchen.recipes;
        let left = pot
            .tick()
            .map(|tick| recipes.time(pot.contents).saturating_sub(tick));
        self.put(1.0);
        self.flag(pot.contents.count() == 0);
        self.flag(left.is_some() || pot.contents.count() >= recipes.full);
        self.flag(left.is_some_and(|left| left > 0));
        self.flag(left == Some(0));
        self.put(f32::from(pot.contents.onions));
        self.put(f32::from(pot.contents.tomatoes));
        self.put(f32::from(left.unwrap_or(0)));
        self.delta(cook.cell, cell);
    }

    /// The 29 numbers of a cook. Pots with one and with two onions are never found: they are looked up by names
    /// that no pot has.
    fn cook_2019(&mut self, cook: &Cook) {
        let scene = self.scene;
        let kitchen = scene.kitchen;
        let pots = |wanted: fn(&Pot, u16) -> bool| {
            let pots = scene.ground.pots.iter().zip(&scene.state.pots);
            let wanted =
                pots.filter(move |(_, pot)| wanted(pot, kitchen.recipes.time(pot.contents)));
            wanted.map(|(&cell, _)| cell)
        };
        self.direction(cook);
        let soup = Item::Soup(Default::default());
        for kind in [Item::Onion, soup, Item::Dish] {
            self.flag(is_like(cook.held, kind));
        }
        match cook.held {
            Item::Onion => self.delta(cook.cell, None),
            _ => drop(self.closest(cook, sources(scene, Tile::Onions, Item::Onion))),
        }
        self.closest(cook, pots(|pot, _| pot.contents.count() == 0));
        self.delta(cook.cell, None);
        self.delta(cook.cell, None);
        self.closest(
            cook,
            pots(|pot, time| pot.tick().is_some_and(|tick| tick < time)),
        );
        self.closest(
            cook,
            pots(|pot, time| pot.tick().is_some_and(|tick| tick >= time)),
        );
        match cook.held {
            Item::Dish => self.delta(cook.cell, None),
            _ => drop(self.closest(cook, sources(scene, Tile::Dishes, Item::Dish))),
        }
        match cook.held {
            Item::Soup(_) => self.delta(cook.cell, None),
            _ => drop(self.closest(cook, soups(scene))),
        }
        self.closest(cook, scene.ground.cells_of(Tile::Serving));
        self.walls(cook);
    }
}

/// 29 numbers of oneself, 29 of the other, where the other is, and, for both, where cook 0 is.
///
/// Source: overcooked_ai at the tag `neurips2019`, `featurize_state`.
pub(super) fn features_2019(scene: &Scene<'_>, distances: &Distances, out: &mut [f32]) {
    let mut writer = Writer {
        scene,
        distances,
        out,
        at: 0,
    };
    let own = &scene.state.cooks[scene.seat];
    writer.cook_2019(own);
    scene.others().for_each(|cook| writer.cook_2019(cook));
    for cook in scene.others() {
        writer.delta(own.cell, Some(cook.cell));
    }
    writer.place(scene.state.cooks[0].cell);
}
