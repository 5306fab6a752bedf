//! The network's effects on packets: delay, jitter, loss alone and in bursts, doubles, partitions.
//!
//! Order follows from jitter. This module must not know what packets mean.

use std::collections::BTreeMap;

use crate::rng::SeededRng;

/// An end of a way: a person's machine by its number, or the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The server.
    Server,
    /// The machine of a person.
    Person(usize),
}

/// How one way treats packets. Chances are per 10,000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// The least time under way, microseconds.
    pub delay_us: u64,
    /// Added evenly from 0 to this, microseconds.
    pub jitter_us: u64,
    /// SeededRng to be lost.
    pub loss: u32,
    /// SeededRng to come twice.
    pub double: u32,
    /// Chances to enter and to leave a burst, in which nearly everything is lost.
    ///
    /// Source: Gilbert, "Capacity of a burst-noise channel", 1960; Elliott 1963.
    pub burst: (u32, u32),
}

/// Nothing passes from one end to another for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// From which end.
    pub from: End,
    /// To which end.
    pub to: End,
    /// When it begins, microseconds.
    pub from_us: u64,
    /// When it ends, microseconds.
    pub to_us: u64,
}

/// The network of a run.
#[derive(Debug)]
pub struct NetworkConditions {
    rng: SeededRng,
    conditions: BTreeMap<(End, End), Conditions>,
    bursts: BTreeMap<(End, End), bool>,
    partitions: Vec<Partition>,
    /// From then on nothing is lost any more.
    heals_us: u64,
}

impl NetworkConditions {
    /// The network with these conditions, in order of the ends, and these partitions.
    pub fn new(
        seed: u64,
        conditions: BTreeMap<(End, End), Conditions>,
        partitions: Vec<Partition>,
        heals_us: u64,
    ) -> Self {
        let rng = SeededRng::new(seed, "network");
        Self {
            rng,
            conditions,
            bursts: BTreeMap::new(),
            partitions,
            heals_us,
        }
    }

    fn conditions(&self, from: End, to: End) -> Conditions {
        self.conditions
            .get(&(from, to))
            .copied()
            .unwrap_or_default()
    }

    /// Returns the end of the partition that holds a packet back; `None` if nothing holds it.
    fn cut_until(&self, now_us: u64, from: End, to: End) -> Option<u64> {
        let cuts = self.partitions.iter().filter(|cut| {
            (cut.from, cut.to) == (from, to) && (cut.from_us..cut.to_us).contains(&now_us)
        });
        cuts.map(|cut| cut.to_us).max()
    }

    /// Returns the arrival times of the copies of a datagram: none if it is lost.
    pub fn send_datagram(&mut self, now_us: u64, from: End, to: End) -> Vec<u64> {
        let way = self.conditions(from, to);
        let copies = 1 + usize::from(self.rng.happens(way.double));
        let mut arrivals = Vec::with_capacity(copies);
        for _ in 0..copies {
            if !self.loses(now_us, from, to, way) {
                arrivals.push(now_us + way.delay_us + self.rng.draw_between(0, way.jitter_us));
            }
        }
        arrivals
    }

    /// Returns the arrival time of a piece of an ordered stream that is sent now: lost ones are sent again,
    /// and none passes a partition before its end.
    pub fn send_on_stream(&mut self, now_us: u64, from: End, to: End) -> u64 {
        let way = self.conditions(from, to);
        let mut leaves_us = now_us;
        while let Some(until_us) = self.cut_until(leaves_us, from, to) {
            leaves_us = until_us + self.rng.draw_between(0, 400_000);
        }
        let lost = self.rng.happens(way.loss) && now_us < self.heals_us;
        let again_us = if lost { 200_000 + 2 * way.delay_us } else { 0 };
        leaves_us + way.delay_us + self.rng.draw_between(0, way.jitter_us / 2) + again_us
    }

    /// True if a first packet would find its way now.
    pub fn can_pass(&self, now_us: u64, from: End, to: End) -> bool {
        self.cut_until(now_us, from, to).is_none()
    }

    fn loses(&mut self, now_us: u64, from: End, to: End, way: Conditions) -> bool {
        let (enter, leave) = way.burst;
        let bursting = self.bursts.entry((from, to)).or_default();
        if self.rng.happens(if *bursting { leave } else { enter }) {
            *bursting = !*bursting;
        }
        let loss = if *bursting { 9_500 } else { way.loss };
        let lost = self.rng.happens(loss) && now_us < self.heals_us;
        lost || self.cut_until(now_us, from, to).is_some()
    }
}
