//! The types of a formula, and its tree.

use formula::{Expr, Op};

use super::parse::{Fault, What, Written};
use super::types::{Type, Types};
use super::usage::usage_of;
use crate::problem::make_hint;

/// Type-checks a written formula. Returns the tree and its type, or every fault.
pub(super) fn check(written: &Written, types: &Types) -> Result<(Expr, Type), Vec<Fault>> {
    let mut check = Check {
        types,
        items: Vec::new(),
        faults: Vec::new(),
    };
    match (check.read(written), check.faults) {
        (Some(typed), faults) if faults.is_empty() => Ok((typed.expr, typed.of)),
        (_, faults) => Err(faults),
    }
}

/// A part and its type.
pub(super) struct Typed {
    pub expr: Expr,
    pub of: Type,
    /// The place where it starts.
    pub start: usize,
}

pub(super) struct Check<'a> {
    types: &'a Types,
    /// Names of items and their types, the innermost last.
    pub items: Vec<(&'a str, Type)>,
    faults: Vec<Fault>,
}

impl<'a> Check<'a> {
    pub(super) fn add_fault<T>(&mut self, at: usize, message: impl Into<String>) -> Option<T> {
        self.faults.push(Fault::new(at, message));
        None
    }

    pub(super) fn make_expression(
        &mut self,
        from: &Written,
        op: Op,
        args: impl Into<Vec<Expr>>,
        of: Type,
    ) -> Option<Typed> {
        match Expr::new(op, args.into()) {
            Ok(expr) => Some(Typed {
                expr,
                of,
                start: from.start,
            }),
            Err(why) => self.add_fault(from.at, format!("{why}; write less in one formula")),
        }
    }

    pub(super) fn read(&mut self, from: &'a Written) -> Option<Typed> {
        match &from.what {
            What::Bool(flag) => self.make_expression(from, Op::Bool(*flag), [], Type::Bool),
            What::Number(number) => {
                self.make_expression(from, Op::Number(*number), [], Type::Number)
            }
            What::Text(text) => self.make_expression(from, Op::Text(text.clone()), [], Type::Text),
            What::Name(name) => self.name(from, name),
            What::List(items) => self.list(from, items),
            What::Field(of, name) => {
                let of = self.read(of)?;
                self.field(from, of, name)
            }
            What::Operator(op, args) => self.operator(from, op, args),
            What::Call(None, name, args) => self.check_function(from, name, args),
            What::Call(Some(of), name, args) => self.check_method(from, of, name, args),
        }
    }

    /// Reads all parts, so that the faults of each are reported.
    pub(super) fn check_all(&mut self, parts: &'a [Written]) -> Option<Vec<Typed>> {
        let read: Vec<Option<Typed>> = parts.iter().map(|part| self.read(part)).collect();
        read.into_iter().collect()
    }

    /// The type, if the part can have it.
    pub(super) fn expect_type(&mut self, part: &Typed, wanted: &Type, what: &str) -> Option<()> {
        if part.of.join(wanted).is_some() {
            return Some(());
        }
        let mend = match (wanted, &part.of) {
            (Type::Bool, Type::Number) => "; compare it, as in `x > 0`",
            (Type::Number, Type::List(_)) => "; take one of it, as in `list[0]`, or `sum(list)`",
            _ => "",
        };
        self.add_fault(
            part.start,
            format!("{what} takes {wanted}, found {}{mend}", part.of),
        )
    }

