//! The network between the people and the server: ordered streams, each late by as much as its person's line is.

use std::collections::BTreeMap;

use simulation::network_conditions::{Conditions, End, NetworkConditions};
use simulation::rng::SeededRng;

use crate::bot::WireId;

/// The lines between everybody and the server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines {
    /// The shortest time under way, microseconds: nothing that one side does reaches the other one sooner, so both may
    /// be run this far at a time, each by itself.
    pub(super) least_us: u64,
    /// The longest, without jitter, microseconds.
    most_us: u64,
    /// The jitter of a stream is up to half of this, microseconds.
    jitter_us: u64,
}

impl Lines {
    /// Those of people.
    pub(super) const OF_PEOPLE: Self = Self {
        least_us: 10_000,
        most_us: 25_000,
        jitter_us: 4_000,
    };
    /// Those of agents: each tick waits for the actions of all in the one before, so they are short.
    pub(super) const OF_AGENTS: Self = Self {
        least_us: 1_000,
        most_us: 2_000,
        jitter_us: 0,
    };
}

/// From a person to the server.
#[derive(Debug)]
pub(super) enum Up {
    /// Opens a connection.
    Dial,
    /// A message, or what should be one.
    Bytes(Vec<u8>),
    /// Text, which no page sends.
    Text,
    /// The connection is gone.
    Gone,
}

/// From the server to a person.
#[derive(Debug)]
pub(super) enum Down {
    /// The connection is open.
    Opened(WireId),
    /// A message.
    Bytes(WireId, Vec<u8>),
    /// The connection is gone, or was not opened.
    Lost(WireId),
    /// The server has died, or is there again.
    Server(bool),
}

/// Something that a person sends, and when it arrives.
#[derive(Debug)]
pub(super) struct Sent<W> {
    /// When it arrives, microseconds.
    pub(super) at_us: u64,
    /// The number of the person.
    pub(super) person: usize,
    /// Its content.
    pub(super) what: W,
}

/// One direction of the line of a person.
#[derive(Debug)]
pub(super) struct Stream {
    network: NetworkConditions,
    ends: (End, End),
    last_us: u64,
}

impl Stream {
    /// The way of a person's messages to the server.
    pub(super) fn up(lines: Lines, seed: u64, person: usize) -> Self {
        let ends = (End::Person(person), End::Server);
        Self::new(lines, seed, person, ("up", ends))
    }

    /// The way of messages to a person.
    pub(super) fn down(lines: Lines, seed: u64, person: usize) -> Self {
        let ends = (End::Server, End::Person(person));
        Self::new(lines, seed, person, ("down", ends))
    }

    fn new(lines: Lines, seed: u64, person: usize, (way, ends): (&str, (End, End))) -> Self {
        // Both directions are as long.
        let delay_us = SeededRng::new(seed, &format!("line {person}"))
            .draw_between(lines.least_us, lines.most_us);
        let conditions = Conditions {
            delay_us,
            jitter_us: lines.jitter_us,
            ..Conditions::default()
        };
        let seed = SeededRng::new(seed, &format!("{way} {person}")).draw_bits();
        Self {
            network: NetworkConditions::new(
                seed,
                BTreeMap::from([(ends, conditions)]),
                Vec::new(),
                0,
            ),
            ends,
            last_us: 0,
        }
    }

    /// When something arrives that is sent now.
    pub(super) fn arrives_us(&mut self, now_us: u64) -> u64 {
        let (from, to) = self.ends;
        let at_us = self.network.send_on_stream(now_us, from, to);
        self.last_us = self.last_us.max(at_us);
        self.last_us
    }
}
