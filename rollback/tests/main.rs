//! The tests that use the crate as others do, in one program: linking is most of the time of a test.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod datagrams;
mod hands;
mod mug;
mod pace;
mod seen;
mod session;
mod simulation;
mod support;
