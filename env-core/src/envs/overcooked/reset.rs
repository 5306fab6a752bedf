//! The first state of an episode.
//!
//! A cook starts at the layout's start cell of its seat, or on free floor drawn evenly; its direction is drawn.

use alloc::vec::Vec;

use super::Overcooked;
use super::kitchen::{CELLS, COLS, POTS, ROWS, SEATS};
use super::state::{Chef, Direction, Draws, Item, Pot, State};
use crate::rng::{Rng, numpy};

pub(super) fn reset(env: &Overcooked, seed: u64) -> State {
    if env.is_cogrid() {
        reset_cogrid(env, seed)
    } else {
        reset_corrected(env, seed)
    }
}

fn reset_corrected(env: &Overcooked, seed: u64) -> State {
    let mut rng = Rng::new(seed);
    let mut cells = [0; SEATS];
    for seat in 0..SEATS {
        cells[seat] = start_cell(env, &cells[..seat], |count| rng.below(count));
    }
    let facing = [(); SEATS].map(|()| Direction::ALL[rng.below(4) as usize]);
    first_state(cells, facing, Draws::Xoshiro(rng))
}

/// Source: CoGrid 0.3.2, `cogrid_env.py:316-454`, `core/pipeline/step.py:59-69`.
fn reset_cogrid(env: &Overcooked, seed: u64) -> State {
    let mut generator = numpy::Generator::new(seed);
    let mut cells = [0; SEATS];
    for seat in 0..SEATS {
        cells[seat] = start_cell(env, &cells[..seat], |count| {
            generator.integers(u64::from(count)) as u32
        });
        // A direction that CoGrid draws and does not use.
        generator.integers(4);
    }
    let mut directions = numpy::Generator::new(seed);
    directions.integers((1 << 63) - 1);
    let facing = [(); SEATS].map(|()| Direction::ALL[directions.integers(4) as usize]);
    first_state(cells, facing, Draws::Numpy(generator))
}

/// The start cell of the seat after those that are taken.
fn start_cell(env: &Overcooked, taken: &[u8], draw: impl FnOnce(u32) -> u32) -> u8 {
    env.kitchen.starts[taken.len()].unwrap_or_else(|| {
        let is_free = |cell: &u8| env.kitchen.is_floor(*cell) && !taken.contains(cell);
        let free: Vec<u8> = (0..CELLS as u8).filter(is_free).collect();
        free[draw(free.len() as u32) as usize]
    })
}

fn first_state(cells: [u8; SEATS], facing: [Direction; SEATS], draws: Draws) -> State {
    State {
        steps: 0,
        soups: 0,
        chefs: core::array::from_fn(|seat| Chef {
            cell: cells[seat],
            facing: facing[seat],
            held: Item::Empty,
        }),
        pots: [Pot::EMPTY; POTS],
        items: [[Item::Empty; COLS]; ROWS],
        draws,
        injected: None,
    }
}
