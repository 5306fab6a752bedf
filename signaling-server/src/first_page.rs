//! The page of the first second, which is there before its program: this module enters its sentences, language by
//! language.
//!
//! The build of the page compiles this file too, for the languages of Coplay; the server enters those of a study. It must
//! not know where the sentences come from.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The sentences of the first second in one language: its tag, and the sentences by name.
pub(crate) type FirstSentences = (String, BTreeMap<String, String>);

/// Enters the sentences of the first second in these languages, in place of the existing ones. The page itself is in
/// the first language, until its script has found which one the browser prefers.
pub(crate) fn enter_first_sentences(page: &str, languages: &[FirstSentences]) -> String {
    let Some((main, sentences)) = languages.first() else {
        return page.to_owned();
    };
    let all = write_json(&json!(languages));
    let mut page = fill_in(page, "<html lang=\"", main, "\"");
    page = fill_in(&page, "id=\"first-texts\">", &all, "</");
    page = fill_in(&page, "<noscript>", &list_notices(languages), "</noscript>");
    for (name, sentence) in sentences {
        page = fill_in(
            &page,
            &format!("data-text=\"{name}\">"),
            &escape(sentence),
            "</",
        );
    }
    page
}

/// The lines of a page without JavaScript, one in every language.
fn list_notices(languages: &[FirstSentences]) -> String {
    let notice = |(tag, own): &FirstSentences| {
        let sentence = own.get("first_no_script").filter(|it| !it.is_empty())?;
        let sentence = escape(sentence);
        Some(format!(
            "\n<p class=\"notice\" lang=\"{tag}\">{sentence}</p>"
        ))
    };
    languages.iter().filter_map(notice).collect()
}

/// JSON in an element of a page: nothing in it can end the element.
pub(crate) fn write_json(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

fn escape(sentence: &str) -> String {
    sentence.replace('&', "&amp;").replace('<', "&lt;")
}

/// The page with another text between two others, where it has them.
fn fill_in(page: &str, start: &str, text: &str, end: &str) -> String {
    let parts = page.split_once(start).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(end)?;
        Some(format!("{before}{start}{text}{end}{after}"))
    });
    parts.unwrap_or_else(|| page.to_owned())
}
