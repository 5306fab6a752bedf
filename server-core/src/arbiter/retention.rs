//! Erases the data of people who are past the study's retention period; their attendance, outcome and payment stay.

use study::{Outcome, ProgressEvent};

use super::{Arbiter, Effect, SessionId, Write};

impl Arbiter {
    /// Erases the data that are due, unless the clock may be wrong.
    pub(super) fn erase_faded(&mut self, now_us: u64) {
        self.doubt_clock(self.sessions.machine_us(now_us));
        while let Some(who) = self.sessions.poll_faded(now_us) {
            self.erase_data(now_us, who);
        }
    }

    /// Keeps all data from now on if the clock is so far ahead of all known times that it may be wrong: nobody can undo
    /// an erasure.
    fn doubt_clock(&mut self, now_us: u64) {
        let far_us = u64::try_from(self.limits.clock_ahead.as_micros()).unwrap_or(u64::MAX);
        let is_far = self.known_us > 0 && now_us.saturating_sub(self.known_us) > far_us;
        self.known_us = self.known_us.max(now_us);
        if is_far && self.study.keeping.retention_days.is_some() {
            tracing::error!(
                "the clock is more than {} days ahead of the newest data, so nothing is erased by it; if it is right, \
                 stop the server and run `coplay retain`",
                far_us / 86_400_000_000
            );
            self.sessions.keep_all();
        }
    }

    fn erase_data(&mut self, now_us: u64, who: SessionId) {
        self.end_session(now_us, who, ProgressEvent::Cut(Outcome::TimedOut));
        self.sessions.erase_session(who);
        let participant = self.sessions[who].participant.clone();
        tracing::info!("the data of a participant are past their retention period and are erased");
        self.groups.forget_messages(who, false);
        self.forget_exchange(who);
        self.store_place(who, None);
        self.effects
            .push_back(Effect::Store(Write::Erase { participant }));
    }
}
