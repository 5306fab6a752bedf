//! The reader of the maps that published agents see in the kitchens of `overcooked_ai`, and the recipes there.

use env_core::Spec;

use super::view::{COLS, Chef, INGREDIENTS, Item, POTS, Pot, ROWS, Tile, View};

/// The environment with these maps.
const ID: &str = "overcooked_ai";

/// The most ingredients of a soup.
const MOST: usize = 3;

/// The maps, the most telling ones first.
const MAPS: [(&str, Form); 7] = [
    ("lossless", Form::new(26, Family::Tomatoes).done(21)),
    (
        "lossless_x255",
        Form::new(26, Family::Tomatoes).done(21).times(255.0),
    ),
    ("zsc_eval", Form::new(25, Family::Tomatoes).times(255.0)),
    ("jaxmarl", Form::new(26, Family::Jaxmarl).done(21)),
    ("cec", Form::new(26, Family::Jaxmarl).done(21)),
    ("neurips2019", Form::new(20, Family::Neurips2019)),
    (
        "neurips2019_x255",
        Form::new(20, Family::Neurips2019).times(255.0),
    ),
];

/// The order of a map's channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    /// Those of overcooked_ai, `[column, row, channel]`.
    Tomatoes,
    /// The same as `[row, column, channel]`, where a counter with something on it has no channel of its own.
    Jaxmarl,
    /// Those of 2019, `[column, row, channel]`. While somebody holds a thing of a kind, the others of that kind are left
    /// out, and with the soups the pots.
    Neurips2019,
}

/// The form of a map.
#[derive(Clone, Copy, Debug)]
struct Form {
    channels: u32,
    family: Family,
    /// The channel of soups that are done, if there is one.
    done: Option<usize>,
    /// The value of a flag.
    factor: f32,
}

impl Form {
    const fn new(channels: u32, family: Family) -> Self {
        Self {
            channels,
            family,
            done: None,
            factor: 1.0,
        }
    }

    const fn done(mut self, channel: usize) -> Self {
        self.done = Some(channel);
        self
    }

    const fn times(mut self, factor: f32) -> Self {
        self.factor = factor;
        self
    }

    /// The channels of the fixed things.
    fn tiles(self) -> &'static [(usize, Tile)] {
        match self.family {
            Family::Neurips2019 => &[
                (10, Tile::Pot),
                (11, Tile::Counter),
                (12, Tile::Onions),
                (13, Tile::Plates),
                (14, Tile::Delivery),
            ],
            _ => &[
                (10, Tile::Pot),
                (11, Tile::Counter),
                (12, Tile::Onions),
                (13, Tile::Tomatoes),
                (14, Tile::Plates),
                (15, Tile::Delivery),
            ],
        }
    }

    /// The channels of things in hands and on counters.
    fn items(self) -> [(usize, Item); 5] {
        let loose = self.done.map_or(21, |done| done + 1);
        match self.family {
            Family::Neurips2019 => [
                (17, Item::Soup),
                (18, Item::Plate),
                (19, Item::Onion),
                (19, Item::Onion),
                (19, Item::Onion),
            ],
            // A soup shows its ingredients.
            _ => [
                (18, Item::Soup),
                (19, Item::Soup),
                (loose, Item::Plate),
                (loose + 1, Item::Onion),
                (loose + 2, Item::Tomato),
            ],
        }
    }
}

/// The soups that are paid, and the steps that they cook, by onions and tomatoes.
#[derive(Clone, Debug)]
struct Recipes {
    points: [[f32; MOST + 1]; MOST + 1],
    steps: [[u8; MOST + 1]; MOST + 1],
    /// Ingredients that a pot needs to cook, and has room for.
    least: u8,
    full: u8,
}

