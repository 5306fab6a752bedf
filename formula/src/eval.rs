//! Evaluation: a tree and a scope give a value, or the operation without a value.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::error::EvalError;
use crate::expr::{Expr, Op};
use crate::number;
use crate::value::Value;

/// The most steps of an evaluation: an operation, an item that is looked at or made, 16 bytes of text that are copied.
pub const MAX_STEPS: usize = 100_000;

/// The source of variables.
pub trait Scope {
    /// The value of a variable, if there is one now.
    fn value(&self, name: &str) -> Option<Cow<'_, Value>>;
}

impl Scope for alloc::collections::BTreeMap<String, Value> {
    fn value(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.get(name).map(Cow::Borrowed)
    }
}

/// The value of a formula.
///
/// # Errors
/// [`EvalError`] if an operation has no value. Every number is finite: an operation that gives another is an error.
pub fn eval(expr: &Expr, scope: &dyn Scope) -> Result<Value, EvalError> {
    let mut run = Run {
        scope,
        items: Vec::new(),
        left: MAX_STEPS,
    };
    run.value(expr).map(Cow::into_owned)
}

type Held<'a> = Cow<'a, Value>;

struct Run<'a> {
    scope: &'a dyn Scope,
    /// The items that are looked at, the innermost last.
    items: Vec<Held<'a>>,
    left: usize,
}

impl<'a> Run<'a> {
    fn spend(&mut self, steps: usize) -> Result<(), EvalError> {
        let left = self.left.checked_sub(steps);
        // Nothing continues without steps, even if an operation takes an error for an answer.
        self.left = left.unwrap_or(0);
        left.map(drop).ok_or(EvalError::Steps)
    }

    /// Copies a value; copying costs steps.
    fn own(&mut self, value: Held<'a>) -> Result<Value, EvalError> {
        if let Cow::Borrowed(value) = value {
            self.spend(value.weight())?;
        }
        Ok(value.into_owned())
    }

