//! The page of a text to agree to.

use protocol::control::Answer;
use serde_json::Value;
use web_sys::HtmlElement;

use crate::messages;
use crate::shell::inbox::{Inbox, Input};
use crate::shell::{dom, layout};

/// A text with two ways on. Who agrees answers with the hash of the text; who does not gives no answer at all.
pub(crate) fn consent(inbox: &Inbox, title: &str, page: &str, sha256: &str) -> HtmlElement {
    let card = dom::make("section.card.consent");
    dom::fill(&card, &[&dom::prose(page)]);
    layout::ensure_heading(&card, title);
    let agreed = Answer {
        name: "agreed".to_owned(),
        value: Value::from(sha256).to_string(),
    };
    let choice = |class, label, answers: Vec<Answer>| {
        let inbox = inbox.clone();
        dom::button(class, label, move || {
            inbox.send(Input::StageDone(answers.clone(), Vec::new()));
        })
    };
    let actions = dom::make("div.actions");
    let no = choice("secondary", messages::say().disagree, Vec::new());
    let yes = choice("primary", messages::say().agree, vec![agreed]);
    dom::fill(&actions, &[&no, &yes]);
    dom::fill(&card, &[&actions]);
    card
}
