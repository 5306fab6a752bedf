//! Wire and file formats of Coplay, as plain data: `PROTOCOL.md` in this crate describes them in prose.
//!
//! Four formats: [`datagram`] (peer to peer, each tick), [`control`] (participant's page and server, and the
//! [`signal`]s of pages inside), [`log`] (one file an episode), [`seen`] (inside the latter two: what a page showed).
//! The first three start with their version; every decoder returns a `Result` and never panics. This crate must not
//! know how anything is sent, stored or simulated.

#![forbid(unsafe_code)]

pub mod chain;
pub mod change;
pub mod control;
pub mod datagram;
pub mod hash;
pub mod log;
pub mod rules;
pub mod seal;
pub mod seen;
pub mod signal;

#[cfg(test)]
mod laws;

use serde::{Deserialize, Serialize};

/// Version of the formats together.
pub const VERSION: u8 = 6;

/// The most seats of an episode, on the wire.
pub const MAX_SEATS: usize = 16;

/// A place in an episode, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Seat(pub u8);

impl Seat {
    /// As an index.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A step of an episode: tick `k` takes the state from `k` steps to `k + 1` steps.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Tick(pub u32);

/// Ticks from one state digest to the next, on pages and in the server's replica alike: a quarter of a second, rounded
/// down, and at least one. So one that differs is found well within a second, for some 50 bytes a second of upload.
pub fn digest_ticks(tick_hz: u16) -> u32 {
    u32::from(tick_hz / 4).max(1)
}

/// Tells the episodes of a server apart in datagrams, so that a packet never touches another episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Era(pub u16);

/// Which page plays a seat: 0 for the first, one more whenever the seat changes hands, 0 again after
/// [`Life::LAST`]. A datagram of another life than the seat's is dropped.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Life(pub u8);

impl Life {
    /// The last one: a life travels in seven bits.
    pub const LAST: Self = Self(127);

    /// The life after this one.
    pub fn next(self) -> Self {
        if self < Self::LAST {
            Self(self.0 + 1)
        } else {
            Self(0)
        }
    }
}

/// The controller of a seat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub enum Controller {
    /// A person, whose inputs come over the network.
    Human,
    /// An AI partner, simulated by every peer.
    Ai {
        /// Name of the policy.
        policy: String,
    },
    /// Nobody: the seat plays the no-op.
    Vacant,
}

/// Where the world of an episode is stepped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub enum EnvWay {
    /// On every page, in an environment module.
    #[default]
    Module,
    /// Only beside the server: pages send choices, and show the views that they get.
    Host,
}

/// Bytes that are not a message of this version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The first byte names another version.
    #[error("version {found} of the protocol; this program speaks {VERSION}")]
    Version {
        /// The version found.
        found: u8,
    },
    /// Longer than any message of its kind.
    #[error("{len} bytes, over the limit of {limit}")]
    TooLong {
        /// Length found, bytes.
        len: usize,
        /// The limit, bytes.
        limit: usize,
    },
    /// Ends too early, has bytes left over, or a value out of its range.
    #[error("malformed {0}")]
    Malformed(&'static str),
}
