//! Worlds that the server steps, and no page.
//!
//! [`HostedWorld`] is the contract: what the server asks of such a world, and the ways in which it may fail.
//! [`NativeHost`] fulfils it with a world of this program, for worlds with secrets.
//! This crate must not know studies, sessions, networks or the data of participants.

mod contract;
mod native;

pub use contract::{HostFacts, HostFault, HostInfo, HostStep, HostedWorld, Picture, Pixels};
pub use native::{NativeHost, hash_observation};
