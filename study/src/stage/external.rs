//! A page of another site.

use protocol::control::Answer;
use serde::Serialize;

use crate::outcome::{self, Outcome};
use crate::problem::make_hint;
use crate::read::{Cursor, Fields};
use crate::refusal::EventRefusal;

/// A page of another site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct External {
    /// Its address, with placeholders.
    pub url: String,
    /// The code that participants get there and type in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// True if only its way back, or the code, leads on.
    pub must_return: bool,
    /// The outcome of people who cannot do it; `None` if they cannot say so.
    #[serde(rename = "else", skip_serializing_if = "Option::is_none")]
    pub or_else: Option<Outcome>,
}

const DOC: &str = "A page on another website, such as an existing form. It opens in a new tab. Participants come \
                   back by a link or with a code.";

/// The names that an address may have between `{{` and `}}`.
const PLACEHOLDERS: [&str; 2] = ["participant", "return"];

/// The name of the answer of those who type in a code.
const CODE: &str = "code";

/// The name of the answer of people who give up.
const CANNOT: &str = "cannot";

pub(super) fn read(fields: &mut Fields<'_>) -> Option<External> {
    fields.about(DOC);
    let doc = "The address, starting with `https://`. `{{participant}}` stands for the participant's pseudonym. \
               `{{return}}` stands for a personal address that leads back to the study.";
    let url = fields.key("url", doc);
    let url = url.require_key(
        "\"https://forms.example.edu/?who={{participant}}&back={{return}}\"",
        |place| address(&place).map(|url| (url, place)),
    );
    let doc = "The code that the other page shows at its end. Participants enter it to continue.";
    let code = fields.key("code", doc).maybe(|place| place.text(40));
    let doc = "Whether participants need the link `{{return}}` or the `code` to continue. Otherwise a button is \
               enough.";
    let must_return = fields
        .key("must_return", doc)
        .or(true, |place| place.read_flag());
    let doc = "The outcome of participants who say that they cannot do this step. Without this key, the page has no \
         button for it.";
    let or_else = fields.key("else", doc).maybe(|place| outcome::read(&place));
    let ((url, place), code, must_return) = (url?, code?, must_return?);
    let leads_back = placeholders(&url).any(|name| name == "return") || code.is_some();
    if must_return && !leads_back {
        place.report_problem("no `{{return}}`, and no `code`, but `must_return` is true, so nobody could go on; add it to the address, or write `must_return: false`");
        return None;
    }
    Some(External {
        url,
        code,
        must_return,
        or_else: or_else?,
    })
}

/// The exit from a page of another site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExternalExit {
    /// On.
    On,
    /// Out.
    Out(Outcome),
}

impl External {
    /// Returns where the answers of a participant lead.
    ///
    /// # Errors
    /// A [`EventRefusal`] if they lead nowhere.
    pub fn way_out(&self, answers: &[Answer]) -> Result<ExternalExit, EventRefusal> {
        let [answer] = answers else {
            return match answers {
                [] if !self.must_return => Ok(ExternalExit::On),
                [] => Err(EventRefusal::Missing { name: CODE.into() }),
                _ => Err(EventRefusal::Twice { name: CODE.into() }),
            };
        };
        let name = answer.name.chars().take(60).collect();
        let value: Option<String> = serde_json::from_str(&answer.value).ok();
        match (answer.name.as_str(), &self.code, self.or_else) {
            (CODE, Some(code), _) => {
                let same = |typed: String| typed.trim().eq_ignore_ascii_case(code.trim());
                match value.is_some_and(same) {
                    true => Ok(ExternalExit::On),
                    false => Err(EventRefusal::BadAnswer { name }),
                }
            }
            (CANNOT, _, Some(outcome)) => Ok(ExternalExit::Out(outcome)),
            _ => Err(EventRefusal::UnknownItem { name }),
        }
    }

    /// Its address for a participant; the way back stays a placeholder.
    pub fn url_for(&self, participant: &str) -> String {
        let mut parts = self.url.split("{{");
        let mut url = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once("}}").unwrap_or((part, ""));
            match name.trim() {
                // Pseudonyms are letters, digits and dashes: nothing that an address writes in another way.
                "participant" => url += participant,
                name => url += &format!("{{{{{name}}}}}"),
            }
            url += rest;
        }
        url
    }
}

fn address(place: &Cursor<'_>) -> Option<String> {
    let url = place.text(1_000)?;
    if !url.starts_with("https://") || url.contains(char::is_whitespace) && !url.contains("{{") {
        place.report_problem(format!(
            "`{url}` is not the address of a page; write one that begins with `https://`"
        ));
        return None;
    }
    if let Some(name) = placeholders(&url).find(|name| !PLACEHOLDERS.contains(name)) {
        place.report_problem(format!(
            "unknown placeholder `{name}`; {}",
            make_hint(name, &PLACEHOLDERS)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn external() -> External {
        External {
            url: "https://a.example/?who={{ participant }}&back={{return}}&x=1".to_owned(),
            code: Some("Blue-42".to_owned()),
            must_return: true,
            or_else: Some(Outcome::Technical),
        }
    }

    fn answer(name: &str, value: &str) -> Answer {
        Answer {
            name: name.to_owned(),
            value: value.to_owned(),
        }
    }

    #[test]
    fn an_address_takes_the_pseudonym_and_keeps_the_way_back() {
        let url = external().url_for("P-1");
        assert_eq!(url, "https://a.example/?who=P-1&back={{return}}&x=1");
    }

    #[test]
    fn a_code_leads_on_and_giving_up_leads_out() {
        let of = |answers: &[Answer]| external().way_out(answers);
        assert_eq!(of(&[answer("code", "\" blue-42 \"")]), Ok(ExternalExit::On));
        assert!(of(&[answer("code", "\"red\"")]).is_err());
        assert!(of(&[answer("code", "7")]).is_err());
        assert!(of(&[]).is_err(), "one must return");
        assert_eq!(
            of(&[answer("cannot", "true")]),
            Ok(ExternalExit::Out(Outcome::Technical))
        );
        let free = External {
            code: None,
            must_return: false,
            or_else: None,
            ..external()
        };
        assert_eq!(free.way_out(&[]), Ok(ExternalExit::On));
        assert!(free.way_out(&[answer("cannot", "true")]).is_err());
        assert!(free.way_out(&[answer("code", "\"x\"")]).is_err());
    }
}