    fn name(&mut self, from: &Written, name: &str) -> Option<Typed> {
        let item = self.items.iter().rev().position(|(item, _)| *item == name);
        if let Some(out) = item {
            let of = self.items[self.items.len() - 1 - out].1.clone();
            // No deeper than the brackets that it takes.
            let out = u8::try_from(out).unwrap_or(u8::MAX);
            return self.make_expression(from, Op::Item(out), [], of);
        }
        if let Some(of) = self.types.get(name) {
            return self.make_expression(from, Op::Variable(name.to_owned()), [], of.clone());
        }
        let mut known: Vec<&str> = self.items.iter().map(|(name, _)| *name).collect();
        known.extend(self.types.keys().map(String::as_str));
        let minus = known.iter().find(|known| {
            known
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('-'))
        });
        if let Some(known) = minus {
            let mend = known.replace('-', "_");
            return self.add_fault(from.at, format!("`-` is a minus here, so `{known}` cannot be named in a formula; call it `{mend}`"));
        }
        if let Some(usage) = usage_of(name) {
            return self.add_fault(from.at, format!("`{name}` is a function; write `{usage}`"));
        }
        self.add_fault(
            from.at,
            format!("unknown name `{name}`; {}", make_hint(name, &known)),
        )
    }

    fn list(&mut self, from: &'a Written, items: &'a [Written]) -> Option<Typed> {
        let items = self.check_all(items)?;
        let mut of = Type::Any;
        for item in &items {
            match of.join(&item.of) {
                Some(joined) => of = joined,
                None => {
                    return self.add_fault(
                        item.start,
                        format!(
                            "a list has items of one type; before this are {of}, and this is {}",
                            item.of
                        ),
                    );
                }
            }
        }
        let count = u16::try_from(items.len()).unwrap_or(u16::MAX);
        let items: Vec<Expr> = items.into_iter().map(|item| item.expr).collect();
        self.make_expression(from, Op::List(count), items, Type::list(of))
    }

    pub(super) fn field(&mut self, from: &Written, of: Typed, name: &str) -> Option<Typed> {
        let found = match &of.of {
            Type::Any => Type::Any,
            Type::Record(fields) => match fields.get(name) {
                Some(found) => found.clone(),
                None => {
                    let known: Vec<&str> = fields.keys().map(String::as_str).collect();
                    return self.add_fault(
                        from.at,
                        format!("unknown field `{name}`; {}", make_hint(name, &known)),
                    );
                }
            },
            Type::List(_) => {
                let message = format!(
                    "a list has no fields; write `.map(e, e.{name})` for that of every item, or `[0].{name}` for that of the first"
                );
                return self.add_fault(from.at, message);
            }
            other => {
                return self.add_fault(
                    from.at,
                    format!("`.{name}` is asked of {other}, which has no fields"),
                );
            }
        };
        self.make_expression(from, Op::Field(name.to_owned()), [of.expr], found)
    }

    fn operator(&mut self, from: &'a Written, op: &Op, args: &'a [Written]) -> Option<Typed> {
        let read = self.check_all(args)?;
        let what = format!("`{}`", op.name());
        let of = match (op, &read[..]) {
            (Op::If, [condition, yes, no]) => {
                self.expect_type(condition, &Type::Bool, "the condition before `?`")?;
                match yes.of.join(&no.of) {
                    Some(of) => of,
                    None => {
                        return self.add_fault(
                            from.at,
                            format!(
                                "both values of `? :` have one type; here are {} and {}",
                                yes.of, no.of
                            ),
                        );
                    }
                }
            }
            (Op::And | Op::Or | Op::Not, parts) => {
                let good = parts
                    .iter()
                    .map(|part| self.expect_type(part, &Type::Bool, &what))
                    .fold(Some(()), Option::and);
                good.map(|()| Type::Bool)?
            }
            (Op::Equal | Op::NotEqual, [a, b]) if a.of.join(&b.of).is_none() => {
                return self.add_fault(
                    from.at,
                    format!(
                        "{what} compares {} with {}, which are never equal",
                        a.of, b.of
                    ),
                );
            }
            (Op::Equal | Op::NotEqual, _) => Type::Bool,
            (Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual, [a, b]) => {
                self.order(from, &what, a, b, args)?
            }
            (Op::In, [a, list]) => {
                self.expect_type(list, &Type::list(Type::Any), "`in`, on its right,")?;
                if list.of.join(&Type::list(a.of.clone())).is_none() {
                    return self.add_fault(
                        from.at,
                        format!("`in` looks for {} in {}, where it never is", a.of, list.of),
                    );
                }
                Type::Bool
            }
            (Op::Index, [of, at]) => return self.index(from, of, at, args),
            (Op::Add, [a, b]) => match a.of.join(&b.of) {
                Some(of @ (Type::Any | Type::Number | Type::Text | Type::List(_))) => of,
                _ => return self.add_fault(
                    from.at,
                    format!(
                        "`+` adds two numbers, or joins two texts or two lists; here are {} and {}",
                        a.of, b.of
                    ),
                ),
            },
            (_, parts) => {
                let good = parts
                    .iter()
                    .map(|part| self.expect_type(part, &Type::Number, &what))
                    .fold(Some(()), Option::and);
                good.map(|()| Type::Number)?
            }
        };
        let parts: Vec<Expr> = read.into_iter().map(|part| part.expr).collect();
        self.make_expression(from, op.clone(), parts, of)
    }

    fn order(
        &mut self,
        from: &Written,
        what: &str,
        a: &Typed,
        b: &Typed,
        args: &[Written],
    ) -> Option<Type> {
        if matches!(
            a.of.join(&b.of),
            Some(Type::Any | Type::Number | Type::Text)
        ) {
            return Some(Type::Bool);
        }
        let chain = matches!(
            &args[0].what,
            What::Operator(Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual, _)
        );
        let mend = if chain {
            "; write `a < b && b < c`"
        } else {
            ""
        };
        self.add_fault(
            from.at,
            format!(
                "{what} compares two numbers or two texts; here are {} and {}{mend}",
                a.of, b.of
            ),
        )
    }

    fn index(&mut self, from: &Written, of: &Typed, at: &Typed, args: &[Written]) -> Option<Typed> {
        let found = match (&of.of, &args[1].what) {
            (Type::Record(_) | Type::Any, What::Text(name)) => {
                let of = Typed {
                    expr: of.expr.clone(),
                    of: of.of.clone(),
                    start: of.start,
                };
                return self.field(
                    &Written {
                        start: from.start,
                        at: at.start,
                        what: What::Bool(true),
                    },
                    of,
                    name,
                );
            }
            (Type::Record(_), _) => {
                return self.add_fault(
                    at.start,
                    "a field of a record is named in quotes, as in `record[\"field\"]`",
                );
            }
            (Type::List(item), _) => (**item).clone(),
            (Type::Any, _) => Type::Any,
            (other, _) => {
                return self.add_fault(
                    from.at,
                    format!("`[ ]` takes an item of a list, found {other}"),
                );
            }
        };
        self.expect_type(at, &Type::Number, "`[ ]`")?;
        self.make_expression(from, Op::Index, [of.expr.clone(), at.expr.clone()], found)
    }
}
