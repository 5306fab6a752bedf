//! The page beside a page of another site: the way there, and the ways on.

use protocol::control::{Answer, StageView};
use serde_json::Value;
use wasm_bindgen::JsCast as _;
use web_sys::{Event, HtmlElement, HtmlInputElement};

use crate::messages;
use crate::shell::credentials::{TICKET, read_path};
use crate::shell::dom;
use crate::shell::inbox::{Inbox, Input};

/// The address to which the other page leads back.
fn way_back(ticket: &str) -> String {
    let origin = dom::window().location().origin().unwrap_or_default();
    format!("{origin}{}?{TICKET}={ticket}", read_path())
}

/// A page of another site, which opens in its own tab. It learns nothing from this page except what the study says.
pub(crate) fn make_page(inbox: &Inbox, view: &StageView) -> HtmlElement {
    let StageView::External {
        url,
        ticket,
        code,
        must_return,
        can_give_up,
    } = view
    else {
        return dom::make_element("section.card");
    };
    let card = dom::make_element("form.card.external");
    dom::set_attribute(&card, "novalidate", "");
    let back = js_sys::encode_uri_component(&way_back(ticket));
    let link = dom::make_text("a.button.primary", messages::current_words().open_other);
    dom::set_attribute(
        &link,
        "href",
        &url.replace("{{return}}", &String::from(back)),
    );
    dom::set_attribute(&link, "target", "_blank");
    dom::set_attribute(&link, "rel", "noopener noreferrer");
    let there = dom::make_element("div.actions.there");
    dom::add_children(&there, &[&link]);
    let hint = if *code {
        messages::current_words().other_code
    } else if *must_return {
        messages::current_words().other_link
    } else {
        messages::current_words().other_free
    };
    dom::add_children(
        &card,
        &[
            &dom::make_text("h1", messages::current_words().other_page),
            &dom::make_text("p", hint),
            &there,
        ],
    );
    let actions = dom::make_element("div.actions");
    if *can_give_up {
        let inbox = inbox.clone();
        let cannot = answer("cannot", Value::Bool(true));
        let button = dom::make_button("secondary", messages::current_words().cannot, move || {
            inbox.send(Input::StageDone(vec![cannot.clone()], Vec::new()));
        });
        dom::add_children(&actions, &[&button]);
    }
    if *code {
        dom::add_children(&card, &[&code_field(inbox, &card)]);
    }
    if *code || !*must_return {
        let next = dom::make_text("button.primary", messages::current_words().onward);
        dom::set_attribute(&next, "type", "submit");
        dom::add_children(&actions, &[&next]);
    }
    if !*code && !*must_return {
        let inbox = inbox.clone();
        dom::add_listener(&card, "submit", move |event: Event| {
            event.prevent_default();
            inbox.send(Input::StageDone(Vec::new(), Vec::new()));
        });
    }
    dom::add_children(&card, &[&actions]);
    card
}

fn answer(name: &str, value: Value) -> Answer {
    Answer {
        name: name.to_owned(),
        value: value.to_string(),
    }
}

/// Makes the field for the code of the other page; the form is done with its text.
fn code_field(inbox: &Inbox, card: &HtmlElement) -> HtmlElement {
    let label = dom::make_element("label.code-field");
    let input: HtmlInputElement = dom::make_element("input").unchecked_into();
    input.set_type("text");
    dom::set_attribute(&input, "autocomplete", "off");
    dom::set_attribute(&input, "maxlength", "60");
    dom::add_children(
        &label,
        &[
            &dom::make_text("span", messages::current_words().code_there),
            &input,
        ],
    );
    let inbox = inbox.clone();
    dom::add_listener(card, "submit", move |event: Event| {
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
