//! Maps that are made for each episode: things here and there, and all of them within reach.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::params::refuse;
use crate::contract::ParamError;
use crate::grid::layout::MAX_SIDE;
use crate::grid::{Kind, Layout, Tables, Use, tell_unknown};
use crate::rng::Rng;

/// The contents of a generated layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapParams {
    /// Number of rows, the border included.
    pub rows: u8,
    /// Number of columns, the border included.
    pub cols: u8,
    /// Name of the kind of which the border is made.
    pub border: String,
    /// The things, in the order in which they are placed.
    #[serde(default)]
    pub things: Vec<MapThing>,
}

/// Things of one kind in a generated layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapThing {
    /// Name of the kind.
    pub kind: String,
    /// The number of things; fewer if more would put something out of reach.
    pub count: u16,
    /// The place of the things.
    #[serde(default)]
    pub site: Site,
}

/// The places of things in a generated layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Site {
    /// Anywhere within the border.
    #[default]
    Inside,
    /// In the border, except its corners.
    Border,
}

impl MapParams {
    /// The layout of these maps.
    pub(super) fn layout(&self, kinds: &[Kind], seats: usize) -> Result<Layout, ParamError> {
        let (rows, cols) = (usize::from(self.rows), usize::from(self.cols));
        let sides = 3..=MAX_SIDE;
        for (field, side) in [("map.rows", rows), ("map.cols", cols)] {
            if !sides.contains(&side) {
                return refuse(field, format!("must be 3 to {MAX_SIDE}"));
            }
        }
        let count = |site| {
            let things = self.things.iter().filter(|thing| thing.site == site);
            things.map(|thing| usize::from(thing.count)).sum::<usize>()
        };
        let inside = (rows - 2) * (cols - 2);
        if count(Site::Inside) + seats > inside {
            let (things, room) = (count(Site::Inside), inside.saturating_sub(seats));
            return refuse(
                "map.things",
                format!(
                    "{things} things within the border, and there is room for {room} beside {seats} agents"
                ),
            );
        }
        let border = 2 * (rows - 2) + 2 * (cols - 2);
        if count(Site::Border) > border {
            let things = count(Site::Border);
            return refuse(
                "map.things",
                format!("{things} things in the border, which has room for {border}"),
            );
        }
        let is_fixture = |name: &str| {
            let kind = kinds.iter().find(|kind| kind.name == name);
            let usage = kind.map(|kind| &kind.usage);
            matches!(usage, Some(Use::Container { .. } | Use::Switch { .. }))
        };
        let fixtures = self.things.iter().filter(|thing| is_fixture(&thing.kind));
        let fixtures = fixtures.map(|thing| usize::from(thing.count)).sum();
        if is_fixture(&self.border) {
            return refuse(
                "map.border",
                "a border of containers or switches is too much: take another kind",
            );
        }
        Ok(Layout::Generated {
            rows,
            cols,
            fixtures,
        })
    }
}

/// A kind of a map, as it is placed.
#[derive(Clone, Copy, Debug)]
struct Piece {
    symbol: char,
    /// True if agents walk over it and continue.
    open: bool,
    /// True if agents need a place beside it.
    needed: bool,
}

const FREE: Piece = Piece {
    symbol: ' ',
    open: true,
    needed: false,
};

/// A map, its names resolved.
#[derive(Clone, Debug)]
pub(super) struct MapPlan {
    rows: usize,
    cols: usize,
    border: Piece,
    things: Vec<(Piece, u16, Site)>,
}

