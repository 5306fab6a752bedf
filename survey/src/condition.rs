//! Conditions: the part of SurveyJS expressions that compares answers, such as `{age} >= 18 and {tools} contains 'pot'`.
//!
//! A condition holds or does not, whatever the answers are: a missing answer equals nothing, and is neither above nor
//! below anything. Texts are compared without regard to case, as SurveyJS does.

use serde_json::Value;

use crate::Values;

mod parse;

/// The longest condition, characters.
pub const MAX_LENGTH: usize = 1_000;

/// A fault of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionFault {
    /// The place, in bytes from the start of the text.
    pub at: usize,
    /// The error and its fix.
    pub message: String,
}

/// A condition over answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    root: Term,
    /// The names in it, and their places.
    names: Vec<(String, usize)>,
}

/// A part of a condition.
#[derive(Clone, Debug, PartialEq)]
enum Term {
    /// A value that is written there.
    Value(Value),
    /// The answer to an item, or a row of it.
    Answer(String),
    /// True if nothing is there.
    Empty(Box<Term>),
    Not(Box<Term>),
    Both(Op, Box<Term>, Box<Term>),
}

/// An operator of two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Contains,
    ContainsNot,
    AnyOf,
    AllOf,
    NoneOf,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Condition {
    /// Reads a condition.
    ///
    /// # Errors
    /// The first [`ConditionFault`].
    pub fn read(text: &str) -> Result<Self, ConditionFault> {
        let (root, names) = parse::parse(text)?;
        Ok(Self { root, names })
    }

    /// One that holds where the answer to an item is a value, or has it among others.
    pub(crate) fn has(name: &str, value: &str) -> Self {
        let answer = Term::Answer(name.to_owned());
        let value = Term::Value(Value::from(value));
        let root = Term::Both(Op::AnyOf, Box::new(answer), Box::new(value));
        let names = vec![(name.to_owned(), 0)];
        Self { root, names }
    }

    /// Returns the names in it, each with its byte offset: the name of an item, or that of an item and a row with a dot
    /// between.
    pub fn names(&self) -> impl Iterator<Item = (&str, usize)> {
        self.names.iter().map(|(name, at)| (name.as_str(), *at))
    }

    /// Returns whether it holds.
    pub fn holds(&self, values: &Values) -> bool {
        is_true(&self.root.value(values))
    }
}

impl Term {
    fn value(&self, values: &Values) -> Value {
        match self {
            Self::Value(value) => value.clone(),
            Self::Answer(name) => answer(values, name),
            Self::Empty(of) => Value::from(is_empty(&of.value(values))),
            Self::Not(of) => Value::from(!is_true(&of.value(values))),
            Self::Both(Op::And, a, b) => {
                Value::from(is_true(&a.value(values)) && is_true(&b.value(values)))
            }
            Self::Both(Op::Or, a, b) => {
                Value::from(is_true(&a.value(values)) || is_true(&b.value(values)))
            }
            Self::Both(op, a, b) => op.of(&a.value(values), &b.value(values)),
        }
    }
}

impl Op {
    fn of(self, a: &Value, b: &Value) -> Value {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let is = |wanted: &[std::cmp::Ordering]| {
            order(a, b).is_some_and(|order| wanted.contains(&order))
        };
        Value::from(match self {
            Self::Equal => equal(a, b),
            Self::Unequal => !equal(a, b),
            Self::Less => is(&[Less]),
            Self::LessOrEqual => is(&[Less, Equal]),
            Self::Greater => is(&[Greater]),
            Self::GreaterOrEqual => is(&[Greater, Equal]),
            Self::Contains => contains(a, b),
            Self::ContainsNot => !contains(a, b),
            Self::AnyOf => list(b).iter().any(|value| has(a, value)),
            Self::AllOf => !is_empty(a) && list(b).iter().all(|value| has(a, value)),
            Self::NoneOf => !list(b).iter().any(|value| has(a, value)),
            Self::And => is_true(a) && is_true(b),
            Self::Or => is_true(a) || is_true(b),
            Self::Add | Self::Subtract | Self::Multiply | Self::Divide | Self::Remainder => {
                return self.reckon(a, b).map_or(Value::Null, Value::from);
            }
        })
    }

    /// Returns the result of arithmetic; `None` if it cannot be written.
    fn reckon(self, a: &Value, b: &Value) -> Option<f64> {
        let (a, b) = (as_number(a)?, as_number(b)?);
        let result = match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide => a / b,
            _ => a % b,
        };
        Some(result).filter(|result| result.is_finite())
    }
}

/// The answer to an item; to a part of it, if no item has the whole name.
fn answer(values: &Values, name: &str) -> Value {
    if let Some(value) = values.get(name) {
        return value.clone();
    }
    let part = name.match_indices('.').find_map(|(dot, _)| {
        let value = values.get(&name[..dot])?;
        member(value, &name[dot + 1..])
    });
    part.cloned().unwrap_or_default()
}

/// A member of an object, or of a member of it, by a path with dots between.
fn member<'a>(of: &'a Value, path: &str) -> Option<&'a Value> {
    of.get(path).or_else(|| {
        let mut dots = path.match_indices('.');
        dots.find_map(|(dot, _)| member(of.get(&path[..dot])?, &path[dot + 1..]))
    })
}

/// Returns whether nothing is there.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(values) => values.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn is_true(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        value => !is_empty(value),
    }
}

/// The number that a value is, or that it reads as.
pub(crate) fn as_number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number: &f64| number.is_finite())
}

fn text(value: &Value) -> String {
    crate::key_of(value).trim().to_lowercase()
}

fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        _ if is_empty(a) || is_empty(b) => is_empty(a) && is_empty(b),
        (Value::Array(a), Value::Array(b)) => {
            let all = |a: &[Value], b: &[Value]| a.iter().all(|x| b.iter().any(|y| equal(x, y)));
            a.len() == b.len() && all(a, b) && all(b, a)
        }
        (Value::Object(_), _) | (_, Value::Object(_)) => a == b,
        (Value::Array(_), _) | (_, Value::Array(_)) => false,
        _ => match (as_number(a), as_number(b)) {
            (Some(a), Some(b)) => a == b,
            _ => text(a) == text(b),
        },
    }
}

fn order(a: &Value, b: &Value) -> Option<std::cmp::Ordering> {
    let is_plain = |value: &Value| matches!(value, Value::String(_) | Value::Number(_));
    if is_empty(a) || is_empty(b) || !is_plain(a) || !is_plain(b) {
        return None;
    }
    match (as_number(a), as_number(b)) {
        (Some(a), Some(b)) => a.partial_cmp(&b),
        _ => Some(text(a).cmp(&text(b))),
    }
}

/// The values of a list, or the one that it is.
fn list(value: &Value) -> &[Value] {
    match value {
        Value::Array(values) => values,
        Value::Null => &[],
        value => std::slice::from_ref(value),
    }
}

/// Returns whether an answer is a value, or has it among others.
fn has(answer: &Value, value: &Value) -> bool {
    list(answer).iter().any(|one| equal(one, value))
}

/// Returns whether a list has a value, or all of a list; or a text has another one in it.
fn contains(a: &Value, b: &Value) -> bool {
    match a {
        _ if is_empty(a) || is_empty(b) => false,
        Value::Array(_) => list(b).iter().all(|value| has(a, value)),
        Value::String(_) => text(a).contains(&text(b)),
        _ => equal(a, b),
    }
}
