//! The page of a text to agree to.

use protocol::control::Answer;
use serde_json::Value;
use web_sys::HtmlElement;

use crate::post::{Input, Post};
use crate::{dom, pages, sentences};

/// A text with two ways on. Who agrees answers with the hash of the text; who does not gives no answer at all.
pub(crate) fn consent(post: &Post, title: &str, page: &str, sha256: &str) -> HtmlElement {
    let card = dom::make("section.card.consent");
    dom::fill(&card, &[&dom::prose(page)]);
    pages::ensure_heading(&card, title);
    let agreed = Answer {
        name: "agreed".to_owned(),
        value: Value::from(sha256).to_string(),
    };
    let choice = |class, label, answers: Vec<Answer>| {
        let post = post.clone();
        dom::button(class, label, move || {
            post.send(Input::StageDone(answers.clone(), Vec::new()));
        })
    };
    let actions = dom::make("div.actions");
    let no = choice("secondary", sentences::say().disagree, Vec::new());
    let yes = choice("primary", sentences::say().agree, vec![agreed]);
    dom::fill(&actions, &[&no, &yes]);
    dom::fill(&card, &[&actions]);
    card
}
