//! Control messages between page and server, in the order of their variants and fields on the wire.
//!
//! Formulas of a study are left out: the studies here have none on the page.

#![allow(
    dead_code,
    reason = "a message is read whole, whichever of its fields an attack needs"
)]

use serde::{Deserialize, Serialize};

/// A value that the studies here never have.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Never {}

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

/// How datagrams travel.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Link {
    Direct,
    Relay,
}

/// A key event.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KeyEvent {
    pub tick: Option<u32>,
    pub action: u16,
    pub down: bool,
    pub at_us: i64,
    pub shown_us: i64,
}

/// A prediction that was shown and wrong.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Misprediction {
    pub seat: u8,
    pub tick: u32,
    pub predicted: u16,
    pub actual: u16,
    pub shown_ms: u32,
}

/// A note of time and network.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Timing {
    pub number: u32,
    pub keys: Vec<KeyEvent>,
    pub rollbacks: Vec<(u32, u8)>,
    pub holds: Vec<(u32, u32)>,
    pub hidden: Vec<(u32, u32)>,
    pub rtt_us: Vec<u32>,
    pub delays: Vec<(u32, u32)>,
    pub mispredictions: Vec<Misprediction>,
    pub seen: Vec<u8>,
    pub refused: u32,
    pub equivocations: u32,
    pub screens: Vec<(u32, bool)>,
    pub frames_us: Vec<Option<i64>>,
}

/// Confirmed play.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Upload {
    pub era: u16,
    pub life: u8,
    pub first: u32,
    pub rows: Vec<u16>,
    pub digests: Vec<(u32, u64)>,
    pub timing: Option<Timing>,
    pub ended: Option<u32>,
}

/// A choice in a lobby.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Choice {
    Wait,
    Ai,
    Leave,
}

/// The inputs that a page has of a fenced seat.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub seat: u8,
    pub life: u8,
    pub have: u32,
    pub inputs: Vec<u16>,
}

/// From the page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum ClientMessage {
    Hello {
        entry: Entry,
        language: Option<String>,
        reads: Vec<String>,
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
    Report {
        era: u16,
        report: Report,
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
    Choose(Choice),
    Unloading,
    TakeBack {
        era: u16,
    },
    Say {
        round: u16,
        number: u32,
        sent_us: u64,
        tick: Option<u32>,
        text: String,
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

/// Why an episode ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum EndReason {
    Played,
    PartnerLeft,
    Technical,
}

/// A controller of a seat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Controller {
    Human,
    Ai { policy: String },
    Vacant,
}

/// A seat changes hands.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Change {
    pub number: u16,
    pub seat: u8,
    pub tick: u32,
    pub controller: Controller,
    pub life: u8,
    pub from: u32,
    pub inputs: Vec<u16>,
}

/// How a person is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Presence {
    Here,
    Hidden,
    Gone,
    Returning,
}

/// An ICE server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct IceServer {
    pub urls: Vec<String>,
    pub username: Option<String>,
    pub credential: Option<String>,
}

/// The rules that a study adds; here none with a formula.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Rules {
    pub until: Option<Never>,
    pub turns: bool,
    pub press: bool,
}

/// An episode, as one of its pages needs it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub era: u16,
    pub episode: String,
    pub seat: u8,
    pub controllers: Vec<Controller>,
    pub env: String,
    pub env_version: String,
    pub module: String,
    pub networks: Vec<String>,
    pub params: String,
    pub seed: u64,
    pub tick_hz: u16,
    pub window: u8,
    pub keys: Vec<(String, u16)>,
    pub touch: bool,
    pub fullscreen: bool,
    pub disclose_ai: bool,
    pub ice: Vec<IceServer>,
    pub measures_loss: bool,
    pub relay_only: bool,
    pub life: u8,
    pub running: bool,
    pub rules: Rules,
    pub round: (u16, u16),
    pub countdown_s: Option<u8>,
    pub hud: Vec<Never>,
    pub chat: bool,
}

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
pub(crate) enum Talker {
    Here,
    Away,
    Left,
    Ai,
}

/// A chat message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    pub place: u8,
    pub number: u32,
    pub at_us: u64,
    pub text: String,
}

/// The messages of a group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Talk {
    pub round: u16,
    pub place: u8,
    pub company: Vec<Talker>,
    pub names: Vec<String>,
    pub max_length: u16,
    pub left_ms: Option<(u32, u32)>,
    pub next: u32,
    pub lines: Vec<Line>,
}

/// Why a chat message was not taken.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Unsaid {
    TooFast,
    Closed,
    NotTaken,
}

/// Where a page comes back.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Return {
    pub era: u16,
    pub t0_us: u64,
    pub delay_ms: u32,
    pub input_delay: u8,
    pub changes: Vec<Change>,
    pub tick: u32,
    pub digest: u64,
    pub state: Vec<u8>,
    pub partners: Vec<(u8, Vec<u8>)>,
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
    Fence {
        era: u16,
        seat: u8,
        life: u8,
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
    Talk(Talk),
    Said {
        round: u16,
        line: Line,
    },
    Unsaid {
        round: u16,
        number: u32,
        why: Unsaid,
    },
    Company {
        round: u16,
        company: Vec<Talker>,
    },
}
