//! The time limit of a form, as it is shown.

use client_core::time_limit::TimeLimit;
use protocol::control::Draft;
use web_sys::HtmlElement;

use crate::messages;
use crate::shell::dom;

/// From then on the time that is left is read aloud, once, microseconds.
const LAST_US: u64 = 15_000_000;

/// The time of a form.
pub(super) struct Time {
    pub(super) limit: TimeLimit,
    /// The line that shows it.
    pub(super) element: HtmlElement,
    clock: HtmlElement,
    aloud: HtmlElement,
}

impl Time {
    /// Creates the time of a form that is shown now, with the time of a draft.
    pub(super) fn new(now_us: u64, limit_s: u32, draft: Option<&Draft>) -> Self {
        let element = dom::make_element("div.form-time");
        let clock = dom::make_element("span.clock");
        dom::set_attribute(&clock, "role", "timer");
        let aloud = dom::make_element("span.sr-only");
        dom::set_attribute(&aloud, "role", "status");
        let means = dom::make_text("span.hint", messages::current_words().form_time);
        dom::add_children(&element, &[&clock, &means, &aloud]);
        let time = Self {
            limit: TimeLimit::new(now_us, limit_s, draft),
            element,
            clock,
            aloud,
        };
        time.tick(now_us);
        time
    }

    /// Counts down.
    pub(super) fn tick(&self, now_us: u64) {
        let left_us = self.limit.left_us(now_us);
        let sentence = match left_us {
            0 => messages::current_words().form_time_up.to_owned(),
            left_us => messages::say_time_left(left_us / 1_000),
        };
        dom::set_text(&self.clock, &sentence);
        self.element
            .class_list()
            .toggle_with_force("last", left_us <= LAST_US)
            .ok();
        let is_told = self.aloud.has_child_nodes();
        if left_us == 0 || (left_us <= LAST_US && !is_told) {
            dom::set_text(&self.aloud, &sentence);
        }
    }
}
