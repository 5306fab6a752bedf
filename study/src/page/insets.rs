//! Values in Markdown pages. The content of double braces is taken out before Markdown and HTML are read, because they
//! would change it. A mark stands in its place until a participant reads the page.

use std::collections::BTreeMap;

use super::locate;
use crate::formula::Types;
use crate::inset::{Braces, Inset, InsetScope};
use crate::problem::ProblemReport;

/// The character around the number of a mark. Nobody writes it, and neither Markdown nor HTML change it.
const MARK: char = '\u{1}';

/// A formula that stood in braces, and where its mark begins.
pub(super) struct Marked {
    source: String,
    offset: usize,
}

/// The values of a page, and the content of their braces until they are read, by the numbers of their marks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PageInsets {
    unread: BTreeMap<usize, Braces>,
    read: BTreeMap<usize, Inset>,
}

// A formula of a text has no number that is not equal to itself.
impl Eq for PageInsets {}

/// Returns the Markdown with marks for double braces on one line. A mark is as long as the text that it replaces, so
/// that places behind it do not move.
pub(super) fn mark_insets(markdown: &str) -> (String, Vec<Marked>) {
    let (mut marked, mut sources) = (String::with_capacity(markdown.len()), Vec::new());
    if markdown.contains(MARK) {
        return (markdown.to_owned(), sources);
    }
    let mut rest = markdown;
    while let Some(open) = rest.find("{{") {
        let (before, from) = rest.split_at(open);
        marked.push_str(before);
        let line = from.lines().next().unwrap_or_default();
        let before = before.rsplit('\n').next().unwrap_or_default();
        // A mark in the address of a link would make it none.
        let is_address = before
            .rfind("](")
            .is_some_and(|at| !before[at..].contains(')'));
        let number = sources.len();
        let close = line.find("}}").filter(|_| !is_address);
        let Some(close) = close.filter(|close| number.to_string().len() <= *close) else {
            marked.push_str("{{");
            rest = &from[2..];
            continue;
        };
        sources.push(Marked {
            source: from[2..close].to_owned(),
            offset: marked.len(),
        });
        marked.push_str(&format!("{MARK}{number:0>close$}{MARK}"));
        rest = &from[close + 2..];
    }
    marked.push_str(rest);
    (marked, sources)
}

/// Returns whether a value will be set into a text, an attribute or an address.
pub(super) fn is_marked(text: &str) -> bool {
    text.contains(MARK) || text.contains("%01") || text.contains("{{")
}

/// Returns a text with the original content of its braces.
pub(super) fn unmark_insets(text: &str, sources: &[Marked]) -> String {
    replace(text, |number| {
        sources
            .get(number)
            .map(|marked| format!("{{{{{}}}}}", marked.source))
    })
}

/// A text with its marks replaced.
fn replace(text: &str, with: impl Fn(usize) -> Option<String>) -> String {
    let mut parts = text.split(MARK);
    let mut filled = parts.next().unwrap_or_default().to_owned();
    while let Some(number) = parts.next() {
        let value = number.parse().ok().and_then(&with);
        filled.push_str(&value.unwrap_or_default());
        filled.push_str(parts.next().unwrap_or_default());
    }
    filled
}

impl PageInsets {
    /// The values of a page: those whose marks are left in its HTML, and so in no code and no comment.
    pub(super) fn of(
        html: &str,
        markdown: &str,
        sources: &[Marked],
        report: &ProblemReport,
    ) -> Self {
        let numbers = html.split(MARK).skip(1).step_by(2);
        let unread = numbers.filter_map(|number| {
            let number: usize = number.parse().ok()?;
            let marked = sources.get(number)?;
            let place = report.problem(locate(markdown, marked.offset), "", "");
            let source = marked.source.clone();
            Some((number, Braces { source, place }))
        });
        Self {
            unread: unread.collect(),
            read: BTreeMap::new(),
        }
    }

    pub(super) fn braces(&self) -> impl Iterator<Item = &Braces> {
        self.unread.values()
    }

    /// Reads the content of the braces.
    pub(super) fn read(&mut self, types: &Types, report: &ProblemReport) {
        let read = self.unread.iter().filter_map(|(number, braces)| {
            let inset = Inset::read(braces, types, report)?;
            Some((*number, inset))
        });
        self.read = read.collect();
    }

    /// HTML with the values of a participant.
    pub(super) fn fill(&self, html: &str, scope: &InsetScope<'_>) -> String {
        if self.unread.is_empty() {
            return html.to_owned();
        }
        replace(html, |number| {
            let value = self.read.get(&number)?.write(scope);
            Some(escape_text(&value))
        })
    }
}

/// A text as HTML shows it.
pub(crate) fn escape_text(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_as_long_as_what_they_stand_for_and_are_taken_back() {
        let text = "a {{ x }} b {{y}} c {{ open\n`{{ z }}`";
        let (marked, sources) = mark_insets(text);
        assert_eq!(marked.len(), text.len());
        assert_eq!(sources.len(), 3);
        assert!(is_marked(&marked));
        assert_eq!(unmark_insets(&marked, &sources), text);
        assert_eq!(
            replace(&marked, |number| Some(number.to_string())),
            "a 0 b 1 c {{ open\n`2`"
        );
    }
}
