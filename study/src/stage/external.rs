//! A page of another site.

use serde::Serialize;

use crate::problem::hint;
use crate::read::{Fields, Place};

/// A page of another site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct External {
    /// Its address, with placeholders.
    pub url: String,
    /// Whether only its way back leads on.
    pub must_return: bool,
}

const DOC: &str = "A page of another site, such as a form that is there already. It opens beside the study, and leads back by a link.";

/// What an address may have between `{{` and `}}`.
const PLACEHOLDERS: [&str; 2] = ["participant", "return"];

pub(super) fn read(fields: &mut Fields<'_>) -> Option<External> {
    fields.about(DOC);
    let doc = "Its address, which begins with `https://`. `{{participant}}` stands for the participant's pseudonym, and \
               `{{return}}` for the address, with a token of its own, that brings the participant back.";
    let url = fields.key("url", doc);
    let url = url.need(
        "\"https://forms.example.edu/?who={{participant}}&back={{return}}\"",
        |place| address(&place).map(|url| (url, place)),
    );
    let doc = "Whether only the way back by `{{return}}` leads on; otherwise a button does.";
    let must_return = fields
        .key("must_return", doc)
        .or(true, |place| place.flag());
    let ((url, place), must_return) = (url?, must_return?);
    if must_return && !placeholders(&url).any(|name| name == "return") {
        place.wrong("no `{{return}}`, but `must_return` is true, so nobody could go on; add it to the address, or write `must_return: false`");
        return None;
    }
    Some(External { url, must_return })
}

fn address(place: &Place<'_>) -> Option<String> {
    let url = place.text(1_000)?;
    if !url.starts_with("https://") || url.contains(char::is_whitespace) && !url.contains("{{") {
        place.wrong(format!(
            "`{url}` is not the address of a page; write one that begins with `https://`"
        ));
        return None;
    }
    if let Some(name) = placeholders(&url).find(|name| !PLACEHOLDERS.contains(name)) {
        place.wrong(format!(
            "unknown placeholder `{name}`; {}",
            hint(name, &PLACEHOLDERS)
        ));
        return None;
    }
    Some(url)
}

/// The names between `{{` and `}}`.
fn placeholders(url: &str) -> impl Iterator<Item = &str> {
    let parts = url.split("{{").skip(1);
    parts.map(|part| part.split("}}").next().unwrap_or_default().trim())
}
