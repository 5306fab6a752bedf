//! The grid toolkit holds its laws for worlds that nobody has thought of.

#![allow(
    clippy::unwrap_used,
    reason = "clippy knows the helpers of a test only inside its function"
)]

mod laws;
mod looks;
mod refusals;
mod world;
