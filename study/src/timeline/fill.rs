//! `{{ name }}` in an environment's parameters: the value of the name at this place is put in.

use serde_json::Value;

use super::tree::Bindings;
use crate::design::Level;

/// A `{{ … }}` that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// A part of a text.
enum Part<'a> {
    Text(&'a str),
    /// A name, and the parameter of its level, if one is named.
    Name(&'a str, Option<&'a str>),
}

/// A name that a text refers to, and the parameter of its level.
pub(crate) type Reference = (String, Option<String>);

/// Finds where a value refers to names: the path of each text below `path`, with its reference.
pub(crate) fn list_references(
    value: &Value,
    path: &str,
) -> Vec<(String, Result<Vec<Reference>, Malformed>)> {
    match value {
        Value::String(text) => {
            let owned = |part: &Part<'_>| match part {
                Part::Text(_) => None,
                Part::Name(name, inner) => Some(((*name).to_owned(), inner.map(str::to_owned))),
            };
            let found = parts(text).map(|parts| parts.iter().filter_map(owned).collect::<Vec<_>>());
            match found {
                Ok(names) if names.is_empty() => Vec::new(),
                found => vec![(path.to_owned(), found)],
            }
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items
                .flat_map(|(index, item)| list_references(item, &format!("{path}[{index}]")))
                .collect()
        }
        Value::Object(map) => {
            let entries = map.iter();
            entries
                .flat_map(|(key, item)| list_references(item, &crate::yaml::join(path, key)))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the value with all names replaced; a name that stands for nothing stays.
pub(crate) fn fill_value(value: &Value, bindings: &Bindings) -> Value {
    match value {
        Value::String(text) => text_filled(text, bindings),
        Value::Array(items) => items
            .iter()
            .map(|item| fill_value(item, bindings))
            .collect(),
        Value::Object(map) => {
            let entry = |(key, item): (&String, &Value)| (key.clone(), fill_value(item, bindings));
            map.iter().map(entry).collect()
        }
        other => other.clone(),
    }
}

/// Returns a text, such as the prompt of a language model, with these values for names.
pub fn fill_names(text: &str, bindings: &Bindings) -> String {
    match text_filled(text, bindings) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// A text that is one name alone becomes its value, whatever type that has; inside a text it is written out.
fn text_filled(text: &str, bindings: &Bindings) -> Value {
    let value = |name: &str, inner: Option<&str>| {
        bindings.get(name).and_then(|level| part_of(level, inner))
    };
    let Ok(parts) = parts(text) else {
        return text.into();
    };
    if let [Part::Name(name, inner)] = parts.as_slice() {
        return value(name, *inner).unwrap_or_else(|| text.into());
    }
    let mut out = String::new();
    for part in parts {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Name(name, inner) => match value(name, inner) {
                Some(Value::String(text)) => out.push_str(&text),
                Some(Value::Object(_)) => out.push_str(&bindings[name].name),
                Some(value) => out.push_str(&value.to_string()),
                None => return text.into(),
            },
        }
    }
    out.into()
}

/// Returns the word that a text becomes: a level becomes its name; `None` if a name stands for nothing, or for a list.
pub(crate) fn fill_text(text: &str, bindings: &Bindings) -> Option<String> {
    let mut out = String::new();
    for part in parts(text).ok()? {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Name(name, None) => out.push_str(&bindings.get(name)?.name),
            Part::Name(name, inner) => match part_of(bindings.get(name)?, inner)? {
                Value::String(text) => out.push_str(&text),
                Value::Array(_) | Value::Object(_) | Value::Null => return None,
                value => out.push_str(&value.to_string()),
            },
        }
    }
    Some(out)
}

/// The value of a level, without its name if it is a block; or one of the block's parameters.
pub(crate) fn part_of(level: &Level, inner: Option<&str>) -> Option<Value> {
    match (&level.value, inner) {
        (Value::Object(map), Some(key)) => map.get(key).cloned(),
        (Value::Object(map), None) => {
            let own = map.iter().filter(|(key, _)| *key != "name");
            Some(
                own.map(|(key, value)| (key.clone(), value.clone()))
                    .collect(),
            )
        }
        (_, Some(_)) => None,
        (value, None) => Some(value.clone()),
    }
}

fn parts(text: &str) -> Result<Vec<Part<'_>>, Malformed> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, opened)) = rest.split_once("{{") {
        let (inside, after) = opened.split_once("}}").ok_or(Malformed)?;
        let (name, inner) = match inside.trim().split_once('.') {
            Some((name, inner)) => (name, Some(inner)),
            None => (inside.trim(), None),
        };
        let is_word = |word: &str| {
            !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if !is_word(name) || !inner.is_none_or(is_word) {
            return Err(Malformed);
        }
        parts.extend((!before.is_empty()).then_some(Part::Text(before)));
        parts.push(Part::Name(name, inner));
        rest = after;
    }
    parts.extend((!rest.is_empty()).then_some(Part::Text(rest)));
    Ok(parts)
}
