//! The waiting room: the people here, the time, what happens when nobody comes, and questions to the person meanwhile.
//!
//! Nothing on it moves when a question appears: question and picture share one place.

use protocol::control::{Ask, ClientMessage, LobbyChoice, Waiting};
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
        let page = dom::make_element("section.card.lobby");
        let pulse = dom::make_element("div.pulse");
        dom::set_attribute(&pulse, "aria-hidden", "true");
        let words = dom::make_element("p.words");
        dom::set_attribute(&words, "role", "alert");
        let actions = dom::make_element("div.actions");
        let question = dom::make_element("div.question");
        dom::add_children(&question, &[&words, &actions]);
        dom::show_element(&question, false);
        let place = dom::make_element("div.place");
        dom::add_children(&place, &[&pulse, &question]);
        let status = dom::make_text("p.status", messages::current_words().looking);
        dom::set_attribute(&status, "role", "status");
        let figures = dom::make_text("p.figures", "\u{a0}");
        let hint = dom::make_text("p.hint", "\u{a0}");
        let heading = dom::make_text("h1", messages::current_words().lobby);
        dom::add_children(&page, &[&heading, &place, &status, &figures, &hint]);
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

    /// Takes the state of the wait from the server.
    pub(crate) fn handle_waiting(&mut self, now_ms: f64, waiting: Waiting) {
        let before = self.told.replace((waiting, now_ms));
        dom::set_text(&self.status, &messages::say_who_is_here(&waiting));
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
            let button = dom::make_button(class, &label, move || {
                inbox.send(Input::Say(message.clone()));
            });
            dom::add_children(&self.actions, &[&button]);
            if number == 0 && is_asked {
                // The place in the page is shown before it can have the focus.
                dom::show_element(&self.question, true);
                button.focus().ok();
            }
        }
        dom::show_element(&self.pulse, !is_asked);
        dom::show_element(&self.question, is_asked);
        if is_asked {
            sound::play_question();
            if dom::document().hidden() {
                dom::document().set_title(messages::current_words().asked_title);
            }
        } else {
            dom::set_text(&self.words, "");
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
            _ => messages::say_time_waited(waiting, since_ms),
        };
        dom::set_text(&self.figures, &figures);
        dom::set_text(&self.hint, &messages::say_end_of_wait(waiting, since_ms));
        if let Some(words) = messages::ask_question(waiting, since_ms) {
            dom::set_text(&self.words, &words);
        }
    }
}

/// The possible answers, the first by default.
fn answers(waiting: &Waiting) -> Vec<(String, ClientMessage)> {
    match waiting.ask {
        Ask::Nothing => Vec::new(),
        Ask::Presence { .. } => vec![(
            messages::current_words().i_am_here.to_owned(),
            ClientMessage::Here,
        )],
        Ask::Return => vec![(
            messages::current_words().come_back.to_owned(),
            ClientMessage::Here,
        )],
        Ask::Choice => [LobbyChoice::Wait, LobbyChoice::Ai, LobbyChoice::Leave]
            .map(|choice| {
                let label = messages::name_choice(choice, waiting.paid);
                (label, ClientMessage::Choose(choice))
            })
            .into(),
    }
}
