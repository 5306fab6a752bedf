//! Modules in the interpreter: sound ones and misbehaving ones.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail")]

mod counter;
mod misbehaving;
mod sound;
