//! One step of a block: the arithmetic of all lanes together, without a branch on the actions of a lane.
//!
//! The order is that of `env_core::grid`: timers, movement, hands seat by seat, rewards.

use env_core::Action;
use env_core::grid::{Act, EMPTY};

use super::block::{Block, Contents};
use super::plan::{ACTIONS, LaneReward, Plan, Pot, REACH, code};
use crate::lanes::bytes::{Bytes, LANES, each_lane, map, mask, one_of, select_byte};
use crate::lanes::gains::Gains;

/// No cell: what a hand that does not act faces.
const NOWHERE: u8 = 255;

/// The acts of a seat's hands.
struct Interactions {
    act: Bytes,
    item: Bytes,
    /// The kind that it is done to.
    at: Bytes,
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
    tick(plan, block);
    walk(plan, block, &actions);
    let mut scored = [0.0; LANES];
    for (seat, actions) in actions.iter().enumerate() {
        let done = act(plan, block, seat, actions);
        for (number, reward) in plan.rewards.iter().enumerate() {
            pay(reward, number, seat, &done, gains, &mut scored);
        }
    }
    if gains.any {
        each_lane(|lane| block.score[lane] += scored[lane]);
    }
    each_lane(|lane| block.steps[lane] = block.steps[lane].saturating_add(1));
    gains.over = map(|lane| u8::from(block.steps[lane] >= plan.horizon));
}

/// Writes which actions may have an effect, `[lane, seat, action]`, if nobody moves.
#[inline(always)]
pub(super) fn write_masks<const SEATS: usize>(
    plan: &Plan,
    block: &mut Block<SEATS>,
    masks: &mut [u8],
) {
    let mut acts = [Bytes::ZERO; SEATS];
    block.kept_lying.copy_from_slice(&block.lying);
    block.kept_pots.copy_from_slice(&block.pots);
    for (seat, acts) in acts.iter_mut().enumerate() {
        // Each tries its hand after the timers, and everything is put back.
        let held = block.held[seat];
        tick(plan, block);
        let done = act(plan, block, seat, &Bytes([REACH; LANES]));
        *acts = map(|lane| u8::from((done.act.0[lane] != 0) & (block.over.0[lane] == 0)));
        block.held[seat] = held;
        block.lying.copy_from_slice(&block.kept_lying);
        block.pots.copy_from_slice(&block.kept_pots);
    }
    let (rows, _) = masks.as_chunks_mut::<ACTIONS>();
    for (lane, rows) in rows.chunks_exact_mut(SEATS).enumerate() {
        for (row, acts) in rows.iter_mut().zip(&acts) {
            // Everybody may turn and stay; nothing here can be toggled.
            *row = [1, 1, 1, 1, acts.0[lane], 0, 1];
        }
    }
}

/// Containers that are full work.
#[inline(always)]
fn tick<const SEATS: usize>(plan: &Plan, block: &mut Block<SEATS>) {
    for (pot, contents) in plan.pots.iter().zip(&mut block.pots) {
        let (count, timer) = (contents.count, contents.timer);
        contents.timer = map(|lane| {
            let works = (count.0[lane] == pot.capacity) & (timer.0[lane] > 0);
            timer.0[lane] - u8::from(works)
        });
    }
}

/// The cell in front of a cell; nobody stands at the border.
#[inline(always)]
pub(super) fn cell_in_front(cols: u8, cell: u8, facing: u8) -> u8 {
    let stride = select_byte(mask(facing & 1 == 1), cols, 1);
    let stride = select_byte(mask(facing & 2 == 2), stride.wrapping_neg(), stride);
    cell.wrapping_add(stride)
}

/// Draws who moves when: in each lane, the rank of each seat.
#[inline(always)]
fn draw_ranks<const SEATS: usize>(block: &mut Block<SEATS>) -> [Bytes; SEATS] {
    let mut ranks = [Bytes::ZERO; SEATS];
    if let [first, second] = &mut ranks[..] {
        // Two agents take one flip.
        each_lane(|lane| first.0[lane] = u8::from(block.draws[lane].flip()));
        *second = map(|lane| 1 - first.0[lane]);
        return ranks;
    }
    for (lane, draws) in block.draws.iter_mut().enumerate() {
        let mut drawn: [u8; SEATS] = std::array::from_fn(|seat| seat as u8);
        draws.shuffle(&mut drawn);
        for (ranks, rank) in ranks.iter_mut().zip(drawn) {
            ranks.0[lane] = rank;
        }
    }
    ranks
}

