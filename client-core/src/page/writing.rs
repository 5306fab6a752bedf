//! The chat of the group, at a chat stage or beside an episode, and the field in which the person writes.

use peer::World;
use protocol::Tick;
use protocol::control::{Answer, ClientMessage, Draft, ServerMessage, StageView};

use super::Page;
use crate::chat::{self, Chat};
use crate::effects::PageEvent;

/// The chat of the group, and the field in which the person writes.
#[derive(Debug, Default)]
pub(super) struct Writing {
    chat: Option<Chat>,
    /// The text in the field.
    typed: String,
    /// The unsent texts, as the server last got them.
    unsent: Draft,
    /// The same of the page before this one, until there is a field for it.
    unsent_before: Option<Draft>,
    /// The revision of the chat that the draft was made of, and whether the field changed since.
    drafted: Option<u64>,
}

impl Writing {
    pub(super) fn chat(&self) -> Option<&Chat> {
        self.chat.as_ref()
    }

    pub(super) fn unsent_draft(&self) -> &Draft {
        &self.unsent
    }

    /// Begins a stage with the draft of an earlier page; `writes` says whether the group can write there.
    pub(super) fn begin_writing(&mut self, before: Option<&Draft>, writes: bool) {
        *self = Self {
            unsent: before.cloned().unwrap_or_default(),
            unsent_before: before.filter(|_| writes).cloned(),
            ..Self::default()
        };
    }

    /// Empties the field: another one takes its place.
    pub(super) fn clear_field(&mut self) {
        self.typed.clear();
        self.drafted = None;
    }

    /// Nobody writes any more.
    pub(super) fn close(&mut self) {
        if let Some(chat) = &mut self.chat {
            chat.close();
        }
    }

    /// Takes a message of the server about the chat; false if it is about something else.
    pub(super) fn handle_message(&mut self, now_us: u64, message: &ServerMessage) -> bool {
        let known = self.chat.as_mut();
        let is_known = known.is_some_and(|chat| chat.handle(now_us, message));
        match message {
            ServerMessage::Chat(view) if !is_known => {
                self.chat = Some(Chat::new(now_us, view.clone()));
                self.drafted = None;
            }
            ServerMessage::Chat(_)
            | ServerMessage::ChatMessage { .. }
            | ServerMessage::ChatRefused { .. }
            | ServerMessage::ChatMembers { .. } => {}
            _ => return false,
        }
        true
    }

    /// Returns the message that must be sent now.
    pub(super) fn poll_message(&mut self, now_us: u64) -> Option<ClientMessage> {
        self.chat.as_mut()?.poll(now_us)
    }

    /// Returns a draft of the unsent texts, if the server does not know it yet, and the text for the field, if the
    /// field is empty and an earlier page had one.
    fn poll_unsent(&mut self) -> (Option<Draft>, Option<String>) {
        let Some(chat) = self.chat.as_ref().filter(|chat| !chat.is_closed()) else {
            return (None, None);
        };
        if self.drafted == Some(chat.revision()) {
            return (None, None);
        }
        self.drafted = Some(chat.revision());
        let before = self.unsent_before.take();
        let before = before.map(|draft| chat.still_unsent(texts(&draft)));
        let restored = before.filter(|text| !text.is_empty() && self.typed.is_empty());
        if let Some(text) = &restored {
            self.typed.clone_from(text);
        }
        let draft = drafted(chat.list_unsent(&self.typed));
        let is_news = draft != self.unsent;
        if is_news {
            self.unsent.clone_from(&draft);
        }
        (Some(draft).filter(|_| is_news), restored)
    }
}

impl<W: World> Page<W> {
    /// The text in the field of the chat is this now.
    pub fn handle_typed(&mut self, now_us: u64, text: &str) {
        if self.writing.typed != text {
            text.clone_into(&mut self.writing.typed);
            self.writing.drafted = None;
        }
        self.settle(now_us);
    }

    /// The person sends a message to the group, and the field is empty; false if nobody would read it.
    pub fn handle_write(&mut self, now_us: u64, text: String) -> bool {
        let sent_us = self.now(now_us).server_us;
        let tick = self.tick_shown();
        let chat = self.writing.chat.as_mut();
        let Some(chat) = chat.filter(|chat| chat.is_heard()) else {
            return false;
        };
        chat.queue_message(chat::OutgoingMessage {
            text,
            sent_us,
            tick,
        });
        self.writing.clear_field();
        self.settle(now_us);
        true
    }

    fn tick_shown(&self) -> Option<Tick> {
        self.peer.as_ref()?.shown_tick()
    }

    /// True if there is a field in which the person writes to the group.
    pub fn has_chat_field(&self) -> bool {
        match &self.peer {
            Some(peer) => peer.plan().chat,
            None => {
                let stage = self.stages.shown_stage();
                stage.is_some_and(|stage| matches!(stage.view, StageView::Chat { .. }))
            }
        }
    }

    /// Lets the server store the unsent texts, and puts its stored text into the field.
    pub(super) fn keep_unsent(&mut self, now_us: u64) {
        if !self.has_chat_field() {
            return;
        }
        let (draft, restored) = self.writing.poll_unsent();
        if let Some(text) = restored {
            self.events.push_back(PageEvent::TypedRestored(text));
        }
        if let Some(draft) = draft {
            self.drafts.handle_change(now_us, draft);
        }
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
fn texts(draft: &Draft) -> Vec<(u32, String)> {
    let text = |answer: &Answer| {
        let text = serde_json::from_str(&answer.value).ok()?;
        Some((answer.name.parse().ok()?, text))
    };
    draft.answers.iter().filter_map(text).collect()
}
