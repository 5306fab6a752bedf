//! One step of a block of kitchens: everybody moves, then hands act in the order of seats, then the clocks run.

use env_core::Action;
use env_core::envs::overcooked_jaxmarl_v2::{INTERACT, STAY, items};

use super::block::{Block, PotLanes};
use super::plan::Plan;
use crate::lanes::bytes::{Bytes, LANES, each_lane, map, mask, one_of, select_byte};
use crate::lanes::gains::Gains;
use crate::lanes::walk::{reach_cells, walk_each};

const PLATE: u8 = items::PLATE as u8;
const COOKED: u8 = items::COOKED as u8;
const FULL: u8 = items::FULL as u8;
/// Steps that a pot cooks, and that a button shows the recipe.
const COOK_TIME: u8 = 20;
const BUTTON_TIME: u8 = 10;
/// Points of all cooks for the wanted soup, and for a button.
const DELIVERY_POINTS: f32 = 20.0;
const BUTTON_POINTS: f32 = -5.0;

/// Numbers of events.
const DELIVERY: usize = 0;
const WRONG_DELIVERY: usize = 1;
const BUTTON: usize = 2;
/// Events with a shaped reward, and their points.
const PLACEMENT: (usize, f32) = (3, 3.0);
const COOKING_START: (usize, f32) = (4, 5.0);
const DISH_PICKUP: (usize, f32) = (5, 5.0);
const PLATE_PICKUP: (usize, f32) = (6, 3.0);

/// The deeds of a seat that may earn something, a mask each.
struct Deeds {
    wanted: Bytes,
    wrong: Bytes,
    button: Bytes,
    placement: Bytes,
    cooking_start: Bytes,
    dish_pickup: Bytes,
    plate_pickup: Bytes,
}

impl Deeds {
    const NONE: Self = Self {
        wanted: Bytes::ZERO,
        wrong: Bytes::ZERO,
        button: Bytes::ZERO,
        placement: Bytes::ZERO,
        cooking_start: Bytes::ZERO,
        dish_pickup: Bytes::ZERO,
        plate_pickup: Bytes::ZERO,
    };
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
    // Right, down, left, up are 2, 1, 3, 0 as directions.
    let ways = actions.each_ref().map(|action| {
        map(|lane| {
            let action = action.0[lane];
            let way = (mask(action == 0) & 2) | (mask(action == 1) & 1) | (mask(action == 2) & 3);
            select_byte(mask(action < STAY as u8), way, action)
        })
    });
    walk_each(
        plan.cols,
        &plan.floor,
        &ways,
        &mut block.cell,
        &mut block.facing,
    );
    let mut plates = Bytes::ZERO;
    for held in &block.held {
        each_lane(|lane| plates.0[lane] += u8::from(held.0[lane] == PLATE));
    }
    block.things.delivered = Bytes::ZERO;
    for (seat, action) in actions.iter().enumerate() {
        let deeds = interact(plan, block, seat, action, &plates);
        pay(plan, block, seat, &deeds, gains);
    }
    run_clocks(block);
    if plan.draws {
        for lane in block.things.delivered.set() {
            let number = block.draws[lane].below(plan.recipes.len() as u32);
            block.things.recipe.0[lane] = plan.recipes[number as usize];
        }
    }
    each_lane(|lane| block.steps[lane] = block.steps[lane].saturating_add(1));
    gains.over = map(|lane| u8::from(block.steps[lane] >= plan.horizon));
}

/// The ingredients of an item.
#[inline(always)]
fn count_of(item: u8) -> u8 {
    (item >> 2 & 3) + (item >> 4 & 3) + (item >> 6)
}

/// The hands of a cook at the cell in front of it; `plates` were in hands before anybody acted.
#[inline(always)]
fn interact<const SEATS: usize>(
    plan: &Plan,
    block: &mut Block<SEATS>,
    seat: usize,
    action: &Bytes,
    plates: &Bytes,
) -> Deeds {
    let (cell, facing, held) = (block.cell[seat], block.facing[seat], block.held[seat]);
    let recipe = block.things.recipe;
    let faced = reach_cells(plan.cols, (&cell, &facing), action, INTERACT as u8);
    let useful = find_useful_plates(block, plates);
    let (mut deeds, mut now) = (Deeds::NONE, held);
    for (cells, item) in
        (plan.piles.iter().map(|(item, cells)| (cells, *item))).chain([(&plan.plates, PLATE)])
    {
        let hit = one_of(&faced, cells);
        each_lane(|lane| now.0[lane] |= hit.0[lane] & mask(held.0[lane] == 0) & item);
    }
    let served = one_of(&faced, &plan.goals);
    each_lane(|lane| {
        let gives = served.0[lane] & mask(held.0[lane] & COOKED != 0);
        let wanted = gives & mask(held.0[lane] == recipe.0[lane] | PLATE | COOKED);
        deeds.wanted.0[lane] = wanted;
        deeds.wrong.0[lane] = gives & !wanted;
        now.0[lane] &= !gives;
    });
    for (timer, &cell) in block.things.buttons.iter_mut().zip(&plan.buttons) {
        let old = *timer;
        *timer = map(|lane| {
            let presses = mask(faced.0[lane] == cell) & mask(held.0[lane] == 0);
            deeds.button.0[lane] |= presses;
            select_byte(presses, BUTTON_TIME, old.0[lane])
        });
    }
    for (item, &cell) in block.things.counters.iter_mut().zip(&plan.counters) {
        let old = *item;
        // Hand and counter exchange what they hold.
        *item = map(|lane| {
            let is_one = mask((held.0[lane] == 0) != (old.0[lane] == 0));
            let swaps = mask(faced.0[lane] == cell) & is_one;
            now.0[lane] = select_byte(swaps, old.0[lane], now.0[lane]);
            select_byte(swaps, held.0[lane], old.0[lane])
        });
    }
    for (pot, &cell) in block.things.pots.iter_mut().zip(&plan.pots) {
        let hit = map(|lane| mask(faced.0[lane] == cell));
        use_pot(plan, pot, &hit, &held, &recipe, &mut now, &mut deeds);
    }
    deeds.plate_pickup =
        map(|lane| mask((now.0[lane] == PLATE) & (held.0[lane] == 0)) & useful.0[lane]);
    block.held[seat] = now;
    deeds
}

