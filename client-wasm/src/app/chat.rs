//! The chat of the group, at a chat stage or beside an episode, and the field in which the person writes.

use client_core::chat::Chat;

use super::App;
use super::stages::Card;
use crate::pages::chat::Pane;

impl App {
    /// Shows how the chat stands.
    pub(super) fn show_chat(&mut self, now_us: u64) {
        let (chat, is_connected) = (self.page.chat(), self.page.is_welcomed());
        if let Card::Chat(card) = &mut self.card {
            card.show(now_us, chat, is_connected);
        }
        let Some(play) = self.play.as_mut() else {
            return;
        };
        if let Some(chat) = chat {
            play.handle_chat(chat.view());
        }
        if let Some(pane) = &mut play.screen.chat {
            pane.show(chat, is_connected);
        }
    }

    /// The field and the messages.
    fn pane(&self) -> Option<&Pane> {
        match &self.card {
            Card::Chat(card) => Some(&card.pane),
            _ => self.play.as_ref()?.screen.chat.as_ref(),
        }
    }

    /// Gives the page the text in the field.
    pub(super) fn hand_over_typed(&mut self, now_us: u64) {
        if let Some(typed) = self.pane().map(Pane::typed_text) {
            self.page.handle_typed(now_us, &typed);
        }
    }

    /// Puts a text into the field, unless the person writes already.
    pub(super) fn restore_typed(&self, text: &str) {
        if let Some(pane) = self.pane() {
            pane.restore_text(text);
        }
    }

    /// True if the person can turn from the world to a chat beside it.
    pub(crate) fn may_write(&self) -> bool {
        let play = self.play.as_ref();
        play.is_some_and(|play| play.screen.chat.is_some())
    }

    /// The person turns to the chat.
    pub(super) fn turn_to_chat(&self) {
        if let Some(pane) = self.pane() {
            pane.focus_field();
        }
    }

    /// Sends the person's text.
    pub(super) fn write_message(&mut self, now_us: u64) {
        let is_heard = self.page.chat().is_some_and(Chat::is_heard);
        if let Some(text) = self.pane().filter(|_| is_heard).and_then(Pane::take_text) {
            self.page.handle_write(now_us, text);
        }
    }
}
