//! Formulas of a study file: read as CEL, type-checked against the declared variables, and lowered to the small tree
//! that server and page evaluate in the same way. `docs/formulas.md` is the page for authors.
//!
//! The code of a field that takes a formula declares the variables ([`Types`]) and the wanted type; the code that
//! evaluates it brings their values ([`formula::Scope`]). This module must not know which variables there are.

// The stage types that take formulas come to it one by one.
#![cfg_attr(
    not(test),
    allow(
        dead_code,
        reason = "read by the fields of the file that take formulas"
    )
)]

pub(crate) mod bounds;
mod check;
mod functions;
mod parse;
#[cfg(test)]
mod tests;
mod types;
mod usage;

use std::ops::Range;

use formula::{EvalError, Expr, Piece, Scope, Value};
use serde::{Serialize, Serializer};

pub use self::types::{Type, Types};
use crate::read::Cursor;
use crate::yaml::Data;

/// The longest text of a formula or template, characters.
const MAX_LENGTH: usize = 1000;

/// A formula of the file. As JSON it is its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    source: String,
    expr: Expr,
}

/// A text of the file with formulas in it: `Soups: {{ score / 20 }} of 3`. As JSON it is its text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextTemplate {
    source: String,
    pieces: formula::Template,
}

impl Formula {
    /// Reads a formula that gives a value of the wanted type. Every fault is reported at its place in the formula.
    pub(crate) fn read(place: &Cursor<'_>, scope: &Types, wanted: &Type) -> Option<Self> {
        let source = source(place)?;
        let expr = part(place, &source, 0..source.len(), scope, &[wanted])?;
        Some(Self { source, expr })
    }

    /// Reads a formula inside another text, whose value has one of the wanted types.
    pub(crate) fn read_text(
        place: &Cursor<'_>,
        text: &str,
        scope: &Types,
        wanted: &[&Type],
    ) -> Option<Self> {
        let expr = part(place, text, 0..text.len(), scope, wanted)?;
        let source = text.trim().to_owned();
        Some(Self { source, expr })
    }

    /// A formula that the program brings.
    pub(crate) fn known(source: &str, scope: &Types) -> Self {
        let written = parse::parse(source).expect("the program writes its formulas correctly");
        let (expr, _) = check::check(&written, scope).expect("the program names what there is");
        let source = source.to_owned();
        Self { source, expr }
    }

    /// Its text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The tree that is evaluated; small in bytes.
    pub fn expr(&self) -> &Expr {
        &self.expr
    }

    /// Its value.
    ///
    /// # Errors
    /// [`EvalError`] if an operation has no value.
    pub fn eval(&self, scope: &dyn Scope) -> Result<Value, EvalError> {
        formula::eval(&self.expr, scope)
    }
}

impl TextTemplate {
    /// Reads a text with formulas in double braces, each of which gives a number or text.
    pub(crate) fn read(place: &Cursor<'_>, scope: &Types) -> Option<Self> {
        let source = source(place)?;
        let parts = match split(&source) {
            Ok(parts) => parts,
            Err(open) => {
                report(
                    place,
                    &source,
                    open,
                    "`{{` is not closed; write `}}` after the formula",
                );
                return None;
            }
        };
        let piece = |part: Part| match part {
            Part::Text(range) => Some(Piece::Text(source[range].to_owned())),
            Part::Formula(range) => part_of_text(place, &source, range, scope).map(Piece::Formula),
        };
        let pieces: Vec<Option<Piece>> = parts.into_iter().map(piece).collect();
        let pieces = formula::Template(pieces.into_iter().collect::<Option<_>>()?);
        Some(Self { source, pieces })
    }

    /// Reads a formula that gives a number or text or, if it has double braces, a text with such formulas.
    pub(crate) fn read_value(place: &Cursor<'_>, scope: &Types) -> Option<Self> {
        let source = source(place)?;
        if source.contains("{{") {
            return Self::read(place, scope);
        }
        let expr = part_of_text(place, &source, 0..source.len(), scope)?;
        let pieces = formula::Template(vec![Piece::Formula(expr)]);
        Some(Self { source, pieces })
    }

    /// Its text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The pieces that are rendered; small in bytes.
    pub fn pieces(&self) -> &formula::Template {
        &self.pieces
    }
}

impl Serialize for Formula {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.source)
    }
}

impl Serialize for TextTemplate {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.source)
    }
}

fn source(place: &Cursor<'_>) -> Option<String> {
    let entries = match &place.node.data {
        Data::List(items) => items.len(),
        Data::Map(entries) => entries.len(),
        Data::Plain(_) | Data::Quoted(_) => 0,
    };
    if entries > 0 {
        place.report_problem(format!("expected a formula, found {}; put a formula that begins with a bracket or brace in quotes", place.node.what()));
        return None;
    }
    place.text(MAX_LENGTH)
}

/// A part of a template, in bytes.
enum Part {
    Text(Range<usize>),
    Formula(Range<usize>),
}

/// The parts of a template, or where one is opened that has no end.
fn split(text: &str) -> Result<Vec<Part>, usize> {
    let mut parts = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find("{{").map(|open| at + open) {
        let close = text[open..]
            .find("}}")
            .map(|close| open + close)
            .ok_or(open)?;
        parts.extend((at < open).then_some(Part::Text(at..open)));
        parts.push(Part::Formula(open + 2..close));
        at = close + 2;
    }
    parts.extend((at < text.len()).then_some(Part::Text(at..text.len())));
    Ok(parts)
}

fn part_of_text(
    place: &Cursor<'_>,
    source: &str,
    range: Range<usize>,
    scope: &Types,
) -> Option<Expr> {
    part(place, source, range, scope, &[&Type::Number, &Type::Text])
}

/// Reads a formula that is a part of a text, and gives one of the wanted types.
fn part(
    place: &Cursor<'_>,
    source: &str,
    range: Range<usize>,
    scope: &Types,
    wanted: &[&Type],
) -> Option<Expr> {
    let checked = match parse::parse(&source[range.clone()]) {
        Ok(written) => check::check(&written, scope),
        Err(fault) => Err(vec![fault]),
    };
    match checked {
        Ok((expr, of)) if wanted.iter().any(|wanted| of.join(wanted).is_some()) => Some(expr),
        Ok((_, of)) => {
            let names: Vec<String> = wanted.iter().map(ToString::to_string).collect();
            let mend = match (wanted, &of) {
                ([Type::Bool], Type::Number) => "; compare it, as in `score >= 20`",
                (_, Type::Bool) => "; choose by it, as in `won ? 1 : 0`",
                (_, Type::List(_)) => "; take something of it, as in `sum(list)` or `list[0]`",
                _ => "",
            };
            report(
                place,
                source,
                range.start,
                &format!(
                    "the formula gives {of}, and {} is wanted here{mend}",
                    names.join(" or ")
                ),
            );
            None
        }
        Err(faults) => {
            for fault in faults {
                report(place, source, range.start + fault.at, &fault.message);
            }
            None
        }
    }
}

/// Reports a fault at its place in the file. If the file writes the text differently, such as with escapes or folded
/// lines, the fault is reported at the beginning of the text, with the part that is meant.
pub(crate) fn report(place: &Cursor<'_>, text: &str, offset: usize, message: &str) {
    match place.report.locate(place.node.at, text, offset) {
        Some(at) => place.report.add(at, &place.path, message),
        None => {
            let rest = text[offset..].trim();
            let part: String = rest.chars().take(20).collect();
            let more = if part.len() < rest.len() { "…" } else { "" };
            place.report_problem(format!("at `{part}{more}`: {message}"));
        }
    }
}
