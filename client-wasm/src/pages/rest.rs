//! The rest between two episodes: how many were played, when the person may continue, and when it continues by itself.

use web_sys::HtmlElement;

use crate::messages;
use crate::shell::inbox::{Inbox, Input};
use crate::shell::{dom, layout};

/// The page of a rest.
pub(crate) struct Rest {
    /// The page.
    pub(crate) page: HtmlElement,
    button: HtmlElement,
    hint: HtmlElement,
    /// The times at which the person may continue, and at which the study continues by itself, page clock,
    /// milliseconds.
    from_ms: f64,
    until_ms: Option<f64>,
    /// True if the person has gone on and waits for others.
    waits: bool,
}

impl Rest {
    /// A rest after `round.0` of `round.1` episodes, of which the last had this score.
    pub(crate) fn new(
        inbox: &Inbox,
        title: &str,
        html: &str,
        round: (u16, u16),
        score: i64,
    ) -> Self {
        let page = dom::make_element("section.card.rest");
        dom::add_children(&page, &[&dom::make_prose(html)]);
        layout::ensure_heading(&page, title);
        let status = dom::make_text("p.status", &messages::say_round_over(round, score));
        let inbox = inbox.clone();
        let button = dom::make_button("primary", messages::current_words().next_round, move || {
            inbox.send(Input::StageDone(Vec::new(), Vec::new()))
        });
        let (actions, hint) = (
            dom::make_element("div.actions"),
            dom::make_element("p.hint"),
        );
        dom::set_attribute(&hint, "role", "status");
        dom::add_children(&actions, &[&button]);
        dom::add_children(&page, &[&status, &actions, &hint]);
        Self {
            page,
            button,
            hint,
            from_ms: 0.0,
            until_ms: None,
            waits: false,
        }
    }

    /// Sets the time that is left of it, from now.
    pub(crate) fn with_times(mut self, now_ms: f64, min_ms: u32, max_ms: Option<u32>) -> Self {
        self.from_ms = now_ms + f64::from(min_ms);
        self.until_ms = max_ms.map(|max_ms| now_ms + f64::from(max_ms));
        self.tick(now_ms);
        self
    }

    /// Shows that the person continues, and others do not yet.
    pub(crate) fn show_waiting(&mut self) {
        self.waits = true;
    }

    /// Counts down.
    pub(crate) fn tick(&self, now_ms: f64) {
        let seconds = |until_ms: f64| ((until_ms - now_ms) / 1_000.0).ceil().max(0.0);
        let (must_s, left_s) = (seconds(self.from_ms), self.until_ms.map(seconds));
        let is_closed = must_s > 0.0 || self.waits;
        if is_closed != self.button.has_attribute("disabled") {
            // A button has this attribute; that it is refused would be a fault of the browser.
            self.button
                .toggle_attribute_with_force("disabled", is_closed)
                .ok();
        }
        let hint = match left_s {
            _ if self.waits => messages::current_words().waiting_for_others.to_owned(),
            _ if must_s > 0.0 => messages::say_go_on_in(must_s as u32),
            Some(left_s) => messages::say_round_in(left_s as u32),
            None => String::new(),
        };
        dom::set_text(&self.hint, &hint);
    }
}
