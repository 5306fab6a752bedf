//! The debriefing at the end, and the offer to withdraw.

use protocol::control::Answer;
use serde::Serialize;

use crate::folder::Source;
use crate::limits::MAX_STAGES;
use crate::page::{self, TextPage};
use crate::read::{Cursor, Fields};
use crate::refusal::EventRefusal;

/// The debriefing at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Debrief {
    /// The page.
    #[serde(rename = "file")]
    pub page: TextPage,
    /// True if they may withdraw their data.
    pub allow_withdraw: bool,
    /// The lobbies that it reveals as simulated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reveals: Vec<String>,
}

const DOC: &str =
    "What participants learn at the end: the purpose of the study, and who their partner was.";

pub(super) fn read(source: Source<'_>, fields: &mut Fields<'_>) -> Option<Debrief> {
    fields.about(DOC);
    let page = fields.key("file", "The text that participants read.");
    let page = page.require_key("debrief.md", |place| page::read(source, &place));
    let doc = "Whether participants can withdraw their data here. `study.on_withdraw` decides what is erased.";
    let allow_withdraw = fields
        .key("allow_withdraw", doc)
        .or(false, |place| place.read_flag());
    let doc = "The lobbies of which the text tells that their waiting room was simulated (`simulated_wait_s`): each of \
               them must be named by a debriefing after it.";
    let reveals = fields.key("reveals", doc);
    let reveals = reveals.or(Vec::<String>::new(), |place| {
        let places = place.list("lobbies", MAX_STAGES)?;
        places.iter().map(Cursor::id).collect()
    });
    Some(Debrief {
        page: page?,
        allow_withdraw: allow_withdraw?,
        reveals: reveals?,
    })
}

/// The name of the answer of those who withdraw.
const WITHDRAW: &str = "withdraw";

impl Debrief {
    /// Returns whether the answers are those of a person who withdraws their data.
    ///
    /// # Errors
    /// A [`EventRefusal`] if there are other answers.
    pub fn has_withdrawn(&self, answers: &[Answer]) -> Result<bool, EventRefusal> {
        match answers {
            [] => Ok(false),
            [answer] if self.allow_withdraw && answer.name == WITHDRAW => Ok(true),
            [answer, ..] => Err(EventRefusal::UnknownItem {
                name: answer.name.chars().take(60).collect(),
            }),
        }
    }
}
