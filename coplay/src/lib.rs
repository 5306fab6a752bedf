//! The parts of the `coplay` command.

#![forbid(unsafe_code)]

pub mod cli;
pub mod dev;
pub mod options;
pub mod pyodide;
pub mod rehearsal_clock;
pub mod retain;
pub mod template;
