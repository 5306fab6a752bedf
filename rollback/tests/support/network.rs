//! A network in virtual time: delay, jitter, loss alone and in bursts, doubles; order follows from jitter.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use env_core::rng::Rng;
use protocol::Seat;

/// How one direction between two peers treats packets. Chances are per 10,000.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Conditions {
    pub(crate) delay_us: u32,
    /// Added evenly from 0 to this.
    pub(crate) jitter_us: u32,
    pub(crate) loss: u32,
    pub(crate) double: u32,
    /// Chance to enter and to leave a burst, in which nearly everything is lost.
    ///
    /// Source: Gilbert, "Capacity of a burst-noise channel", 1960.
    pub(crate) burst: (u32, u32),
}

/// A time in which nothing passes in one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partition {
    pub(crate) from: u8,
    pub(crate) to: u8,
    pub(crate) from_us: u64,
    pub(crate) to_us: u64,
}

/// A packet under way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Packet {
    pub(crate) arrives_us: u64,
    number: u64,
    pub(crate) from: u8,
    pub(crate) to: u8,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) struct Network {
    partitions: Vec<Partition>,
    rng: Rng,
    conditions: Conditions,
    /// From then on nothing is lost any more.
    heals_us: u64,
    /// Directions in a burst, a bit each, `[from, to]`.
    bursts: [u16; 16],
    under_way: BinaryHeap<Reverse<Packet>>,
    sent: u64,
    /// Nothing passes in this direction, ever.
    pub(crate) cut: Option<(u8, u8)>,
}

impl Network {
    pub(crate) fn new(
        seed: u64,
        conditions: Conditions,
        partitions: Vec<Partition>,
        heals_us: u64,
    ) -> Self {
        Self {
            partitions,
            rng: Rng::new(seed),
            conditions,
            heals_us,
            bursts: [0; 16],
            under_way: BinaryHeap::new(),
            sent: 0,
            cut: None,
        }
    }

    pub(crate) fn send(&mut self, now_us: u64, from: Seat, to: Seat, bytes: &[u8]) {
        let copies = 1 + u32::from(self.chance(self.conditions.double));
        for _ in 0..copies {
            if self.loses(now_us, from, to) {
                continue;
            }
            let jitter = self.rng.below(self.conditions.jitter_us + 1);
            let arrives_us = now_us + u64::from(self.conditions.delay_us + jitter);
            self.sent += 1;
            let (number, bytes) = (self.sent, bytes.to_vec());
            self.under_way.push(Reverse(Packet {
                arrives_us,
                number,
                from: from.0,
                to: to.0,
                bytes,
            }));
        }
    }

    /// When the next packet arrives.
    pub(crate) fn next_us(&self) -> Option<u64> {
        self.under_way
            .peek()
            .map(|Reverse(packet)| packet.arrives_us)
    }

    pub(crate) fn arrive(&mut self) -> Option<Packet> {
        self.under_way.pop().map(|Reverse(packet)| packet)
    }

    /// Keeps a packet for a peer that is not there now.
    pub(crate) fn hold(&mut self, packet: Packet) {
        self.under_way.push(Reverse(packet));
    }

    fn chance(&mut self, per_ten_thousand: u32) -> bool {
        self.rng.below(10_000) < per_ten_thousand
    }

    fn loses(&mut self, now_us: u64, from: Seat, to: Seat) -> bool {
        let (row, bit) = (from.index(), 1 << to.0);
        let (enter, leave) = self.conditions.burst;
        let bursting = self.bursts[row] & bit != 0;
        if self.chance(if bursting { leave } else { enter }) {
            self.bursts[row] ^= bit;
        }
        let lost = self.chance(if bursting {
            9_500
        } else {
            self.conditions.loss
        });
        let parted = self.partitions.iter().any(|parted| {
            (parted.from, parted.to) == (from.0, to.0)
                && (parted.from_us..parted.to_us).contains(&now_us)
        });
        (lost || parted) && now_us < self.heals_us || self.cut == Some((from.0, to.0))
    }
}
