//! One page: its clock, its person, and what the oracles have seen of it.

use super::*;

/// A clock that runs wrong is set right over and over: half a period fast, half a period slow, microseconds.
const HALF_US: u64 = 600_000;

/// The screen of a page: the frames and the digests of their states.
#[derive(Default)]
pub(super) struct Screen {
    pub(super) frames: Vec<Frame>,
    pub(super) digests: Vec<u64>,
}

pub(super) struct Peer<W: World> {
    pub(super) seat: Seat,
    /// Tells the pages of a seat apart.
    pub(super) page: u32,
    /// The life of the seat in which it plays.
    pub(super) life: Life,
    /// `None` while it waits to come back.
    pub(super) session: Option<Session<W>>,
    /// True if the server counts on it.
    pub(super) is_member: bool,
    pub(super) is_online: bool,
    /// Mail of an earlier connection is lost.
    pub(super) connection: u32,
    /// The arrival time of the server's last message under way.
    pub(super) mailed_us: u64,
    pub(super) person: Rng,
    pub(super) actions: u16,
    pub(super) clock_error_us: i64,
    pub(super) drift: i64,
    pub(super) slowness: u64,
    pub(super) wakes_us: u64,
    pub(super) acts_us: u64,
    pub(super) uploads_us: u64,
    pub(super) busy_us: u64,
    pub(super) screen: Screen,
    /// When each second began that is measured, and with which tick.
    pub(super) second: (u64, u32),
    /// The part of it that the oracles have seen.
    pub(super) settled: u32,
    pub(super) current: u32,
    pub(super) over_events: u32,
    pub(super) over_us: u64,
}

impl<W: World> Peer<W> {
    pub(super) fn clock(&self, true_us: u64) -> u64 {
        let phase = true_us % (2 * HALF_US);
        let away = phase.min(2 * HALF_US - phase).cast_signed();
        true_us.saturating_add_signed(self.clock_error_us + away * self.drift / 1_000)
    }

    pub(super) fn set_alarm(&mut self, now_us: u64) {
        let wanted = self.session.as_ref().and_then(Session::poll_timeout);
        let slack = if self.slowness > 0 {
            0
        } else {
            u64::from(self.person.below(4_000))
        };
        let error_us = self.clock(now_us).cast_signed() - now_us.cast_signed();
        let next = match wanted {
            None => u64::MAX,
            Some((wanted, _)) => wanted.saturating_add_signed(-error_us).max(now_us + 500) + slack,
        };
        self.wakes_us = if self.wakes_us > now_us {
            self.wakes_us.min(next)
        } else {
            next
        };
    }

    pub(super) fn act(&mut self, now_us: u64) {
        let action = self.person.below(u32::from(self.actions)) as Action;
        let clock = self.clock(now_us);
        if let Some(session) = &mut self.session {
            session.handle_action(clock, action);
        }
        self.acts_us = now_us + u64::from(self.person.below(500_000));
    }

    /// The time at which it next acts by itself.
    pub(super) fn next_us(&self) -> u64 {
        let uploads = if self.is_online && self.session.is_some() {
            self.uploads_us
        } else {
            u64::MAX
        };
        self.wakes_us
            .min(self.acts_us)
            .min(uploads)
            .max(self.busy_us)
    }
}
