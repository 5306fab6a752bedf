//! One step of a block: the arithmetic of all lanes together, without a branch on the actions of a lane.
//!
//! Each loop below runs over the lanes and has no dependence between them, so that the compiler makes vector
//! instructions of it. A mask is a byte of ones or of zeros. The order is that of `env_core::grid`: timers, movement,
//! hands seat by seat, rewards.

use env_core::Action;
use env_core::grid::{Act, EMPTY};

use super::block::{Block, Bytes, LANES};
use super::plan::{LaneReward, Plan, Pot, REACH, code};

/// No cell: what a hand that does not act faces.
const NOWHERE: u8 = 255;

/// The gains of a step of a block.
#[derive(Clone, Debug)]
pub(super) struct Gains {
    pub(super) rewards: [[f32; LANES]; 2],
    /// Bit `w` for reward `w`, by seat.
    pub(super) earned: [[u32; LANES]; 2],
    /// True if any lane got anything.
    pub(super) any: bool,
    /// Lanes that have reached the horizon.
    pub(super) over: Bytes,
}

impl Gains {
    pub(super) const NONE: Self = Self {
        rewards: [[0.0; LANES]; 2],
        earned: [[0; LANES]; 2],
        any: false,
        over: Bytes::ZERO,
    };
}

/// The acts of a seat's hands.
struct Interactions {
    act: Bytes,
    item: Bytes,
    /// The kind that it is done to.
    at: Bytes,
}

#[inline(always)]
fn mask(is: bool) -> u8 {
    u8::from(is).wrapping_neg()
}

#[inline(always)]
fn select(mask: u8, yes: u8, no: u8) -> u8 {
    (yes & mask) | (no & !mask)
}

/// Calls `f` for each lane.
#[inline(always)]
fn lanes(mut f: impl FnMut(usize)) {
    for lane in 0..LANES {
        f(lane);
    }
}

#[inline(always)]
fn map(f: impl FnMut(usize) -> u8) -> Bytes {
    Bytes(std::array::from_fn(f))
}

/// Advances every lane; `actions` is `[lane, seat]`.
#[inline(always)]
pub(super) fn step(
    plan: &Plan,
    block: &mut Block,
    actions: &[Action; 2 * LANES],
    gains: &mut Gains,
) {
    let actions: [Bytes; 2] = [0, 1].map(|seat| map(|lane| actions[2 * lane + seat] as u8));
    if gains.any {
        *gains = Gains::NONE;
    }
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
        lanes(|lane| block.score[lane] += scored[lane]);
        for (sums, rewards) in block.returns.iter_mut().zip(&gains.rewards) {
            lanes(|lane| sums[lane] += rewards[lane]);
        }
    }
    lanes(|lane| {
        block.steps[lane] = block.steps[lane].saturating_add(1);
        block.length[lane] = block.length[lane].saturating_add(1);
    });
    gains.over = map(|lane| u8::from(block.steps[lane] >= plan.horizon));
}

