//! The bounds of a formula: the least and the greatest number that it can give, for any values of its variables, and
//! whether it may have no value.
//!
//! Bounds are safe and not always tight: a formula never gives more than its upper bound, and may never reach it.

mod fold;
mod narrow;

use std::collections::BTreeMap;

use formula::{Expr, MAX_STEPS, Op};

use fold::fold_list;
use narrow::Narrowed;

/// The most items of a written list that are looked at one by one.
const MAX_ITEMS: usize = 16;

/// The most steps of an evaluation that an operation usually takes, including its copies.
const STEPS_EACH: f64 = 20.0;

/// A range of numbers, both ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    /// The least one; `-inf` if there is none.
    pub least: f64,
    /// The greatest one; `inf` if there is none.
    pub most: f64,
}

/// All possible values, as far as they are known before any participant comes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Possible {
    /// Anything at all.
    Any,
    Bool(Option<bool>),
    Number(Bounds),
    Text(String),
    /// A list of such items, and how many there are.
    List(Box<Possible>, Bounds),
    /// A list whose items are known one by one.
    Items(Vec<Possible>),
    Record(BTreeMap<String, Possible>),
    /// A variable or field that may be missing.
    Unsure(Box<Possible>),
}

/// All possible results of a formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FormulaBounds {
    /// The numbers that it can give.
    pub bounds: Bounds,
    /// True if it may have no value.
    pub may_fail: bool,
}

impl Bounds {
    /// Every number.
    pub(crate) const ALL: Self = Self::new(f64::NEG_INFINITY, f64::INFINITY);

    pub(crate) const fn new(least: f64, most: f64) -> Self {
        Self { least, most }
    }

    pub(crate) const fn only(number: f64) -> Self {
        Self::new(number, number)
    }

    /// The smallest range that holds two of them.
    pub(crate) fn join(self, other: Self) -> Self {
        Self::new(self.least.min(other.least), self.most.max(other.most))
    }

    /// The range of a function that never falls.
    pub(crate) fn each(self, function: impl Fn(f64) -> f64) -> Self {
        Self::new(function(self.least), function(self.most))
    }

    /// The range of the results for every pair of ends.
    fn ends(self, other: Self, result: impl Fn(f64, f64) -> f64) -> Self {
        let ends = [
            result(self.least, other.least),
            result(self.least, other.most),
            result(self.most, other.least),
            result(self.most, other.most),
        ];
        // 0 times an infinite end: the number itself is never infinite.
        let ends = ends.map(|end| if end.is_nan() { 0.0 } else { end });
        Self::new(
            ends.into_iter().fold(f64::INFINITY, f64::min),
            ends.into_iter().fold(f64::NEG_INFINITY, f64::max),
        )
    }

    fn has_zero(self) -> bool {
        self.least <= 0.0 && self.most >= 0.0
    }

    fn is_finite(self) -> bool {
        self.least.is_finite() && self.most.is_finite()
    }

    /// The one number that it holds.
    fn single(self) -> Option<f64> {
        self.least
            .total_cmp(&self.most)
            .is_eq()
            .then_some(self.least)
    }
}

impl Possible {
    /// The value of a level or another constant.
    pub(crate) fn of(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Bool(flag) => Self::Bool(Some(*flag)),
            serde_json::Value::Number(number) => number.as_f64().map_or(Self::Any, Self::number),
            serde_json::Value::String(text) => Self::Text(text.clone()),
            serde_json::Value::Object(fields) => {
                let fields = fields.iter();
                let fields = fields.map(|(name, value)| (name.clone(), Self::of(value)));
                Self::Record(fields.collect())
            }
            _ => Self::Any,
        }
    }

    pub(crate) fn number(number: f64) -> Self {
        Self::Number(Bounds::only(number))
    }

    pub(crate) fn record<const N: usize>(fields: [(&str, Self); N]) -> Self {
        Self::Record(fields.map(|(name, of)| (name.to_owned(), of)).into())
    }

    /// The same for a value that may be missing.
    pub(crate) fn unsure(self) -> Self {
        Self::Unsure(Box::new(self))
    }

    fn bounds(&self) -> Bounds {
        match self {
            Self::Number(bounds) => *bounds,
            _ => Bounds::ALL,
        }
    }

    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => Self::Number(a.join(b)),
            (Self::Bool(a), Self::Bool(b)) => Self::Bool(a.filter(|_| a == b)),
            (a, b) if a == b => a,
            _ => Self::Any,
        }
    }

    /// The item of a list, whichever it is, and the size of the list.
    fn item(&self) -> (Self, Bounds) {
        match self {
            Self::List(item, size) => (Self::clone(item), *size),
            Self::Items(items) => {
                let joined = items.iter().cloned().reduce(Self::join);
                (
                    joined.unwrap_or(Self::Any),
                    Bounds::only(items.len() as f64),
                )
            }
            _ => (Self::Any, Bounds::new(0.0, f64::INFINITY)),
        }
    }
}

