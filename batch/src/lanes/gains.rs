//! The gains of a step of a block, and the episodes that they add up to.

use super::bytes::{Bytes, LANES};

/// An event of a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Happened {
    pub(super) lane: u8,
    pub(super) seat: u8,
    pub(super) kind: u16,
    pub(super) value: f32,
}

/// The gains of a step of a block.
#[derive(Clone, Debug)]
pub(crate) struct Gains<const SEATS: usize> {
    pub(super) rewards: [[f32; LANES]; SEATS],
    /// Those with a value.
    pub(super) events: Vec<Happened>,
    /// True if any lane got anything.
    pub(super) any: bool,
    /// Lanes that have reached the horizon.
    pub(super) over: Bytes,
}

impl<const SEATS: usize> Gains<SEATS> {
    /// No gains, with room for as many events as a hand can cause in a step.
    pub(super) fn new(events: usize) -> Self {
        Self {
            rewards: [[0.0; LANES]; SEATS],
            events: Vec::with_capacity(LANES * SEATS * events),
            any: false,
            over: Bytes::ZERO,
        }
    }

    /// Forgets the last step.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.any) {
            self.rewards = [[0.0; LANES]; SEATS];
            self.events.clear();
        }
    }

    /// Adds to a reward.
    pub(super) fn earn(&mut self, lane: usize, seat: usize, amount: f32) {
        self.any = true;
        self.rewards[seat][lane] += amount;
    }

    /// Notes an event.
    pub(super) fn note_gain(&mut self, lane: usize, seat: usize, kind: usize, value: f32) {
        self.any = true;
        self.events.push(Happened {
            lane: lane as u8,
            seat: seat as u8,
            kind: kind as u16,
            value,
        });
    }
}

/// The episodes of a block, see [`crate::Episode`].
#[derive(Clone, Debug)]
pub(super) struct Tally<const SEATS: usize> {
    pub(super) length: [u32; LANES],
    pub(super) returns: [[f32; LANES]; SEATS],
}

impl<const SEATS: usize> Tally<SEATS> {
    pub(super) const NONE: Self = Self {
        length: [0; LANES],
        returns: [[0.0; LANES]; SEATS],
    };

    /// Adds the gains of a step.
    #[inline(always)]
    pub(super) fn add_gains(&mut self, gains: &Gains<SEATS>) {
        for length in &mut self.length {
            *length = length.saturating_add(1);
        }
        if gains.any {
            for (sums, rewards) in self.returns.iter_mut().zip(&gains.rewards) {
                let sums = sums.iter_mut().zip(rewards);
                sums.for_each(|(sum, reward)| *sum += reward);
            }
        }
    }
}
