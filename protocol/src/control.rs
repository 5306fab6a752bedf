//! Messages between a participant's page and the server, over one WebSocket, in order.
//!
//! A message is a byte [`crate::VERSION`] and then its postcard encoding. Times are microseconds:
//! `sent_us` on the sender's monotonic clock, `server_us` and `t0_us` on the server's clock
//! (microseconds since the Unix epoch, steady while the server runs).

mod chat;
mod upload;
mod view;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::change::{Change, Presence};
use crate::rules::{Gauge, Rules};
use crate::{Controller, DecodeError, Era, Life, Seat, Tick, VERSION};

pub use chat::{Line, MAX_TALK, Talk, Talker, Unsaid};
pub use upload::{KeyEvent, Misprediction, Timing, Upload};
pub use view::{
    Ability, Absent, Ask, AtTimeout, Choice, Device, Farewell, Lack, Onward, StageView, Trial,
    Waiting,
};

/// The longest message, bytes.
pub const MAX_MESSAGE: usize = 256 * 1024;

/// How a page comes in.
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
        /// The episode that this page still simulates, and the life in which: set after a lost connection, none
        /// after a reload. A page without it, or whose seat has changed hands, comes back by [`ServerMessage::Return`].
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
    /// The answers so far; it need not be an answer that the stage takes.
    pub answers: Vec<Answer>,
}

/// How datagrams travel to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub enum Link {
    /// WebRTC data channel.
    Direct,
    /// Through the server's WebSockets.
    Relay,
}

/// From the page to the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[allow(clippy::large_enum_variant, reason = "a message is sent at once")]
pub enum ClientMessage {
    /// The first message.
    Hello {
        /// How the page comes in.
        entry: Entry,
        /// The language that the person asks for, as a tag such as `de`.
        language: Option<String>,
        /// The languages that they read, best first, as their browser tells.
        reads: Vec<String>,
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
    /// The work on a stage so far, to be stored; replaces what came before.
    Draft {
        /// Names it in [`ServerMessage::DraftKept`].
        number: u32,
        /// Index of the stage.
        stage: u16,
        /// The work.
        draft: Draft,
    },
    /// WebRTC signal for a peer of the episode; the server passes it on unread.
    Signal {
        /// For whom.
        to: Seat,
        /// The signal, as [`crate::signal`] encodes it.
        data: String,
    },
    /// A datagram for a peer, while WebRTC is not there.
    Relay {
        /// For whom.
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
        /// How many of a thousand packets of each seat were lost on the way here; none if that was not measured.
        loss_permille: Vec<Option<u16>>,
    },
    /// A link changed.
    LinkChanged {
        /// The episode.
        era: Era,
        /// To whom.
        seat: Seat,
        /// How.
        link: Link,
    },
    /// Confirmed play.
    Upload(Upload),
    /// The participant leaves on purpose.
    Leave,
    /// The page failed; what it can say of it.
    Trouble {
        /// A description of the failure.
        message: String,
    },
    /// Answers [`ServerMessage::Fence`]: from now on this page takes no inputs of that seat in its present life.
    Report {
        /// The episode.
        era: Era,
        /// The inputs of the seat that this page has.
        report: Report,
    },
    /// A seat was not heard for [`SILENT_MS`], or is heard again.
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
    /// The person is there: a key, a touch, a click, or an answer to [`Ask::Presence`] or [`Ask::Return`].
    Here,
    /// Answers [`Ask::Choice`].
    Choose(Choice),
    /// The page is being closed or reloaded.
    Unloading,
    /// The page wants its seat in the running episode back: its own session has lost it.
    TakeBack {
        /// The episode.
        era: Era,
    },
    /// The person writes to the others of the group: answered by [`ServerMessage::Said`] with this number, or by
    /// [`ServerMessage::Unsaid`].
    Say {
        /// As [`Talk`] has it.
        round: u16,
        /// How many messages the person has written before at this visit.
        number: u32,
        /// When the person sent it, by the page's estimate of the server clock.
        sent_us: u64,
        /// The tick that was shown then, if an episode ran.
        tick: Option<Tick>,
        /// Its text.
        text: String,
    },
}

impl ClientMessage {
    /// The first message of a page that takes any language.
    pub fn hello(entry: Entry) -> Self {
        Self::Hello {
            entry,
            language: None,
            reads: Vec::new(),
        }
    }
}

/// How long a seat is silent before that is told, milliseconds.
pub const SILENT_MS: u32 = 250;

/// The inputs that a page has of a seat that it was told to fence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Report {
    /// The seat that is fenced.
    pub seat: Seat,
    /// Its life when it was fenced.
    pub life: Life,
    /// Every input of the seat before this tick is here.
    pub have: Tick,
    /// The last of them, from what is confirmed here up to `have`.
    pub inputs: Vec<u16>,
}

