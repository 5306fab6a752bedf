//! The source of each value of an observation, for batches that write the values of many instances together.

use alloc::vec::Vec;

use super::scene::{Facts, hand_of, kinds};
use crate::grid::kind::{EMPTY, KindId, KindSet};
use crate::grid::state::Direction;
use crate::grid::tables::{Hand, Tables};

/// The sides of an agent, in the order in which features name them.
pub(super) const SIDES: [Direction; 4] = [
    Direction::Right,
    Direction::Left,
    Direction::Down,
    Direction::Up,
];

/// The source of a value of an observation. Values of an agent are about that agent; all are whole numbers that a
/// byte holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The same number always.
    Constant(i8),
    /// By the direction of the agent.
    Facing([i8; 4]),
    /// By the cell of the agent.
    Cell(Vec<i8>),
    /// By the cell of the agent, and 0 while a thing lies on the floor on this side of it.
    Clear {
        /// The value by cell.
        cells: Vec<i8>,
        /// The side.
        side: Direction,
    },
    /// 1 while the agent holds this kind.
    Holds(KindId),
    /// The number of the kind that the agent holds and one more, or 0.
    HeldNumber,
    /// The way from another agent.
    Apart {
        /// The number of the other among the others, by seat.
        other: usize,
        /// 0 for rows, 1 for columns.
        axis: usize,
    },
    /// 1 while a container is in this stage on this side of the agent.
    Beside {
        /// The kinds of the container.
        kinds: KindSet,
        /// 0 empty, 1 partly filled, 2 working, 3 ready.
        stage: usize,
        /// The side.
        side: Direction,
    },
    /// 1 while the container in a cell is in this stage.
    Stage {
        /// The cell.
        cell: u16,
        /// The stage, as above.
        stage: usize,
    },
    /// The number of things of a kind in the container in a cell.
    Count {
        /// The cell.
        cell: u16,
        /// The kind.
        kind: KindId,
    },
    /// The steps that the container in a cell still works; -1 while it does not work.
    Time {
        /// The cell.
        cell: u16,
    },
    /// 1 while a thing of this kind lies in a cell.
    Lies {
        /// The cell.
        cell: u16,
        /// The kind.
        kind: KindId,
    },
}

/// The sources of an observation: the values of the seat itself, those of every other seat, then those of the grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    /// The values of one agent; those of every agent have the same sources.
    pub agent: Vec<Source>,
    /// The values of the whole grid.
    pub grid: Vec<Source>,
}

/// Checks whether nothing but loose things on the floor and on surfaces ever comes or goes.
pub(super) fn stays_in_place(tables: &Tables, facts: &Facts) -> bool {
    let Some(ground) = &tables.ground else {
        return false;
    };
    let is_loose = |kind| matches!(hand_of(tables, kind), Hand::Floor | Hand::Loose);
    let lasts = |&kind: &KindId| facts.lasting.has(kind) || is_loose(kind);
    !tables.is_cogrid() && ground.kinds.iter().all(lasts)
}

/// Tells where things may lie, with what stands there: [`EMPTY`] for the floor.
pub(super) fn places(facts: &Facts) -> impl Iterator<Item = (u16, KindId)> {
    let ground = (0..).zip(facts.ground.iter().copied());
    ground.filter(|&(_, kind)| kind == EMPTY || facts.surfaces.has(kind))
}

/// Finds the sources of flags for the kinds beside an agent.
pub(super) fn find_clear(
    tables: &Tables,
    facts: &Facts,
    set: KindSet,
    out: &mut [Source],
) -> Option<()> {
    let mut loose = kinds(tables).filter(|&kind| hand_of(tables, kind) == Hand::Loose);
    if loose.any(|kind| set.has(kind)) {
        return None;
    }
    for (index, (out, side)) in out.iter_mut().zip(SIDES).enumerate() {
        let flag = |cell: u16| {
            let kind = facts
                .ground
                .get(usize::from(facts.cells_around(cell)[index]));
            i8::from(kind.is_some_and(|&kind| set.has(kind)))
        };
        let cells = (0..tables.cells as u16).map(flag).collect();
        *out = Source::Clear { cells, side };
    }
    Some(())
}
