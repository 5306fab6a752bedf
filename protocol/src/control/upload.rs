//! Uploads of a playing page: confirmed rows, and notes of time and network.

use serde::{Deserialize, Serialize};

use crate::{Era, Life, Seat, Tick};

/// A key event of the local person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct KeyEvent {
    /// The first tick that it entered; `None` if it changed nothing, or came before the person could act.
    pub tick: Option<Tick>,
    /// The action that it means.
    pub action: u16,
    /// True if the key went down rather than up.
    pub down: bool,
    /// `event.timeStamp`, microseconds since `T0`.
    pub at_us: i64,
    /// The time at which the frame that answered it was presented, microseconds since `T0`; 0 if not yet known.
    pub shown_us: i64,
}

/// A session's notes of time and network since its last upload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Timing {
    /// The number of this note in the life of the page, from 0 without gaps: a note that is uploaded twice is stored
    /// once.
    pub number: u32,
    /// Key events.
    pub keys: Vec<KeyEvent>,
    /// Rollbacks: the tick at which it happened, and how many ticks were simulated again.
    pub rollbacks: Vec<(Tick, u8)>,
    /// Spans in which the view held at the end of the prediction window: tick and milliseconds.
    pub holds: Vec<(Tick, u32)>,
    /// Spans in which the page was hidden: the first tick of each, and the first one in sight again.
    pub hidden: Vec<(Tick, Tick)>,
    /// Smoothed round trip to each seat, microseconds; 0 for none.
    pub rtt_us: Vec<u32>,
    /// The times at which ticks were put off because this page or the network could not keep up: from this tick on,
    /// they are due this many milliseconds later than by `T0`, in total.
    pub delays: Vec<(Tick, u32)>,
    /// Predictions that were shown and wrong.
    pub mispredictions: Vec<Misprediction>,
    /// The frames shown, as [`crate::seen`] encodes them.
    pub seen: Vec<u8>,
    /// Datagrams that were refused: malformed, too long, of another era or life, or from the wrong sender.
    pub refused: u32,
    /// Inputs that contradicted earlier ones of the same seat and tick.
    pub equivocations: u32,
    /// Where the page asked for the full screen: the ticks from which on it had it, or did not have it.
    pub screens: Vec<(Tick, bool)>,
    /// For each of `keys`, since when what the person saw then had been on the screen, microseconds since `T0`.
    pub frames_us: Vec<Option<i64>>,
}

/// A wrong prediction, and how long it was on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Misprediction {
    /// The seat whose input was predicted.
    pub seat: Seat,
    /// For which tick.
    pub tick: Tick,
    /// The action that was predicted.
    pub predicted: u16,
    /// The action that came.
    pub actual: u16,
    /// From the simulation of the tick to its correction, milliseconds.
    pub shown_ms: u32,
}

/// The report of a page on the inputs of its person, with everything else that it sends to the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Upload {
    /// The episode.
    pub era: Era,
    /// The life of the page's seat.
    pub life: Life,
    /// The next inputs of the person, if there are some.
    pub block: Option<Block>,
    /// How many changes of seats the page knew: its digests and its end follow from them.
    pub changes: u16,
    /// The number of the last [`super::ServerMessage::Recheck`] that the page has followed, 0 before the first.
    pub recheck: u16,
    /// Digests of confirmed states: after how many steps, and the digest.
    pub digests: Vec<(Tick, u64)>,
    /// Time and network, if there is something to report.
    pub timing: Option<Timing>,
    /// Set once the terminal tick is confirmed: the number of ticks played.
    pub ended: Option<Tick>,
}

/// A proof that a person's page sent another page something else than it sent the server: its seal over those inputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Recount {
    /// The seat of the inputs.
    pub seat: Seat,
    /// Its life.
    pub life: Life,
    /// The first tick whose sent input differs from the server's.
    pub first: Tick,
    /// The inputs that were sent, from there to the end of the seal.
    pub inputs: Vec<u16>,
    /// The halves of the signature of the seal: over the server's inputs before `first`, and these.
    pub signature: [[u8; 32]; 2],
}

/// Inputs of one person, signed by the page at which they were made. The blocks of a life of a seat follow each other
/// without gaps.
///
/// The leaf of a block is a hash over its salt, its life, its first tick and its inputs; the chain is a hash over the
/// chain before and the leaf, and the page signs the chain. So a block can be erased, and the rest can still be proven
/// from its leaf.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Block {
    /// The first tick.
    pub first: Tick,
    /// The inputs from there on.
    pub inputs: Vec<u16>,
    /// Keeps the leaf from revealing anything about the inputs.
    pub salt: [u8; 16],
    /// The halves of the Ed25519 signature of the chain.
    pub signature: [[u8; 32]; 2],
}
