//! From the server to a page.

use serde::{Deserialize, Serialize};

use super::{
    Absent, ChatMember, ChatMessage, ChatView, Draft, Exchange, MAX_MESSAGE, MessageRefusal, Plan,
    ShownButtons, StageView, Waiting,
};
use crate::change::{Change, Presence};
use crate::{Era, Life, Seat, Tick};

/// The reason why a page is refused. The page has a sentence for each reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub enum Refusal {
    /// No such link or session.
    UnknownLink,
    /// The link lacks what names the person.
    Incomplete,
    /// The study has no room now.
    Full,
    /// The page speaks another version: reload.
    OldPage,
    /// A message was malformed.
    Malformed,
    /// The server is stopping.
    Stopping,
}

/// The reason why an episode ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub enum EndReason {
    /// The environment said so, on a confirmed tick.
    Played,
    /// A person left and did not come back.
    PartnerLeft,
    /// The server or the last page was away too long.
    Technical,
}

/// From the server to the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub enum ServerMessage {
    /// The page is in.
    Welcome {
        /// Session token, for [`super::Entry::Resume`].
        session: String,
        /// Title of the study.
        title: String,
        /// The language in which the participant reads the study.
        language: String,
        /// The languages that they can choose from; empty if there is only that one.
        languages: Vec<String>,
        /// The address that participants can write to.
        contact: String,
        /// SHA-256 of the modules that the study plays, lower-case hex: to be fetched while there is time.
        modules: Vec<String>,
    },
    /// The page is not in, or no longer.
    Refused {
        /// The reason.
        why: Refusal,
    },
    /// A newer page of the same session plays on; this one stops.
    Superseded,
    /// The person only previews the work; no session begins.
    Preview {
        /// Title of the study.
        title: String,
    },
    /// The server's time.
    Clock {
        /// As the page sent it.
        sent_us: u64,
        /// Server clock.
        server_us: u64,
    },
    /// The participant's place in the study.
    Stage {
        /// Index of the stage.
        index: u16,
        /// Number of stages.
        count: u16,
        /// Id of the stage in the study file.
        id: String,
        /// The view to show.
        view: StageView,
        /// Earlier work on it, on this page or another one.
        draft: Option<Draft>,
        /// True if it is shown again because answers to a quiz were not right.
        again: bool,
    },
    /// A draft is durable.
    DraftKept {
        /// Its number.
        number: u32,
    },
    /// The state of the wait in a lobby.
    Waiting(Waiting),
    /// The members of the group who have not come yet.
    Missing {
        /// The people who are awaited.
        absent: Vec<Absent>,
        /// Places in the group.
        of: u8,
        /// Milliseconds until the study's choice for those who do not come.
        left_ms: u32,
    },
    /// An episode was made with this participant in it.
    Match(Plan),
    /// Everyone is ready.
    Start {
        /// The episode.
        era: Era,
        /// When tick 0 is due, server clock.
        t0_us: u64,
        /// Input delay of every seat, ticks.
        input_delay: u8,
    },
    /// The session takes part in this running episode: upload from here on.
    Running {
        /// The episode.
        era: Era,
        /// Ticks that are durable.
        through: Tick,
        /// The page's own inputs before this tick are durable: it is to upload from there on.
        own: Tick,
        /// Every change so far.
        changes: Vec<Change>,
    },
    /// WebRTC signal from a peer.
    Signal {
        /// The seat of the sender.
        from: Seat,
        /// The signal, as [`crate::signal`] encodes it.
        data: String,
    },
    /// A datagram from a peer.
    Relay {
        /// The seat of the sender.
        from: Seat,
        /// The datagram.
        bytes: Vec<u8>,
    },
    /// Uploads are durable.
    Archived {
        /// The episode.
        era: Era,
        /// Ticks that are final: the inputs of everybody, each from their own page, are durable.
        through: Tick,
        /// The page's own inputs before this tick are durable, and may be forgotten.
        own: Tick,
        /// Digests of this page up to this tick are those of the replica: the page keeps the states after it.
        agreed: Tick,
        /// Notes of time and network of this page life that are durable: those before this number may be forgotten.
        notes: u32,
    },
    /// The presence of another person.
    Peer {
        /// The episode.
        era: Era,
        /// The seat.
        seat: Seat,
        /// Present, hidden, gone or returning.
        presence: Presence,
        /// Milliseconds until the study's choice for people who stay away; 0 if nobody waits for that.
        left_ms: u32,
    },
    /// The episode is over, verified by the replica.
    Ended {
        /// The episode.
        era: Era,
        /// The reason.
        reason: EndReason,
        /// Ticks in the archive.
        ticks: Tick,
        /// Score, from the replica.
        score: i64,
        /// Digest of the replica's last state.
        digest: u64,
    },
    /// Inputs of another seat, from that person's own page: they count before any that came another way.
    Inputs {
        /// The episode.
        era: Era,
        /// The seat.
        seat: Seat,
        /// Its life.
        life: Life,
        /// The first tick.
        first: Tick,
        /// The inputs from there on.
        inputs: Vec<u16>,
    },
    /// The digests of this page differ from the replica's. It has just received the inputs of everybody else; it goes
    /// back, and sends its digests after a tick again.
    Recheck {
        /// The episode.
        era: Era,
        /// The number of the request, which the next uploads name.
        number: u16,
        /// The last tick at which the digests were equal.
        agreed: Tick,
    },
    /// A seat changes hands.
    Change {
        /// The episode.
        era: Era,
        /// The new controller, and the tick from which on it plays.
        change: Change,
    },
    /// A part of a state that is too long for one message; [`ServerMessage::Return`] brings the last.
    Part {
        /// The episode.
        era: Era,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A page that is ready comes back into the running episode.
    Return(Return),
    /// The people of the group can write to each other from now on; the messages so far.
    Chat(ChatView),
    /// Somebody of the group has written something, the participant of this page included.
    ChatMessage {
        /// As [`super::ChatView`] has it.
        group_visit: u16,
        /// The message.
        message: ChatMessage,
    },
    /// A message of this page was not taken.
    ChatRefused {
        /// As [`super::ChatView`] has it.
        group_visit: u16,
        /// Its number.
        number: u32,
        /// The reason.
        why: MessageRefusal,
    },
    /// Others of those who write have come or gone.
    ChatMembers {
        /// As [`super::ChatView`] has it.
        group_visit: u16,
        /// The state of each place.
        members: Vec<ChatMember>,
    },
    /// The view that a seat has of a hosted world now.
    View(HostView),
    /// Answers [`super::ClientMessage::Point`].
    Pointed {
        /// The episode.
        era: Era,
        /// The number of the question.
        number: u32,
        /// The action that the point means; `None` if it means nothing.
        action: Option<u16>,
    },
    /// The messages between the participant and the researchers, once the page is in and whenever they change.
    Exchange(Exchange),
    /// A message of this page to the researchers was not taken.
    NotWritten {
        /// Its number.
        number: u32,
        /// The reason.
        why: MessageRefusal,
    },
    /// The buttons for an AI partner, once the episode runs, whenever the page comes back, and whenever they change.
    Buttons(ShownButtons),
}

