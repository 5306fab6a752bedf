//! The actions of a block of kitchens that may have an effect.

use super::block::Block;
use super::plan::Plan;
use super::step::{DISH, SOUP, count_of, time_of};
use crate::lanes::bytes::{Bytes, each_lane, map, mask, one_of};
use crate::lanes::walk::cell_ahead;

/// Actions of a cook: four ways, staying, and the hands.
const ACTIONS: usize = 6;
const HANDS: usize = 5;

/// Writes which actions may have an effect, `[lane, seat, action]`.
#[inline(always)]
pub(super) fn write_masks<const SEATS: usize>(plan: &Plan, block: &Block<SEATS>, masks: &mut [u8]) {
    let cooks: [_; SEATS] = std::array::from_fn(|seat| find_effects(plan, block, seat));
    let (rows, _) = masks.as_chunks_mut::<ACTIONS>();
    for (lane, rows) in rows.chunks_exact_mut(SEATS).enumerate() {
        for (seat, (row, [walks, acts])) in rows.iter_mut().zip(&cooks).enumerate() {
            *row = [1; ACTIONS];
            row[usize::from(block.facing[seat].0[lane] & 3)] = walks.0[lane] & 1;
            row[HANDS] = acts.0[lane] & 1;
        }
    }
}

/// Finds where a cook may walk ahead, and where its hands may do something.
#[inline(always)]
fn find_effects<const SEATS: usize>(plan: &Plan, block: &Block<SEATS>, seat: usize) -> [Bytes; 2] {
    let (cell, facing, held) = (&block.cell[seat], &block.facing[seat], &block.held[seat]);
    let front = map(|lane| cell_ahead(plan.cols, cell.0[lane], facing.0[lane]));
    let mut acts = Bytes::ZERO;
    for cells in [&plan.onions, &plan.tomatoes, &plan.dishes] {
        let hit = one_of(&front, cells);
        each_lane(|lane| acts.0[lane] |= hit.0[lane] & mask(held.0[lane] == 0));
    }
    let served = one_of(&front, &plan.serving);
    each_lane(|lane| acts.0[lane] |= served.0[lane] & mask(held.0[lane] >= SOUP));
    for (&cell, lying) in plan.counters.iter().zip(&block.lying) {
        each_lane(|lane| {
            let is_one = (held.0[lane] == 0) != (lying.0[lane] == 0);
            acts.0[lane] |= mask((front.0[lane] == cell) & is_one);
        });
    }
    let by_hand = mask(plan.starts_by_hand);
    for (&cell, pot) in plan.pots.iter().zip(&block.pots) {
        let time = time_of(plan, &pot.contents);
        each_lane(|lane| {
            let is_ready = pot.clock.0[lane] > time.0[lane];
            let waits = mask((count_of(pot.contents.0[lane]) > 0) & !is_ready);
            let is_empty = mask(held.0[lane] == 0);
            let fits = !is_empty & mask(held.0[lane] <= DISH);
            let may = (is_empty & by_hand & waits) | fits;
            acts.0[lane] |= mask(front.0[lane] == cell) & may;
        });
    }
    [one_of(&front, &plan.floor), acts]
}
