//! One step of a block of kitchens. The order is that of the originals: interacts seat by seat, movement, pots.

use env_core::Action;
use env_core::envs::overcooked_ai::INTERACT;

use super::block::{Block, PotLanes};
use super::plan::{DishPay, Plan};
use crate::lanes::bytes::{Bytes, LANES, each_lane, map, mask, one_of, select_byte};
use crate::lanes::gains::Gains;
use crate::lanes::walk::{reach_cells, walk_lanes};

const ONION: u8 = 1;
const TOMATO: u8 = 2;
pub(super) const DISH: u8 = 3;
/// The number of the first soup.
pub(super) const SOUP: u8 = 4;
/// The event of a delivery.
const DELIVERY: usize = 15;
/// The ingredients with which a pot of old dynamics starts.
const OLD_FULL: u8 = 3;

/// The deeds of a seat that may earn something.
struct Deeds {
    /// A soup that is delivered: its recipe and one more.
    delivered: Bytes,
    /// An ingredient in a pot: the contents before, and one more.
    placed: Bytes,
    dish: Bytes,
    soup: Bytes,
}

/// Advances every lane; `actions` is `[lane, seat]`.
#[inline(always)]
pub(super) fn step_block<const SEATS: usize>(
    plan: &Plan,
    block: &mut Block<SEATS>,
    actions: &[[Action; SEATS]; LANES],
    gains: &mut Gains<SEATS>,
) {
    let actions: [Bytes; SEATS] = std::array::from_fn(|seat| map(|lane| actions[lane][seat] as u8));
    let before = match plan.dish_pay {
        DishPay::Before => wanting(plan, block, true),
        DishPay::Never | DishPay::Now => Bytes::ZERO,
    };
    for (seat, action) in actions.iter().enumerate() {
        let held = block.held[seat];
        let deeds = interact(plan, block, seat, action, &before);
        pay(plan, block, seat, &held, &deeds, gains);
    }
    walk_lanes(
        plan.cols,
        &plan.floor,
        &actions,
        &mut block.cell,
        &mut block.facing,
    );
    each_lane(|lane| block.steps[lane] = block.steps[lane].saturating_add(1));
    for pot in &mut block.pots {
        cook(plan, pot);
    }
    gains.over = map(|lane| u8::from(block.steps[lane] >= plan.horizon));
}

#[inline(always)]
pub(super) fn count_of(contents: u8) -> u8 {
    (contents >> 2 & 3) + (contents & 3)
}

/// The number of pots that will need a dish.
#[inline(always)]
fn wanting<const SEATS: usize>(plan: &Plan, block: &Block<SEATS>, is_before: bool) -> Bytes {
    let mut wanting = Bytes::ZERO;
    for pot in &block.pots {
        each_lane(|lane| {
            let count = count_of(pot.contents.0[lane]);
            let begun = (count > 0) & (!is_before | (count < plan.full));
            let cooks = is_before & (pot.clock.0[lane] > 0);
            wanting.0[lane] += u8::from(begun | cooks);
        });
    }
    wanting
}

/// Carries out the interact of a cook, as the cooks before it left everything.
#[inline(always)]
fn interact<const SEATS: usize>(
    plan: &Plan,
    block: &mut Block<SEATS>,
    seat: usize,
    action: &Bytes,
    before: &Bytes,
) -> Deeds {
    let (cell, facing, held) = (block.cell[seat], block.facing[seat], block.held[seat]);
    let faced = reach_cells(plan.cols, (&cell, &facing), action, INTERACT as u8);
    let mut now = held;
    let dish = dispense(plan, block, &faced, &held, &mut now, before);
    lay(plan, block, &faced, &held, &mut now);
    let mut deeds = Deeds {
        delivered: Bytes::ZERO,
        placed: Bytes::ZERO,
        dish,
        soup: Bytes::ZERO,
    };
    let served = one_of(&faced, &plan.serving);
    each_lane(|lane| {
        let gives = served.0[lane] & mask(held.0[lane] >= SOUP);
        deeds.delivered.0[lane] = gives & held.0[lane].wrapping_sub(SOUP - 1);
        now.0[lane] &= !gives;
    });
    for (pot, &cell) in block.pots.iter_mut().zip(&plan.pots) {
        use_pot(plan, pot, cell, &faced, &held, &mut now, &mut deeds);
    }
    block.held[seat] = now;
    deeds
}

