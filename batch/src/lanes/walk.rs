//! The movement of cooks, which all kitchens have.

use super::bytes::{Bytes, each_lane, map, mask, one_of, select_byte};

/// No cell: what a hand that does not act faces.
const NOWHERE: u8 = 255;

/// The cell in a direction: 0 north, 1 south, 2 east, 3 west.
#[inline(always)]
pub(super) fn cell_ahead(cols: u8, cell: u8, facing: u8) -> u8 {
    let across = mask(facing & 2 != 0);
    let stride = select_byte(across, 1, cols);
    // Back are north, which is even, and west, which is odd.
    let back = mask(facing & 1 == 1) ^ !across;
    cell.wrapping_add(select_byte(back, stride.wrapping_neg(), stride))
}

/// The cells that hands reach: those in front of the cooks who take this action.
#[inline(always)]
pub(super) fn reach_cells(
    cols: u8,
    (cell, facing): (&Bytes, &Bytes),
    actions: &Bytes,
    interact: u8,
) -> Bytes {
    map(|lane| {
        let front = cell_ahead(cols, cell.0[lane], facing.0[lane]);
        select_byte(mask(actions.0[lane] == interact), front, NOWHERE)
    })
}

/// Turns the cooks, and finds where each would go if it were alone. A way that is no direction is none.
#[inline(always)]
fn turn<const SEATS: usize>(
    cols: u8,
    floor: &[u8],
    ways: &[Bytes; SEATS],
    cells: &[Bytes; SEATS],
    facings: &mut [Bytes; SEATS],
) -> [Bytes; SEATS] {
    std::array::from_fn(|seat| {
        let (way, cell, old) = (&ways[seat], &cells[seat], facings[seat]);
        let turns = map(|lane| mask(way.0[lane] < 4));
        let facing = map(|lane| select_byte(turns.0[lane], way.0[lane], old.0[lane]));
        let front = map(|lane| cell_ahead(cols, cell.0[lane], facing.0[lane]));
        let free = one_of(&front, floor);
        facings[seat] = facing;
        map(|lane| {
            let walks = turns.0[lane] & free.0[lane];
            select_byte(walks, front.0[lane], cell.0[lane])
        })
    })
}

/// Moves the cooks at the same time: each turns, and all stay where they are if two of them collide or swap.
#[inline(always)]
pub(super) fn walk_lanes<const SEATS: usize>(
    cols: u8,
    floor: &[u8],
    ways: &[Bytes; SEATS],
    cells: &mut [Bytes; SEATS],
    facings: &mut [Bytes; SEATS],
) {
    let targets = turn(cols, floor, ways, cells, facings);
    let mut collide = Bytes::ZERO;
    for one in 0..SEATS {
        for other in 0..one {
            let (here, there) = (&cells[one], &cells[other]);
            let (target, second) = (&targets[one], &targets[other]);
            each_lane(|lane| {
                let swap = (target.0[lane] == there.0[lane]) & (second.0[lane] == here.0[lane]);
                collide.0[lane] |= mask((target.0[lane] == second.0[lane]) | swap);
            });
        }
    }
    for (cell, target) in cells.iter_mut().zip(&targets) {
        let old = *cell;
        *cell = map(|lane| select_byte(collide.0[lane], old.0[lane], target.0[lane]));
    }
}

/// Moves the cooks at the same time: each turns, and only those who collide or swap stay where they are.
#[inline(always)]
pub(super) fn walk_each<const SEATS: usize>(
    cols: u8,
    floor: &[u8],
    ways: &[Bytes; SEATS],
    cells: &mut [Bytes; SEATS],
    facings: &mut [Bytes; SEATS],
) {
    let mut targets = turn(cols, floor, ways, cells, facings);
    // A cook who goes back may be in the way of another. Each round sends back at least one who still walks.
    for _ in 1..SEATS {
        let back = find_pairs(|one, other, lane| targets[one].0[lane] == targets[other].0[lane]);
        send_back(&mut targets, cells, &back);
    }
    let swaps = find_pairs(|one, other, lane| {
        (targets[one].0[lane] == cells[other].0[lane])
            & (targets[other].0[lane] == cells[one].0[lane])
    });
    send_back(&mut targets, cells, &swaps);
    *cells = targets;
}

/// Finds the cooks who are one of a pair.
#[inline(always)]
fn find_pairs<const SEATS: usize>(is_pair: impl Fn(usize, usize, usize) -> bool) -> [Bytes; SEATS] {
    let mut found = [Bytes::ZERO; SEATS];
    for one in 0..SEATS {
        for other in 0..one {
            let pair = map(|lane| mask(is_pair(one, other, lane)));
            for seat in [one, other] {
                each_lane(|lane| found[seat].0[lane] |= pair.0[lane]);
            }
        }
    }
    found
}

/// Sends cooks back to the cells from which they came.
#[inline(always)]
fn send_back<const SEATS: usize>(
    targets: &mut [Bytes; SEATS],
    cells: &[Bytes; SEATS],
    back: &[Bytes; SEATS],
) {
    for seat in 0..SEATS {
        let target = targets[seat];
        targets[seat] =
            map(|lane| select_byte(back[seat].0[lane], cells[seat].0[lane], target.0[lane]));
    }
}
