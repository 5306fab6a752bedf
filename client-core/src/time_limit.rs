//! The time limit of a stage: when it is over, and when the page reports to the server.
//!
//! This module must not know what the stage asks, nor how the time is shown.

use protocol::control::Draft;

/// The interval at which the server learns how much of the time is gone, microseconds: a page that comes back continues
/// from there.
const KEEP_US: u64 = 5_000_000;
/// The stage is handed in again after this time if the server has not taken it, microseconds: its clock may be behind.
const AGAIN_US: u64 = 5_000_000;

/// The next work of a page with a time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeLimitDue {
    /// Nothing.
    Nothing,
    /// It lets the server keep the answers so far.
    Keep,
    /// It submits the answers so far: the time is up.
    HandIn,
}

/// The time limit of a stage.
#[derive(Clone, Debug)]
pub struct TimeLimit {
    until_us: u64,
    kept_us: u64,
    handed_in_us: Option<u64>,
}

impl TimeLimit {
    /// The limit of a stage that is shown now, less the time that its draft has.
    pub fn new(now_us: u64, limit_s: u32, draft: Option<&Draft>) -> Self {
        let spent_ms = draft.map_or(0, |draft| {
            draft.pages_ms.iter().copied().map(u64::from).sum()
        });
        let left_us = (u64::from(limit_s) * 1_000_000).saturating_sub(spent_ms * 1_000);
        Self {
            until_us: now_us + left_us,
            kept_us: now_us,
            handed_in_us: None,
        }
    }

    /// The time that is left, microseconds.
    pub fn left_us(&self, now_us: u64) -> u64 {
        self.until_us.saturating_sub(now_us)
    }

    /// True if nothing is answered any more.
    pub fn is_over(&self, now_us: u64) -> bool {
        now_us >= self.until_us
    }

    /// Returns this moment, or the end of the time if that was before: later time does not belong to the stage. A
    /// computer may have slept.
    pub fn counted_us(&self, now_us: u64) -> u64 {
        now_us.min(self.until_us)
    }

    /// Returns the work that is due, once.
    pub fn poll_due(&mut self, now_us: u64) -> TimeLimitDue {
        let is_due = |at_us: Option<u64>| at_us.is_none_or(|at_us| now_us >= at_us + AGAIN_US);
        if self.is_over(now_us) {
            return match is_due(self.handed_in_us) {
                true => {
                    self.handed_in_us = Some(now_us);
                    TimeLimitDue::HandIn
                }
                false => TimeLimitDue::Nothing,
            };
        }
        match now_us >= self.kept_us + KEEP_US {
            true => {
                self.kept_us = now_us;
                TimeLimitDue::Keep
            }
            false => TimeLimitDue::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TimeLimitDue::{HandIn, Keep, Nothing};
    use super::*;

    const S: u64 = 1_000_000;

    #[test]
    fn the_time_goes_on_where_the_page_before_left_it_and_ends_once() {
        let draft = Draft {
            pages_ms: vec![4_000, 2_500],
            ..Draft::default()
        };
        let mut limit = TimeLimit::new(100 * S, 20, Some(&draft));
        assert_eq!(limit.left_us(100 * S), 13_500_000);
        assert_eq!(limit.poll_due(104 * S), Nothing);
        assert_eq!(limit.poll_due(105 * S), Keep);
        assert_eq!(limit.poll_due(106 * S), Nothing);
        assert_eq!(limit.poll_due(111 * S), Keep);
        assert!(!limit.is_over(113 * S));
        assert_eq!(limit.poll_due(113_500_000), HandIn);
        assert_eq!(limit.poll_due(114 * S), Nothing);
        assert_eq!(
            limit.poll_due(118_500_000),
            HandIn,
            "the server did not take it"
        );
        assert_eq!(limit.counted_us(900 * S), 113_500_000, "a sleep is no time");
    }

    #[test]
    fn a_page_that_comes_back_too_late_hands_in_at_once() {
        let draft = Draft {
            pages_ms: vec![90_000],
            ..Draft::default()
        };
        let mut limit = TimeLimit::new(S, 20, Some(&draft));
        assert_eq!((limit.left_us(S), limit.is_over(S)), (0, true));
        assert_eq!(limit.poll_due(S), HandIn);
    }
}
