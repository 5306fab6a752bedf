//! The page of a text to agree to.

use protocol::control::Answer;
use serde_json::Value;
use web_sys::HtmlElement;

use crate::messages;
use crate::shell::inbox::{Inbox, Input};
use crate::shell::{dom, layout};

/// Makes a text with two buttons. A person who agrees answers with the hash of the text; a person who does not gives no
/// answer.
pub(crate) fn make_page(inbox: &Inbox, title: &str, page: &str, sha256: &str) -> HtmlElement {
    let card = dom::make_element("section.card.consent");
    dom::add_children(&card, &[&dom::make_prose(page)]);
    layout::ensure_heading(&card, title);
    let agreed = Answer {
        name: "agreed".to_owned(),
        value: Value::from(sha256).to_string(),
    };
    let choice = |class, label, answers: Vec<Answer>| {
        let inbox = inbox.clone();
        dom::make_button(class, label, move || {
            inbox.send(Input::StageDone(answers.clone(), Vec::new()));
        })
    };
    let actions = dom::make_element("div.actions");
    let no = choice("secondary", messages::current_words().disagree, Vec::new());
    let yes = choice("primary", messages::current_words().agree, vec![agreed]);
    dom::add_children(&actions, &[&no, &yes]);
    dom::add_children(&card, &[&actions]);
    card
}
