//! Movement: turning, walking, and who makes way.

use super::luck::Luck;
use super::state::{Agent, Direction, State};
use super::tables::{Motion, Tables};
use crate::contract::MAX_SEATS;

/// Moves every agent.
#[inline]
pub(super) fn walk<X, const COGRID: bool>(
    tables: &Tables,
    state: &mut State<X>,
    luck: &mut Luck,
    motion: impl Fn(usize) -> Motion,
) {
    if tables.seats == 2 {
        // For two, one after the other is the same by both sets of rules.
        let first = luck.first_of_two(&mut state.draws);
        step::<_, COGRID>(tables, state, first, motion(first));
        step::<_, COGRID>(tables, state, 1 - first, motion(1 - first));
        return;
    }
    let ranks = luck.ranks(&mut state.draws, tables.seats);
    if COGRID {
        return resolve_at_once(tables, state, &ranks, motion);
    }
    let mut order = [0; MAX_SEATS];
    for (seat, &rank) in ranks[..tables.seats].iter().enumerate() {
        order[usize::from(rank) % MAX_SEATS] = seat;
    }
    // CoGrid resolves all moves at once, and then four in a file may overlap. One after the other, nobody can.
    for &seat in &order[..tables.seats] {
        step::<_, COGRID>(tables, state, seat, motion(seat));
    }
}

/// Where an agent looks after its motion, and whether it wants to step.
#[inline]
fn turn<const COGRID: bool>(facing: Direction, motion: Motion) -> (Direction, bool) {
    match motion {
        Motion::Walk(direction) => (direction, true),
        Motion::Forward => (facing, true),
        // CoGrid: turning does nothing.
        Motion::Turn(quarters) if !COGRID => (Direction::of(facing as u8 + quarters), false),
        Motion::Turn(_) | Motion::Stay | Motion::Reach | Motion::Toggle => (facing, false),
    }
}

#[inline]
fn step<X, const COGRID: bool>(tables: &Tables, state: &mut State<X>, seat: usize, motion: Motion) {
    let (facing, steps) = turn::<COGRID>(state.agents[seat].facing, motion);
    let cell = state.agents[seat].cell;
    let target = tables.front(cell, facing);
    let free = steps & tables.walkable.has(state.kind(target)) & !state.occupied(tables, target);
    let agent = &mut state.agents[seat];
    agent.facing = facing;
    agent.cell = if free { target } else { cell };
}

/// Resolves all moves at once, in one pass and one cascade, as CoGrid does.
///
/// Source: CoGrid 0.3.2, `core/pipeline/movement.py`.
fn resolve_at_once<X>(
    tables: &Tables,
    state: &mut State<X>,
    ranks: &[u8; MAX_SEATS],
    motion: impl Fn(usize) -> Motion,
) {
    let seats = tables.seats;
    let mut wanted = [0; MAX_SEATS];
    for seat in 0..seats {
        let (facing, steps) = turn::<true>(state.agents[seat].facing, motion(seat));
        state.agents[seat].facing = facing;
        let cell = state.agents[seat].cell;
        let target = tables.front(cell, facing);
        let free = steps && tables.walkable.has(state.kind(target));
        wanted[seat] = if free { target } else { cell };
    }
    let from: [u16; MAX_SEATS] = state.agents.map(|Agent { cell, .. }| cell);
    let stays = |seat: usize| wanted[seat] == from[seat];
    let others = |seat: usize| (0..seats).filter(move |&other| other != seat);
    let is_blocked = |seat: usize| {
        !stays(seat)
            && others(seat).any(|other| {
                let outranked = wanted[other] == wanted[seat] && ranks[other] < ranks[seat];
                let in_the_way =
                    from[other] == wanted[seat] && (stays(other) || ranks[other] > ranks[seat]);
                outranked || in_the_way
            })
    };
    let blocked: [bool; MAX_SEATS] = core::array::from_fn(|seat| seat < seats && is_blocked(seat));
    let mut to = wanted;
    for seat in (0..seats).filter(|&seat| !stays(seat)) {
        let cascades = others(seat).any(|other| blocked[other] && from[other] == wanted[seat]);
        if blocked[seat] || cascades {
            to[seat] = from[seat];
        }
    }
    for seat in 0..seats {
        let swaps = others(seat).any(|other| to[seat] == from[other] && to[other] == from[seat]);
        state.agents[seat].cell = if swaps { from[seat] } else { to[seat] };
    }
}
