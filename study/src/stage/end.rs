//! The last page.

use serde::Serialize;

use crate::folder::Source;
use crate::outcome::{self, Outcome};
use crate::page::{self, TextPage};
use crate::read::Fields;

/// The last page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndStage {
    /// The outcome of people who come here by the whole route.
    pub outcome: Outcome,
    /// The page.
    #[serde(rename = "file")]
    pub page: TextPage,
}

const DOC: &str = "The last page.";

pub(super) fn read(source: Source<'_>, fields: &mut Fields<'_>) -> Option<EndStage> {
    fields.about(DOC);
    let doc = "The outcome recorded for participants who reach this page.";
    let outcome = fields
        .key("outcome", doc)
        .or(Outcome::Completed, |place| outcome::read(&place));
    let page = fields.key("file", "The text that participants read.");
    let page = page.require_key("thanks.md", |place| page::read(source, &place));
    Some(EndStage {
        outcome: outcome?,
        page: page?,
    })
}
