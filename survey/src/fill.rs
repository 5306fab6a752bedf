//! Answers in the texts of the same form: `{name}`, and `{name.row}` for a row or a part, as SurveyJS writes them.

use serde_json::Value;

use crate::condition::is_empty;
use crate::{Form, FormItem, ItemChoice, ItemKind, NONE, OTHER, Values, key_of};

/// The words of a language for answers that have no text of the study.
#[derive(Clone, Copy, Debug)]
pub struct AnswerWords<'a> {
    /// Yes.
    pub yes: &'a str,
    /// No.
    pub no: &'a str,
    /// The choice that excludes all others.
    pub none: &'a str,
    /// The choice that asks for a text, without one.
    pub other: &'a str,
    /// The sign between whole numbers and fractions.
    pub decimal: &'a str,
}

/// Stands for an answer that is not there.
const NOTHING: &str = "–";

/// Splits a text into the parts between names in single braces, each with the name that follows it, if there is one.
fn parts(text: &str) -> Vec<(&str, Option<&str>)> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    let is_first = |c: char| c.is_alphabetic() || c == '_';
    let (mut parts, mut rest, mut from) = (Vec::new(), text, 0);
    while let Some(open) = rest[from..].find('{').map(|open| from + open) {
        let name = rest[open + 1..].split_once('}').map(|(name, _)| name);
        match name.filter(|name| name.starts_with(is_first) && name.chars().all(is_word)) {
            Some(name) => {
                parts.push((&rest[..open], Some(name)));
                rest = &rest[open + 1 + name.len() + 1..];
                from = 0;
            }
            None => from = open + 1,
        }
    }
    parts.push((rest, None));
    parts
}

/// The names in single braces in a text, as they are written.
pub fn names_in_braces(text: &str) -> impl Iterator<Item = &str> {
    parts(text).into_iter().filter_map(|(_, name)| name)
}

/// Finds the first item of a name with dots, and the rest of the name.
fn find<'i, 'n>(
    items: impl Iterator<Item = &'i FormItem>,
    name: &'n str,
) -> Option<(&'i FormItem, &'n str)> {
    let left = |item: &'i FormItem| {
        let left = name.strip_prefix(item.name.as_str())?;
        let left = match left {
            "" => left,
            left => left.strip_prefix('.')?,
        };
        (item.is_asked()).then_some((item, left))
    };
    // The whole name of an item may begin as another one's does.
    items.filter_map(left).min_by_key(|(_, left)| left.len())
}

impl Form {
    /// Returns a text with the answers so far in place of their names in braces; other names do not change.
    pub fn fill_text(&self, text: &str, values: &Values, words: AnswerWords<'_>) -> String {
        let mut filled = String::with_capacity(text.len());
        for (before, name) in parts(text) {
            filled.push_str(before);
            let Some(name) = name else { continue };
            match self.write_answer(name, values, words) {
                Some(answer) => filled.push_str(&answer),
                None => filled.extend(["{", name, "}"]),
            }
        }
        filled
    }

    /// The answer under a name as people read it; `None` if the form asks no such thing, or only in several parts.
    pub fn write_answer(
        &self,
        name: &str,
        values: &Values,
        words: AnswerWords<'_>,
    ) -> Option<String> {
        let (item, left) = find(self.items(), name)?;
        let own = values.get(&format!("{}-Comment", item.name));
        let own = own.and_then(Value::as_str);
        item.write_part(left, values.get(&item.name), (words, own))
    }
}

impl FormItem {
    /// The answer, or that to a part of it. With the words comes the text of the person's own for [`OTHER`].
    fn write_part(
        &self,
        path: &str,
        value: Option<&Value>,
        words: (AnswerWords<'_>, Option<&str>),
    ) -> Option<String> {
        match &self.kind {
            ItemKind::Parts(parts) => {
                let (part, left) = find(parts.iter(), path)?;
                let value = value.and_then(|value| value.get(&part.name));
                part.write_part(left, value, words)
            }
            ItemKind::Matrix { columns, rows } => {
                let row = rows.iter().find(|row| key_of(&row.value) == path)?;
                let value = value.and_then(|value| value.get(key_of(&row.value)));
                Some(write(value, columns, words))
            }
            kind if path.is_empty() => Some(match kind {
                ItemKind::One(choices)
                | ItemKind::List(choices)
                | ItemKind::Ranking(choices)
                | ItemKind::Many { choices, .. } => write(value, choices, words),
                ItemKind::Rating { points, .. } => write(value, points, words),
                ItemKind::Boolean { yes, no } => {
                    let usual = |own: &str, usual: &str| match own {
                        "" => usual.to_owned(),
                        own => own.to_owned(),
                    };
                    match value.and_then(Value::as_bool) {
                        Some(true) => usual(yes, words.0.yes),
                        Some(false) => usual(no, words.0.no),
                        None => NOTHING.to_owned(),
                    }
                }
                _ => write(value, &[], words),
            }),
            _ => None,
        }
    }
}

/// A value as people read it: the text of its choice, where it is one.
fn write(
    value: Option<&Value>,
    choices: &[ItemChoice],
    (words, own): (AnswerWords<'_>, Option<&str>),
) -> String {
    let Some(value) = value.filter(|value| !is_empty(value)) else {
        return NOTHING.to_owned();
    };
    if let Value::Array(values) = value {
        let all = values
            .iter()
            .map(|value| write(Some(value), choices, (words, own)));
        return all.collect::<Vec<_>>().join(", ");
    }
    let choice = choices.iter().find(|choice| choice.value == *value);
    let usual = match (choice, value) {
        (Some(_), _) if *value == OTHER => words.other,
        (Some(_), _) if *value == NONE => words.none,
        _ => "",
    };
    match (choice, value) {
        (Some(_), _) if *value == OTHER && own.is_some() => own.unwrap_or_default().to_owned(),
        (Some(choice), _) if choice.text.is_empty() => usual.to_owned(),
        (Some(choice), _) => choice.text.clone(),
        (None, Value::Number(number)) => number.to_string().replace('.', words.decimal),
        (None, value) => key_of(value),
    }
}
