//! Maps that are made for each episode.
//!
//! Source: CoGrid 0.3.2, `envs/search_rescue/sr_utils.py`, whose maps have no tools.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::contract::ParamError;
use crate::grid::Layout;
use crate::grid::layout::MAX_SIDE;
use crate::rng::Rng;

/// The most draws of a map until everyone can reach everything; the last one is open.
const TRIES: usize = 64;

/// The contents of a generated map.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MapParams {
    /// Number of rows, walls included.
    pub rows: u8,
    /// Number of columns, walls included.
    pub cols: u8,
    /// Green victims.
    pub green: u8,
    /// Purple victims.
    pub purple: u8,
    /// Yellow victims.
    pub yellow: u8,
    /// Red victims.
    pub red: u8,
    /// Medkits.
    pub medkits: u8,
    /// Pickaxes.
    pub pickaxes: u8,
    /// True if rubble surrounds yellow and red victims.
    pub rubble: bool,
}

impl Default for MapParams {
    fn default() -> Self {
        Self {
            rows: 9,
            cols: 11,
            green: 4,
            purple: 0,
            yellow: 3,
            red: 2,
            medkits: 1,
            pickaxes: 1,
            rubble: true,
        }
    }
}

impl MapParams {
    /// The layout of these maps.
    pub(super) fn layout(&self, seats: usize) -> Result<Layout, ParamError> {
        let refuse = |field: &str, reason| {
            Err(ParamError {
                field: format!("map.{field}"),
                reason,
            })
        };
        let (rows, cols) = (usize::from(self.rows), usize::from(self.cols));
        let sides = 3..=MAX_SIDE;
        if !sides.contains(&rows) || !sides.contains(&cols) {
            return refuse("rows", format!("rows and columns must be 3 to {MAX_SIDE}"));
        }
        let (free, needed) = ((rows - 2) * (cols - 2), self.things().len() + seats);
        if needed * 2 > free {
            return refuse(
                "rows",
                format!(
                    "{needed} things and agents fill over half of {free} cells: make more room"
                ),
            );
        }
        if self.green == 0 && self.purple == 0 && self.yellow == 0 && self.red == 0 {
            return refuse("green", "there is nobody to rescue: add a victim".into());
        }
        Ok(Layout::Generated {
            rows,
            cols,
            fixtures: 0,
        })
    }

    /// The symbols of everything but rubble and agents.
    fn things(&self) -> Vec<char> {
        let counts = [
            ('G', self.green),
            ('P', self.purple),
            ('Y', self.yellow),
            ('R', self.red),
            ('M', self.medkits),
            ('T', self.pickaxes),
        ];
        counts
            .into_iter()
            .flat_map(|(symbol, count)| core::iter::repeat_n(symbol, count.into()))
            .collect()
    }

    /// Draws a map.
    pub(super) fn generate(&self, seats: usize, rng: &mut Rng) -> Vec<String> {
        let mut grid = self.draw(seats, self.rubble, rng);
        for last in 1..=TRIES {
            if self.is_open(&grid) {
                break;
            }
            grid = self.draw(seats, self.rubble && last < TRIES, rng);
        }
        grid.chunks(self.cols.into())
            .map(|row| row.iter().collect())
            .collect()
    }

    fn draw(&self, seats: usize, rubble: bool, rng: &mut Rng) -> Vec<char> {
        let (rows, cols) = (usize::from(self.rows), usize::from(self.cols));
        let inside = |cell: usize| {
            (1..rows - 1).contains(&(cell / cols)) && (1..cols - 1).contains(&(cell % cols))
        };
        let mut grid: Vec<char> = (0..rows * cols)
            .map(|cell| if inside(cell) { ' ' } else { '#' })
            .collect();
        let mut free: Vec<usize> = (0..grid.len()).filter(|&cell| inside(cell)).collect();
        rng.shuffle(&mut free);
        let things = self
            .things()
            .into_iter()
            .chain(core::iter::repeat_n('+', seats));
        for (cell, thing) in free.into_iter().zip(things) {
            grid[cell] = thing;
        }
        if rubble {
            for cell in 0..grid.len() {
                if matches!(grid[cell], 'Y' | 'R') {
                    for near in self.near(cell) {
                        if grid[near] == ' ' {
                            grid[near] = 'X';
                        }
                    }
                }
            }
        }
        grid
    }

    fn near(&self, cell: usize) -> [usize; 4] {
        let cols = usize::from(self.cols);
        [cell + 1, cell - 1, cell + cols, cell - cols]
    }

    /// Checks whether every agent can reach every other, the tools, and a side of everything that is not behind rubble.
    fn is_open(&self, grid: &[char]) -> bool {
        let Some(start) = grid.iter().position(|&symbol| symbol == '+') else {
            return false;
        };
        let mut seen = vec![false; grid.len()];
        let mut queue = VecDeque::from([start]);
        while let Some(cell) = queue.pop_front() {
            if core::mem::replace(&mut seen[cell], true) {
                continue;
            }
            if matches!(grid[cell], ' ' | '+') {
                queue.extend(self.near(cell));
            }
        }
        grid.iter()
            .zip(seen)
            .all(|(symbol, seen)| seen || !matches!(symbol, '+' | 'M' | 'T' | 'G' | 'P'))
    }
}
