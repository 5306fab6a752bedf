//! Waits before the episodes of a group whose AI partner is not disclosed.
//!
//! People wait there for each other. So a person with an AI partner waits as long as people did on this server, and no
//! page says that a partner is missing. After the waiting room, the episode begins immediately, as it does for people.

use study::StageKind;
use study::assign::Rng;

use super::group::GroupId;
pub(super) use super::meeting_times::MeetingTimes;
use super::meeting_times::WaitKind;
use super::{Arbiter, SessionId};

/// Purpose of a generator: how long somebody waits where nobody else comes.
const MEETING: u64 = u64::from_le_bytes(*b"meeting ");

impl Arbiter {
    /// True if somebody of a group may play with an AI partner at the stage to come, and is not to know it.
    pub(super) fn is_blind(&self, key: GroupId, who: SessionId) -> bool {
        let StageKind::Env(env) = self.stage_kind(self.stage_of(who)) else {
            return false;
        };
        let own = env.on_disconnect.bot.iter();
        let mut partners = own.chain(self.lobby_partner(Some(key)));
        partners.any(|partner| !partner.disclose)
    }

    fn meeting_kind(&self, who: SessionId) -> WaitKind {
        let (episode, _) = self.sessions[who].progress.episode(&self.study);
        (self.stage_of(who), episode > 0)
    }

    /// Takes note of how long people of a group have waited for each other, who now play.
    pub(super) fn note_meeting(&mut self, now_us: u64, key: GroupId, here: &[SessionId]) {
        let people = self.groups.get(key).map_or(0, |group| group.places.len());
        let is_whole = here.len() > 1 && here.len() == people;
        for &who in here {
            let came_us = self.sessions[who].came_us.take();
            if let Some(came_us) = came_us.filter(|_| is_whole && self.is_blind(key, who)) {
                let kind = self.meeting_kind(who);
                self.meeting_times
                    .add_time(kind, now_us.saturating_sub(came_us));
            }
        }
    }

    /// Returns the end of the wait of somebody who will play with an AI partner and must not know it; `None` if that is
    /// over.
    pub(super) fn blind_wait_until(
        &mut self,
        now_us: u64,
        key: GroupId,
        here: &[SessionId],
    ) -> Option<u64> {
        let &[who] = here else {
            return None;
        };
        if !self.is_blind(key, who) {
            return None;
        }
        let group = self.groups.get(key)?;
        let until_us = group.blind_until_us.unwrap_or_else(|| {
            let progress = &self.sessions[who].progress;
            let (visit, (episode, _)) = (progress.visit(), progress.episode(&self.study));
            let place = [MEETING, group.draw.seed, visit.into(), episode.into()];
            let mut rng = Rng::of(self.seed, &place);
            let drawn_us = self.meeting_times.draw_us(self.meeting_kind(who), &mut rng);
            self.sessions[who].came_us.unwrap_or(now_us) + drawn_us
        });
        let group = self.groups.get_mut(key)?;
        (group.blind_until_us, group.wake_us) = (Some(until_us), Some(until_us));
        (now_us < until_us).then_some(until_us)
    }

    /// Shows people who wait in a blind group what everybody sees before an episode: it does not show who is missing.
    pub(super) fn hide_missing(&mut self, key: GroupId, here: &[SessionId]) {
        for &who in here {
            let group = self.groups.get_mut(key);
            if group.is_some_and(|group| group.shown.insert(who)) {
                let shown = self.stage_message(who, self.stage_of(who), None);
                self.tell_session(who, shown);
            }
        }
    }
}
