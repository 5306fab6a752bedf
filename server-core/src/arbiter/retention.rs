//! Erases the data of people who are past the study's retention period; their attendance, outcome and payment stay.

use study::{Outcome, ProgressEvent};

use super::{Arbiter, Effect, Identity, SessionId, Write};

const DAY_US: u64 = 24 * 3_600 * 1_000_000;

impl Arbiter {
    /// When the recorded data of a session are erased, if the study says so: a number of days after somebody was last
    /// there.
    fn fades_us(&self, who: SessionId) -> Option<u64> {
        let session = &self.sessions[who.0];
        let days = self.study.keeping.retention_days?;
        let is_away = session.conn.is_none() && !session.is_erased;
        is_away.then(|| session.attendance.seen_us + u64::from(days) * DAY_US)
    }

    /// Schedules that time.
    pub(super) fn will_fade(&mut self, who: SessionId) {
        let at_us = self.fades_us(who);
        self.fading.extend(at_us.map(|at_us| (at_us, who.0)));
    }

    /// When something is to be erased next, microseconds; it is looked after every day.
    pub(super) fn next_fading_us(&self) -> Option<u64> {
        let (at_us, _) = self.fading.first()?;
        Some((*at_us).min(self.now_us + DAY_US))
    }

    /// Erases the data that are due.
    pub(super) fn fade(&mut self, now_us: u64) {
        while let Some(&(at_us, who)) = self.fading.first().filter(|(at_us, _)| *at_us <= now_us) {
            self.fading.pop_first();
            // Somebody who came back meanwhile has another time.
            if self.fades_us(SessionId(who)) == Some(at_us) {
                self.erase(now_us, SessionId(who));
            }
        }
    }

    fn erase(&mut self, now_us: u64, who: SessionId) {
        self.depart(now_us, who, ProgressEvent::Cut(Outcome::TimedOut));
        let session = &mut self.sessions[who.0];
        session.is_erased = true;
        let ticket = session.progress.ticket().map(str::to_owned);
        session.progress.erase();
        let key = session.identity.take().as_ref().map(Identity::key);
        let participant = session.participant.clone();
        ticket.map(|ticket| self.by_ticket.remove(&ticket));
        key.map(|key| self.by_identity.remove(&key));
        self.forget_lines(who, false);
        self.store_place(who, None);
        self.effects
            .push_back(Effect::Store(Write::Erase { participant }));
    }
}
