//! Episode log: what is stored of an episode. [`MAGIC`], the header, then records; header and records are framed
//! by length, number and checksum, so that a file cut short by a crash is read up to its last whole record, and a
//! record that is missing is noticed.
//!
//! A frame is the length of the body, its number in the file from 0, the CRC-32 of those eight bytes and the body (each
//! a `u32`, little-endian), and the body: the postcard encoding of a [`Header`] or a [`Record`], never empty. Frames of
//! version 4 have no number.

mod frame;
mod reading;
mod withdrawal;

use serde::{Deserialize, Serialize};

use crate::change::{Change, Presence};
use crate::control::{Block, EndReason, Link, MAX_MESSAGE, Recount, Timing};
use crate::rules::{Course, Rules, SharedSeats};
use crate::{Controller, EnvWay, Life, Seat, Tick, VERSION};

pub use frame::LogWriter;
pub use reading::{LogError, read_log};
pub use withdrawal::WITHDRAWN;

/// The first bytes of a file: the version, and a mark that identifies the format.
pub const MAGIC: [u8; 8] = [VERSION, b'C', b'O', b'P', b'L', b'A', b'Y', b'\n'];

/// The longest body of a frame, bytes: what one message brings fits, with room for the parameters of a header.
pub const MAX_RECORD: usize = 2 * MAX_MESSAGE;

/// The first record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Header {
    /// Id of the episode in the archive.
    pub episode: String,
    /// Study id.
    pub study: String,
    /// Version that the study file gives itself.
    pub study_version: String,
    /// SHA-256 of the canonical study, lower-case hex.
    pub study_hash: String,
    /// Id of the stage.
    pub stage: String,
    /// Id of the group.
    pub group: String,
    /// Pseudonym of the participant of each seat; empty for an AI partner, [`WITHDRAWN`] for somebody who withdrew.
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
    /// The controller of each seat at tick 0.
    pub controllers: Vec<Controller>,
    /// Ticks per second.
    pub tick_hz: u16,
    /// Input delay of every seat, ticks.
    pub input_delay: u8,
    /// When tick 0 was due, microseconds since the Unix epoch, server clock.
    pub t0_us: u64,
    /// The rules that the study adds to those of the environment.
    pub rules: Rules,
    /// The place of the episode in the study; `None` if that was not stored.
    pub course: Option<Course>,
    /// The Ed25519 public key of each seat's page, zeros for an AI partner; empty before version 5.
    pub keys: Vec<[u8; 32]>,
    /// Where the world was stepped.
    pub way: EnvWay,
    /// How people share their seats with AI partners; `None` if they do not.
    pub shared: Option<SharedSeats>,
}

