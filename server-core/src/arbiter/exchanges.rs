//! The messages between each participant and the researchers: plain data, and the rules about one exchange.

use std::collections::BTreeMap;

use protocol::control::{AttentionCheck, DeskMessage, Exchange, MAX_CHAT_BYTES};

use super::bucket::Bucket;
use super::rows::DeskMessageRow;
use super::session::SessionId;
use crate::overview::ExchangeOverview;

/// The time by which an answer may come too late, as it travels: microseconds.
const LEEWAY_US: u64 = 2_000_000;

/// All exchanges, by session.
#[derive(Debug, Default)]
pub(super) struct Exchanges {
    by_session: BTreeMap<SessionId, DeskExchange>,
}

/// The messages between a participant and the researchers.
#[derive(Debug, Default)]
pub(super) struct DeskExchange {
    rows: Vec<DeskMessageRow>,
    /// How often the participant may write.
    pub writes: Bucket,
}

impl Exchanges {
    pub(super) fn get(&self, who: SessionId) -> Option<&DeskExchange> {
        self.by_session.get(&who)
    }

    pub(super) fn get_mut(&mut self, who: SessionId) -> &mut DeskExchange {
        self.by_session.entry(who).or_default()
    }

    /// Adds a message.
    pub(super) fn push(&mut self, who: SessionId, row: DeskMessageRow) {
        self.get_mut(who).rows.push(row);
    }

    /// Forgets the messages of somebody.
    pub(super) fn forget(&mut self, who: SessionId) {
        self.by_session.remove(&who);
    }

    /// Lists the exchanges that have messages, the one with the newest message first.
    pub(super) fn list(&self) -> Vec<ExchangeOverview> {
        let mut all: Vec<_> = self
            .by_session
            .values()
            .filter_map(DeskExchange::describe)
            .collect();
        all.sort_by_key(|it| std::cmp::Reverse(it.last_us));
        all
    }
}

impl DeskExchange {
    /// The number of the next message.
    pub(super) fn next_number(&self) -> u32 {
        self.rows.last().map_or(0, |row| row.number + 1)
    }

    /// How many messages the participant has written.
    pub(super) fn own_count(&self) -> u32 {
        self.rows.iter().filter(|row| row.is_own()).count() as u32
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Marks the messages of one side before a number as read. False if there is none that was not.
    pub(super) fn mark_read(&mut self, now_us: u64, own: bool, before: u32) -> bool {
        let unread = self
            .rows
            .iter_mut()
            .filter(|row| row.is_own() == own && row.number < before && row.read_us.is_none());
        let mut found = false;
        for row in unread {
            row.read_us = Some(now_us);
            found = true;
        }
        found
    }

    /// Takes the answer to the question with a number; returns false if there is no such question, its time is up, or
    /// the answer is not one of its choices.
    pub(super) fn take_answer(&mut self, now_us: u64, number: u32, answer: &str) -> bool {
        let row = self.rows.iter_mut().find(|row| row.number == number);
        let Some((at_us, check)) = row.and_then(|row| Some((row.at_us, row.check.as_mut()?)))
        else {
            return false;
        };
        let is_choice = check.choices.is_empty() || check.choices.iter().any(|it| it == answer);
        let until_us = at_us + u64::from(check.within_s) * 1_000_000 + LEEWAY_US;
        let takes = check.answer.is_none() && is_choice && now_us <= until_us;
        if takes {
            check.answer = Some((answer.to_owned(), now_us));
        }
        takes
    }

    /// The exchange as the page of the participant has it.
    pub(super) fn view(&self, is_open: bool) -> Exchange {
        let mut bytes = 0;
        let newest = self.rows.iter().rev().take_while(|row| {
            bytes += row.size();
            bytes <= MAX_CHAT_BYTES
        });
        let mut messages: Vec<DeskMessage> = newest.map(view_message).collect();
        messages.reverse();
        Exchange {
            is_open,
            next: self.own_count(),
            messages,
        }
    }

    fn describe(&self) -> Option<ExchangeOverview> {
        let last = self.rows.last()?;
        let unread = |own: bool| {
            let rows = self.rows.iter();
            rows.filter(move |row| row.is_own() == own && row.read_us.is_none())
        };
        Some(ExchangeOverview {
            participant: last.participant.clone(),
            messages: self.rows.len() as u32,
            unread: unread(true).count() as u32,
            unread_since_us: unread(true).map(|row| row.at_us).min(),
            unread_by_participant: unread(false).count() as u32,
            last_us: last.at_us,
        })
    }
}

fn view_message(row: &DeskMessageRow) -> DeskMessage {
    DeskMessage {
        number: row.number,
        is_own: row.is_own(),
        at_us: row.at_us,
        is_read: row.read_us.is_some(),
        text: row.text.clone(),
        check: row.check.as_ref().map(|check| AttentionCheck {
            choices: check.choices.clone(),
            within_s: check.within_s,
            answer: check.answer.as_ref().map(|(answer, _)| answer.clone()),
        }),
    }
}