impl Recipes {
    fn new(spec: &Spec) -> Option<Self> {
        let count = |name| Some(spec.constant(name)? as u8);
        let mut recipes = Self {
            points: [[0.0; MOST + 1]; MOST + 1],
            steps: [[0; MOST + 1]; MOST + 1],
            least: count("pot_least")?,
            full: count("pot_full")?,
        };
        for [onions, tomatoes] in pairs() {
            let value = |of: &str| spec.constant(&format!("{of}_{onions}_{tomatoes}"));
            let [row, col] = [onions, tomatoes].map(usize::from);
            if let (Some(points), Some(steps)) = (value("points"), value("steps")) {
                (recipes.points[row][col], recipes.steps[row][col]) = (points, steps as u8);
            }
        }
        Some(recipes)
    }

    fn steps(&self, contents: [u8; 2]) -> u8 {
        let [onions, tomatoes] = contents.map(|count| usize::from(count).min(MOST));
        self.steps[onions][tomatoes]
    }

    /// The ingredients still missing for the soup with the most points that can be made of some contents, with the
    /// ingredients that the kitchen `has`: of several, the one that misses least. `None` if there is none.
    fn missing(&self, contents: [u8; 2], has: [bool; 2]) -> Option<[u8; 2]> {
        let sizes = self.least.max(1)..=self.full;
        let soups = pairs().filter(|[onions, tomatoes]| sizes.contains(&(onions + tomatoes)));
        let missing = soups.filter_map(|soup| {
            let [onions, tomatoes] =
                [0, 1].map(|kind: usize| soup[kind].checked_sub(contents[kind]));
            let missing = [onions?, tomatoes?];
            let can_add = |kind: usize| missing[kind] == 0 || has[kind];
            let points = self.points[usize::from(soup[0])][usize::from(soup[1])];
            (can_add(0) && can_add(1)).then_some((points, missing))
        });
        let best = missing.min_by(|(points, missing), (other_points, other)| {
            let fewer = (missing[0] + missing[1]).cmp(&(other[0] + other[1]));
            other_points.total_cmp(points).then(fewer)
        });
        best.map(|(_, missing)| missing)
    }
}

/// Numbers of onions and tomatoes.
fn pairs() -> impl Iterator<Item = [u8; 2]> {
    let most = MOST as u8;
    (0..=most).flat_map(move |tomatoes| (0..=most - tomatoes).map(move |onions| [onions, tomatoes]))
}

/// The place of the map in the observation, and the recipes.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    form: Form,
    start: usize,
    /// Columns and rows.
    sides: [usize; 2],
    len: usize,
    recipes: Recipes,
}

impl Reader {
    /// Finds the map by its name; `None` if there is none, or the kitchen is larger than the cook's view.
    pub(super) fn new(spec: &Spec) -> Option<Self> {
        if spec.id != ID {
            return None;
        }
        let find = |(name, form): (&str, Form)| {
            let at = spec
                .observation
                .iter()
                .position(|field| field.name == name)?;
            let before = spec.observation[..at].iter();
            let start: u32 = before
                .map(|field| field.shape.iter().product::<u32>())
                .sum();
            let sides = match (form.family, spec.observation[at].shape.as_slice()) {
                (Family::Jaxmarl, &[rows, cols, channels]) if channels == form.channels => {
                    [cols, rows]
                }
                (_, &[cols, rows, channels]) if channels == form.channels => [cols, rows],
                _ => return None,
            };
            let is_small = sides[0] <= COLS as u32 && sides[1] <= ROWS as u32;
            is_small.then_some((form, start as usize, sides.map(|side| side as usize)))
        };
        let (form, start, sides) = MAPS.into_iter().find_map(find)?;
        Some(Self {
            form,
            start,
            sides,
            len: spec.observation_len(),
            recipes: Recipes::new(spec)?,
        })
    }

    /// Returns whether the map at times leaves things out.
    pub(super) fn is_partial(&self) -> bool {
        self.form.family == Family::Neurips2019
    }