/// A record behind the header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub enum Record {
    /// Confirmed actions, `[tick, seat]`, row-major; contiguous with the record before.
    Actions {
        /// The first tick.
        first: Tick,
        /// The actions.
        rows: Vec<u16>,
    },
    /// A seat has another controller from a tick on, which may lie after the actions so far but never before.
    Change(Change),
    /// A state digest after `tick` steps: of a peer (`seat`) or of the replica (none).
    Digest {
        /// After how many steps.
        tick: Tick,
        /// The seat.
        seat: Option<Seat>,
        /// The digest.
        digest: u64,
    },
    /// A page's notes of time and network.
    Timing {
        /// The seat.
        seat: Seat,
        /// In which life of the seat.
        life: Life,
        /// The notes.
        timing: Timing,
    },
    /// The end; only the repetition of a hosted world may follow.
    End(Ending),
    /// A person came, went or hid.
    Presence {
        /// The seat.
        seat: Seat,
        /// Server clock, microseconds since the Unix epoch.
        at_us: u64,
        /// The person's presence from then on.
        presence: Presence,
    },
    /// A page simulated something else than the replica, and was sent the replica's state.
    Diverged {
        /// The page's seat.
        seat: Seat,
        /// After how many steps.
        tick: Tick,
        /// The replica's digest; 0 if it was the actions that differed.
        expected: u64,
        /// The page's digest; 0 if it was the actions that differed.
        found: u64,
    },
    /// The page of a seat sent two different inputs for one tick. At most one record for each `by` and pair of lives of
    /// the two seats.
    Equivocation {
        /// The seat whose inputs they are.
        seat: Seat,
        /// The first tick that differs.
        tick: Tick,
        /// The seat of the page that had something else; `seat` itself if it took back its own.
        by: Seat,
        /// The durable input.
        durable: u16,
        /// The input that this page had.
        told: u16,
    },
    /// The datagrams of a page to another travel another way, or for the first time.
    Route {
        /// The page's seat.
        seat: Seat,
        /// To whose page.
        other: Seat,
        /// When the server heard of it: server clock, microseconds since the Unix epoch.
        at_us: u64,
        /// Which way from then on.
        link: Link,
    },
    /// Inputs of a person, from their own page.
    Inputs {
        /// The seat.
        seat: Seat,
        /// The life of the seat in which the page plays it.
        life: Life,
        /// The inputs, and the page's signature.
        block: Block,
    },
    /// The page of a seat sent another page something else than it sent the server, as its own seal proves.
    Recount {
        /// The seat of the page that received it.
        by: Seat,
        /// The inputs that were sent, and the seal.
        recount: Recount,
    },
    /// Inputs of a person that were erased.
    Erased {
        /// The seat.
        seat: Seat,
        /// The life of the seat in which the page played it.
        life: Life,
        /// The first tick.
        first: Tick,
        /// The number of inputs.
        len: u32,
        /// The rest of them: the leaf of the page's chain, and its signature.
        leaf: [u8; 32],
        /// As in [`Block`].
        signature: [[u8; 32]; 2],
    },
    /// The rows before it of a hosted world: what each seat observed after them, and earned in them.
    Observed {
        /// The first tick.
        first: Tick,
        /// Hashes of the observations after each tick, `[tick, seat]`, row-major.
        hashes: Vec<u64>,
        /// The rewards, `[tick, seat]`, row-major, as the bits of `f32`.
        rewards: Vec<u32>,
    },
    /// The clock of a hosted world's ticks starts again from here: ticks, or everything, could not be played in time.
    Paced {
        /// The next tick.
        tick: Tick,
        /// When it was due: server clock, microseconds since the Unix epoch.
        at_us: u64,
    },
    /// A hosted world was run again after the end, with the same seed and actions.
    Repeated {
        /// The first tick after which it differed; `None` if everything was equal.
        differs: Option<Tick>,
    },
    /// The infos of a step of a hosted world that the study names.
    Infos {
        /// The tick in which they were given.
        tick: Tick,
        /// They themselves: a JSON list of `[seat or null, name, value]`.
        json: String,
    },
    /// The view of a hosted world that the page of a seat was shown: it has what changed since the view before.
    Viewed {
        /// The seat.
        seat: Seat,
        /// After how many steps.
        tick: Tick,
        /// The view, as the page got it.
        bytes: Vec<u8>,
    },
    /// Observations of a seat in a hosted world, if the study asks for them.
    Observations {
        /// The seat.
        seat: Seat,
        /// After how many steps the first of them was made; one more after each further step.
        first: Tick,
        /// Their values, `[tick, value]`, row-major, `f32` little-endian, deflated. Long ones have several records with the
        /// same `first`, which follow each other.
        deflated: Vec<u8>,
    },
    /// The outcome of a step of a hosted world, beside the rewards; left out of steps in which none of it is new.
    Outcome {
        /// The tick.
        tick: Tick,
        /// The score of the group after it, and of each seat; empty if they are those of the outcome before.
        scores: Vec<i64>,
        /// Bit `s` is set if seat `s` reached a terminal state.
        terminated: u16,
        /// Bit `s` is set if seat `s` was cut off.
        truncated: u16,
        /// Events: kind, seat, the seat to which it happened, and the bits of the amount (`f32`).
        events: Vec<(u16, u8, Option<u8>, u32)>,
        /// The rewards in parts, `[seat, component]`, row-major, as the bits of `f32`; empty if all are 0.
        components: Vec<u32>,
    },
}

/// The end of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Ending {
    /// Ticks played.
    pub ticks: Tick,
    /// The reason.
    pub reason: EndReason,
    /// Score, from the replica.
    pub score: i64,
    /// Digest of the last state, from the replica.
    pub digest: u64,
}

/// A log that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// The version of the format.
    pub version: u8,
    /// The header.
    pub header: Header,
    /// The records, in order; [`Record::Actions`] are contiguous from tick 0.
    pub records: Vec<Record>,
    /// Ticks that have their actions.
    pub through: Tick,
    /// The end, once written: also the last of `records`.
    pub ending: Option<Ending>,
    /// Bytes up to the end of the last whole record.
    pub valid_len: usize,
    /// True if bytes follow that are not a whole record: a write that a crash interrupted.
    pub torn: bool,
}

impl Log {
    /// Number of seats.
    pub fn count_seats(&self) -> usize {
        self.header.controllers.len()
    }

    /// The changes of controllers, in order.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.records.iter().filter_map(|record| match record {
            Record::Change(change) => Some(change),
            _ => None,
        })
    }

    /// Returns the result of the repetition of a hosted world: the first tick after which it differed, if it did;
    /// `None` if it was not run again.
    pub fn end_repetition(&self) -> Option<Option<Tick>> {
        match self.records.last() {
            Some(Record::Repeated { differs }) => Some(*differs),
            _ => None,
        }
    }

    /// The number of bytes up to and including the end, once written; a repetition of a hosted world after it does not
    /// count.
    pub fn ended_len(&self) -> Option<usize> {
        self.ending?;
        let mut writer = LogWriter::resume_at(self.version, 0);
        let is_later = |record: &&Record| matches!(record, Record::Repeated { .. });
        let mut later = Vec::new();
        for record in self.records.iter().rev().take_while(is_later) {
            writer.append(record, &mut later).ok()?;
        }
        self.valid_len.checked_sub(later.len())
    }

    /// All actions, `[tick, seat]`, row-major.
    pub fn rows(&self) -> Vec<u16> {
        let actions = self.records.iter().filter_map(|record| match record {
            Record::Actions { rows, .. } => Some(rows.as_slice()),
            _ => None,
        });
        actions.flatten().copied().collect()
    }
}