/// Finds the bounds of a formula over these variables; others may be anything, and may be missing.
pub(crate) fn find_bounds(expr: &Expr, variables: &BTreeMap<String, Possible>) -> FormulaBounds {
    let mut walk = Walk {
        variables,
        items: Vec::new(),
        narrowed: Narrowed::default(),
        may_fail: false,
        times: 1.0,
        steps: 0.0,
    };
    let bounds = walk.number(expr);
    FormulaBounds {
        bounds,
        may_fail: walk.may_fail || walk.steps * STEPS_EACH > MAX_STEPS as f64,
    }
}

struct Walk<'a> {
    variables: &'a BTreeMap<String, Possible>,
    /// The items of loops, the innermost last.
    items: Vec<Possible>,
    /// Conditions that hold where the walk is.
    narrowed: Narrowed<'a>,
    /// True if something may have no value.
    may_fail: bool,
    /// The most times that the loops around evaluate the current part.
    times: f64,
    /// Operations that are evaluated, at most.
    steps: f64,
}

impl<'a> Walk<'a> {
    fn number(&mut self, expr: &'a Expr) -> Bounds {
        self.value(expr).bounds()
    }

    /// The value, and whether there may be none.
    fn attempt(&mut self, expr: &'a Expr) -> (Possible, bool) {
        let before = std::mem::take(&mut self.may_fail);
        let value = self.value(expr);
        (value, std::mem::replace(&mut self.may_fail, before))
    }

    fn value(&mut self, expr: &'a Expr) -> Possible {
        self.steps += self.times;
        let value = self.raw_value(expr);
        // A number that is not finite is none.
        if matches!(value, Possible::Number(bounds) if !bounds.is_finite()) {
            self.may_fail = true;
        }
        value
    }

    fn raw_value(&mut self, expr: &'a Expr) -> Possible {
        match (expr.op(), expr.args()) {
            (Op::Bool(flag), _) => Possible::Bool(Some(*flag)),
            (Op::Number(number), _) => Possible::number(*number),
            (Op::Text(text), _) => Possible::Text(text.clone()),
            (Op::List(_), items) => {
                Possible::Items(items.iter().map(|item| self.value(item)).collect())
            }
            (Op::Variable(name), _) => {
                let known = self.variables.get(name).cloned();
                self.sure(known)
            }
            (Op::Item(out), _) => {
                let at = self.items.len().checked_sub(1 + usize::from(*out));
                at.map_or(Possible::Any, |at| self.items[at].clone())
            }
            (Op::Field(name), [of]) => self.field(name, of),
            (Op::Has(name), [of]) => self.has(name, of),
            (Op::Index, [of, at]) => self.index(of, at),
            (Op::If, [condition, yes, no]) => self.choose(condition, yes, no),
            (Op::And, [a, b]) => self.either(expr.op(), a, b, false),
            (Op::Or, [a, b]) => self.either(expr.op(), a, b, true),
            (Op::Map | Op::Filter | Op::Exists | Op::All, [of, body]) => {
                self.each(expr.op(), of, body)
            }
            (Op::Size, [of]) => match self.value(of) {
                list @ (Possible::List(..) | Possible::Items(_)) => Possible::Number(list.item().1),
                _ => Possible::Number(Bounds::new(0.0, MAX_STEPS as f64 * 16.0)),
            },
            (op @ (Op::Sum | Op::Mean | Op::Min | Op::Max), [of]) => {
                let list = self.value(of);
                let is_filled = list.item().1.least >= 1.0 || self.narrowed.is_filled(of);
                self.may_fail |= *op != Op::Sum && !is_filled;
                Possible::Number(fold_list(op, &list))
            }
            (Op::Clamp, [of, low, high]) => {
                let (of, low, high) = (self.number(of), self.number(low), self.number(high));
                // Without a value where the limits are the wrong way round.
                self.may_fail |= low.most > high.least;
                Possible::Number(Bounds::new(
                    low.least.max(of.least.min(high.least)),
                    high.most.min(of.most.max(low.most)),
                ))
            }
            (op, [of]) => self.unary(op, of),
            (op, [a, b]) => self.binary(op, a, b),
            _ => Possible::Any,
        }
    }

