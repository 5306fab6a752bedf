//! The cook's view: its observation, read into cells, items and pots.

use env_core::{Action, Spec};

/// Rows and columns of the largest kitchen that the cook knows its way in.
const ROWS: i16 = 15;
pub(super) const COLS: i16 = 16;
/// Cells of that kitchen; a cell is `row * COLS + column`.
pub(super) const CELLS: usize = 240;
/// A cell where nobody is, and that nobody reaches.
const NOWHERE: u8 = CELLS as u8 - 1;
/// Masks of an observation.
const MASKS: u32 = 10;
/// Values of a pot, and the most pots that the cook looks at.
const POT_LEN: usize = 12;
const POTS: usize = 8;
/// Ingredients of a soup.
const SOUP_SIZE: u8 = 3;

/// An item in a hand or on a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Onion,
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
    /// Onions in it; 3 if the cook cannot add one because there are tomatoes.
    pub onions: u8,
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
    tiles: [Tile; CELLS],
    lying: [Option<Item>; CELLS],
    pots: [Option<Pot>; POTS],
}

impl View {
    pub(super) fn cells(&self) -> impl Iterator<Item = u8> + use<> {
        0..CELLS as u8
    }

    pub(super) fn tile(&self, cell: u8) -> Tile {
        self.tiles[usize::from(cell)]
    }

    /// The item on a counter or on the floor.
    pub(super) fn lying(&self, cell: u8) -> Option<Item> {
        self.lying[usize::from(cell)]
    }

    pub(super) fn walkable(&self, cell: u8) -> bool {
        self.tile(cell) == Tile::Floor && self.lying(cell).is_none()
    }

    pub(super) fn pots(&self) -> impl Iterator<Item = &Pot> {
        self.pots.iter().flatten()
    }

    /// Checks whether people stand here to use something.
    pub(super) fn busy(&self, cell: u8) -> bool {
        super::path::neighbours(cell)
            .any(|(_, next)| !matches!(self.tile(next), Tile::Floor | Tile::Counter))
    }
}

/// The places of the fields in the observation, and the actions.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    own: [usize; 3],
    others: Vec<[usize; 3]>,
    pots: usize,
    /// How many pots the observation has.
    pot_count: usize,
    masks: usize,
    /// Rows and columns of the masks.
    shape: [usize; 2],
    len: usize,
    /// Right, down, left, up.
    pub moves: [Action; 4],
    pub act: Action,
    pub noop: Action,
}

impl Reader {
    /// Finds the fields and actions by their names; `None` if one is missing or has another shape.
    pub(super) fn new(spec: &Spec) -> Option<Self> {
        let field = |name: &str| {
            let mut start = 0;
            for field in &spec.observation {
                if field.name == name {
                    return Some((start, field.shape.as_slice()));
                }
                start += field.shape.iter().product::<u32>() as usize;
            }
            None
        };
        let vector = |name: &str, len: u32| {
            let (start, shape) = field(name)?;
            (shape == [len]).then_some(start)
        };
        let chef = |of: &str| {
            Some([
                vector(&format!("{of}agent_dir"), 4)?,
                vector(&format!("{of}overcooked_inventory"), 5)?,
                vector(&format!("{of}agent_position"), 2)?,
            ])
        };
        let others = (1..spec.seats).map(|number| match number {
            1 => chef("other."),
            number => chef(&format!("other{number}.")),
        });
        let (pots, pot_count) = match field("ordered_pot_features")? {
            (start, &[count, len]) if len as usize == POT_LEN => (start, count as usize),
            _ => return None,
        };
        let (masks, shape) = match field("object_type_masks")? {
            (start, &[MASKS, rows, cols]) if rows <= ROWS as u32 && cols <= COLS as u32 => {
                (start, [rows as usize, cols as usize])
            }
            _ => return None,
        };
        let action = |name: &str| {
            let index = spec.actions.iter().position(|action| action.name == name)?;
            Action::try_from(index).ok()
        };
        Some(Self {
            own: chef("")?,
            others: others.collect::<Option<_>>()?,
            pots,
            pot_count,
            masks,
            shape,
            len: spec.observation_len(),
            moves: [
                action("move_right")?,
                action("move_down")?,
                action("move_left")?,
                action("move_up")?,
            ],
            act: action("pick_up_or_drop")?,
            noop: spec.noop,
        })
    }

