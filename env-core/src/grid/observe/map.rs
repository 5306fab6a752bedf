//! `full_map_encoding`: the whole grid, a few numbers a cell.

use super::scene::Scene;
use crate::grid::state::Direction;
use crate::value::Value;

/// Rows and columns of CoGrid's map.
pub(super) const COGRID_SIDE: usize = 12;
/// Numbers of a cell.
const COGRID_LEN: usize = 3;
const LEN: usize = 6;

/// Rows, columns and numbers of a cell.
pub(super) fn shape(cogrid: bool, rows: usize, cols: usize) -> [usize; 3] {
    if cogrid {
        [COGRID_SIDE, COGRID_SIDE, COGRID_LEN]
    } else {
        [rows, cols, LEN]
    }
}

/// Writes for each cell: the kind, the thing that lies there, the number of things in a container there, its time, the
/// direction of an agent and one more or 0, the thing that the agent holds.
#[inline(never)]
pub(super) fn write<V: Value>(scene: &Scene<'_>, out: &mut [V]) {
    out.fill(V::ZERO);
    let whole = |number: u8| V::whole(i32::from(number));
    for (cell, out) in out.chunks_exact_mut(LEN).enumerate() {
        (out[0], out[1]) = (whole(scene.kinds[cell]), whole(scene.kind_lying_on(cell)));
    }
    for fixture in scene.fixtures().filter(|fixture| fixture.kind() > 0) {
        let start = usize::from(fixture.cell()) * LEN;
        (out[start + 2], out[start + 3]) = (whole(fixture.count()), whole(fixture.timer()));
    }
    for agent in scene.agents {
        let start = usize::from(agent.cell) * LEN;
        (out[start + 4], out[start + 5]) = (whole(agent.facing as u8 + 1), whole(agent.held));
    }
}

/// Writes for each cell by the rules of CoGrid: the kind, 0, the number that it shows. An agent hides the thing under
/// it; its kind comes after the others and shows its direction, its number is the thing that it holds.
///
/// Source: CoGrid 0.3.2, `feature_space/features.py:34`.
#[inline(never)]
pub(super) fn write_cogrid<V: Value>(scene: &Scene<'_>, out: &mut [V]) {
    out.fill(V::ZERO);
    // CoGrid: bytes with a sign.
    let whole = |number: u8| V::whole(i32::from(number as i8));
    let place = |cell: u16| {
        let [row, col] = scene.place(cell);
        (row as usize * COGRID_SIDE + col as usize) * COGRID_LEN
    };
    for cell in 0..scene.kinds.len() as u16 {
        let (start, index) = (place(cell), usize::from(cell));
        out[start] = whole(scene.kinds[index]);
        out[start + 2] = whole(scene.values[index]);
    }
    let first = scene.tables.kinds.len() as u8 + 1;
    for agent in scene.agents {
        let start = place(agent.cell);
        let looks = match agent.facing {
            Direction::Up => 0,
            Direction::Right => 1,
            Direction::Down => 2,
            Direction::Left => 3,
        };
        (out[start], out[start + 2]) = (whole(first + looks), whole(agent.held));
    }
}
