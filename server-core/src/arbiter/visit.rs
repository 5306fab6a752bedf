//! The visit of one participant as a whole: its duration, its end, and the codes that they take along.

use protocol::control::Farewell;
use study::recruitment::{RecruiterAction, WayOut};
use study::{Outcome, Payment, payment};

use super::{Arbiter, Effect, Place, Session, SessionId, Write};

/// How long somebody has been there, as the server measured it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attendance {
    /// Time of the visit until they were last seen, microseconds.
    pub spent_us: u64,
    /// When that was, microseconds; 0 for never.
    pub seen_us: u64,
}

impl Attendance {
    /// Somebody is there now. The time since they were last seen is part of the visit if their page was open all the
    /// while (`there`), or if they were away for a moment only.
    fn see(&mut self, now_us: u64, there: bool, pause_us: u64) {
        let since_us = now_us.saturating_sub(self.seen_us);
        if self.seen_us > 0 && (there || since_us <= pause_us) {
            self.spent_us += since_us;
        }
        self.seen_us = now_us;
    }
}

impl Session {
    /// It is not at a chat any more.
    pub(super) fn leave_chat(&mut self) {
        if matches!(self.place, Place::Chat(_)) {
            self.place = Place::Page;
        }
    }

    /// Takes note that the page is there, or was until now.
    pub(super) fn see(&mut self, now_us: u64, pause_us: u64) {
        if self.payment.is_none() {
            let there = self.conn.is_some();
            self.attendance.see(now_us, there, pause_us);
        }
    }
}

impl Arbiter {
    pub(super) fn pause_us(&self) -> u64 {
        self.limits.pause.as_micros() as u64
    }

    /// Computes a session's payment if its way has ended: once, whatever comes later.
    pub(super) fn settle_payment(&mut self, who: SessionId) {
        let session = &self.sessions[who.0];
        let Some(outcome) = session.progress.outcome(&self.study) else {
            return;
        };
        if session.payment.is_none() {
            let time_ms = session.attendance.spent_us / 1_000;
            let number = who.0 as u64;
            let (study, progress) = (&self.study, &session.progress);
            let payment = Payment::of(study, progress, outcome, time_ms, self.seed, number);
            self.sessions[who.0].payment = Some(payment);
        }
    }

    /// The recruiter action and completion code of each outcome.
    pub fn codes(&self) -> Vec<(Outcome, RecruiterAction, String)> {
        let ways = self.study.recruitment.outcomes.iter();
        let code = |(outcome, way): (&Outcome, &WayOut)| {
            let code = payment::code(&self.study, *outcome, self.seed)?;
            Some((*outcome, way.deed, code))
        };
        ways.filter_map(code).collect()
    }

    /// The codes that a participant takes along from the last page.
    pub(super) fn farewell(&self, who: SessionId) -> Farewell {
        let progress = &self.sessions[who.0].progress;
        let withdrawal = progress.receipt().unwrap_or_default().to_owned();
        let lacks = progress.lacks().to_vec();
        let Some(payment) = &self.sessions[who.0].payment else {
            return Farewell {
                withdrawal,
                lacks,
                ..Farewell::default()
            };
        };
        let code = payment.code.clone().unwrap_or_default();
        let currency = payment.currency.as_deref().unwrap_or_default();
        let pay = match payment.total {
            0 => String::new(),
            total => format!("{currency} {}", payment::written(total, currency)),
        };
        Farewell {
            pay,
            withdrawal,
            lacks,
            onward: self.onward(who),
            receipt: match code.is_empty() {
                true => String::new(),
                false => payment.receipt.clone(),
            },
            code,
        }
    }

    /// When a session ends to which nobody comes back, if the study says so.
    fn expires_us(&self, who: SessionId) -> Option<u64> {
        let session = &self.sessions[who.0];
        let is_away = session.conn.is_none() && session.payment.is_none();
        let hours = self.study.keeping.expires_h.filter(|_| is_away)?;
        let seen_us = session.attendance.seen_us;
        (seen_us > 0).then(|| seen_us + u64::from(hours) * 3_600_000_000)
    }

    /// Takes note that a session has no page.
    pub(super) fn will_expire(&mut self, who: SessionId) {
        self.will_fade(who);
        let at_us = self.expires_us(who);
        self.expiring.extend(at_us.map(|at_us| (at_us, who.0)));
    }

    /// Ends the sessions whose time has come; those that somebody came back to meanwhile have another.
    pub(super) fn expire(&mut self, now_us: u64) {
        self.fade(now_us);
        while let Some(&(at_us, who)) = self.expiring.first().filter(|(at_us, _)| *at_us <= now_us)
        {
            self.expiring.pop_first();
            let who = SessionId(who);
            if self.expires_us(who) == Some(at_us) {
                self.depart(now_us, who, study::ProgressEvent::Cut(Outcome::TimedOut));
            }
        }
    }

    /// Stores how long everybody has been there, before pages are asked to come back.
    pub(super) fn keep_attendance(&mut self, now_us: u64) {
        let pause_us = self.pause_us();
        let there = |who: &usize| {
            let session = &self.sessions[*who];
            session.conn.is_some() && session.payment.is_none()
        };
        let all: Vec<usize> = (0..self.sessions.len()).filter(there).collect();
        for who in all {
            self.sessions[who].see(now_us, pause_us);
            self.store_place(SessionId(who), None);
        }
    }

    /// The row of a session that has another place.
    pub(super) fn place_of(&self, who: SessionId, answers: Option<super::StageAnswers>) -> Write {
        let session = &self.sessions[who.0];
        Write::Place {
            participant: session.participant.clone(),
            progress: session.progress.clone(),
            answers,
            attendance: session.attendance,
            payment: session.payment.clone().map(Box::new),
        }
    }

    /// Makes the place of a session durable, before anything that is sent from now on.
    pub(super) fn store_place(&mut self, who: SessionId, answers: Option<super::StageAnswers>) {
        if self.sessions[who.0].conn.is_some() {
            let (now_us, pause_us) = (self.now_us, self.pause_us());
            self.sessions[who.0].see(now_us, pause_us);
        }
        self.settle_payment(who);
        let write = self.place_of(who, answers);
        self.effects.push_back(Effect::Store(write));
        self.touch_group(who);
        self.touch_reunions();
    }
}

/// Where Prolific takes a participant who is done.
pub fn completion_url(code: &str) -> String {
    format!("https://app.prolific.com/submissions/complete?cc={code}")
}
