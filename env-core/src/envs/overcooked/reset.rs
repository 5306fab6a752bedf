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
    let cells = start_cells(env, |bound| rng.below(bound));
    let facing = [(); SEATS].map(|()| Direction::ALL[rng.below(4) as usize]);
    first_state(cells, facing, Draws::Xoshiro(rng))
}

/// Source: CoGrid 0.3.2, `cogrid_env.py:316-454`, `core/pipeline/step.py:59-69`.
fn reset_cogrid(env: &Overcooked, seed: u64) -> State {
    let mut cells = numpy::Generator::new(seed);
    let start = start_cells(env, |bound| cells.integers(u64::from(bound)) as u32);
    let mut directions = numpy::Generator::new(seed);
    directions.integers((1 << 63) - 1);
    let facing = [(); SEATS].map(|()| Direction::ALL[directions.integers(4) as usize]);
    first_state(start, facing, Draws::Numpy(cells))
}

/// Draws the cell of each seat, and after each a direction that nobody uses, because CoGrid does.
fn start_cells(env: &Overcooked, mut draw: impl FnMut(u32) -> u32) -> [u8; SEATS] {
    let mut cells = [0; SEATS];
    for seat in 0..SEATS {
        cells[seat] = env.kitchen.starts[seat].unwrap_or_else(|| {
            let free: Vec<u8> = (0..CELLS as u8)
                .filter(|cell| env.kitchen.is_floor(*cell) && !cells[..seat].contains(cell))
                .collect();
            free[draw(free.len() as u32) as usize]
        });
        draw(4);
    }
    cells
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
