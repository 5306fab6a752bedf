//! The first state of an episode, and what any state must be.
//!
//! An agent starts at the layout's next start cell, or on free floor drawn evenly; its direction is drawn.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::kind::{EMPTY, KindId};
use super::layout::GridGround;
use super::random_draws::{Draws, MAX_ROLLS};
use super::refusal::refuse;
use super::seats::all_seats;
use super::state::{Agent, CAPACITY, Direction, KIND, SLOTS, State, TIMER};
use super::tables::{Hand, Tables};
use super::{Grid, GridWorld};
use crate::contract::{MAX_SEATS, ParamError};
use crate::rng::{Rng, numpy};

pub(super) fn reset_grid<W: GridWorld, C>(grid: &Grid<W, C>, seed: u64) -> State<W::Extra> {
    let tables = &grid.tables;
    let mut rng = Rng::new(seed);
    let made;
    let ground = match &tables.ground {
        Some(ground) => ground,
        None => {
            made = generated(grid, &mut rng);
            &made
        }
    };
    let (agents, mut draws) = if tables.is_cogrid() {
        place_cogrid(tables, ground, seed)
    } else {
        place(tables, ground, rng)
    };
    let extra = grid.world.start(tables, &mut draws);
    State {
        steps: 0,
        score: 0.0,
        done: 0,
        agents,
        memory: memory(tables, ground),
        draws,
        injected: None,
        extra,
    }
}

/// The ground that the world makes; one that breaks its own plan is free floor.
fn generated<W: GridWorld, C>(grid: &Grid<W, C>, rng: &mut Rng) -> GridGround {
    let tables = &grid.tables;
    make(grid, rng).unwrap_or_else(|_| GridGround {
        rows: tables.rows,
        cols: tables.cols,
        kinds: vec![EMPTY; tables.cells],
        starts: Vec::new(),
    })
}

/// Checks the ground that the world makes for a seed.
pub(super) fn check_ground<W: GridWorld, C>(
    grid: &Grid<W, C>,
    seed: u64,
) -> Result<(), ParamError> {
    match &grid.tables.ground {
        Some(_) => Ok(()),
        None => make(grid, &mut Rng::new(seed)).map(drop),
    }
}

fn make<W: GridWorld, C>(grid: &Grid<W, C>, rng: &mut Rng) -> Result<GridGround, ParamError> {
    let (tables, plan) = (&grid.tables, "the plan says");
    let ground = GridGround::read(&grid.world.generate(rng), &tables.kinds)?;
    let count = |of: &dyn Fn(KindId) -> bool| ground.kinds.iter().filter(|&&kind| of(kind)).count();
    let (rows, cols) = (ground.rows, ground.cols);
    let fixtures = count(&|kind| tables.is_fixture(kind));
    let free = count(&|kind| kind == EMPTY);
    let fault = if (rows, cols) != (tables.rows, tables.cols) {
        let (want_rows, want_cols) = (tables.rows, tables.cols);
        format!("has {rows} rows of {cols}, and {plan} {want_rows} of {want_cols}")
    } else if fixtures > tables.fixtures {
        format!(
            "has {fixtures} containers and switches, and {plan} at most {}",
            tables.fixtures
        )
    } else if free < tables.seats {
        format!(
            "has {free} free cells, and there are {} seats",
            tables.seats
        )
    } else {
        return Ok(ground);
    };
    refuse("layout", fault)
}

fn memory(tables: &Tables, ground: &GridGround) -> Vec<u8> {
    let mut memory = vec![0; tables.fixture_place(tables.fixtures)];
    memory[..tables.cells].copy_from_slice(&ground.kinds);
    let fixtures = (0_u16..)
        .zip(&ground.kinds)
        .filter(|&(_, &kind)| tables.is_fixture(kind));
    for (index, (cell, &kind)) in fixtures.enumerate().take(tables.fixtures) {
        let record = &mut memory[tables.fixture_place(index)..];
        record[..2].copy_from_slice(&cell.to_le_bytes());
        record[KIND] = kind;
        if let Hand::Container(index) = tables.hands[usize::from(kind)] {
            let container = &tables.containers[usize::from(index)];
            (record[CAPACITY], record[TIMER]) = (container.capacity, container.idle);
        }
    }
    // Places without a fixture never run.
    for record in memory[2 * tables.cells..].chunks_exact_mut(tables.stride) {
        if record[KIND] == EMPTY {
            record[CAPACITY] = u8::MAX;
        }
    }
    memory
}

fn place(tables: &Tables, ground: &GridGround, mut rng: Rng) -> ([Agent; MAX_SEATS], Draws) {
    let mut agents = [Agent::default(); MAX_SEATS];
    for seat in 0..tables.seats {
        agents[seat].cell = start_cell(ground, &agents[..seat], |count| rng.below(count));
    }
    for agent in &mut agents[..tables.seats] {
        agent.facing = Direction::of(rng.below(4) as u8);
    }
    (agents, Draws::Xoshiro(rng))
}

