//! Faults of the HTML in a page: the parts that are not shown as they stand.

use std::cell::{Cell, RefCell};

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer,
};

use super::sanitise::{leads_nowhere, leads_somewhere, make_cleaner};

/// The fault of braces without an end.
pub(super) const BRACES: &str = "`{{` has no end on its line, so it is shown as it stands; write `}}` behind the formula, or write it in backquotes";
/// The fault of a value where none can be set in.
pub(super) const BRACES_WITHIN: &str = "values in `{{ }}` cannot be set into addresses, attributes, and the words of a picture; write them into the text";
const LOADS: &str = "pictures and videos of HTML are not shown; write `![what it shows](kitchen.png)`, also for a video";
const OPEN: &str = "a comment of HTML has no end, so that nothing after it is shown; write `-->`";

/// The faults of a piece of HTML, each with the number of its line, from 0.
pub(super) fn faults(html: &str) -> Vec<(usize, String)> {
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(html));
    let tokens = Tokenizer::new(Faults::default(), <_>::default());
    let _ = tokens.feed(&input);
    tokens.end();
    let Faults { found, ends_open } = tokens.sink;
    let mut found = found.into_inner();
    if let Some(line) = ends_open.get().filter(|_| is_open(html)) {
        found.push((line, OPEN.to_owned()));
    }
    found
}

/// Returns whether HTML that ends with a comment ends in the middle of it.
fn is_open(html: &str) -> bool {
    let ends = ["-->", "--!>"];
    html.contains("<!--") && !ends.iter().any(|end| html.ends_with(end))
}

#[derive(Default)]
struct Faults {
    found: RefCell<Vec<(usize, String)>>,
    /// The line of a comment behind which nothing came.
    ends_open: Cell<Option<usize>>,
}

impl TokenSink for Faults {
    type Handle = ();

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<()> {
        let line = usize::try_from(line).unwrap_or(1).saturating_sub(1);
        let wrong = match &token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => left_out(tag),
            Token::CharacterTokens(text) if text.contains("{{") => Some(BRACES.to_owned()),
            _ => None,
        };
        self.found
            .borrow_mut()
            .extend(wrong.map(|wrong| (line, wrong)));
        match token {
            Token::EOFToken | Token::ParseError(_) => {}
            Token::CommentToken(_) => self.ends_open.set(Some(line)),
            _ => self.ends_open.set(None),
        }
        TokenSinkResult::Continue
    }
}

/// The fault of an element of which [`super::sanitise::sanitise_html`] removes something that readers would miss.
fn left_out(tag: &Tag) -> Option<String> {
    if matches!(&*tag.name, "img" | "picture" | "video" | "audio") {
        return Some(LOADS.to_owned());
    }
    let mut values = tag.attrs.iter().map(|attribute| &attribute.value);
    if values.any(|value| super::insets::is_marked(value)) {
        return Some(BRACES_WITHIN.to_owned());
    }
    let link = tag
        .attrs
        .iter()
        .find(|attribute| &*attribute.name.local == "href");
    if let Some(link) = link.filter(|link| !leads_somewhere(&link.value)) {
        return Some(leads_nowhere(&link.value));
    }
    let mut attributes = tag.attrs.iter().map(|attribute| &*attribute.name.local);
    let part = if make_cleaner().clone_tags().contains(&*tag.name) {
        attributes
            .find(|name| *name == "style" || name.starts_with("on"))?
            .to_owned()
    } else {
        format!("<{}>", tag.name)
    };
    Some(format!(
        "`{part}` of HTML is not allowed, as pages run nothing and look like all others; remove it, or write it as Markdown"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_told_by_line_and_nothing_else_is_one() {
        let told = |html: &str| {
            let faults = faults(html).into_iter();
            faults
                .map(|(line, wrong)| format!("{line} {}", &wrong[..9]))
                .collect::<Vec<_>>()
        };
        for fine in [
            "<a href=\"https://a.example/online?on=1/style=2\" title='a > b, the style=x, <!--'>a</a>\n",
            "<!-- <script>x()</script>\n<img> {{ a }} -->\n",
            "<!-->\n<b>b</b><!--->\n",
            "<br/><hr />",
        ] {
            assert_eq!(told(fine), Vec::<String>::new(), "{fine}");
        }
        assert_eq!(
            told("<div>\n<p\nstyle=\"x\">{{ a }}</p>\n<a title='>' onclick=x>"),
            ["2 `style` o", "2 `{{` has ", "3 `onclick`"]
        );
        assert_eq!(told("<!--><IMG src=x>"), ["0 pictures "]);
        assert_eq!(told("<a href=other.html>"), ["0 the link "]);
        assert_eq!(told("<b>b</b>\n<!-- <b>b</b>"), ["1 a comment"]);
        assert_eq!(
            told("<script>a</script><iframe>"),
            ["0 `<script>", "0 `<iframe>"]
        );
    }
}
