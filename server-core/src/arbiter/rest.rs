//! The rest between two episodes of a visit: from when on a person may continue, and when the next episode begins by
//! itself.

use protocol::control::{ServerMessage, StageView};

use super::flow::Transition;
use super::{Arbiter, Place, SessionId};

impl Arbiter {
    /// Shows a connected participant the rest, with the time that is left of it, unless that is over.
    pub(super) fn show_rest(&mut self, now_us: u64, who: SessionId) -> Vec<Transition> {
        self.sessions[who].rest_us.get_or_insert(now_us);
        let rest = self.sessions[who].rest_times(&self.study, now_us);
        let Some((rested_us, least_us, most_us)) = rest else {
            return Vec::new();
        };
        if most_us.is_some_and(|most_us| most_us <= rested_us) {
            return self.end_rest(who);
        }
        let left_us = most_us.map(|most_us| most_us - rested_us);
        if let Some(left_us) = left_us {
            self.sessions.schedule_rest(who, now_us + left_us);
        }
        let ms = |us: u64| u32::try_from(us / 1_000).unwrap_or(u32::MAX);
        let mut message = self.stage_message(who, self.stage_of(who), None);
        if let ServerMessage::Stage {
            view: StageView::Rest { min_ms, max_ms, .. },
            ..
        } = &mut message
        {
            *min_ms = ms(least_us.saturating_sub(rested_us));
            *max_ms = left_us.map(ms);
        }
        self.tell_session(who, message);
        Vec::new()
    }

    /// The next episode begins, if the participant is there.
    fn end_rest(&mut self, who: SessionId) -> Vec<Transition> {
        let at = self.sessions[who].progress.position();
        let done = study::ProgressEvent::StageDone { at, answers: &[] };
        self.sessions[who].rest_us = None;
        match self.advance_session(who, done) {
            true => vec![Transition::Enter(who)],
            false => Vec::new(),
        }
    }

    /// Ends the rests whose time is up; rests of people who are away end when they are back.
    pub(super) fn settle_rests(&mut self, now_us: u64) {
        for who in self.sessions.poll_rested(now_us) {
            let session = &self.sessions[who];
            if session.conn.is_some()
                && session.place == Place::Page
                && session.is_resting(&self.study)
            {
                let next = self.end_rest(who);
                self.make_transitions(now_us, next);
            }
        }
    }
}
