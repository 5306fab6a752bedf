//! The bounds of a formula: the least and the greatest number that it can give, whatever its variables turn out to be.
//!
//! Bounds are safe and not always tight: a formula never gives more than its upper bound, and may never come to it.

use std::collections::BTreeMap;

use formula::{Expr, Op};

/// The most items of a written list that are looked at one by one.
const MAX_ITEMS: usize = 16;

/// A range of numbers, both ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    /// The least one; `-inf` if there is none.
    pub least: f64,
    /// The greatest one; `inf` if there is none.
    pub most: f64,
}

/// Everything that a value may be, as far as it is known before anybody comes.
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
    fn each(self, function: impl Fn(f64) -> f64) -> Self {
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
}

impl Possible {
    /// The value of a level or another constant.
    pub(crate) fn of(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Bool(flag) => Self::Bool(Some(*flag)),
            serde_json::Value::Number(number) => number.as_f64().map_or(Self::Any, Self::number),
            serde_json::Value::String(text) => Self::Text(text.clone()),
            _ => Self::Any,
        }
    }

    pub(crate) fn number(number: f64) -> Self {
        Self::Number(Bounds::only(number))
    }

    pub(crate) fn record<const N: usize>(fields: [(&str, Self); N]) -> Self {
        Self::Record(fields.map(|(name, of)| (name.to_owned(), of)).into())
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

/// The bounds of a formula over these variables; others may be anything.
pub(crate) fn find_bounds(expr: &Expr, variables: &BTreeMap<String, Possible>) -> Bounds {
    let mut walk = Walk {
        variables,
        items: Vec::new(),
    };
    walk.value(expr).bounds()
}

struct Walk<'a> {
    variables: &'a BTreeMap<String, Possible>,
    /// The items of loops, the innermost last.
    items: Vec<Possible>,
}

