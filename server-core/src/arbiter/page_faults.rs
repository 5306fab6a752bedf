//! Pages that fail: they diverge again and again, never get ready, or break the protocol. Their own people leave the
//! study with a separate outcome; for the others in the episode, it is as if that person had left.

use protocol::control::EndReason;
use study::{Outcome, ProgressEvent};

use super::episode::EpisodeState;
use super::flow::Transition;
use super::group::DepartureReason;
use super::{Arbiter, Place, SessionId};

impl Arbiter {
    /// Ends the part of somebody whose page failed.
    pub(super) fn fail_page(&mut self, now_us: u64, who: SessionId, why: &'static str) {
        tracing::warn!(why, "a page failed, and its part in the study ends");
        self.end_session(now_us, who, ProgressEvent::Cut(Outcome::PageFailed));
    }

    /// Notes that a page of an episode sent what no correct page sends. Its person may come back. If they do not, or if
    /// their page does so again and again, the page has failed.
    pub(super) fn note_fault(&mut self, now_us: u64, who: SessionId) {
        let session = &mut self.sessions[who];
        if matches!(session.place, Place::Episode(..)) {
            session.faults += 1;
            if session.faults > self.limits.divergences {
                self.fail_page(now_us, who, "it broke the protocol again and again");
            }
        }
    }

    /// True if the people of an episode that is over go back to their lobby: its study wants it, it was the first of
    /// their group, and the page of a member failed.
    pub(super) fn may_rematch(&self, episode: &EpisodeState, reason: EndReason) -> bool {
        let course = episode.header.course.as_ref();
        let is_first = course.is_some_and(|course| course.episode == 0);
        let Some((key, group)) = (episode.group).and_then(|key| Some((key, self.groups.get(key)?)))
        else {
            return false;
        };
        let wants = self
            .study
            .lobby(group.lobby)
            .is_some_and(|lobby| lobby.rematch);
        let is_new = |who: SessionId| {
            self.group_visit_in(key, who)
                .is_none_or(|group_visit| group_visit.number == 0)
        };
        let has_failed = |who: SessionId| {
            let outcome = self.sessions[who].progress.outcome(&self.study);
            outcome == Some(Outcome::PageFailed)
        };
        let mut members = group.members().map(|(_, member)| member.who);
        wants
            && is_first
            && reason == EndReason::PartnerLeft
            && episode.people().all(|(_, who)| is_new(who))
            && members.any(has_failed)
    }

    /// Brings somebody back to the lobby of their group, which they leave permanently.
    pub(super) fn match_again(&mut self, who: SessionId) -> Vec<Transition> {
        let session = &mut self.sessions[who];
        session.place = Place::Page;
        (session.failed, session.since_us, session.rest_us) = (0, None, None);
        let group = session.group.take();
        self.advance_session(who, ProgressEvent::Rematched);
        if let Some(key) = group {
            self.give_up(key, who, DepartureReason::Left);
        }
        vec![Transition::Enter(who)]
    }

    /// True if the page of somebody who did not come back to an episode broke the protocol in it.
    pub(super) fn has_failed(&self, who: SessionId) -> bool {
        self.sessions[who].faults > 0
    }
}
