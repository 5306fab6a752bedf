//! States that no play leads to: one that is taken up can be looked at and played, and stays one that is taken up.

use env_core::draw::DrawList;
use env_core::envs::{NativeEnvironment, Visitor, visit};
use env_core::grid::state::Direction;
use env_core::grid::{CogridRules, Grid, GridWorld, State};
use env_core::rng::Rng;
use env_core::{Action, BatchObserver as _, Environment as _, StepOutcome};

const STATES: u64 = 400;

/// Plays a little, changes the state a little, and plays on if it is still one.
struct Change;

impl Visitor for Change {
    /// The number of states that were accepted.
    type Output = u64;

    fn visit<E: NativeEnvironment>(self, _: E) -> u64 {
        unreachable!("every environment here is a grid")
    }

    fn visit_grid<W, C>(self, grid: Grid<W, C>) -> u64
    where
        W: GridWorld<Extra: Send> + Send + Sync + 'static,
        C: CogridRules<W>,
    {
        let taken = (0..STATES).filter(|&seed| {
            let (mut rng, mut state) = (Rng::new(seed), grid.reset(seed));
            for _ in 0..rng.below(60) {
                step(&grid, &mut state, &mut rng);
            }
            assert!(grid.valid(&state), "{state:?}");
            for _ in 0..=rng.below(3) {
                change(&grid, &mut state, &mut rng);
            }
            let taken = grid.valid(&state);
            for _ in 0..12 * u32::from(taken) {
                look(&grid, &state);
                step(&grid, &mut state, &mut rng);
                assert!(grid.valid(&state), "{state:?}");
            }
            taken
        });
        taken.count() as u64
    }
}

fn step<W: GridWorld, C: CogridRules<W>>(
    grid: &Grid<W, C>,
    state: &mut State<W::Extra>,
    rng: &mut Rng,
) {
    let (seats, actions) = (grid.tables().seats, grid.tables().motions.len() as u32);
    let row: Vec<Action> = (0..seats).map(|_| rng.below(actions) as Action).collect();
    let mut outcome = StepOutcome::default();
    grid.step(state, &row, &mut outcome);
    assert!(outcome.rewards.iter().all(|reward| reward.is_finite()));
}

/// Changes an agent, a byte of the memory, or the clock.
fn change<W: GridWorld, C: CogridRules<W>>(
    grid: &Grid<W, C>,
    state: &mut State<W::Extra>,
    rng: &mut Rng,
) {
    let tables = grid.tables();
    let byte = match rng.flip() {
        true => rng.below(tables.kinds.len() as u32 + 2) as u8,
        false => rng.below(256) as u8,
    };
    let agent = rng.below(tables.seats as u32) as usize;
    match rng.below(4) {
        0 => {
            state.agents[agent].cell = rng.below(tables.cells as u32) as u16;
            state.agents[agent].facing = Direction::of(byte);
        }
        1 => state.agents[agent].held = byte,
        2 => {
            let at = rng.below(state.memory.len() as u32) as usize;
            state.memory[at] = byte;
        }
        _ => state.steps = u32::MAX - u32::from(byte),
    }
}

fn look<W: GridWorld, C: CogridRules<W>>(grid: &Grid<W, C>, state: &State<W::Extra>) {
    let (spec, seats) = (grid.spec(), grid.tables().seats);
    let mut values = vec![0.0; spec.observation_len()];
    let mut bytes = vec![0; values.len()];
    let (mut words, mut picture) = (String::new(), DrawList::default());
    for seat in 0..seats {
        grid.observe(state, seat, &mut values);
        assert!(values.iter().all(|value| value.is_finite()));
        if spec.compact {
            grid.observe_compact(state, seat, &mut bytes);
            let same = |(&byte, &value): (&i8, &f32)| f32::from(byte) == value;
            assert!(bytes.iter().zip(&values).all(same), "{state:?}");
        }
        grid.mask(state, seat);
        grid.describe(state, seat, &mut words);
    }
    grid.draw(state, None, &mut picture);
}

#[test]
fn a_state_that_is_taken_up_can_be_played() {
    let cogrid = r#"{"rules":"cogrid-0.3.2"}"#;
    let ordered = r#"{"rules":"cogrid-0.3.2","orders":{"spawn":{"onion_soup":0.1,"tomato_soup":0.1},"max_active":2,"time_limit":50}}"#;
    for (id, params) in [
        ("overcooked", "{}"),
        ("overcooked", cogrid),
        ("overcooked", ordered),
        ("overcooked_v2", "{}"),
        ("overcooked_v2", cogrid),
        ("goal_finding", r#"{"goal_moves_every":5,"seats":4}"#),
        ("goal_finding", cogrid),
        ("goal_seeking", "{}"),
        ("search_rescue", "{}"),
        ("search_rescue", cogrid),
        ("grid", include_str!("grid/workshop.json")),
    ] {
        let taken = visit(id, params, Change).unwrap();
        // Enough of either, or nothing is shown.
        assert!((STATES / 10..STATES).contains(&taken), "{id}: {taken}");
    }
}
