//! Ways through the kitchen: cells, their neighbours, and the distances from one to all others.

use super::view::{CELLS, COLS, View};

/// Steps from a cell to each cell; [`NONE`] where no way leads.
pub(super) type Map = [u8; CELLS];

/// No way.
pub(super) const NONE: u8 = u8::MAX;

/// The neighbours of a cell with the side on which they lie: right, down, left, up.
pub(super) fn neighbours(cell: u8) -> impl Iterator<Item = (u8, u8)> {
    const SIDES: [(i16, i16); 4] = [(0, 1), (1, 0), (0, -1), (-1, 0)];
    let (row, col) = (i16::from(cell) / COLS, i16::from(cell) % COLS);
    (0u8..).zip(SIDES).filter_map(move |(side, (down, right))| {
        let (row, col) = (row + down, col + right);
        let inside = (0..COLS).contains(&col) && (0..CELLS as i16 / COLS).contains(&row);
        inside.then(|| (side, u8::try_from(row * COLS + col).unwrap_or(0)))
    })
}

/// Distances over free floor from a cell, which counts as free; `avoid` is not entered.
pub(super) fn distances(view: &View, from: u8, avoid: Option<u8>) -> Map {
    let mut map = [NONE; CELLS];
    let mut queue = [0u8; CELLS];
    let (mut head, mut tail) = (0, 1);
    queue[0] = from;
    map[usize::from(from)] = 0;
    while head < tail {
        let cell = queue[head];
        head += 1;
        for (_, next) in neighbours(cell) {
            if map[usize::from(next)] == NONE && view.is_walkable(next) && avoid != Some(next) {
                map[usize::from(next)] = map[usize::from(cell)] + 1;
                queue[tail] = next;
                tail += 1;
            }
        }
    }
    map
}
