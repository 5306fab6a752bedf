//! A line of buttons that give directives to an AI partner, and the result of the last press.
//!
//! This module must not know of sessions; its caller says what to show.

use protocol::Seat;
use protocol::control::ShownButtons;
use web_sys::HtmlElement;

use crate::messages::{self, fill_in};
use crate::shell::dom;
use crate::shell::inbox::{Inbox, Input};

/// The line of one AI partner.
pub(crate) struct ButtonLine {
    /// Its element.
    pub(crate) element: HtmlElement,
    seat: Seat,
    sentence: HtmlElement,
    buttons: Vec<HtmlElement>,
}

impl ButtonLine {
    /// A line with these buttons.
    pub(crate) fn new(inbox: &Inbox, canvas: &HtmlElement, shown: &ShownButtons) -> Self {
        let element = dom::make_element("div.directives");
        let sentence = dom::make_element("span.who");
        dom::set_attribute(&sentence, "role", "status");
        dom::add_children(&element, &[&sentence]);
        let seat = shown.seat;
        let buttons = (0..).zip(&shown.labels).map(|(button, label)| {
            let (inbox, canvas) = (inbox.clone(), canvas.clone());
            let made = dom::make_button("directive", label, move || {
                inbox.send(Input::Direct { seat, button });
                // The keys belong to the world again.
                canvas.focus().ok();
            });
            dom::add_children(&element, &[&made]);
            made
        });
        let buttons = buttons.collect();
        Self {
            element,
            seat,
            sentence,
            buttons,
        }
    }

    /// True if it is the line of the AI partner in a seat.
    pub(crate) fn is_of(&self, seat: Seat) -> bool {
        self.seat == seat
    }

    /// Shows the directive that the AI partner follows, and the result of the last press. `pressed` is the button whose
    /// press was not answered yet.
    pub(crate) fn show(&self, shown: &ShownButtons, pressed: Option<u8>) {
        let words = messages::current_words();
        let label = |at: Option<u8>| shown.labels.get(usize::from(at?));
        let sentence = match (label(pressed), label(shown.refused)) {
            (Some(what), _) => fill_in(words.directive_sent, &[("what", what)]),
            (None, Some(what)) => fill_in(words.directive_refused, &[("what", what)]),
            (None, None) => fill_in(words.directive_ask, &[("name", &shown.name)]),
        };
        dom::set_text(&self.sentence, &sentence);
        for (at, button) in (0..).zip(&self.buttons) {
            let is_followed = (shown.followed == Some(at)).to_string();
            dom::set_attribute(button, "aria-pressed", &is_followed);
        }
    }
}
