//! The debriefing at the end, and the way to withdraw what was recorded.

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
pub(crate) fn debrief(inbox: &Inbox, title: &str, page: &str, allow_withdraw: bool) -> HtmlElement {
    let card = dom::make("section.card.debrief");
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
    dom::fill(card, &[&dom::prose(&debrief.page)]);
    layout::ensure_heading(card, &debrief.title);
    let actions = dom::make("div.actions");
    if debrief.allow_withdraw {
        let asks = Rc::clone(debrief);
        let button = dom::button("secondary", messages::say().withdraw, move || ask(&asks));
        dom::fill(&actions, &[&button]);
    }
    let next = button_done(debrief, "primary", messages::say().onward, Vec::new());
    dom::fill(&actions, &[&next]);
    dom::fill(card, &[&actions]);
}

/// Asks whether to withdraw, in the place of the text.
fn ask(debrief: &Rc<Debrief>) {
    let card = &debrief.card;
    card.set_text_content(None);
    let heading = dom::text("h1", messages::say().withdraw_ask);
    dom::fill(
        card,
        &[&heading, &dom::text("p", messages::say().withdraw_means)],
    );
    let actions = dom::make("div.actions");
    let withdraw = Answer {
        name: "withdraw".to_owned(),
        value: "true".to_owned(),
    };
    let withdraw = button_done(debrief, "danger", messages::say().withdraw, vec![withdraw]);
    let back = Rc::clone(debrief);
    let keep = dom::button("primary", messages::say().withdraw_not, move || {
        show(&back);
        layout::focus_heading(&back.card);
    });
    dom::fill(&actions, &[&withdraw, &keep]);
    dom::fill(card, &[&actions]);
    layout::focus_heading(card);
}

/// A button with which the stage is done.
fn button_done(debrief: &Debrief, class: &str, label: &str, answers: Vec<Answer>) -> HtmlElement {
    let inbox = debrief.inbox.clone();
    dom::button(class, label, move || {
        inbox.send(Input::StageDone(answers.clone(), Vec::new()));
    })
}
