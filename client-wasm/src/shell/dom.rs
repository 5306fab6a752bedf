//! Making and finding elements: the few lines that every page of the shell needs.
//!
//! Text is set as text; only what the server sanitised is set as HTML, and only by [`make_prose`].

use std::collections::BTreeMap;

use js_sys::{Array, Function, Object, Promise, Reflect};
use wasm_bindgen::convert::FromWasmAbi;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    AddEventListenerOptions, Document, Element, Event, EventTarget, HtmlElement, Window,
};

use super::lifetime;

/// The window.
pub(crate) fn window() -> Window {
    web_sys::window().expect("the shell runs in a window")
}

/// The document.
pub(crate) fn document() -> Document {
    window().document().expect("a window has a document")
}

/// Microseconds on the page's clock, the base of `event.timeStamp` too.
pub(crate) fn page_us() -> u64 {
    (page_ms() * 1_000.0) as u64
}

/// Bytes that nobody can guess.
///
/// # Errors
/// A sentence, if the browser has none.
pub(crate) fn random_bytes() -> Result<[u8; 32], String> {
    let mut bytes = [0; 32];
    let filled = window()
        .crypto()
        .and_then(|crypto| crypto.get_random_values_with_u8_array(&mut bytes));
    match filled {
        Ok(_) => Ok(bytes),
        Err(_) => Err("this browser has no secure random numbers".into()),
    }
}

/// Milliseconds on the page's clock.
pub(crate) fn page_ms() -> f64 {
    window()
        .performance()
        .map_or(0.0, |performance| performance.now())
}

/// Leaves a mark for measurements.
pub(crate) fn set_mark(name: &str) {
    if let Some(performance) = window().performance() {
        // A mark that cannot be set is only a missing measurement.
        performance.mark(name).ok();
    }
}

/// A new element such as `div.hud`: a tag and classes, parted by dots.
pub(crate) fn make_element(kind: &str) -> HtmlElement {
    let mut parts = kind.split('.');
    let tag = parts.next().unwrap_or("div");
    let element = document()
        .create_element(tag)
        .expect("the shell names its tags correctly");
    for class in parts {
        element
            .class_list()
            .add_1(class)
            .expect("the shell names its classes correctly");
    }
    element.unchecked_into()
}

/// A new element with text.
pub(crate) fn make_text(kind: &str, content: &str) -> HtmlElement {
    let element = make_element(kind);
    element.set_text_content(Some(content));
    element
}

/// A new `div.prose` of HTML that the server sanitised. Its pictures are beside the page, wherever that is.
pub(crate) fn make_prose(sanitised: &str) -> HtmlElement {
    let element = make_element("div.prose");
    element.set_inner_html(&sanitised.replace("src=\"/media/", "src=\"media/"));
    element
}

/// A new button that does something.
pub(crate) fn make_button(
    class: &str,
    label: &str,
    mut action: impl FnMut() + 'static,
) -> HtmlElement {
    let element = make_text(&format!("button.{class}"), label);
    set_attribute(&element, "type", "button");
    add_listener(&element, "click", move |_: Event| action());
    element
}

/// Sets an attribute.
pub(crate) fn set_attribute(element: &Element, name: &str, value: &str) {
    element
        .set_attribute(name, value)
        .expect("the shell names its attributes correctly");
}

/// Adds children at the end.
pub(crate) fn add_children(parent: &Element, children: &[&Element]) {
    for child in children {
        parent
            .append_child(child)
            .expect("a new element can be added");
    }
}

/// The content of the `meta` element with a name, if the page has it.
pub(crate) fn find_meta(name: &str) -> Option<String> {
    let document = window().document()?;
    let found = document.query_selector(&format!("meta[name={name:?}]"));
    let content = found.ok().flatten()?.get_attribute("content");
    content.filter(|content| !content.is_empty())
}

/// Loads the page again.
pub(crate) fn reload_page() {
    // If a browser refuses, the page stays, and the browser's own button too.
    window().location().reload().ok();
}

/// True if a media query holds.
pub(crate) fn matches_media(query: &str) -> bool {
    let list = window().match_media(query).ok().flatten();
    list.is_some_and(|list| list.matches())
}

