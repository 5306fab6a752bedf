//! The time for which somebody has been there, and the people whose time is not stored yet: plain data.

use std::collections::BTreeSet;

use super::session::SessionId;

/// After how long attendance that changed is made durable, microseconds. A crash costs nobody more: after it, as much of
/// the gap counts as the study grants for a sign of life.
const SAVE_EACH_US: u64 = 60_000_000;

/// The time for which somebody has been there, as the server heard it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attendance {
    /// Time that counts as worked, microseconds.
    pub spent_us: u64,
    /// The time at which their page was last there, microseconds; 0 for never.
    pub seen_us: u64,
    /// Until when the time is settled: their last sign of life, or the end of a wait, microseconds; 0 for never.
    pub acted_us: u64,
}

impl Attendance {
    /// Somebody whose page is there for the first time.
    pub fn begin(now_us: u64) -> Self {
        Self {
            spent_us: 0,
            seen_us: now_us,
            acted_us: now_us,
        }
    }

    /// Counts the time since the last sign of life, up to a limit.
    pub(super) fn count(&mut self, now_us: u64, most_us: u64) {
        if self.acted_us > 0 {
            let since_us = now_us.saturating_sub(self.acted_us);
            self.spent_us += since_us.min(most_us);
        }
        self.acted_us = self.acted_us.max(now_us);
    }
}

/// Sessions whose attendance changed since it was stored.
#[derive(Debug, Default)]
pub(super) struct Unsaved {
    sessions: BTreeSet<SessionId>,
    /// The time at which it must be stored, microseconds.
    due_us: Option<u64>,
}

impl Unsaved {
    pub(super) fn add_session(&mut self, now_us: u64, who: SessionId) {
        self.sessions.insert(who);
        self.due_us.get_or_insert(now_us + SAVE_EACH_US);
    }

    pub(super) fn remove_session(&mut self, who: SessionId) -> bool {
        let was_there = self.sessions.remove(&who);
        self.due_us = self.due_us.filter(|_| !self.sessions.is_empty());
        was_there
    }

    /// Takes all of them once they are due.
    pub(super) fn poll_due(&mut self, now_us: u64) -> BTreeSet<SessionId> {
        match self.due_us.filter(|due_us| *due_us <= now_us) {
            Some(_) => std::mem::take(self).sessions,
            None => BTreeSet::new(),
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<(u64, &'static str)> {
        self.due_us.map(|due_us| (due_us, "storing of attendance"))
    }
}
