//! When ticks are due: tick `k` at `T0 + delay + k / hz` on the clock that all share.

use protocol::datagram::MAX_DELAY_MS;

/// The tick clock of an episode; microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Schedule {
    t0_us: u64,
    tick_hz: u64,
    delay_ms: u32,
}

impl Schedule {
    pub(crate) fn new(t0_us: u64, tick_hz: u16) -> Self {
        Self {
            t0_us,
            tick_hz: u64::from(tick_hz.max(1)),
            delay_ms: 0,
        }
    }

    /// When a tick is due. Rounded once from the start, so that nothing adds up over an episode.
    pub(crate) fn due_us(self, tick: u32) -> u64 {
        self.t0_us
            .saturating_add(u64::from(self.delay_ms) * 1_000)
            .saturating_add(u64::from(tick) * 1_000_000 / self.tick_hz)
    }

    /// From one tick to the next, rounded up.
    pub(crate) fn period_us(self) -> u64 {
        1_000_000_u64.div_ceil(self.tick_hz)
    }

    /// How much later than at first ticks are due.
    pub(crate) fn delay_ms(self) -> u32 {
        self.delay_ms
    }

    /// Puts ticks off to this delay, if it is greater; whether it was.
    pub(crate) fn put_off(&mut self, delay_ms: u32) -> bool {
        let before = self.delay_ms;
        self.delay_ms = delay_ms.min(MAX_DELAY_MS).max(before);
        self.delay_ms > before
    }
}
