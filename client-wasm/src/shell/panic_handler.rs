//! The last resort when the page fails: it informs the person and the server, sends what is confirmed, and ends the
//! page.
//!
//! This module touches nothing that the failed code may have left half-done: it has its own handles.

use std::cell::{Cell, RefCell};
use std::panic::PanicHookInfo;

use protocol::control::{self, ClientMessage, Upload};
use web_sys::{Event, WebSocket};

use super::{dom, lifetime, offline_data};
use crate::messages;

/// Returns the confirmed rows that the server may not have yet.
type LastUpload = Box<dyn Fn() -> Option<Upload>>;

#[derive(Default)]
struct Handles {
    socket: Option<WebSocket>,
    last_upload: Option<LastUpload>,
}

thread_local! {
    static HANDLES: RefCell<Handles> = RefCell::default();
    static HAS_REPORTED: Cell<bool> = const { Cell::new(false) };
}

/// Has every panic end the page.
pub(crate) fn install_hook() {
    std::panic::set_hook(Box::new(|info: &PanicHookInfo<'_>| {
        // First of all: nothing may call the failed code again.
        lifetime::end_page();
        send_last_messages(&info.to_string());
        close_socket();
        if !HAS_REPORTED.replace(true) {
            tell_person();
        }
    }));
}

/// Keeps the connection that carries the last messages.
pub(crate) fn keep_socket(socket: WebSocket) {
    HANDLES.with_borrow_mut(|handles| handles.socket = Some(socket));
}

/// Keeps the way to the rows that must not be lost. It may be taken in the midst of anything.
pub(crate) fn keep_upload(last_upload: impl Fn() -> Option<Upload> + 'static) {
    HANDLES.with_borrow_mut(|handles| handles.last_upload = Some(Box::new(last_upload)));
}

/// Reports a failure to the person and the server, and sends what is confirmed, once. The page continues if it can.
pub(crate) fn report_failure(message: &str) {
    if !HAS_REPORTED.replace(true) {
        send_last_messages(message);
        tell_person();
    }
}

/// Ends a page that is busy at a beat, if a failure was reported: the failed code does not come back to it.
pub(crate) fn end_failed_page() {
    if HAS_REPORTED.get() {
        lifetime::end_page();
        close_socket();
    }
}

fn send_last_messages(message: &str) {
    HANDLES.with(|handles| {
        let Ok(handles) = handles.try_borrow() else {
            return;
        };
        let send = |message: &ClientMessage| {
            if let Some(socket) = &handles.socket {
                socket.send_with_u8_array(&control::encode(message)).ok();
            }
        };
        send(&ClientMessage::Trouble {
            message: message.to_owned(),
        });
        if let Some(upload) = handles.last_upload.as_ref().and_then(|upload| upload()) {
            send(&ClientMessage::Upload(upload));
        }
    });
}

/// Closes the connection once everything before has gone out.
fn close_socket() {
    let socket = HANDLES.with(|handles| handles.try_borrow_mut().ok()?.socket.take());
    if let Some(socket) = socket {
        socket.close().ok();
    }
}

fn tell_person() {
    let Some(place) = dom::document().query_selector("main").ok().flatten() else {
        return;
    };
    let notice = dom::make_text("div.notice", messages::current_words().broken);
    dom::set_attribute(&notice, "role", "alert");
    let actions = dom::make_element("div.actions");
    let reload = dom::make_text("button.primary", messages::current_words().reload);
    dom::set_attribute(&reload, "type", "button");
    dom::add_lasting_listener(&reload, "click", |_: Event| dom::reload_page());
    dom::add_children(&actions, &[&reload]);
    if let Some(save) = offline_data::make_lasting_button() {
        dom::add_children(&actions, &[&save]);
    }
    dom::add_children(&notice, &[&actions]);
    place
        .insert_before(&notice, place.first_child().as_ref())
        .ok();
}
