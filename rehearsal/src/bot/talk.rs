//! Messages that the person writes to the group, and messages of the group that they are shown.

use peer::chat::{Chat, Draft};
use protocol::control::{Answer, Line, ServerMessage, Talker};

use super::person::Act;
use super::{Bot, S};
use crate::record::Waited;

/// Texts of messages; each message has its numbers too, so that no two are alike.
const WORDS: [&str; 6] = [
    "I take the onions",
    "Can you bring plates?",
    "Wait, the pot is full",
    "Well done \u{1f9c5}",
    "Links oder rechts, \"du\"?",
    "=SUM(1,2), as they say",
];

/// The most messages of a person in one chat.
const MOST: usize = 12;

/// The group's chat, as one page has it.
#[derive(Default)]
pub(super) struct Talking {
    chat: Option<Chat>,
    /// When the person writes the next message.
    due_us: Option<u64>,
    /// Number of messages that they have written in it.
    said: usize,
}

impl Talking {
    /// When something is due.
    pub(super) fn due_us(&self) -> Option<u64> {
        self.due_us
    }

    /// Messages that are written and not sent, with the one that the person is about to write; `None` where nobody
    /// writes.
    pub(super) fn unsent(&self) -> Option<Vec<Answer>> {
        let unsent = self.chat.as_ref()?.unsent(WORDS[0]).into_iter();
        let answer = |(number, text): (u32, String)| Answer {
            name: number.to_string(),
            value: serde_json::Value::from(text).to_string(),
        };
        Some(unsent.map(answer).collect())
    }
}

impl Bot {
    /// Handles a message of the server about the chat; returns true if it was one.
    pub(super) fn hears_talk(&mut self, now_us: u64, message: &ServerMessage) -> bool {
        let page_us = self.page_us(now_us);
        let known = self.talking.chat.as_mut();
        let is_known = known.is_some_and(|chat| chat.handle(page_us, message));
        match message {
            ServerMessage::Talk(talk) => {
                if !is_known {
                    self.talking = Talking {
                        chat: Some(Chat::new(page_us, talk.clone())),
                        ..Talking::default()
                    };
                }
                self.talking.due_us = Some(now_us + self.some(1, 8));
                talk.lines.iter().for_each(|line| self.reads(line));
                if let Some((may_ms, all_ms)) = talk.left_ms {
                    let company = talk.company.iter();
                    let people = company.filter(|talker| **talker != Talker::Ai).count();
                    self.waited(
                        now_us,
                        match people {
                            0 | 1 => Waited::Bot,
                            _ => Waited::Matched,
                        },
                    );
                    let (may_s, all_s) = (u64::from(may_ms) / 1_000, u64::from(all_ms) / 1_000);
                    self.doing("in a chat");
                    self.expect(all_s + 120, "for a chat to end");
                    // Some stay until the time is up.
                    let after_us = self.some(may_s + 1, all_s.max(may_s) + 20);
                    self.act = Some((now_us + after_us, Act::Done(Vec::new())));
                    self.drafts.begin(now_us, after_us);
                }
            }
            ServerMessage::Said { line, .. } => self.reads(line),
            ServerMessage::Unsaid { .. } | ServerMessage::Company { .. } => {}
            _ => return false,
        }
        true
    }

    /// Records a message that the person is shown, which is therefore durable.
    fn reads(&self, line: &Line) {
        self.record.lock().heard.insert(line.text.clone());
    }

    /// Writes a message, and sends messages that are due.
    pub(super) fn talk(&mut self, now_us: u64) {
        let page_us = self.page_us(now_us);
        let is_due = self.talking.due_us.is_some_and(|at_us| at_us <= now_us);
        if is_due && self.talking.said < MOST {
            self.talking.said += 1;
            let words = WORDS[self.rng.below(WORDS.len())];
            let mut record = self.record.lock();
            let text = format!("{words} {}.{}", record.number, record.wrote.len());
            record.wrote.insert(text.clone());
            drop(record);
            let tick = self
                .peer
                .as_ref()
                .and_then(|peer| Some(peer.session()?.current()));
            if let Some(chat) = &mut self.talking.chat {
                chat.say(Draft {
                    text,
                    sent_us: now_us,
                    tick,
                });
            }
        }
        if is_due {
            // Now and then somebody writes faster than the server accepts.
            self.talking.due_us = match self.talking.chat {
                Some(_) if self.talking.said < MOST || self.is_busy() => {
                    Some(now_us + self.some(0, 4).max(S / 5))
                }
                _ => None,
            };
        }
        let due = self.talking.chat.as_mut().filter(|_| self.is_welcome);
        if let Some(message) = due.and_then(|chat| chat.poll(page_us)) {
            self.say(message);
        }
    }

    /// Returns true if a message is under way.
    fn is_busy(&self) -> bool {
        self.talking
            .chat
            .as_ref()
            .is_some_and(|chat| !chat.is_kept())
    }
}
