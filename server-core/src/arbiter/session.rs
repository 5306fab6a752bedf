//! The session of one participant: plain data.

use std::collections::VecDeque;

use study::stage::Instructions;
use study::{Payment, Study};

use super::bucket::Bucket;
use super::group::GroupId;
use super::lobbies::Room;
use super::recruiter_identity::Identity;
use super::rows::WaitRow;
use super::worked_time::Attendance;
use protocol::Era;

/// The time by which a page's account of how long a stage was shown may exceed the server's, milliseconds.
const AHEAD_MS: u64 = 3_000;

/// A connection of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u64);

/// A session inside the arbiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub(super) usize);

/// One participant's visit.
#[derive(Debug)]
pub(super) struct Session {
    /// Pseudonym.
    pub participant: String,
    /// Hash of the secret that brings a page back to it: of the page that came last.
    pub token_hash: String,
    /// Hash of the participant link through which it came.
    pub link_hash: Option<String>,
    /// The line of that page: the number of earlier pages that came by an identifier alone. Pages of a line belong to the
    /// same person.
    pub line: u32,
    /// Hashes of the secrets of earlier pages with their lines, the latest last: the person in front of one may play on
    /// there.
    pub earlier_tokens: VecDeque<(String, u32)>,
    /// Its place in the study.
    pub progress: study::Progress,
    /// The page that has it.
    pub conn: Option<ConnId>,
    /// The public key of the page that came last.
    pub key: [u8; 32],
    /// Its place beyond its stage.
    pub place: Place,
    /// The group that the last lobby made.
    pub group: Option<GroupId>,
    /// The time at which it first came to the lobby, microseconds; a dissolved match does not reset it.
    pub since_us: Option<u64>,
    /// Since when it rests between two episodes, microseconds.
    pub rest_us: Option<u64>,
    /// The time at which it reached the stage where it waits for its group, microseconds.
    pub came_us: Option<u64>,
    /// The time at which its page was closed in the lobby, microseconds.
    pub away_us: Option<u64>,
    /// Until when the rules of the episode that ended while it was away grant it to come back, microseconds.
    pub granted_us: Option<u64>,
    /// The wait in the lobby that is not over.
    pub wait: Option<WaitRow>,
    /// The factors whose level its participant can still change in this lobby, by their numbers among the factors that
    /// its people share.
    pub open_factors: Vec<usize>,
    /// Matches for which its page did not get ready.
    pub failed: u8,
    /// Matches that ended before their start, as its page had gone.
    pub lost_links: u8,
    /// How often its page broke the protocol in its episode.
    pub faults: u32,
    /// How long its participant has been there.
    pub attendance: Attendance,
    /// Its payment, once it has ended.
    pub payment: Option<Payment>,
    /// The time of its participant's last sign of life on a page, microseconds.
    pub active_us: u64,
    /// The time at which its stage was first shown, microseconds; 0 before that, `None` if that was before the server
    /// started.
    pub shown_us: Option<u64>,
    /// How often it may send drafts.
    pub drafts: Bucket,
    /// True if its participant wants to leave, and the archive has not yet answered their uploads.
    pub leaves: bool,
    /// How often it may write to its group.
    pub says: Bucket,
    /// How often they may press buttons that tell AI partners what to do.
    pub presses: Bucket,
    /// The recruiter's identifier for the participant.
    pub identity: Option<Identity>,
    /// True if its recorded data are erased.
    pub is_erased: bool,
    /// True if it came without a participant link.
    pub is_open_door: bool,
    /// The time at which it is forgotten, because nobody has begun it, microseconds.
    pub forgotten_us: Option<u64>,
}

/// The place of a session beyond its stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// On a page that it leaves by itself.
    Page,
    /// Waiting in this room.
    Lobby(Room),
    /// At a lobby in which they have lost their place.
    Aside,
    /// At a stage that it plays with this group, once the others have come too.
    Group(GroupId),
    /// At a running chat of this group.
    Chat(GroupId),
    /// In the group of this episode; whether its page has the episode in memory.
    Episode(Era, bool),
}

impl Session {
    /// It is not at a chat any more.
    pub(super) fn leave_chat(&mut self) {
        if matches!(self.place, Place::Chat(_)) {
            self.place = Place::Page;
        }
    }

    /// True if it rests between two episodes.
    pub(super) fn is_resting(&self, study: &Study) -> bool {
        self.progress.rest(study).is_some()
    }

    /// For how long it has rested, and for how long it must and may, microseconds.
    pub(super) fn rest_times(&self, study: &Study, now_us: u64) -> Option<(u64, u64, Option<u64>)> {
        let rest = self.progress.rest(study)?;
        let us = |seconds: u32| u64::from(seconds) * 1_000_000;
        let rested_us = now_us.saturating_sub(self.rest_us.unwrap_or(now_us));
        Some((rested_us, us(rest.min_s), rest.max_s.map(us)))
    }

    /// True if a page says too early that its person continues.
    pub(super) fn rests_too_short(&self, study: &Study, now_us: u64) -> bool {
        let rest = self.rest_times(study, now_us);
        rest.is_some_and(|(rested_us, least_us, _)| rested_us < least_us)
    }

    /// Records when a stage is first shown.
    pub(super) fn note_shown(&mut self, now_us: u64) {
        if self.shown_us == Some(0) {
            self.shown_us = Some(now_us);
        }
    }

    /// True if a person has not taken the least time of instructions, or their page claims more time than the server
    /// has seen.
    pub(super) fn reads_too_fast(&self, now_us: u64, it: &Instructions, pages_ms: &[u32]) -> bool {
        if it.min_s == 0 {
            return false;
        }
        let said_ms: u64 = pages_ms.iter().copied().map(u64::from).sum();
        let seen_ms = |shown_us: u64| now_us.saturating_sub(shown_us) / 1_000;
        let is_ahead = |shown_us| said_ms > seen_ms(shown_us) + AHEAD_MS;
        !it.is_read(pages_ms) || self.shown_us.is_some_and(is_ahead)
    }

    /// True if the time of a form is up, by its page's report and by what the server has seen.
    pub(super) fn is_time_up(&self, now_us: u64, limit_s: u32, pages_ms: &[u32]) -> bool {
        let said_ms: u64 = pages_ms.iter().copied().map(u64::from).sum();
        let is_enough = |ms: u64| ms + AHEAD_MS >= u64::from(limit_s) * 1_000;
        let seen_ms = |shown_us: u64| now_us.saturating_sub(shown_us) / 1_000;
        is_enough(said_ms)
            && self
                .shown_us
                .is_none_or(|shown_us| is_enough(seen_ms(shown_us)))
    }

    /// Takes note that the page is there, or was until now.
    pub(super) fn note_presence(&mut self, now_us: u64) {
        if self.payment.is_none() {
            self.attendance.seen_us = now_us;
        }
    }
}
