//! Frames of animation: one at a time, each asked for when it is wanted.

use std::cell::Cell;
use std::rc::Rc;

use wasm_bindgen::prelude::*;

use super::dom;
use super::inbox::{Inbox, Input};

/// The requests for frames.
pub(crate) struct Frames {
    callback: Closure<dyn FnMut(f64)>,
    is_requested: Rc<Cell<bool>>,
}

impl Frames {
    /// Frames that go into this inbox.
    pub(crate) fn new(inbox: Inbox) -> Self {
        let is_requested = Rc::new(Cell::new(false));
        let asked = Rc::clone(&is_requested);
        let callback = Closure::new(move |at_ms: f64| {
            asked.set(false);
            inbox.send(Input::Frame(at_ms));
        });
        Self {
            callback,
            is_requested,
        }
    }

    /// Asks for the next frame, unless that was done already.
    pub(crate) fn request(&self) {
        if self.is_requested.replace(true) {
            return;
        }
        // Without frames the page still plays; it only shows nothing.
        dom::window()
            .request_animation_frame(self.callback.as_ref().unchecked_ref())
            .ok();
    }
}
