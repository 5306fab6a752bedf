//! One page's part in a group's chat: the messages to read, and the messages on their way.
//!
//! Messages are sent one after the other, each under its number, until the server has answered: so each is stored once,
//! in the order of writing, however often the connection is lost.

use std::collections::VecDeque;

use protocol::Tick;
use protocol::control::{
    ChatMember, ChatMessage, ChatView, ClientMessage, MessageRefusal, ServerMessage,
};

/// A message that was too fast is sent again after so long, microseconds.
const PAUSE_US: u64 = 1_500_000;

/// Time without an answer after which a message is sent again, microseconds.
const AGAIN_US: u64 = 5_000_000;

/// A message on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingMessage {
    /// Its text.
    pub text: String,
    /// The time at which the person sent it, by the page's estimate of the server clock, microseconds.
    pub sent_us: u64,
    /// The tick that was shown then.
    pub tick: Option<Tick>,
}

/// The chat of a group, as one of its pages has it.
#[derive(Clone, Debug)]
pub struct Chat {
    view: ChatView,
    /// The time at which the server sent the whole chat, page clock, microseconds.
    told_us: u64,
    queue: VecDeque<OutgoingMessage>,
    /// The time at which the first of them is due, page clock, microseconds.
    due_us: u64,
    /// True if nobody writes any more.
    closed: bool,
    /// The messages that were not taken.
    unsaid: Vec<OutgoingMessage>,
    /// The number of changes so far.
    revision: u64,
}

impl Chat {
    /// Begins with the server's message to a page that enters the chat.
    pub fn new(now_us: u64, view: ChatView) -> Self {
        Self {
            view,
            told_us: now_us,
            queue: VecDeque::new(),
            due_us: 0,
            closed: false,
            unsaid: Vec::new(),
            revision: 0,
        }
    }

    /// The number of changes so far.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// True if somebody else is there, or may come back.
    pub fn has_company(&self) -> bool {
        let places = self.view.members.iter().enumerate();
        let mut others = places.filter(|(place, _)| *place != self.view.place.index());
        others.any(|(_, member)| matches!(member, ChatMember::Here | ChatMember::Away))
    }

    /// True if somebody may read what the person writes.
    pub fn is_heard(&self) -> bool {
        !self.closed && self.has_company()
    }

    /// The messages known so far.
    pub fn view(&self) -> &ChatView {
        &self.view
    }

    /// The messages on their way, the oldest first.
    pub fn queue(&self) -> impl Iterator<Item = &OutgoingMessage> {
        self.queue.iter()
    }

    /// The messages that were not taken.
    pub fn unsent_messages(&self) -> &[OutgoingMessage] {
        &self.unsaid
    }

    /// True if nobody writes any more.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Milliseconds until a member can continue, and until all do; `None` beside an episode.
    pub fn left_ms(&self, now_us: u64) -> Option<(u64, u64)> {
        let (may_ms, all_ms) = self.view.left_ms?;
        let gone_ms = now_us.saturating_sub(self.told_us) / 1_000;
        let left = |ms: u32| u64::from(ms).saturating_sub(gone_ms);
        Some((left(may_ms), left(all_ms)))
    }

    /// The person writes something.
    pub fn queue_message(&mut self, draft: OutgoingMessage) {
        if !self.closed {
            self.queue.push_back(draft);
            self.revision += 1;
        }
    }

    /// The next message to send.
    pub fn poll(&mut self, now_us: u64) -> Option<ClientMessage> {
        let first = self.queue.front().filter(|_| now_us >= self.due_us)?;
        self.due_us = now_us + AGAIN_US;
        Some(ClientMessage::WriteToGroup {
            group_visit: self.view.group_visit,
            number: self.view.next,
            sent_us: first.sent_us,
            tick: first.tick,
            text: first.text.clone(),
        })
    }

    /// The time at which a message is due, page clock, microseconds, and the reason; `None` if none waits.
    pub fn poll_timeout(&self) -> Option<(u64, &'static str)> {
        self.queue.front().map(|_| (self.due_us, "chat message"))
    }

    /// The texts not known to be durable, with the one in the field: each text under the number that its
    /// message has or will have.
    pub fn list_unsent(&self, typed: &str) -> Vec<(u32, String)> {
        let queue = self.queue.iter().map(|draft| draft.text.as_str());
        let typed = Some(typed).filter(|typed| !typed.is_empty());
        let texts = queue.chain(typed).map(str::to_owned);
        (self.view.next..).zip(texts).collect()
    }

