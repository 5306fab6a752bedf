//! Formulas of which a part is known: what does not depend on the rest is computed once, and becomes a constant.

use alloc::string::String;
use alloc::vec::Vec;

use crate::eval::{Scope, eval};
use crate::expr::{Expr, Op};
use crate::template::{Piece, Template};
use crate::value::Value;

impl Expr {
    /// Returns the same formula with the values of the variables that `scope` knows. Every part that depends on no
    /// others becomes its value; a part without a value, or whose value cannot be written, does not change.
    #[must_use]
    pub fn bind(&self, scope: &dyn Scope) -> Self {
        let known = match self.depends(scope) {
            Depends {
                unknown: false,
                items: 0,
            } => eval(self, scope).ok().and_then(constant),
            _ => None,
        };
        known.unwrap_or_else(|| {
            let args = self.args().iter().map(|arg| arg.bind(scope)).collect();
            // A part that grew beyond what a formula may be stays as it was.
            Self::new(self.op().clone(), args).unwrap_or_else(|_| self.clone())
        })
    }

    /// The variables that it names, each as often as it does.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.ops().filter_map(|op| match op {
            Op::Variable(name) => Some(name.as_str()),
            _ => None,
        })
    }

    fn depends(&self, scope: &dyn Scope) -> Depends {
        let inner = self.args().iter().map(|arg| arg.depends(scope));
        match self.op() {
            Op::Variable(name) => Depends {
                unknown: scope.value(name).is_none(),
                items: 0,
            },
            Op::Item(out) => Depends {
                unknown: false,
                items: u16::from(*out) + 1,
            },
            Op::Map | Op::Filter | Op::Exists | Op::All => {
                // The second argument has one item more around it.
                let around = inner.enumerate().map(|(at, of)| Depends {
                    items: of.items.saturating_sub(u16::from(at == 1)),
                    ..of
                });
                around.fold(Depends::default(), Depends::or)
            }
            _ => inner.fold(Depends::default(), Depends::or),
        }
    }
}

/// The dependencies of a part of a formula.
#[derive(Clone, Copy, Default)]
struct Depends {
    /// A variable that is not known.
    unknown: bool,
    /// The number of items around it.
    items: u16,
}

impl Depends {
    fn or(self, other: Self) -> Self {
        Self {
            unknown: self.unknown || other.unknown,
            items: self.items.max(other.items),
        }
    }
}

/// A value as a formula; a record has none.
fn constant(value: Value) -> Option<Expr> {
    let (op, args) = match value {
        Value::Bool(flag) => (Op::Bool(flag), Vec::new()),
        Value::Number(number) => (Op::Number(number), Vec::new()),
        Value::Text(text) => (Op::Text(text), Vec::new()),
        Value::List(items) => {
            let items: Option<Vec<Expr>> = items.into_iter().map(constant).collect();
            let items = items?;
            (Op::List(u16::try_from(items.len()).ok()?), items)
        }
        Value::Record(_) => return None,
    };
    Expr::new(op, args).ok()
}

impl Template {
    /// The same text with the values of the variables that `scope` knows; see [`Expr::bind`].
    #[must_use]
    pub fn bind(&self, scope: &dyn Scope) -> Self {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => Piece::Text(String::clone(text)),
            Piece::Formula(expr) => Piece::Formula(expr.bind(scope)),
        };
        Self(self.0.iter().map(piece).collect())
    }
}
