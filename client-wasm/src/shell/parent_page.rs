//! The page around this frame, if the server declares its origin: messages to it, and the one request that it can make.
//!
//! The origin of every message counts, both ways: nothing is sent to other pages, and what they say is ignored. This
//! module must not know what the page is told.

use serde_json::{Value, json};
use wasm_bindgen::prelude::*;
use web_sys::{MessageEvent, Window};

use super::iframe;
use crate::shell::dom;
use crate::shell::inbox::{Inbox, Input};

/// The type of all messages but the one at the end.
pub(crate) const TYPE: &str = "coplay";
/// The type of the message at the end.
const ENDED: &str = "coplay.ended";

/// The declared page around this frame.
pub(crate) struct ParentPage {
    window: Window,
    origins: Vec<String>,
}

impl ParentPage {
    /// Finds the page around this one; `None` outside of a frame, or if the server declares no page.
    pub(crate) fn find() -> Option<Self> {
        let origins = list_origins();
        let window = dom::window().parent().ok().flatten();
        let window = window.filter(|_| !origins.is_empty() && iframe::is_framed())?;
        Some(Self { window, origins })
    }

    /// Sends a message.
    pub(crate) fn post(&self, message: &Value) {
        let Ok(message) = js_sys::JSON::parse(&message.to_string()) else {
            return;
        };
        // The browser delivers it to the one that is there.
        for origin in &self.origins {
            self.window.post_message(&message, origin).ok();
        }
    }

    /// Listens for texts that the page wants to be written to the group. Every other message is ignored.
    pub(crate) fn listen(&self, inbox: &Inbox) {
        let (inbox, origins) = (inbox.clone(), self.origins.clone());
        let window: JsValue = self.window.clone().into();
        dom::add_listener(&dom::window(), "message", move |event: MessageEvent| {
            let is_parent = event.source().is_some_and(|source| *source == window);
            if is_parent
                && origins.contains(&event.origin())
                && let Some(text) = read_text(&event.data())
            {
                inbox.send(Input::ParentWrites(text));
            }
        });
    }
}

/// Tells the declared page how the participant's way has ended.
pub(crate) fn tell_end(outcome: &str, code: &str, receipt: &str) {
    if let Some(page) = ParentPage::find() {
        page.post(&json!({ "type": ENDED, "outcome": outcome, "code": code, "receipt": receipt }));
    }
}

/// The origins of pages that may show this one in a frame, as the server declares them.
pub(crate) fn list_origins() -> Vec<String> {
    let declared = dom::find_meta("coplay-parents").unwrap_or_default();
    declared.split_whitespace().map(str::to_owned).collect()
}

/// The text of a request to write to the group: `{type: 'coplay', send: 'text'}`.
fn read_text(data: &JsValue) -> Option<String> {
    let read = |key: &str| js_sys::Reflect::get(data, &key.into()).ok()?.as_string();
    read("type").filter(|kind| kind == TYPE)?;
    read("send")
}