/// Containers that are full work.
#[inline(always)]
fn tick(plan: &Plan, block: &mut Block) {
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
fn front(cols: u8, cell: u8, facing: u8) -> u8 {
    let stride = select(mask(facing & 1 == 1), cols, 1);
    let stride = select(mask(facing & 2 == 2), stride.wrapping_neg(), stride);
    cell.wrapping_add(stride)
}

/// Turns and moves both agents, one after the other; who goes first is drawn.
#[inline(always)]
fn walk(plan: &Plan, block: &mut Block, actions: &[Bytes; 2]) {
    let mut second_first = Bytes::ZERO;
    lanes(|lane| second_first.0[lane] = mask(block.draws[lane].flip()));
    let mut targets = [Bytes::ZERO; 2];
    for seat in 0..2 {
        let (action, cell, old) = (actions[seat], block.cell[seat], block.facing[seat]);
        let facing = map(|lane| {
            // Up, down, left, right are 3, 1, 2, 0 as directions.
            let action = action.0[lane];
            let ends = mask((action == 0) | (action == 3));
            select(mask(action < 4), action ^ (3 & ends), old.0[lane])
        });
        block.facing[seat] = facing;
        targets[seat] = map(|lane| front(plan.cols, cell.0[lane], facing.0[lane]));
    }
    let mut free = [Bytes::ZERO; 2];
    for (place, lying) in plan.places[..plan.floors].iter().zip(&block.lying) {
        let lying = *lying;
        for seat in 0..2 {
            let (was, target) = (free[seat], targets[seat]);
            free[seat] = map(|lane| {
                was.0[lane] | mask((target.0[lane] == place.cell) & (lying.0[lane] == EMPTY))
            });
        }
    }
    let [from, from_other] = block.cell;
    let mut to = [Bytes::ZERO; 2];
    lanes(|lane| {
        let turn = second_first.0[lane];
        let wants = |seat: usize| free[seat].0[lane] & mask(actions[seat].0[lane] < 4);
        let cells = [from.0[lane], from_other.0[lane]];
        let moves = |seat: usize, other: u8| {
            let target = targets[seat].0[lane];
            select(wants(seat) & mask(target != other), target, cells[seat])
        };
        // Each as if it moved first, then each after the other.
        let first = [moves(0, cells[1]), moves(1, cells[0])];
        let second = [moves(0, first[1]), moves(1, first[0])];
        to[0].0[lane] = select(turn, second[0], first[0]);
        to[1].0[lane] = select(turn, first[1], second[1]);
    });
    block.cell = to;
}

/// Lets a seat pick up or drop.
#[inline(always)]
fn act(plan: &Plan, block: &mut Block, seat: usize, action: &Bytes) -> Interactions {
    let (cell, facing, other) = (block.cell[seat], block.facing[seat], block.cell[1 - seat]);
    let faced = map(|lane| {
        let cell = front(plan.cols, cell.0[lane], facing.0[lane]);
        select(
            mask((action.0[lane] == REACH) & (cell != other.0[lane])),
            cell,
            NOWHERE,
        )
    });
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
    block.held[seat] = map(|lane| select(mask(done.act.0[lane] != 0), now.0[lane], held.0[lane]));
    done
}

/// Floor and surfaces: an empty hand takes, a full one puts.
#[inline(always)]
fn hold(
    plan: &Plan,
    block: &mut Block,
    faced: &Bytes,
    held: &Bytes,
    done: &mut Interactions,
    now: &mut Bytes,
) {
    let (mut lying, mut on_floor, mut surface) = (Bytes::ZERO, Bytes::ZERO, Bytes::ZERO);
    for (place, here) in plan.places.iter().zip(&block.lying) {
        let (place_cell, kind, here) = (place.cell, place.kind, *here);
        let fixed = mask(kind != EMPTY);
        lanes(|lane| {
            let hit = mask(faced.0[lane] == place_cell);
            lying.0[lane] |= hit & here.0[lane];
            on_floor.0[lane] |= hit & !fixed;
            surface.0[lane] |= hit & kind;
        });
    }
    let mut changes = Bytes::ZERO;
    lanes(|lane| {
        let (held, lying) = (held.0[lane], lying.0[lane]);
        let on_surface = mask(surface.0[lane] != EMPTY);
        let here = on_floor.0[lane] | on_surface;
        let takes = here & mask((held == EMPTY) & (lying != EMPTY));
        let puts = here & mask((held != EMPTY) & (lying == EMPTY));
        let put = select(on_surface, code(Act::Place), code(Act::Drop));
        done.act.0[lane] = (takes & code(Act::Take)) | (puts & put);
        done.item.0[lane] = (takes & lying) | (puts & held);
        // The act is done to the thing that is lifted from the floor.
        done.at.0[lane] = (takes | puts) & select(on_surface, surface.0[lane], takes & lying);
        now.0[lane] = takes & lying;
        changes.0[lane] = select(takes | puts, faced.0[lane], NOWHERE);
    });
    for (place, here) in plan.places.iter().zip(&mut block.lying) {
        let (place_cell, old) = (place.cell, *here);
        // Where it changes, hand and place exchange what they hold.
        *here = map(|lane| {
            select(
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
        lanes(|lane| {
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
        lanes(|lane| {
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
    contents: &mut super::block::Contents,
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
        lanes(|lane| {
            let ready = (count.0[lane] == pot.capacity)
                & (timer.0[lane] == 0)
                & (kind.0[lane] == dish.ingredient);
            result.0[lane] |= mask(ready) & dish.result;
            let fits = (kind.0[lane] == dish.ingredient) | (count.0[lane] == 0);
            let goes_in = fits & (held.0[lane] == dish.ingredient) & (count.0[lane] < pot.capacity);
            added.0[lane] |= mask(goes_in) & dish.ingredient;
            let full = mask(count.0[lane] + 1 == pot.capacity);
            time.0[lane] |= mask(goes_in) & select(full, dish.time, pot.idle);
        });
    }
    lanes(|lane| {
        let serves = hit.0[lane] & with.0[lane] & mask(result.0[lane] != EMPTY);
        let adds = hit.0[lane] & mask(added.0[lane] != EMPTY);
        done.act.0[lane] |= (serves & code(Act::Serve)) | (adds & code(Act::Add));
        done.item.0[lane] |= (serves & result.0[lane]) | (adds & held.0[lane]);
        done.at.0[lane] |= (serves | adds) & pot.kind;
        now.0[lane] |= serves & result.0[lane];
        contents.count.0[lane] = (count.0[lane] + (adds & 1)) & !serves;
        contents.kind.0[lane] = select(adds, added.0[lane], kind.0[lane]) & !serves;
        contents.timer.0[lane] =
            select(adds, time.0[lane], select(serves, pot.idle, timer.0[lane]));
    });
}

/// Where a hand faces one of these cells.
#[inline(always)]
fn faces(faced: &Bytes, cells: &[u8]) -> Bytes {
    one_of(faced, cells)
}

/// Where a byte is one of these.
#[inline(always)]
fn one_of(bytes: &Bytes, these: &[u8]) -> Bytes {
    let mut any = Bytes::ZERO;
    for &this in these {
        lanes(|lane| any.0[lane] |= mask(bytes.0[lane] == this));
    }
    any
}

/// Pays a reward for the interactions of a seat.
#[inline(always)]
fn pay(
    reward: &LaneReward,
    number: usize,
    seat: usize,
    done: &Interactions,
    gains: &mut Gains,
    scored: &mut [f32; LANES],
) {
    let mut due = Bytes::ZERO;
    for &(act, item, at) in &reward.does {
        lanes(|lane| {
            let does =
                (done.act.0[lane] == act) & (done.item.0[lane] == item) & (done.at.0[lane] == at);
            due.0[lane] |= mask(does);
        });
    }
    // Few steps earn anything.
    if !due.any() {
        return;
    }
    gains.any = true;
    for lane in due.set() {
        gains.earned[seat][lane] |= 1 << number;
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
