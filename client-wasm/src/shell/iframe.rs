//! The page in a frame of another site: the way to its own window, and back, as Mechanical Turk wants it.
//!
//! A game needs room and the keys, which a frame may not have; but work must be submitted from the frame, as the site
//! around it expects. This module must not know what the study is.

use wasm_bindgen::prelude::*;
use web_sys::{HtmlElement, MessageEvent, Window};

use crate::messages;
use crate::shell::dom;
use crate::shell::inbox::{Inbox, Input};

/// The name of the window that a frame opens.
const NAME: &str = "coplay";
/// The message of the window to the frame at its end.
const OVER: &str = "coplay.over";

/// True if this page is in a frame.
pub(crate) fn is_framed() -> bool {
    let window = dom::window();
    let top = window.top().ok().flatten();
    top.is_none_or(|top| AsRef::<JsValue>::as_ref(&top) != AsRef::<JsValue>::as_ref(&window))
}

/// The frame that opened the window of this page, if one did.
fn opener() -> Option<Window> {
    let window = dom::window();
    let is_own = window.name().is_ok_and(|name| name == NAME);
    let opener = window.opener().ok().filter(|_| is_own)?;
    (!opener.is_null()).then(|| opener.unchecked_into())
}

/// True if another frame opened this window and submits the work; this page then reports to it that the work is done.
pub(crate) fn hands_work_in() -> bool {
    let Some(frame) = opener() else { return false };
    let origin = dom::window().location().origin().unwrap_or_default();
    // A frame that is gone was closed by the person; its site says how to continue there.
    frame.post_message(&OVER.into(), &origin).ok();
    true
}

/// Makes the page of a frame: it opens the study at this address in its own window, or continues in the frame.
pub(crate) fn make_gate(inbox: &Inbox, address: String) -> HtmlElement {
    let card = dom::make_element("section.card.gate");
    let actions = dom::make_element("div.actions");
    let here = go_on(inbox, messages::current_words().frame_here);
    let (shown, back) = (card.clone(), inbox.clone());
    let open = dom::make_button("primary", messages::current_words().frame_open, move || {
        let opened = dom::window().open_with_url_and_target(&address, NAME);
        match opened {
            Ok(Some(_)) => wait(&shown, &back),
            // The browser keeps windows from opening.
            _ => back.send(Input::Here),
        }
    });
    dom::add_children(&actions, &[&here, &open]);
    let (heading, words) = (
        dom::make_text("h1", messages::current_words().frame),
        dom::make_text("p", messages::current_words().frame_why),
    );
    dom::add_children(&card, &[&heading, &words, &actions]);
    card
}

/// Shows that the study is in its window; the frame continues once that is done.
fn wait(card: &HtmlElement, inbox: &Inbox) {
    card.set_text_content(None);
    let (heading, words) = (
        dom::make_text("h1", messages::current_words().frame_opened),
        dom::make_text("p", messages::current_words().frame_waits),
    );
    let actions = dom::make_element("div.actions");
    dom::add_children(
        &actions,
        &[&go_on(inbox, messages::current_words().frame_back)],
    );
    dom::add_children(card, &[&heading, &words, &actions]);
    let origin = dom::window().location().origin().unwrap_or_default();
    let inbox = inbox.clone();
    dom::add_listener(&dom::window(), "message", move |event: MessageEvent| {
        if event.origin() == origin && event.data().as_string().as_deref() == Some(OVER) {
            inbox.send(Input::Here);
        }
    });
}

fn go_on(inbox: &Inbox, label: &str) -> HtmlElement {
    let inbox = inbox.clone();
    dom::make_button("secondary", label, move || inbox.send(Input::Here))
}
