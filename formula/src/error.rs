//! Why a formula has no value.

use alloc::string::String;
use core::fmt;

use crate::eval::MAX_STEPS;

/// The reason why a formula has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvalError {
    /// A variable or field is not there.
    Missing(String),
    /// An operation gives no finite number, as it divides by 0 or its result is too large.
    NotFinite(String),
    /// An operation needs a list with an item in it.
    Empty(String),
    /// An operation needs a whole number, of at most 2^53 in size.
    NotWhole(String),
    /// There is no item of this number.
    NoItem(i64),
    /// The lower bound of `clamp` is above the upper one.
    Bounds,
    /// An operation was given another type of value than it takes.
    Type {
        /// The operation.
        op: String,
        /// The value that it was given.
        found: &'static str,
    },
    /// More than [`MAX_STEPS`].
    Steps,
}

impl fmt::Display for EvalError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(name) => write!(out, "there is no `{name}`"),
            Self::NotFinite(op) => {
                write!(
                    out,
                    "`{op}` gives no finite number: it divides by 0, or the result is too large"
                )
            }
            Self::Empty(op) => write!(out, "`{op}` of an empty list has no value"),
            Self::NotWhole(op) => write!(out, "`{op}` needs whole numbers"),
            Self::NoItem(number) => write!(out, "the list has no item {number}; the first is 0"),
            Self::Bounds => out.write_str("the lower bound of `clamp` is above the upper one"),
            Self::Type { op, found } => write!(out, "`{op}` cannot be done with {found}"),
            Self::Steps => write!(out, "the formula takes more than {MAX_STEPS} steps"),
        }
    }
}

impl core::error::Error for EvalError {}
