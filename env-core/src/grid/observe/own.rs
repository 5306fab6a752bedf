//! Features that a world adds to those of the toolkit, and the window of `local_view`.

use alloc::string::String;
use alloc::vec::Vec;

use crate::grid::kind::{KindId, KindSet};
use crate::grid::tables::Tables;

/// A feature that a world adds, or its own form of one of the toolkit's.
///
/// Features of the toolkit are compact and fast; `GridWorld::observe` writes all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnFeature {
    /// A feature of each agent: its shape. The world writes it.
    Agent(Vec<u32>),
    /// A feature of the whole grid: its shape. The world writes it.
    Grid(Vec<u32>),
    /// A feature of each agent: 1 for the kind that it holds, a value for each of these.
    Held(Vec<KindId>),
    /// A feature of each agent: the way to the nearest things of these kinds.
    Closest(Vec<KindId>),
    /// A feature of each agent: the containers of these kinds in reading order.
    Containers(ContainerSet),
    /// A feature of each agent: the stages of the containers beside it.
    ContainersBeside(ContainerSet),
    /// A feature of the whole grid: for each of these kinds, its cells.
    Masks {
        /// The kinds, a mask each.
        kinds: Vec<KindId>,
        /// Rows and columns of a mask by the rules of CoGrid; by the corrected rules, those of the grid.
        cogrid: [usize; 2],
        /// True if things that lie in a cell count, false if only the cell's own kind counts.
        lying: bool,
    },
    /// A feature of the whole grid that never changes: 1 at an index.
    OneOf {
        /// The index, below `len`.
        index: u8,
        /// Number of values.
        len: u8,
    },
    /// `local_view` with channels of the world at the end of each cell. The world writes those alone.
    View {
        /// The ingredients that are counted in containers and in held dishes; [`super::EMPTY`] counts empty slots.
        ingredients: Vec<KindId>,
        /// Number of channels that the world writes.
        channels: usize,
    },
    /// A feature that needs something which the world does not have: the reason, as a sentence without its subject.
    Refused(String),
}

impl OwnFeature {
    /// A feature of each agent that the world writes.
    pub fn agent(shape: &[u32]) -> Self {
        Self::Agent(shape.into())
    }
}

/// The containers that a feature is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerSet {
    /// Their kinds.
    pub kinds: KindSet,
    /// The most containers that are described.
    pub count: usize,
    /// The ingredients that are counted in them.
    pub ingredients: Vec<KindId>,
}

/// The cells that `local_view` shows: the whole grid, or those around the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewWindow {
    /// Rows and columns in each direction; `None` for the whole grid.
    radius: Option<u8>,
    rows: usize,
    cols: usize,
}

impl ViewWindow {
    /// The window of a radius, or the whole grid.
    pub fn new(tables: &Tables, radius: Option<u8>) -> Self {
        let side = |count| radius.map_or(count, |radius| 2 * usize::from(radius) + 1);
        Self {
            radius,
            rows: side(tables.rows),
            cols: side(tables.cols),
        }
    }

    /// Rows and columns.
    pub fn size(&self) -> [usize; 2] {
        [self.rows, self.cols]
    }

    /// The place of a cell in the window around another, if it is seen from there; both by row and column.
    #[inline]
    pub fn place_of(&self, center: [i32; 2], cell: [i32; 2]) -> Option<usize> {
        let [row, col] = match self.radius {
            None => cell,
            Some(radius) => {
                let radius = i32::from(radius);
                [cell[0] - center[0] + radius, cell[1] - center[1] + radius]
            }
        };
        let inside = (0..self.rows as i32).contains(&row) && (0..self.cols as i32).contains(&col);
        inside.then(|| row as usize * self.cols + col as usize)
    }
}
