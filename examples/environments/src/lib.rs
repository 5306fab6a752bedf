//! Environments in a page each, to begin from: `docs/grid-toolkit.md` and `docs/porting.md` walk through them.

#![forbid(unsafe_code)]

pub mod errands;
pub mod goal;
pub mod matrix_game;
pub mod moving_goal;
pub mod ported;
pub mod public_goods;
pub mod rooms;
pub mod smithy;
