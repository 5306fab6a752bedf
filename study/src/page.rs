//! Markdown pages: read from the study folder, turned into sanitised HTML once, when the study is loaded.

mod insets;
mod markup;
pub(crate) mod sanitise;

use std::collections::BTreeMap;

use protocol::hash::sha256_hex;
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};
use serde::Serialize;

use self::insets::PageInsets;
pub(crate) use self::insets::escape_text;
use self::sanitise::{leads_nowhere, leads_somewhere, sanitise_html};
use crate::folder::{Source, StudyFolder, read_text, translations_of};
use crate::formula::Types;
use crate::inset::{Braces, InsetScope};
use crate::limits::MAX_PAGE;
use crate::media::{self, Media};
use crate::problem::{LineColumn, ProblemReport};
use crate::read::Cursor;
use crate::text;
use crate::yaml::{Data, Node};

/// A page of the study, in its language and perhaps in others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TextPage {
    /// The Markdown file, relative to the study folder.
    pub file: String,
    #[serde(flatten)]
    usual: Prose,
    /// The pages in other languages, from files beside it with the language in their name, such as `how.de.md`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    languages: BTreeMap<String, Prose>,
}

/// The text of a page in one language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Prose {
    /// The Markdown; part of the study's hash.
    markdown: String,
    /// Sanitised HTML. Not hashed: it follows from the Markdown, and its spelling belongs to a library.
    #[serde(skip)]
    html: String,
    /// The pictures and videos that it shows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    media: Vec<Media>,
    /// The values that are set into it, and the content of their braces until they are read.
    #[serde(skip)]
    insets: PageInsets,
}

impl Prose {
    /// Reads Markdown, whose pictures and videos are beside its file; reports their faults.
    fn of(markdown: String, dir: &StudyFolder, file: &str, report: &ProblemReport) -> Self {
        let (marked, sources) = insets::mark_insets(&markdown);
        let (html, media) = html(&marked, &sources, dir, file, report);
        let insets = PageInsets::of(&html, &marked, &sources, report);
        Self {
            markdown,
            html,
            media,
            insets,
        }
    }
}

impl TextPage {
    /// A page that the program brings, in English and in other languages.
    pub(crate) fn of(english: &str, others: &[(&str, &str)]) -> Self {
        let prose = |markdown: &str| {
            Prose::of(
                markdown.to_owned(),
                &StudyFolder::in_memory(BTreeMap::new()),
                "",
                &ProblemReport::new(""),
            )
        };
        let others = others.iter();
        let others = others.map(|(language, markdown)| ((*language).to_owned(), prose(markdown)));
        Self {
            file: String::new(),
            usual: prose(english),
            languages: others.collect(),
        }
    }

    fn prose(&self, language: &str) -> &Prose {
        text::nearest_language(&self.languages, language).unwrap_or(&self.usual)
    }

    /// Reads the content of its braces, now that the possible names are known.
    pub(crate) fn read_insets(&mut self, types: &Types, report: &ProblemReport) {
        let all = self.languages.values_mut().chain([&mut self.usual]);
        all.for_each(|prose| prose.insets.read(types, report));
    }

    /// The places of its braces, as problems without a message.
    pub(crate) fn braces(&self) -> impl Iterator<Item = &Braces> {
        let all = self.languages.values().chain([&self.usual]);
        all.flat_map(|prose| prose.insets.braces())
    }

    /// Sanitised HTML of the page for a participant, with the values that are set into it.
    pub(crate) fn html_for(&self, language: &str, scope: &InsetScope<'_>) -> String {
        let prose = self.prose(language);
        prose.insets.fill(&prose.html, scope)
    }

    /// Returns sanitised HTML of the page in a language, else in the language of the study.
    pub fn html_in(&self, language: &str) -> &str {
        &self.prose(language).html
    }

    /// Returns whether it is there in a language, where the study's own is another one. What the program brings always is.
    pub(crate) fn has_language(&self, language: &str) -> bool {
        self.file.is_empty() || text::nearest_language(&self.languages, language).is_some()
    }

    /// The pictures and videos that it shows.
    pub(crate) fn media(&self) -> impl Iterator<Item = &Media> {
        let all = self.languages.values().chain([&self.usual]);
        all.flat_map(|prose| &prose.media)
    }

    /// SHA-256 of the Markdown that they read, lower-case hex.
    pub fn sha256(&self, language: &str) -> String {
        sha256_hex(self.prose(language).markdown.as_bytes())
    }

    /// SHA-256 of the Markdown in every language.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = String> {
        let all = self.languages.values().chain([&self.usual]);
        all.map(|prose| sha256_hex(prose.markdown.as_bytes()))
    }

    /// Bytes of HTML, in the language that has most.
    pub(crate) fn size(&self) -> usize {
        let all = self.languages.values().chain([&self.usual]);
        all.map(|prose| prose.html.len()).max().unwrap_or(0)
    }
}

