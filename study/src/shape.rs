//! Shapes that the readers take, as the readers themselves describe them.
//!
//! A reader that gets a sketch in place of a value reads nothing: every step that would read notes what it would have
//! taken. So the keys, types, defaults and meanings of the JSON Schema and of the reference page are the reader's,
//! because there is no other list of them.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::problem::ProblemReport;

/// The shape of a place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// Not described yet.
    Untold,
    /// Anything; its owner knows.
    Any,
    /// Text: what it is, in words, the pattern that it has, and the most characters.
    Text {
        what: &'static str,
        pattern: Option<&'static str>,
        most: usize,
    },
    /// A number within bounds, whole or not, and its unit.
    Number {
        whole: bool,
        from: f64,
        to: f64,
        unit: String,
    },
    /// `true` or `false`.
    Flag,
    /// One of some words.
    Word(Vec<String>),
    /// A list of `least` to `most` items.
    List {
        what: String,
        least: usize,
        most: usize,
        item: usize,
    },
    /// Keys of the author's own.
    Map { what: String, value: usize },
    /// Known keys.
    Block(Block),
    /// One or the other.
    Either(Vec<usize>),
    /// A shape that is described elsewhere under this name.
    Named(&'static str),
}

/// Known keys, and those that depend on the value of one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Block {
    /// The description.
    pub doc: &'static str,
    pub entries: Vec<Entry>,
    /// The key on which the others depend.
    pub tag: Option<&'static str>,
    /// By the value of that key: the place at which its own block is described.
    pub variants: Vec<(String, usize)>,
}

/// A key of a block.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub key: &'static str,
    /// The description.
    pub doc: String,
    pub needed: bool,
    pub default: Option<Value>,
    /// Its notation, as YAML.
    pub example: String,
    /// The place at which its shape is described.
    pub at: usize,
}

/// All descriptions.
pub(crate) struct Atlas {
    shapes: RefCell<Vec<Shape>>,
    named: RefCell<BTreeMap<&'static str, usize>>,
    /// Takes what readers report of values that are not there; nobody reads it.
    pub nowhere: ProblemReport,
}

/// A place of the atlas at which a reader describes something.
#[derive(Clone, Copy)]
pub(crate) struct Sketch<'a> {
    pub atlas: &'a Atlas,
    pub at: usize,
}

impl Atlas {
    /// Creates an atlas with one place, at which nothing is described yet.
    pub(crate) fn new() -> Self {
        Self {
            shapes: RefCell::new(vec![Shape::Untold]),
            named: RefCell::default(),
            nowhere: ProblemReport::new(""),
        }
    }

    pub(crate) fn root(&self) -> Sketch<'_> {
        Sketch { atlas: self, at: 0 }
    }

    pub(crate) fn shape(&self, at: usize) -> Shape {
        self.shapes.borrow()[at].clone()
    }

    /// Returns names and the places of their descriptions.
    pub(crate) fn named(&self) -> BTreeMap<&'static str, usize> {
        self.named.borrow().clone()
    }

    fn push(&self, shape: Shape) -> usize {
        let mut shapes = self.shapes.borrow_mut();
        shapes.push(shape);
        shapes.len() - 1
    }
}

impl<'a> Sketch<'a> {
    /// Describes what is taken here, in addition to earlier descriptions. Returns the place of only this description.
    pub(crate) fn tell(self, shape: Shape) -> Self {
        let told = self.atlas.shape(self.at);
        match told {
            Shape::Untold => {
                self.atlas.shapes.borrow_mut()[self.at] = shape;
                self
            }
            told if told == shape => self,
            // A map whose values are described separately, or anything, adds nothing to an earlier description.
            Shape::Map { .. } | Shape::Block(_) if shape == Shape::Any => self,
            Shape::Either(mut ways) => {
                let at = self.atlas.push(shape);
                ways.push(at);
                self.atlas.shapes.borrow_mut()[self.at] = Shape::Either(ways);
                Self { at, ..self }
            }
            told => {
                let (first, at) = (self.atlas.push(told), self.atlas.push(shape));
                self.atlas.shapes.borrow_mut()[self.at] = Shape::Either(vec![first, at]);
                Self { at, ..self }
            }
        }
    }

    /// Makes a separate place, for something inside this one.
    pub(crate) fn inside(self) -> Self {
        let at = self.atlas.push(Shape::Untold);
        Self { at, ..self }
    }

