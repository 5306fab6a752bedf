//! The debriefing at the end, and the withdrawal of recorded data.

use std::rc::Rc;

use protocol::control::Answer;
use web_sys::HtmlElement;

use crate::messages;
use crate::shell::inbox::{Inbox, Input};
use crate::shell::{dom, layout};

struct Debrief {
    card: HtmlElement,
    inbox: Inbox,
    title: String,
    page: String,
    allow_withdraw: bool,
}

/// A text, with a way on, and one to withdraw if there is one; that asks once more.
pub(crate) fn make_page(
    inbox: &Inbox,
    title: &str,
    page: &str,
    allow_withdraw: bool,
) -> HtmlElement {
    let card = dom::make_element("section.card.debrief");
    let debrief = Debrief {
        card: card.clone(),
        inbox: inbox.clone(),
        title: title.to_owned(),
        page: page.to_owned(),
        allow_withdraw,
    };
    show(&Rc::new(debrief));
    card
}

fn show(debrief: &Rc<Debrief>) {
    let card = &debrief.card;
    card.set_text_content(None);
    dom::add_children(card, &[&dom::make_prose(&debrief.page)]);
    layout::ensure_heading(card, &debrief.title);
    let actions = dom::make_element("div.actions");
    if debrief.allow_withdraw {
        let asks = Rc::clone(debrief);
        let button = dom::make_button("secondary", messages::current_words().withdraw, move || {
            ask(&asks)
        });
        dom::add_children(&actions, &[&button]);
    }
    let next = button_done(
        debrief,
        "primary",
        messages::current_words().onward,
        Vec::new(),
    );
    dom::add_children(&actions, &[&next]);
    dom::add_children(card, &[&actions]);
}

/// Asks whether to withdraw, in place of the text.
fn ask(debrief: &Rc<Debrief>) {
    let card = &debrief.card;
    card.set_text_content(None);
    let heading = dom::make_text("h1", messages::current_words().withdraw_ask);
    dom::add_children(
        card,
        &[
            &heading,
            &dom::make_text("p", messages::current_words().withdraw_means),
        ],
    );
    let actions = dom::make_element("div.actions");
    let withdraw = Answer {
        name: "withdraw".to_owned(),
        value: "true".to_owned(),
    };
    let withdraw = button_done(
        debrief,
        "danger",
        messages::current_words().withdraw,
        vec![withdraw],
    );
    let back = Rc::clone(debrief);
    let keep = dom::make_button(
        "primary",
        messages::current_words().withdraw_not,
        move || {
            show(&back);
            layout::focus_heading(&back.card);
        },
    );
    dom::add_children(&actions, &[&withdraw, &keep]);
    dom::add_children(card, &[&actions]);
    layout::focus_heading(card);
}

/// A button with which the stage is done.
fn button_done(debrief: &Debrief, class: &str, label: &str, answers: Vec<Answer>) -> HtmlElement {
    let inbox = debrief.inbox.clone();
    dom::make_button(class, label, move || {
        inbox.send(Input::StageDone(answers.clone(), Vec::new()));
    })
}
