//! What the cook sees: its observation, read into cells, items and pots.

use env_core::{Action, Spec};

/// Columns of the observation's masks.
pub(super) const COLS: i16 = 11;
/// Cells of a mask.
pub(super) const CELLS: usize = 77;
/// Masks of an observation.
const MASKS: usize = 10;
/// Values of a pot, and the most pots that an observation shows.
const POT_LEN: usize = 12;
const POTS: usize = 2;

/// What a hand holds or a cell has lying on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Onion,
    Soup,
    Plate,
    /// What this cook has no use for.
    Other,
}

/// What a cell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tile {
    Floor,
    Counter,
    Delivery,
    Onions,
    Plates,
    Pot,
    /// A source that this cook has no use for.
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

    /// What lies on a counter or on the floor.
    pub(super) fn lying(&self, cell: u8) -> Option<Item> {
        self.lying[usize::from(cell)]
    }

    pub(super) fn walkable(&self, cell: u8) -> bool {
        self.tile(cell) == Tile::Floor && self.lying(cell).is_none()
    }

    pub(super) fn pots(&self) -> impl Iterator<Item = &Pot> {
        self.pots.iter().flatten()
    }

    /// Whether people stand here to use something.
    pub(super) fn busy(&self, cell: u8) -> bool {
        super::path::neighbours(cell)
            .any(|(_, next)| !matches!(self.tile(next), Tile::Floor | Tile::Counter))
    }
}

/// Where the observation has what, and which action is which.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    own: [usize; 3],
    other: [usize; 3],
    pots: usize,
    masks: usize,
    len: usize,
    /// Right, down, left, up.
    pub moves: [Action; 4],
    pub act: Action,
    pub noop: Action,
}

impl Reader {
    /// Finds the fields and actions by their names; none if one is missing or has another shape.
    pub(super) fn new(spec: &Spec) -> Option<Self> {
        let field = |name: &str, shape: &[u32]| {
            let mut start = 0;
            for field in &spec.observation {
                if field.name == name {
                    return (field.shape == shape).then_some(start);
                }
                start += field.shape.iter().product::<u32>() as usize;
            }
            None
        };
        let chef = |of: &str| {
            Some([
                field(&format!("{of}agent_dir"), &[4])?,
                field(&format!("{of}overcooked_inventory"), &[5])?,
                field(&format!("{of}agent_position"), &[2])?,
            ])
        };
        let action = |name: &str| {
            let index = spec.actions.iter().position(|action| action.name == name)?;
            Action::try_from(index).ok()
        };
        Some(Self {
            own: chef("")?,
            other: chef("other.")?,
            pots: field("ordered_pot_features", &[(POTS * POT_LEN) as u32])?,
            masks: field("object_type_masks", &[MASKS as u32, 7, COLS as u32])?,
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

    /// Reads an observation; none if its length is not that of the spec.
    pub(super) fn read(&self, seen: &[f32]) -> Option<View> {
        if seen.len() != self.len {
            return None;
        }
        let mut view = View {
            own: chef(seen, self.own),
            other: chef(seen, self.other),
            tiles: [Tile::Floor; CELLS],
            lying: [None; CELLS],
            pots: [None; POTS],
        };
        for cell in 0..CELLS {
            let mask = |mask: usize| seen[self.masks + mask * CELLS + cell] > 0.5;
            view.tiles[cell] = tile(mask);
            view.lying[cell] = lying(mask);
        }
        for (i, slot) in view.pots.iter_mut().enumerate() {
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
        onions: (onions + tomatoes) as u8,
        ready: ready > 0.5,
        cooking: cooking > 0.5,
        left: left as u8,
    })
}

/// Row and column as a cell; what lies outside is drawn to the edge, so that no index is ever out of range.
fn cell(place: &[f32]) -> u8 {
    let (row, col) = (
        (place[0] as u8).min(6),
        (place[1] as u8).min(COLS as u8 - 1),
    );
    row * COLS as u8 + col
}
