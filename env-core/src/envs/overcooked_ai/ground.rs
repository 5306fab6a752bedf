//! The ground of a kitchen: the thing in each cell, and the start cells of the cooks.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

/// The longest side of a kitchen, cells.
pub const LONGEST_SIDE: usize = 32;
/// The most cooks of a kitchen: they are digits in its layout.
pub const MOST_COOKS: usize = 9;

/// The thing in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tile {
    /// Floor.
    Floor,
    /// A counter.
    Counter,
    /// A pot.
    Pot,
    /// A dispenser of onions.
    Onions,
    /// A dispenser of tomatoes.
    Tomatoes,
    /// A dispenser of dishes.
    Dishes,
    /// The place where soups are served.
    Serving,
    /// A wall that nothing can be done with; only beyond the border.
    Wall,
}

/// Every kind of tile, in the order of their numbers in a state.
pub const TILES: [Tile; 8] = [
    Tile::Floor,
    Tile::Counter,
    Tile::Pot,
    Tile::Onions,
    Tile::Tomatoes,
    Tile::Dishes,
    Tile::Serving,
    Tile::Wall,
];

/// The ground: `cols` by `rows` cells, row-major.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KitchenGround {
    /// Cells of a row.
    pub cols: usize,
    /// Rows.
    pub rows: usize,
    tiles: Vec<Tile>,
    /// The cells with pots, in reading order.
    pub pots: Vec<u16>,
    /// The distance to the next cell in each direction, modulo 2¹⁶.
    strides: [u16; 4],
}

impl KitchenGround {
    /// The ground of these tiles, row-major.
    pub fn new(cols: usize, tiles: Vec<Tile>) -> Self {
        let is_pot = |&(_, tile): &(u16, &Tile)| *tile == Tile::Pot;
        let pots = (0..).zip(&tiles).filter(is_pot).map(|(cell, _)| cell);
        let row = cols as u16;
        Self {
            cols,
            rows: tiles.len() / cols.max(1),
            pots: pots.collect(),
            tiles,
            strides: [row.wrapping_neg(), row, 1, u16::MAX],
        }
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.tiles.len()
    }

    /// The tile in a cell.
    #[inline]
    pub fn tile(&self, cell: u16) -> Tile {
        let tile = self.tiles.get(usize::from(cell));
        tile.copied().unwrap_or(Tile::Counter)
    }

    /// The tiles of all cells, row-major.
    pub fn tiles(&self) -> &[Tile] {
        &self.tiles
    }

    /// Column and row of a cell.
    pub fn column_and_row(&self, cell: u16) -> [usize; 2] {
        [usize::from(cell) % self.cols, usize::from(cell) / self.cols]
    }

    /// The next cell in a direction (0 north, 1 south, 2 east, 3 west); `None` beyond the ground.
    pub fn cell_beside(&self, cell: u16, direction: u8) -> Option<u16> {
        let [x, y] = self.column_and_row(cell);
        match direction {
            0 => cell.checked_sub(self.cols as u16),
            1 => (y + 1 < self.rows).then(|| cell + self.cols as u16),
            2 => (x + 1 < self.cols).then(|| cell + 1),
            _ => (x > 0).then(|| cell - 1),
        }
    }

    /// The next cell in a direction from one that is not at the border, as no cell with a cook is.
    #[inline]
    pub fn cell_ahead(&self, cell: u16, direction: u8) -> u16 {
        cell.wrapping_add(self.strides[usize::from(direction & 3)])
    }

    /// The number of the pot in a cell, among the pots.
    pub fn pot_at(&self, cell: u16) -> Option<usize> {
        self.pots.iter().position(|&pot| pot == cell)
    }

    /// The cells with a tile, in reading order.
    pub fn cells_of(&self, tile: Tile) -> impl Iterator<Item = u16> {
        let cells = (0..).zip(&self.tiles);
        cells.filter_map(move |(cell, &at)| (at == tile).then_some(cell))
    }
}