/// Source: CoGrid 0.3.2, `cogrid_env.py:316-454`, `core/pipeline/step.py:59-69`.
fn place_cogrid(tables: &Tables, ground: &GridGround, seed: u64) -> ([Agent; MAX_SEATS], Draws) {
    let mut generator = numpy::Generator::new(seed);
    let mut agents = [Agent::default(); MAX_SEATS];
    for seat in 0..tables.seats {
        agents[seat].cell = start_cell(ground, &agents[..seat], |count| {
            generator.integers(u64::from(count)) as u32
        });
        // A direction that CoGrid draws and does not use.
        generator.integers(4);
    }
    let mut directions = numpy::Generator::new(seed);
    directions.integers((1 << 63) - 1);
    for agent in &mut agents[..tables.seats] {
        agent.facing = Direction::of(directions.integers(4) as u8);
    }
    (agents, Draws::Numpy(generator))
}

/// Returns the start cell of the seat after the placed ones.
fn start_cell(ground: &GridGround, placed: &[Agent], draw: impl FnOnce(u32) -> u32) -> u16 {
    if let Some(&start) = ground.starts.get(placed.len()) {
        return start;
    }
    let is_free = |&(cell, &kind): &(u16, &KindId)| {
        kind == EMPTY && placed.iter().all(|agent| agent.cell != cell)
    };
    let free: Vec<u16> = (0..)
        .zip(&ground.kinds)
        .filter(is_free)
        .map(|(cell, _)| cell)
        .collect();
    free[draw(free.len() as u32) as usize]
}

/// Checks whether a state that was read from bytes may be one of this world: no index is out of its range.
pub(super) fn check_state<W: GridWorld, C>(grid: &Grid<W, C>, state: &State<W::Extra>) -> bool {
    let tables = &grid.tables;
    let known = |kind: KindId| usize::from(kind) <= tables.kinds.len();
    if state.memory.len() != tables.fixture_place(tables.fixtures)
        || !state.score.is_finite()
        || state.done & !all_seats(tables.seats) != 0
        || matches!(state.draws, Draws::Numpy(_)) != tables.is_cogrid()
    {
        return false;
    }
    // Nobody carries a fixture: put down, it would have no memory.
    let thing = |kind: KindId| known(kind) && !tables.is_fixture(kind);
    let agents = state.agents.iter().enumerate().all(|(seat, agent)| {
        if seat < tables.seats {
            usize::from(agent.cell) < tables.cells && thing(agent.held)
        } else {
            *agent == Agent::default()
        }
    });
    let kinds = state.kinds(tables).iter().copied().all(known);
    // CoGrid shows numbers: for a container its contents and time, which is not a kind, for others what is wanted.
    let fits = |(&kind, &value): (&KindId, &u8)| match tables.hands[usize::from(kind) & 63] {
        Hand::Container(_) if tables.is_cogrid() => true,
        Hand::Surface(_) | Hand::Sink(_) => thing(value),
        _ => known(value),
    };
    let mut cells = state.kinds(tables).iter().zip(state.values(tables));
    let values = kinds && cells.all(fits);
    agents && kinds && values && fixtures_fit(tables, state) && injected_fit(tables, state)
}

fn fixtures_fit<X>(tables: &Tables, state: &State<X>) -> bool {
    let standing = state
        .kinds(tables)
        .iter()
        .filter(|&&kind| tables.is_fixture(kind))
        .count();
    let kept = state
        .fixtures(tables)
        .filter(|fixture| fixture.kind() != EMPTY)
        .count();
    let fits = |record: &[u8]| {
        let (cell, kind) = (u16::from_le_bytes([record[0], record[1]]), record[KIND]);
        if kind == EMPTY {
            let mut bytes = record.iter().enumerate();
            return bytes.all(|(at, &byte)| byte == if at == CAPACITY { u8::MAX } else { 0 });
        }
        // A container that is not full waits with its longest time.
        let (capacity, longest) = match tables.hands[usize::from(kind) & 63] {
            Hand::Container(index) => {
                let container = &tables.containers[usize::from(index)];
                (container.capacity, container.idle)
            }
            Hand::Switch(time) => (0, time),
            _ => return false,
        };
        let (count, slots) = (usize::from(record[SLOTS - 1]), &record[SLOTS..]);
        usize::from(cell) < tables.cells
            && state.kind(cell) == kind
            && record[CAPACITY] == capacity
            && record[TIMER] <= longest
            && count <= usize::from(capacity)
            && slots[..count]
                .iter()
                .all(|&kind| kind != EMPTY && usize::from(kind) <= tables.kinds.len())
            && slots[count..].iter().all(|&kind| kind == EMPTY)
    };
    standing == kept
        && state.memory[2 * tables.cells..]
            .chunks_exact(tables.stride)
            .all(fits)
}

fn injected_fit<X>(tables: &Tables, state: &State<X>) -> bool {
    state.injected.as_ref().is_none_or(|injected| {
        let rolls = injected.rolls.unwrap_or([0.0; MAX_ROLLS]);
        let ranks = injected.ranks.unwrap_or_default();
        rolls.iter().all(|roll| (0.0..=1.0).contains(roll))
            && ranks[..tables.seats]
                .iter()
                .all(|&rank| usize::from(rank) < tables.seats)
    })
}