impl Walk<'_> {
    fn number(&mut self, expr: &Expr) -> Bounds {
        self.value(expr).bounds()
    }

    fn value(&mut self, expr: &Expr) -> Possible {
        match (expr.op(), expr.args()) {
            (Op::Bool(flag), _) => Possible::Bool(Some(*flag)),
            (Op::Number(number), _) => Possible::number(*number),
            (Op::Text(text), _) => Possible::Text(text.clone()),
            (Op::List(_), items) => {
                Possible::Items(items.iter().map(|item| self.value(item)).collect())
            }
            (Op::Variable(name), _) => {
                let known = self.variables.get(name);
                known.cloned().unwrap_or(Possible::Any)
            }
            (Op::Item(out), _) => {
                let at = self.items.len().checked_sub(1 + usize::from(*out));
                at.map_or(Possible::Any, |at| self.items[at].clone())
            }
            (Op::Field(name), [of]) => match self.value(of) {
                Possible::Record(mut fields) => fields.remove(name).unwrap_or(Possible::Any),
                _ => Possible::Any,
            },
            (Op::Index, [of, _]) => self.value(of).item().0,
            (Op::If, [condition, yes, no]) => match self.value(condition) {
                Possible::Bool(Some(true)) => self.value(yes),
                Possible::Bool(Some(false)) => self.value(no),
                _ => self.value(yes).join(self.value(no)),
            },
            (Op::Map | Op::Filter, [of, body]) => self.each(expr.op(), of, body),
            (Op::Size, [of]) => match self.value(of) {
                list @ (Possible::List(..) | Possible::Items(_)) => Possible::Number(list.item().1),
                _ => Possible::Number(Bounds::new(0.0, f64::INFINITY)),
            },
            (op @ (Op::Sum | Op::Mean | Op::Min | Op::Max), [of]) => {
                let list = self.value(of);
                Possible::Number(fold(op, &list))
            }
            (Op::Clamp, [of, low, high]) => {
                let (of, low, high) = (self.number(of), self.number(low), self.number(high));
                let (least, most) = (of.least.max(low.least), of.most.min(high.most));
                Possible::Number(Bounds::new(least.min(high.most), most.max(low.least)))
            }
            (op, [of]) => self.unary(op, of),
            (op, [a, b]) => self.binary(op, a, b),
            _ => Possible::Any,
        }
    }

    fn each(&mut self, op: &Op, of: &Expr, body: &Expr) -> Possible {
        let list = self.value(of);
        if *op == Op::Filter {
            let (item, size) = list.item();
            return Possible::List(Box::new(item), Bounds::new(0.0, size.most));
        }
        let mut with = |item: Possible| {
            self.items.push(item);
            let made = self.value(body);
            self.items.pop();
            made
        };
        match list {
            Possible::Items(items) if items.len() <= MAX_ITEMS => {
                Possible::Items(items.into_iter().map(with).collect())
            }
            list => {
                let (item, size) = list.item();
                Possible::List(Box::new(with(item)), size)
            }
        }
    }

    fn unary(&mut self, op: &Op, of: &Expr) -> Possible {
        let value = self.value(of);
        let bounds = value.bounds();
        Possible::Number(match op {
            Op::Negate => Bounds::new(-bounds.most, -bounds.least),
            Op::Abs if bounds.has_zero() => Bounds::new(0.0, bounds.most.max(-bounds.least)),
            Op::Abs => Bounds::only(bounds.least.abs()).join(Bounds::only(bounds.most.abs())),
            Op::Floor => bounds.each(f64::floor),
            Op::Ceil => bounds.each(f64::ceil),
            Op::Round2 => bounds.each(|number| (number * 100.0).round() / 100.0),
            Op::Not => {
                return Possible::Bool(match value {
                    Possible::Bool(flag) => flag.map(|flag| !flag),
                    _ => None,
                });
            }
            _ => return Possible::Any,
        })
    }

    fn binary(&mut self, op: &Op, a: &Expr, b: &Expr) -> Possible {
        let (a, b) = (self.value(a), self.value(b));
        match (op, &a, &b) {
            (Op::Add | Op::Subtract | Op::Multiply | Op::Divide | Op::Remainder, ..) => {
                arithmetic(op, &a, &b)
            }
            (Op::And, Possible::Bool(Some(false)), _)
            | (Op::And, _, Possible::Bool(Some(false))) => Possible::Bool(Some(false)),
            (Op::Or, Possible::Bool(Some(true)), _) | (Op::Or, _, Possible::Bool(Some(true))) => {
                Possible::Bool(Some(true))
            }
            (Op::And | Op::Or, Possible::Bool(one), Possible::Bool(other)) => {
                Possible::Bool(one.filter(|_| one == other))
            }
            (Op::Equal, Possible::Text(a), Possible::Text(b)) => Possible::Bool(Some(a == b)),
            (Op::NotEqual, Possible::Text(a), Possible::Text(b)) => Possible::Bool(Some(a != b)),
            (_, Possible::Number(a), Possible::Number(b)) => Possible::Bool(compare(op, *a, *b)),
            _ => Possible::Bool(None),
        }
    }
}