/// Reads the page that a field names, and those beside it in other languages.
pub(crate) fn read(source: Source<'_>, place: &Cursor<'_>) -> Option<TextPage> {
    let file = place.file("Markdown file")?;
    let usual = prose(source, place, &file);
    let mut languages = BTreeMap::new();
    let mut whole = true;
    for (language, file) in translations_of(source.dir, &file) {
        match prose(source, place, &file) {
            Some(prose) => drop(languages.insert(language, prose)),
            None => whole = false,
        }
    }
    for language in source.languages.all {
        let is_own = *language == source.languages.own;
        if !is_own && text::nearest_language(&languages, language).is_none() {
            let beside = file.strip_suffix(".md").unwrap_or(&file);
            place.report_problem(format!("`{file}` is not there in `{language}`, one of `study.languages`; write `{beside}.{language}.md`"));
            whole = false;
        }
    }
    Some(TextPage {
        usual: usual.filter(|_| whole)?,
        file,
        languages,
    })
}

fn prose(source: Source<'_>, place: &Cursor<'_>, file: &str) -> Option<Prose> {
    let markdown = read_text(source.dir, place, file, MAX_PAGE, "how.md")?;
    if markdown.trim().is_empty() {
        place.report_problem(format!(
            "`{file}` is empty; write what participants shall read"
        ));
        return None;
    }
    let report = ProblemReport::new(file);
    let prose = Prose::of(markdown, source.dir, file, &report);
    place.report.add_problems(report);
    Some(prose)
}

const OPTIONS: Options = Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH);

/// Renders Markdown as HTML that cannot run, load from elsewhere or restyle anything, and lists the pictures and videos
/// that it shows. `sources` has the contents of its braces, by number.
fn html(
    markdown: &str,
    sources: &[insets::Marked],
    dir: &StudyFolder,
    file: &str,
    report: &ProblemReport,
) -> (String, Vec<Media>) {
    let mut parser = Parser::new_ext(markdown, OPTIONS).into_offset_iter();
    let (mut events, mut shown) = (Vec::new(), Vec::new());
    let mut is_code = false;
    while let Some((event, range)) = parser.next() {
        let at = locate(markdown, range.start);
        let wrong = |at: LineColumn, wrong: String| {
            Cursor::root(&nothing(at), report).report_problem(wrong)
        };
        match event {
            Event::Start(Tag::Image { dest_url, .. }) => {
                let words = words(parser.by_ref().map(|(event, _)| event));
                if insets::is_marked(&words) {
                    wrong(at, markup::BRACES_WITHIN.to_owned());
                }
                let node = nothing(at);
                let place = Cursor::root(&node, report);
                let Some(found) = media::read(dir, file, &place, &dest_url) else {
                    continue;
                };
                events.push(Event::InlineHtml(
                    found[0].write_html(&words, found.get(1)).into(),
                ));
                shown.extend(found);
            }
            Event::Start(Tag::HtmlBlock) | Event::InlineHtml(_) => {
                let html = match event {
                    Event::InlineHtml(html) => html.into_string(),
                    _ => block(parser.by_ref().map(|(event, _)| event)),
                };
                let faults = markup::faults(&html);
                if faults.is_empty() {
                    events.push(Event::Html(html.into()));
                }
                for (line, fault) in faults {
                    wrong(below(at, line), fault);
                }
            }
            Event::Code(code) => {
                events.push(Event::Code(insets::unmark_insets(&code, sources).into()));
            }
            Event::Text(text) if is_code => {
                events.push(Event::Text(insets::unmark_insets(&text, sources).into()));
            }
            Event::Text(text) if text.contains("{{") => {
                wrong(
                    at,
                    match text.contains("}}") {
                        true => markup::BRACES_WITHIN.to_owned(),
                        false => markup::BRACES.to_owned(),
                    },
                );
                events.push(Event::Text(text));
            }
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                ..
            }) if insets::is_marked(&dest_url)
                || (link_type != LinkType::Email && !leads_somewhere(&dest_url)) =>
            {
                wrong(
                    at,
                    match insets::is_marked(&dest_url) {
                        true => markup::BRACES_WITHIN.to_owned(),
                        false => leads_nowhere(&dest_url),
                    },
                );
            }
            event => {
                is_code ^= matches!(
                    event,
                    Event::Start(Tag::CodeBlock(_)) | Event::End(TagEnd::CodeBlock)
                );
                events.push(event);
            }
        }
    }
    let mut html = String::new();
    pulldown_cmark::html::push_html(&mut html, events.into_iter());
    (sanitise_html(&html), shown)
}

/// Returns the words between the brackets of a picture, for people who do not see it.
fn words<'a>(events: impl Iterator<Item = Event<'a>>) -> String {
    let mut words = String::new();
    for event in events {
        match event {
            Event::End(TagEnd::Image) => break,
            Event::Text(text) | Event::Code(text) => words.push_str(&text),
            Event::SoftBreak | Event::HardBreak => words.push(' '),
            _ => {}
        }
    }
    words
}

/// A place of a page, for a report.
fn nothing(at: LineColumn) -> Node {
    let data = Data::List(Vec::new());
    Node { at, data }
}

