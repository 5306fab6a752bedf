//! Values in texts that participants read: `{{ formula }}` in pages and forms, with `| money`, `| percent` or `| whole`
//! behind it for numbers.
//!
//! A formula may name any stage before it. The names are known once the whole timeline is read; until then, a text keeps
//! the source of its formulas ([`Braces`]). This module must not know where a text is shown, and whose
//! values they are.

use std::collections::BTreeMap;

use ::survey::names_in_braces;
use formula::Value;

use crate::formula::{Formula, Type, Types};
use crate::money;
use crate::problem::{LineColumn, Problem, ProblemReport};
use crate::read::Cursor;
use crate::yaml::{Data, Node};

/// A formula in double braces somewhere in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Braces {
    /// The text between the braces.
    pub source: String,
    /// Its place; without a message.
    pub place: Problem,
}

/// A value that is set into a text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Inset {
    formula: Formula,
    format: Format,
    /// The stage and the item, with a part of it, if it is a participant's answer.
    answer: Option<(String, String)>,
}

/// The format of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Plain,
    Money,
    Percent,
    Whole,
}

const FORMATS: [(&str, Format); 3] = [
    ("money", Format::Money),
    ("percent", Format::Percent),
    ("whole", Format::Whole),
];

/// Writes the answer of a stage to an item.
pub(crate) type WriteAnswer<'a> = Box<dyn Fn(&str, &str) -> Option<String> + 'a>;

/// Values for a text, with the language and currency in which it is written.
pub(crate) struct InsetScope<'a> {
    pub language: &'a str,
    /// The currency of the study; empty if it pays nothing.
    pub currency: &'a str,
    pub values: BTreeMap<String, Value>,
    /// The words for no and yes.
    pub no_yes: [String; 2],
    /// Writes an answer as the participant chose it, by stage and item; `None` if nobody asked this.
    pub write_answer: WriteAnswer<'a>,
}

/// Finds the first part of a text in double braces: its begin, its content, and its end.
pub(crate) fn next_braces(text: &str) -> Option<(usize, &str, usize)> {
    let open = text.find("{{")?;
    let close = open + text[open..].find("}}")?;
    Some((open, &text[open + 2..close], close + 2))
}

/// Returns a text with the content of its braces replaced.
pub(crate) fn replace_braces(text: &str, mut with: impl FnMut(&str) -> String) -> String {
    let (mut filled, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((open, source, end)) = next_braces(rest) {
        filled.push_str(&rest[..open]);
        filled.push_str(&with(source));
        rest = &rest[end..];
    }
    filled + rest
}

/// The fault of braces that are not closed.
pub(crate) const OPEN: &str =
    "`{{` has no end; write `}}` behind the formula, or leave the braces out";

/// Finds the formulas in double braces of a text into which values can be set; reports any other content of braces.
pub(crate) fn find_braces(place: &Cursor<'_>, text: &str) -> Vec<Braces> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some((open, source, end)) = next_braces(rest) {
        refuse_names(place, &rest[..open]);
        let source = source.to_owned();
        let place = place.report.problem(place.node.at, &place.path, "");
        found.push(Braces { source, place });
        rest = &rest[end..];
    }
    match rest.contains("{{") {
        true => place.report_problem(OPEN),
        false => refuse_names(place, rest),
    }
    found
}

/// Reports a name in single braces, which a form alone fills in.
fn refuse_names(place: &Cursor<'_>, text: &str) {
    if let Some(name) = names_in_braces(text).next() {
        place.report_problem(format!(
            "`{{{name}}}` is not filled in here; for the answer to an earlier form, write `{{{{ answers.STAGE.{name} }}}}`; \
             otherwise leave the braces out"
        ));
    }
}

/// Reports braces in a text into which no value can be set.
pub(crate) fn refuse_braces(place: &Cursor<'_>, text: &str) {
    let double = next_braces(text).map(|(_, source, _)| format!("{{{{{source}}}}}"));
    let open = || text.contains("{{").then(|| "{{".to_owned());
    let single = || Some(format!("{{{}}}", names_in_braces(text).next()?));
    if let Some(braces) = double.or_else(open).or_else(single) {
        place.report_problem(format!(
            "nothing is filled in here, so participants would read `{braces}`; leave the braces out"
        ));
    }
}

