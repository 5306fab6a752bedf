//! When ticks are due: tick `k` at `T0 + k / hz` on the clock that all share.

/// The tick clock of an episode; microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Schedule {
    t0_us: u64,
    tick_hz: u64,
}

impl Schedule {
    pub(crate) fn new(t0_us: u64, tick_hz: u16) -> Self {
        Self {
            t0_us,
            tick_hz: u64::from(tick_hz.max(1)),
        }
    }

    /// When a tick is due. Rounded once from the start, so that nothing adds up over an episode.
    pub(crate) fn due_us(self, tick: u32) -> u64 {
        self.t0_us
            .saturating_add(u64::from(tick) * 1_000_000 / self.tick_hz)
    }

    /// From one tick to the next, rounded up.
    pub(crate) fn period_us(self) -> u64 {
        1_000_000_u64.div_ceil(self.tick_hz)
    }
}
