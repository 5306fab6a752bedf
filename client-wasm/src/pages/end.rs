//! The last page: its text, the completion code, and the way back to the recruiter.
//!
//! It is shown only when everything of the participant is durable on the server, so it may lead away. A study without a
//! server has the data in the browser: its last page leads away only once they are delivered.

use std::cell::Cell;
use std::rc::Rc;

use protocol::control::{Farewell, Onward};
use web_sys::HtmlElement;

use crate::messages;
use crate::pages::screening;
use crate::shell::offline_data::{Handover, HandoverState};
use crate::shell::{credentials, dom, iframe, layout, offline_data, parent_page};

/// The time for which the last page stays before it leads away by itself, seconds.
const STAY_S: f64 = 12.0;

/// The outcomes of people who have done their work.
const DONE: [&str; 2] = ["completed", "partner_left"];

/// The last page.
pub(crate) struct Last {
    /// The page.
    pub(crate) page: HtmlElement,
    leave: Option<Leave>,
    held: Option<Held>,
}

/// The way back of somebody whose data are still in this browser alone.
struct Held {
    handover: HandoverState,
    outcome: String,
    farewell: Farewell,
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
        let card = dom::make_element("section.card.end");
        if DONE.contains(&outcome) {
            card.class_list().add_1("done").ok();
        }
        dom::add_children(&card, &[&dom::make_prose(page)]);
        layout::ensure_heading(&card, title);
        if !farewell.lacks.is_empty() {
            dom::add_children(&card, &[&screening::make_reasons(&farewell.lacks)]);
        }
        if !farewell.withdrawal.is_empty() {
            let said = messages::say_withdrawn(&farewell.withdrawal);
            dom::add_children(&card, &[&dom::make_text("p.receipt", &said)]);
        }
        if !farewell.code.is_empty() {
            dom::add_children(&card, &[&code(farewell)]);
        }
        let handover = hand_over(&card, farewell);
        let mut last = Self {
            page: card,
            leave: None,
            held: None,
        };
        match handover {
            Some(handover) => {
                last.held = Some(Held {
                    handover,
                    outcome: outcome.to_owned(),
                    farewell: farewell.clone(),
                });
            }
            None => last.show_way(now_ms, outcome, farewell, true),
        }
        last
    }

    /// Shows the way back, which is taken by itself after a while if it `counts` down.
    fn show_way(&mut self, now_ms: f64, outcome: &str, farewell: &Farewell, counts: bool) {
        parent_page::tell_end(outcome, &farewell.code, &farewell.receipt);
        let until_ms = counts.then_some(now_ms + STAY_S * 1_000.0);
        self.leave = onward(&self.page, until_ms, &farewell.onward);
    }

    /// Counts down, and leaves when it is time.
    pub(crate) fn tick(&mut self, now_ms: f64) {
        let is_free = |held: &mut Held| held.handover.get() != Handover::Pending;
        if let Some(held) = self.held.take_if(is_free) {
            // If it failed, the page leads nobody away from the data: they decide themselves.
            let counts = held.handover.get() == Handover::Done;
            if counts && !held.farewell.withdrawal.is_empty() {
                credentials::forget_session();
            }
            self.show_way(now_ms, &held.outcome, &held.farewell, counts);
        }
        let Some(leave) = &self.leave else { return };
        if leave.stays.get() {
            leave.hint.remove();
            self.leave = None;
            return;
        }
        let left_s = ((leave.until_ms - now_ms) / 1_000.0).ceil().max(0.0);
        dom::set_text(
            &leave.hint,
            &messages::say_leaving(&leave.name, left_s as u32),
        );
        if left_s <= 0.0
            && let Some(leave) = self.leave.take()
        {
            leave.button.click();
        }
    }
}

/// Adds the elements that deliver the data of a study without a server, and returns the state if the way back waits for
/// it. People who have withdrawn deliver nothing: their data are erased.
fn hand_over(card: &HtmlElement, farewell: &Farewell) -> Option<HandoverState> {
    if !farewell.withdrawal.is_empty() {
        return offline_data::erase();
    }
    let (block, handover) = offline_data::make_block()?;
    dom::add_children(card, &[&block]);
    // The next person comes to the same browser, which keeps the data of both.
    (farewell.onward != Onward::Again).then_some(handover)
}

/// The code, large, with a button that copies it, and below it the number of the visit and the pay.
fn code(farewell: &Farewell) -> HtmlElement {
    let block = dom::make_element("div.code");
    let label = dom::make_text("span.label", messages::current_words().code);
    let shown = dom::make_text("strong", &farewell.code);
    let copied = dom::make_element("span.sr-only");
    dom::set_attribute(&copied, "role", "status");
    let (text, told) = (farewell.code.clone(), copied.clone());
    let button = dom::make_button("secondary", messages::current_words().copy, move || {
        dom::copy_text(&text);
        dom::set_text(&told, messages::current_words().copied);
    });
    dom::add_children(&block, &[&label, &shown, &button, &copied]);
    let mut lines = vec![messages::say_receipt(&farewell.receipt)];
    if !farewell.pay.is_empty() {
        lines.push(messages::say_payment(&farewell.pay));
    }
    dom::add_children(&block, &[&dom::make_text("p.hint", &lines.join(" "))]);
    block
}

/// The way back; one that is taken by itself has a time for it.
fn onward(card: &HtmlElement, until_ms: Option<f64>, onward: &Onward) -> Option<Leave> {
    let actions = dom::make_element("div.actions");
    let (button, name) = match onward {
        Onward::Nowhere => return None,
        Onward::Again => {
            let button = dom::make_button("primary", messages::current_words().next_person, || {
                credentials::forget_session();
                dom::reload_page();
            });
            dom::add_children(&actions, &[&button]);
            dom::add_children(card, &[&actions]);
            return None;
        }
        Onward::To { url, name } => {
            let link = dom::make_text("a.button.primary", &messages::say_way_back(name));
            dom::set_attribute(&link, "href", url);
            dom::add_children(&actions, &[&link]);
            (link, name.clone())
        }
        Onward::Form { .. } if iframe::hands_work_in() => {
            dom::add_children(
                card,
                &[&dom::make_text(
                    "p",
                    messages::current_words().frame_hands_in,
                )],
            );
            return None;
        }
        Onward::Form { url, fields } => {
            let form = dom::make_element("form");
            dom::set_attribute(&form, "method", "post");
            dom::set_attribute(&form, "action", url);
            for (name, value) in fields {
                let field = dom::make_element("input");
                dom::set_attribute(&field, "type", "hidden");
                dom::set_attribute(&field, "name", name);
                dom::set_attribute(&field, "value", value);
                dom::add_children(&form, &[&field]);
            }
            let button = dom::make_text("button.primary", messages::current_words().submit);
            dom::set_attribute(&button, "type", "submit");
            dom::add_children(&form, &[&button]);
            dom::add_children(&actions, &[&form]);
            (button, "Mechanical Turk".to_owned())
        }
    };
    let Some(until_ms) = until_ms else {
        dom::add_children(card, &[&actions]);
        return None;
    };
    let hint = dom::make_element("p.hint");
    let stays = Rc::new(Cell::new(false));
    let stay = Rc::clone(&stays);
    let staying = dom::make_button("secondary", messages::current_words().stay, move || {
        stay.set(true)
    });
    dom::add_children(&actions, &[&staying]);
    dom::add_children(card, &[&actions, &hint]);
    Some(Leave {
        button,
        hint,
        name,
        until_ms,
        stays,
    })
}
