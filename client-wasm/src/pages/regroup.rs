//! The page of somebody who waits for others of their group before the next stage that they play together.

use protocol::control::Absent;
use web_sys::HtmlElement;

use crate::messages;
use crate::shell::dom;

/// The people who are missing, and the time left to wait for them.
pub(crate) struct Regroup {
    /// The page.
    pub(crate) page: HtmlElement,
    heading: HtmlElement,
    status: HtmlElement,
    hint: HtmlElement,
    until_ms: Option<f64>,
}

impl Regroup {
    pub(crate) fn new() -> Self {
        let page = dom::make_element("section.card.lobby");
        let pulse = dom::make_element("div.pulse");
        dom::set_attribute(&pulse, "aria-hidden", "true");
        let status = dom::make_text("p.status", messages::current_words().waiting_for_others);
        dom::set_attribute(&status, "role", "status");
        let hint = dom::make_text("p.hint", messages::current_words().one_moment);
        let heading = dom::make_text("h1", messages::current_words().regroup_group);
        dom::add_children(&page, &[&heading, &pulse, &status, &hint]);
        Self {
            page,
            heading,
            status,
            hint,
            until_ms: None,
        }
    }

    /// Takes the missing people from the server, and the size of the group.
    pub(crate) fn handle_missing(&mut self, now_ms: f64, absent: &[Absent], of: u8, left_ms: u32) {
        let whom: Vec<_> = absent.iter().map(|one| (one.seat, one.connected)).collect();
        let words = messages::current_words();
        let heading = if of <= 2 {
            words.regroup
        } else {
            words.regroup_group
        };
        dom::set_text(&self.heading, heading);
        dom::set_text(&self.status, &messages::say_missing(&whom, of <= 2));
        self.until_ms = Some(now_ms + f64::from(left_ms));
        self.tick(now_ms);
    }

    /// Counts down.
    pub(crate) fn tick(&self, now_ms: f64) {
        if let Some(until_ms) = self.until_ms {
            let left_ms = (until_ms - now_ms).max(0.0) as u64;
            dom::set_text(&self.hint, &messages::say_time_to_regroup(left_ms));
        }
    }
}
