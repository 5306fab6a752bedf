//! Maps that are made for each episode: walls here and there, and targets that can be reached.

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

/// The contents of a generated map.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MapParams {
    /// Number of rows, the walls around included.
    pub rows: u8,
    /// Number of columns, the walls around included.
    pub cols: u8,
    /// Cells of wall inside; fewer where more would cut the map in two.
    pub walls: u16,
}

impl Default for MapParams {
    fn default() -> Self {
        Self {
            rows: 11,
            cols: 11,
            walls: 20,
        }
    }
}

impl MapParams {
    /// The layout of these maps.
    pub(super) fn layout(&self, targets: usize, seats: usize) -> Result<Layout, ParamError> {
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
        let (inside, needed) = ((rows - 2) * (cols - 2), targets + seats);
        if usize::from(self.walls) + needed > inside {
            let room = inside.saturating_sub(needed);
            let reason = format!(
                "{targets} targets and {seats} agents leave room for {room} walls in {inside} cells"
            );
            return refuse("walls", reason);
        }
        Ok(Layout::Generated {
            rows,
            cols,
            fixtures: 0,
        })
    }

    /// Draws a map: cells become wall one after the other, unless this would divide the free cells.
    pub(super) fn generate(&self, targets: usize, seats: usize, rng: &mut Rng) -> Vec<String> {
        let (rows, cols) = (usize::from(self.rows), usize::from(self.cols));
        let inside = |cell: usize| {
            (1..rows - 1).contains(&(cell / cols)) && (1..cols - 1).contains(&(cell % cols))
        };
        let mut grid: Vec<char> = (0..rows * cols)
            .map(|cell| if inside(cell) { ' ' } else { '#' })
            .collect();
        let mut cells: Vec<usize> = (0..grid.len()).filter(|&cell| inside(cell)).collect();
        rng.shuffle(&mut cells);
        let mut left = self.walls;
        for &cell in &cells {
            if left == 0 {
                break;
            }
            grid[cell] = '#';
            if self.is_whole(&grid) {
                left -= 1;
            } else {
                grid[cell] = ' ';
            }
        }
        cells.retain(|&cell| grid[cell] == ' ');
        rng.shuffle(&mut cells);
        // A target in the way ends an episode, so agents must be able to go around it.
        let mut things = (0..targets).map(super::symbol).collect::<Vec<_>>();
        let mut rest = Vec::new();
        for cell in cells {
            let Some(&thing) = things.first() else {
                rest.push(cell);
                continue;
            };
            grid[cell] = thing;
            if self.is_whole(&grid) {
                things.remove(0);
            } else {
                grid[cell] = ' ';
                rest.push(cell);
            }
        }
        // A map of one corridor has no such place.
        let mut rest = rest.into_iter();
        for (thing, cell) in things.into_iter().zip(rest.by_ref()) {
            grid[cell] = thing;
        }
        for cell in rest.take(seats) {
            grid[cell] = '+';
        }
        grid.chunks(cols).map(|row| row.iter().collect()).collect()
    }

    /// Checks whether all free cells are connected.
    fn is_whole(&self, grid: &[char]) -> bool {
        let Some(start) = grid.iter().position(|&symbol| symbol == ' ') else {
            return false;
        };
        let cols = usize::from(self.cols);
        let mut seen = vec![false; grid.len()];
        let mut queue = VecDeque::from([start]);
        while let Some(cell) = queue.pop_front() {
            if !core::mem::replace(&mut seen[cell], true) && grid[cell] == ' ' {
                queue.extend([cell + 1, cell - 1, cell + cols, cell - cols]);
            }
        }
        grid.iter()
            .zip(seen)
            .all(|(&symbol, seen)| seen || symbol != ' ')
    }
}
