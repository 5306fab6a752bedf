//! The waiting room: who is here, for how long, what happens when nobody comes, and what the person is asked meanwhile.
//!
//! Nothing on it moves when something is asked: question and picture share one place.

use protocol::control::{Ask, Choice, ClientMessage, Waiting};
use web_sys::HtmlElement;

use crate::episode::sound;
use crate::messages;
use crate::shell::dom;
use crate::shell::inbox::{Inbox, Input};

/// The waiting room.
pub(crate) struct Lobby {
    /// The page.
    pub(crate) page: HtmlElement,
    inbox: Inbox,
    pulse: HtmlElement,
    question: HtmlElement,
    words: HtmlElement,
    actions: HtmlElement,
    status: HtmlElement,
    figures: HtmlElement,
    hint: HtmlElement,
    told: Option<(Waiting, f64)>,
}

impl Lobby {
    pub(crate) fn new(inbox: &Inbox) -> Self {
        let page = dom::make("section.card.lobby");
        let pulse = dom::make("div.pulse");
        dom::set(&pulse, "aria-hidden", "true");
        let words = dom::make("p.words");
        dom::set(&words, "role", "alert");
        let actions = dom::make("div.actions");
        let question = dom::make("div.question");
        dom::fill(&question, &[&words, &actions]);
        dom::show(&question, false);
        let place = dom::make("div.place");
        dom::fill(&place, &[&pulse, &question]);
        let status = dom::text("p.status", messages::say().looking);
        dom::set(&status, "role", "status");
        let figures = dom::text("p.figures", "\u{a0}");
        let hint = dom::text("p.hint", "\u{a0}");
        let heading = dom::text("h1", messages::say().lobby);
        dom::fill(&page, &[&heading, &place, &status, &figures, &hint]);
        Self {
            page,
            inbox: inbox.clone(),
            pulse,
            question,
            words,
            actions,
            status,
            figures,
            hint,
            told: None,
        }
    }

    /// The server's word on how the wait stands.
    pub(crate) fn waiting(&mut self, now_ms: f64, waiting: Waiting) {
        let before = self.told.replace((waiting, now_ms));
        dom::say(&self.status, &messages::here(&waiting));
        let ask = |waiting: &Waiting| std::mem::discriminant(&waiting.ask);
        let is_new = before.is_none_or(|(before, _)| ask(&before) != ask(&waiting));
        if is_new {
            self.ask(&waiting);
        }
        self.tick(now_ms);
    }

    /// Asks something, or nothing any more.
    fn ask(&self, waiting: &Waiting) {
        let is_asked = waiting.ask != Ask::Nothing;
        let held_focus = matches!(self.question.query_selector(":focus"), Ok(Some(_)));
        self.actions.set_text_content(None);
        for (number, (label, message)) in answers(waiting).into_iter().enumerate() {
            let class = if number == 0 { "primary" } else { "secondary" };
            let inbox = self.inbox.clone();
            let button = dom::button(class, &label, move || {
                inbox.send(Input::Say(message.clone()));
            });
            dom::fill(&self.actions, &[&button]);
            if number == 0 && is_asked {
                // The place in the page is shown before it can have the focus.
                dom::show(&self.question, true);
                button.focus().ok();
            }
        }
        dom::show(&self.pulse, !is_asked);
        dom::show(&self.question, is_asked);
        if is_asked {
            sound::ask();
            if dom::document().hidden() {
                dom::document().set_title(messages::say().asked_title);
            }
        } else {
            dom::say(&self.words, "");
            if held_focus && let Ok(Some(heading)) = self.page.query_selector("h1") {
                let heading: HtmlElement = wasm_bindgen::JsCast::unchecked_into(heading);
                heading.focus().ok();
            }
        }
    }

    /// Counts on.
    pub(crate) fn tick(&self, now_ms: f64) {
        let Some((waiting, told_ms)) = &self.told else {
            return;
        };
        let since_ms = (now_ms - told_ms).max(0.0) as u64;
        let figures = match waiting.ask {
            Ask::Return => "\u{a0}".to_owned(),
            _ => messages::waited(waiting, since_ms),
        };
        dom::say(&self.figures, &figures);
        dom::say(&self.hint, &messages::at_timeout(waiting, since_ms));
        if let Some(words) = messages::question(waiting, since_ms) {
            dom::say(&self.words, &words);
        }
    }
}

/// The possible answers, the first by default.
fn answers(waiting: &Waiting) -> Vec<(String, ClientMessage)> {
    match waiting.ask {
        Ask::Nothing => Vec::new(),
        Ask::Presence { .. } => vec![(messages::say().i_am_here.to_owned(), ClientMessage::Here)],
        Ask::Return => vec![(messages::say().come_back.to_owned(), ClientMessage::Here)],
        Ask::Choice => [Choice::Wait, Choice::Ai, Choice::Leave]
            .map(|choice| {
                let label = messages::choice(choice, waiting.paid);
                (label, ClientMessage::Choose(choice))
            })
            .into(),
    }
}
