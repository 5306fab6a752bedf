//! Movement: turning, walking, and who makes way.

use super::motion::Move;
use super::random_draws::StepDraws;
use super::state::{Agent, State};
use super::tables::Tables;
use crate::contract::MAX_SEATS;

/// Moves two agents as they wish: one after the other, which is the same by both sets of rules.
#[inline(always)]
pub(super) fn walk_two_agents<X>(
    tables: &Tables,
    state: &mut State<X>,
    random: &mut StepDraws,
    [a, b]: [Move; 2],
) {
    let first = random.first_of_two(&mut state.draws);
    let (mut one, mut two) = (state.agents[first], state.agents[1 - first]);
    let (wish, other) = if first == 0 { (a, b) } else { (b, a) };
    step(tables, state, &mut one, wish, |cell| cell == two.cell);
    step(tables, state, &mut two, other, |cell| cell == one.cell);
    (state.agents[first], state.agents[1 - first]) = (one, two);
}

/// Moves every agent as it wishes.
pub(super) fn walk_agents<X, const COGRID: bool>(
    tables: &Tables,
    state: &mut State<X>,
    random: &mut StepDraws,
    wishes: &[Move],
) {
    let ranks = random.ranks(&mut state.draws, wishes.len());
    if COGRID {
        return resolve_at_once(tables, state, &ranks, wishes);
    }
    let mut order = [0; MAX_SEATS];
    for (seat, &rank) in ranks[..wishes.len()].iter().enumerate() {
        order[usize::from(rank) % MAX_SEATS] = seat;
    }
    // CoGrid resolves all moves together, so four in a file may overlap. One after the other, nobody can.
    for &seat in &order[..wishes.len()] {
        let mut agent = state.agents[seat];
        step(tables, state, &mut agent, wishes[seat], |cell| {
            state.occupied(tables, cell)
        });
        state.agents[seat] = agent;
    }
}

/// Turns an agent, and moves it if nothing and nobody is in the way.
#[inline(always)]
fn step<X>(
    tables: &Tables,
    state: &State<X>,
    agent: &mut Agent,
    wish: Move,
    occupied: impl Fn(u16) -> bool,
) {
    agent.facing = wish.turned(agent.facing);
    let target = tables.cell_in_front(agent.cell, agent.facing);
    let free = wish.steps() & tables.walkable.has(state.kind(target)) & !occupied(target);
    // Chosen without a branch.
    agent.cell ^= (agent.cell ^ target) & u16::from(free).wrapping_neg();
}

/// Resolves all moves together, in one pass and one cascade, as CoGrid does.
///
/// Source: CoGrid 0.3.2, `core/pipeline/movement.py`.
fn resolve_at_once<X>(
    tables: &Tables,
    state: &mut State<X>,
    ranks: &[u8; MAX_SEATS],
    wishes: &[Move],
) {
    let seats = wishes.len();
    let mut wanted = [0; MAX_SEATS];
    for seat in 0..seats {
        let wish = wishes[seat];
        let agent = &mut state.agents[seat];
        agent.facing = wish.turned(agent.facing);
        let (cell, target) = (agent.cell, tables.cell_in_front(agent.cell, agent.facing));
        let free = wish.steps() && tables.walkable.has(state.kind(target));
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
