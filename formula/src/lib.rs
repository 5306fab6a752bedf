//! Formulas: the form of `until`, `when`, `bonus` and the parts of a HUD once they are read and type-checked.
//!
//! An [`Expr`] is a small tree that server and page evaluate alike, bit for bit: [`eval`] takes it with a [`Scope`]
//! that knows the variables, and returns a [`Value`] or the operation without a value ([`EvalError`]).
//! Numbers are `f64` and always finite; there is no negative zero. Only `+ - * /` and functions written here touch
//! them, in the order of the tree, so nothing depends on the platform.
//!
//! A tree that came from elsewhere is not trusted: it is bounded when it is decoded ([`MAX_DEPTH`], [`MAX_NODES`]),
//! its evaluation ends within [`MAX_STEPS`], and neither panics.
//!
//! This crate must not know how formulas are written, which variables exist, or who evaluates them: `study::formula`
//! reads and checks them.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod bind;
mod error;
mod eval;
mod expr;
mod number;
mod template;
mod value;

pub use error::EvalError;
pub use eval::{MAX_STEPS, Scope, eval};
pub use expr::{Expr, MAX_DEPTH, MAX_NODES, Malformed, Op};
pub use number::{round2, show_number};
pub use template::{Piece, Template};
pub use value::Value;
