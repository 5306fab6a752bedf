//! The visit of one participant as a whole: its duration, its end, and the codes that they take along.

use protocol::control::Farewell;
use study::recruitment::{RecruiterAction, WayOut};
use study::{Outcome, Payment, payment};

use super::{Arbiter, Effect, SessionId, Write};

impl Arbiter {
    /// Computes a session's payment if its way has ended: once, whatever comes later.
    pub(super) fn settle_payment(&mut self, who: SessionId) {
        let session = &self.sessions[who];
        let Some(outcome) = session.progress.outcome(&self.study) else {
            return;
        };
        if session.payment.is_none() {
            let time_ms = session.attendance.spent_us / 1_000;
            let number = who.0 as u64;
            let (study, progress) = (&self.study, &session.progress);
            let payment = Payment::of(study, progress, outcome, time_ms, self.seed, number);
            self.sessions[who].payment = Some(payment);
        }
    }

    /// The recruiter action and completion code of each outcome that a participant can have.
    pub fn list_codes(&self) -> Vec<(Outcome, RecruiterAction, String)> {
        let possible = self.study.outcomes();
        let ways = self.study.recruitment.outcomes.iter();
        let ways = ways.filter(|(outcome, _)| possible.contains(outcome));
        let code = |(outcome, way): (&Outcome, &WayOut)| {
            let code = payment::code(&self.study, *outcome, self.seed)?;
            Some((*outcome, way.deed, code))
        };
        ways.filter_map(code).collect()
    }

    /// The codes that a participant takes along from the last page.
    pub(super) fn make_farewell(&self, who: SessionId) -> Farewell {
        let progress = &self.sessions[who].progress;
        let withdrawal = progress.receipt().unwrap_or_default().to_owned();
        let lacks = progress.lacks().to_vec();
        let Some(payment) = &self.sessions[who].payment else {
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
            total => {
                let language = progress.language(&self.study);
                payment::units_in_language(total, currency, language)
            }
        };
        Farewell {
            pay,
            withdrawal,
            lacks,
            onward: self.way_onward(who),
            receipt: match code.is_empty() {
                true => String::new(),
                false => payment.receipt.clone(),
            },
            code,
        }
    }

    /// Ends the sessions whose time has come, and forgets those that nobody has begun.
    pub(super) fn end_expired(&mut self, now_us: u64) {
        self.erase_faded(now_us);
        while let Some((who, session)) = self.sessions.poll_forgotten(now_us) {
            self.unsaved.remove_session(who);
            self.exchanges.forget(who);
            let participant = session.participant;
            self.effects
                .push_back(Effect::Store(Write::Forget { participant }));
        }
        while let Some(who) = self.sessions.poll_expired(now_us) {
            self.end_session(now_us, who, study::ProgressEvent::Cut(Outcome::TimedOut));
        }
    }

    /// The row of a session that has another place.
    pub(super) fn place_of(&self, who: SessionId, answers: Option<super::StageAnswers>) -> Write {
        let session = &self.sessions[who];
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
        if self.sessions[who].conn.is_some() {
            self.sessions.note_presence(self.now_us, who);
        }
        self.settle_payment(who);
        let write = self.place_of(who, answers);
        self.effects.push_back(Effect::Store(write));
        self.mark_attendance_saved(who);
        self.touch_group(who);
        self.touch_reunions();
    }
}
