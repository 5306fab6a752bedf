//! One step: timers, the world's own tick, movement, hands, rewards, ends.
//!
//! Source: CoGrid 0.3.2, `core/pipeline/step.py:122-244`; what [`super::RuleSet::Corrected`] mends is marked "CoGrid:".

use super::cogrid::{self, CogridRules};
use super::kind::KindSet;
use super::motion::Move;
use super::random_draws::StepDraws;
use super::reward::{CompiledWhen, Pay};
use super::seats::all_seats;
use super::state::{CAPACITY, COUNT, Direction, FIXTURE_HEAD, State, TIMER};
use super::tables::Tables;
use super::{Grid, GridWorld, interactions, movement};
use crate::contract::{Action, MAX_SEATS, StepOutcome};

/// Advances the state by one step; the two sets of rules are compiled apart.
pub(super) fn step_grid<W: GridWorld, C: CogridRules<W>>(
    grid: &Grid<W, C>,
    state: &mut State<W::Extra>,
    actions: &[Action],
    outcome: &mut StepOutcome,
) {
    outcome.clear();
    let everyone = all_seats(grid.tables.seats);
    if grid.tables.is_cogrid() {
        // CoGrid: the world continues after the end, unpaid.
        advance::<W, C, true, ANY>(grid, state, actions, outcome);
    } else if state.done != everyone {
        if grid.tables.seats == 2 {
            advance::<W, C, false, 2>(grid, state, actions, outcome);
        } else {
            advance::<W, C, false, ANY>(grid, state, actions, outcome);
        }
    }
    finish(grid, state, outcome);
    outcome.over = state.done == everyone;
}

/// In place of a number of seats: as many as there are.
const ANY: usize = 0;

#[inline]
fn advance<W: GridWorld, C: CogridRules<W>, const COGRID: bool, const SEATS: usize>(
    grid: &Grid<W, C>,
    state: &mut State<W::Extra>,
    actions: &[Action],
    outcome: &mut StepOutcome,
) {
    let tables = &grid.tables;
    let seats = if SEATS == ANY { tables.seats } else { SEATS };
    let mut wishes = [Move::STAY; MAX_SEATS];
    for (seat, wish) in wishes[..seats].iter_mut().enumerate() {
        // CoGrid: an agent that is done continues to act.
        if COGRID || state.done >> seat & 1 == 0 {
            *wish = tables.move_of(actions, seat);
        }
    }
    let mut pay = Pay {
        outcome,
        seats,
        done: state.done,
        scored: 0.0,
        facing: Direction::default(),
    };
    let agents = state.agents;
    let injected = state.injected.take();
    let mut random = StepDraws::new(&mut state.draws, injected);
    let before = if COGRID {
        Some((
            cogrid::record_sights(tables, state, actions),
            state.extra.clone(),
        ))
    } else {
        None
    };
    tick::<_, COGRID>(tables, state);
    grid.world.tick(tables, state, &mut random, &mut pay);
    if seats == 2 {
        movement::walk_two_agents(tables, state, &mut random, [wishes[0], wishes[1]]);
    } else {
        movement::walk_agents::<_, COGRID>(tables, state, &mut random, &wishes[..seats]);
    }
    for (seat, wish) in wishes[..seats].iter().enumerate() {
        if !wish.acts() {
            continue;
        }
        let motion = tables.motion_of(actions, seat);
        let did = interactions::perform_act::<W, C, COGRID>(grid, state, seat, motion);
        if let Some(did) = did {
            pay.facing = state.agents[seat].facing;
            grid.world.earn(tables, state, &did, &mut pay);
        }
    }
    state.steps = state.steps.saturating_add(1);
    if let Some((sights, extra)) = &before {
        let sights = &sights[..seats];
        C::earn(&grid.world, tables, state, sights, extra, &mut pay);
        pay.settle(tables);
    } else {
        if tables.stands {
            stand(tables, state, &mut pay);
        }
        grid.world
            .after(tables, state, &agents[..seats], actions, &mut pay);
    }
    // CoGrid: what happens after the end counts no more.
    if state.done != all_seats(seats) {
        state.score += pay.scored;
    }
}

/// Timers run: containers that are full, switches that are lit.
#[inline]
fn tick<X, const COGRID: bool>(tables: &Tables, state: &mut State<X>) {
    let mut place = 2 * tables.cells;
    for _ in 0..tables.fixtures {
        let fixture = &mut state.memory[place..place + FIXTURE_HEAD];
        place += tables.stride;
        let full = fixture[COUNT] == fixture[CAPACITY];
        fixture[TIMER] -= u8::from(full & (fixture[TIMER] > 0));
        if COGRID && fixture[CAPACITY] > 0 {
            // CoGrid: the number is made before the agents act, so it lags the contents by a step.
            let cell = u16::from_le_bytes([fixture[0], fixture[1]]);
            let shown = fixture[COUNT].wrapping_mul(fixture[TIMER].wrapping_add(1));
            state.set_value(tables, cell, shown);
        }
    }
}

/// Pays rewards for standing somewhere, after the step.
#[inline]
fn stand<X>(tables: &Tables, state: &State<X>, pay: &mut Pay<'_>) {
    for (index, paid) in tables.rewards.iter().enumerate() {
        if let CompiledWhen::Stands(on) = paid.due {
            for (seat, agent) in state.agents[..tables.seats].iter().enumerate() {
                if on.has(state.kind(agent.cell))
                    && pay.done >> seat & 1 == 0
                    && paid.is_for(agent.facing)
                {
                    pay.give(tables, index, seat as u8, paid.worth);
                }
            }
        }
    }
}

/// Ends the episode of seats that are terminated or truncated.
#[inline]
fn finish<W: GridWorld, C>(
    grid: &Grid<W, C>,
    state: &mut State<W::Extra>,
    outcome: &mut StepOutcome,
) {
    let seats = grid.tables.seats;
    if W::TERMINATES || grid.tables.terminal != KindSet::default() {
        for seat in 0..seats {
            let terminated = grid.world.terminated(&grid.tables, state, seat);
            outcome.terminated |= u16::from(terminated) << seat;
        }
    }
    if state.steps >= grid.horizon {
        outcome.truncated = all_seats(seats)
            & if grid.tables.is_cogrid() {
                u16::MAX
            } else {
                !outcome.terminated
            };
    }
    state.done |= outcome.terminated | outcome.truncated;
}