/// The view that a seat has of a hosted world, as far as it has changed since the view before. Every view that is sent counts, so
/// none may be left out on the way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct HostView {
    /// The episode.
    pub era: Era,
    /// Counts the views of this page from 0.
    pub number: u32,
    /// Ticks played.
    pub tick: Tick,
    /// For each choice of the page's person that entered since the view before, in order, the tick that it entered.
    pub entered: Vec<Tick>,
    /// The number of the first of these choices.
    pub first: u32,
    /// True if the episode is over: no other view follows.
    pub over: bool,
    /// The picture and the scores, as `env-core` writes them for one seat.
    pub bytes: Vec<u8>,
}

/// The most bytes of a state in one message.
pub const MAX_PART: usize = MAX_MESSAGE / 2;

/// The state at which a page comes back into a running episode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Return {
    /// The episode.
    pub era: Era,
    /// When tick 0 was due, server clock.
    pub t0_us: u64,
    /// Ticks are due this many milliseconds later by now, as far as the server knows.
    pub delay_ms: u32,
    /// Input delay of every seat, ticks.
    pub input_delay: u8,
    /// Every change so far; the last one of this page's seat says from which tick on it plays.
    pub changes: Vec<Change>,
    /// The state after this many steps: all of them are durable.
    pub tick: Tick,
    /// The digest of that state.
    pub digest: u64,
    /// The canonical bytes of that state, or the last part of them.
    pub state: Vec<u8>,
    /// The state of the policy of each AI seat, before it chooses for `tick`.
    pub partners: Vec<(Seat, Vec<u8>)>,
}

impl ServerMessage {
    /// Returns the episode of the message, if it names one.
    pub fn era(&self) -> Option<Era> {
        match self {
            Self::Start { era, .. }
            | Self::Running { era, .. }
            | Self::Archived { era, .. }
            | Self::Peer { era, .. }
            | Self::Ended { era, .. }
            | Self::Inputs { era, .. }
            | Self::Recheck { era, .. }
            | Self::Change { era, .. }
            | Self::Pointed { era, .. }
            | Self::Part { era, .. } => Some(*era),
            Self::Return(back) => Some(back.era),
            Self::View(view) => Some(view.era),
            _ => None,
        }
    }
}
