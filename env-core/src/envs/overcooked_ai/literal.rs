//! Python literals, in which overcooked_ai writes its layout files: dicts, lists, tuples, strings, numbers, names.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Map, Number, Value};

/// The deepest nesting that is read.
const DEEPEST: usize = 16;

/// Reads a literal; infinity is the greatest number there is.
///
/// # Errors
/// A sentence with the line.
pub(super) fn read_literal(text: &str) -> Result<Value, String> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.blank();
    match reader.peek() {
        None => Ok(value),
        Some(other) => Err(reader.fault(&format!("`{other}` after the end"))),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn fault(&self, what: &str) -> String {
        let line = 1 + self.text[..self.at].matches('\n').count();
        format!("line {line}: {what}")
    }

    /// Takes a text if it comes next.
    fn takes(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Skips blanks and comments.
    fn blank(&mut self) {
        while let Some(next) = self.peek() {
            if next == '#' {
                self.at += self.rest().find('\n').unwrap_or(self.rest().len());
            } else if next.is_whitespace() {
                self.at += next.len_utf8();
            } else {
                break;
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        self.blank();
        if depth > DEEPEST {
            return Err(self.fault("is nested too deeply"));
        }
        match self.peek() {
            Some('{') => self.dict(depth),
            Some('[') => self.list("[", "]", depth),
            Some('(') => self.list("(", ")", depth),
            Some('"' | '\'') => Ok(Value::String(self.string()?)),
            Some(_) => self.word(),
            None => Err(self.fault("ends too early")),
        }
    }

    fn dict(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut map = Map::new();
        loop {
            self.blank();
            if self.takes("}") {
                return Ok(Value::Object(map));
            }
            let key = self.string()?;
            self.blank();
            if !self.takes(":") {
                return Err(self.fault(&format!("`:` is missing after `{key}`")));
            }
            let value = self.value(depth + 1)?;
            map.insert(key, value);
            self.separator("}")?;
        }
    }

    fn list(&mut self, from: &str, to: &str, depth: usize) -> Result<Value, String> {
        self.at += from.len();
        let mut items = Vec::new();
        loop {
            self.blank();
            if self.takes(to) {
                return Ok(Value::Array(items));
            }
            items.push(self.value(depth + 1)?);
            self.separator(to)?;
        }
    }

    /// Takes the comma between two entries, or stops before their end.
    fn separator(&mut self, to: &str) -> Result<(), String> {
        self.blank();
        match self.takes(",") || self.rest().starts_with(to) {
            true => Ok(()),
            false => Err(self.fault(&format!("`,` or `{to}` is missing"))),
        }
    }

    fn string(&mut self) -> Result<String, String> {
        let quotes = ["\"\"\"", "'''", "\"", "'"];
        let Some(quote) = quotes.into_iter().find(|quote| self.takes(quote)) else {
            return Err(self.fault("a string in quotes is missing"));
        };
        let Some(length) = self.rest().find(quote) else {
            return Err(self.fault("a string does not end"));
        };
        let inside = &self.rest()[..length];
        self.at += length + quote.len();
        Ok(inside.replace("\\n", "\n"))
    }

    /// A name or a number.
    fn word(&mut self) -> Result<Value, String> {
        for infinite in ["float('inf')", "float(\"inf\")"] {
            if self.takes(infinite) {
                return Ok(Value::from(f64::MAX));
            }
        }
        let is_part = |c: char| c.is_ascii_alphanumeric() || "+-._".contains(c);
        let rest = self.rest();
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let word = &rest[..length];
        let value = match word {
            "None" | "null" => Some(Value::Null),
            "True" | "true" => Some(Value::Bool(true)),
            "False" | "false" => Some(Value::Bool(false)),
            _ => number(word),
        };
        let value = value.ok_or_else(|| {
            let shown: String = rest.chars().take(20).collect();
            self.fault(&format!("`{shown}` is no value"))
        })?;
        self.at += length;
        Ok(value)
    }
}

fn number(word: &str) -> Option<Value> {
    if let Ok(whole) = word.parse::<i64>() {
        return Some(Value::from(whole));
    }
    Number::from_f64(word.parse().ok()?).map(Value::Number)
}
