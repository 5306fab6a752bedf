//! Instances that are played in lanes equal those that are stepped one by one, bit for bit.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod grid;
mod kitchen;
mod kitchen_v2;
mod player;