/// Finds where a taken plate is paid: no plate lies around, and hands have fewer plates than there are pots with contents.
#[inline(always)]
fn find_useful_plates<const SEATS: usize>(block: &Block<SEATS>, plates: &Bytes) -> Bytes {
    let (mut lies, mut pots) = (Bytes::ZERO, Bytes::ZERO);
    for item in &block.things.counters {
        each_lane(|lane| lies.0[lane] |= mask(item.0[lane] == PLATE));
    }
    for pot in &block.things.pots {
        each_lane(|lane| {
            lies.0[lane] |= mask(pot.items.0[lane] == PLATE);
            pots.0[lane] += u8::from(pot.items.0[lane] != 0);
        });
    }
    map(|lane| !lies.0[lane] & mask(plates.0[lane] < pots.0[lane]))
}

/// Pots: ingredients go in, soups come out.
#[inline(always)]
fn use_pot(
    plan: &Plan,
    pot: &mut PotLanes,
    hit: &Bytes,
    held: &Bytes,
    recipe: &Bytes,
    now: &mut Bytes,
    deeds: &mut Deeds,
) {
    let (items, timer) = (pot.items, pot.timer);
    let by_hand = mask(plan.starts_by_hand);
    each_lane(|lane| {
        let (held, before, recipe) = (held.0[lane], items.0[lane], recipe.0[lane]);
        let rests = hit.0[lane] & mask(timer.0[lane] == 0);
        let is_ready = mask(before & COOKED != 0);
        let serves = rests & is_ready & mask(held == PLATE);
        let dish = before.wrapping_add(held);
        deeds.dish_pickup.0[lane] |= serves & mask(dish == recipe | PLATE | COOKED);
        let fills = rests & !is_ready;
        let is_ingredient = mask((held >> 2 != 0) & (held & PLATE == 0));
        let adds = fills & is_ingredient & mask(count_of(before) != FULL);
        let of_it = held | held << 1;
        deeds.placement.0[lane] |= adds & mask(before & of_it < recipe & of_it);
        let after = before.wrapping_add(adds & held);
        let starts_full = fills & !by_hand & mask(count_of(after) == FULL);
        let starts = fills & by_hand & mask((held == 0) & (before != 0));
        deeds.cooking_start.0[lane] |= starts & mask(before == recipe);
        pot.items.0[lane] = after & !serves;
        pot.timer.0[lane] = select_byte(starts_full | starts, COOK_TIME, timer.0[lane]);
        now.0[lane] = select_byte(serves, dish, now.0[lane] & !adds);
    });
}

/// Pays for what a seat did.
#[inline(always)]
fn pay<const SEATS: usize>(
    plan: &Plan,
    block: &mut Block<SEATS>,
    seat: usize,
    deeds: &Deeds,
    gains: &mut Gains<SEATS>,
) {
    for (lanes, event, points) in [
        (&deeds.wanted, DELIVERY, DELIVERY_POINTS),
        (&deeds.wrong, WRONG_DELIVERY, plan.wrong),
        (&deeds.button, BUTTON, BUTTON_POINTS),
    ] {
        for lane in lanes.set() {
            gains.note_gain(lane, seat, event, points);
            block.score[lane] += points as i64;
            (0..SEATS).for_each(|other| gains.earn(lane, other, points));
        }
    }
    for lane in deeds.wanted.set() {
        block.things.delivered.0[lane] = 1;
    }
    for (lanes, (event, points)) in [
        (&deeds.dish_pickup, DISH_PICKUP),
        (&deeds.placement, PLACEMENT),
        (&deeds.cooking_start, COOKING_START),
        (&deeds.plate_pickup, PLATE_PICKUP),
    ] {
        for lane in lanes.set() {
            gains.note_gain(lane, seat, event, points);
            if plan.shaping != 0.0 {
                gains.earn(lane, seat, plan.shaping * points);
            }
        }
    }
}

/// The clocks of pots and buttons.
#[inline(always)]
fn run_clocks<const SEATS: usize>(block: &mut Block<SEATS>) {
    for pot in &mut block.things.pots {
        let timer = pot.timer;
        each_lane(|lane| {
            pot.items.0[lane] |= mask(timer.0[lane] == 1) & COOKED;
            pot.timer.0[lane] = timer.0[lane].saturating_sub(1);
        });
    }
    for timer in &mut block.things.buttons {
        let old = *timer;
        *timer = map(|lane| old.0[lane].saturating_sub(1));
    }
}
