//! The views of a page, and what stands beside them.

#![allow(
    dead_code,
    reason = "a message is read whole, whichever of its fields an attack needs"
)]

use serde::{Deserialize, Serialize};

/// A world whose steps are timed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Trial {
    pub module: String,
    pub params: String,
}

/// A device.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Device {
    Desktop,
    Tablet,
    Phone,
}

/// A capability of a browser.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Ability {
    Webrtc,
    Fullscreen,
    Audio,
    Keyboard,
    Touch,
}

/// A requirement that was not met.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Lack {
    Device(Vec<Device>),
    Ability(Ability),
    Window { width: u16, height: u16 },
    Rtt(u16),
    Fps(u16),
    Step(u32),
    Other(String),
}

/// Where a participant goes from the last page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Onward {
    Nowhere,
    To {
        url: String,
        name: String,
    },
    Form {
        url: String,
        fields: Vec<(String, String)>,
    },
    Again,
}

/// The codes of the last page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Farewell {
    pub code: String,
    pub receipt: String,
    pub pay: String,
    pub withdrawal: String,
    pub lacks: Vec<Lack>,
    pub onward: Onward,
}

/// The view of a page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum StageView {
    Instructions {
        pages: Vec<String>,
        min_s: u32,
    },
    Lobby {
        timeout_s: u32,
    },
    Env,
    Regroup,
    Rest {
        page: String,
        round: (u16, u16),
        score: i64,
        min_ms: u32,
        max_ms: Option<u32>,
    },
    Survey {
        surveyjs: String,
    },
    Consent {
        page: String,
        sha256: String,
    },
    Quiz {
        surveyjs: String,
        attempt: u8,
        attempts: u8,
    },
    External {
        url: String,
        ticket: String,
        code: bool,
        must_return: bool,
        can_give_up: bool,
    },
    Debrief {
        page: String,
        allow_withdraw: bool,
    },
    Screening {
        trials: Vec<Trial>,
        lacks: Vec<Lack>,
        attempts: u8,
    },
    End {
        outcome: String,
        page: String,
        farewell: Farewell,
    },
    Chat {
        page: String,
    },
    Watch {
        page: String,
        task: String,
    },
}

/// The consequence when the time in a lobby is up.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum AtTimeout {
    GoOn,
    Ai,
    Leave,
    Ask,
    Wait,
}

/// A question to somebody who waits.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Ask {
    Nothing,
    Presence { left_ms: u32 },
    Return,
    Choice,
}

/// The state of a wait.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Waiting {
    pub here: u16,
    pub needed: u16,
    pub waited_ms: u32,
    pub left_ms: u32,
    pub usual_ms: Option<u32>,
    pub then: AtTimeout,
    pub paid: bool,
    pub ask: Ask,
}

/// Somebody of a group who has not come.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Absent {
    pub seat: u8,
    pub connected: bool,
}

/// How a place in a chat is taken.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum ChatMember {
    Here,
    Away,
    Left,
    Ai,
}

/// A chat message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ChatMessage {
    pub place: u8,
    pub number: u32,
    pub at_us: u64,
    pub text: String,
}

/// The messages of a group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ChatView {
    pub group_visit: u16,
    pub place: u8,
    pub members: Vec<ChatMember>,
    pub names: Vec<String>,
    pub max_length: u16,
    pub left_ms: Option<(u32, u32)>,
    pub next: u32,
    pub messages: Vec<ChatMessage>,
}

/// Why a chat message was not taken.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum MessageRefusal {
    TooFast,
    Closed,
    NotTaken,
}

/// The view that a seat has of a hosted world.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HostView {
    pub era: u16,
    pub number: u32,
    pub tick: u32,
    pub entered: Vec<u32>,
    pub first: u32,
    pub over: bool,
    pub bytes: Vec<u8>,
}

/// The messages between a participant and the researchers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Exchange {
    pub is_open: bool,
    pub next: u32,
    pub messages: Vec<DeskMessage>,
}

/// One of these messages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DeskMessage {
    pub number: u32,
    pub is_own: bool,
    pub at_us: u64,
    pub is_read: bool,
    pub text: String,
    pub check: Option<AttentionCheck>,
}

/// A question of the researchers that wants an answer in time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AttentionCheck {
    pub choices: Vec<String>,
    pub within_s: u16,
    pub answer: Option<String>,
}
