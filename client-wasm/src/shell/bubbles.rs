//! The parts that the chat of a group and the messages with the researchers share: the bubble of a message, and the field
//! in which one is written.

use wasm_bindgen::JsCast as _;
use web_sys::{Event, HtmlElement, HtmlTextAreaElement, KeyboardEvent};

use crate::shell::dom;

/// One message: who wrote it, the words, and a state such as "Sending", if there is one.
pub(crate) fn make_bubble(is_own: bool, name: &str, text: &str, state: &str) -> HtmlElement {
    let entry = dom::make_element(if is_own { "li.own" } else { "li" });
    let words = dom::make_text("span.words", text);
    dom::set_attribute(&words, "dir", "auto");
    dom::add_children(&entry, &[&dom::make_text("span.who", name), &words]);
    if !state.is_empty() {
        dom::add_children(&entry, &[&dom::make_text("span.state", state)]);
    }
    entry
}

/// One message that was refused, so that nobody will read it.
pub(crate) fn make_refused_bubble(name: &str, text: &str, state: &str) -> HtmlElement {
    let entry = make_bubble(true, name, text, state);
    entry.class_list().add_1("unsaid").ok();
    entry
}

/// The field for a message, with this id, and the label for it.
pub(crate) fn make_message_field(id: &str) -> (HtmlElement, HtmlTextAreaElement) {
    let label = dom::make_element("label");
    dom::set_attribute(&label, "for", id);
    let field: HtmlTextAreaElement = dom::make_element("textarea").unchecked_into();
    field.set_id(id);
    field.set_rows(1);
    for (name, value) in [
        ("enterkeyhint", "send"),
        ("autocomplete", "off"),
        ("dir", "auto"),
    ] {
        dom::set_attribute(&field, name, value);
    }
    (label, field)
}

/// Calls `send` when the person sends the form, or presses Enter in its field.
pub(crate) fn listen_for_sending(
    form: &HtmlElement,
    field: &HtmlTextAreaElement,
    send: impl Fn() + Clone + 'static,
) {
    let entered = send.clone();
    dom::add_listener(form, "submit", move |event: Event| {
        event.prevent_default();
        send();
    });
    dom::add_listener(field, "keydown", move |event: KeyboardEvent| {
        // With Shift it is a line break; while a word is composed, it takes that word.
        if event.key() == "Enter" && !event.shift_key() && !event.is_composing() {
            event.prevent_default();
            entered();
        }
    });
}
