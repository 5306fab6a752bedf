//! The tree of a formula, and its form in bytes.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The most operations inside each other.
pub const MAX_DEPTH: u16 = 200;

/// The most operations of a formula.
pub const MAX_NODES: u16 = 2000;

/// A formula: an operation and its operands. Encoded, it is the list of its operations, each before its arguments, so
/// that nothing nests in the bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    op: Op,
    args: Vec<Expr>,
    depth: u16,
    nodes: u16,
}

/// An operation, with its operands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Op {
    /// True or false.
    Bool(bool),
    /// A number.
    Number(f64),
    /// Text.
    Text(String),
    /// A list of this many items.
    List(u16),
    /// A variable of the scope.
    Variable(String),
    /// The item of an enclosing `map`, `filter`, `exists` or `all`; 0 for the innermost.
    Item(u8),
    /// A field: record.
    Field(String),
    /// True if a field is there: record. False too if what should hold it is missing.
    Has(String),
    /// An item by its number, from 0: list, number.
    Index,
    /// `a ? b : c`: condition, value, value.
    If,
    /// `&&`: false if one is, whatever the other is.
    And,
    /// `||`: true if one is, whatever the other is.
    Or,
    /// `!`.
    Not,
    /// `==`.
    Equal,
    /// `!=`.
    NotEqual,
    /// `<` of numbers, or of texts by code point; so the next three.
    Less,
    /// `<=`.
    LessEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterEqual,
    /// `+` of numbers, texts or lists.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`.
    Divide,
    /// `%` of whole numbers, with the sign of the first.
    Remainder,
    /// `-` before a number.
    Negate,
    /// True if a list has an equal item: value, list.
    In,
    /// A value for every item: list, value.
    Map,
    /// The items for which a condition holds: list, condition.
    Filter,
    /// True if a condition holds for an item: list, condition.
    Exists,
    /// True if a condition holds for all items: list, condition.
    All,
    /// Items of a list, characters of a text.
    Size,
    /// The numbers of a list added up in their order; 0 for none.
    Sum,
    /// The sum of a list divided by its size.
    Mean,
    /// The least number of a list.
    Min,
    /// The greatest number of a list.
    Max,
    /// A number brought between two others: number, low, high.
    Clamp,
    /// A number with two decimals.
    Round2,
    /// The greatest whole number that is not above.
    Floor,
    /// The least whole number that is not below.
    Ceil,
    /// The size of a number, without its sign.
    Abs,
}

impl Op {
    /// How it is written.
    pub fn name(&self) -> &str {
        match self {
            Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::List(_) => "a constant",
            Self::Variable(name) | Self::Field(name) => name,
            Self::Item(_) => "an item",
            Self::Has(_) => "has",
            Self::Index => "[ ]",
            Self::If => "? :",
            Self::And => "&&",
            Self::Or => "||",
            Self::Not => "!",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::Add => "+",
            Self::Subtract | Self::Negate => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::In => "in",
            Self::Map => "map",
            Self::Filter => "filter",
            Self::Exists => "exists",
            Self::All => "all",
            Self::Size => "size",
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Min => "min",
            Self::Max => "max",
            Self::Clamp => "clamp",
            Self::Round2 => "round2",
            Self::Floor => "floor",
            Self::Ceil => "ceil",
            Self::Abs => "abs",
        }
    }

    /// How many arguments it has.
    pub fn arity(&self) -> usize {
        match self {
            Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::Variable(_) | Self::Item(_) => {
                0
            }
            Self::List(items) => usize::from(*items),
            Self::Field(_) | Self::Has(_) | Self::Not | Self::Negate | Self::Size | Self::Sum => 1,
            Self::Mean | Self::Min | Self::Max | Self::Round2 => 1,
            Self::Floor | Self::Ceil | Self::Abs => 1,
            Self::If | Self::Clamp => 3,
            Self::Index | Self::And | Self::Or | Self::Equal | Self::NotEqual => 2,
            Self::Less | Self::LessEqual | Self::Greater | Self::GreaterEqual => 2,
            Self::Add | Self::Subtract | Self::Multiply | Self::Divide | Self::Remainder => 2,
            Self::In | Self::Map | Self::Filter | Self::Exists | Self::All => 2,
        }
    }
}

/// The reason why operations are not a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// An operation has too few or too many arguments.
    Arity,
    /// More than [`MAX_DEPTH`] inside each other.
    Depth,
    /// More than [`MAX_NODES`].
    Nodes,
}

impl fmt::Display for Malformed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arity => {
                out.write_str("an operation of the formula has too few or too many arguments")
            }
            Self::Depth => write!(out, "the formula nests deeper than {MAX_DEPTH}"),
            Self::Nodes => write!(out, "the formula has more than {MAX_NODES} operations"),
        }
    }
}

impl core::error::Error for Malformed {}

impl Expr {
    /// An operation with its arguments.
    ///
    /// # Errors
    /// [`Malformed`] if their number is wrong, or there are too many in all.
    pub fn new(op: Op, args: Vec<Expr>) -> Result<Self, Malformed> {
        if op.arity() != args.len() {
            return Err(Malformed::Arity);
        }
        let depth = args.iter().map(|arg| arg.depth).max().unwrap_or(0) + 1;
        let nodes = args
            .iter()
            .fold(1, |sum: u16, arg| sum.saturating_add(arg.nodes));
        match (depth > MAX_DEPTH, nodes > MAX_NODES) {
            (true, _) => Err(Malformed::Depth),
            (_, true) => Err(Malformed::Nodes),
            _ => Ok(Self {
                op,
                args,
                depth,
                nodes,
            }),
        }
    }

    /// The operation.
    pub fn op(&self) -> &Op {
        &self.op
    }

    /// The operands.
    pub fn args(&self) -> &[Expr] {
        &self.args
    }

    /// Every operation, each before its arguments.
    pub fn ops(&self) -> impl Iterator<Item = &Op> {
        let mut open = Vec::from([self]);
        core::iter::from_fn(move || {
            let next = open.pop()?;
            open.extend(next.args.iter().rev());
            Some(&next.op)
        })
    }

    /// Reads the tree of operations, each before its arguments; takes the operations that belong to it.
    fn read(ops: &mut impl Iterator<Item = Op>, depth: u16) -> Result<Self, Malformed> {
        let op = ops.next().ok_or(Malformed::Arity)?;
        if depth > MAX_DEPTH {
            return Err(Malformed::Depth);
        }
        let mut args = Vec::new();
        for _ in 0..op.arity() {
            args.push(Self::read(ops, depth + 1)?);
        }
        Self::new(op, args)
    }
}

impl Serialize for Expr {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.ops().collect::<Vec<_>>().serialize(to)
    }
}

impl<'de> Deserialize<'de> for Expr {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut ops = Vec::<Op>::deserialize(from)?.into_iter();
        let expr = Self::read(&mut ops, 1).map_err(D::Error::custom)?;
        match ops.next() {
            None => Ok(expr),
            Some(_) => Err(D::Error::custom(Malformed::Arity)),
        }
    }
}
