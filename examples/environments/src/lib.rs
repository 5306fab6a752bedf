//! Grid worlds in a page each, to begin from: `docs/grid-toolkit.md` walks through them.

pub mod goal;
pub mod moving_goal;
pub mod rooms;
pub mod smithy;
