//! The consent that people give before anything about them is recorded.

use protocol::control::Answer;
use serde::Serialize;

use crate::folder::Source;
use crate::outcome::{self, Outcome};
use crate::page::{self, TextPage};
use crate::read::Fields;
use crate::refusal::EventRefusal;

/// A text to agree to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Consent {
    /// The page.
    #[serde(rename = "file")]
    pub page: TextPage,
    /// The outcome of people who do not agree.
    #[serde(rename = "else")]
    pub or_else: Outcome,
}

const DOC: &str = "A text to agree to. Nothing is recorded about a participant before. The time of the agreement \
                   and the SHA-256 of the text are recorded.";

pub(super) fn read(source: Source<'_>, fields: &mut Fields<'_>) -> Option<Consent> {
    fields.about(DOC);
    let page = fields.key("file", "The text that participants agree to.");
    let page = page.require_key("consent.md", |place| page::read(source, &place));
    let doc = "The outcome of participants who do not agree.";
    let or_else = fields.key("else", doc);
    let or_else = or_else.or(Outcome::NoConsent, |place| outcome::read(&place));
    Some(Consent {
        page: page?,
        or_else: or_else?,
    })
}

/// The name of the answer of those who agree.
pub const AGREED: &str = "agreed";

impl Consent {
    /// Returns whether the answers are those of a person who agrees: one named [`AGREED`], with the SHA-256 of the
    /// agreed text. A person who does not agree gives no answer, so that nothing is kept.
    ///
    /// # Errors
    /// A [`EventRefusal`] if they are neither, or of another text.
    pub fn has_agreed(&self, answers: &[Answer]) -> Result<bool, EventRefusal> {
        let [answer] = answers else {
            let name = AGREED.to_owned();
            return match answers {
                [] => Ok(false),
                _ => Err(EventRefusal::Twice { name }),
            };
        };
        let name = answer.name.chars().take(60).collect();
        if answer.name != AGREED {
            return Err(EventRefusal::UnknownItem { name });
        }
        let text: Option<String> = serde_json::from_str(&answer.value).ok();
        match text.is_some_and(|text| self.page.hashes().any(|hash| hash == text)) {
            true => Ok(true),
            false => Err(EventRefusal::BadAnswer { name }),
        }
    }
}
