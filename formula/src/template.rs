//! Texts with formulas in them, such as what a HUD shows.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::{Expr, Scope, Value, eval, show_number};

/// A text with formulas in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Template(pub Vec<Piece>);

/// A part of a [`Template`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Piece {
    /// Text as it stands.
    Text(String),
    /// The value of a formula.
    Formula(Expr),
}

impl Template {
    /// The text now. A formula that has no value now, such as the mean of no episodes, is written as a dash.
    pub fn render(&self, scope: &dyn Scope) -> String {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => Cow::Borrowed(text.as_str()),
            Piece::Formula(expr) => match eval(expr, scope) {
                Ok(Value::Number(number)) => Cow::Owned(show_number(number)),
                Ok(Value::Text(text)) => Cow::Owned(text),
                _ => Cow::Borrowed("–"),
            },
        });
        pieces.collect()
    }
}
