//! Pages to read.

use serde::Serialize;

use crate::page::{self, Page, Source};
use crate::read::Fields;

use super::MAX_VIEW;

/// Pages to read, back and next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Instructions {
    /// The pages, in order; at least one.
    pub pages: Vec<Page>,
    /// Seconds for which every page is shown at least.
    #[serde(skip_serializing_if = "is_zero")]
    pub min_s: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
fn is_zero(seconds: &u32) -> bool {
    *seconds == 0
}

const DOC: &str = "Pages to read, with back and next.";

pub(super) fn read(source: Source<'_>, fields: &mut Fields<'_>) -> Option<Instructions> {
    fields.about(DOC);
    let pages = fields.key("pages", "Markdown files, one page a file.");
    let pages = pages.need("[how.md]", |place| {
        let places = place.list("Markdown files", 50)?;
        let pages: Vec<Option<Page>> = (places.iter())
            .map(|place| page::read(source, place))
            .collect();
        pages.into_iter().collect::<Option<Vec<Page>>>()
    });
    let doc = "Seconds for which every page is shown before one can go on.";
    let min_s = (fields.key("min_s", doc)).or(0, |place| place.whole(0..=3600, "seconds"));
    let pages = pages?;
    let size: usize = pages.iter().map(Page::size).sum();
    if size > MAX_VIEW {
        fields.whole.wrong(format!(
            "the pages have {size} bytes as HTML; the limit of a stage is {MAX_VIEW}, so split it"
        ));
        return None;
    }
    Some(Instructions {
        pages,
        min_s: min_s?,
    })
}
