//! A block of keys, read key by key.

use serde::Serialize;

use super::Cursor;
use crate::problem::{LineColumn, make_hint};
use crate::shape::{Block, Entry, Shape};
use crate::yaml::{Data, join};

/// A block of keys, read key by key.
pub(crate) struct Fields<'a> {
    pub whole: Cursor<'a>,
    asked: Vec<&'static str>,
    /// Keys that may be there, though nobody reads them.
    passed: Vec<&'static str>,
    forgiven: bool,
}

impl<'a> Fields<'a> {
    /// A block of which nothing was asked yet.
    pub(super) fn of(whole: Cursor<'a>) -> Self {
        Self {
            whole,
            asked: Vec::new(),
            passed: Vec::new(),
            forgiven: false,
        }
    }

    /// Describes the block.
    pub(crate) fn about(&self, doc: &'static str) {
        if let Some(sketch) = self.whole.sketch {
            sketch.change(|block| block.doc = doc);
        }
    }

    /// A key and what it means.
    pub(crate) fn key(&mut self, key: &'static str, doc: &str) -> Key<'a> {
        self.asked.push(key);
        let whole = self.whole.clone();
        let place = match whole.sketch {
            Some(sketch) => {
                let place = whole.inside(whole.node, String::new());
                let at = place.sketch.map_or(0, |place| place.at);
                let entry = Entry {
                    key,
                    doc: doc.to_owned(),
                    needed: false,
                    default: None,
                    example: String::new(),
                    at,
                };
                sketch.change(|block| block.entries.push(entry));
                Some(place)
            }
            None => {
                let node = whole.node.get(key);
                node.map(|node| whole.inside(node, join(&whole.path, key)))
            }
        };
        Key { key, whole, place }
    }

    /// The value of a key, if it is there and not empty.
    pub(crate) fn get(&mut self, key: &'static str) -> Option<Cursor<'a>> {
        self.key(key, "").place
    }

    /// The value of a key that must be there; `example` shows how to write it.
    pub(crate) fn require_key(&mut self, key: &'static str, example: &str) -> Option<Cursor<'a>> {
        self.key(key, "").require_key(example, Some)
    }

    /// Reads the key on whose word the other keys depend, and then those. If the word is not known, every key passes.
    pub(crate) fn variants<T: Copy, R>(
        &mut self,
        key: &'static str,
        doc: &str,
        what: &str,
        known: &[(&str, T)],
        mut read: impl FnMut(T, &mut Self) -> Option<R>,
    ) -> Option<R> {
        let example = known.first().map_or("", |(word, _)| word);
        let word = (self.key(key, doc)).require_key(example, |place| place.read_word(what, known));
        let Some(sketch) = self.whole.sketch else {
            if word.is_none() {
                self.forgive();
            }
            return read(word?, self);
        };
        sketch.change(|block| block.tag = Some(key));
        for (word, kind) in known {
            let own = sketch.inside();
            own.tell(Shape::Block(Block::default()));
            let whole = Cursor {
                sketch: Some(own),
                ..self.whole.clone()
            };
            let mut fields = Fields::of(whole);
            read(*kind, &mut fields);
            sketch.change(|block| block.variants.push(((*word).to_owned(), own.at)));
        }
        None
    }

    /// Lets some keys pass that nobody reads, and returns those that are there.
    pub(crate) fn pass(
        &mut self,
        keys: &'static [&'static str],
    ) -> Vec<(&'static str, LineColumn)> {
        self.passed.extend(keys);
        let Data::Map(entries) = &self.whole.node.data else {
            return Vec::new();
        };
        let there = |key: &&'static str| {
            let (entry, _) = entries.iter().find(|(entry, _)| entry.name == *key)?;
            Some((*key, entry.at))
        };
        keys.iter().filter_map(there).collect()
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
        let is_known = |name: &str| self.asked.contains(&name) || self.passed.contains(&name);
        for (key, node) in entries.iter().filter(|(key, _)| !is_known(&key.name)) {
            let path = join(&self.whole.path, &key.name);
            let message = match node.is_null() {
                true => format!(
                    "unknown key without a value; if it belongs to the text before it, put all of that in quotes, else {}",
                    make_hint(&key.name, &self.asked)
                ),
                false => format!("unknown key; {}", make_hint(&key.name, &self.asked)),
            };
            self.whole.report.add(key.at, &path, message);
        }
    }

    /// Returns the place of the block.
    pub(crate) fn at(&self) -> LineColumn {
        self.whole.node.at
    }
}

/// A key of a block, about to be read.
pub(crate) struct Key<'a> {
    key: &'static str,
    whole: Cursor<'a>,
    /// The value, if it is there.
    pub place: Option<Cursor<'a>>,
}

impl<'a> Key<'a> {
    fn tell(&self, change: impl FnOnce(&mut Entry)) {
        if let Some(sketch) = self.whole.sketch {
            sketch.change(|block| {
                let mut entries = block.entries.iter_mut();
                if let Some(entry) = entries.find(|entry| entry.key == self.key) {
                    change(entry);
                }
            });
        }
    }

    /// Reads a value that must be there; `example` shows how to write it.
    pub(crate) fn require_key<T>(
        self,
        example: &str,
        read: impl FnOnce(Cursor<'a>) -> Option<T>,
    ) -> Option<T> {
        self.tell(|entry| entry.needed = true);
        self.require(example, read)
    }

    /// Reads a value that must be there, because nothing else says the same; `example` shows how to write it.
    pub(crate) fn require<T>(
        self,
        example: &str,
        read: impl FnOnce(Cursor<'a>) -> Option<T>,
    ) -> Option<T> {
        self.tell(|entry| entry.example = example.to_owned());
        if self.place.is_none() {
            let path = join(&self.whole.path, self.key);
            let message = format!("missing; write for example `{}: {example}`", self.key);
            self.whole.report.add(self.whole.node.at, &path, message);
        }
        read(self.place?)
    }

    /// Reads a value that has a default.
    pub(crate) fn or<T: Serialize>(
        self,
        default: T,
        read: impl FnOnce(Cursor<'a>) -> Option<T>,
    ) -> Option<T> {
        self.tell(|entry| entry.default = serde_json::to_value(&default).ok());
        match self.place {
            Some(place) => read(place),
            None => Some(default),
        }
    }

    /// Reads a value that may be missing.
    pub(crate) fn maybe<T>(self, read: impl FnOnce(Cursor<'a>) -> Option<T>) -> Option<Option<T>> {
        match self.place {
            Some(place) => read(place).map(Some),
            None => Some(None),
        }
    }
}