/// Turns and moves the agents, one after the other; who goes first is drawn.
#[inline(always)]
fn walk<const SEATS: usize>(plan: &Plan, block: &mut Block<SEATS>, actions: &[Bytes; SEATS]) {
    let ranks = draw_ranks(block);
    let mut targets = [Bytes::ZERO; SEATS];
    for seat in 0..SEATS {
        let (action, cell, old) = (actions[seat], block.cell[seat], block.facing[seat]);
        let facing = map(|lane| {
            // Up, down, left, right are 3, 1, 2, 0 as directions.
            let action = action.0[lane];
            let ends = mask((action == 0) | (action == 3));
            select_byte(mask(action < 4), action ^ (3 & ends), old.0[lane])
        });
        block.facing[seat] = facing;
        targets[seat] = map(|lane| cell_in_front(plan.cols, cell.0[lane], facing.0[lane]));
    }
    let mut free = [Bytes::ZERO; SEATS];
    for (place, lying) in plan.places[..plan.floors].iter().zip(&block.lying) {
        let lying = *lying;
        for seat in 0..SEATS {
            let (was, target) = (free[seat], targets[seat]);
            free[seat] = map(|lane| {
                was.0[lane] | mask((target.0[lane] == place.cell) & (lying.0[lane] == EMPTY))
            });
        }
    }
    let from = block.cell;
    let mut to = from;
    each_lane(|lane| {
        let mut cells: [u8; SEATS] = std::array::from_fn(|seat| from[seat].0[lane]);
        for rank in 0..SEATS {
            for seat in 0..SEATS {
                let target = targets[seat].0[lane];
                let wants = free[seat].0[lane] & mask(actions[seat].0[lane] < 4);
                let is_next = mask(ranks[seat].0[lane] == rank as u8);
                let others = (0..SEATS).filter(|&other| other != seat);
                let way = others.fold(wants & is_next, |way, other| {
                    way & mask(cells[other] != target)
                });
                cells[seat] = select_byte(way, target, cells[seat]);
            }
        }
        for (to, cell) in to.iter_mut().zip(cells) {
            to.0[lane] = cell;
        }
    });
    block.cell = to;
}

/// Lets a seat pick up or drop.
#[inline(always)]
fn act<const SEATS: usize>(
    plan: &Plan,
    block: &mut Block<SEATS>,
    seat: usize,
    action: &Bytes,
) -> Interactions {
    let (cell, facing) = (block.cell[seat], block.facing[seat]);
    let mut faced = map(|lane| {
        let cell = cell_in_front(plan.cols, cell.0[lane], facing.0[lane]);
        select_byte(mask(action.0[lane] == REACH), cell, NOWHERE)
    });
    // Where somebody stands, a hand reaches nothing.
    for other in (0..SEATS).filter(|&other| other != seat) {
        let (stands, before) = (block.cell[other], faced);
        faced = map(|lane| {
            let is_hidden = mask(before.0[lane] == stands.0[lane]);
            select_byte(is_hidden, NOWHERE, before.0[lane])
        });
    }
    let held = block.held[seat];
    let mut done = Interactions {
        act: Bytes::ZERO,
        item: Bytes::ZERO,
        at: Bytes::ZERO,
    };
    // What the hand holds afterwards, where something is done.
    let mut now = Bytes::ZERO;
    hold(plan, block, &faced, &held, &mut done, &mut now);
    take(plan, &faced, &held, &mut done, &mut now);
    deliver(plan, &faced, &held, &mut done);
    for (pot, contents) in plan.pots.iter().zip(&mut block.pots) {
        cook(pot, contents, &faced, &held, &mut done, &mut now);
    }
    block.held[seat] =
        map(|lane| select_byte(mask(done.act.0[lane] != 0), now.0[lane], held.0[lane]));
    done
}

/// Floor and surfaces: an empty hand takes, a full one puts.
#[inline(always)]
fn hold<const SEATS: usize>(
    plan: &Plan,
    block: &mut Block<SEATS>,
    faced: &Bytes,
    held: &Bytes,
    done: &mut Interactions,
    now: &mut Bytes,
) {
    let (mut lying, mut on_floor, mut surface) = (Bytes::ZERO, Bytes::ZERO, Bytes::ZERO);
    for (place, here) in plan.places.iter().zip(&block.lying) {
        let (place_cell, kind, here) = (place.cell, place.kind, *here);
        let fixed = mask(kind != EMPTY);
        each_lane(|lane| {
            let hit = mask(faced.0[lane] == place_cell);
            lying.0[lane] |= hit & here.0[lane];
            on_floor.0[lane] |= hit & !fixed;
            surface.0[lane] |= hit & kind;
        });
    }
    let mut changes = Bytes::ZERO;
    each_lane(|lane| {
        let (held, lying) = (held.0[lane], lying.0[lane]);
        let on_surface = mask(surface.0[lane] != EMPTY);
        let here = on_floor.0[lane] | on_surface;
        let takes = here & mask((held == EMPTY) & (lying != EMPTY));
        let puts = here & mask((held != EMPTY) & (lying == EMPTY));
        let put = select_byte(on_surface, code(Act::Place), code(Act::Drop));
        done.act.0[lane] = (takes & code(Act::Take)) | (puts & put);
        done.item.0[lane] = (takes & lying) | (puts & held);
        // The act is done to the thing that is lifted from the floor.
        done.at.0[lane] = (takes | puts) & select_byte(on_surface, surface.0[lane], takes & lying);
        now.0[lane] = takes & lying;
        changes.0[lane] = select_byte(takes | puts, faced.0[lane], NOWHERE);
    });
    for (place, here) in plan.places.iter().zip(&mut block.lying) {
        let (place_cell, old) = (place.cell, *here);
        // Where it changes, hand and place exchange what they hold.
        *here = map(|lane| {
            select_byte(
                mask(changes.0[lane] == place_cell),
                held.0[lane],
                old.0[lane],
            )
        });
    }
}