impl MapPlan {
    pub(super) fn new(map: &MapParams, tables: &Tables) -> Result<Self, ParamError> {
        let piece = |name: &str, field: &str| {
            let kind = tables.kinds.iter().find(|kind| kind.name == name);
            let Some(kind) = kind else {
                let known = tables.kinds.iter().map(|kind| kind.name.as_str());
                return refuse(field, tell_unknown("kind", name, known));
            };
            let Some(symbol) = kind.symbol else {
                return refuse(field, format!("`{name}` has no symbol: give the kind one"));
            };
            Ok(Piece {
                symbol,
                open: kind.walkable && !kind.terminal,
                needed: !kind.wall && (!kind.walkable || kind.terminal),
            })
        };
        let things = map.things.iter().enumerate().map(|(index, thing)| {
            let piece = piece(&thing.kind, &format!("map.things[{index}].kind"))?;
            Ok((piece, thing.count, thing.site))
        });
        Ok(Self {
            rows: map.rows.into(),
            cols: map.cols.into(),
            border: Piece {
                needed: false,
                ..piece(&map.border, "map.border")?
            },
            things: things.collect::<Result<_, ParamError>>()?,
        })
    }

    /// Draws a map: visits the cells in a random order, and puts a thing into each in which everything stays within
    /// reach.
    pub(super) fn generate(&self, rng: &mut Rng) -> Vec<String> {
        let all = 0..self.rows * self.cols;
        let mut grid: Vec<Piece> = all
            .clone()
            .map(|cell| match self.edges(cell) {
                0 => FREE,
                _ => self.border,
            })
            .collect();
        let mut sites = [0, 1].map(|edges| {
            let cells = all.clone().filter(|&cell| self.edges(cell) == edges);
            cells.collect::<Vec<usize>>()
        });
        for cells in &mut sites {
            rng.shuffle(cells);
        }
        for &(piece, count, site) in &self.things {
            let mut left = count;
            sites[site as usize].retain(|&cell| {
                let is_put = left > 0 && self.put(&mut grid, cell, piece);
                left -= u16::from(is_put);
                !is_put
            });
        }
        let row = |row: &[Piece]| row.iter().map(|piece| piece.symbol).collect();
        grid.chunks(self.cols).map(row).collect()
    }

    /// Counts the sides of the border on which a cell is: none inside, two in a corner.
    fn edges(&self, cell: usize) -> u8 {
        let (row, col) = (cell / self.cols, cell % self.cols);
        u8::from(row == 0 || row + 1 == self.rows) + u8::from(col == 0 || col + 1 == self.cols)
    }

    /// The cells beside a cell.
    fn beside(&self, cell: usize) -> impl Iterator<Item = usize> + use<> {
        let (row, col, rows, cols) = (cell / self.cols, cell % self.cols, self.rows, self.cols);
        let up = (row > 0).then(|| cell - cols);
        let down = (row + 1 < rows).then(|| cell + cols);
        let left = (col > 0).then(|| cell - 1);
        let right = (col + 1 < cols).then(|| cell + 1);
        [up, down, left, right].into_iter().flatten()
    }

    /// Puts a thing into a cell, unless something would be out of reach then.
    fn put(&self, grid: &mut [Piece], cell: usize, piece: Piece) -> bool {
        let before = core::mem::replace(&mut grid[cell], piece);
        let near = self.beside(cell).chain([cell]);
        let mut needed = near.filter(|&near| grid[near].needed);
        let fits =
            needed.all(|near| self.beside(near).any(|next| grid[next].open)) && self.is_whole(grid);
        if !fits {
            grid[cell] = before;
        }
        fits
    }

    /// Checks whether agents can walk from every open cell within the border to every other.
    fn is_whole(&self, grid: &[Piece]) -> bool {
        let is_open = |cell: usize| grid[cell].open && self.edges(cell) == 0;
        let Some(start) = (0..grid.len()).find(|&cell| is_open(cell)) else {
            return false;
        };
        let mut seen = vec![false; grid.len()];
        let mut queue = VecDeque::from([start]);
        while let Some(cell) = queue.pop_front() {
            if is_open(cell) && !core::mem::replace(&mut seen[cell], true) {
                queue.extend(self.beside(cell));
            }
        }
        (0..grid.len()).all(|cell| seen[cell] || !is_open(cell))
    }
}