/// Counters: an empty hand takes, a full one puts.
#[inline(always)]
fn lay<const SEATS: usize>(
    plan: &Plan,
    block: &mut Block<SEATS>,
    faced: &Bytes,
    held: &Bytes,
    now: &mut Bytes,
) {
    let (mut here, mut item, mut rank) = (Bytes::ZERO, Bytes::ZERO, Bytes::ZERO);
    let counters = plan.counters.iter().zip(&block.lying).zip(&block.rank);
    for ((&cell, lying), at) in counters {
        each_lane(|lane| {
            let hit = mask(faced.0[lane] == cell);
            here.0[lane] |= hit;
            item.0[lane] |= hit & lying.0[lane];
            rank.0[lane] |= hit & at.0[lane];
        });
    }
    let takes = map(|lane| here.0[lane] & mask(held.0[lane] == 0) & mask(item.0[lane] != 0));
    let puts = map(|lane| here.0[lane] & mask(held.0[lane] != 0) & mask(item.0[lane] == 0));
    let count = block.count;
    let counters = plan.counters.iter().zip(&mut block.lying);
    for ((&cell, lying), at) in counters.zip(&mut block.rank) {
        let (old, old_rank) = (*lying, *at);
        // Hand and counter exchange what they hold.
        *lying = map(|lane| {
            let hit = mask(faced.0[lane] == cell) & (takes.0[lane] | puts.0[lane]);
            select_byte(hit, held.0[lane], old.0[lane])
        });
        // Those that lay longer move up.
        *at = map(|lane| {
            let later = takes.0[lane] & mask(old_rank.0[lane] > rank.0[lane]);
            let moved = old_rank.0[lane].wrapping_add(later);
            let hit = mask(faced.0[lane] == cell) & puts.0[lane];
            select_byte(hit, count.0[lane], moved)
        });
    }
    each_lane(|lane| {
        let (takes, puts) = (takes.0[lane], puts.0[lane]);
        block.count.0[lane] = count.0[lane].wrapping_sub(puts).wrapping_add(takes);
        now.0[lane] = select_byte(takes | puts, takes & item.0[lane], now.0[lane]);
    });
}

/// Dispensers: an empty hand gets one. Returns where a dish is paid for.
#[inline(always)]
fn dispense<const SEATS: usize>(
    plan: &Plan,
    block: &Block<SEATS>,
    faced: &Bytes,
    held: &Bytes,
    now: &mut Bytes,
    before: &Bytes,
) -> Bytes {
    for (cells, item) in [(&plan.onions, ONION), (&plan.tomatoes, TOMATO)] {
        let hit = one_of(faced, cells);
        each_lane(|lane| now.0[lane] |= hit.0[lane] & mask(held.0[lane] == 0) & item);
    }
    let hit = one_of(faced, &plan.dishes);
    let takes = map(|lane| hit.0[lane] & mask(held.0[lane] == 0));
    each_lane(|lane| now.0[lane] |= takes.0[lane] & DISH);
    let wanting = match plan.dish_pay {
        DishPay::Never => return Bytes::ZERO,
        DishPay::Before => *before,
        DishPay::Now => wanting(plan, block, false),
    };
    if plan.dish == 0.0 || !takes.any() {
        return Bytes::ZERO;
    }
    let (mut lies, mut have) = (Bytes::ZERO, Bytes::ZERO);
    for lying in &block.lying {
        each_lane(|lane| lies.0[lane] |= mask(lying.0[lane] == DISH));
    }
    for held in &block.held {
        each_lane(|lane| have.0[lane] += u8::from(held.0[lane] == DISH));
    }
    map(|lane| takes.0[lane] & !lies.0[lane] & mask(have.0[lane] < wanting.0[lane]))
}

