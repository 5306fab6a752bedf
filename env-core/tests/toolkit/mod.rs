//! The grid toolkit holds its laws for worlds that nobody has thought of.

mod laws;
mod looks;
mod refusals;
mod world;