    fn value(&mut self, expr: &Expr) -> Result<Held<'a>, EvalError> {
        self.spend(1)?;
        match self.raw(expr)? {
            Cow::Owned(Value::Number(number)) => finite(expr.op(), number).map(Cow::Owned),
            Cow::Borrowed(Value::Number(number)) => finite(expr.op(), *number).map(Cow::Owned),
            value => Ok(value),
        }
    }

    fn raw(&mut self, expr: &Expr) -> Result<Held<'a>, EvalError> {
        let op = expr.op();
        // The number of arguments is that of the operation: `Expr::new` has seen to it.
        let owned = match (op, expr.args()) {
            (Op::Bool(flag), _) => Value::Bool(*flag),
            (Op::Number(number), _) => Value::Number(*number),
            (Op::Text(text), _) => {
                self.spend(text.len() / 16)?;
                Value::Text(text.clone())
            }
            (Op::List(_), items) => self.list(items)?,
            (Op::Variable(name), _) => return self.scope.value(name).ok_or_else(|| missing(name)),
            (Op::Item(out), _) => return self.item(*out),
            (Op::Field(name), [of]) => return self.field(of, name),
            (Op::Has(name), [of]) => self.has(of, name)?,
            (Op::Index, [of, at]) => return self.index(of, at),
            (Op::If, [condition, yes, no]) => {
                let holds = self.flag(op, condition)?;
                return self.value(if holds { yes } else { no });
            }
            (Op::And, [a, b]) => self.either(op, a, b, false)?,
            (Op::Or, [a, b]) => self.either(op, a, b, true)?,
            (Op::Not, [of]) => Value::Bool(!self.flag(op, of)?),
            (Op::Equal, [a, b]) => Value::Bool(self.equal(a, b)?),
            (Op::NotEqual, [a, b]) => Value::Bool(!self.equal(a, b)?),
            (Op::In, [a, b]) => self.within(op, a, b)?,
            (Op::Map | Op::Filter | Op::Exists | Op::All, [of, body]) => self.each(op, of, body)?,
            (Op::Size, [of]) => self.size(op, of)?,
            (Op::Sum | Op::Mean | Op::Min | Op::Max, [of]) => self.fold(op, of)?,
            (Op::Clamp, [of, low, high]) => self.clamp(op, of, low, high)?,
            (_, [of]) => self.unary(op, of)?,
            (_, [a, b]) => self.binary(op, a, b)?,
            _ => return Err(wrong(op, "this number of values")),
        };
        Ok(Cow::Owned(owned))
    }

    fn flag(&mut self, op: &Op, expr: &Expr) -> Result<bool, EvalError> {
        match *self.value(expr)? {
            Value::Bool(flag) => Ok(flag),
            ref other => Err(wrong(op, other.kind())),
        }
    }

    fn number(&mut self, op: &Op, expr: &Expr) -> Result<f64, EvalError> {
        match *self.value(expr)? {
            Value::Number(number) => Ok(number),
            ref other => Err(wrong(op, other.kind())),
        }
    }

    fn list(&mut self, items: &[Expr]) -> Result<Value, EvalError> {
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            let item = self.value(item)?;
            list.push(self.own(item)?);
        }
        Ok(Value::List(list))
    }

    fn item(&mut self, out: u8) -> Result<Held<'a>, EvalError> {
        let at = self.items.len().checked_sub(1 + usize::from(out));
        let item = at
            .map(|at| &self.items[at])
            .ok_or_else(|| missing("item"))?;
        let (item, weight) = match item {
            Cow::Borrowed(item) => return Ok(Cow::Borrowed(*item)),
            Cow::Owned(item) => (item.clone(), item.weight()),
        };
        self.spend(weight)?;
        Ok(Cow::Owned(item))
    }

    fn field(&mut self, of: &Expr, name: &str) -> Result<Held<'a>, EvalError> {
        let found = match self.value(of)? {
            Cow::Borrowed(Value::Record(fields)) => fields.get(name).map(Cow::Borrowed),
            Cow::Owned(Value::Record(mut fields)) => fields.remove(name).map(Cow::Owned),
            other => {
                return Err(EvalError::Type {
                    op: name.into(),
                    found: other.kind(),
                });
            }
        };
        found.ok_or_else(|| missing(name))
    }

    fn has(&mut self, of: &Expr, name: &str) -> Result<Value, EvalError> {
        match self.value(of).as_deref() {
            Ok(Value::Record(fields)) => Ok(Value::Bool(fields.contains_key(name))),
            Ok(other) => Err(EvalError::Type {
                op: "has".into(),
                found: other.kind(),
            }),
            Err(EvalError::Missing(_)) => Ok(Value::Bool(false)),
            Err(error) => Err(error.clone()),
        }
    }

    fn index(&mut self, of: &Expr, at: &Expr) -> Result<Held<'a>, EvalError> {
        let of = self.value(of)?;
        let at = self.number(&Op::Index, at)?;
        let number = number::as_whole(at).ok_or_else(|| EvalError::NotWhole("[ ]".into()))?;
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        let found = match of {
            Cow::Borrowed(Value::List(items)) => items.get(at).map(Cow::Borrowed),
            Cow::Owned(Value::List(mut items)) => {
                (at < items.len()).then(|| Cow::Owned(items.swap_remove(at)))
            }
            other => return Err(wrong(&Op::Index, other.kind())),
        };
        found.ok_or(EvalError::NoItem(number))
    }

    /// `&&` and `||`: one side that decides is enough, whether or not the other has a value.
    fn either(&mut self, op: &Op, a: &Expr, b: &Expr, decides: bool) -> Result<Value, EvalError> {
        match self.flag(op, a) {
            Ok(flag) if flag == decides => Ok(Value::Bool(decides)),
            Ok(_) => self.flag(op, b).map(Value::Bool),
            Err(error) => match self.flag(op, b) {
                Ok(flag) if flag == decides => Ok(Value::Bool(decides)),
                _ => Err(error),
            },
        }
    }

    fn equal(&mut self, a: &Expr, b: &Expr) -> Result<bool, EvalError> {
        let (a, b) = (self.value(a)?, self.value(b)?);
        self.same(&a, &b)
    }

    fn same(&mut self, a: &Value, b: &Value) -> Result<bool, EvalError> {
        self.spend(a.weight())?;
        Ok(a == b)
    }

    fn within(&mut self, op: &Op, a: &Expr, list: &Expr) -> Result<Value, EvalError> {
        let (a, list) = (self.value(a)?, self.value(list)?);
        let Value::List(items) = &*list else {
            return Err(wrong(op, list.kind()));
        };
        for item in items {
            if self.same(item, &a)? {
                return Ok(Value::Bool(true));
            }
        }
        Ok(Value::Bool(false))
    }

    /// The items of a list, each on its own.
    fn items(&mut self, op: &Op, of: &Expr) -> Result<Items<'a>, EvalError> {
        match self.value(of)? {
            Cow::Borrowed(Value::List(items)) => Ok(Items::Borrowed(items.iter())),
            Cow::Owned(Value::List(items)) => Ok(Items::Owned(items.into_iter())),
            other => Err(wrong(op, other.kind())),
        }
    }

    /// `map`, `filter`, `exists` and `all`. The last two are decided by one item, whether or not others have a value.
    fn each(&mut self, op: &Op, of: &Expr, body: &Expr) -> Result<Value, EvalError> {
        let mut made = Vec::new();
        let mut failed = None;
        for item in self.items(op, of)? {
            self.spend(1)?;
            self.items.push(item);
            let result = match op {
                Op::Map => self.value(body).and_then(|value| self.own(value)),
                _ => self.flag(op, body).map(Value::Bool),
            };
            let item = self.items.pop();
            match (op, result) {
                (Op::Map, Ok(value)) => made.push(value),
                (Op::Filter, Ok(Value::Bool(true))) => {
                    if let Some(item) = item {
                        made.push(self.own(item)?);
                    }
                }
                (Op::Exists, Ok(Value::Bool(true))) => return Ok(Value::Bool(true)),
                (Op::All, Ok(Value::Bool(false))) => return Ok(Value::Bool(false)),
                (_, Ok(_)) => {}
                (Op::Exists | Op::All, Err(error)) => failed = failed.or(Some(error)),
                (_, Err(error)) => return Err(error),
            }
        }
        match (op, failed) {
            (_, Some(error)) => Err(error),
            (Op::Exists, None) => Ok(Value::Bool(false)),
            (Op::All, None) => Ok(Value::Bool(true)),
            _ => Ok(Value::List(made)),
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "below 2^53")]
    fn size(&mut self, op: &Op, of: &Expr) -> Result<Value, EvalError> {
        let of = self.value(of)?;
        let size = match &*of {
            Value::List(items) => items.len(),
            Value::Text(text) => {
                self.spend(text.len() / 16)?;
                text.chars().count()
            }
            other => return Err(wrong(op, other.kind())),
        };
        Ok(Value::Number(size as f64))
    }

    #[allow(clippy::cast_precision_loss, reason = "below 2^53")]
    fn fold(&mut self, op: &Op, of: &Expr) -> Result<Value, EvalError> {
        let of = self.value(of)?;
        let Value::List(items) = &*of else {
            return Err(wrong(op, of.kind()));
        };
        self.spend(items.len())?;
        let mut all = None;
        for item in items {
            let Value::Number(next) = *item else {
                return Err(wrong(op, item.kind()));
            };
            let next = if next.is_finite() {
                next
            } else {
                return Err(infinite(op));
            };
            all = Some(match (op, all) {
                (_, None) => next,
                (Op::Min, Some(least)) => {
                    if next < least {
                        next
                    } else {
                        least
                    }
                }
                (Op::Max, Some(most)) => {
                    if next > most {
                        next
                    } else {
                        most
                    }
                }
                (_, Some(sum)) => sum + next,
            });
        }
        match (op, all) {
            (Op::Sum, None) => Ok(Value::Number(0.0)),
            (_, None) => Err(EvalError::Empty(op.name().into())),
            (Op::Mean, Some(sum)) => Ok(Value::Number(sum / items.len() as f64)),
            (_, Some(number)) => Ok(Value::Number(number)),
        }
    }

    fn clamp(&mut self, op: &Op, of: &Expr, low: &Expr, high: &Expr) -> Result<Value, EvalError> {
        let (of, low, high) = (
            self.number(op, of)?,
            self.number(op, low)?,
            self.number(op, high)?,
        );
        if low > high {
            return Err(EvalError::Bounds);
        }
        let number = if of < low {
            low
        } else if of > high {
            high
        } else {
            of
        };
        Ok(Value::Number(number))
    }

    fn unary(&mut self, op: &Op, of: &Expr) -> Result<Value, EvalError> {
        let number = self.number(op, of)?;
        Ok(Value::Number(match op {
            Op::Negate => -number,
            Op::Abs => number.abs(),
            Op::Floor => number::floor(number),
            Op::Ceil => number::ceil(number),
            Op::Round2 => number::round2(number),
            _ => return Err(wrong(op, "one value")),
        }))
    }

    fn binary(&mut self, op: &Op, a: &Expr, b: &Expr) -> Result<Value, EvalError> {
        let (a, b) = (self.value(a)?, self.value(b)?);
        match (&*a, &*b) {
            (Value::Number(a), Value::Number(b)) => numbers(op, *a, *b),
            (Value::Text(_) | Value::List(_), Value::Text(_) | Value::List(_))
                if *op == Op::Add =>
            {
                self.join(op, a, b)
            }
            (Value::Text(a), Value::Text(b)) => compared(op, a.cmp(b)).map(Value::Bool),
            (Value::Number(_), other) | (other, _) => Err(wrong(op, other.kind())),
        }
    }

    fn join(&mut self, op: &Op, a: Held<'a>, b: Held<'a>) -> Result<Value, EvalError> {
        // What was made before is copied again when it grows, so it costs again too.
        self.spend(a.weight())?;
        match (a.into_owned(), self.own(b)?) {
            (Value::Text(a), Value::Text(b)) => Ok(Value::Text(a + &b)),
            (Value::List(mut a), Value::List(b)) => {
                a.extend(b);
                Ok(Value::List(a))
            }
            (_, other) => Err(wrong(op, other.kind())),
        }
    }
}

