//! The time as the data folder knows it: nobody can undo an erasure, so no single clock is believed.
//!
//! A row has the time of the clock that wrote it. A clock that was far ahead for a while has left rows of the future; one
//! that was set back since makes true rows look like these.

use super::Restored;

/// A clock is not believed to be set back by more than this: rows that are later were written by one that was ahead.
/// Microseconds.
const SET_BACK_US: u64 = 400 * 24 * 3_600 * 1_000_000;

impl Restored {
    /// The times of which something is known, microseconds since the Unix epoch, earliest first: somebody was there, or a
    /// durable tick was due.
    fn known_times(&self) -> Vec<u64> {
        let sessions = self.sessions.iter();
        let seen = sessions.map(|session| session.attendance.seen_us);
        let played = self.episodes.iter().map(|episode| {
            let header = &episode.header;
            let rate = u64::from(header.tick_hz.max(1));
            header.t0_us + u64::from(episode.through.0) * 1_000_000 / rate
        });
        let mut times: Vec<u64> = seen.chain(played).filter(|at_us| *at_us > 0).collect();
        times.sort_unstable();
        times
    }

    /// The latest time that no wrong clock can have made up, microseconds since the Unix epoch: the last one that is not
    /// `far_us` beyond all before it. 0 if nothing is known.
    pub(super) fn known_us(&self, far_us: u64) -> u64 {
        let times = self.known_times();
        let Some(&first) = times.first() else {
            return 0;
        };
        let follows = |last: u64, at_us: u64| at_us - last <= far_us;
        let known = times.iter().try_fold(first, |last, &at_us| {
            follows(last, at_us).then_some(at_us).ok_or(last)
        });
        known.unwrap_or_else(|last| last)
    }

    /// Returns the time at which the server's clock begins when the machine's clock says `now_us`, microseconds since
    /// the Unix epoch: not before past events, as far as they are credible. Erasures use the earlier of the two times.
    pub fn begin_clock(&mut self, now_us: u64) -> u64 {
        let times = self.known_times();
        let latest = now_us.saturating_add(SET_BACK_US);
        let near = times.iter().rfind(|at_us| **at_us <= latest).copied();
        // A clock that is before everything has lost its time.
        let least_us = near.unwrap_or_else(|| self.known_us(SET_BACK_US));
        self.ahead_us = least_us.saturating_sub(now_us);
        now_us + self.ahead_us
    }
}

#[cfg(test)]
mod tests {
    use study::{Progress, UnitAssignment};

    use super::*;
    use crate::arbiter::{Attendance, RestoredSession};

    const DAY: u64 = 24 * 3_600 * 1_000_000;

    /// The contents of a folder where somebody was there on these days.
    fn on_days(days: &[u64]) -> Restored {
        let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let dir = dir.join("../examples/overcooked-dyad");
        let (study, _) = catalog::read_study(&dir).unwrap();
        let session = |day: &u64| RestoredSession {
            number: 0,
            participant: format!("P-{day}"),
            token_hash: String::new(),
            link_hash: None,
            progress: Progress::new(&study, UnitAssignment::default()),
            attendance: Attendance::begin(day * DAY),
            payment: None,
            identity: None,
            is_erased: false,
        };
        Restored {
            sessions: days.iter().map(session).collect(),
            ..Restored::default()
        }
    }

    #[test]
    fn rows_of_a_clock_that_was_far_ahead_are_no_evidence() {
        let known = |days: &[u64]| on_days(days).known_us(400 * DAY) / DAY;
        assert_eq!(known(&[]), 0);
        assert_eq!(known(&[0, 20_000, 20_010, 20_400]), 20_400);
        assert_eq!(known(&[20_010, 23_650, 20_000]), 20_010);
        assert_eq!(known(&[20_000, 23_650, 23_651, 23_700]), 20_000);
    }

    #[test]
    fn the_clock_begins_with_what_has_happened_and_not_with_what_a_wrong_clock_wrote() {
        let begins = |days: &[u64], now: u64| {
            let mut restored = on_days(days);
            let begun_us = restored.begin_clock(now * DAY);
            assert_eq!(begun_us, now * DAY + restored.ahead_us);
            begun_us / DAY
        };
        assert_eq!(begins(&[], 20_000), 20_000);
        assert_eq!(begins(&[20_000, 20_010], 20_020), 20_020);
        assert_eq!(begins(&[20_000, 20_010], 20_005), 20_010, "set back");
        assert_eq!(begins(&[20_000, 20_010], 0), 20_010, "lost its time");
        assert_eq!(begins(&[20_000, 20_010, 23_650], 20_020), 20_020);
        assert_eq!(begins(&[20_000, 20_010, 23_650], 20_005), 20_010);
        assert_eq!(begins(&[20_000, 20_010, 23_650], 0), 20_010);
    }
}