    /// Takes a value that may be missing.
    fn sure(&mut self, known: Option<Possible>) -> Possible {
        match known {
            Some(Possible::Unsure(value)) => {
                self.may_fail = true;
                *value
            }
            Some(value) => value,
            None => {
                self.may_fail = true;
                Possible::Any
            }
        }
    }

    fn field(&mut self, name: &str, of: &'a Expr) -> Possible {
        let before = self.may_fail;
        let known = match self.value(of) {
            Possible::Record(mut fields) => fields.remove(name),
            _ => None,
        };
        let value = self.sure(known);
        if self.narrowed.has(name, of) {
            self.may_fail = before;
        }
        value
    }

    fn has(&mut self, name: &str, of: &'a Expr) -> Possible {
        let (value, may_fail) = self.attempt(of);
        // What is missing is no failure here.
        let is_path = of
            .ops()
            .all(|op| matches!(op, Op::Variable(_) | Op::Field(_) | Op::Item(_)));
        self.may_fail |= may_fail && !is_path;
        let known = match &value {
            Possible::Record(fields) if !may_fail => fields.get(name),
            _ => None,
        };
        Possible::Bool(known.and_then(|known| match known {
            Possible::Unsure(_) => None,
            _ => Some(true),
        }))
    }

    fn index(&mut self, of: &'a Expr, at: &'a Expr) -> Possible {
        let (list, at) = (self.value(of), self.number(at));
        let at = at.single().filter(|at| *at >= 0.0 && at.fract() == 0.0);
        if let (Possible::Items(items), Some(at)) = (&list, at)
            && let Some(item) = items.get(at as usize)
        {
            return item.clone();
        }
        let (item, size) = list.item();
        self.may_fail |= at.is_none_or(|at| at >= size.least);
        item
    }

    fn choose(&mut self, condition: &'a Expr, yes: &'a Expr, no: &'a Expr) -> Possible {
        match self.value(condition) {
            Possible::Bool(Some(true)) => self.value(yes),
            Possible::Bool(Some(false)) => self.value(no),
            _ => {
                let mark = self.narrowed.hold(condition);
                let first = self.value(yes);
                self.narrowed.release(mark);
                first.join(self.value(no))
            }
        }
    }

    /// `&&` and `||`: one side that decides is enough, whether or not the other has a value.
    fn either(&mut self, op: &Op, a: &'a Expr, b: &'a Expr, decides: bool) -> Possible {
        let (first, first_fails) = self.attempt(a);
        let mark = self.narrowed.hold_if(*op == Op::And, a);
        let (second, second_fails) = self.attempt(b);
        self.narrowed.release(mark);
        let is_decided = |value: &Possible| *value == Possible::Bool(Some(decides));
        let first_decides = is_decided(&first) && !first_fails;
        let second_decides = is_decided(&second) && !second_fails;
        self.may_fail |= (first_fails && !second_decides) || (second_fails && !first_decides);
        match (&first, &second) {
            _ if is_decided(&first) || is_decided(&second) => Possible::Bool(Some(decides)),
            (Possible::Bool(one), Possible::Bool(other)) => {
                Possible::Bool(one.filter(|_| one == other))
            }
            _ => Possible::Bool(None),
        }
    }

    fn each(&mut self, op: &Op, of: &'a Expr, body: &'a Expr) -> Possible {
        let list = self.value(of);
        let (item, size) = list.item();
        if size.most <= 0.0 {
            return match op {
                Op::Exists => Possible::Bool(Some(false)),
                Op::All => Possible::Bool(Some(true)),
                _ => Possible::Items(Vec::new()),
            };
        }
        let times = self.times;
        // Items have other names inside, and what holds outside is not looked for.
        let narrowed = std::mem::take(&mut self.narrowed);
        let made = match list {
            Possible::Items(items) if items.len() <= MAX_ITEMS && *op == Op::Map => {
                Possible::Items(
                    items
                        .into_iter()
                        .map(|item| self.with(item, body))
                        .collect(),
                )
            }
            _ => {
                self.times *= size.most;
                let made = self.with(item.clone(), body);
                match op {
                    Op::Map => Possible::List(Box::new(made), size),
                    Op::Filter => Possible::List(Box::new(item), Bounds::new(0.0, size.most)),
                    _ => Possible::Bool(None),
                }
            }
        };
        (self.times, self.narrowed) = (times, narrowed);
        made
    }