impl Inset {
    /// Reads the content of braces; reports its faults at their place in the file.
    pub(crate) fn read(braces: &Braces, types: &Types, report: &ProblemReport) -> Option<Self> {
        let Problem {
            file,
            line,
            column,
            path,
            ..
        } = &braces.place;
        let own = ProblemReport::new(file);
        let at = LineColumn {
            line: *line,
            column: *column,
        };
        let data = Data::List(Vec::new());
        let node = Node { at, data };
        let place = Cursor::root(&node, &own).under(path);
        let read = Self::read_at(&place, &braces.source, types);
        report.add_problems(own);
        read
    }

    fn read_at(place: &Cursor<'_>, source: &str, types: &Types) -> Option<Self> {
        let (source, format) = split(place, source)?;
        let wanted: &[&Type] = match format {
            Format::Plain => &[&Type::Number, &Type::Text, &Type::Bool],
            Format::Money | Format::Percent | Format::Whole => &[&Type::Number],
        };
        let formula = Formula::read_text(place, source, types, wanted)?;
        let path = source.trim().strip_prefix("answers.");
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let answer = path
            .filter(|path| path.chars().all(is_word))
            .and_then(|path| path.split_once('.'))
            .map(|(stage, item)| (stage.to_owned(), item.to_owned()));
        Some(Self {
            formula,
            format,
            answer,
        })
    }

    /// The value as participants read it; a dash if there is none.
    pub(crate) fn write(&self, scope: &InsetScope<'_>) -> String {
        let Ok(value) = self.formula.eval(&scope.values) else {
            return "–".to_owned();
        };
        let answer = self
            .answer
            .as_ref()
            .filter(|_| self.format == Format::Plain);
        if let Some(text) = answer.and_then(|(stage, item)| (scope.write_answer)(stage, item)) {
            return text;
        }
        match (self.format, value) {
            (Format::Money, Value::Number(amount)) => scope.write_money(amount),
            (Format::Percent, Value::Number(share)) => {
                let gap = if scope.is_english() { "" } else { "\u{a0}" };
                format!("{}{gap}%", scope.write_number((share * 100.0).round()))
            }
            (Format::Whole, Value::Number(number)) => scope.write_number(number.round()),
            (_, value) => scope.write_value(&value),
        }
    }
}

/// The formula, and the format behind its last bar.
fn split<'s>(place: &Cursor<'_>, source: &'s str) -> Option<(&'s str, Format)> {
    let Some((formula, format)) = source.rsplit_once('|').filter(|(formula, format)| {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == ' ';
        !formula.ends_with('|') && format.chars().all(is_word)
    }) else {
        return Some((source, Format::Plain));
    };
    let found = FORMATS.iter().find(|(name, _)| *name == format.trim());
    if found.is_none() {
        let known = FORMATS.map(|(name, _)| format!("`| {name}`")).join(", ");
        place.report_problem(format!(
            "there is no format `{}`; known here: {known}",
            format.trim()
        ));
    }
    found.map(|(_, format)| (formula, *format))
}

/// Returns the variables that texts know in addition to those of every formula; the study's own names have priority.
pub(crate) fn inset_types(mut known: Types, study_has_bonus: bool, within: &[String]) -> Types {
    let orders = within.iter().map(|name| (name.clone(), Type::Text));
    let orders = Type::Record(orders.collect());
    let mut add = |name: &str, of: Type| {
        known.entry(name.to_owned()).or_insert(of);
    };
    add("partner", Type::Text);
    add("order", orders);
    if study_has_bonus {
        add("bonus", Type::Number);
    }
    known
}

impl InsetScope<'_> {
    fn is_english(&self) -> bool {
        self.language.split('-').next() == Some("en")
    }

    fn write_number(&self, number: f64) -> String {
        let written = formula::show_number(number);
        match self.is_english() {
            true => written,
            false => written.replace('.', ","),
        }
    }

    fn write_money(&self, amount: f64) -> String {
        money::amount_in_language(amount, self.currency, self.language)
    }

    fn write_value(&self, value: &Value) -> String {
        if let Value::List(items) = value {
            let items = items.iter().map(|item| self.write_value(item));
            return items.collect::<Vec<_>>().join(", ");
        }
        match value {
            Value::Number(number) => self.write_number(*number),
            Value::Text(text) => text.clone(),
            Value::Bool(flag) => self.no_yes[usize::from(*flag)].clone(),
            Value::List(_) | Value::Record(_) => "–".to_owned(),
        }
    }
}
