//! Some of the people of a virtual rehearsal: each has a separate line, and people meet only through the server.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

use protocol::control;

use super::network::{Down, Lines, Sent, Stream, Up};
use crate::bot::{Bot, BotEffect, RawFrame, StudyInfo, Ticket, WireId};

/// The finest timer of a page, microseconds.
const TIMER_US: u64 = 1_000;

/// Some of the people, on one thread at a time.
pub(super) struct People {
    info: Arc<StudyInfo>,
    people: BTreeMap<usize, Person>,
    /// The next time of each person, and the person; an entry that the person has replaced is void.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    left: usize,
    sent: Vec<Sent<(WireId, Up)>>,
}

/// A person.
struct Person {
    ticket: Option<Ticket>,
    bot: Option<Bot>,
    line: Stream,
    is_server_up: bool,
    /// Messages under way to them.
    coming: VecDeque<(u64, Down)>,
    /// When the bot wants to be called, microseconds.
    wakes_us: u64,
    /// The entry that counts among those of all.
    next_us: u64,
}

impl People {
    /// The people of these tickets, by number, who have not arrived.
    pub(super) fn new(
        (seed, lines): (u64, Lines),
        info: Arc<StudyInfo>,
        tickets: Vec<(usize, Ticket)>,
    ) -> Self {
        let mut people = Self {
            info,
            people: BTreeMap::new(),
            next: BinaryHeap::new(),
            left: tickets.len(),
            sent: Vec::new(),
        };
        for (number, ticket) in tickets {
            let person = Person {
                wakes_us: ticket.arrives_us,
                next_us: ticket.arrives_us,
                ticket: Some(ticket),
                bot: None,
                line: Stream::up(lines, seed, number),
                is_server_up: true,
                coming: VecDeque::new(),
            };
            people.next.push(Reverse((person.next_us, number)));
            people.people.insert(number, person);
        }
        people
    }

    /// Returns true if nobody takes part any more.
    pub(super) fn is_over(&self) -> bool {
        self.left == 0
    }

    /// When somebody does something next.
    pub(super) fn next_us(&self) -> Option<u64> {
        self.next.peek().map(|Reverse((at_us, _))| *at_us)
    }

    /// Something is under way to a person.
    pub(super) fn take(&mut self, sent: Sent<Down>) {
        let Some(person) = self.people.get_mut(&sent.person) else {
            return;
        };
        person.coming.push_back((sent.at_us, sent.what));
        if person.plan() {
            self.next.push(Reverse((person.next_us, sent.person)));
        }
    }

    /// Runs everybody until a time.
    pub(super) fn run(&mut self, until_us: u64) {
        while let Some(Reverse((at_us, number))) = self.next.peek().copied()
            && at_us < until_us
        {
            self.next.pop();
            let Some(person) = self.people.get_mut(&number) else {
                continue;
            };
            if person.next_us != at_us {
                continue;
            }
            let was_over = person.is_over();
            person.run(at_us, &self.info, number, &mut self.sent);
            self.left -= usize::from(person.is_over() && !was_over);
            person.next_us = u64::MAX;
            if person.plan() {
                self.next.push(Reverse((person.next_us, number)));
            }
        }
    }

    /// Takes what they have sent.
    pub(super) fn take_sent(&mut self) -> Vec<Sent<(WireId, Up)>> {
        std::mem::take(&mut self.sent)
    }
}

impl Person {
    fn is_over(&self) -> bool {
        self.bot.as_ref().is_some_and(Bot::is_over)
    }

    /// Finds out when they are next; returns true if that is another time than before.
    fn plan(&mut self) -> bool {
        let coming_us = self.coming.front().map_or(u64::MAX, |(at_us, _)| *at_us);
        let next_us = coming_us.min(self.wakes_us);
        let is_news = next_us < u64::MAX && next_us != self.next_us;
        self.next_us = next_us;
        is_news
    }

    /// Handles what has come by now, and does what is due.
    fn run(
        &mut self,
        now_us: u64,
        info: &Arc<StudyInfo>,
        number: usize,
        sent: &mut Vec<Sent<(WireId, Up)>>,
    ) {
        if let Some(ticket) = self.ticket.take_if(|ticket| ticket.arrives_us <= now_us) {
            let mut bot = Bot::new(now_us, Arc::clone(info), ticket);
            bot.handle_server(now_us, self.is_server_up);
            self.bot = Some(bot);
        }
        while let Some((_, down)) = self.coming.pop_front_if(|(at_us, _)| *at_us <= now_us) {
            self.hear(now_us, down);
        }
        let Some(bot) = &mut self.bot else { return };
        if self.wakes_us <= now_us {
            bot.handle_timeout(now_us);
        }
        if let Some((_, what)) = bot.overdue_stage(now_us) {
            bot.give_up(format!("waited in vain {what}"));
        }
        let due = bot.poll_timeout(now_us);
        self.wakes_us = due.map_or(u64::MAX, |(due_us, _)| due_us.max(now_us + TIMER_US));
        while let Some(effect) = bot.poll_effect() {
            let (wire, what) = match effect {
                BotEffect::Open(wire) => (wire, Up::Dial),
                BotEffect::Send(wire, message) => (wire, Up::Bytes(control::encode(&message))),
                BotEffect::SendRaw(wire, RawFrame::Binary(bytes)) => (wire, Up::Bytes(bytes)),
                BotEffect::SendRaw(wire, RawFrame::Text(_)) => (wire, Up::Text),
                BotEffect::Close(wire) | BotEffect::Cut(wire) => (wire, Up::Gone),
                // A bot without WebRTC asks for none of these.
                BotEffect::OpenChannels(_) | BotEffect::CloseChannels | BotEffect::Channel(_) => {
                    continue;
                }
            };
            sent.push(Sent {
                at_us: self.line.arrives_us(now_us),
                person: number,
                what: (wire, what),
            });
        }
    }

    fn hear(&mut self, now_us: u64, down: Down) {
        if let Down::Server(is_up) = down {
            self.is_server_up = is_up;
        }
        let Some(bot) = &mut self.bot else { return };
        match down {
            Down::Opened(wire) => bot.handle_opened(now_us, wire),
            Down::Bytes(wire, bytes) => match control::decode(&bytes) {
                Ok(message) => bot.handle_message(now_us, wire, message),
                Err(error) => bot.handle_garbled(&error.to_string()),
            },
            Down::Lost(wire) => bot.handle_closed(now_us, wire),
            Down::Server(is_up) => bot.handle_server(now_us, is_up),
        }
    }
}
