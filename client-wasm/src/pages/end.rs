//! The last page: what was said, the completion code, and the way back to whoever sent the participant.
//!
//! It is shown only when everything of the participant is durable on the server, so it may lead away.

use std::cell::Cell;
use std::rc::Rc;

use protocol::control::{Farewell, Onward};
use web_sys::HtmlElement;

use crate::messages;
use crate::pages::screening;
use crate::shell::{credentials, dom, iframe, layout};

/// How long the last page stays before it leads away by itself, seconds.
const STAY_S: f64 = 12.0;

/// The outcomes of those who have done what was asked.
const DONE: [&str; 2] = ["completed", "partner_left"];

/// The last page.
pub(crate) struct Last {
    /// The page.
    pub(crate) page: HtmlElement,
    leave: Option<Leave>,
}

/// The way back, which is taken by itself after a while.
struct Leave {
    button: HtmlElement,
    hint: HtmlElement,
    name: String,
    until_ms: f64,
    /// True if the person wants to stay.
    stays: Rc<Cell<bool>>,
}

impl Last {
    /// The page of somebody whose way has ended so.
    pub(crate) fn new(
        now_ms: f64,
        title: &str,
        outcome: &str,
        page: &str,
        farewell: &Farewell,
    ) -> Self {
        let card = dom::make("section.card.end");
        if DONE.contains(&outcome) {
            card.class_list().add_1("done").ok();
        }
        dom::fill(&card, &[&dom::prose(page)]);
        layout::ensure_heading(&card, title);
        if !farewell.lacks.is_empty() {
            dom::fill(&card, &[&screening::reasons(&farewell.lacks)]);
        }
        if !farewell.withdrawal.is_empty() {
            let said = messages::withdrawn(&farewell.withdrawal);
            dom::fill(&card, &[&dom::text("p.receipt", &said)]);
        }
        if !farewell.code.is_empty() {
            dom::fill(&card, &[&code(farewell)]);
        }
        let leave = onward(&card, now_ms, &farewell.onward);
        Self { page: card, leave }
    }

    /// Counts down, and leaves when it is time.
    pub(crate) fn tick(&mut self, now_ms: f64) {
        let Some(leave) = &self.leave else { return };
        if leave.stays.get() {
            leave.hint.remove();
            self.leave = None;
            return;
        }
        let left_s = ((leave.until_ms - now_ms) / 1_000.0).ceil().max(0.0);
        dom::say(&leave.hint, &messages::leaving(&leave.name, left_s as u32));
        if left_s <= 0.0
            && let Some(leave) = self.leave.take()
        {
            leave.button.click();
        }
    }
}

/// The code, large, with a button that copies it, and below it the number of the visit and the pay.
fn code(farewell: &Farewell) -> HtmlElement {
    let block = dom::make("div.code");
    let label = dom::text("span.label", messages::say().code);
    let shown = dom::text("strong", &farewell.code);
    let copied = dom::make("span.sr-only");
    dom::set(&copied, "role", "status");
    let (text, told) = (farewell.code.clone(), copied.clone());
    let button = dom::button("secondary", messages::say().copy, move || {
        dom::copy(&text);
        dom::say(&told, messages::say().copied);
    });
    dom::fill(&block, &[&label, &shown, &button, &copied]);
    let mut lines = vec![messages::receipt(&farewell.receipt)];
    if !farewell.pay.is_empty() {
        lines.push(messages::pay(&farewell.pay));
    }
    dom::fill(&block, &[&dom::text("p.hint", &lines.join(" "))]);
    block
}

fn onward(card: &HtmlElement, now_ms: f64, onward: &Onward) -> Option<Leave> {
    let actions = dom::make("div.actions");
    let (button, name) = match onward {
        Onward::Nowhere => return None,
        Onward::Again => {
            let button = dom::button("primary", messages::say().next_person, || {
                credentials::forget();
                dom::reload();
            });
            dom::fill(&actions, &[&button]);
            dom::fill(card, &[&actions]);
            return None;
        }
        Onward::To { url, name } => {
            let link = dom::text("a.button.primary", &messages::back_to(name));
            dom::set(&link, "href", url);
            dom::fill(&actions, &[&link]);
            (link, name.clone())
        }
        Onward::Form { .. } if iframe::hands_in() => {
            dom::fill(card, &[&dom::text("p", messages::say().frame_hands_in)]);
            return None;
        }
        Onward::Form { url, fields } => {
            let form = dom::make("form");
            dom::set(&form, "method", "post");
            dom::set(&form, "action", url);
            for (name, value) in fields {
                let field = dom::make("input");
                dom::set(&field, "type", "hidden");
                dom::set(&field, "name", name);
                dom::set(&field, "value", value);
                dom::fill(&form, &[&field]);
            }
            let button = dom::text("button.primary", messages::say().submit);
            dom::set(&button, "type", "submit");
            dom::fill(&form, &[&button]);
            dom::fill(&actions, &[&form]);
            (button, "Mechanical Turk".to_owned())
        }
    };
    let hint = dom::make("p.hint");
    let stays = Rc::new(Cell::new(false));
    let stay = Rc::clone(&stays);
    let staying = dom::button("secondary", messages::say().stay, move || stay.set(true));
    dom::fill(&actions, &[&staying]);
    dom::fill(card, &[&actions, &hint]);
    Some(Leave {
        button,
        hint,
        name,
        until_ms: now_ms + STAY_S * 1_000.0,
        stays,
    })
}