/// Reads rows in the letters of overcooked_ai: the ground, and the cell where each cook begins.
///
/// # Errors
/// A sentence.
pub fn read_letters(rows: &[&str]) -> Result<(KitchenGround, Vec<u16>), String> {
    let mut starts: Vec<Option<u16>> = vec![None; MOST_COOKS];
    let mut tiles = Vec::new();
    for sign in check_rows(rows)?.flat_map(|row| row.chars()) {
        if let Some(digit @ 1..=9) = sign.to_digit(10) {
            let start = &mut starts[digit as usize - 1];
            if start.replace(tiles.len() as u16).is_some() {
                return Err(format!("there are two starts `{digit}`"));
            }
        }
        tiles.push(match sign {
            ' ' | '1'..='9' => Tile::Floor,
            'X' => Tile::Counter,
            'P' => Tile::Pot,
            'O' => Tile::Onions,
            'T' => Tile::Tomatoes,
            'D' => Tile::Dishes,
            'S' => Tile::Serving,
            other => {
                return Err(format!(
                    "`{other}` is no cell: they are `X` counter, `P` pot, `O` onions, `T` tomatoes, `D` dishes, \
                     `S` serving, a blank for floor, and 1 to 9 for the starts"
                ));
            }
        });
    }
    let count = starts.iter().flatten().count();
    let starts: Vec<u16> = starts.into_iter().map_while(|start| start).collect();
    if starts.len() != count {
        return Err(format!(
            "the starts of {count} cooks must be the digits 1 to {count}"
        ));
    }
    whole(rows[0].chars().count(), tiles, starts)
}

/// Reads rows in the letters of JaxMARL; the cooks begin in reading order.
///
/// # Errors
/// A sentence.
pub fn read_jaxmarl_letters(rows: &[&str]) -> Result<(KitchenGround, Vec<u16>), String> {
    let (mut starts, mut tiles) = (Vec::new(), Vec::new());
    for sign in check_rows(rows)?.flat_map(|row| row.chars()) {
        if sign == 'A' {
            starts.push(tiles.len() as u16);
        }
        tiles.push(match sign {
            ' ' | 'A' => Tile::Floor,
            'W' => Tile::Counter,
            'P' => Tile::Pot,
            'O' => Tile::Onions,
            'B' => Tile::Dishes,
            'X' => Tile::Serving,
            other => {
                return Err(format!(
                    "`{other}` is no cell: they are `W` wall, `P` pot, `O` onions, `B` plates, `X` goal, \
                     a blank for floor, and `A` for the starts"
                ));
            }
        });
    }
    whole(rows[0].chars().count(), tiles, starts)
}

fn check_rows<'a>(rows: &'a [&'a str]) -> Result<impl Iterator<Item = &'a str>, String> {
    let cols = rows.first().map_or(0, |row| row.chars().count());
    if let Some(at) = rows.iter().position(|row| row.chars().count() != cols) {
        return Err(format!(
            "row {} has another length than row 1: all must have {cols} cells",
            at + 1
        ));
    }
    if !(3..=LONGEST_SIDE).contains(&cols) || !(3..=LONGEST_SIDE).contains(&rows.len()) {
        return Err(format!(
            "{cols} by {} cells: each side must have 3 to {LONGEST_SIDE}",
            rows.len()
        ));
    }
    Ok(rows.iter().copied())
}

/// Checks that everything is there that a soup needs.
fn whole(
    cols: usize,
    tiles: Vec<Tile>,
    starts: Vec<u16>,
) -> Result<(KitchenGround, Vec<u16>), String> {
    let lacks = |wanted: &[Tile]| !tiles.iter().any(|tile| wanted.contains(tile));
    for (wanted, words) in [
        (&[Tile::Pot][..], "a pot"),
        (&[Tile::Dishes], "dishes"),
        (&[Tile::Serving], "a place to serve"),
        (&[Tile::Onions, Tile::Tomatoes], "onions or tomatoes"),
    ] {
        if lacks(wanted) {
            return Err(format!("the kitchen needs {words}"));
        }
    }
    if starts.is_empty() {
        return Err("the kitchen needs a start of a cook".to_string());
    }
    Ok((KitchenGround::new(cols, tiles), starts))
}

impl KitchenGround {
    /// The first cell of the border that is floor.
    pub fn open_border(&self) -> Option<u16> {
        self.cells_of(Tile::Floor)
            .find(|&cell| (0..4).any(|direction| self.cell_beside(cell, direction).is_none()))
    }
}