    /// Reads an observation; `None` if its length is not that of the spec.
    pub(super) fn read(&self, seen: &[f32]) -> Option<View> {
        if seen.len() != self.len {
            return None;
        }
        let own = chef(seen, self.own);
        let others = self.others.iter().map(|&other| chef(seen, other));
        let nobody = Chef {
            cell: NOWHERE,
            facing: 0,
            held: None,
        };
        let mut view = View {
            own,
            other: others
                .min_by_key(|other| apart(own.cell, other.cell))
                .unwrap_or(nobody),
            tiles: [Tile::Other; CELLS],
            lying: [None; CELLS],
            pots: [None; POTS],
        };
        let [rows, cols] = self.shape;
        for (row, col) in (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))) {
            let start = self.masks + row * cols + col;
            let mask = |mask: usize| seen[start + mask * rows * cols] > 0.5;
            let cell = row * COLS as usize + col;
            view.tiles[cell] = tile(mask);
            view.lying[cell] = lying(mask);
        }
        for (i, slot) in view.pots.iter_mut().enumerate().take(self.pot_count) {
            let start = self.pots + i * POT_LEN;
            *slot = pot(&seen[start..start + POT_LEN]);
        }
        for pot in view.pots.iter().flatten() {
            view.tiles[usize::from(pot.cell)] = Tile::Pot;
        }
        // Under CoGrid's rules the number that a pot or the delivery zone shows can look like an item.
        for (tile, lying) in view.tiles.iter().zip(&mut view.lying) {
            *lying = lying.filter(|_| matches!(tile, Tile::Floor | Tile::Counter));
        }
        Some(view)
    }
}

/// Source: CoGrid 0.3.2, order of `object_type_masks`.
fn tile(mask: impl Fn(usize) -> bool) -> Tile {
    let known = [
        (0, Tile::Counter),
        (1, Tile::Delivery),
        (4, Tile::Onions),
        (6, Tile::Plates),
        (9, Tile::Other),
    ];
    known
        .into_iter()
        .find(|(index, _)| mask(*index))
        .map_or(Tile::Floor, |(_, tile)| tile)
}

fn lying(mask: impl Fn(usize) -> bool) -> Option<Item> {
    let known = [
        (2, Item::Onion),
        (3, Item::Soup),
        (5, Item::Plate),
        (7, Item::Other),
        (8, Item::Soup),
    ];
    known
        .into_iter()
        .find(|(index, _)| mask(*index))
        .map(|(_, item)| item)
}

fn chef(seen: &[f32], [dir, inventory, position]: [usize; 3]) -> Chef {
    let one_hot = |start: usize, len: usize| {
        seen[start..start + len]
            .iter()
            .position(|value| *value > 0.5)
    };
    let held = one_hot(inventory, 5).map(|index| match index {
        0 => Item::Onion,
        1 | 4 => Item::Soup,
        2 => Item::Plate,
        _ => Item::Other,
    });
    Chef {
        cell: cell(&seen[position..]),
        facing: one_hot(dir, 4).unwrap_or_default() as u8,
        held,
    }
}

fn pot(values: &[f32]) -> Option<Pot> {
    let [here, ready, _, cooking, _, onions, tomatoes, left] = *values.first_chunk()?;
    (here > 0.5).then(|| Pot {
        cell: cell(&values[10..]),
        onions: if tomatoes > 0.5 {
            SOUP_SIZE
        } else {
            onions as u8
        },
        ready: ready > 0.5,
        cooking: cooking > 0.5,
        left: left as u8,
    })
}

/// Row and column as a cell; what lies outside is drawn to the edge, so that no index is ever out of range.
fn cell(place: &[f32]) -> u8 {
    let (row, col) = (
        (place[0] as u8).min(ROWS as u8 - 1),
        (place[1] as u8).min(COLS as u8 - 1),
    );
    row * COLS as u8 + col
}

/// Rows and columns between two cells.
fn apart(one: u8, two: u8) -> u8 {
    let cols = COLS as u8;
    (one / cols).abs_diff(two / cols) + (one % cols).abs_diff(two % cols)
}
