//! Pages to read.

use serde::Serialize;

use crate::folder::Source;
use crate::limits::MAX_VIEW;
use crate::page::{self, TextPage};
use crate::read::Fields;

/// Pages to read, back and next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Instructions {
    /// The pages, in order; at least one.
    pub pages: Vec<TextPage>,
    /// Seconds for which every page is shown at least.
    #[serde(skip_serializing_if = "is_zero")]
    pub min_s: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
fn is_zero(seconds: &u32) -> bool {
    *seconds == 0
}

const DOC: &str = "Pages to read, with buttons for back and next.";

pub(super) fn read(source: Source<'_>, fields: &mut Fields<'_>) -> Option<Instructions> {
    fields.about(DOC);
    let pages = fields.key("pages", "Markdown files, one per page.");
    let pages = pages.require_key("[how.md]", |place| {
        let places = place.list("Markdown files", 50)?;
        let pages: Vec<Option<TextPage>> = (places.iter())
            .map(|place| page::read(source, place))
            .collect();
        pages.into_iter().collect::<Option<Vec<TextPage>>>()
    });
    let doc = "The minimum time on each page, in seconds.";
    let min_s = (fields.key("min_s", doc)).or(0, |place| place.read_whole(0..=3600, "seconds"));
    let pages = pages?;
    let size: usize = pages.iter().map(TextPage::size).sum();
    if size > MAX_VIEW {
        fields.whole.report_problem(format!(
            "the pages have {size} bytes as HTML; the limit of a stage is {MAX_VIEW}, so split it"
        ));
        return None;
    }
    Some(Instructions {
        pages,
        min_s: min_s?,
    })
}

/// The tolerance below the least time of a page, milliseconds: clocks differ.
const SLACK_MS: u32 = 1_000;

impl Instructions {
    /// Returns whether every page was shown for its least time, by the report of the participant's page, milliseconds.
    pub fn is_read(&self, pages_ms: &[u32]) -> bool {
        let least_ms = (self.min_s * 1_000).saturating_sub(SLACK_MS);
        let shown = |page: usize| pages_ms.get(page).copied().unwrap_or(0);
        (0..self.pages.len()).all(|page| shown(page) >= least_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_shown_for_its_least_time_or_nearly() {
        let of = |min_s| Instructions {
            pages: vec![TextPage::of("# One", &[]), TextPage::of("# Two", &[])],
            min_s,
        };
        assert!(of(0).is_read(&[]));
        assert!(of(5).is_read(&[4_000, 60_000]));
        assert!(!of(5).is_read(&[3_999, 60_000]));
        assert!(!of(5).is_read(&[60_000]));
    }
}
