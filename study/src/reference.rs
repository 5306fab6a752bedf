//! The reference of the study file in Markdown, as its readers tell it: a section for each block and stage type, a row
//! for each key.

use std::collections::VecDeque;
use std::fmt::Write as _;

use serde_json::Value;

use crate::schema::atlas;
use crate::shape::{Atlas, Block, Entry, Shape};

const HEAD: &str = "# Reference of the study file

Every key of `study.yaml`, as the program reads it: its type, its default and what it means.
[The study file](study-file.md) explains them with examples, and [formulas](formulas.md) says what formulas can ask.
This page is generated: the same readers that check a study write it, so it cannot be out of date.
Keys of a type that this version does not play yet are refused with a message that says so.
";

/// The reference of the study file, Markdown.
pub fn reference() -> String {
    let atlas = atlas();
    let mut page = Page {
        atlas: &atlas,
        text: HEAD.to_owned(),
        todo: VecDeque::new(),
    };
    page.todo.push_back(("The file".to_owned(), 0));
    let named = atlas.named().into_iter();
    let named: Vec<_> = named.map(|(name, at)| (title(name), at)).collect();
    page.run();
    for (title, at) in named {
        page.todo.push_back((title, at));
        page.run();
    }
    page.text
}

/// What a name of the readers is called.
fn title(name: &str) -> String {
    match name {
        "node" => "Stages and blocks".to_owned(),
        "bot" => "AI partners".to_owned(),
        "outcome" => "Outcomes".to_owned(),
        name => {
            let mut letters = name.chars();
            let first = letters.next().map(|letter| letter.to_ascii_uppercase());
            first.into_iter().chain(letters).collect()
        }
    }
}

/// The anchor of a heading.
fn anchor(title: &str) -> String {
    let kept = title.to_lowercase();
    let kept = kept
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

struct Page<'a> {
    atlas: &'a Atlas,
    text: String,
    /// Blocks that wait for a section: their title, and where they are told.
    todo: VecDeque<(String, usize)>,
}