enum Items<'a> {
    Borrowed(core::slice::Iter<'a, Value>),
    Owned(alloc::vec::IntoIter<Value>),
}

impl<'a> Iterator for Items<'a> {
    type Item = Held<'a>;

    fn next(&mut self) -> Option<Held<'a>> {
        match self {
            Self::Borrowed(items) => items.next().map(Cow::Borrowed),
            Self::Owned(items) => items.next().map(Cow::Owned),
        }
    }
}

fn numbers(op: &Op, a: f64, b: f64) -> Result<Value, EvalError> {
    Ok(Value::Number(match op {
        Op::Add => a + b,
        Op::Subtract => a - b,
        Op::Multiply => a * b,
        Op::Divide => a / b,
        Op::Remainder => return remainder(op, a, b),
        _ => return compared(op, a.partial_cmp(&b).unwrap_or(Ordering::Equal)).map(Value::Bool),
    }))
}

fn compared(op: &Op, order: Ordering) -> Result<bool, EvalError> {
    match op {
        Op::Less => Ok(order.is_lt()),
        Op::LessEqual => Ok(order.is_le()),
        Op::Greater => Ok(order.is_gt()),
        Op::GreaterEqual => Ok(order.is_ge()),
        _ => Err(wrong(op, "text")),
    }
}

fn remainder(op: &Op, a: f64, b: f64) -> Result<Value, EvalError> {
    let (Some(a), Some(b)) = (number::as_whole(a), number::as_whole(b)) else {
        return Err(EvalError::NotWhole(op.name().into()));
    };
    #[allow(clippy::cast_precision_loss, reason = "at most 2^53")]
    let rest = a.checked_rem(b).map(|rest| rest as f64);
    rest.map(Value::Number).ok_or_else(|| infinite(op))
}

/// The number, if it is one; there is no negative zero.
fn finite(op: &Op, number: f64) -> Result<Value, EvalError> {
    if number.is_finite() {
        Ok(Value::Number(number + 0.0))
    } else {
        Err(infinite(op))
    }
}

fn infinite(op: &Op) -> EvalError {
    EvalError::NotFinite(op.name().into())
}

fn missing(name: &str) -> EvalError {
    EvalError::Missing(name.into())
}

fn wrong(op: &Op, found: &'static str) -> EvalError {
    EvalError::Type {
        op: op.name().into(),
        found,
    }
}
