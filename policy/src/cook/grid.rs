//! The reader of CoGrid's observation.

use env_core::Spec;

use super::view::{COLS, Chef, Item, Pot, ROWS, Tile, View};

/// Masks of an observation.
const MASKS: u32 = 10;
/// Values of a pot.
const POT_LEN: usize = 12;
/// Ingredients of a soup.
const SOUP_SIZE: u8 = 3;

/// The places of the fields in the observation.
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
}

impl Reader {
    /// Finds the fields by their names; `None` if one is missing or has another shape.
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
        Some(Self {
            own: chef("")?,
            others: others.collect::<Option<_>>()?,
            pots,
            pot_count,
            masks,
            shape,
            len: spec.observation_len(),
        })
    }

    /// Reads an observation; `None` if its length is not that of the spec.
    pub(super) fn read(&self, seen: &[f32]) -> Option<View> {
        if seen.len() != self.len {
            return None;
        }
        let own = chef(seen, self.own);
        let others = self.others.iter().map(|&other| chef(seen, other));
        let mut view = View::new(own, others);
        view.opening = [SOUP_SIZE, 0];
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
        // The cook can add none to a pot with tomatoes.
        wants: match tomatoes > 0.5 {
            true => [0; 2],
            false => [SOUP_SIZE.saturating_sub(onions as u8), 0],
        },
        starts: false,
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
