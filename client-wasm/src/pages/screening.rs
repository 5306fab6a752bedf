//! The page on which device and connection are measured, and which tells what they lack.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use protocol::control::{ClientMessage, Lack, Trial};
use wasm_bindgen_futures::spawn_local;
use web_sys::HtmlElement;

use crate::episode::measure::{self, At, Pings};
use crate::messages::say;
use crate::pages::unmet_requirements::{self, Found};
use crate::shell::inbox::{Inbox, Input};
use crate::shell::{dom, layout};

/// The page, its task included: what the task does is void once the page is gone.
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
    found: Cell<Option<Found>>,
    /// Lines that tell the size of the window.
    lines: RefCell<Vec<(HtmlElement, Lack)>>,
    is_gone: Cell<bool>,
}

impl Drop for Screening {
    fn drop(&mut self) {
        self.parts.is_gone.set(true);
    }
}

impl Screening {
    /// Measures at once, or tells what was lacking at the attempt before, of which `found` is known.
    pub(crate) fn new(
        inbox: &Inbox,
        trials: &[Trial],
        lacks: &[Lack],
        attempts: u8,
        found: Option<Found>,
    ) -> Self {
        let page = dom::make("section.card.screening");
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
    pub(crate) fn found(&self) -> Option<Found> {
        self.parts.found.get()
    }

    /// The server has answered.
    pub(crate) fn answered(&self, sent_us: u64, now_us: u64) {
        let trip_ms = now_us.saturating_sub(sent_us) as f64 / 1_000.0;
        self.parts.pings.borrow_mut().push(trip_ms);
    }

    /// Shows how large the window is by now.
    pub(crate) fn tick(&self) {
        for (line, lack) in self.parts.lines.borrow().iter() {
            dom::say(line, &unmet_requirements::needed(lack, self.parts.known()));
        }
    }
}

impl Parts {
    /// The last measurements, with the window as it is now.
    fn known(&self) -> Option<Found> {
        let window = measure::window();
        let found = self.found.get().unwrap_or_default();
        Some(Found { window, ..found })
    }
}

/// Turns the page to what is being measured, and measures.
fn check(parts: &Rc<Parts>) {
    parts.page.set_text_content(None);
    parts.lines.borrow_mut().clear();
    let status = dom::text("p.hint", say().checking_hint);
    dom::set(&status, "role", "status");
    let list = dom::make("ol.checks");
    let checks = unmet_requirements::checks().map(|name| dom::text("li", name));
    checks.iter().for_each(|check| dom::fill(&list, &[check]));
    let heading = dom::text("h1", say().checking);
    dom::fill(&parts.page, &[&heading, &list, &status]);
    layout::focus_heading(&parts.page);
    let parts = Rc::clone(parts);
    spawn_local(async move {
        let tell = |at: At| match at {
            At::OutOfSight => dom::say(&status, say().check_in_sight),
            At::Check(now) => {
                dom::say(&status, say().checking_hint);
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
        let measured = measure::measure(&parts.trials, pings, tell, ping).await;
        if !parts.is_gone.get() {
            parts.found.set(Some(measured.found));
            parts
                .inbox
                .send(Input::StageDone(measured.answers, Vec::new()));
        }
    });
}

/// Turns the page to what is lacking.
fn tell(parts: &Rc<Parts>, lacks: &[Lack], attempts: u8) {
    let device = measure::device();
    let list = dom::make("ul.lacks");
    for lack in lacks {
        let line = dom::text("strong", &unmet_requirements::needed(lack, parts.known()));
        let item = dom::make("li");
        dom::fill(&item, &[&line]);
        if let Some(mend) = unmet_requirements::mend(lack, device) {
            dom::fill(&item, &[&dom::text("span", &mend)]);
        }
        dom::fill(&list, &[&item]);
        if matches!(lack, Lack::Window { .. }) {
            parts.lines.borrow_mut().push((line, lack.clone()));
        }
    }
    let inbox = parts.inbox.clone();
    let cannot = dom::button("secondary", say().cannot_mend, move || {
        inbox.send(Input::StageDone(Vec::new(), Vec::new()));
    });
    let again = {
        let parts = Rc::downgrade(parts);
        dom::button("primary", say().check_again, move || {
            if let Some(parts) = parts.upgrade() {
                check(&parts);
            }
        })
    };
    let actions = dom::make("div.actions");
    dom::fill(&actions, &[&cannot, &again]);
    dom::fill(
        &parts.page,
        &[
            &dom::text("h1", say().lacking),
            &dom::text("p", say().lacking_hint),
            &list,
            &dom::text("p.hint", &unmet_requirements::attempts(attempts)),
            &actions,
        ],
    );
}

/// Why somebody could not take part, for the last page.
pub(crate) fn reasons(lacks: &[Lack]) -> HtmlElement {
    let block = dom::make("div.reasons");
    let list = dom::make("ul.lacks");
    for lack in lacks {
        dom::fill(
            &list,
            &[&dom::text("li", &unmet_requirements::needed(lack, None))],
        );
    }
    dom::fill(&block, &[&dom::text("p", say().lacking_why), &list]);
    block
}