    /// Changes the block that is described here.
    pub(crate) fn change(self, change: impl FnOnce(&mut Block)) {
        if let Shape::Block(block) = &mut self.atlas.shapes.borrow_mut()[self.at] {
            change(block);
        }
    }

    /// Refers to the description under a name; returns the place to describe it, if it is not described yet.
    pub(crate) fn name(self, name: &'static str) -> Option<Self> {
        let known = self.atlas.named.borrow().contains_key(name);
        self.tell(Shape::Named(name));
        (!known).then(|| {
            let inside = self.inside();
            self.atlas.named.borrow_mut().insert(name, inside.at);
            inside
        })
    }
}

/// The atlas as a JSON Schema.
pub(crate) fn schema(atlas: &Atlas) -> Value {
    let mut root = shape(atlas, 0);
    let definitions: Map<String, Value> = (atlas.named().into_iter())
        .map(|(name, at)| (name.to_owned(), shape(atlas, at)))
        .collect();
    root["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    root["title"] = "A study file of Coplay".into();
    root["$defs"] = definitions.into();
    root
}

fn shape(atlas: &Atlas, at: usize) -> Value {
    match atlas.shape(at) {
        Shape::Untold | Shape::Any => json!({}),
        Shape::Text { pattern, most, .. } => text(pattern, most),
        Shape::Number {
            whole, from, to, ..
        } => number(whole, from, to),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Word(words) => json!({ "enum": words }),
        Shape::List {
            least, most, item, ..
        } => {
            json!({ "type": "array", "items": shape(atlas, item), "minItems": least, "maxItems": most })
        }
        Shape::Map { value, .. } => {
            json!({ "type": "object", "additionalProperties": shape(atlas, value) })
        }
        Shape::Either(ways) => {
            let ways: Vec<Value> = ways.into_iter().map(|way| shape(atlas, way)).collect();
            json!({ "anyOf": ways })
        }
        Shape::Named(name) => json!({ "$ref": format!("#/$defs/{name}") }),
        Shape::Block(block) if block.variants.is_empty() => object(atlas, &block.entries),
        Shape::Block(block) => {
            let variants = block.variants.iter();
            let variants: Vec<Value> = variants
                .map(|(word, at)| variant(atlas, &block, word, *at))
                .collect();
            json!({ "anyOf": variants })
        }
    }
}

/// The block for one word: the keys of all and its own.
fn variant(atlas: &Atlas, block: &Block, word: &str, at: usize) -> Value {
    let mut entries = block.entries.clone();
    let mut doc = "";
    if let Shape::Block(own) = atlas.shape(at) {
        entries.extend(own.entries);
        doc = own.doc;
    }
    let mut whole = object(atlas, &entries);
    if !doc.is_empty() {
        whole["description"] = doc.into();
    }
    if let Some(tag) = block.tag {
        let tag = &mut whole["properties"][tag];
        tag["const"] = word.into();
        if let Some(tag) = tag.as_object_mut() {
            tag.remove("enum");
        }
    }
    whole
}

fn object(atlas: &Atlas, entries: &[Entry]) -> Value {
    let property = |entry: &Entry| {
        let mut own = shape(atlas, entry.at);
        // What stands beside a reference is not read by every program.
        if own.get("$ref").is_some() {
            own = json!({ "allOf": [own] });
        }
        if !entry.doc.is_empty() {
            own["description"] = entry.doc.as_str().into();
        }
        if let Some(default) = &entry.default {
            own["default"] = default.clone();
        }
        (entry.key.to_owned(), own)
    };
    let needed: Vec<&str> = (entries.iter())
        .filter(|entry| entry.needed)
        .map(|entry| entry.key)
        .collect();
    let properties: Map<String, Value> = entries.iter().map(property).collect();
    json!({ "type": "object", "properties": properties, "required": needed, "additionalProperties": false })
}

/// Text fields take the text as it is written, so a number or a flag is text there too.
fn text(pattern: Option<&str>, most: usize) -> Value {
    match pattern {
        Some(pattern) => json!({ "type": "string", "pattern": pattern }),
        None if most == usize::MAX => json!({ "type": ["string", "number", "boolean"] }),
        None => json!({ "type": ["string", "number", "boolean"], "maxLength": most }),
    }
}

fn number(whole: bool, from: f64, to: f64) -> Value {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "bounds of whole numbers are whole"
    )]
    let bound = |bound: f64| match whole {
        true => json!(bound as i64),
        false => json!(bound),
    };
    let kind = if whole { "integer" } else { "number" };
    json!({ "type": kind, "minimum": bound(from), "maximum": bound(to) })
}