/// An ICE server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct IceServer {
    /// URLs, `stun:` or `turn:`.
    pub urls: Vec<String>,
    /// For TURN.
    pub username: Option<String>,
    /// For TURN.
    pub credential: Option<String>,
}

/// An episode, as one of its peers needs it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Plan {
    /// Tells its datagrams apart.
    pub era: Era,
    /// Id in the archive.
    pub episode: String,
    /// The seat of this participant.
    pub seat: Seat,
    /// The controller of each seat.
    pub controllers: Vec<Controller>,
    /// Environment id.
    pub env: String,
    /// Environment version.
    pub env_version: String,
    /// SHA-256 of the module, lower-case hex; it is served as `/modules/<sha256>.wasm`.
    pub module: String,
    /// SHA-256 of the networks that AI partners of the episode may play with, lower-case hex; each is served as
    /// `/networks/<sha256>.network`.
    pub networks: Vec<String>,
    /// Parameters, as JSON.
    pub params: String,
    /// Seed.
    pub seed: u64,
    /// Ticks per second.
    pub tick_hz: u16,
    /// The longest prediction, ticks.
    pub window: u8,
    /// Keys for actions: `KeyboardEvent.code`, or several with `+` between them that are down together, and the action;
    /// replaces the environment's own if not empty.
    pub keys: Vec<(String, u16)>,
    /// True if there are buttons to touch.
    pub touch: bool,
    /// True if the page asks for the whole screen.
    pub fullscreen: bool,
    /// True if people are told which partner is an AI.
    pub disclose_ai: bool,
    /// ICE servers.
    pub ice: Vec<IceServer>,
    /// True if pages measure how many packets are lost before they are ready, which takes two seconds more.
    pub measures_loss: bool,
    /// True if peers may connect through a relay only, so that nobody learns another's address.
    pub relay_only: bool,
    /// The life of this participant's seat in which the page will play.
    pub life: Life,
    /// True if the episode runs already: [`ServerMessage::Return`] follows instead of [`ServerMessage::Start`]
    /// once the page is [`ClientMessage::Ready`].
    pub running: bool,
    /// The study's rules beside those of the environment.
    pub rules: Rules,
    /// Which episode of the visit it is, from 0, and how many there are at most.
    pub round: (u16, u16),
    /// Seconds that are counted down before tick 0; none if the study does not say.
    pub countdown_s: Option<u8>,
    /// The values shown beside the picture.
    pub hud: Vec<Gauge>,
    /// True if the people of the group write to each other meanwhile: [`ServerMessage::Talk`] follows once it runs.
    pub chat: bool,
}

impl Plan {
    /// A plan for tests: people in that many seats, and nothing that a study may add.
    pub fn for_testing(people: usize) -> Self {
        Self {
            era: Era(1),
            episode: String::new(),
            seat: Seat(0),
            controllers: vec![Controller::Human; people],
            env: String::new(),
            env_version: String::new(),
            module: String::new(),
            networks: Vec::new(),
            params: String::new(),
            seed: 0,
            tick_hz: 60,
            window: 16,
            keys: Vec::new(),
            touch: true,
            fullscreen: false,
            disclose_ai: false,
            ice: Vec::new(),
            measures_loss: false,
            relay_only: false,
            life: Life(0),
            running: false,
            rules: Rules::default(),
            round: (0, 1),
            countdown_s: None,
            hud: Vec::new(),
            chat: false,
        }
    }
}

/// Why a page is refused. The page has the sentence for each.
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

