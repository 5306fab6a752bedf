//! The time for which a page keeps others waiting: a debt that it pays back by playing. It must not know of seats.

/// For so long, all in all, a page may have said nothing that connects again, microseconds: each new connection has the
/// whole time to be heard until then. Playing makes up for it.
const EXCUSED_US: u64 = 30_000_000;

/// The time for which a page has kept others waiting with its inputs, less what it has made up for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lag {
    /// The time since which it keeps them waiting, microseconds; earlier by what it has not made up for.
    pub since_us: Option<u64>,
    /// Debt that is left from before, while nobody waits for it, microseconds.
    owed_us: u64,
    /// The silence for which it was given time again, microseconds.
    excused_us: u64,
}

impl Lag {
    /// The page has said inputs that are worth so much time.
    pub(super) fn make_up(&mut self, now_us: u64, worth_us: u64) {
        let later = |since_us: u64| since_us.saturating_add(worth_us).min(now_us);
        self.since_us = self.since_us.map(later);
        self.owed_us = self.owed_us.saturating_sub(worth_us);
        self.excused_us = self.excused_us.saturating_sub(worth_us);
    }

    /// The page keeps others waiting, or does not.
    pub(super) fn set_behind(&mut self, now_us: u64, is_behind: bool) {
        match (self.since_us, is_behind) {
            (None, true) => {
                self.since_us = Some(now_us.saturating_sub(std::mem::take(&mut self.owed_us)))
            }
            (Some(since_us), false) => {
                self.owed_us = now_us.saturating_sub(since_us);
                self.since_us = None;
            }
            _ => {}
        }
    }

    /// True if a page that connects again, and has said nothing for so long, has the whole time to be heard once more.
    pub(super) fn is_excused(&mut self, silent_us: u64) -> bool {
        let excused_us = self.excused_us.saturating_add(silent_us);
        let is_excused = excused_us <= EXCUSED_US;
        if is_excused {
            self.excused_us = excused_us;
        }
        is_excused
    }
}
