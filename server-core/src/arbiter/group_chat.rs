//! The chat of a group as plain data: its latest messages, and how many each place has written.

use std::collections::{BTreeMap, VecDeque};

use protocol::control::{ChatMember, ChatMessage, MAX_CHAT_BYTES};
use protocol::{Seat, Tick};

/// The chat of a group at one visit.
#[derive(Debug, Default)]
pub(super) struct GroupChat {
    /// The number of the visit among those that the group makes together.
    pub group_visit: u16,
    /// The time at which it began, microseconds, if the visit is a chat.
    pub since_us: Option<u64>,
    /// The time at which everybody continues, microseconds; `None` beside episodes, and once they have continued.
    pub until_us: Option<u64>,
    /// The latest messages.
    pub(super) messages: VecDeque<ChatMessage>,
    /// Bytes of text in it.
    bytes: usize,
    /// How many messages each place has written.
    turns: BTreeMap<Seat, u32>,
    /// The state of each place, as the people there last learned it.
    pub(super) told: Vec<ChatMember>,
}

impl GroupChat {
    pub(super) fn new(group_visit: u16) -> Self {
        Self {
            group_visit,
            ..Self::default()
        }
    }

    /// Forgets some of the messages.
    pub(super) fn forget_messages(&mut self, is_meant: impl Fn(&ChatMessage) -> bool) {
        self.messages.retain(|message| !is_meant(message));
        self.bytes = self.messages.iter().map(|message| message.text.len()).sum();
    }

    pub(super) fn push_message(&mut self, message: ChatMessage) {
        *self.turns.entry(message.place).or_default() = message.number + 1;
        self.bytes += message.text.len();
        self.messages.push_back(message);
        while self.bytes > MAX_CHAT_BYTES {
            let Some(first) = self.messages.pop_front() else {
                return;
            };
            self.bytes -= first.text.len();
        }
    }

    /// How many messages a place has written.
    pub(super) fn turn_of(&self, place: Seat) -> u32 {
        self.turns.get(&place).copied().unwrap_or(0)
    }
}

/// A message as a page sends it.
#[derive(Debug)]
pub(super) struct SentChatMessage {
    pub group_visit: u16,
    pub number: u32,
    pub sent_us: u64,
    pub tick: Option<Tick>,
    pub text: String,
}