/// All of a block of HTML.
fn block<'a>(events: impl Iterator<Item = Event<'a>>) -> String {
    let mut html = String::new();
    for event in events {
        match event {
            Event::End(TagEnd::HtmlBlock) => break,
            Event::Html(text) | Event::Text(text) => html.push_str(&text),
            _ => {}
        }
    }
    html
}

/// Returns the line and column of a byte of a text.
fn locate(text: &str, offset: usize) -> LineColumn {
    let before = &text[..offset];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars();
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    LineColumn {
        line: number(line),
        column: number(column.count() + 1),
    }
}

/// So many lines further down, at the begin of the line.
fn below(at: LineColumn, lines: usize) -> LineColumn {
    match u32::try_from(lines) {
        Ok(0) | Err(_) => at,
        Ok(lines) => LineColumn {
            line: at.line.saturating_add(lines),
            column: 1,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renders Markdown as HTML, and lists its faults.
    fn of(markdown: &str) -> (String, Vec<String>) {
        let report = ProblemReport::new("how.md");
        let (marked, sources) = insets::mark_insets(markdown);
        let (html, _) = html(
            &marked,
            &sources,
            &StudyFolder::on_disk(std::path::Path::new("nowhere")),
            "how.md",
            &report,
        );
        let wrong = report.result(None::<()>).unwrap_err();
        (html, wrong.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn markdown_becomes_html() {
        assert_eq!(
            of("# Hi\n\nPress **E**.").0,
            "<h1>Hi</h1>\n<p>Press <strong>E</strong>.</p>\n"
        );
    }

    #[test]
    fn nothing_in_a_page_runs_or_loads() {
        let dirty = "<script>x()</script>\n\n<img src=https://a.example/p.png onerror=x()>\n\n\
                     [go](javascript:x()) <a href=\"https://a.example\" onclick=x()>no</a>\n\n\
                     <a href=\"https://a.example\">ok</a> <p style=\"color:red\">p</p> <b>b</b> <!-- c --> <lab@example.edu>";
        let (clean, wrong) = of(dirty);
        let places = [
            "1:1: `<script>`",
            "3:1: pictures",
            "5:1: the link to `javascript:x()`",
            "5:22: `onclick`",
            "7:36: `style`",
        ];
        assert_eq!(wrong.len(), places.len(), "{wrong:?}");
        for (wrong, place) in wrong.iter().zip(places) {
            assert!(wrong.starts_with(&format!("how.md:{place}")), "{wrong:?}");
        }
        assert!(clean.contains("<b>b</b>"), "{clean}");
        for bad in ["script", "img", "onerror", "onclick", "style", "javascript"] {
            assert!(!clean.contains(bad), "{bad} in {clean}");
        }
        assert!(
            clean.contains(
                "<a href=\"https://a.example\" target=\"_blank\" rel=\"noopener noreferrer\">ok</a>"
            ),
            "{clean}"
        );
    }

    #[test]
    fn comments_and_code_are_passed_over() {
        let quiet = "<!-- <script>x()</script> -->\n\n<!--\n<img src=a.png>\n-->\n\na <!-- <p style=\"x\"> --> b\n\n\
                     ```\n{{ name }}\n```\n\n    {{ name }}\n\n`{{ name }}`\n";
        let loud = "<!-- a --> <script>x()</script>\n\n<div>\n<!-- a\n--> <p style=\"x\">\n</div>\n\n{{ name\n\n![{{ a }}](kitchen.png)\n";
        let (html, wrong) = of(&format!("{quiet}\n{loud}"));
        let places = [
            "17:1: `<script>`",
            "21:1: `style`",
            "24:1: `{{`",
            "26:1: there is no file",
            "26:1: values in `{{ }}`",
        ];
        assert_eq!(wrong.len(), places.len(), "{wrong:?}");
        for (wrong, place) in wrong.iter().zip(places) {
            assert!(wrong.starts_with(&format!("how.md:{place}")), "{wrong:?}");
        }
        assert_eq!(html.matches("<code>{{ name }}").count(), 3, "{html}");
    }

    #[test]
    fn a_picture_that_is_not_there_or_elsewhere_is_told_at_its_place() {
        let (_, wrong) = of("# Hi\n\nSee ![a](https://a.example/p.png) and\n  ![b](p.png)");
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(wrong[0].starts_with("how.md:3:5: `https://a.example/p.png` is not in"));
        assert!(
            wrong[1].starts_with("how.md:4:3: there is no file `p.png`"),
            "{wrong:?}"
        );
    }

    #[test]
    fn only_media_of_the_own_server_are_loaded() {
        let own = "<p><img src=\"/media/0a.png\" alt=\"x\" width=\"4\" height=\"3\"></p>";
        assert_eq!(sanitise_html(own), own);
        let video = "<video controls=\"\" src=\"/media/0a.mp4\"><track kind=\"captions\" src=\"/media/0b.vtt\" default=\"\"></video>";
        assert_eq!(sanitise_html(video), video);
        for other in [
            "<img src=\"https://a.example/x.png\">",
            "<img src=\"//a.example/x\">",
            "<video src=\"/other\"></video>",
        ] {
            assert!(
                !sanitise_html(other).contains("src"),
                "{}",
                sanitise_html(other)
            );
        }
    }
}
