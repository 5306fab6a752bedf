//! The line that says who plays a shared seat, with the buttons that change it: one that gives the seat away and takes it
//! back, or one for each proposal.
//!
//! This module must not know of sessions; its caller says what to show.

use env_core::Action;
use web_sys::{Element, HtmlElement};

use crate::messages;
use crate::shell::dom;
use crate::shell::inbox::{Inbox, Input};

/// A click on a button of this line is one of this finger.
const OWN_FINGER: i32 = -2;

/// The line.
pub(crate) struct SeatLine {
    /// Its element.
    pub(crate) element: HtmlElement,
    sentence: HtmlElement,
    /// The labels of its buttons, and the buttons.
    buttons: Vec<(HtmlElement, HtmlElement)>,
}

impl SeatLine {
    /// A line with a button for each mark from `first` on; `keys` are what the keys of the marks are called.
    pub(crate) fn new(inbox: &Inbox, canvas: &HtmlElement, first: Action, keys: &[String]) -> Self {
        let element = dom::make_element("div.seat");
        let sentence = dom::make_element("span.who");
        dom::set_attribute(&sentence, "role", "status");
        dom::add_children(&element, &[&sentence]);
        let buttons = (first..).zip(keys).map(|(mark, key)| {
            let (label, key) = (dom::make_element("span"), dom::make_text("kbd", key));
            let (inbox, canvas) = (inbox.clone(), canvas.clone());
            let button = dom::make_button("mark", "", move || {
                for action in [Some(mark), None] {
                    inbox.send(Input::Touch {
                        finger: OWN_FINGER,
                        action,
                        at_ms: dom::page_ms(),
                    });
                }
                // The keys belong to the world again.
                canvas.focus().ok();
            });
            dom::add_children(&button, &[&label as &Element, &key]);
            dom::add_children(&element, &[&button]);
            (label, button)
        });
        let buttons = buttons.collect();
        Self {
            buttons,
            element,
            sentence,
        }
    }

    /// Says whether the AI partner plays, and whether the person can correct it.
    pub(crate) fn show_player(&self, is_given: bool, corrects: bool) {
        let words = messages::current_words();
        let (sentence, label) = match (is_given, corrects) {
            (true, true) => (words.seat_corrected, words.seat_take_back),
            (true, false) => (words.seat_given, words.seat_take_back),
            (false, _) => (words.seat_own, words.seat_hand_over),
        };
        dom::set_text(&self.sentence, sentence);
        self.element
            .class_list()
            .toggle_with_force("given", is_given)
            .ok();
        for (text, _) in &self.buttons {
            dom::set_text(text, label);
        }
    }

    /// Shows the proposals of the partners, in words; nothing while there is no choice.
    pub(crate) fn show_proposals(&self, proposals: &[String]) {
        let words = messages::current_words();
        dom::set_text(&self.sentence, words.seat_proposals);
        for (at, (text, button)) in self.buttons.iter().enumerate() {
            let proposal = proposals.get(at).map_or("–", String::as_str);
            dom::set_text(text, proposal);
            let is_closed = at >= proposals.len();
            if is_closed != button.has_attribute("disabled") {
                button
                    .toggle_attribute_with_force("disabled", is_closed)
                    .ok();
            }
        }
    }
}