    /// Returns the texts that an earlier page had in its field or on its way, without those that the server has taken
    /// since.
    pub fn still_unsent(&self, before: Vec<(u32, String)>) -> String {
        let left = before.into_iter();
        let left = left.filter(|(number, _)| *number >= self.view.next);
        let texts: Vec<String> = left.map(|(_, text)| text).collect();
        texts.join("\n")
    }

    /// True if everything that was written is durable.
    pub fn is_kept(&self) -> bool {
        self.queue.is_empty()
    }

    /// Takes a message of the server; true if it was about this.
    pub fn handle(&mut self, now_us: u64, message: &ServerMessage) -> bool {
        match message {
            ServerMessage::Chat(view) if view.group_visit == self.view.group_visit => {
                self.again(now_us, view.clone());
            }
            ServerMessage::ChatMessage {
                group_visit,
                message,
            } if *group_visit == self.view.group_visit => self.hear(message),
            &ServerMessage::ChatRefused {
                group_visit,
                number,
                why,
            } if group_visit == self.view.group_visit => {
                self.refused(now_us, number, why);
            }
            ServerMessage::ChatMembers {
                group_visit,
                members,
            } if *group_visit == self.view.group_visit => {
                self.view.members.clone_from(members);
            }
            _ => return false,
        }
        self.revision += 1;
        true
    }

    /// Takes the whole chat again from the server, after a lost connection, or because another episode begins.
    fn again(&mut self, now_us: u64, view: ChatView) {
        for _ in self.view.next..view.next {
            self.queue.pop_front();
        }
        (self.view, self.told_us, self.due_us, self.closed) = (view, now_us, 0, false);
    }

    fn hear(&mut self, message: &ChatMessage) {
        let is_known =
            |known: &ChatMessage| (known.place, known.number) == (message.place, message.number);
        // A message that comes twice because its answer was late.
        if self.view.messages.iter().any(is_known) {
            return;
        }
        self.view.messages.push(message.clone());
        if message.place == self.view.place && message.number == self.view.next {
            self.view.next += 1;
            self.queue.pop_front();
            self.due_us = 0;
        }
    }

    fn refused(&mut self, now_us: u64, number: u32, why: MessageRefusal) {
        if number != self.view.next {
            return;
        }
        match why {
            MessageRefusal::TooFast => self.due_us = now_us + PAUSE_US,
            MessageRefusal::NotTaken => {
                self.unsaid.extend(self.queue.pop_front());
                self.due_us = 0;
            }
            MessageRefusal::Closed => self.close(),
        }
    }

    /// Closes the chat: messages that are still on their way are not taken.
    pub fn close(&mut self) {
        self.closed = true;
        self.revision += 1;
        self.unsaid.extend(self.queue.drain(..));
    }
}

#[cfg(test)]
mod tests {
    use protocol::Seat;

    use super::*;

    fn view(next: u32) -> ChatView {
        ChatView {
            group_visit: 3,
            place: Seat(0),
            members: vec![ChatMember::Here, ChatMember::Here],
            names: Vec::new(),
            max_length: 10,
            left_ms: Some((1_000, 60_000)),
            next,
            messages: Vec::new(),
        }
    }

    fn draft(text: &str) -> OutgoingMessage {
        OutgoingMessage {
            text: text.to_owned(),
            sent_us: 5,
            tick: None,
        }
    }

    fn said(place: u8, number: u32, text: &str) -> ServerMessage {
        ServerMessage::ChatMessage {
            group_visit: 3,
            message: ChatMessage {
                place: Seat(place),
                number,
                at_us: 9,
                text: text.to_owned(),
            },
        }
    }