    fn with(&mut self, item: Possible, body: &'a Expr) -> Possible {
        self.items.push(item);
        let made = self.value(body);
        self.items.pop();
        made
    }

    fn unary(&mut self, op: &Op, of: &'a Expr) -> Possible {
        let value = self.value(of);
        let bounds = value.bounds();
        Possible::Number(match op {
            Op::Negate => Bounds::new(-bounds.most, -bounds.least),
            Op::Abs if bounds.has_zero() => Bounds::new(0.0, bounds.most.max(-bounds.least)),
            Op::Abs => Bounds::only(bounds.least.abs()).join(Bounds::only(bounds.most.abs())),
            Op::Floor => bounds.each(f64::floor),
            Op::Ceil => bounds.each(f64::ceil),
            Op::Round2 => bounds.each(formula::round2),
            Op::Not => {
                return Possible::Bool(match value {
                    Possible::Bool(flag) => flag.map(|flag| !flag),
                    _ => None,
                });
            }
            _ => return Possible::Any,
        })
    }

    fn binary(&mut self, op: &Op, a: &'a Expr, b: &'a Expr) -> Possible {
        let (a, b) = (self.value(a), self.value(b));
        match (op, &a, &b) {
            (Op::Add | Op::Subtract | Op::Multiply | Op::Divide | Op::Remainder, ..) => {
                self.arithmetic(op, a, b)
            }
            (Op::Equal, Possible::Text(a), Possible::Text(b)) => Possible::Bool(Some(a == b)),
            (Op::NotEqual, Possible::Text(a), Possible::Text(b)) => Possible::Bool(Some(a != b)),
            (_, Possible::Number(a), Possible::Number(b)) => Possible::Bool(compare(op, *a, *b)),
            _ => Possible::Bool(None),
        }
    }

    fn arithmetic(&mut self, op: &Op, a: Possible, b: Possible) -> Possible {
        match (op, a, b) {
            (Op::Add, Possible::Items(mut a), Possible::Items(b)) => {
                a.extend(b);
                Possible::Items(a)
            }
            (
                Op::Add,
                a @ (Possible::List(..) | Possible::Items(_)),
                b @ (Possible::List(..) | Possible::Items(_)),
            ) => {
                let ((a, some), (b, more)) = (a.item(), b.item());
                let size = Bounds::new(some.least + more.least, some.most + more.most);
                Possible::List(Box::new(a.join(b)), size)
            }
            (Op::Add, Possible::Text(_), _) | (Op::Add, _, Possible::Text(_)) => Possible::Any,
            (op, a, b) => Possible::Number(self.calculate(op, a.bounds(), b.bounds())),
        }
    }

    fn calculate(&mut self, op: &Op, a: Bounds, b: Bounds) -> Bounds {
        match op {
            Op::Add => Bounds::new(a.least + b.least, a.most + b.most),
            Op::Subtract => Bounds::new(a.least - b.most, a.most - b.least),
            Op::Multiply => a.ends(b, |a, b| a * b),
            Op::Divide if !b.has_zero() => a.ends(b, |a, b| a / b),
            Op::Remainder => {
                // Of whole numbers alone, and not by 0.
                self.may_fail = true;
                let size = b.most.max(-b.least);
                Bounds::new(-size, size)
            }
            _ => {
                self.may_fail = true;
                Bounds::ALL
            }
        }
    }
}

/// A comparison, if it has the same result for all numbers.
fn compare(op: &Op, a: Bounds, b: Bounds) -> Option<bool> {
    let is_known = |yes: bool, no: bool| (yes || no).then_some(yes);
    match op {
        Op::Less => is_known(a.most < b.least, a.least >= b.most),
        Op::LessEqual => is_known(a.most <= b.least, a.least > b.most),
        Op::Greater => is_known(a.least > b.most, a.most <= b.least),
        Op::GreaterEqual => is_known(a.least >= b.most, a.most < b.least),
        Op::Equal | Op::NotEqual => {
            let is_same = a == b && a.least.total_cmp(&a.most).is_eq();
            let equal = is_known(is_same, a.most < b.least || a.least > b.most);
            equal.map(|equal| equal == (*op == Op::Equal))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
