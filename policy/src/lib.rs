//! AI partners of Coplay: pure functions of the observation of a seat and of a small state of their own.
//!
//! A policy runs inside the simulation, on every peer and in the server's replica, and is saved and loaded
//! with the world: so it uses integers only, keeps its random numbers in its state, and never asks a clock.
//! This crate must not know of networks, sessions or studies.

#![forbid(unsafe_code)]

mod basic;
mod cook;
mod state;

use env_core::{Policy, Spec};

/// Names that [`by_name`] knows.
pub const NAMES: [&str; 3] = ["cook", "idle", "random"];

/// The policy of this name for an environment; none if the name is unknown, or if the policy cannot play
/// an environment with this observation and these actions.
pub fn by_name(name: &str, spec: &Spec) -> Option<Box<dyn Policy>> {
    match name {
        "cook" => Some(Box::new(cook::Cook::new(spec)?)),
        "idle" => Some(Box::new(basic::Idle::new(spec))),
        "random" => Some(Box::new(basic::Random::new(spec))),
        _ => None,
    }
}