/// Sources: an empty hand gets one.
#[inline(always)]
fn take(plan: &Plan, faced: &Bytes, held: &Bytes, done: &mut Interactions, now: &mut Bytes) {
    for source in &plan.sources {
        let hit = faces(faced, &source.cells);
        each_lane(|lane| {
            let takes = hit.0[lane] & mask(held.0[lane] == EMPTY);
            done.act.0[lane] |= takes & code(Act::Take);
            done.item.0[lane] |= takes & source.gives;
            done.at.0[lane] |= takes & source.kind;
            now.0[lane] |= takes & source.gives;
        });
    }
}

/// Sinks: what they accept is gone.
#[inline(always)]
fn deliver(plan: &Plan, faced: &Bytes, held: &Bytes, done: &mut Interactions) {
    for sink in &plan.sinks {
        let hit = faces(faced, &sink.cells);
        let accepted = one_of(held, &sink.accepts);
        each_lane(|lane| {
            let gives = hit.0[lane] & accepted.0[lane];
            done.act.0[lane] |= gives & code(Act::Deliver);
            done.item.0[lane] |= gives & held.0[lane];
            done.at.0[lane] |= gives & sink.kind;
        });
    }
}

/// Containers: ingredients go in, results come out.
#[inline(always)]
fn cook(
    pot: &Pot,
    contents: &mut Contents,
    faced: &Bytes,
    held: &Bytes,
    done: &mut Interactions,
    now: &mut Bytes,
) {
    let hit = map(|lane| mask(faced.0[lane] == pot.cell));
    let with = one_of(held, &pot.with);
    let (count, timer, kind) = (contents.count, contents.timer, contents.kind);
    let (mut result, mut added, mut time) = (Bytes::ZERO, Bytes::ZERO, Bytes::ZERO);
    for dish in &pot.dishes {
        each_lane(|lane| {
            let ready = (count.0[lane] == pot.capacity)
                & (timer.0[lane] == 0)
                & (kind.0[lane] == dish.ingredient);
            result.0[lane] |= mask(ready) & dish.result;
            let fits = (kind.0[lane] == dish.ingredient) | (count.0[lane] == 0);
            let goes_in = fits & (held.0[lane] == dish.ingredient) & (count.0[lane] < pot.capacity);
            added.0[lane] |= mask(goes_in) & dish.ingredient;
            let full = mask(count.0[lane] + 1 == pot.capacity);
            time.0[lane] |= mask(goes_in) & select_byte(full, dish.time, pot.idle);
        });
    }
    each_lane(|lane| {
        let serves = hit.0[lane] & with.0[lane] & mask(result.0[lane] != EMPTY);
        let adds = hit.0[lane] & mask(added.0[lane] != EMPTY);
        done.act.0[lane] |= (serves & code(Act::Serve)) | (adds & code(Act::Add));
        done.item.0[lane] |= (serves & result.0[lane]) | (adds & held.0[lane]);
        done.at.0[lane] |= (serves | adds) & pot.kind;
        now.0[lane] |= serves & result.0[lane];
        contents.count.0[lane] = (count.0[lane] + (adds & 1)) & !serves;
        contents.kind.0[lane] = select_byte(adds, added.0[lane], kind.0[lane]) & !serves;
        contents.timer.0[lane] = select_byte(
            adds,
            time.0[lane],
            select_byte(serves, pot.idle, timer.0[lane]),
        );
    });
}

/// Where a hand faces one of these cells.
#[inline(always)]
fn faces(faced: &Bytes, cells: &[u8]) -> Bytes {
    one_of(faced, cells)
}

/// Pays a reward for the interactions of a seat.
#[inline(always)]
fn pay<const SEATS: usize>(
    reward: &LaneReward,
    number: usize,
    seat: usize,
    done: &Interactions,
    gains: &mut Gains<SEATS>,
    scored: &mut [f32; LANES],
) {
    let mut due = Bytes::ZERO;
    for &(act, item, at) in &reward.does {
        each_lane(|lane| {
            let does =
                (done.act.0[lane] == act) & (done.item.0[lane] == item) & (done.at.0[lane] == at);
            due.0[lane] |= mask(does);
        });
    }
    // Few steps earn anything.
    if !due.any() {
        return;
    }
    for lane in due.set() {
        gains.note_gain(lane, seat, number, reward.worth);
        for (other, rewards) in gains.rewards.iter_mut().enumerate() {
            if reward.common || other == seat {
                rewards[lane] += reward.worth;
            }
        }
        if reward.scored {
            scored[lane] += reward.worth;
        }
    }
}
