//! Frames of animation: one at a time, each asked for when it is wanted.

use std::cell::Cell;
use std::rc::Rc;

use wasm_bindgen::prelude::*;

use super::dom;
use super::inbox::{Inbox, Input};
use super::lifetime::AtEnd;

/// The requests for frames.
pub(crate) struct Frames {
    callback: Closure<dyn FnMut(f64)>,
    /// The number of the request that is not answered yet.
    requested: Rc<Cell<Option<i32>>>,
    _at_end: AtEnd,
}

impl Frames {
    /// Frames that go into this inbox.
    pub(crate) fn new(inbox: Inbox) -> Self {
        let requested = Rc::new(Cell::new(None));
        let (answered, cancelled) = (Rc::clone(&requested), Rc::clone(&requested));
        let callback = Closure::new(move |at_ms: f64| {
            answered.set(None);
            inbox.send(Input::Frame(at_ms));
        });
        let at_end = AtEnd::new(move || {
            if let Some(number) = cancelled.take() {
                dom::window().cancel_animation_frame(number).ok();
            }
        });
        Self {
            callback,
            requested,
            _at_end: at_end,
        }
    }

    /// Asks for the next frame, unless that was done already.
    pub(crate) fn request_frame(&self) {
        if self.requested.get().is_none() {
            let callback = self.callback.as_ref().unchecked_ref();
            // Without frames the page still plays; it only shows nothing.
            let number = dom::window().request_animation_frame(callback).ok();
            self.requested.set(number);
        }
    }
}
