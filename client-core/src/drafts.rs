//! The half-done stage: the time on its pages, and the way of drafts to the server.
//!
//! This module must not know what a stage asks.

use protocol::control::Draft;

/// A change is sent so long after it, microseconds, if no other one follows.
const QUIET_US: u64 = 300_000;
/// The first change that is not sent yet waits no longer, microseconds.
const LATEST_US: u64 = 1_500_000;
/// A draft that the server has not confirmed within this time is sent again, microseconds.
const AGAIN_US: u64 = 3_000_000;

/// The time on each page of a stage.
#[derive(Clone, Debug)]
pub struct PageTimes {
    pages_us: Vec<u64>,
    page: usize,
    since_us: u64,
}

impl PageTimes {
    /// The times of a stage with this number of pages, continuing those of a draft.
    pub fn new(now_us: u64, pages: usize, draft: Option<&Draft>) -> Self {
        let pages = pages.max(1);
        let mut pages_us = vec![0; pages];
        let mut page = 0;
        if let Some(draft) = draft {
            page = usize::from(draft.page).min(pages - 1);
            for (time_us, &before_ms) in pages_us.iter_mut().zip(&draft.pages_ms) {
                *time_us = u64::from(before_ms) * 1_000;
            }
        }
        Self {
            pages_us,
            page,
            since_us: now_us,
        }
    }

    /// The page that is shown.
    pub fn page(&self) -> usize {
        self.page
    }

    /// Goes pages forward or back.
    pub fn turn_page(&mut self, now_us: u64, by: isize) {
        self.pages_us[self.page] = self.here_us(now_us);
        self.since_us = now_us;
        let last = self.pages_us.len() - 1;
        self.page = self.page.saturating_add_signed(by).min(last);
    }

    /// The time on the page that is shown, microseconds.
    pub fn here_us(&self, now_us: u64) -> u64 {
        self.pages_us[self.page] + now_us.saturating_sub(self.since_us)
    }

    /// The time on each page, milliseconds.
    pub fn all_ms(&self, now_us: u64) -> Vec<u32> {
        let mut all = self.pages_us.clone();
        all[self.page] = self.here_us(now_us);
        let ms = |us: u64| u32::try_from(us / 1_000).unwrap_or(u32::MAX);
        all.into_iter().map(ms).collect()
    }
}

/// The way of drafts to the server: the newest one, until it is durable.
#[derive(Debug, Default)]
pub(crate) struct Drafts {
    /// The newest draft, unless it is known to be durable.
    newest: Option<Draft>,
    /// Its number; every change has one.
    number: u32,
    /// The times of its first and last change since it was sent, microseconds.
    changed: Option<(u64, u64)>,
    /// The time at which it was sent, microseconds.
    sent_us: Option<u64>,
}

impl Drafts {
    /// Takes the present draft.
    pub(crate) fn handle_change(&mut self, now_us: u64, draft: Draft) {
        self.newest = Some(draft);
        self.number = self.number.wrapping_add(1);
        let first_us = self.changed.map_or(now_us, |(first_us, _)| first_us);
        self.changed = Some((first_us, now_us));
    }

    /// Returns the draft that must be sent now, with its number.
    pub(crate) fn poll_draft(&mut self, now_us: u64) -> Option<(u32, Draft)> {
        let (due_us, _) = self.poll_timeout()?;
        if now_us < due_us {
            return None;
        }
        self.flush(now_us)
    }

    /// The time at which a draft is due, and the reason; `None` if everything is durable.
    pub(crate) fn poll_timeout(&self) -> Option<(u64, &'static str)> {
        self.newest.as_ref()?;
        let due_us = match (self.changed, self.sent_us) {
            (Some((first_us, last_us)), _) => (last_us + QUIET_US).min(first_us + LATEST_US),
            (None, Some(sent_us)) => sent_us + AGAIN_US,
            (None, None) => 0,
        };
        Some((due_us, "draft"))
    }

