//! Worlds that only the server steps.
//!
//! [`HostedWorld`] is the contract: the server's requests to such a world, and the ways in which it may fail.
//! [`NativeHost`] fulfils it with a world of this program, for worlds with secrets.
//! [`ProcessHost`] fulfils it with a process in any language: [`wire`] is the protocol without pipes,
//! the rest is its shell.
//! This crate must not know studies, sessions, networks or the data of participants.

#![forbid(unsafe_code)]

mod check;
mod contract;
mod error_output;
mod file_set;
mod native;
mod os_process;
mod pool;
mod process;
mod python_files;
mod requirements;
mod source;
pub mod wire;
mod world;

pub use check::{HostReport, HostWays, PictureReport, Way, WorldReport, check_host, play_host};
pub use contract::{HostFacts, HostFault, HostInfo, HostStep, HostedWorld, Picture, Pixels};
pub use native::{NativeHost, hash_observation};
pub use pool::{HostPool, OpenHost};
pub use process::{HostCommand, HostLimits, ProcessHost};
pub use python_files::{python_host_sha256, write_python_host};
pub use requirements::{
    LOCK, PythonEnvironment, RequirementsError, find_interpreter, install_requirements,
};
pub use source::HostSource;
pub use world::HostWorld;
