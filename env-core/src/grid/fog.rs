//! Fog: the cells that a seat does not see, in its picture and in its words.

use super::tables::Tables;
use crate::draw::{DrawItem, DrawList, Shape};

const FOG: u32 = 0x3c49_53ff;

impl Tables {
    /// Checks whether an agent in one cell sees another cell.
    pub fn sees(&self, from: u16, cell: u16) -> bool {
        let Some(radius) = self.fog else { return true };
        let ((row, col), (other_row, other_col)) = (self.place(from), self.place(cell));
        let far = row.abs_diff(other_row).max(col.abs_diff(other_col));
        far <= usize::from(radius)
    }

    /// Takes out of a picture whatever lies in cells that an agent in this cell does not see, and covers them.
    /// Items outside the grid stay, such as a strip of orders below it.
    pub(super) fn cover(&self, from: u16, out: &mut DrawList) {
        out.items.retain(|item| {
            self.cell_under(item)
                .is_none_or(|cell| self.sees(from, cell))
        });
        for cell in (0..self.cells as u16).filter(|&cell| !self.sees(from, cell)) {
            let (row, col) = self.place(cell);
            let (radius, color) = (0.0, FOG);
            let place = [col as f32, row as f32, 1.0, 1.0];
            out.push(0, place, Shape::Rect { radius, color });
        }
    }

    /// The cell in which the middle of an item lies.
    fn cell_under(&self, item: &DrawItem) -> Option<u16> {
        let (x, y) = (item.x + item.w / 2.0, item.y + item.h / 2.0);
        let inside = (0.0..self.cols as f32).contains(&x) && (0.0..self.rows as f32).contains(&y);
        inside.then(|| (y as usize * self.cols + x as usize) as u16)
    }
}
