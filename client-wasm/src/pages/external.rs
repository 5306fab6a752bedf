//! The page beside a page of another site: the way there, and the ways on.

use protocol::control::{Answer, StageView};
use serde_json::Value;
use wasm_bindgen::JsCast as _;
use web_sys::{Event, HtmlElement, HtmlInputElement};

use crate::messages;
use crate::shell::credentials::TICKET;
use crate::shell::dom;
use crate::shell::inbox::{Inbox, Input};

/// Where the other page leads back to.
fn way_back(ticket: &str) -> String {
    let origin = dom::window().location().origin().unwrap_or_default();
    format!("{origin}/?{TICKET}={ticket}")
}

/// A page of another site, which opens in a tab of its own. Nothing of this page is told to it but what the study says.
pub(crate) fn external(inbox: &Inbox, view: &StageView) -> HtmlElement {
    let StageView::External {
        url,
        ticket,
        code,
        must_return,
        can_give_up,
    } = view
    else {
        return dom::make("section.card");
    };
    let card = dom::make("form.card.external");
    dom::set(&card, "novalidate", "");
    let back = js_sys::encode_uri_component(&way_back(ticket));
    let link = dom::text("a.button.primary", messages::say().open_other);
    dom::set(
        &link,
        "href",
        &url.replace("{{return}}", &String::from(back)),
    );
    dom::set(&link, "target", "_blank");
    dom::set(&link, "rel", "noopener noreferrer");
    let there = dom::make("div.actions.there");
    dom::fill(&there, &[&link]);
    let hint = if *code {
        messages::say().other_code
    } else if *must_return {
        messages::say().other_link
    } else {
        messages::say().other_free
    };
    dom::fill(
        &card,
        &[
            &dom::text("h1", messages::say().other_page),
            &dom::text("p", hint),
            &there,
        ],
    );
    let actions = dom::make("div.actions");
    if *can_give_up {
        let inbox = inbox.clone();
        let cannot = answer("cannot", Value::Bool(true));
        let button = dom::button("secondary", messages::say().cannot, move || {
            inbox.send(Input::StageDone(vec![cannot.clone()], Vec::new()));
        });
        dom::fill(&actions, &[&button]);
    }
    if *code {
        dom::fill(&card, &[&code_field(inbox, &card)]);
    }
    if *code || !*must_return {
        let next = dom::text("button.primary", messages::say().onward);
        dom::set(&next, "type", "submit");
        dom::fill(&actions, &[&next]);
    }
    if !*code && !*must_return {
        let inbox = inbox.clone();
        dom::listen(&card, "submit", move |event: Event| {
            event.prevent_default();
            inbox.send(Input::StageDone(Vec::new(), Vec::new()));
        });
    }
    dom::fill(&card, &[&actions]);
    card
}

fn answer(name: &str, value: Value) -> Answer {
    Answer {
        name: name.to_owned(),
        value: value.to_string(),
    }
}

/// The field for the code of the other page; the form is done with what is in it.
fn code_field(inbox: &Inbox, card: &HtmlElement) -> HtmlElement {
    let label = dom::make("label.code-field");
    let input: HtmlInputElement = dom::make("input").unchecked_into();
    input.set_type("text");
    dom::set(&input, "autocomplete", "off");
    dom::set(&input, "maxlength", "60");
    dom::fill(
        &label,
        &[&dom::text("span", messages::say().code_there), &input],
    );
    let inbox = inbox.clone();
    dom::listen(card, "submit", move |event: Event| {
        event.prevent_default();
        let typed = input.value();
        if typed.trim().is_empty() {
            input.focus().ok();
            return;
        }
        let code = answer("code", Value::from(typed.trim()));
        inbox.send(Input::StageDone(vec![code], Vec::new()));
    });
    label
}
