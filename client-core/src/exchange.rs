//! One page's part in what its participant and the researchers write to each other.
//!
//! Messages go out one after the other, each under its number, until the server has it: so each is stored once, however
//! often the connection is lost.

use std::collections::VecDeque;

use protocol::control::{
    AttentionCheck, ClientMessage, DeskMessage, Exchange, MessageRefusal, ServerMessage,
};

/// A message that was too fast is sent again after so long, microseconds.
const PAUSE_US: u64 = 3_000_000;

/// Time without an answer after which a message is sent again, microseconds.
const AGAIN_US: u64 = 5_000_000;

/// The messages between the participant of a page and the researchers.
#[derive(Clone, Debug, Default)]
pub struct DeskExchange {
    /// The exchange by the server's last message; `None` before it.
    told: Option<Exchange>,
    /// The texts that are on their way, the oldest first.
    queue: VecDeque<String>,
    /// The time at which the first of them is due, page clock, microseconds.
    due_us: u64,
    /// The texts that were not taken.
    refused: Vec<String>,
    /// An answer that is on its way, and the number of its question.
    answer: Option<(u32, String)>,
    /// The person has read everything before this number.
    read: u32,
    /// The server knows that messages before this number were read.
    told_read: u32,
    /// The number of changes so far.
    revision: u64,
}

impl DeskExchange {
    /// The number of changes so far.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// True if the person can write, or there is something to read.
    pub fn is_there(&self) -> bool {
        self.told
            .as_ref()
            .is_some_and(|told| told.is_open || !told.messages.is_empty())
    }

    /// True if the person can write.
    pub fn is_open(&self) -> bool {
        self.told.as_ref().is_some_and(|told| told.is_open)
    }

    /// The messages, the newest last.
    pub fn messages(&self) -> &[DeskMessage] {
        self.told.as_ref().map_or(&[], |told| &told.messages)
    }

    /// The texts that are on their way, the oldest first.
    pub fn queue(&self) -> impl Iterator<Item = &str> {
        self.queue.iter().map(String::as_str)
    }

    /// The texts that were not taken.
    pub fn refused_texts(&self) -> &[String] {
        &self.refused
    }

    /// The number of messages of the researchers that the person has not read.
    pub fn unread_count(&self) -> usize {
        let unread = |it: &&DeskMessage| !it.is_own && !it.is_read && it.number >= self.read;
        self.messages().iter().filter(unread).count()
    }

    /// The newest question whose time is not up at a time on the server's clock, microseconds, with the number of its message
    /// and the milliseconds that are left.
    pub fn open_check(&self, server_us: u64) -> Option<(u32, &AttentionCheck, u64)> {
        let mut newest = self.messages().iter().rev();
        newest.find_map(|message| {
            let check = message.check.as_ref()?;
            let until_us = message.at_us + u64::from(check.within_s) * 1_000_000;
            let left_us = until_us.saturating_sub(server_us);
            let is_answered = check.answer.is_some()
                || (self.answer.as_ref()).is_some_and(|(number, _)| *number == message.number);
            (left_us > 0 && !is_answered).then_some((message.number, check, left_us / 1_000))
        })
    }

    /// The person writes something.
    pub fn write(&mut self, text: String) {
        if self.is_open() {
            self.queue.push_back(text);
            self.revision += 1;
        }
    }

    /// The person answers a question.
    pub fn answer(&mut self, number: u32, answer: String) {
        self.answer = Some((number, answer));
        self.due_us = 0;
        self.revision += 1;
    }

    /// The person has the messages before their eyes.
    pub fn mark_read(&mut self) {
        let next = self.messages().last().map_or(0, |last| last.number + 1);
        if next > self.read {
            self.read = next;
            self.revision += 1;
        }
    }

    /// The next message to send.
    pub fn poll(&mut self, now_us: u64) -> Option<ClientMessage> {
        let told = self.told.as_ref()?;
        let is_news = |it: &DeskMessage| {
            !it.is_own && !it.is_read && (self.told_read..self.read).contains(&it.number)
        };
        if told.messages.iter().any(is_news) {
            self.told_read = self.read;
            return Some(ClientMessage::ReadFromDesk { before: self.read });
        }
        if now_us < self.due_us {
            return None;
        }
        let next = told.next;
        let message = match (&self.answer, self.queue.front()) {
            (Some((number, answer)), _) => ClientMessage::AnswerCheck {
                number: *number,
                answer: answer.clone(),
            },
            (None, Some(text)) => ClientMessage::WriteToDesk {
                number: next,
                text: text.clone(),
            },
            (None, None) => return None,
        };
        self.due_us = now_us + AGAIN_US;
        Some(message)
    }

    /// The time at which a message is due, page clock, microseconds, and the reason; `None` if none waits.
    pub fn poll_timeout(&self) -> Option<(u64, &'static str)> {
        let waits = self.answer.is_some() || !self.queue.is_empty();
        (waits && self.told.is_some()).then_some((self.due_us, "message to the researchers"))
    }

    /// Takes a message of the server; true if it was about this.
    pub fn handle_message(&mut self, now_us: u64, message: &ServerMessage) -> bool {
        match message {
            ServerMessage::Exchange(told) => self.handle_told(told.clone()),
            &ServerMessage::NotWritten { number, why } => self.handle_refusal(now_us, number, why),
            _ => return false,
        }
        self.revision += 1;
        true
    }

    /// Handles that the connection is gone: messages without an answer are sent again.
    pub fn handle_lost(&mut self) {
        (self.due_us, self.told_read) = (0, 0);
    }

