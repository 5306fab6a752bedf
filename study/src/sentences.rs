//! Sentences of participants' pages that a study replaces, and languages that it adds. In the file: `texts`.
//!
//! The program's own sentences are in `texts/`. This module must not know where a page shows which.

mod end_pages;
mod first_page;
mod withdrawal;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use serde::Serialize;

use crate::folder::{Source, read_text};
use crate::limits::{MAX_LANGUAGES, MAX_PAGE};
use crate::problem::{ProblemReport, make_hint};
use crate::read::Cursor;
use crate::study::Study;
use crate::text::is_language;
use crate::yaml::{self, Data};

/// The sentences in English, each with a comment on its purpose.
pub const ENGLISH: &str = include_str!("../../texts/en.yaml");

/// The sentences in German.
const GERMAN: &str = include_str!("../../texts/de.yaml");

/// The languages that pages have learnt by themselves.
const BUILT_IN: [&str; 2] = ["en", "de"];

/// The most missing sentences that a warning names.
const MOST_NAMED: usize = 8;

/// Sentences of pages by language and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Sentences(BTreeMap<String, BTreeMap<String, String>>);

/// The sentences of the program in English, by name.
fn english() -> &'static BTreeMap<String, String> {
    static READ: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    READ.get_or_init(|| read_program(ENGLISH))
}

/// The sentences of the program in German, by name.
fn german() -> &'static BTreeMap<String, String> {
    static READ: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    READ.get_or_init(|| read_program(GERMAN))
}

fn read_program(file: &str) -> BTreeMap<String, String> {
    let report = ProblemReport::new("en.yaml");
    let node = yaml::parse(file, &report);
    let entries = match node.map(|node| node.data) {
        Some(Data::Map(entries)) => entries,
        _ => Vec::new(),
    };
    let sentence = |(key, value): (yaml::Key, yaml::Node)| match value.data {
        Data::Plain(text) | Data::Quoted(text) => Some((key.name, text)),
        _ => None,
    };
    entries.into_iter().filter_map(sentence).collect()
}

/// The places of a sentence that are filled in, whatever the case of their first letter.
fn places(sentence: &str) -> BTreeSet<String> {
    let places = sentence.split('{').skip(1);
    let places = places.filter_map(|place| Some(place.split_once('}')?.0));
    places.map(str::to_lowercase).collect()
}

/// Reads the files of one or several languages.
pub(crate) fn read(source: Source<'_>, place: &Cursor<'_>) -> Option<Sentences> {
    let is_list = place.item_count().is_some();
    let one = (place.may(!is_list)).then(|| Some(vec![place.clone()]));
    let several = (place.may(is_list)).then(|| place.list("files", MAX_LANGUAGES));
    let english = english();
    let mut all = BTreeMap::new();
    let mut is_whole = true;
    for place in one.or(several).flatten()? {
        let file = place.file("YAML file with sentences of pages")?;
        let name = file.rsplit('/').next().unwrap_or_default();
        let tag = name.strip_suffix(".yaml").or(name.strip_suffix(".yml"));
        let Some(tag) = tag.filter(|tag| is_language(tag)) else {
            place.report_problem(format!(
                "`{file}` does not say its language; give the file the name of a language tag, such as `fr.yaml` or `pt-BR.yaml`"
            ));
            is_whole = false;
            continue;
        };
        let text = read_text(source.dir, &place, &file, MAX_PAGE, "fr.yaml")?;
        let report = ProblemReport::new(&file);
        let sentences = of_file(&text, english, &report);
        is_whole &= sentences.is_some();
        place.report.add_problems(report);
        all.insert(tag.to_owned(), sentences.unwrap_or_default());
    }
    is_whole.then_some(Sentences(all))
}

