//! Messages that the person writes to the group, and messages of the group that they are shown.

use protocol::control::{ChatMember, ChatMessage, ChatView};

use super::person::Act;
use super::{Bot, S};
use crate::record::Waited;

/// Texts of messages; each message has its numbers too, so that no two are alike.
pub(super) const WORDS: [&str; 6] = [
    "I take the onions",
    "Can you bring plates?",
    "Wait, the pot is full",
    "Well done \u{1f9c5}",
    "Links oder rechts, \"du\"?",
    "=SUM(1,2), as they say",
];

/// The most messages of a person in one chat.
const MOST: usize = 12;

/// The person's part in the group's chat.
#[derive(Debug, Default)]
pub(super) struct BotChat {
    /// The visit of the group that it belongs to.
    group_visit: Option<u16>,
    /// When the person writes the next message.
    due_us: Option<u64>,
    /// Number of messages that they have written in it.
    said: usize,
}

impl BotChat {
    /// When something is due.
    pub(super) fn due_us(&self) -> Option<u64> {
        self.due_us
    }
}

impl Bot {
    /// Handles that the page has got the chat, for the first time or again.
    pub(super) fn meet_chat(&mut self, now_us: u64, view: &ChatView) {
        if self.chat.group_visit != Some(view.group_visit) {
            self.chat = BotChat {
                group_visit: Some(view.group_visit),
                ..BotChat::default()
            };
        }
        self.chat.due_us = Some(now_us + self.draw_seconds(1, 8));
        if let Some((may_ms, all_ms)) = view.left_ms {
            let members = view.members.iter();
            let people = members.filter(|member| **member != ChatMember::Ai).count();
            self.record_wait(
                now_us,
                match people {
                    0 | 1 => Waited::Bot,
                    _ => Waited::Matched,
                },
            );
            let (may_s, all_s) = (u64::from(may_ms) / 1_000, u64::from(all_ms) / 1_000);
            self.set_doing("in a chat");
            self.expect(now_us, all_s + 120, "for a chat to end");
            // Some stay until the time is up.
            let after_us = self.draw_seconds(may_s + 1, all_s.max(may_s) + 20);
            self.act = Some((now_us + after_us, Act::Done(Vec::new())));
            self.drafts.begin_draft(now_us, after_us);
        }
    }

    /// Records a message that the person is shown, which is therefore durable.
    pub(super) fn read_chat_message(&self, message: &ChatMessage) {
        self.record.lock().heard.insert(message.text.clone());
    }

    /// Writes a message, when it is time.
    pub(super) fn write_chat_message(&mut self, now_us: u64) {
        let is_due = (self.chat.due_us).take_if(|at_us| *at_us <= now_us);
        if is_due.is_none() {
            return;
        }
        if self.chat.said < MOST {
            self.chat.said += 1;
            let words = WORDS[self.rng.draw_below(WORDS.len())];
            let mut record = self.record.lock();
            let text = format!("{words} {}.{}", record.number, record.wrote.len());
            let Some(tab) = &mut self.tab else { return };
            if tab.call_page(now_us, |page, at_us| page.handle_write(at_us, text.clone())) {
                record.wrote.insert(text);
            }
        }
        let chat = self.tab.as_ref().and_then(|tab| tab.page.chat());
        let is_busy = chat.is_some_and(|chat| !chat.is_kept());
        // Now and then somebody writes faster than the server accepts.
        self.chat.due_us = match chat {
            Some(_) if self.chat.said < MOST || is_busy => {
                Some(now_us + self.draw_seconds(0, 4).max(S / 5))
            }
            _ => None,
        };
    }
}
