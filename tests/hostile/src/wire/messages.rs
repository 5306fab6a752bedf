//! Control messages between page and server, in the order of their variants and fields on the wire.

#![allow(
    dead_code,
    reason = "a message is read whole, whichever of its fields an attack needs"
)]

use serde::{Deserialize, Serialize};

pub(crate) use super::episode::*;
pub(crate) use super::view::*;

/// How a page comes in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Entry {
    Open,
    Sent(Vec<(String, String)>),
    Invite(String),
    Return(String),
    Resume {
        token: String,
        playing: Option<(u16, u8)>,
    },
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub name: String,
    pub value: String,
}

/// Work on a stage that is not done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Draft {
    pub page: u16,
    pub pages_ms: Vec<u32>,
    pub answers: Vec<Answer>,
}

/// A choice in a lobby.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum LobbyChoice {
    Wait,
    Ai,
    Leave,
}

/// From the page.
#[allow(clippy::large_enum_variant, reason = "a message is sent at once")]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum ClientMessage {
    Hello {
        entry: Entry,
        language: Option<String>,
        reads: Vec<String>,
        key: [u8; 32],
    },
    Clock {
        sent_us: u64,
    },
    StageDone {
        stage: u16,
        answers: Vec<Answer>,
        pages_ms: Vec<u32>,
    },
    Draft {
        number: u32,
        stage: u16,
        draft: Draft,
    },
    Signal {
        to: u8,
        data: String,
    },
    Relay {
        to: u8,
        bytes: Vec<u8>,
    },
    Ready {
        era: u16,
        links: Vec<Link>,
        rtt_us: Vec<u32>,
        loss_permille: Vec<Option<u16>>,
    },
    LinkChanged {
        era: u16,
        seat: u8,
        link: Link,
    },
    Upload(Upload),
    Leave,
    Trouble {
        message: String,
    },
    Silent {
        era: u16,
        seat: u8,
        silent: bool,
    },
    Hidden {
        era: u16,
        hidden: bool,
    },
    Here,
    Choose(LobbyChoice),
    Unloading,
    TakeBack {
        era: u16,
    },
    Recount {
        era: u16,
        recount: Recount,
    },
    WriteToGroup {
        group_visit: u16,
        number: u32,
        sent_us: u64,
        tick: Option<u32>,
        text: String,
    },
    ViewTaken {
        era: u16,
        number: u32,
        size: [u16; 2],
    },
    Point {
        era: u16,
        number: u32,
        at: [u16; 2],
    },
    WriteToDesk {
        number: u32,
        text: String,
    },
    ReadFromDesk {
        before: u32,
    },
    AnswerCheck {
        number: u32,
        answer: String,
    },
    Direct {
        era: u16,
        seat: u8,
        button: u8,
        tick: Option<u32>,
    },
}

/// Why a page is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Refusal {
    UnknownLink,
    Incomplete,
    Full,
    OldPage,
    Malformed,
    Stopping,
}

/// From the server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum ServerMessage {
    Welcome {
        session: String,
        title: String,
        language: String,
        languages: Vec<String>,
        contact: String,
        modules: Vec<String>,
    },
    Refused {
        why: Refusal,
    },
    Superseded,
    Preview {
        title: String,
    },
    Clock {
        sent_us: u64,
        server_us: u64,
    },
    Stage {
        index: u16,
        count: u16,
        id: String,
        view: StageView,
        draft: Option<Draft>,
        again: bool,
    },
    DraftKept {
        number: u32,
    },
    Waiting(Waiting),
    Missing {
        absent: Vec<Absent>,
        of: u8,
        left_ms: u32,
    },
    Match(Box<Plan>),
    Start {
        era: u16,
        t0_us: u64,
        input_delay: u8,
    },
    Running {
        era: u16,
        through: u32,
        own: u32,
        changes: Vec<Change>,
    },
    Signal {
        from: u8,
        data: String,
    },
    Relay {
        from: u8,
        bytes: Vec<u8>,
    },
    Archived {
        era: u16,
        through: u32,
        own: u32,
        agreed: u32,
        notes: u32,
    },
    Peer {
        era: u16,
        seat: u8,
        presence: Presence,
        left_ms: u32,
    },
    Ended {
        era: u16,
        reason: EndReason,
        ticks: u32,
        score: i64,
        digest: u64,
    },
    Inputs {
        era: u16,
        seat: u8,
        life: u8,
        first: u32,
        inputs: Vec<u16>,
    },
    Recheck {
        era: u16,
        number: u16,
        agreed: u32,
    },
    Change {
        era: u16,
        change: Change,
    },
    Part {
        era: u16,
        bytes: Vec<u8>,
    },
    Return(Return),
    Chat(ChatView),
    ChatMessage {
        group_visit: u16,
        message: ChatMessage,
    },
    ChatRefused {
        group_visit: u16,
        number: u32,
        why: MessageRefusal,
    },
    ChatMembers {
        group_visit: u16,
        members: Vec<ChatMember>,
    },
    View(HostView),
    Pointed {
        era: u16,
        number: u32,
        action: Option<u16>,
    },
    Exchange(Exchange),
    NotWritten {
        number: u32,
        why: MessageRefusal,
    },
    Buttons(ShownButtons),
}

/// The buttons for an AI partner.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ShownButtons {
    pub era: u16,
    pub seat: u8,
    pub name: String,
    pub labels: Vec<String>,
    pub followed: Option<u8>,
    pub refused: Option<u8>,
}

#[cfg(test)]
mod tests;