impl Page<'_> {
    fn run(&mut self) {
        while let Some((title, at)) = self.todo.pop_front() {
            match self.atlas.shape(at) {
                Shape::Block(block) => self.block(&title, &block),
                Shape::Either(ways)
                    if ways
                        .iter()
                        .all(|way| matches!(self.atlas.shape(*way), Shape::Block(_))) =>
                {
                    for way in ways {
                        if let Shape::Block(block) = self.atlas.shape(way) {
                            let title = self.way(&title, &block);
                            self.block(&title, &block);
                        }
                    }
                }
                other => {
                    let path = title.to_lowercase();
                    let kind = self.kind(&path, at, &other);
                    let _ = write!(self.text, "\n## {title}\n\n{kind}.\n");
                }
            }
        }
    }

    /// What one of several blocks is called: a block of stages, or what depends on its type.
    fn way(&self, title: &str, block: &Block) -> String {
        match block.tag {
            Some(_) => "Every stage".to_owned(),
            None if block.entries.iter().any(|entry| entry.key == "block") => "Blocks".to_owned(),
            None => title.to_owned(),
        }
    }

    fn block(&mut self, title: &str, block: &Block) {
        let _ = write!(self.text, "\n## {title}\n\n");
        if !block.doc.is_empty() {
            let _ = write!(self.text, "{}\n\n", sentences(block.doc));
        }
        self.table(title, &block.entries);
        let tag = block.tag.unwrap_or_default();
        for (word, at) in &block.variants {
            if let Shape::Block(own) = self.atlas.shape(*at) {
                self.block(&format!("{tag}: {word}"), &own);
                self.run();
            }
        }
    }

    fn table(&mut self, title: &str, entries: &[Entry]) {
        if entries.is_empty() {
            self.text += "It has no keys of its own.\n";
            return;
        }
        self.text += "| Key | Type | Default | Meaning |\n| --- | --- | --- | --- |\n";
        for entry in entries {
            let path = match title {
                "The file" => entry.key.to_owned(),
                title if title.starts_with('`') => {
                    format!("{}.{}", title.trim_matches('`'), entry.key)
                }
                title if title.starts_with("type: ") => format!("{}.{}", &title[6..], entry.key),
                _ => entry.key.to_owned(),
            };
            let shape = self.atlas.shape(entry.at);
            let kind = self.kind(&path, entry.at, &shape);
            let default = match (&entry.default, entry.needed) {
                (_, true) if entry.example.is_empty() => "needed".to_owned(),
                (_, true) => format!("needed, such as `{}`", entry.example),
                (Some(default), _) => written(default),
                (None, _) => "none".to_owned(),
            };
            let meaning = entry.doc.replace('|', "\\|");
            let (kind, default) = (kind.replace('|', "\\|"), default.replace('|', "\\|"));
            let _ = writeln!(
                self.text,
                "| `{}` | {kind} | {default} | {meaning} |",
                entry.key
            );
        }
    }

    /// Whether it is a text, which may be given by language.
    fn is_text_by_language(&self, ways: &[usize]) -> bool {
        let is_text = |at: usize| matches!(self.atlas.shape(at), Shape::Text { .. });
        let by_language =
            |at: usize| matches!(self.atlas.shape(at), Shape::Map { value, .. } if is_text(value));
        match ways {
            [a, b] => is_text(*a) && by_language(*b) || by_language(*a) && is_text(*b),
            _ => false,
        }
    }

    /// What a place takes, in words; a block gets a section of its own under its path.
    fn kind(&mut self, path: &str, at: usize, shape: &Shape) -> String {
        match shape {
            Shape::Untold | Shape::Any => "any value".to_owned(),
            Shape::Text { what, most, .. } if *most == usize::MAX || *what != "text" => {
                (*what).to_owned()
            }
            Shape::Text { what, most, .. } => format!("{what}, at most {most} characters"),
            Shape::Number {
                whole,
                from,
                to,
                unit,
            } => {
                let number = if *whole { "whole number" } else { "number" };
                format!("{number} from {from} to {to} {unit}")
                    .trim_end()
                    .to_owned()
            }
            Shape::Flag => "`true` or `false`".to_owned(),
            Shape::Word(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
                words.join(", ")
            }
            Shape::List {
                what,
                least,
                most,
                item,
            } => {
                let inner = self.atlas.shape(*item);
                let inner = self.kind(&format!("{path}[]"), *item, &inner);
                format!("list of {least} to {most} {what}: {inner}")
            }
            Shape::Map { value, .. } => {
                let inner = self.atlas.shape(*value);
                match inner {
                    Shape::Untold => "block of names and values".to_owned(),
                    inner => format!(
                        "block of names and values: {}",
                        self.kind(&format!("{path}.NAME"), *value, &inner)
                    ),
                }
            }
            Shape::Block(_) => {
                let title = format!("`{path}`");
                let link = format!("block, see [{title}](#{})", anchor(&title));
                if !self.todo.iter().any(|(known, _)| *known == title) {
                    self.todo.push_back((title, at));
                }
                link
            }
            Shape::Either(ways) if self.is_text_by_language(ways) => {
                let text = ways.iter().map(|way| self.atlas.shape(*way));
                let text = text
                    .filter(|shape| matches!(shape, Shape::Text { .. }))
                    .map(|text| self.kind(path, at, &text));
                format!("{}, or by language: `{{en: …}}`", text.collect::<String>())
            }
            Shape::Either(ways) => {
                let ways: Vec<String> = ways
                    .iter()
                    .map(|way| {
                        let shape = self.atlas.shape(*way);
                        self.kind(path, *way, &shape)
                    })
                    .collect();
                ways.join(", or ")
            }
            Shape::Named("node") => {
                "stage or block, see [every stage](#every-stage) and [blocks](#blocks)".to_owned()
            }
            Shape::Named(name) => {
                let title = title(name);
                format!("see [{}](#{})", title.to_lowercase(), anchor(&title))
            }
        }
    }
}

/// One sentence a line.
fn sentences(text: &str) -> String {
    text.replace(". ", ".\n")
}

/// A default, as a file would write it.
fn written(default: &Value) -> String {
    match default {
        Value::Null => "none".to_owned(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Object(keys) if keys.is_empty() => "none".to_owned(),
        Value::Object(_) => "see there".to_owned(),
        Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    }
}
