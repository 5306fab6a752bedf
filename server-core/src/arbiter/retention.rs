//! Erases the data of people who are past the study's retention period; their attendance, outcome and payment stay.

use study::{Outcome, ProgressEvent};

use super::{Arbiter, Effect, SessionId, Write};

impl Arbiter {
    /// Erases the data that are due.
    pub(super) fn erase_faded(&mut self, now_us: u64) {
        while let Some(who) = self.sessions.poll_faded(now_us) {
            self.erase_data(now_us, who);
        }
    }

    fn erase_data(&mut self, now_us: u64, who: SessionId) {
        self.end_session(now_us, who, ProgressEvent::Cut(Outcome::TimedOut));
        self.sessions.erase_session(who);
        let participant = self.sessions[who].participant.clone();
        self.groups.forget_messages(who, false);
        self.store_place(who, None);
        self.effects
            .push_back(Effect::Store(Write::Erase { participant }));
    }
}
