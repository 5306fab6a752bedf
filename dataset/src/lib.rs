//! Tables, verification and payments of a data folder.
//!
//! Everything here reads a data folder, also while a server writes to it; [`pay`] marks payments as paid.
//! This crate must not know of servers, sockets and command lines.

#![forbid(unsafe_code)]

pub mod agents;
pub mod cells;
mod environment_file;
pub mod export;
#[cfg(test)]
mod fixtures;
pub mod lerobot;
pub mod minari;
mod output_tree;
pub mod pay;
pub mod progress;
pub mod recording;
pub mod study_crate;
pub mod time;
pub mod verify;
pub mod who;
