//! The last page.

use serde::Serialize;

use crate::folder::Source;
use crate::outcome::{self, Outcome};
use crate::page::{self, Page};
use crate::read::Fields;

/// The last page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct End {
    /// The outcome of those who come here by the whole way.
    pub outcome: Outcome,
    /// What they read.
    #[serde(rename = "file")]
    pub page: Page,
}

const DOC: &str = "The last page.";

pub(super) fn read(source: Source<'_>, fields: &mut Fields<'_>) -> Option<End> {
    fields.about(DOC);
    let doc = "The outcome recorded for participants who reach this page.";
    let outcome = fields
        .key("outcome", doc)
        .or(Outcome::Completed, |place| outcome::read(&place));
    let page = fields.key("file", "The text that participants read.");
    let page = page.need("thanks.md", |place| page::read(source, &place));
    Some(End {
        outcome: outcome?,
        page: page?,
    })
}
