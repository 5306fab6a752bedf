//! The way of one participant from stage to stage.
//!
//! A function that moves a participant on returns [`Transition`]s. [`Arbiter::make_transitions`] makes them, one after
//! the other.

use std::collections::VecDeque;

use protocol::control::{ServerMessage, StageView};
use study::{Episode, OnLeave, ProgressEvent, StageKind};

use super::group::SeatAssignment;
use super::{Arbiter, Place, SessionId, WaitedFor};

/// A step of one participant through the study.
#[derive(Clone, Debug)]
pub(super) enum Transition {
    /// They see the stage at which they are, and it begins.
    Enter(SessionId),
    /// Their episode is over, or did not start.
    LeaveEpisode(SessionId, Episode),
    /// They go back to the lobby, as the page of a partner failed.
    Rematch(SessionId),
}

impl Arbiter {
    /// Index of the stage at which a session is.
    pub(super) fn stage_of(&self, who: SessionId) -> u16 {
        let last = self.study.timeline.len().saturating_sub(1) as u16;
        self.sessions[who].progress.index().min(last)
    }

    /// True if a session is on its last page.
    pub(super) fn is_finished(&self, who: SessionId) -> bool {
        self.sessions[who].progress.outcome(&self.study).is_some()
    }

    /// Moves a session on and makes its new place durable, before anything that is sent from now on.
    /// False if the event does not belong to its place.
    pub(super) fn advance_session(&mut self, who: SessionId, event: ProgressEvent<'_>) -> bool {
        let had_place = self.holds_place(&self.sessions[who]);
        let session = &mut self.sessions[who];
        let moved = matches!(
            session.progress.handle(&self.study, event),
            Ok(study::ProgressStep::Enter(_))
        );
        if moved {
            session.shown_us = Some(0);
            session.leave_chat();
            if !had_place {
                self.claim_place(who);
            }
            let erases = self.study.keeping.on_leave == Some(OnLeave::Erase);
            match event {
                ProgressEvent::Withdrawn { .. } => self.take_data_back(who),
                ProgressEvent::Left if erases => self.take_data_back(who),
                _ => self.store_place(who, None),
            }
            self.forget_unconsented(who);
        }
        moved
    }

    /// The message that shows a stage: the one at which a session is, or the env stage for which it is about to leave the
    /// lobby; with another view than the stage's own, if there is one.
    pub(super) fn stage_message(
        &self,
        who: SessionId,
        index: u16,
        other: Option<StageView>,
    ) -> ServerMessage {
        let stage = &self.study.timeline[usize::from(index)];
        let progress = &self.sessions[who].progress;
        let mut view = other.unwrap_or_else(|| match self.stage_of(who) == index {
            true => progress.view(&self.study),
            false => stage.view(progress.language(&self.study)),
        });
        if let StageView::End { farewell, .. } = &mut view {
            *farewell = self.make_farewell(who);
        }
        if let StageView::Screening { trials, .. } = &mut view {
            *trials = self.list_trials();
        }
        if let (StageView::External { url, .. }, StageKind::External(external)) =
            (&mut view, &stage.kind)
        {
            *url = external.url_for(&self.sessions[who].participant);
        }
        let is_here = self.stage_of(who) == index;
        let ahead = u16::from(!is_here);
        ServerMessage::Stage {
            index: progress.position() + ahead,
            count: match self.study.hides_progress() {
                true => 0,
                false => progress.count(&self.study),
            },
            id: stage.id.clone(),
            view,
            draft: self.draft_for_page(who).filter(|_| is_here),
            again: is_here && progress.is_again(),
        }
    }

    /// Shows a connected participant their stage, and does what follows.
    pub(super) fn show_stage(&mut self, now_us: u64, who: SessionId) {
        self.make_transitions(now_us, vec![Transition::Enter(who)]);
    }

