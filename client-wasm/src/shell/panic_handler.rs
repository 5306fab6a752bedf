//! What is left when the page fails: the person is told, the server is told, and what is confirmed goes out.
//!
//! This module touches nothing that the failed code may have left half-done: it has its own handles.

use std::cell::RefCell;
use std::panic::PanicHookInfo;
use std::rc::Rc;

use protocol::control::{self, ClientMessage};
use web_sys::WebSocket;

use crate::messages;
use crate::shell::dom;
use peer::recorder::Recorder;

#[derive(Default)]
struct Rescue {
    socket: Option<WebSocket>,
    recorder: Option<Rc<RefCell<Recorder>>>,
    has_failed: bool,
}

thread_local! {
    static RESCUE: RefCell<Rescue> = RefCell::default();
}

/// From now on a panic is told.
pub(crate) fn install() {
    std::panic::set_hook(Box::new(|info: &PanicHookInfo<'_>| fail(&info.to_string())));
}

/// The connection that carries the last messages.
pub(crate) fn connect(socket: Option<WebSocket>) {
    RESCUE.with_borrow_mut(|rescue| rescue.socket = socket);
}

/// The rows that must not be lost.
pub(crate) fn remember(recorder: Rc<RefCell<Recorder>>) {
    RESCUE.with_borrow_mut(|rescue| rescue.recorder = Some(recorder));
}

/// Tells the person and the server, and sends what is confirmed; once.
pub(crate) fn fail(message: &str) {
    let Ok(Some(rescue)) = RESCUE.try_with(|rescue| {
        let mut rescue = rescue.try_borrow_mut().ok()?;
        let first = !std::mem::replace(&mut rescue.has_failed, true);
        first.then(|| (rescue.socket.take(), rescue.recorder.take()))
    }) else {
        return;
    };
    let (socket, recorder) = rescue;
    let send = |message: &ClientMessage| {
        if let Some(socket) = &socket {
            socket.send_with_u8_array(&control::encode(message)).ok();
        }
    };
    send(&ClientMessage::Trouble {
        message: message.to_owned(),
    });
    if let Some(upload) = recorder.and_then(|recorder| recorder.try_borrow_mut().ok()?.upload()) {
        send(&ClientMessage::Upload(upload));
    }
    tell();
}

fn tell() {
    let Some(place) = dom::document().query_selector("main").ok().flatten() else {
        return;
    };
    let notice = dom::text("div.notice", messages::say().broken);
    dom::set(&notice, "role", "alert");
    let actions = dom::make("div.actions");
    let reload = dom::button("primary", messages::say().reload, dom::reload);
    dom::fill(&actions, &[&reload]);
    dom::fill(&notice, &[&actions]);
    place
        .insert_before(&notice, place.first_child().as_ref())
        .ok();
}
