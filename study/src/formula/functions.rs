//! The functions that formulas may call, and the types that each takes.

use formula::{Expr, Op};

use super::check::{Check, Typed};
use super::parse::{What, Written};
use super::types::Type;
use super::usage::{FUNCTIONS, LOOPS, usage_of};
use crate::problem::make_hint;

impl<'a> Check<'a> {
    fn misused<T>(&mut self, from: &Written, name: &str) -> Option<T> {
        let usage = usage_of(name).unwrap_or(name);
        self.add_fault(
            from.at,
            format!("`{name}` is not written so; write `{usage}`"),
        )
    }

    pub(super) fn check_function(
        &mut self,
        from: &'a Written,
        name: &str,
        args: &'a [Written],
    ) -> Option<Typed> {
        let numbers = || Type::list(Type::Number);
        let (op, takes) = match name {
            "has" => return self.has(from, args),
            "min" | "max" if args.len() > 1 => return self.extreme(from, name, args),
            "min" => (Op::Min, numbers()),
            "max" => (Op::Max, numbers()),
            "sum" => (Op::Sum, numbers()),
            "mean" => (Op::Mean, numbers()),
            "size" => return self.size(from, name, args),
            "count" => (Op::Size, Type::list(Type::Any)),
            "clamp" => (Op::Clamp, Type::Number),
            "round2" => (Op::Round2, Type::Number),
            "floor" => (Op::Floor, Type::Number),
            "ceil" => (Op::Ceil, Type::Number),
            "abs" => (Op::Abs, Type::Number),
            _ if usage_of(name).is_some() => return self.misused(from, name),
            _ => {
                let known = FUNCTIONS.map(|(known, _)| known);
                return self.add_fault(
                    from.at,
                    format!("unknown function `{name}`; {}", make_hint(name, &known)),
                );
            }
        };
        if args.len() != op.arity() {
            return self.misused(from, name);
        }
        let args = self.check_all(args)?;
        let what = format!("`{name}`");
        let good = args
            .iter()
            .map(|arg| self.expect_type(arg, &takes, &what))
            .fold(Some(()), Option::and);
        good?;
        let args: Vec<Expr> = args.into_iter().map(|arg| arg.expr).collect();
        self.make_expression(from, op, args, Type::Number)
    }

    /// The least or greatest of some numbers that are written out.
    fn extreme(&mut self, from: &'a Written, name: &str, args: &'a [Written]) -> Option<Typed> {
        let args = self.check_all(args)?;
        let what = format!("`{name}`");
        let good = args
            .iter()
            .map(|arg| self.expect_type(arg, &Type::Number, &what))
            .fold(Some(()), Option::and);
        good?;
        let count = u16::try_from(args.len()).unwrap_or(u16::MAX);
        let args: Vec<Expr> = args.into_iter().map(|arg| arg.expr).collect();
        let list = self.make_expression(from, Op::List(count), args, Type::Any)?;
        let op = if name == "min" { Op::Min } else { Op::Max };
        self.make_expression(from, op, [list.expr], Type::Number)
    }

    fn size(&mut self, from: &'a Written, name: &str, args: &'a [Written]) -> Option<Typed> {
        let [of] = args else {
            return self.misused(from, name);
        };
        let of = self.read(of)?;
        if of.of != Type::Text {
            self.expect_type(&of, &Type::list(Type::Any), "`size`")?;
        }
        self.make_expression(from, Op::Size, [of.expr], Type::Number)
    }

    fn has(&mut self, from: &'a Written, args: &'a [Written]) -> Option<Typed> {
        let path = |mut part: &Written| loop {
            match &part.what {
                What::Field(of, _) => part = of,
                What::Name(_) => break true,
                _ => break false,
            }
        };
        let [arg] = args else {
            return self.misused(from, "has");
        };
        let What::Field(of, name) = &arg.what else {
            return self.misused(from, "has");
        };
        if !path(of) {
            return self.misused(from, "has");
        }
        let of = self.read(of)?;
        let field = self.field(arg, of, name)?;
        let of = field.expr.args().to_vec();
        self.make_expression(from, Op::Has(name.clone()), of, Type::Bool)
    }

    pub(super) fn check_method(
        &mut self,
        from: &'a Written,
        of: &'a Written,
        name: &str,
        args: &'a [Written],
    ) -> Option<Typed> {
        let op = match (name, args.len()) {
            ("size", 0) => return self.size(from, name, std::slice::from_ref(of)),
            ("map", 2 | 3) => Op::Map,
            ("filter", 2) => Op::Filter,
            ("exists", 2) => Op::Exists,
            ("all", 2) => Op::All,
            _ if usage_of(name).is_some() => return self.misused(from, name),
            _ => {
                let known = LOOPS.map(|(known, _)| known);
                return self.add_fault(
                    from.at,
                    format!("unknown function `.{name}`; {}", make_hint(name, &known)),
                );
            }
        };
        let of = self.read(of)?;
        self.expect_type(&of, &Type::list(Type::Any), &format!("`{name}`"))?;
        let item = match &of.of {
            Type::List(item) => (**item).clone(),
            _ => Type::Any,
        };
        let What::Name(each) = &args[0].what else {
            return self.add_fault(
                args[0].start,
                format!(
                    "a name for the items stands here, as in `{}`",
                    usage_of(name).unwrap_or(name)
                ),
            );
        };
        let mut list = of.expr;
        if let [_, condition, _] = args {
            let condition = self.body(&Op::Filter, each, item.clone(), condition)?;
            list = self
                .make_expression(from, Op::Filter, [list, condition.expr], Type::Any)?
                .expr;
        }
        let body = self.body(&op, each, item.clone(), args.last()?)?;
        let of = match op {
            Op::Map => Type::list(body.of),
            Op::Filter => Type::list(item),
            _ => Type::Bool,
        };
        self.make_expression(from, op, [list, body.expr], of)
    }

    /// Reads the expression for every item.
    fn body(&mut self, op: &Op, each: &'a str, item: Type, body: &'a Written) -> Option<Typed> {
        self.items.push((each, item));
        let body = self.read(body);
        self.items.pop();
        let body = body?;
        if *op != Op::Map {
            self.expect_type(
                &body,
                &Type::Bool,
                &format!("the condition of `{}`", op.name()),
            )?;
        }
        Some(body)
    }
}
