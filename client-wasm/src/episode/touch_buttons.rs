//! The buttons to touch: a cross for the directions, and the other actions beside it.
//!
//! A finger that slides from one button to another lets go of the first; several fingers hold several buttons.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use env_core::Action;
use web_sys::{Element, Event, HtmlElement, MouseEvent, PointerEvent};

use crate::episode::controls::Button;
use crate::messages;
use crate::shell::dom;
use crate::shell::inbox::{Inbox, Input};

/// A click without a finger or mouse is one of this finger.
const NO_FINGER: i32 = -1;

/// Makes the buttons.
pub(crate) fn make_pad(inbox: &Inbox, buttons: &[Button]) -> HtmlElement {
    let pad = dom::make_element("div.pad");
    dom::set_attribute(&pad, "role", "group");
    dom::set_attribute(&pad, "aria-label", messages::current_words().controls);
    let (cross, beside) = (
        dom::make_element("div.cross"),
        dom::make_element("div.beside"),
    );
    for button in buttons {
        let element = dom::make_text("button", &button.face);
        dom::set_attribute(&element, "type", "button");
        dom::set_attribute(&element, "data-action", &button.action.to_string());
        dom::set_attribute(&element, "aria-label", &button.label);
        match button.way {
            Some(way) => {
                dom::set_attribute(&element, "data-way", way.name());
                dom::add_children(&cross, &[&element]);
            }
            None => dom::add_children(&beside, &[&element]),
        }
        click(inbox, &element, button.action);
    }
    for side in [&cross, &beside] {
        if side.child_element_count() > 0 {
            dom::add_children(&pad, &[side]);
        }
    }
    touch(inbox, &pad);
    pad
}

/// A press that is released immediately: tools for people who cannot point click without pointing.
fn click(inbox: &Inbox, button: &HtmlElement, action: Action) {
    let inbox = inbox.clone();
    dom::add_listener(button, "click", move |event: MouseEvent| {
        if event.detail() == 0 {
            for action in [Some(action), None] {
                inbox.send(Input::Touch {
                    finger: NO_FINGER,
                    action,
                    at_ms: event.time_stamp(),
                });
            }
        }
    });
}

/// The buttons under the fingers.
type Fingers = Rc<RefCell<BTreeMap<i32, Option<Element>>>>;

fn touch(inbox: &Inbox, pad: &HtmlElement) {
    let fingers = Fingers::default();
    for name in [
        "pointerdown",
        "pointermove",
        "pointerup",
        "pointercancel",
        "lostpointercapture",
    ] {
        let (inbox, pad_, fingers) = (inbox.clone(), pad.clone(), Rc::clone(&fingers));
        dom::add_listener(pad, name, move |event: PointerEvent| {
            point(&inbox, &pad_, &fingers, &event);
        });
    }
    // A long press must not open a menu.
    dom::add_listener(pad, "contextmenu", |event: Event| event.prevent_default());
}

fn point(inbox: &Inbox, pad: &HtmlElement, fingers: &Fingers, event: &PointerEvent) {
    let finger = event.pointer_id();
    let mut fingers = fingers.borrow_mut();
    let before = match event.type_().as_str() {
        "pointerdown" => {
            // Without the capture a finger that slides off the pad is let go by `pointercancel` at the latest.
            pad.set_pointer_capture(finger).ok();
            None
        }
        _ => match fingers.get(&finger) {
            Some(button) => button.clone(),
            None => return,
        },
    };
    event.prevent_default();
    let is_down = ["pointerdown", "pointermove"].contains(&event.type_().as_str());
    let now = is_down.then(|| under(pad, event)).flatten();
    if is_down {
        fingers.insert(finger, now.clone());
    } else {
        fingers.remove(&finger);
    }
    if now == before {
        return;
    }
    for button in [&before, &now].into_iter().flatten() {
        let is_held = fingers.values().flatten().any(|held| held == button);
        button.class_list().toggle_with_force("down", is_held).ok();
    }
    let action = now.and_then(|button| button.get_attribute("data-action")?.parse().ok());
    inbox.send(Input::Touch {
        finger,
        action,
        at_ms: event.time_stamp(),
    });
}

/// Returns the button of the pad under a finger: everywhere on the cross, the nearest one.
fn under(pad: &HtmlElement, event: &PointerEvent) -> Option<Element> {
    let (x, y) = (f64::from(event.client_x()), f64::from(event.client_y()));
    let element = dom::document().element_from_point(x as f32, y as f32)?;
    if !pad.contains(Some(&element)) {
        return None;
    }
    let Some(cross) = element.closest(".cross").ok()? else {
        return element.closest("button").ok()?;
    };
    let children = cross.children();
    let buttons = (0..children.length()).filter_map(|at| children.item(at));
    let far = |button: &Element| {
        let place = button.get_bounding_client_rect();
        let (dx, dy) = (
            x - place.x() - place.width() / 2.0,
            y - place.y() - place.height() / 2.0,
        );
        dx * dx + dy * dy
    };
    buttons.min_by(|a, b| far(a).total_cmp(&far(b)))
}