    /// The draft that is not durable, whether or not it is due.
    pub(crate) fn flush(&mut self, now_us: u64) -> Option<(u32, Draft)> {
        let draft = self.newest.clone()?;
        (self.changed, self.sent_us) = (None, Some(now_us));
        Some((self.number, draft))
    }

    /// Notes that the server has made a draft durable.
    pub(crate) fn handle_kept(&mut self, number: u32) {
        if number == self.number {
            self.newest = None;
        }
    }

    /// True if everything is durable.
    pub(crate) fn is_kept(&self) -> bool {
        self.newest.is_none()
    }

    /// Notes that the connection is gone, and everything on its way is lost.
    pub(crate) fn handle_lost(&mut self) {
        self.sent_us = None;
    }

    /// Forgets the drafts of a stage that is over.
    pub(crate) fn clear(&mut self) {
        *self = Self {
            number: self.number,
            ..Self::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(page: u16) -> Draft {
        Draft {
            page,
            ..Draft::default()
        }
    }

    #[test]
    fn time_goes_to_the_page_that_is_shown_and_on_where_a_draft_left_it() {
        let mut times = PageTimes::new(1_000_000, 3, None);
        times.turn_page(3_000_000, 1);
        times.turn_page(3_500_000, -1);
        assert_eq!(times.all_ms(4_000_000), [2_500, 500, 0]);
        times.turn_page(4_000_000, 1);
        let before = Draft {
            page: 1,
            pages_ms: times.all_ms(4_100_000),
            answers: Vec::new(),
        };
        let times = PageTimes::new(50_000, 3, Some(&before));
        assert_eq!((times.page(), times.here_us(150_000)), (1, 700_000));
        assert_eq!(times.all_ms(150_000), [2_500, 700, 0]);
        // The study may have fewer pages by now.
        assert_eq!(PageTimes::new(0, 1, Some(&before)).page(), 0);
    }

    #[test]
    fn a_change_is_sent_when_typing_pauses_or_goes_on_for_long() {
        let mut drafts = Drafts::default();
        assert_eq!(drafts.poll_draft(0), None);
        assert_eq!(drafts.poll_timeout(), None);
        drafts.handle_change(100_000, draft(1));
        assert_eq!(drafts.poll_draft(399_999), None);
        assert_eq!(drafts.poll_timeout(), Some((400_000, "draft")));
        assert_eq!(drafts.poll_draft(400_000), Some((1, draft(1))));
        for at in 0..7 {
            drafts.handle_change(1_000_000 + 200_000 * at, draft(2));
            assert_eq!(drafts.poll_draft(1_100_000 + 200_000 * at), None);
        }
        drafts.handle_change(2_400_000, draft(3));
        assert_eq!(drafts.poll_draft(2_500_000), Some((9, draft(3))));
    }

    #[test]
    fn what_is_not_confirmed_is_sent_again_and_what_is_confirmed_is_not() {
        let mut drafts = Drafts::default();
        drafts.handle_change(0, draft(1));
        assert!(drafts.poll_draft(300_000).is_some());
        assert_eq!(drafts.poll_draft(3_000_000), None);
        assert!(drafts.poll_draft(3_300_000).is_some());
        drafts.handle_lost();
        assert!(
            drafts.poll_draft(3_400_000).is_some(),
            "at once when it is back"
        );
        drafts.handle_change(3_500_000, draft(2));
        drafts.handle_kept(1);
        assert_eq!(
            drafts.poll_draft(3_800_000),
            Some((2, draft(2))),
            "an older one"
        );
        assert!(!drafts.is_kept());
        drafts.handle_kept(2);
        assert!(drafts.is_kept());
        assert_eq!(drafts.poll_draft(60_000_000), None);
        drafts.handle_change(60_000_000, draft(3));
        drafts.clear();
        assert_eq!(drafts.flush(60_000_000), None);
        drafts.handle_change(60_000_000, draft(4));
        assert_eq!(
            drafts.flush(60_000_000),
            Some((4, draft(4))),
            "no number twice"
        );
    }
}