/// The time of the contents of a pot.
#[inline(always)]
pub(super) fn time_of(plan: &Plan, contents: &Bytes) -> Bytes {
    match &plan.time {
        Ok(time) => Bytes([*time; LANES]),
        Err(times) => {
            let mut sum = Bytes::ZERO;
            for &(recipe, time) in times {
                each_lane(|lane| sum.0[lane] |= mask(contents.0[lane] == recipe) & time);
            }
            sum
        }
    }
}

/// Pots: ingredients go in, an empty hand may start them, soups come out.
#[inline(always)]
fn use_pot(
    plan: &Plan,
    pot: &mut PotLanes,
    cell: u8,
    faced: &Bytes,
    held: &Bytes,
    now: &mut Bytes,
    deeds: &mut Deeds,
) {
    let hit = map(|lane| mask(faced.0[lane] == cell));
    let (contents, clock) = (pot.contents, pot.clock);
    let time = time_of(plan, &contents);
    let (by_hand, pure) = (mask(plan.starts_by_hand), mask(plan.is_pure));
    let at_once = mask(plan.starts_full);
    each_lane(|lane| {
        let (hit, held) = (hit.0[lane], held.0[lane]);
        let (contents, clock) = (contents.0[lane], clock.0[lane]);
        let (count, rests) = (count_of(contents), mask(clock == 0));
        let starts = hit & by_hand & rests & mask(held == 0) & mask(count > 0);
        let serves = hit & !rests & mask(held == DISH) & mask(clock > time.0[lane]);
        let is_onion = mask(held == ONION);
        let goes_in = is_onion | mask(held == TOMATO);
        let others = select_byte(is_onion, contents & 3, contents >> 2 & 3);
        let mixes = pure & mask(others > 0);
        let adds = hit & goes_in & rests & mask(count < plan.full) & !mixes;
        let added = contents + (adds & select_byte(is_onion, 4, 1));
        let fills = adds & at_once & mask(count + 1 == plan.full);
        pot.contents.0[lane] = added & !serves;
        pot.clock.0[lane] = (clock | ((starts | fills) & 1)) & !serves;
        now.0[lane] = select_byte(serves, SOUP + contents, now.0[lane] & !adds);
        deeds.soup.0[lane] |= serves;
        deeds.placed.0[lane] |= adds & (contents + 1);
    });
}

/// Pays for what a seat did.
#[inline(always)]
fn pay<const SEATS: usize>(
    plan: &Plan,
    block: &mut Block<SEATS>,
    seat: usize,
    held: &Bytes,
    deeds: &Deeds,
    gains: &mut Gains<SEATS>,
) {
    for lane in deeds.delivered.set() {
        let points = plan.points[usize::from(deeds.delivered.0[lane] - 1)];
        block.score[lane] = block.score[lane].saturating_add(points as i64);
        gains.note_gain(lane, seat, DELIVERY, points);
        for rewards in &mut gains.rewards {
            rewards[lane] += points;
        }
    }
    for lane in deeds.placed.set() {
        let ingredient = usize::from(held.0[lane] == TOMATO);
        let amount = plan.placement[usize::from(deeds.placed.0[lane] - 1)][ingredient];
        gains.earn(lane, seat, amount);
    }
    for (lanes, amount) in [(&deeds.dish, plan.dish), (&deeds.soup, plan.soup)] {
        for lane in lanes.set() {
            gains.earn(lane, seat, amount);
        }
    }
}

/// Lets a pot cook.
#[inline(always)]
fn cook(plan: &Plan, pot: &mut PotLanes) {
    let (contents, mut clock) = (pot.contents, pot.clock);
    if plan.starts_late {
        each_lane(|lane| {
            let starts = (clock.0[lane] == 0) & (count_of(contents.0[lane]) == OLD_FULL);
            clock.0[lane] |= u8::from(starts);
        });
    }
    let time = time_of(plan, &contents);
    pot.clock = map(|lane| {
        let cooks = (clock.0[lane] > 0) & (clock.0[lane] <= time.0[lane]);
        clock.0[lane] + u8::from(cooks)
    });
}