/// Why an episode ended.
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
        /// Session token, for [`Entry::Resume`].
        session: String,
        /// Title of the study.
        title: String,
        /// The language in which the participant reads the study.
        language: String,
        /// The languages that they can choose from; none if there is but that one.
        languages: Vec<String>,
        /// The address that participants can write to.
        contact: String,
        /// SHA-256 of the modules that the study plays, lower-case hex: to be fetched while there is time.
        modules: Vec<String>,
    },
    /// The page is not in, or no longer.
    Refused {
        /// Why.
        why: Refusal,
    },
    /// A newer page of the same session plays on; this one stops.
    Superseded,
    /// The person only looks at what the work would be; no session begins.
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
    /// How the wait in a lobby stands.
    Waiting(Waiting),
    /// The members of the group who have not come yet.
    Missing {
        /// Those who are awaited.
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
        /// Every change so far. Fences that no change answers are void.
        changes: Vec<Change>,
    },
    /// WebRTC signal from a peer.
    Signal {
        /// From whom.
        from: Seat,
        /// The signal, as [`crate::signal`] encodes it.
        data: String,
    },
    /// A datagram from a peer.
    Relay {
        /// From whom.
        from: Seat,
        /// The datagram.
        bytes: Vec<u8>,
    },
    /// Confirmed play is durable.
    Archived {
        /// The episode.
        era: Era,
        /// Ticks that are durable: everything before this tick may be forgotten.
        through: Tick,
        /// Notes of time and network of this page life that are durable: those before this number may be forgotten.
        notes: u32,
    },
    /// How another person is.
    Peer {
        /// The episode.
        era: Era,
        /// The seat.
        seat: Seat,
        /// How.
        presence: Presence,
        /// Milliseconds until the study's choice for people who stay away; 0 if nothing is awaited.
        left_ms: u32,
    },
    /// The episode is over, verified by the replica.
    Ended {
        /// The episode.
        era: Era,
        /// Why.
        reason: EndReason,
        /// Ticks in the archive.
        ticks: Tick,
        /// Score, from the replica.
        score: i64,
        /// Digest of the replica's last state.
        digest: u64,
    },
    /// Take no more inputs of this seat in this life, and answer with [`ClientMessage::Report`].
    Fence {
        /// The episode.
        era: Era,
        /// The seat.
        seat: Seat,
        /// Its life.
        life: Life,
    },
    /// A seat changes hands.
    Change {
        /// The episode.
        era: Era,
        /// How.
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
    /// The people of the group write to each other from now on: what was written so far.
    Talk(Talk),
    /// Somebody of the group has written something, the participant of this page included.
    Said {
        /// As [`Talk`] has it.
        round: u16,
        /// The message.
        line: Line,
    },
    /// A message of this page was not taken.
    Unsaid {
        /// As [`Talk`] has it.
        round: u16,
        /// Its number.
        number: u32,
        /// Why.
        why: Unsaid,
    },
    /// Others of those who write have come or gone.
    Company {
        /// As [`Talk`] has it.
        round: u16,
        /// How each place is taken.
        company: Vec<Talker>,
    },
}

/// The most bytes of a state in one message.
pub const MAX_PART: usize = MAX_MESSAGE / 2;

/// Where a page comes back into a running episode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Return {
    /// The episode.
    pub era: Era,
    /// When tick 0 was due, server clock.
    pub t0_us: u64,
    /// Ticks are due so many milliseconds later by now, as far as the server knows.
    pub delay_ms: u32,
    /// Input delay of every seat, ticks.
    pub input_delay: u8,
    /// Every change so far; the last one of this page's seat says from which tick on it plays.
    pub changes: Vec<Change>,
    /// The state after so many steps: all of them are durable.
    pub tick: Tick,
    /// The digest of that state.
    pub digest: u64,
    /// The canonical bytes of that state, or the last part of them.
    pub state: Vec<u8>,
    /// The state of the policy of each AI seat, before it chooses for `tick`.
    pub partners: Vec<(Seat, Vec<u8>)>,
}

/// Encodes a message: the version and then postcard.
pub fn encode<M: Serialize>(message: &M) -> Vec<u8> {
    postcard::to_extend(message, vec![VERSION]).expect("a message has no map of unknown length")
}

/// Decodes a message.
///
/// # Errors
/// [`DecodeError`] for another version, a message over [`MAX_MESSAGE`], or malformed bytes.
pub fn decode<M: DeserializeOwned>(bytes: &[u8]) -> Result<M, DecodeError> {
    if bytes.len() > MAX_MESSAGE {
        return Err(DecodeError::TooLong {
            len: bytes.len(),
            limit: MAX_MESSAGE,
        });
    }
    match bytes.split_first() {
        Some((&VERSION, body)) => match postcard::take_from_bytes(body) {
            Ok((message, [])) => Ok(message),
            _ => Err(DecodeError::Malformed("control message")),
        },
        Some((&found, _)) => Err(DecodeError::Version { found }),
        None => Err(DecodeError::Malformed("control message")),
    }
}
