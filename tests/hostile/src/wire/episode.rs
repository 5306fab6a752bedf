//! Messages of an episode: its plan, uploads and changes.
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

/// Inputs of one person, signed by the page that they were made at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Block {
    pub first: u32,
    pub inputs: Vec<u16>,
    pub salt: [u8; 16],
    pub signature: [[u8; 32]; 2],
}

/// Inputs that a page told another page, with the seal that proves it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Recount {
    pub seat: u8,
    pub life: u8,
    pub first: u32,
    pub inputs: Vec<u16>,
    pub signature: [[u8; 32]; 2],
}

/// The word of a page on the inputs of its person, and what else it tells.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Upload {
    pub era: u16,
    pub life: u8,
    pub block: Option<Block>,
    pub changes: u16,
    pub recheck: u16,
    pub digests: Vec<(u32, u64)>,
    pub timing: Option<Timing>,
    pub ended: Option<u32>,
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
    pub key: Option<[u8; 32]>,
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

/// How long a person may take for a choice, and what is chosen then.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct TurnLimit {
    pub limit_ms: u32,
    pub action: u16,
}

/// Where the world is stepped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum EnvWay {
    Module,
    Host,
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
    pub turn: Option<TurnLimit>,
    pub way: EnvWay,
    pub shared: Option<Never>,
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