fn of_file(
    text: &str,
    english: &BTreeMap<String, String>,
    report: &ProblemReport,
) -> Option<BTreeMap<String, String>> {
    let node = yaml::parse(text, report)?;
    let whole = Cursor::root(&node, report);
    let known: Vec<&str> = english.keys().map(String::as_str).collect();
    let mut sentences = BTreeMap::new();
    let mut is_whole = true;
    for (name, place) in whole.read_entries("sentences by name")? {
        let Some(usual) = english.get(name) else {
            let near = make_hint(name, &known);
            let near = near.split(" Known here").next().unwrap_or_default();
            let near = match near.starts_with("did you mean") {
                true => near,
                false => "the names are those of `texts/en.yaml` in the source of Coplay",
            };
            place.report_problem(format!("pages have no sentence `{name}`; {near}"));
            is_whole = false;
            continue;
        };
        // An empty sentence hides what would show it.
        let is_empty = matches!(&place.node.data, Data::Quoted(text) if text.is_empty());
        let sentence = match is_empty {
            true => Some(String::new()),
            false => place.text(1_000),
        };
        let Some(sentence) = sentence else {
            is_whole = false;
            continue;
        };
        let (wanted, given) = (places(usual), places(&sentence));
        if let Some(other) = given.difference(&wanted).next() {
            let all: Vec<String> = wanted
                .iter()
                .map(|place| format!("`{{{place}}}`"))
                .collect();
            let all = if all.is_empty() {
                "nothing".to_owned()
            } else {
                all.join(", ")
            };
            place.report_problem(format!(
                "nothing is filled in for `{{{other}}}` here; this sentence can have {all}"
            ));
            is_whole = false;
        }
        if let Some(missing) = wanted.difference(&given).next() {
            place.report_problem(format!("`{{{missing}}}` is missing; in English: `{usual}`"));
            is_whole = false;
        }
        sentences.insert(name.to_owned(), sentence);
    }
    is_whole.then_some(sentences)
}

impl Sentences {
    /// True if the study has no own sentences.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A sentence in a language: the study's own, else the program's; in English if there is none.
    pub(crate) fn find(&self, language: &str, name: &str) -> &str {
        let main = language.split('-').next().unwrap_or_default();
        let own = |tag: &str| self.0.get(tag).and_then(|own| own.get(name));
        let of_program = match main {
            "de" => german(),
            _ => english(),
        };
        let found = own(language)
            .or_else(|| own(main))
            .or_else(|| of_program.get(name));
        found.map_or("", String::as_str)
    }

    /// Returns whether pages speak a language, or its main part.
    fn speaks(&self, language: &str) -> bool {
        let main = language.split('-').next().unwrap_or_default();
        let is_it = |tag: &str| tag == language || tag == main;
        BUILT_IN.into_iter().any(is_it) || self.0.keys().any(|tag| is_it(tag))
    }
}

impl Study {
    /// Sentences that participants would read in English though they read the study in another language.
    pub(crate) fn warn_of_sentences(&self, warn: &impl Fn(&str, String)) {
        let all = english();
        for (language, own) in &self.sentences.0 {
            let main = language.split('-').next().unwrap_or_default();
            if BUILT_IN.contains(&main) || self.sentences.0.contains_key(main) && main != language {
                continue;
            }
            let missing: Vec<&str> = all
                .keys()
                .filter(|name| !own.contains_key(*name))
                .map(String::as_str)
                .collect();
            if missing.is_empty() {
                continue;
            }
            let named = missing[..missing.len().min(MOST_NAMED)].join("`, `");
            let more = if missing.len() > MOST_NAMED {
                ", …"
            } else {
                ""
            };
            let message = format!(
                "{} of {} sentences of pages are missing in `{language}` and are shown in English: `{named}`{more}",
                missing.len(),
                all.len()
            );
            warn("texts", message);
        }
        let offered = self.languages.iter().chain([&self.language]);
        let offered: BTreeSet<&String> = offered.collect();
        for language in offered {
            if !self.sentences.speaks(language) {
                let message = format!(
                    "buttons and messages of pages are in English for `{language}`; write them in `{language}.yaml`, and \
                     `texts: {language}.yaml` here"
                );
                warn("study.language", message);
            }
        }
    }
}
