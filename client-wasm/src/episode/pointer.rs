//! A pointer on the picture: where it is, and when it goes down and up.

use web_sys::{HtmlElement, PointerEvent};

use crate::shell::dom;
use crate::shell::inbox::{Inbox, Input};

/// Something that happens to a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PointerChange {
    /// It moves, down or not.
    Move,
    /// It goes down.
    Down,
    /// It goes up, or away.
    Up,
}

/// A press on the picture of a host, before the host has answered what the point means.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskedPress {
    /// The number of the question.
    pub(crate) number: u32,
    /// The pointer.
    pub(crate) finger: i32,
    /// The time of the event, page clock, milliseconds.
    pub(crate) at_ms: f64,
    /// True if the pointer went up since.
    pub(crate) is_up: bool,
}

/// Tells the inbox of every pointer on the canvas.
pub(crate) fn listen_to_pointers(inbox: &Inbox, canvas: &HtmlElement) {
    for (name, change) in [
        ("pointermove", PointerChange::Move),
        ("pointerdown", PointerChange::Down),
        ("pointerup", PointerChange::Up),
        ("pointercancel", PointerChange::Up),
        ("pointerleave", PointerChange::Up),
    ] {
        let inbox = inbox.clone();
        dom::add_listener(canvas, name, move |event: PointerEvent| {
            if event.is_primary() && event.button() <= 0 {
                inbox.send(Input::Pointer {
                    at: [f64::from(event.offset_x()), f64::from(event.offset_y())],
                    change,
                    finger: event.pointer_id(),
                    at_ms: event.time_stamp(),
                });
            }
        });
    }
}
