//! The movement of cooks, which all kitchens have.

use super::bytes::{Bytes, lanes, map, mask, one_of, select};

/// The cell in a direction: 0 north, 1 south, 2 east, 3 west.
#[inline(always)]
pub(super) fn ahead(cols: u8, cell: u8, facing: u8) -> u8 {
    let across = mask(facing & 2 != 0);
    let stride = select(across, 1, cols);
    // Back are north, which is even, and west, which is odd.
    let back = mask(facing & 1 == 1) ^ !across;
    cell.wrapping_add(select(back, stride.wrapping_neg(), stride))
}

/// Moves the cooks at the same time: each turns, and all stay where they are if two of them collide or swap.
#[inline(always)]
pub(super) fn walk<const SEATS: usize>(
    cols: u8,
    floor: &[u8],
    turns: &[Bytes; SEATS],
    directions: &[Bytes; SEATS],
    cells: &mut [Bytes; SEATS],
    facings: &mut [Bytes; SEATS],
) {
    let mut targets = [Bytes::ZERO; SEATS];
    for seat in 0..SEATS {
        let (turns, way, cell) = (&turns[seat], &directions[seat], cells[seat]);
        let old = facings[seat];
        let facing = map(|lane| select(turns.0[lane], way.0[lane], old.0[lane]));
        let front = map(|lane| ahead(cols, cell.0[lane], facing.0[lane]));
        let free = one_of(&front, floor);
        targets[seat] = map(|lane| {
            let walks = turns.0[lane] & free.0[lane];
            select(walks, front.0[lane], cell.0[lane])
        });
        facings[seat] = facing;
    }
    let mut collide = Bytes::ZERO;
    for one in 0..SEATS {
        for other in 0..one {
            let (here, there) = (&cells[one], &cells[other]);
            let (target, second) = (&targets[one], &targets[other]);
            lanes(|lane| {
                let swap = (target.0[lane] == there.0[lane]) & (second.0[lane] == here.0[lane]);
                collide.0[lane] |= mask((target.0[lane] == second.0[lane]) | swap);
            });
        }
    }
    for (cell, target) in cells.iter_mut().zip(&targets) {
        let old = *cell;
        *cell = map(|lane| select(collide.0[lane], old.0[lane], target.0[lane]));
    }
}