fn arithmetic(op: &Op, a: &Possible, b: &Possible) -> Possible {
    if let (Op::Add, Possible::Text(_) | Possible::List(..) | Possible::Items(_), _) = (op, a, b) {
        return Possible::Any;
    }
    let (a, b) = (a.bounds(), b.bounds());
    Possible::Number(match op {
        Op::Add => Bounds::new(a.least + b.least, a.most + b.most),
        Op::Subtract => Bounds::new(a.least - b.most, a.most - b.least),
        Op::Multiply => a.ends(b, |a, b| a * b),
        Op::Divide if !b.has_zero() => a.ends(b, |a, b| a / b),
        Op::Remainder => {
            let size = b.most.max(-b.least);
            Bounds::new(-size, size)
        }
        _ => Bounds::ALL,
    })
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

fn fold(op: &Op, list: &Possible) -> Bounds {
    if let Possible::Items(items) = list {
        let all = items.iter().map(Possible::bounds);
        return match op {
            Op::Sum => all.fold(Bounds::only(0.0), |sum, next| {
                Bounds::new(sum.least + next.least, sum.most + next.most)
            }),
            Op::Min => all.fold(Bounds::only(f64::INFINITY), |least, next| {
                Bounds::new(least.least.min(next.least), least.most.min(next.most))
            }),
            Op::Max => all.fold(Bounds::only(f64::NEG_INFINITY), |most, next| {
                Bounds::new(most.least.max(next.least), most.most.max(next.most))
            }),
            _ => all.reduce(Bounds::join).unwrap_or(Bounds::ALL),
        };
    }
    let (item, size) = list.item();
    let item = item.bounds();
    match op {
        Op::Sum => item.ends(size, |number, times| number * times),
        _ => item,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::{Formula, Type, Types};

    fn bounds(source: &str) -> (f64, f64) {
        let episode = Type::record([("score", Type::Number), ("ticks", Type::Number)]);
        let types = Types::from([
            ("base".to_owned(), Type::Number),
            ("arm".to_owned(), Type::Text),
            (
                "play".to_owned(),
                Type::record([("episodes", Type::list(episode))]),
            ),
        ]);
        let episode = Possible::record([
            ("score", Possible::Number(Bounds::ALL)),
            ("ticks", Possible::Number(Bounds::new(0.0, 900.0))),
        ]);
        let episodes = Possible::List(Box::new(episode), Bounds::new(0.0, 3.0));
        let variables = BTreeMap::from([
            ("base".to_owned(), Possible::number(4.5)),
            ("arm".to_owned(), Possible::Text("high".to_owned())),
            (
                "play".to_owned(),
                Possible::record([("episodes", episodes)]),
            ),
        ]);
        let found = find_bounds(Formula::known(source, &types).expr(), &variables);
        (found.least, found.most)
    }

    #[test]
    fn a_clamp_bounds_what_has_no_bounds() {
        let scores = "sum(play.episodes.map(e, e.score))";
        assert_eq!(bounds(scores), (f64::NEG_INFINITY, f64::INFINITY));
        assert_eq!(
            bounds(&format!("round2(clamp(0.02 * {scores}, 0.0, 5.0))")),
            (0.0, 5.0)
        );
        assert_eq!(
            bounds(&format!("base + min(2, max(0, {scores}))")),
            (4.5, 6.5)
        );
    }

    #[test]
    fn lists_are_as_long_as_there_are_episodes() {
        assert_eq!(bounds("size(play.episodes)"), (0.0, 3.0));
        assert_eq!(bounds("sum(play.episodes.map(e, e.ticks))"), (0.0, 2_700.0));
        assert_eq!(
            bounds("max(play.episodes.map(e, e.ticks)) - 900"),
            (-900.0, 0.0)
        );
        assert_eq!(
            bounds("size(play.episodes.filter(e, e.score > 3)) * 0.5"),
            (0.0, 1.5)
        );
    }

    #[test]
    fn of_a_choice_by_the_arm_only_its_side_counts() {
        assert_eq!(bounds("arm == \"high\" ? 2 : 10"), (2.0, 2.0));
        assert_eq!(bounds("base > 4 && arm != \"low\" ? 1 : 10"), (1.0, 1.0));
        assert_eq!(bounds("size(play.episodes) > 1 ? 1 : 10"), (1.0, 10.0));
        assert_eq!(bounds("10 / (size(play.episodes) + 1)"), (2.5, 10.0));
        assert_eq!(
            bounds("1 / size(play.episodes)"),
            (f64::NEG_INFINITY, f64::INFINITY)
        );
        assert_eq!(bounds("-abs(size(play.episodes) - 2)"), (-2.0, 0.0));
    }
}
