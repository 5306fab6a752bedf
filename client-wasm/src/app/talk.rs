//! What the person and the others of the group write to each other, at a stage of its own or beside an episode.

use peer::chat::Chat;
use protocol::control::{Answer, Draft, ServerMessage};

use super::App;
use super::stages::Card;
use crate::pages::chat::Pane;
use crate::shell::dom;

impl App {
    /// Takes a message of the server about it; false if it is about something else.
    pub(super) fn hears_chat(&mut self, message: &ServerMessage) -> bool {
        let now_us = dom::page_us();
        let known = self.chat.as_mut();
        let is_known = known.is_some_and(|chat| chat.handle(now_us, message));
        match message {
            ServerMessage::Talk(talk) if !is_known => {
                self.chat = Some(Chat::new(now_us, talk.clone()));
            }
            ServerMessage::Talk(_)
            | ServerMessage::Said { .. }
            | ServerMessage::Unsaid { .. }
            | ServerMessage::Company { .. } => {}
            _ => return false,
        }
        self.show_chat();
        true
    }

    /// Sends what is to be sent, and shows how things stand.
    pub(super) fn show_chat(&mut self) {
        let now_us = dom::page_us();
        let is_connected = self.welcomed;
        let due = self.chat.as_mut().filter(|_| is_connected);
        if let Some(message) = due.and_then(|chat| chat.poll(now_us)) {
            self.socket.send(&message);
        }
        self.keep_unsent();
        let chat = self.chat.as_ref();
        if let Card::Chat(card) = &mut self.card {
            card.show(now_us, chat, is_connected);
        }
        let play = self.play.as_mut();
        if let Some(pane) = play.and_then(|play| play.screen.chat.as_mut()) {
            pane.show(chat, is_connected);
        }
    }

    /// Has the server keep what is written and not sent, and puts into the field what it has kept.
    pub(super) fn keep_unsent(&mut self) {
        let chat = self.chat.as_ref().filter(|chat| !chat.is_closed());
        let (Some(chat), Some(pane)) = (chat, self.pane()) else {
            return;
        };
        if let Some(draft) = &self.unsent_before {
            pane.restore(&chat.still_unsent(numbered(draft)));
        }
        let draft = drafted(chat.unsent(&pane.typed()));
        self.unsent_before = None;
        if draft != self.unsent {
            self.unsent = draft.clone();
            self.drafts.change(dom::page_ms(), draft);
        }
    }

    /// Where the person writes.
    fn pane(&self) -> Option<&Pane> {
        match &self.card {
            Card::Chat(card) => Some(&card.pane),
            _ => self.play.as_ref()?.screen.chat.as_ref(),
        }
    }

    /// Whether the person can turn from the world to a chat beside it.
    pub(crate) fn may_write(&self) -> bool {
        self.play
            .as_ref()
            .is_some_and(|play| play.screen.chat.is_some())
    }

    /// The person turns to the chat.
    pub(super) fn to_chat(&self) {
        if let Some(pane) = self.pane() {
            pane.write();
        }
    }

    /// The person sends what they have written.
    pub(super) fn write(&mut self) {
        let is_heard = self.chat.as_ref().is_some_and(Chat::is_heard);
        let text = self.pane().filter(|_| is_heard).and_then(Pane::take);
        let sent_us = self.now().server_us;
        let tick = self.play.as_ref().and_then(|play| play.tick_shown());
        if let (Some(text), Some(chat)) = (text, &mut self.chat) {
            chat.say(peer::chat::Draft {
                text,
                sent_us,
                tick,
            });
        }
        self.show_chat();
    }
}

/// Texts under the numbers of their messages, as a draft has them.
fn drafted(unsent: Vec<(u32, String)>) -> Draft {
    let answer = |(number, text): (u32, String)| Answer {
        name: number.to_string(),
        value: serde_json::Value::from(text).to_string(),
    };
    Draft {
        answers: unsent.into_iter().map(answer).collect(),
        ..Draft::default()
    }
}

/// The texts of a draft.
fn numbered(draft: &Draft) -> Vec<(u32, String)> {
    let text = |answer: &Answer| {
        let text = serde_json::from_str(&answer.value).ok()?;
        Some((answer.name.parse().ok()?, text))
    };
    draft.answers.iter().filter_map(text).collect()
}