    /// Reads an observation; `None` if its length is not that of the spec, or if the cook is not in it.
    pub(super) fn read(&self, seen: &[f32]) -> Option<View> {
        if seen.len() != self.len {
            return None;
        }
        let own = self.cells().find(|at| self.is_set(seen, *at, 0))?;
        let others = self.cells().filter(|at| self.is_set(seen, *at, 1));
        let others = others.map(|at| self.chef(seen, at, 6));
        let mut view = View::new(self.chef(seen, own, 2), others);
        for at in self.cells() {
            let cell = usize::from(number(at));
            let is_stood_on = self.is_set(seen, at, 0) || self.is_set(seen, at, 1);
            let mut tile = self.tile(seen, at);
            if tile != Tile::Pot && !is_stood_on {
                view.lying[cell] = self.item(seen, at);
            }
            // There is nothing on the floor of these kitchens.
            if tile == Tile::Floor && view.lying[cell].is_some() {
                tile = Tile::Counter;
            }
            view.tiles[cell] = tile;
        }
        let has = INGREDIENTS
            .map(|(item, tile)| view.tiles.contains(&tile) || view.lying.contains(&Some(item)));
        view.opening = self.recipes.missing([0; 2], has).unwrap_or_default();
        let pots = self.cells().filter(|at| self.tile(seen, *at) == Tile::Pot);
        for (slot, at) in view.pots.iter_mut().zip(pots.take(POTS)) {
            *slot = Some(self.pot(seen, at, has));
        }
        Some(view)
    }

    /// Columns and rows of all cells, in reading order.
    fn cells(&self) -> impl Iterator<Item = [usize; 2]> + use<> {
        let [cols, rows] = self.sides;
        (0..rows).flat_map(move |row| (0..cols).map(move |col| [col, row]))
    }

    /// The count in a channel of a cell.
    fn count(&self, seen: &[f32], [col, row]: [usize; 2], channel: usize) -> u8 {
        let [cols, rows] = self.sides;
        let cell = match self.form.family {
            Family::Jaxmarl => row * cols + col,
            _ => col * rows + row,
        };
        let at = self.start + cell * self.form.channels as usize + channel;
        (seen[at] / self.form.factor) as u8
    }

    fn is_set(&self, seen: &[f32], at: [usize; 2], channel: usize) -> bool {
        self.count(seen, at, channel) > 0
    }

    fn tile(&self, seen: &[f32], at: [usize; 2]) -> Tile {
        let mut known = self.form.tiles().iter();
        let found = known.find(|(channel, _)| self.is_set(seen, at, *channel));
        found.map_or(Tile::Floor, |(_, tile)| *tile)
    }

    fn item(&self, seen: &[f32], at: [usize; 2]) -> Option<Item> {
        let mut known = self.form.items().into_iter();
        let found = known.find(|(channel, _)| self.is_set(seen, at, *channel));
        found.map(|(_, item)| item)
    }

    /// The cook in a cell, whose four directions begin at a channel.
    fn chef(&self, seen: &[f32], at: [usize; 2], channel: usize) -> Chef {
        // North, south, east and west.
        let sides = [3, 1, 0, 2];
        let faced = (0..4).find(|side| self.is_set(seen, at, channel + side));
        Chef {
            cell: number(at),
            facing: sides[faced.unwrap_or_default()],
            held: self.item(seen, at),
        }
    }

    fn pot(&self, seen: &[f32], at: [usize; 2], has: [bool; 2]) -> Pot {
        let count = |channel: usize| self.count(seen, at, channel);
        let recipes = &self.recipes;
        let (idle, left) = match self.form.family {
            Family::Neurips2019 => {
                let contents = [count(15), 0];
                // It cooks from the step in which it is full.
                let left = recipes.steps(contents).saturating_sub(count(16));
                (contents, (contents[0] >= recipes.full).then_some(left))
            }
            _ => {
                let is_cooking = count(18) > 0 || count(19) > 0;
                ([count(16), count(17)], is_cooking.then(|| count(20)))
            }
        };
        let wants = match left {
            Some(_) => None,
            None => recipes.missing(idle, has),
        };
        Pot {
            cell: number(at),
            wants: wants.unwrap_or_default(),
            starts: wants == Some([0; 2]),
            ready: left == Some(0),
            cooking: left.is_some_and(|left| left > 0),
            left: left.unwrap_or_default(),
        }
    }
}

/// The number of a cell in a view.
fn number([col, row]: [usize; 2]) -> u8 {
    (row * COLS as usize + col) as u8
}
