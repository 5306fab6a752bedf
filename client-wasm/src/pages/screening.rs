//! The page that measures device and connection, and shows what they lack.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use protocol::control::{ClientMessage, Lack, Trial};
use wasm_bindgen_futures::spawn_local;
use web_sys::HtmlElement;

use crate::episode::measure::{self, At, Pings};
use crate::messages::current_words;
use crate::pages::unmet_requirements::{self, Measurements};
use crate::shell::inbox::{Inbox, Input};
use crate::shell::{dom, layout};

/// The page, including its task: the results of the task are void once the page is gone.
pub(crate) struct Screening {
    /// The page.
    pub(crate) page: HtmlElement,
    parts: Rc<Parts>,
}

/// The state that page and task share.
struct Parts {
    inbox: Inbox,
    trials: Vec<Trial>,
    page: HtmlElement,
    pings: Pings,
    /// The last measurements.
    found: Cell<Option<Measurements>>,
    /// Lines that show the size of the window.
    lines: RefCell<Vec<(HtmlElement, Lack)>>,
    is_gone: Cell<bool>,
}

impl Drop for Screening {
    fn drop(&mut self) {
        self.parts.is_gone.set(true);
    }
}

impl Screening {
    /// Measures immediately, or shows what was lacking at the attempt before, whose measurements are `found`.
    pub(crate) fn new(
        inbox: &Inbox,
        trials: &[Trial],
        lacks: &[Lack],
        attempts: u8,
        found: Option<Measurements>,
    ) -> Self {
        let page = dom::make_element("section.card.screening");
        let parts = Rc::new(Parts {
            inbox: inbox.clone(),
            trials: trials.to_vec(),
            page: page.clone(),
            pings: Pings::default(),
            found: Cell::new(found),
            lines: RefCell::default(),
            is_gone: Cell::new(false),
        });
        match lacks {
            [] => check(&parts),
            lacks => tell(&parts, lacks, attempts),
        }
        Self { page, parts }
    }

    /// The last measurements.
    pub(crate) fn measurements(&self) -> Option<Measurements> {
        self.parts.found.get()
    }

    /// The server has answered.
    pub(crate) fn handle_clock(&self, sent_us: u64, now_us: u64) {
        let trip_ms = now_us.saturating_sub(sent_us) as f64 / 1_000.0;
        self.parts.pings.borrow_mut().push(trip_ms);
    }

    /// Shows how large the window is by now.
    pub(crate) fn tick(&self) {
        for (line, lack) in self.parts.lines.borrow().iter() {
            dom::set_text(
                line,
                &unmet_requirements::say_need(lack, self.parts.known()),
            );
        }
    }
}

impl Parts {
    /// The last measurements, with the window as it is now.
    fn known(&self) -> Option<Measurements> {
        let window = measure::read_window();
        let found = self.found.get().unwrap_or_default();
        Some(Measurements { window, ..found })
    }
}

/// Shows the measurement, and measures.
fn check(parts: &Rc<Parts>) {
    parts.page.set_text_content(None);
    parts.lines.borrow_mut().clear();
    let status = dom::make_text("p.hint", current_words().checking_hint);
    dom::set_attribute(&status, "role", "status");
    let list = dom::make_element("ol.checks");
    let checks = unmet_requirements::name_checks().map(|name| dom::make_text("li", name));
    checks
        .iter()
        .for_each(|check| dom::add_children(&list, &[check]));
    let heading = dom::make_text("h1", current_words().checking);
    dom::add_children(&parts.page, &[&heading, &list, &status]);
    layout::focus_heading(&parts.page);
    let parts = Rc::clone(parts);
    spawn_local(async move {
        let tell = |at: At| match at {
            At::OutOfSight => dom::set_text(&status, current_words().check_in_sight),
            At::Check(now) => {
                dom::set_text(&status, current_words().checking_hint);
                for (number, check) in checks.iter().enumerate() {
                    let class = match number.cmp(&now) {
                        std::cmp::Ordering::Less => "done",
                        std::cmp::Ordering::Equal => "now",
                        std::cmp::Ordering::Greater => "",
                    };
                    check.set_class_name(class);
                }
            }
        };
        let ping = || {
            let sent_us = dom::page_us();
            parts
                .inbox
                .send(Input::Say(ClientMessage::Clock { sent_us }));
        };
        let pings = Rc::clone(&parts.pings);
        let measured = measure::measure_device(&parts.trials, pings, tell, ping).await;
        if !parts.is_gone.get() {
            parts.found.set(Some(measured.found));
            parts
                .inbox
                .send(Input::StageDone(measured.answers, Vec::new()));
        }
    });
}

/// Shows what is lacking.
fn tell(parts: &Rc<Parts>, lacks: &[Lack], attempts: u8) {
    let device = measure::read_device();
    let list = dom::make_element("ul.lacks");
    for lack in lacks {
        let line = dom::make_text("strong", &unmet_requirements::say_need(lack, parts.known()));
        let item = dom::make_element("li");
        dom::add_children(&item, &[&line]);
        if let Some(mend) = unmet_requirements::say_remedy(lack, device) {
            dom::add_children(&item, &[&dom::make_text("span", &mend)]);
        }
        dom::add_children(&list, &[&item]);
        if matches!(lack, Lack::Window { .. }) {
            parts.lines.borrow_mut().push((line, lack.clone()));
        }
    }
    let inbox = parts.inbox.clone();
    let cannot = dom::make_button("secondary", current_words().cannot_mend, move || {
        inbox.send(Input::StageDone(Vec::new(), Vec::new()));
    });
    let again = {
        let parts = Rc::downgrade(parts);
        dom::make_button("primary", current_words().check_again, move || {
            if let Some(parts) = parts.upgrade() {
                check(&parts);
            }
        })
    };
    let actions = dom::make_element("div.actions");
    dom::add_children(&actions, &[&cannot, &again]);
    dom::add_children(
        &parts.page,
        &[
            &dom::make_text("h1", current_words().lacking),
            &dom::make_text("p", current_words().lacking_hint),
            &list,
            &dom::make_text("p.hint", &unmet_requirements::say_attempts_left(attempts)),
            &actions,
        ],
    );
}

/// Lists why somebody could not take part, for the last page.
pub(crate) fn make_reasons(lacks: &[Lack]) -> HtmlElement {
    let block = dom::make_element("div.reasons");
    let list = dom::make_element("ul.lacks");
    for lack in lacks {
        dom::add_children(
            &list,
            &[&dom::make_text(
                "li",
                &unmet_requirements::say_need(lack, None),
            )],
        );
    }
    dom::add_children(
        &block,
        &[&dom::make_text("p", current_words().lacking_why), &list],
    );
    block
}
