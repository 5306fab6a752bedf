//! What people learn at the end, and the way to withdraw what was recorded of them.

use std::rc::Rc;

use protocol::control::Answer;
use web_sys::HtmlElement;

use crate::post::{Input, Post};
use crate::{dom, pages, sentences};

struct Debrief {
    card: HtmlElement,
    post: Post,
    title: String,
    page: String,
    allow_withdraw: bool,
}

/// A text, with a way on, and one to withdraw if there is one; that asks once more.
pub(crate) fn debrief(post: &Post, title: &str, page: &str, allow_withdraw: bool) -> HtmlElement {
    let card = dom::make("section.card.debrief");
    let debrief = Debrief {
        card: card.clone(),
        post: post.clone(),
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
    pages::ensure_heading(card, &debrief.title);
    let actions = dom::make("div.actions");
    if debrief.allow_withdraw {
        let asks = Rc::clone(debrief);
        let button = dom::button("secondary", sentences::say().withdraw, move || ask(&asks));
        dom::fill(&actions, &[&button]);
    }
    let next = button_done(debrief, "primary", sentences::say().onward, Vec::new());
    dom::fill(&actions, &[&next]);
    dom::fill(card, &[&actions]);
}

/// Asks whether to withdraw, in the place of the text.
fn ask(debrief: &Rc<Debrief>) {
    let card = &debrief.card;
    card.set_text_content(None);
    let heading = dom::text("h1", sentences::say().withdraw_ask);
    dom::fill(
        card,
        &[&heading, &dom::text("p", sentences::say().withdraw_means)],
    );
    let actions = dom::make("div.actions");
    let withdraw = Answer {
        name: "withdraw".to_owned(),
        value: "true".to_owned(),
    };
    let withdraw = button_done(debrief, "danger", sentences::say().withdraw, vec![withdraw]);
    let back = Rc::clone(debrief);
    let keep = dom::button("primary", sentences::say().withdraw_not, move || {
        show(&back);
        pages::focus_heading(&back.card);
    });
    dom::fill(&actions, &[&withdraw, &keep]);
    dom::fill(card, &[&actions]);
    pages::focus_heading(card);
}

/// A button with which the stage is done.
fn button_done(debrief: &Debrief, class: &str, label: &str, answers: Vec<Answer>) -> HtmlElement {
    let post = debrief.post.clone();
    dom::button(class, label, move || {
        post.send(Input::StageDone(answers.clone(), Vec::new()));
    })
}
