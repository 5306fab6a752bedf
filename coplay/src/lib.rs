//! The parts of the `coplay` command.

#![forbid(unsafe_code)]

pub mod cli;
pub mod dev;
pub mod downloads;
pub mod import;
pub mod manual;
pub mod options;
pub mod pyodide;
pub mod python_env;
pub mod rehearsal_clock;
pub mod retain;
pub mod site;
pub mod template;
