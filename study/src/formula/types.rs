//! The types of formulas.

use std::collections::BTreeMap;
use std::fmt;

/// The variables that a formula may name, and their types. The code that offers variables declares them.
pub type Types = BTreeMap<String, Type>;

/// The type of a value, as far as it is known before evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Known only when it is there; passes everywhere, and is looked at then.
    Any,
    /// True or false.
    Bool,
    /// A number.
    Number,
    /// Text.
    Text,
    /// A list of one type.
    List(Box<Type>),
    /// Fields by name.
    Record(Types),
}

impl Type {
    /// A list of a type.
    pub fn list(item: Self) -> Self {
        Self::List(Box::new(item))
    }

    /// A record of some fields.
    pub fn record<const N: usize>(fields: [(&str, Self); N]) -> Self {
        Self::Record(fields.map(|(name, of)| (name.to_owned(), of)).into())
    }

    /// The type of a value that has this type or the other, if one type is both.
    pub(super) fn join(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Any, known) | (known, Self::Any) => Some(known.clone()),
            (Self::List(a), Self::List(b)) => a.join(b).map(Self::list),
            (a, b) => (a == b).then(|| a.clone()),
        }
    }

    fn plural(&self) -> &'static str {
        match self {
            Self::Any => "anything",
            Self::Bool => "true and false",
            Self::Number => "numbers",
            Self::Text => "texts",
            Self::List(_) => "lists",
            Self::Record(_) => "records",
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => out.write_str("anything"),
            Self::Bool => out.write_str("true or false"),
            Self::Number => out.write_str("a number"),
            Self::Text => out.write_str("text"),
            Self::List(item) if **item == Self::Any => out.write_str("a list"),
            Self::List(item) => write!(out, "a list of {}", item.plural()),
            Self::Record(_) => out.write_str("a record"),
        }
    }
}
