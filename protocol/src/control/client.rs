//! From a page to the server.

use serde::{Deserialize, Serialize};

use super::{Link, LobbyChoice, Recount, Upload};
use crate::{Era, Life, Seat, Tick};

/// The way in which a page enters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub enum Entry {
    /// Through the open door: a new session, if the study has one.
    Open,
    /// By the link of a recruiter, with its parameters: names and values.
    Sent(Vec<(String, String)>),
    /// With the token of a participant link.
    Invite(String),
    /// By the way back from a page of another site, with the ticket that it was given.
    Return(String),
    /// With the token of its session, after a reload or a lost connection.
    Resume {
        /// The token.
        token: String,
        /// The episode that this page still simulates, and its life in it: set after a lost connection, `None` after a
        /// reload. A page without it, or one whose seat has changed hands, comes back by
        /// [`super::ServerMessage::Return`].
        playing: Option<(Era, Life)>,
    },
}

/// One answer of a survey.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Answer {
    /// Name of the item.
    pub name: String,
    /// The value, as JSON.
    pub value: String,
}

/// A participant's work on a stage that is not done yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(default)]
pub struct Draft {
    /// The page of the stage, from 0.
    pub page: u16,
    /// Time on each page so far, milliseconds.
    pub pages_ms: Vec<u32>,
    /// The answers so far, whether or not the stage would take them.
    pub answers: Vec<Answer>,
}

/// From the page to the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[allow(clippy::large_enum_variant, reason = "a message is sent at once")]
pub enum ClientMessage {
    /// The first message.
    Hello {
        /// The way in which the page enters.
        entry: Entry,
        /// The language that the person asks for, as a tag such as `de`.
        language: Option<String>,
        /// The languages that they read, best first, as their browser reports them.
        reads: Vec<String>,
        /// The Ed25519 public key that the page has made for itself: it signs the inputs of its person.
        key: [u8; 32],
    },
    /// Asks for the server's time.
    Clock {
        /// Page clock.
        sent_us: u64,
    },
    /// The participant is done with a stage.
    StageDone {
        /// Index of the stage.
        stage: u16,
        /// Answers, for a survey.
        answers: Vec<Answer>,
        /// Time on each page of the stage, milliseconds.
        pages_ms: Vec<u32>,
    },
    /// The work on a stage so far, to be stored; replaces the draft before.
    Draft {
        /// Names it in [`super::ServerMessage::DraftKept`].
        number: u32,
        /// Index of the stage.
        stage: u16,
        /// The work.
        draft: Draft,
    },
    /// WebRTC signal for a peer of the episode.
    Signal {
        /// The seat of the receiver.
        to: Seat,
        /// The signal, as [`crate::signal`] encodes it.
        data: String,
    },
    /// A datagram for a peer, while WebRTC is not there.
    Relay {
        /// The seat of the receiver.
        to: Seat,
        /// The datagram.
        bytes: Vec<u8>,
    },
    /// Module loaded, links up (or given up): ready to play.
    Ready {
        /// The episode.
        era: Era,
        /// How datagrams travel to each seat; own and AI seats too, as `Direct`.
        links: Vec<Link>,
        /// Round trip to each seat that 95 of 100 stay within, microseconds; 0 for none.
        rtt_us: Vec<u32>,
        /// How many of a thousand packets of each seat were lost on the way here; `None` if that was not measured.
        loss_permille: Vec<Option<u16>>,
    },
    /// A link changed.
    LinkChanged {
        /// The episode.
        era: Era,
        /// The seat of the receiver.
        seat: Seat,
        /// The path of the packets now.
        link: Link,
    },
    /// Inputs of the person at this page, and notes.
    Upload(Upload),
    /// The participant leaves on purpose.
    Leave,
    /// The page failed; what it can report about it.
    Trouble {
        /// A description of the failure.
        message: String,
    },
    /// A seat was not heard for [`super::SILENT_MS`], or is heard again.
    Silent {
        /// The episode.
        era: Era,
        /// The seat.
        seat: Seat,
        /// True if it is silent.
        silent: bool,
    },
    /// The page went out of sight, or came back.
    Hidden {
        /// The episode.
        era: Era,
        /// True if it is out of sight.
        hidden: bool,
    },
    /// The person is there: a key, a touch, a click, or an answer to [`super::Ask::Presence`] or [`super::Ask::Return`].
    Here,
    /// Answers [`super::Ask::Choice`].
    Choose(LobbyChoice),
    /// The page is being closed or reloaded.
    Unloading,
    /// The page wants its seat in the running episode back: its own session has lost it.
    TakeBack {
        /// The episode.
        era: Era,
    },
    /// Another page sent this page something else than it sent the server, and sealed it.
    Recount {
        /// The episode.
        era: Era,
        /// The inputs that were sent, and the seal.
        recount: Recount,
    },
    /// The person writes to the others of the group: answered by [`super::ServerMessage::ChatMessage`] with this number, or by
    /// [`super::ServerMessage::ChatRefused`].
    WriteToGroup {
        /// As [`super::ChatView`] has it.
        group_visit: u16,
        /// How many messages the person has written before at this visit.
        number: u32,
        /// When the person sent it, by the page's estimate of the server clock.
        sent_us: u64,
        /// The tick that was shown then, if an episode ran.
        tick: Option<Tick>,
        /// Its text.
        text: String,
    },
    /// A view of a hosted world has come.
    ViewTaken {
        /// The episode.
        era: Era,
        /// Its number.
        number: u32,
        /// Width and height of the picture on the page, pixels of the screen; 0 before it is laid out.
        size: [u16; 2],
    },
    /// Asks what a point on the picture of a hosted world means; the answer is [`super::ServerMessage::Pointed`],
    /// unless many questions follow immediately.
    Point {
        /// The episode.
        era: Era,
        /// The number of the question.
        number: u32,
        /// The part of the picture's width that lies left of it, and of its height that lies above it, in 65,536ths.
        at: [u16; 2],
    },
    /// The person writes to the researchers: answered by [`super::ServerMessage::Exchange`] with a higher `next`, or by
    /// [`super::ServerMessage::NotWritten`].
    WriteToDesk {
        /// How many messages the person has written before.
        number: u32,
        /// Its text.
        text: String,
    },
    /// The person has read the messages of the researchers before this number of the exchange.
    ReadFromDesk {
        /// The number.
        before: u32,
    },
    /// The person answers a question of the researchers.
    AnswerCheck {
        /// The number of the message with the question, in the exchange.
        number: u32,
        /// The answer.
        answer: String,
    },
    /// The person presses a button of [`super::ShownButtons`], which answers it.
    Direct {
        /// The episode.
        era: Era,
        /// The seat of the AI partner.
        seat: Seat,
        /// The button.
        button: u8,
        /// The tick that was shown then.
        tick: Option<Tick>,
    },
}

impl ClientMessage {
    /// The first message of a page that takes any language.
    pub fn make_hello(entry: Entry) -> Self {
        Self::Hello {
            entry,
            language: None,
            reads: Vec::new(),
            key: [0; 32],
        }
    }
}
