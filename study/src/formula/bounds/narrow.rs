//! Conditions that hold in the branch of a formula: after `has(a.b) ? …`, the field is there; after `size(list) > 0 ? …`, the
//! list is not empty.

use formula::{Expr, Op};

/// Conditions that hold.
#[derive(Debug, Default)]
pub(super) struct Narrowed<'a> {
    /// Records with the fields that are there.
    fields: Vec<(&'a str, &'a Expr)>,
    /// Lists that are not empty.
    filled: Vec<&'a Expr>,
}

/// The conditions that held before.
#[derive(Clone, Copy, Debug)]
pub(super) struct NarrowedMark {
    fields: usize,
    filled: usize,
}

impl<'a> Narrowed<'a> {
    /// Returns whether a field is there for sure.
    pub(super) fn has(&self, name: &str, of: &Expr) -> bool {
        let mut fields = self.fields.iter();
        fields.any(|(known, record)| *known == name && *record == of)
    }

    /// Returns whether a list is not empty for sure, or was made from one that is not.
    pub(super) fn is_filled(&self, list: &Expr) -> bool {
        let mut base = list;
        while let (Op::Map, [of, _]) = (base.op(), base.args()) {
            base = of;
        }
        self.filled.contains(&base)
    }

    /// Adds a condition; returns what [`Self::release`] needs.
    pub(super) fn hold(&mut self, condition: &'a Expr) -> NarrowedMark {
        self.hold_if(true, condition)
    }

    /// The same if `holds`.
    pub(super) fn hold_if(&mut self, holds: bool, condition: &'a Expr) -> NarrowedMark {
        let mark = NarrowedMark {
            fields: self.fields.len(),
            filled: self.filled.len(),
        };
        if holds {
            self.add(condition);
        }
        mark
    }

    /// Forgets the conditions since.
    pub(super) fn release(&mut self, mark: NarrowedMark) {
        self.fields.truncate(mark.fields);
        self.filled.truncate(mark.filled);
    }

    fn add(&mut self, condition: &'a Expr) {
        match (condition.op(), condition.args()) {
            (Op::And, [a, b]) => {
                self.add(a);
                self.add(b);
            }
            (Op::Has(name), [of]) => self.fields.push((name, of)),
            (Op::Greater, [size, least]) => self.add_size(size, least, 0.0),
            (Op::GreaterEqual, [size, least]) => self.add_size(size, least, 1.0),
            (Op::Less, [least, size]) => self.add_size(size, least, 0.0),
            (Op::LessEqual, [least, size]) => self.add_size(size, least, 1.0),
            _ => {}
        }
    }

    fn add_size(&mut self, size: &'a Expr, least: &Expr, enough: f64) {
        if let (Op::Size, [list], Op::Number(least)) = (size.op(), size.args(), least.op())
            && *least >= enough
        {
            self.filled.push(list);
        }
    }
}
