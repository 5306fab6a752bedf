//! The data of a study without a server: they are in the browser, and the last page hands them over.
//!
//! `web/offline_page.js` has the way to the Worker that keeps them; this module must not know how.

use std::cell::Cell;
use std::rc::Rc;

use js_sys::{Function, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{Event, HtmlElement, WebSocket};

use super::dom;
use crate::messages;

/// The word in place of the address of a server.
const OFFLINE: &str = "offline";

/// The way of the data out of this browser: they are handed over, or erased here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handover {
    /// Not yet.
    Pending,
    /// It was tried and failed; the person may try again.
    Failed,
    /// It is done.
    Done,
}

/// The present state of a last page's handover.
pub(crate) type HandoverState = Rc<Cell<Handover>>;

/// True if the study has no server.
pub(crate) fn is_offline() -> bool {
    dom::find_meta("coplay-server").as_deref() == Some(OFFLINE)
}

/// The way to the server's part beside the page, which is used like a WebSocket; `None` if there is a server.
pub(crate) fn open_socket() -> Option<WebSocket> {
    let socket = call("openSocket")?;
    Some(socket.unchecked_into())
}

/// The part of the last page that hands the data over: they are posted if the study names an address, and saved as a file
/// otherwise. `None` if there is a server.
pub(crate) fn make_block() -> Option<(HtmlElement, HandoverState)> {
    let posts = call("hasAddress")?.is_truthy();
    let handover = Rc::new(Cell::new(Handover::Pending));
    let say = messages::current_words();
    let block = dom::make_element("div.offline-data");
    let status = dom::make_element("p");
    dom::set_attribute(&status, "role", "status");
    dom::set_text(&status, say.data_here);
    let actions = dom::make_element("div.actions");
    let kind = if posts { "secondary" } else { "primary" };
    let saved = Rc::clone(&handover);
    let save = dom::make_button(kind, say.save_data, move || follow("save", &saved, |_| ()));
    if posts {
        let (told, shown, sent) = (status.clone(), actions.clone(), Rc::clone(&handover));
        let again = dom::make_button("primary", say.send_again, move || {
            post(&told, &shown, &sent)
        });
        dom::add_children(&actions, &[&again]);
    }
    dom::add_children(&actions, &[&save]);
    dom::add_children(&block, &[&status, &actions]);
    if posts {
        post(&status, &actions, &handover);
    }
    Some((block, handover))
}

/// Erases the page's data in this browser, for somebody who has withdrawn. `None` if there is a server.
pub(crate) fn erase() -> Option<HandoverState> {
    if !is_offline() {
        return None;
    }
    let handover = Rc::new(Cell::new(Handover::Pending));
    follow("forget", &handover, |_| ());
    Some(handover)
}

/// The button that saves the data on a page that has failed; `None` if there is a server.
pub(crate) fn make_lasting_button() -> Option<HtmlElement> {
    if !is_offline() {
        return None;
    }
    let save = dom::make_text("button.secondary", messages::current_words().save_data);
    dom::set_attribute(&save, "type", "button");
    dom::add_lasting_listener(&save, "click", |_: Event| drop(call("save")));
    Some(save)
}

/// Posts the data, and shows that; the buttons are there only if it failed.
fn post(status: &HtmlElement, actions: &HtmlElement, handover: &HandoverState) {
    let say = messages::current_words();
    dom::set_text(status, say.data_sending);
    dom::show_element(actions, false);
    let (status, actions) = (status.clone(), actions.clone());
    follow("post", handover, move |is_sent| {
        let told = if is_sent {
            say.data_sent
        } else {
            say.data_not_sent
        };
        dom::set_text(&status, told);
        dom::show_element(&actions, !is_sent);
    });
}

/// Calls a function of `coplayOffline` that returns a promise, tells `then` whether it succeeded, and notes that. Once
/// delivered, the data stay delivered.
fn follow(name: &str, handover: &HandoverState, then: impl FnOnce(bool) + 'static) {
    let Some(promise) = call(name) else { return };
    let handover = Rc::clone(handover);
    spawn_local(async move {
        let result = JsFuture::from(Promise::resolve(&promise)).await;
        let is_done = result.is_ok_and(|result| result.is_truthy());
        then(is_done);
        match is_done {
            true => handover.set(Handover::Done),
            false if handover.get() == Handover::Pending => handover.set(Handover::Failed),
            false => {}
        }
    });
}

/// Calls a function of `coplayOffline`; `None` if the page has a server.
fn call(name: &str) -> Option<JsValue> {
    let offline = Reflect::get(&js_sys::global(), &"coplayOffline".into()).ok()?;
    let function = Reflect::get(&offline, &name.into()).ok()?;
    function.dyn_ref::<Function>()?.call0(&offline).ok()
}
