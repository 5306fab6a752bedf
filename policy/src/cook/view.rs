//! The cook's view: cells, items and pots, whichever observation they are read from.

use env_core::{Action, Spec};
use serde::{Deserialize, Serialize};

use super::{grid, published};

/// Rows and columns of the largest kitchen that the cook knows its way in.
pub(super) const ROWS: i16 = 15;
pub(super) const COLS: i16 = 16;
/// Cells of that kitchen; a cell is `row * COLS + column`.
pub(super) const CELLS: usize = 240;
/// A cell where nobody is, and that nobody reaches.
pub(super) const NOWHERE: u8 = CELLS as u8 - 1;
/// The most pots that the cook looks at.
pub(super) const POTS: usize = 8;

/// The ingredients of soups, by their index in a list of numbers.
pub(super) const INGREDIENTS: [(Item, Tile); 2] =
    [(Item::Onion, Tile::Onions), (Item::Tomato, Tile::Tomatoes)];

/// An item in a hand or on a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Item {
    Onion,
    Tomato,
    Soup,
    Plate,
    /// An item that this cook has no use for.
    Other,
}

/// The kind of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tile {
    Floor,
    Counter,
    Delivery,
    Onions,
    Tomatoes,
    Plates,
    Pot,
    /// A source that this cook does not use, or anything outside.
    Other,
}

/// A cook.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chef {
    pub cell: u8,
    /// 0 right, 1 down, 2 left, 3 up.
    pub facing: u8,
    pub held: Option<Item>,
}

/// A pot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pot {
    pub cell: u8,
    /// Ingredients that its soup still needs.
    pub wants: [u8; 2],
    /// True if it has everything, and an interact with empty hands starts it.
    pub starts: bool,
    pub ready: bool,
    pub cooking: bool,
    /// Ticks until it is ready, while it cooks.
    pub left: u8,
}

/// The kitchen at one tick.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub own: Chef,
    /// The nearest of the other cooks.
    pub other: Chef,
    pub(super) tiles: [Tile; CELLS],
    pub(super) lying: [Option<Item>; CELLS],
    pub(super) pots: [Option<Pot>; POTS],
    /// The ingredients of the soup that an empty pot is filled for.
    pub opening: [u8; 2],
    /// A cell that does not do now what it seems to do.
    pub barred: Option<u8>,
}

impl Pot {
    /// The number of ingredients that it still needs.
    pub(super) fn missing_ingredients(&self) -> u8 {
        self.wants[0].saturating_add(self.wants[1])
    }
}

impl View {
    /// A kitchen of which nothing is known but where the cooks are.
    pub(super) fn new(own: Chef, others: impl Iterator<Item = Chef>) -> Self {
        let nobody = Chef {
            cell: NOWHERE,
            facing: 0,
            held: None,
        };
        Self {
            own,
            other: others
                .min_by_key(|other| apart(own.cell, other.cell))
                .unwrap_or(nobody),
            tiles: [Tile::Other; CELLS],
            lying: [None; CELLS],
            pots: [None; POTS],
            opening: [0; 2],
            barred: None,
        }
    }

    pub(super) fn cells(&self) -> impl Iterator<Item = u8> + use<> {
        0..CELLS as u8
    }

    pub(super) fn tile(&self, cell: u8) -> Tile {
        self.tiles[usize::from(cell)]
    }

    /// The item on a counter or on the floor.
    pub(super) fn item_on(&self, cell: u8) -> Option<Item> {
        self.lying[usize::from(cell)]
    }

    pub(super) fn is_walkable(&self, cell: u8) -> bool {
        self.tile(cell) == Tile::Floor && self.item_on(cell).is_none()
    }

    pub(super) fn pots(&self) -> impl Iterator<Item = &Pot> {
        self.pots.iter().flatten()
    }

    /// Checks whether people stand here to use something.
    pub(super) fn is_busy(&self, cell: u8) -> bool {
        super::path::neighbours(cell)
            .any(|(_, next)| !matches!(self.tile(next), Tile::Floor | Tile::Counter))
    }
}

/// Rows and columns between two cells.
fn apart(one: u8, two: u8) -> u8 {
    let cols = COLS as u8;
    (one / cols).abs_diff(two / cols) + (one % cols).abs_diff(two % cols)
}

/// The actions of a kitchen.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    /// Right, down, left, up.
    pub moves: [Action; 4],
    pub act: Action,
    pub noop: Action,
}

impl Keys {
    /// Finds the actions by their names; `None` if one is missing.
    fn find(spec: &Spec, act: &str) -> Option<Self> {
        let action = |name: &str| {
            let index = spec.actions.iter().position(|action| action.name == name)?;
            Action::try_from(index).ok()
        };
        Some(Self {
            moves: [
                action("move_right")?,
                action("move_down")?,
                action("move_left")?,
                action("move_up")?,
            ],
            act: action(act)?,
            noop: spec.noop,
        })
    }
}

/// An observation that the cook can read.
#[derive(Clone, Debug)]
enum Sight {
    Grid(grid::Reader),
    Published(published::Reader),
}

/// The reader of an environment's observation, and the facts about its steps.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    sight: Sight,
    pub keys: Keys,
    /// Ticks that an action takes, so that the cook is no faster than a person at the keys.
    pub pace: u8,
    /// True if cooks who step into the same cell all stay where they are.
    pub collides: bool,
    /// True if the observation at times leaves things out.
    pub is_partial: bool,
}

/// Ticks that an action takes in CoGrid's kitchens.
const GRID_PACE: u8 = 2;

/// The most actions in a second in a published kitchen. Where a second has no more steps, the cook acts in each, as the
/// published partners do.
const PUBLISHED_HZ: u16 = 8;

impl Reader {
    /// Finds the fields and actions by their names; `None` if one is missing or has another shape.
    pub(super) fn new(spec: &Spec) -> Option<Self> {
        if let Some(reader) = published::Reader::new(spec) {
            let pace = u8::try_from(spec.tick_hz.div_ceil(PUBLISHED_HZ)).unwrap_or(u8::MAX);
            return Some(Self {
                keys: Keys::find(spec, "interact")?,
                pace: pace.max(1),
                collides: true,
                is_partial: reader.is_partial(),
                sight: Sight::Published(reader),
            });
        }
        Some(Self {
            keys: Keys::find(spec, "pick_up_or_drop")?,
            pace: GRID_PACE,
            collides: false,
            is_partial: false,
            sight: Sight::Grid(grid::Reader::new(spec)?),
        })
    }

    /// Reads an observation; `None` if its length is not that of the spec.
    pub(super) fn read(&self, seen: &[f32]) -> Option<View> {
        match &self.sight {
            Sight::Grid(reader) => reader.read(seen),
            Sight::Published(reader) => reader.read(seen),
        }
    }
}
