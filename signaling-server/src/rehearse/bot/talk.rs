//! What the person writes to the others of the group, and what the server has promised to keep of it.

use peer::chat::{Chat, Draft};
use protocol::control::{Line, ServerMessage, Talker};

use super::person::Act;
use super::{Bot, S};
use crate::rehearse::record::Waited;

/// What people say; each message has a number too, so that no two are alike.
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

/// The talk of the group, as one page has it.
#[derive(Default)]
pub(super) struct Talking {
    chat: Option<Chat>,
    /// When the person says something next.
    due_us: Option<u64>,
    /// How much they have said in it.
    said: usize,
}

impl Talking {
    /// When there is something to do.
    pub(super) fn due_us(&self) -> Option<u64> {
        self.due_us
    }
}

impl Bot {
    /// The server tells of the talk; true if that is what it tells of.
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
                for line in talk.lines.iter().filter(|line| line.place == talk.place) {
                    self.is_kept(line);
                }
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
                }
            }
            ServerMessage::Said { line, .. } => {
                let own = self.talking.chat.as_ref().map(|chat| chat.talk().place);
                if own == Some(line.place) {
                    self.is_kept(line);
                }
            }
            ServerMessage::Unsaid { .. } | ServerMessage::Company { .. } => {}
            _ => return false,
        }
        true
    }

    /// The server has promised to keep a message of this person.
    fn is_kept(&self, line: &Line) {
        self.record.lock().said.insert(line.text.clone());
    }

    /// Says something, and sends what is to be sent.
    pub(super) fn talk(&mut self, now_us: u64) {
        let page_us = self.page_us(now_us);
        let is_due = self.talking.due_us.is_some_and(|at_us| at_us <= now_us);
        if is_due && self.talking.said < MOST {
            self.talking.said += 1;
            let words = WORDS[self.rng.below(WORDS.len())];
            let mut record = self.record.lock();
            let text = format!("{words} {}", record.wrote.len());
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
            // Now and then somebody writes faster than the server takes it.
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

    /// Whether something is on its way.
    fn is_busy(&self) -> bool {
        self.talking
            .chat
            .as_ref()
            .is_some_and(|chat| !chat.is_kept())
    }
}
