//! The tests that use the crate as others do, in one program: linking is most of the time of a test.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod appearance;
mod broken;
mod conformance;
mod dual_destination;
mod facing;
mod goal_finding;
mod goal_seeking;
mod grid;
mod hanabi;
mod kitchen;
mod overcooked;
mod overcooked_ai;
mod overcooked_jaxmarl_v2;
mod overcooked_v2;
mod playthrough;
mod search_rescue;
mod story;
mod strange;
mod toolkit;
mod turns;
