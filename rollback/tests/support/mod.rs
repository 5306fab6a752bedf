//! The parts that tests and bench of the session share: a toy world, a simulated network, whole matches.
#![allow(dead_code, reason = "every test and bench uses a part of it")]

pub(crate) mod arbiter;
pub(crate) mod network;
pub(crate) mod play;
pub(crate) mod scenario;
pub(crate) mod toy;
