//! Episode log v1: what is stored of an episode. Header, then records; each framed by length and checksum,
//! so that a file cut short by a crash is read up to its last whole record.

use serde::{Deserialize, Serialize};

use crate::control::{EndReason, Timing};
use crate::{Controller, Seat, Tick};

/// The first record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Id of the episode in the archive.
    pub episode: String,
    /// Study id and version.
    pub study: String,
    /// SHA-256 of the canonical study, lower-case hex.
    pub study_hash: String,
    /// Id of the stage.
    pub stage: String,
    /// Id of the group.
    pub group: String,
    /// Pseudonym of the participant of each seat; empty for an AI partner.
    pub participants: Vec<String>,
    /// SHA-256 of the environment module, lower-case hex.
    pub module: String,
    /// Environment id.
    pub env: String,
    /// Environment version.
    pub env_version: String,
    /// Parameters, as JSON.
    pub params: String,
    /// Seed.
    pub seed: u64,
    /// Who controls each seat at tick 0.
    pub controllers: Vec<Controller>,
    /// Ticks per second.
    pub tick_hz: u16,
    /// Input delay of every seat, ticks.
    pub input_delay: u8,
    /// When tick 0 was due, microseconds since the Unix epoch, server clock.
    pub t0_us: u64,
}

/// What follows the header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// Confirmed actions, `[tick, seat]`, row-major; contiguous with the record before.
    Actions {
        /// The first tick.
        first: Tick,
        /// The actions.
        rows: Vec<u16>,
    },
    /// A seat has another controller from this tick on.
    Controller {
        /// The first tick.
        tick: Tick,
        /// The seat.
        seat: Seat,
        /// Who.
        controller: Controller,
    },
    /// A state digest after `tick` steps: of a peer (`seat`) or of the replica (none).
    Digest {
        /// After how many steps.
        tick: Tick,
        /// Whose.
        seat: Option<Seat>,
        /// The digest.
        digest: u64,
    },
    /// What a session saw of time and network.
    Timing {
        /// Whose.
        seat: Seat,
        /// What.
        timing: Timing,
    },
    /// The end; nothing follows.
    End {
        /// Ticks played.
        ticks: Tick,
        /// Why.
        reason: EndReason,
        /// Score, from the replica.
        score: i64,
        /// Digest of the last state, from the replica.
        digest: u64,
    },
}