    /// Carries out transitions in their order; those that follow from one come before the next. This ends, because a
    /// transition that returns others has moved its participant further on a finite route.
    pub(super) fn make_transitions(&mut self, now_us: u64, first: Vec<Transition>) {
        let mut queue = VecDeque::from(first);
        while let Some(transition) = queue.pop_front() {
            let next = match transition {
                Transition::Enter(who) => self.enter_stage(now_us, who),
                Transition::LeaveEpisode(who, episode) => self.leave_episode(now_us, who, episode),
                Transition::Rematch(who) => self.match_again(who),
            };
            next.into_iter()
                .rev()
                .for_each(|transition| queue.push_front(transition));
        }
    }

    /// Shows a connected participant their stage, and does what the stage begins with. Returns what follows.
    fn enter_stage(&mut self, now_us: u64, who: SessionId) -> Vec<Transition> {
        if self.sessions[who].conn.is_none() {
            return Vec::new();
        }
        let stage = self.stage_of(who);
        match self.stage_kind(stage) {
            StageKind::Env(_) if self.sessions[who].is_resting(&self.study) => {
                self.show_rest(now_us, who)
            }
            kind if kind.is_together() => self.join_group_visit(now_us, who),
            StageKind::Env(_) => self.set_up_episode(now_us, None, &[SeatAssignment::Person(who)]),
            _ => {
                self.sessions[who].note_shown(now_us);
                self.give_ticket(who);
                let message = self.stage_message(who, stage, None);
                self.tell_session(who, message);
                if matches!(self.stage_kind(stage), StageKind::Lobby(_)) {
                    self.join_lobby(now_us, who, stage);
                }
                Vec::new()
            }
        }
    }

    /// Moves a session past its env stage.
    fn leave_episode(&mut self, now_us: u64, who: SessionId, episode: Episode) -> Vec<Transition> {
        self.sessions[who].place = Place::Page;
        (self.sessions[who].failed, self.sessions[who].lost_links) = (0, 0);
        self.sessions[who].since_us = None;
        self.sessions[who].rest_us = None;
        self.sessions[who].came_us = None;
        self.end_wait(now_us, who, WaitedFor::NotReady, None);
        // An episode that never started has left its people in the lobby.
        if matches!(self.stage_kind(self.stage_of(who)), StageKind::Lobby(_)) {
            let draw = self.draw_group();
            self.advance_session(
                who,
                ProgressEvent::Matched {
                    draw: &draw,
                    seat: self.place_in_group(who),
                },
            );
        }
        self.advance_session(who, ProgressEvent::EpisodeEnded(&episode));
        if std::mem::take(&mut self.sessions[who].leaves) {
            // Who is at the end anyway has ended so.
            self.advance_session(who, ProgressEvent::Left);
        }
        vec![Transition::Enter(who)]
    }

    /// The participant leaves on purpose.
    pub(super) fn handle_leave(&mut self, now_us: u64, who: SessionId) {
        self.note_sign(now_us, who);
        self.sessions[who].leaves = true;
        self.let_go(now_us, who);
    }

    /// Lets somebody leave who wants to, unless the archive has not yet answered their uploads: their last page says
    /// that everything is stored.
    pub(super) fn let_go(&mut self, now_us: u64, who: SessionId) {
        if self.sessions[who].leaves && !self.is_awaited(who) {
            self.end_session(now_us, who, ProgressEvent::Left);
        }
    }

    /// Ends a participant's part in the study, wherever they are.
    pub(super) fn end_session(&mut self, now_us: u64, who: SessionId, event: ProgressEvent<'_>) {
        self.sessions[who].leaves = false;
        match self.sessions[who].place {
            Place::Page => {}
            Place::Group(_) | Place::Chat(_) | Place::Aside => {
                self.sessions[who].place = Place::Page
            }
            Place::Lobby(room) => self.leave_lobby(room, who),
            Place::Episode(era, _) => {
                self.sessions[who].place = Place::Page;
                self.quit_episode(now_us, era, who);
            }
        }
        self.end_wait(now_us, who, WaitedFor::Left, None);
        if self.advance_session(who, event) {
            self.show_stage(now_us, who);
        }
    }
}
