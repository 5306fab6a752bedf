//! Fog: the cells that a seat does not see, in its picture and in its words.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::seats::{all_seats, seat_bits};
use super::tables::Tables;
use crate::contract::ParamError;
use crate::draw::{DrawItem, DrawList, Shape};

const FOG: u32 = 0x3c49_53ff;

/// The seats that see no farther than the plan's `view_radius`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected true, false, or a list of seats such as [1]"
)]
pub enum Fog {
    /// Every seat, or none.
    All(bool),
    /// These seats.
    Seats(Vec<u8>),
}

impl Default for Fog {
    fn default() -> Self {
        Self::All(false)
    }
}

impl Fog {
    /// The bits of the seats.
    ///
    /// # Errors
    /// [`ParamError`] for a seat that there is not.
    pub(super) fn fogged_seats(&self, count: usize) -> Result<u16, ParamError> {
        match self {
            Self::All(all) => Ok(if *all { all_seats(count) } else { 0 }),
            Self::Seats(seats) => seat_bits(seats, count, "fog"),
        }
    }
}

impl Tables {
    /// Checks whether the agent of a seat sees a cell from another cell.
    pub fn can_see(&self, seat: usize, from: u16, cell: u16) -> bool {
        let Some(radius) = self.view_radius.filter(|_| self.fog >> seat & 1 == 1) else {
            return true;
        };
        let ((row, col), (other_row, other_col)) =
            (self.column_and_row(from), self.column_and_row(cell));
        let far = row.abs_diff(other_row).max(col.abs_diff(other_col));
        far <= usize::from(radius)
    }

    /// Removes from a picture everything in cells that the agent of a seat does not see from its cell, and covers
    /// them. Items outside the grid stay, such as a strip of orders below it.
    pub(super) fn draw_cover(&self, seat: usize, from: u16, out: &mut DrawList) {
        if self.fog >> seat & 1 == 0 {
            return;
        }
        out.items.retain(|item| {
            self.cell_under(item)
                .is_none_or(|cell| self.can_see(seat, from, cell))
        });
        for cell in (0..self.cells as u16).filter(|&cell| !self.can_see(seat, from, cell)) {
            let (row, col) = self.column_and_row(cell);
            let (radius, color) = (0.0, FOG);
            let place = [col as f32, row as f32, 1.0, 1.0];
            out.push(0, place, Shape::Rect { radius, color });
        }
    }

    /// Returns the cell that contains the middle of an item.
    fn cell_under(&self, item: &DrawItem) -> Option<u16> {
        let (x, y) = (item.x + item.w / 2.0, item.y + item.h / 2.0);
        let inside = (0.0..self.cols as f32).contains(&x) && (0.0..self.rows as f32).contains(&y);
        inside.then(|| (y as usize * self.cols + x as usize) as u16)
    }
}
