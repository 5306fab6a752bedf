//! The episodes from their linking to their end, by era, and the times at which each must be settled.
//!
//! It must not know of stages, groups and messages.

use std::collections::BTreeMap;

use protocol::{Era, Seat};

use super::episode::{EpisodeState, Phase, Play};
use super::session::SessionId;
use super::timeouts::{Timeout, Timeouts};

/// The time of an episode to which something has happened.
const AT_ONCE: Option<Timeout> = Some((0, "an event"));

/// The episodes that are not over.
#[derive(Debug)]
pub(super) struct Episodes {
    by_era: BTreeMap<u16, EpisodeState>,
    /// When each must be settled.
    timeouts: Timeouts<u16>,
    next_era: u16,
}

impl Episodes {
    /// Creates an empty table; the next episode has this era.
    pub(super) fn new(next_era: u16) -> Self {
        Self {
            by_era: BTreeMap::new(),
            timeouts: Timeouts::default(),
            next_era,
        }
    }

    /// Takes an era that no episode has.
    pub(super) fn allocate_era(&mut self) -> Era {
        while self.by_era.contains_key(&self.next_era) {
            self.next_era = self.next_era.wrapping_add(1);
        }
        let era = Era(self.next_era);
        self.next_era = self.next_era.wrapping_add(1);
        era
    }

    /// The era of the next episode.
    pub(super) fn next_era(&self) -> Era {
        Era(self.next_era)
    }

    /// Adds an episode, which must be settled at once.
    pub(super) fn add_episode(&mut self, era: Era, episode: EpisodeState) {
        self.by_era.insert(era.0, episode);
        self.touch_episode(era);
    }

    pub(super) fn remove_episode(&mut self, era: Era) -> Option<EpisodeState> {
        self.timeouts.set(era.0, None);
        self.by_era.remove(&era.0)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &EpisodeState> {
        self.by_era.values()
    }

    pub(super) fn get(&self, era: Era) -> Option<&EpisodeState> {
        self.by_era.get(&era.0)
    }

    pub(super) fn get_mut(&mut self, era: Era) -> Option<&mut EpisodeState> {
        self.by_era.get_mut(&era.0)
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.by_era.is_empty()
    }

    /// An episode that runs.
    pub(super) fn play_mut(&mut self, era: Era) -> Option<&mut Play> {
        match &mut self.get_mut(era)?.phase {
            Phase::Playing(play) => Some(play),
            Phase::Linking { .. } | Phase::Ending { .. } => None,
        }
    }

    /// The episode that runs with a seat of this session, and the seat.
    pub(super) fn seat_mut(&mut self, era: Era, who: SessionId) -> Option<(&mut Play, Seat)> {
        let seat = self.get(era)?.seat_of(who)?;
        Some((self.play_mut(era)?, seat))
    }

    /// The session of a seat, if a person has it.
    pub(super) fn session_at(&self, era: Era, seat: Seat) -> Option<SessionId> {
        self.get(era)?.session_at(seat)
    }

    /// True if the archive has not yet answered all uploads of a session's page.
    pub(super) fn is_awaited(&self, era: Era, who: SessionId) -> bool {
        let episode = self.get(era);
        episode.is_some_and(|episode| match (&episode.phase, episode.seat_of(who)) {
            (Phase::Playing(play), Some(seat)) => play.flying[seat.index()] > 0,
            (Phase::Ending { .. }, _) => true,
            (Phase::Linking { .. } | Phase::Playing(_), _) => false,
        })
    }

    /// Has an episode settled: something has happened to it.
    pub(super) fn touch_episode(&mut self, era: Era) {
        if self.by_era.contains_key(&era.0) {
            self.timeouts.set(era.0, AT_ONCE);
        }
    }

    /// Takes note that an episode is settled now, and when it must decide next even if nothing comes in.
    pub(super) fn schedule_settling(&mut self, era: Era, now_us: u64, stalled_us: u64) {
        let episode = self.by_era.get(&era.0);
        let timeout = episode.and_then(|episode| episode.next_timeout(now_us, stalled_us));
        self.timeouts.set(era.0, timeout);
    }

    /// Returns the episodes that must be settled now.
    pub(super) fn due_eras(&self, now_us: u64) -> Vec<Era> {
        self.timeouts
            .due_keys(now_us)
            .into_iter()
            .map(Era)
            .collect()
    }

    /// The time at which an episode must be settled, microseconds, and the reason.
    pub(super) fn poll_timeout(&self) -> Option<Timeout> {
        self.timeouts.next_timeout()
    }
}
