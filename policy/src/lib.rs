//! AI partners of Coplay: pure functions of the observation of a seat and of a small state.
//!
//! A policy runs inside the simulation, on every peer and in the server's replica, and is saved and loaded
//! with the world: so scripts use integers only, networks a few bit-equal kernels ([`network`]), random numbers are
//! kept in the state, and nobody asks a clock.
//! This crate must not know of networks of machines, sessions or studies.

#![forbid(unsafe_code)]

mod action_shares;
mod basic;
mod cook;
mod directive;
mod imperfect;
pub mod network;
mod partners;
mod state;

use env_core::shared::{count_own_actions, without_marks};
use env_core::{Policy, Spec};

pub use action_shares::ActionShares;
pub use directive::{Directive, can_follow, directives, is_told, name_with_directive};
pub use imperfect::Imperfection;
pub use network::Network;
pub use partners::{Partners, policy_name, sha256_of};

/// Names that [`by_name`] knows.
pub const NAMES: [&str; 3] = ["cook", "idle", "random"];

/// Names that [`by_name`] knows beside [`NAMES`]: policies that wait for directives.
pub const WAITING: [&str; 2] = ["cook:wait", FOLLOW];

/// The name of the policy that does nothing until it gets a directive of its environment.
pub(crate) const FOLLOW: &str = "follow";

/// The name of the policy that an environment on a host brings itself: the researcher's own function.
pub const ENVIRONMENT: &str = "environment";

/// Returns the names of [`NAMES`] and [`WAITING`] whose policy can play an environment.
pub fn list_names(spec: &Spec) -> Vec<&'static str> {
    let mut names = [&NAMES[..], &WAITING].concat();
    names.retain(|name| by_name(name, spec).is_some());
    names
}

/// Returns the policy of this name for an environment; `None` if the name is unknown, or if the policy cannot play
/// an environment with this observation and these actions. Networks are not known by a name alone, see [`Partners`].
/// After a colon, a name has a directive (`cook:fetch_plate`, see [`directives`]).
/// The marks of shared seats ([`env_core::shared`]) are no actions for a policy.
pub fn by_name(name: &str, spec: &Spec) -> Option<Box<dyn Policy>> {
    if count_own_actions(spec) < spec.actions.len() {
        return by_name(name, &without_marks(spec));
    }
    match name {
        "cook" => Some(Box::new(cook::Cook::new(spec)?)),
        "idle" => Some(Box::new(basic::Idle::new(spec))),
        "random" => Some(Box::new(basic::Random::new(spec))),
        FOLLOW => Some(Box::new(basic::Follow::new(spec, None)?)),
        name => directive::open(name, spec),
    }
}