/// Asks the browser for the full screen; it may refuse, and then the page does not change.
pub(crate) fn fill_screen() {
    let Some(page) = document().document_element() else {
        return;
    };
    let ask = Reflect::get(&page, &"requestFullscreen".into()).ok();
    let ask = ask.and_then(|ask| ask.dyn_into::<Function>().ok());
    let asked = ask.and_then(|ask| ask.call0(&page).ok()?.dyn_into::<Promise>().ok());
    if let Some(asked) = asked {
        wasm_bindgen_futures::spawn_local(async move {
            JsFuture::from(asked).await.ok();
        });
    }
}

/// Two truths: the page fills the screen, and it could.
pub(crate) fn read_screen() -> (bool, bool) {
    let document = document();
    (
        document.fullscreen_element().is_some(),
        document.fullscreen_enabled(),
    )
}

/// Returns the languages that the person reads, best first, as the browser reports them.
pub(crate) fn read_languages() -> Vec<String> {
    let all = window().navigator().languages();
    all.iter().filter_map(|tag| tag.as_string()).collect()
}

/// Returns the language that the page declares.
pub(crate) fn read_page_language() -> Option<String> {
    document().document_element()?.get_attribute("lang")
}

/// The content of an element of the page that holds sentences by language and name as JSON; `None` if it is not there.
pub(crate) fn read_sentences(id: &str) -> Option<BTreeMap<String, BTreeMap<String, String>>> {
    let text = document().get_element_by_id(id)?.text_content()?;
    serde_json::from_str(&text).ok()
}

/// A language's own name, as far as the browser knows.
pub(crate) fn find_language_name(tag: &str) -> Option<String> {
    let intl = Reflect::get(&window(), &"Intl".into()).ok()?;
    let names = Reflect::get(&intl, &"DisplayNames".into()).ok()?;
    let (names, of_languages) = (names.dyn_into::<Function>().ok()?, Object::new());
    Reflect::set(&of_languages, &"type".into(), &"language".into()).ok()?;
    let tags = Array::of1(&tag.into());
    let names = Reflect::construct(&names, &Array::of2(&tags, &of_languages)).ok()?;
    let of = Reflect::get(&names, &"of".into()).ok()?;
    let of = of.dyn_into::<Function>().ok()?;
    of.call1(&names, &tag.into()).ok()?.as_string()
}

/// Copies a text, where the browser lets pages do so.
pub(crate) fn copy_text(content: &str) {
    let clipboard = window().navigator().clipboard();
    // Pages that are not safe have none.
    if clipboard.is_undefined() {
        return;
    }
    let written = clipboard.write_text(content);
    wasm_bindgen_futures::spawn_local(async move {
        // A browser that refuses leaves the text to be copied by hand.
        JsFuture::from(written).await.ok();
    });
}

/// Shows or hides an element.
pub(crate) fn show_element(element: &HtmlElement, shown: bool) {
    if element.hidden() == shown {
        element.set_hidden(!shown);
    }
}

/// Sets the text of an element if it differs, so that nothing is laid out or read aloud again.
pub(crate) fn set_text(element: &Element, content: &str) {
    if element.text_content().as_deref() != Some(content) {
        element.set_text_content(Some(content));
    }
}

/// Listens for as long as the page lives; the listener goes with its element.
pub(crate) fn add_listener<E: FromWasmAbi + 'static>(
    target: &EventTarget,
    name: &str,
    listener: impl FnMut(E) + 'static,
) {
    let options = AddEventListenerOptions::new();
    if let Some(signal) = lifetime::end_signal() {
        options.set_signal(&signal);
    }
    add_listener_with(target, name, listener, &options);
}

/// Listens even when the page has ended.
pub(crate) fn add_lasting_listener<E: FromWasmAbi + 'static>(
    target: &EventTarget,
    name: &str,
    listener: impl FnMut(E) + 'static,
) {
    add_listener_with(target, name, listener, &AddEventListenerOptions::new());
}

fn add_listener_with<E: FromWasmAbi + 'static>(
    target: &EventTarget,
    name: &str,
    listener: impl FnMut(E) + 'static,
    options: &AddEventListenerOptions,
) {
    let closure = Closure::<dyn FnMut(E)>::new(listener).into_js_value();
    target
        .add_event_listener_with_callback_and_add_event_listener_options(
            name,
            closure.unchecked_ref(),
            options,
        )
        .expect("a listener can be added");
}
