//! Typed reading of the located tree: a [`Cursor`] is a value with its path, a [`Fields`] a block of keys.
//! Values that cannot be read are reported at their place and read as `None`.
//!
//! A reader asks for all keys of a block before it gives up on any of them. So a run reports every fault, and a sketch
//! ([`crate::shape`]) describes every key.

use std::fmt::Display;
use std::ops::RangeInclusive;

use serde_json::Value;

use crate::problem::{LineColumn, ProblemReport, make_hint};
use crate::shape::{Atlas, Block, Shape, Sketch};
use crate::yaml::{Data, Node, is_switch_word, join, read_flag};

mod fields;

pub(crate) use fields::Fields;

/// A value, its path and the report to which its faults go.
#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    pub node: &'a Node,
    pub path: String,
    pub report: &'a ProblemReport,
    /// Set if nothing is read, and the reader describes what it takes.
    sketch: Option<Sketch<'a>>,
}

/// The node at every place of a sketch.
static NOTHING: Node = Node {
    at: LineColumn { line: 0, column: 0 },
    data: Data::List(Vec::new()),
};

impl<'a> Cursor<'a> {
    pub(crate) fn root(node: &'a Node, report: &'a ProblemReport) -> Self {
        Self {
            node,
            path: String::new(),
            report,
            sketch: None,
        }
    }

    /// The place under another path.
    pub(crate) fn under(self, path: &str) -> Self {
        Self {
            path: path.to_owned(),
            ..self
        }
    }

    /// A place at which nothing is read.
    pub(crate) fn sketch(atlas: &'a Atlas) -> Self {
        Self {
            node: &NOTHING,
            path: String::new(),
            report: &atlas.nowhere,
            sketch: Some(atlas.root()),
        }
    }

    /// A place inside this one.
    fn inside(&self, node: &'a Node, path: String) -> Self {
        Self {
            node,
            path,
            report: self.report,
            sketch: self.sketch.map(Sketch::inside),
        }
    }

    /// Describes what is taken here. Returns true if nothing else must be done, because nothing is read.
    fn tells(&self, shape: impl FnOnce() -> Shape) -> bool {
        self.sketch.map(|sketch| sketch.tell(shape())).is_some()
    }

    /// Returns whether to read in a way that depends on the content: `holds`, and always true in a sketch, which
    /// describes every way.
    pub(crate) fn may(&self, holds: bool) -> bool {
        holds || self.sketch.is_some()
    }

    /// Reads a shape that is described once, under a name, however often it is read.
    pub(crate) fn named<T>(
        &self,
        name: &'static str,
        read: impl FnOnce(&Self) -> Option<T>,
    ) -> Option<T> {
        let Some(sketch) = self.sketch else {
            return read(self);
        };
        let sketch = Some(sketch.name(name)?);
        read(&Self {
            sketch,
            ..self.clone()
        })
    }

    pub(crate) fn report_problem(&self, message: impl Into<String>) {
        self.report.add(self.node.at, &self.path, message);
    }