    fn handle_told(&mut self, told: Exchange) {
        let before = self.told.as_ref().map_or(told.next, |before| before.next);
        for _ in before..told.next {
            self.queue.pop_front();
            self.due_us = 0;
        }
        // The server answers an answer whether it took it or not.
        if self.answer.take().is_some() {
            self.due_us = 0;
        }
        if !told.is_open {
            self.refused.extend(self.queue.drain(..));
        }
        self.told = Some(told);
    }

    fn handle_refusal(&mut self, now_us: u64, number: u32, why: MessageRefusal) {
        if self.told.as_ref().is_none_or(|told| told.next != number) {
            return;
        }
        match why {
            MessageRefusal::TooFast => self.due_us = now_us + PAUSE_US,
            MessageRefusal::NotTaken | MessageRefusal::Closed => {
                self.refused.extend(self.queue.pop_front());
                self.due_us = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(number: u32, is_own: bool, is_read: bool) -> DeskMessage {
        DeskMessage {
            number,
            is_own,
            at_us: 1_000_000,
            is_read,
            text: format!("text {number}"),
            check: None,
        }
    }

    fn told(next: u32, messages: Vec<DeskMessage>) -> ServerMessage {
        ServerMessage::Exchange(Exchange {
            is_open: true,
            next,
            messages,
        })
    }

    fn written(number: u32, text: &str) -> Option<ClientMessage> {
        let text = text.to_owned();
        Some(ClientMessage::WriteToDesk { number, text })
    }

    #[test]
    fn nobody_writes_before_the_server_offers_it() {
        let mut exchange = DeskExchange::default();
        exchange.write("one".to_owned());
        assert_eq!((exchange.is_there(), exchange.poll(1)), (false, None));
        assert_eq!(exchange.queue().count(), 0);
    }

    #[test]
    fn a_message_is_sent_until_the_server_has_it_and_then_the_next() {
        let mut exchange = DeskExchange::default();
        assert!(exchange.handle_message(0, &told(2, Vec::new())));
        exchange.write("one".to_owned());
        exchange.write("two".to_owned());
        assert_eq!(exchange.poll(10), written(2, "one"));
        assert_eq!(exchange.poll(20), None);
        assert_eq!(exchange.poll(10 + AGAIN_US), written(2, "one"));
        exchange.handle_lost();
        assert_eq!(exchange.poll(30), written(2, "one"), "a new connection");
        exchange.handle_message(40, &told(3, vec![message(0, true, false)]));
        assert_eq!(exchange.poll(50), written(3, "two"));
        exchange.handle_lost();
        exchange.handle_message(60, &told(4, Vec::new()));
        assert_eq!(
            exchange.poll(70),
            None,
            "it was stored, and its answer lost"
        );
        assert_eq!(exchange.poll_timeout(), None);
    }

    #[test]
    fn what_is_too_fast_waits_and_what_is_not_taken_is_told() {
        let mut exchange = DeskExchange::default();
        exchange.handle_message(0, &told(0, Vec::new()));
        exchange.write("one".to_owned());
        exchange.poll(0);
        let refused = |number, why| ServerMessage::NotWritten { number, why };
        exchange.handle_message(10, &refused(7, MessageRefusal::NotTaken));
        assert!(exchange.refused_texts().is_empty(), "that is another one");
        exchange.handle_message(10, &refused(0, MessageRefusal::TooFast));
        assert_eq!(exchange.poll(10 + PAUSE_US - 1), None);
        assert_eq!(exchange.poll(10 + PAUSE_US), written(0, "one"));
        exchange.handle_message(20, &refused(0, MessageRefusal::NotTaken));
        assert_eq!(exchange.refused_texts(), ["one"]);
    }

    #[test]
    fn what_is_read_is_told_once_and_again_after_a_lost_connection() {
        let mut exchange = DeskExchange::default();
        let messages = vec![
            message(0, false, true),
            message(1, true, false),
            message(2, false, false),
        ];
        exchange.handle_message(0, &told(1, messages));
        assert_eq!((exchange.unread_count(), exchange.poll(0)), (1, None));
        exchange.mark_read();
        let read = Some(ClientMessage::ReadFromDesk { before: 3 });
        assert_eq!(
            (exchange.unread_count(), exchange.poll(0)),
            (0, read.clone())
        );
        assert_eq!(exchange.poll(0), None);
        exchange.handle_lost();
        assert_eq!(exchange.poll(0), read);
    }

    #[test]
    fn a_question_is_open_until_it_is_answered_or_its_time_is_up() {
        let mut exchange = DeskExchange::default();
        let check = AttentionCheck {
            choices: Vec::new(),
            within_s: 30,
            answer: None,
        };
        let question = DeskMessage {
            check: Some(check.clone()),
            ..message(4, false, false)
        };
        exchange.handle_message(0, &told(0, vec![question]));
        let left_ms = |exchange: &DeskExchange, us| exchange.open_check(us).map(|(.., left)| left);
        assert_eq!(left_ms(&exchange, 1_000_000), Some(30_000));
        assert_eq!(left_ms(&exchange, 31_000_000), None);
        exchange.answer(4, "yes".to_owned());
        assert_eq!(left_ms(&exchange, 2_000_000), None, "it is on its way");
        let (number, answer) = (4, "yes".to_owned());
        assert_eq!(
            exchange.poll(0),
            Some(ClientMessage::AnswerCheck { number, answer })
        );
    }
}
