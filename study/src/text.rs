//! Texts that participants read, in one language or in several.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::inset::{self, Braces};
use crate::limits::MAX_LANGUAGES;
use crate::read::Cursor;

/// The languages of a study's texts.
#[derive(Clone, Copy)]
pub(crate) struct Languages<'a> {
    /// The study's own, which is also one of all.
    pub own: &'a str,
    /// Those that participants can choose from.
    pub all: &'a [String],
}

impl Languages<'_> {
    /// English alone.
    pub(crate) const ENGLISH: Self = Self {
        own: "en",
        all: &[],
    };
}

/// The entry for a language, else for the wider one: a German text is right for `de-AT` too.
///
/// Source: RFC 4647, section 3.4, with the main language as the only wider one.
pub(crate) fn nearest_language<'a, T>(
    by: &'a BTreeMap<String, T>,
    language: &str,
) -> Option<&'a T> {
    let main = language.split('-').next().unwrap_or_default();
    by.get(language).or_else(|| by.get(main))
}

/// Which of the languages that there are suits somebody best who reads some, best first.
pub(crate) fn best_language<'a>(all: &'a [String], reads: &[String]) -> Option<&'a str> {
    let main = |tag: &str| tag.split('-').next().unwrap_or_default().to_lowercase();
    let one = |wish: &String| {
        let exact = all.iter().find(|tag| tag.eq_ignore_ascii_case(wish));
        exact.or_else(|| all.iter().find(|tag| main(tag) == main(wish)))
    };
    reads.iter().find_map(one).map(String::as_str)
}

/// Text in the language of the study, and perhaps in others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    usual: String,
    by_language: BTreeMap<String, String>,
}

impl Text {
    /// The text in the language of the study.
    pub fn usual_text(&self) -> &str {
        &self.usual
    }

    /// Returns the text only in these languages and in the language of the study.
    pub(crate) fn within(mut self, languages: &[String]) -> Self {
        self.by_language
            .retain(|language, _| languages.contains(language));
        self
    }

    /// The languages that it is given by.
    pub(crate) fn list_languages(&self) -> impl Iterator<Item = &String> {
        self.by_language.keys()
    }

    /// Returns the text in a language, else in the language of the study.
    pub fn in_language(&self, language: &str) -> &str {
        nearest_language(&self.by_language, language).unwrap_or(&self.usual)
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

/// Reads a language tag.
pub(crate) fn read_language(place: &Cursor<'_>) -> Option<String> {
    let text = place.text(35)?;
    let good = is_language(&text);
    if !good {
        place.report_problem(format!(
            "`{text}` is not a language tag; write one like en, de or pt-BR"
        ));
    }
    good.then_some(text)
}

/// Reads the languages that participants can choose from. A study in its own language alone has none.
pub(crate) fn read_languages(place: &Cursor<'_>, own: &str) -> Option<Vec<String>> {
    let mut all: Vec<String> = Vec::new();
    for place in place.list("languages", MAX_LANGUAGES)? {
        let tag = read_language(&place)?;
        if all.contains(&tag) {
            place.report_problem(format!("`{tag}` is there twice; leave one of them out"));
            return None;
        }
        all.push(tag);
    }
    if !all.iter().any(|tag| tag == own) {
        place.report_problem(format!(
            "`{own}`, the language of the study, is not among them; add it, or write one of them as `study.language`"
        ));
        return None;
    }
    Some(if all.len() > 1 { all } else { Vec::new() })
}

/// Reads text, or text by language; one language must be that of the study. Reports braces in it, because no value can
/// be set into it.
pub(crate) fn read(place: &Cursor<'_>, languages: Languages<'_>, limit: usize) -> Option<Text> {
    read_each(place, languages, limit, &mut inset::refuse_braces)
}

/// Reads a text into which values can be set; adds the content of its double braces.
pub(crate) fn read_with_values(
    place: &Cursor<'_>,
    languages: Languages<'_>,
    limit: usize,
    braces: &mut Vec<Braces>,
) -> Option<Text> {
    let mut find = |place: &Cursor<'_>, text: &str| braces.extend(inset::find_braces(place, text));
    read_each(place, languages, limit, &mut find)
}

/// A function that looks at a text and its place.
type Look<'l> = &'l mut dyn FnMut(&Cursor<'_>, &str);

fn read_each(
    place: &Cursor<'_>,
    languages: Languages<'_>,
    limit: usize,
    look: Look<'_>,
) -> Option<Text> {
    let by_language =
        (place.may(place.is_block())).then(|| by_language(place, languages, limit, look));
    let plain = (place.may(!place.is_block())).then(|| place.text(limit));
    match plain {
        Some(usual) => {
            let usual = usual?;
            look(place, &usual);
            Some(Text::from(usual.as_str()))
        }
        None => by_language.flatten(),
    }
}

fn by_language(
    place: &Cursor<'_>,
    languages: Languages<'_>,
    limit: usize,
    look: Look<'_>,
) -> Option<Text> {
    let mut texts = BTreeMap::new();
    let mut whole = true;
    for (tag, place) in place.read_entries("text by language")? {
        let text = place.text(limit).filter(|_| is_tag(tag, &place));
        text.iter().for_each(|text| look(&place, text));
        match text {
            Some(text) => drop(texts.insert(tag.to_owned(), text)),
            None => whole = false,
        }
    }
    whole &= whole
        && has_all(place, languages, |language| {
            nearest_language(&texts, language).is_some()
        });
    let usual = nearest_language(&texts, languages.own).cloned();
    Some(Text {
        usual: usual.filter(|_| whole)?,
        by_language: texts,
    })
}

/// Returns whether there is a text in each language of the study; reports missing ones.
pub(crate) fn has_all(
    place: &Cursor<'_>,
    languages: Languages<'_>,
    has: impl Fn(&str) -> bool,
) -> bool {
    let others = languages.all.iter().map(String::as_str);
    let others = others.filter(|language| *language != languages.own);
    let missing: Vec<&str> = [languages.own]
        .into_iter()
        .chain(others)
        .filter(|language| !has(language))
        .collect();
    for language in &missing {
        let what = match *language == languages.own {
            true => "the language of the study",
            false => "one of `study.languages`",
        };
        place.report_problem(format!(
            "no text for `{language}`, {what}; add a line `{language}: …`"
        ));
    }
    missing.is_empty()
}

/// Returns whether a key is a language tag; reports it if not.
fn is_tag(tag: &str, place: &Cursor<'_>) -> bool {
    let good = is_language(tag);
    if !good {
        place.report_problem(format!(
            "`{tag}` is not a language tag; write one like en, de or pt-BR"
        ));
    }
    good
}

/// Returns whether a text has the shape of a language tag: `en`, `de`, `pt-BR`.
///
/// Source: BCP 47; only the shape is checked.
pub(crate) fn is_language(text: &str) -> bool {
    let mut parts = text.split('-');
    let main = parts
        .next()
        .is_some_and(|p| matches!(p.len(), 2 | 3) && p.chars().all(|c| c.is_ascii_lowercase()));
    main && parts.all(|p| matches!(p.len(), 2..=8) && p.chars().all(|c| c.is_ascii_alphanumeric()))
}