    /// Returns number and text of the message that is sent now.
    fn sent(chat: &mut Chat, now_us: u64) -> Option<(u32, String)> {
        chat.poll(now_us).map(|message| match message {
            ClientMessage::WriteToGroup { number, text, .. } => (number, text),
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn one_message_is_on_its_way_at_a_time_and_each_is_sent_until_it_is_answered() {
        let mut chat = Chat::new(0, view(4));
        chat.queue_message(draft("one"));
        chat.queue_message(draft("two"));
        assert_eq!(sent(&mut chat, 10), Some((4, "one".to_owned())));
        assert_eq!(sent(&mut chat, 20), None);
        assert_eq!(
            sent(&mut chat, 10 + AGAIN_US),
            Some((4, "one".to_owned())),
            "nobody answers"
        );
        assert!(chat.handle(30, &said(1, 0, "hello")));
        assert_eq!(sent(&mut chat, 40), None, "somebody else's message");
        assert!(chat.handle(50, &said(0, 4, "one")));
        assert!(chat.handle(50, &said(0, 4, "one")));
        assert_eq!(sent(&mut chat, 60), Some((5, "two".to_owned())));
        let lines: Vec<&str> = chat
            .view()
            .messages
            .iter()
            .map(|message| message.text.as_str())
            .collect();
        assert_eq!(lines, ["hello", "one"]);
    }

    #[test]
    fn who_has_nobody_to_write_to_is_not_heard() {
        let mut chat = Chat::new(0, view(4));
        assert!(chat.is_heard());
        for (other, is_heard) in [
            (ChatMember::Away, true),
            (ChatMember::Left, false),
            (ChatMember::Here, true),
            (ChatMember::Ai, false),
        ] {
            let company = ServerMessage::ChatMembers {
                group_visit: 3,
                members: vec![ChatMember::Here, other],
            };
            assert!(chat.handle(10, &company));
            assert_eq!(chat.is_heard(), is_heard, "{other:?}");
        }
    }

    #[test]
    fn after_a_lost_connection_what_was_stored_is_not_sent_again() {
        for (next, then) in [(5, (5, "two")), (4, (4, "one"))] {
            let mut chat = Chat::new(0, view(4));
            chat.queue_message(draft("one"));
            chat.queue_message(draft("two"));
            sent(&mut chat, 10);
            assert!(chat.handle(20, &ServerMessage::Chat(view(next))));
            assert_eq!(sent(&mut chat, 30), Some((then.0, then.1.to_owned())));
        }
    }

    #[test]
    fn another_page_has_what_was_not_sent_and_nothing_that_was_stored() {
        let mut chat = Chat::new(0, view(4));
        assert_eq!(chat.list_unsent(""), []);
        chat.queue_message(draft("one"));
        let unsent = chat.list_unsent("tw");
        assert_eq!(unsent, [(4, "one".to_owned()), (5, "tw".to_owned())]);
        for (next, left) in [(4, "one\ntw"), (5, "tw"), (6, "")] {
            let other = Chat::new(0, view(next));
            assert_eq!(other.still_unsent(unsent.clone()), left);
        }
    }

    #[test]
    fn what_is_too_fast_is_sent_again_and_what_is_not_taken_is_told() {
        let unsaid = |number, why| ServerMessage::ChatRefused {
            group_visit: 3,
            number,
            why,
        };
        let mut chat = Chat::new(0, view(0));
        for text in ["one", "two", "three"] {
            chat.queue_message(draft(text));
        }
        sent(&mut chat, 10);
        chat.handle(20, &unsaid(0, MessageRefusal::TooFast));
        assert_eq!(sent(&mut chat, 30), None);
        assert_eq!(sent(&mut chat, 20 + PAUSE_US), Some((0, "one".to_owned())));
        chat.handle(40, &unsaid(7, MessageRefusal::NotTaken));
        assert!(chat.unsent_messages().is_empty(), "that is another one");
        chat.handle(50, &unsaid(0, MessageRefusal::NotTaken));
        assert_eq!(sent(&mut chat, 60), Some((0, "two".to_owned())));
        chat.handle(70, &unsaid(0, MessageRefusal::Closed));
        let left: Vec<&str> = chat
            .unsent_messages()
            .iter()
            .map(|one| one.text.as_str())
            .collect();
        assert_eq!(left, ["one", "two", "three"]);
        assert!(chat.is_closed() && chat.is_kept());
        chat.queue_message(draft("four"));
        assert!(chat.is_kept(), "nobody is there to write to");
    }

    #[test]
    fn time_runs_from_when_the_server_told_it() {
        let chat = Chat::new(5_000_000, view(0));
        assert_eq!(chat.left_ms(5_500_000), Some((500, 59_500)));
        assert_eq!(chat.left_ms(7_000_000), Some((0, 58_000)));
    }

    #[test]
    fn what_is_about_another_visit_is_not_taken() {
        let mut chat = Chat::new(0, view(0));
        let other = ChatView {
            group_visit: 4,
            ..view(9)
        };
        assert!(!chat.handle(0, &ServerMessage::Chat(other)));
        assert!(!chat.handle(0, &ServerMessage::Superseded));
        assert_eq!(chat.view().next, 0);
    }
}
