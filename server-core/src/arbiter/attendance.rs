//! The time that counts as worked: from one sign of life to the next, and the waits that the study asks for.
//!
//! A sign of life is something that a page sends only because its person did something. Between two of them, at most
//! the time counts that the study grants for one; a page that is merely open, connects again or measures its clock adds
//! none.

use protocol::Era;
use protocol::control::Upload;
use study::StageKind;

pub(super) use super::worked_time::Unsaved;
use super::{Arbiter, Effect, Place, SessionId, Write};

/// True if some actions of a page's person do something: nobody presses a key in a page that is merely open.
pub(super) fn has_acted(upload: &Upload, noop: Option<u16>) -> bool {
    let mut own = upload.block.iter().flat_map(|block| &block.inputs);
    noop.is_some_and(|noop| own.any(|action| *action != noop))
}

impl Arbiter {
    /// Returns the time for which a sign of life counts at the stage of a session, microseconds: as the study says, or
    /// the least time that the stage takes, if that is longer. At a page of another site, nothing is heard until the
    /// return.
    pub(super) fn sign_counts_us(&self, who: SessionId) -> u64 {
        let us = |seconds: u32| u64::from(seconds) * 1_000_000;
        let least_us = match self.stage_kind(self.stage_of(who)) {
            StageKind::External(_) => self.limits.counted_absence_max.as_micros() as u64,
            StageKind::Instructions(it) => us(it.min_s),
            StageKind::Chat(chat) => us(chat.min_s),
            StageKind::Env(_) => {
                let rest = self.sessions[who].progress.rest(&self.study);
                rest.map_or(0, |rest| us(rest.min_s))
            }
            _ => 0,
        };
        us(self.study.recruitment.pay_terms.idle_s()).max(least_us)
    }

    /// Takes note that somebody did something.
    pub(super) fn note_sign(&mut self, now_us: u64, who: SessionId) {
        let counts_us = self.sign_counts_us(who);
        self.count_time(now_us, who, counts_us);
    }

    /// Takes note that somebody has waited until now because the study asked for it.
    pub(super) fn note_waited(&mut self, now_us: u64, who: SessionId) {
        let session = &self.sessions[who];
        let until_us = match session.conn {
            Some(_) => now_us,
            None => session.attendance.seen_us.min(now_us),
        };
        self.count_time(until_us, who, u64::MAX);
    }

    /// Counts the time since the last sign of life, up to a limit; nothing of it changes a payment that is there.
    pub(super) fn count_time(&mut self, now_us: u64, who: SessionId, most_us: u64) {
        let session = &mut self.sessions[who];
        if session.payment.is_none() {
            session.attendance.count(now_us, most_us);
            self.unsaved.add_session(now_us, who);
        }
    }

    /// The action of an episode's environment that does nothing.
    pub(super) fn find_noop(&self, era: Era) -> Option<u16> {
        Some(self.episodes.get(era)?.facts.noop)
    }

    /// True if somebody waits because the study asks for it: for a group, or for the others of it.
    fn is_asked_to_wait(&self, who: SessionId) -> bool {
        let session = &self.sessions[who];
        let waits = session.wait.is_some() || matches!(session.place, Place::Group(_));
        waits && session.conn.is_some()
    }

    /// Makes attendance durable that has changed some time ago.
    pub(super) fn save_attendance(&mut self, now_us: u64) {
        for who in self.unsaved.poll_due(now_us) {
            if self.is_asked_to_wait(who) {
                self.note_waited(now_us, who);
            }
            self.write_attendance(who);
        }
    }

    /// Makes the attendance of a session durable, if it has changed.
    pub(super) fn save_attendance_of(&mut self, who: SessionId) {
        if self.unsaved.remove_session(who) {
            self.write_attendance(who);
        }
    }

    /// Takes note that the attendance of a session is stored with its place.
    pub(super) fn mark_attendance_saved(&mut self, who: SessionId) {
        self.unsaved.remove_session(who);
        // A wait continues.
        if self.is_asked_to_wait(who) {
            self.unsaved.add_session(self.now_us, who);
        }
    }

    fn write_attendance(&mut self, who: SessionId) {
        let session = &self.sessions[who];
        if session.payment.is_none() {
            self.effects.push_back(Effect::Store(Write::Attendance {
                participant: session.participant.clone(),
                attendance: session.attendance,
            }));
        }
    }

    /// Stores how long everybody has been there, before pages are asked to come back.
    pub(super) fn store_attendance(&mut self, now_us: u64) {
        let all: Vec<SessionId> = self.sessions.ids().collect();
        for who in all {
            let session = &self.sessions[who];
            if session.conn.is_some() && session.payment.is_none() {
                if self.is_asked_to_wait(who) {
                    self.note_waited(now_us, who);
                }
                self.sessions.note_presence(now_us, who);
                self.store_place(who, None);
            }
        }
    }
}