    /// The value of a key of this block, or at a path from here, if it is there.
    pub(crate) fn child_at(&self, key: &str) -> Option<Cursor<'a>> {
        let node = self.node.at(key)?;
        Some(Cursor {
            node,
            path: join(&self.path, key),
            ..self.clone()
        })
    }

    /// Reports a key of this block, where it stands.
    pub(crate) fn wrong_at(&self, key: &str, message: impl Into<String>) {
        let path = join(&self.path, key);
        self.report.add(self.node.locate(key), &path, message);
    }

    fn expected<T>(&self, what: &str) -> Option<T> {
        self.report_problem(format!("expected {what}, found {}", self.node.what()));
        None
    }

    /// A number is expected: text that is nearly one gets the mend.
    fn expected_number<T>(&self, what: &str) -> Option<T> {
        let number = |text: &str| text.parse::<f64>().ok();
        match &self.node.data {
            Data::Quoted(text) if number(text).is_some() => {
                self.report_problem(format!(
                    "expected {what}, found the text \"{text}\"; leave the quotes away"
                ));
                None
            }
            Data::Plain(text) => match number(&text.replacen(',', ".", 1)) {
                Some(number) if text.contains(',') => {
                    self.report_problem(format!(
                        "expected {what}, found `{text}`; write a point: {number}"
                    ));
                    None
                }
                _ => self.expected(what),
            },
            _ => self.expected(what),
        }
    }

    /// Text of at most `limit` characters, not blank. A plain scalar is taken as it is written,
    /// so that `version: 1.10` stays `1.10` and `title: No` stays `No`.
    pub(crate) fn text(&self, limit: usize) -> Option<String> {
        self.text_of("text", None, limit)
    }

    /// Text that is a file of the study folder.
    pub(crate) fn file(&self, what: &'static str) -> Option<String> {
        self.text_of(what, None, 200)
    }

    fn text_of(
        &self,
        what: &'static str,
        pattern: Option<&'static str>,
        limit: usize,
    ) -> Option<String> {
        if self.tells(|| Shape::Text {
            what,
            pattern,
            most: limit,
        }) {
            return None;
        }
        let (Data::Plain(text) | Data::Quoted(text)) = &self.node.data else {
            return self.expected("text");
        };
        if self.node.is_null() || text.trim().is_empty() {
            self.report_problem("expected text, found nothing");
            return None;
        }
        let count = text.chars().count();
        if count > limit {
            self.report_problem(format!("{count} characters; the limit is {limit}"));
            return None;
        }
        Some(text.clone())
    }

    /// An id: lower-case letters, digits, `_` and `-`, a letter first, at most 40.
    pub(crate) fn id(&self) -> Option<String> {
        let text = self.text_of("id", Some("^[a-z][a-z0-9_-]{0,39}$"), usize::MAX)?;
        let good = text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.len() <= 40
            && text
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-'));
        if !good {
            self.report_problem(format!(
                "`{text}` is not an id; use lower-case letters, digits, `_` and `-`, a letter first, at most 40 in all"
            ));
        }
        // A fault of an id is no reason to skip the value that has it.
        Some(text)
    }

    /// A whole number in a range.
    pub(crate) fn read_whole<T>(&self, range: RangeInclusive<T>, unit: &str) -> Option<T>
    where
        T: Copy + Display + TryFrom<i64> + PartialOrd,
    {
        let bound = |bound: &T| bound.to_string().parse().unwrap_or_default();
        if self.tells(|| Shape::Number {
            whole: true,
            from: bound(range.start()),
            to: bound(range.end()),
            unit: unit.to_owned(),
        }) {
            return None;
        }
        let unit = if unit.is_empty() {
            String::new()
        } else {
            format!(" {unit}")
        };
        let wanted = format!(
            "a whole number from {} to {}{unit}",
            range.start(),
            range.end()
        );
        let Data::Plain(text) = &self.node.data else {
            return self.expected_number(&wanted);
        };
        match text
            .parse::<i64>()
            .ok()
            .and_then(|n| T::try_from(n).ok())
            .filter(|n| range.contains(n))
        {
            Some(number) => Some(number),
            None => self.expected_number(&wanted),
        }
    }

    /// A number in a range.
    pub(crate) fn read_number(&self, range: RangeInclusive<f64>, unit: &str) -> Option<f64> {
        let (from, to) = (*range.start(), *range.end());
        if self.tells(|| Shape::Number {
            whole: false,
            from,
            to,
            unit: unit.to_owned(),
        }) {
            return None;
        }
        let number = match &self.node.data {
            Data::Plain(text) => text.parse::<f64>().ok(),
            _ => None,
        };
        match number.filter(|number| range.contains(number)) {
            Some(number) => Some(number),
            None => self.expected_number(format!("a number from {from} to {to} {unit}").trim_end()),
        }
    }

    /// `true` or `false`.
    pub(crate) fn read_flag(&self) -> Option<bool> {
        if self.tells(|| Shape::Flag) {
            return None;
        }
        match &self.node.data {
            Data::Plain(text) if is_switch_word(text) => {
                self.report_problem(format!(
                    "`{text}` means different things to different programs; write true or false"
                ));
                None
            }
            Data::Plain(text) if read_flag(text).is_some() => read_flag(text),
            _ => self.expected("true or false"),
        }
    }

    /// One of some words.
    pub(crate) fn read_word<T: Copy>(&self, what: &str, known: &[(&str, T)]) -> Option<T> {
        let word = |(word, _): &(&str, T)| (*word).to_owned();
        if self.tells(|| Shape::Word(known.iter().map(word).collect())) {
            return None;
        }
        let text = self.text(usize::MAX)?;
        let found = known
            .iter()
            .find(|(word, _)| *word == text)
            .map(|(_, value)| *value);
        if found.is_none() {
            let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
            self.report_problem(format!(
                "unknown {what} `{text}`; {}",
                make_hint(&text, &words)
            ));
        }
        found
    }

    /// Returns whether it is a block of keys.
    pub(crate) fn is_block(&self) -> bool {
        matches!(self.node.data, Data::Map(_))
    }

    /// The number of items of a list; `None` of anything else.
    pub(crate) fn item_count(&self) -> Option<usize> {
        match &self.node.data {
            Data::List(items) => Some(items.len()),
            _ => None,
        }
    }

    /// A list that is not empty.
    pub(crate) fn list(&self, what: &str, limit: usize) -> Option<Vec<Cursor<'a>>> {
        self.list_of(what, 1..=limit)
    }

    /// A list with this many items.
    pub(crate) fn list_of(
        &self,
        what: &str,
        count: RangeInclusive<usize>,
    ) -> Option<Vec<Cursor<'a>>> {
        let (least, most) = (*count.start(), *count.end());
        if let Some(sketch) = self.sketch {
            let item = self.inside(self.node, String::new());
            let at = item.sketch.map_or(0, |item| item.at);
            sketch.tell(Shape::List {
                what: what.to_owned(),
                least,
                most,
                item: at,
            });
            return Some(vec![item]);
        }
        let Data::List(items) = &self.node.data else {
            return self.expected(&format!("a list of {what} (lines that start with `- `)"));
        };
        if !count.contains(&items.len()) {
            self.report_problem(format!(
                "{} {what}; there must be {least} to {most}",
                items.len()
            ));
            return None;
        }
        let item = |(i, node)| self.inside(node, format!("{}[{i}]", self.path));
        Some(items.iter().enumerate().map(item).collect())
    }

    /// The keys and values of a block, whatever the keys are.
    pub(crate) fn read_entries(&self, what: &str) -> Option<Vec<(&'a str, Cursor<'a>)>> {
        if let Some(sketch) = self.sketch {
            let value = self.inside(self.node, String::new());
            let at = value.sketch.map_or(0, |value| value.at);
            sketch.tell(Shape::Map {
                what: what.to_owned(),
                value: at,
            });
            return Some(vec![("name", value)]);
        }
        let Data::Map(entries) = &self.node.data else {
            return self.expected(&format!("{what} (lines of `key: value`)"));
        };
        let entry = |(key, node): &'a (crate::yaml::Key, Node)| {
            let place = self.inside(node, join(&self.path, &key.name));
            (key.name.as_str(), place)
        };
        Some(entries.iter().map(entry).collect())
    }

    /// A block of known keys; [`Fields::done`] reports the others.
    pub(crate) fn fields(&self, what: &str) -> Option<Fields<'a>> {
        let mut whole = self.clone();
        match whole.sketch {
            Some(sketch) => whole.sketch = Some(sketch.tell(Shape::Block(Block::default()))),
            None => drop(self.read_entries(what)?),
        }
        Some(Fields::of(whole))
    }

    /// The value as JSON.
    pub(crate) fn json(&self) -> Value {
        self.tells(|| Shape::Any);
        self.node.json(&self.path, self.report)
    }
}
