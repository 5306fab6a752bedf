//! Texts that participants read, in one language or in several.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::read::Place;

/// Text in the language of the study, and perhaps in others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    usual: String,
    by_language: BTreeMap<String, String>,
}

impl Text {
    /// The text in a language, else in that of the study.
    pub fn in_language(&self, language: &str) -> &str {
        self.by_language.get(language).unwrap_or(&self.usual)
    }
}

impl From<&str> for Text {
    fn from(usual: &str) -> Self {
        let by_language = BTreeMap::new();
        Self {
            usual: usual.to_owned(),
            by_language,
        }
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self.by_language.is_empty() {
            true => out.serialize_str(&self.usual),
            false => self.by_language.serialize(out),
        }
    }
}

/// Reads text, or text by language, of which that of the study must be one.
pub(crate) fn read(place: &Place<'_>, language: &str, limit: usize) -> Option<Text> {
    let by_language = (place.may(place.is_block())).then(|| by_language(place, language, limit));
    let plain = (place.may(!place.is_block())).then(|| place.text(limit));
    match plain {
        Some(usual) => usual.map(|usual| Text::from(usual.as_str())),
        None => by_language.flatten(),
    }
}

fn by_language(place: &Place<'_>, language: &str, limit: usize) -> Option<Text> {
    let mut texts = BTreeMap::new();
    let mut whole = true;
    for (tag, place) in place.entries("text by language")? {
        match place.text(limit).filter(|_| is_tag(tag, &place)) {
            Some(text) => drop(texts.insert(tag.to_owned(), text)),
            None => whole = false,
        }
    }
    let usual = texts.get(language).cloned();
    if usual.is_none() && whole {
        place.wrong(format!(
            "no text for `{language}`, the language of the study; add a line `{language}: …`"
        ));
    }
    Some(Text {
        usual: usual.filter(|_| whole)?,
        by_language: texts,
    })
}

/// Whether a key is a language tag; reports it if not.
fn is_tag(tag: &str, place: &Place<'_>) -> bool {
    let good = is_language(tag);
    if !good {
        place.wrong(format!(
            "`{tag}` is not a language tag; write one like en, de or pt-BR"
        ));
    }
    good
}

/// Whether a text has the shape of a language tag: `en`, `de`, `pt-BR`.
///
/// Source: BCP 47; only the shape is checked.
pub(crate) fn is_language(text: &str) -> bool {
    let mut parts = text.split('-');
    let main = parts
        .next()
        .is_some_and(|p| matches!(p.len(), 2 | 3) && p.chars().all(|c| c.is_ascii_lowercase()));
    main && parts.all(|p| matches!(p.len(), 2..=8) && p.chars().all(|c| c.is_ascii_alphanumeric()))
}
