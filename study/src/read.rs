//! Typed reading of the located tree: a [`Place`] is a value with its path, a [`Fields`] a block of keys.
//! Whatever cannot be read is reported at its place and read as `None`.

use std::fmt::Display;
use std::ops::RangeInclusive;

use serde_json::Value;

use crate::problem::{At, Report, hint};
use crate::yaml::{Data, Node, flag, is_switch_word, join};

/// A value, its path and the report to which its faults go.
#[derive(Clone)]
pub(crate) struct Place<'a> {
    pub node: &'a Node,
    pub path: String,
    pub report: &'a Report,
}

impl<'a> Place<'a> {
    pub(crate) fn root(node: &'a Node, report: &'a Report) -> Self {
        Self {
            node,
            path: String::new(),
            report,
        }
    }

    pub(crate) fn wrong(&self, message: impl Into<String>) {
        self.report.add(self.node.at, &self.path, message);
    }

    /// The value of a key of this block, if it is there.
    pub(crate) fn at(&self, key: &str) -> Option<Place<'a>> {
        let node = self.node.get(key)?;
        Some(Place {
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
        self.wrong(format!("expected {what}, found {}", self.node.what()));
        None
    }

    /// Text of at most `limit` characters, not blank. A plain scalar is taken as it is written,
    /// so that `version: 1.10` stays `1.10` and `title: No` stays `No`.
    pub(crate) fn text(&self, limit: usize) -> Option<String> {
        let (Data::Plain(text) | Data::Quoted(text)) = &self.node.data else {
            return self.expected("text");
        };
        if self.node.is_null() || text.trim().is_empty() {
            self.wrong("expected text, found nothing");
            return None;
        }
        let count = text.chars().count();
        if count > limit {
            self.wrong(format!("{count} characters; the limit is {limit}"));
            return None;
        }
        Some(text.clone())
    }

    /// An id: lower-case letters, digits, `_` and `-`, a letter first, at most 40.
    pub(crate) fn id(&self) -> Option<String> {
        let text = self.text(usize::MAX)?;
        let good = text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.len() <= 40
            && text
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-'));
        if !good {
            self.wrong(format!(
                "`{text}` is not an id; use lower-case letters, digits, `_` and `-`, a letter first, at most 40 in all"
            ));
        }
        good.then_some(text)
    }

    /// A whole number in a range.
    pub(crate) fn whole<T>(&self, range: RangeInclusive<T>, unit: &str) -> Option<T>
    where
        T: Copy + Display + TryFrom<i64> + PartialOrd,
    {
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
            return self.expected(&wanted);
        };
        match text
            .parse::<i64>()
            .ok()
            .and_then(|n| T::try_from(n).ok())
            .filter(|n| range.contains(n))
        {
            Some(number) => Some(number),
            None => self.expected(&wanted),
        }
    }

    /// `true` or `false`.
    pub(crate) fn flag(&self) -> Option<bool> {
        match &self.node.data {
            Data::Plain(text) if is_switch_word(text) => {
                self.wrong(format!(
                    "`{text}` means different things to different programs; write true or false"
                ));
                None
            }
            Data::Plain(text) if flag(text).is_some() => flag(text),
            _ => self.expected("true or false"),
        }
    }

    /// One of some words.
    pub(crate) fn word<T: Copy>(&self, what: &str, known: &[(&str, T)]) -> Option<T> {
        let text = self.text(usize::MAX)?;
        let found = known
            .iter()
            .find(|(word, _)| *word == text)
            .map(|(_, value)| *value);
        if found.is_none() {
            let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
            self.wrong(format!("unknown {what} `{text}`; {}", hint(&text, &words)));
        }
        found
    }

    /// Whether it is a block of keys.
    pub(crate) fn is_block(&self) -> bool {
        matches!(self.node.data, Data::Map(_))
    }

    /// A list that is not empty.
    pub(crate) fn list(&self, what: &str, limit: usize) -> Option<Vec<Place<'a>>> {
        let Data::List(items) = &self.node.data else {
            return self.expected(&format!("a list of {what} (lines that start with `- `)"));
        };
        if items.is_empty() || items.len() > limit {
            self.wrong(format!(
                "{} {what}; there must be 1 to {limit}",
                items.len()
            ));
            return None;
        }
        let item = |(i, node)| Place {
            node,
            path: format!("{}[{i}]", self.path),
            report: self.report,
        };
        Some(items.iter().enumerate().map(item).collect())
    }

    /// The keys and values of a block, whatever the keys are.
    pub(crate) fn entries(&self, what: &str) -> Option<Vec<(&'a str, Place<'a>)>> {
        let Data::Map(entries) = &self.node.data else {
            return self.expected(&format!("{what} (lines of `key: value`)"));
        };
        let entry = |(key, node): &'a (crate::yaml::Key, Node)| {
            (
                key.name.as_str(),
                Place {
                    node,
                    path: join(&self.path, &key.name),
                    report: self.report,
                },
            )
        };
        Some(entries.iter().map(entry).collect())
    }

    /// A block of known keys; [`Fields::done`] reports the others.
    pub(crate) fn fields(&self, what: &str) -> Option<Fields<'a>> {
        self.entries(what)?;
        Some(Fields {
            whole: self.clone(),
            asked: Vec::new(),
            forgiven: false,
        })
    }

    /// The value as JSON.
    pub(crate) fn json(&self) -> Value {
        self.node.json(&self.path, self.report)
    }
}

/// A block of keys, read key by key.
pub(crate) struct Fields<'a> {
    pub whole: Place<'a>,
    asked: Vec<&'static str>,
    forgiven: bool,
}

impl<'a> Fields<'a> {
    /// The value of a key, if it is there and not empty.
    pub(crate) fn get(&mut self, key: &'static str) -> Option<Place<'a>> {
        self.asked.push(key);
        let Data::Map(entries) = &self.whole.node.data else {
            return None;
        };
        let (_, node) = entries.iter().find(|(k, _)| k.name == key)?;
        Some(Place {
            node,
            path: join(&self.whole.path, key),
            report: self.whole.report,
        })
    }

    /// The value of a key that must be there; `example` shows how to write it.
    pub(crate) fn need(&mut self, key: &'static str, example: &str) -> Option<Place<'a>> {
        let found = self.get(key);
        if found.is_none() {
            let path = join(&self.whole.path, key);
            self.whole.report.add(
                self.whole.node.at,
                &path,
                format!("missing; write for example `{key}: {example}`"),
            );
        }
        found
    }

    /// The value of a key that has a default: `read` reads it if it is there.
    pub(crate) fn or<T>(
        &mut self,
        key: &'static str,
        default: T,
        read: impl FnOnce(Place<'a>) -> Option<T>,
    ) -> Option<T> {
        match self.get(key) {
            Some(place) => read(place),
            None => Some(default),
        }
    }

    /// Lets every key pass: which ones are known depends on something that could not be read.
    pub(crate) fn forgive(&mut self) {
        self.forgiven = true;
    }

    /// Reports every key that was not asked for.
    pub(crate) fn done(self) {
        if self.forgiven {
            return;
        }
        let Data::Map(entries) = &self.whole.node.data else {
            return;
        };
        for (key, _) in entries
            .iter()
            .filter(|(key, _)| !self.asked.contains(&key.name.as_str()))
        {
            let path = join(&self.whole.path, &key.name);
            self.whole.report.add(
                key.at,
                &path,
                format!("unknown key; {}", hint(&key.name, &self.asked)),
            );
        }
    }

    /// Where the block stands.
    pub(crate) fn at(&self) -> At {
        self.whole.node.at
    }
}
