//! The way in which the stages of a study are walked: the tree of blocks in the file, and the route that it becomes for
//! a participant.
//!
//! A block makes copies of its children, one after the other (`for_each`, then `repeat` for each value). In every copy,
//! it chooses among them and shuffles them again; children that are blocks stay whole. A guard (`when`) is evaluated
//! when the route reaches a copy: if it does not hold, the whole copy is passed over.

mod adjacency;
mod cases;
pub(crate) mod check;
pub(crate) mod drawn;
pub(crate) mod fill;
pub(crate) mod groups;
pub(crate) mod language_models;
pub(crate) mod most;
pub(crate) mod names;
pub(crate) mod read;
pub(crate) mod retries;
pub(crate) mod route;
pub(crate) mod same;
pub(crate) mod texts;
pub(crate) mod tree;
pub(crate) mod uses;

pub use self::fill::fill_names;
pub use self::route::{Gate, Visit, make_route};
pub use self::tree::{Bindings, Block, ForEach, Guard, Node};
pub use crate::limits::MAX_VISITS;
