//! What the person has done of a stage that is not done yet: the time on its pages, and when it is sent to be kept.
//!
//! This module must not know what a stage asks.

use protocol::control::Draft;

/// A change is sent so long after it, milliseconds, if no other one follows.
const QUIET_MS: f64 = 300.0;
/// The first change that is not sent yet waits no longer, milliseconds.
const LATEST_MS: f64 = 1_500.0;
/// What the server has not confirmed by then is sent again, milliseconds.
const AGAIN_MS: f64 = 3_000.0;

/// The time on each page of a stage.
#[derive(Clone, Debug)]
pub struct Times {
    pages_ms: Vec<f64>,
    page: usize,
    since_ms: f64,
}

impl Times {
    /// The times of a stage with so many pages, going on with those of a draft.
    pub fn new(now_ms: f64, pages: usize, draft: Option<&Draft>) -> Self {
        let pages = pages.max(1);
        let mut pages_ms = vec![0.0; pages];
        let mut page = 0;
        if let Some(draft) = draft {
            page = usize::from(draft.page).min(pages - 1);
            for (time, before) in pages_ms.iter_mut().zip(&draft.pages_ms) {
                *time = f64::from(*before);
            }
        }
        Self {
            pages_ms,
            page,
            since_ms: now_ms,
        }
    }

    /// The page that is shown.
    pub fn page(&self) -> usize {
        self.page
    }

    /// Goes pages on or back.
    pub fn turn(&mut self, now_ms: f64, by: isize) {
        self.pages_ms[self.page] = self.here_ms(now_ms);
        self.since_ms = now_ms;
        let last = self.pages_ms.len() - 1;
        self.page = self.page.saturating_add_signed(by).min(last);
    }

    /// The time on the page that is shown, milliseconds.
    pub fn here_ms(&self, now_ms: f64) -> f64 {
        self.pages_ms[self.page] + (now_ms - self.since_ms).max(0.0)
    }

    /// The time on each page, milliseconds.
    pub fn all_ms(&self, now_ms: f64) -> Vec<u32> {
        let mut all = self.pages_ms.clone();
        all[self.page] = self.here_ms(now_ms);
        all.into_iter().map(|ms| ms as u32).collect()
    }
}

/// The way of drafts to the server: the newest one, until it is durable.
#[derive(Debug, Default)]
pub struct Drafts {
    /// What is not known to be durable.
    newest: Option<Draft>,
    /// Its number; every change has one.
    number: u32,
    /// When it changed first and last since it was sent, milliseconds.
    changed: Option<(f64, f64)>,
    /// When it was sent, milliseconds.
    sent_ms: Option<f64>,
}

impl Drafts {
    /// Takes what is done by now.
    pub fn change(&mut self, now_ms: f64, draft: Draft) {
        self.newest = Some(draft);
        self.number = self.number.wrapping_add(1);
        let first_ms = self.changed.map_or(now_ms, |(first_ms, _)| first_ms);
        self.changed = Some((first_ms, now_ms));
    }

    /// What is to be sent now, under its number.
    pub fn poll(&mut self, now_ms: f64) -> Option<(u32, Draft)> {
        let is_due = match (self.changed, self.sent_ms) {
            (Some((first_ms, last_ms)), _) => {
                now_ms >= last_ms + QUIET_MS || now_ms >= first_ms + LATEST_MS
            }
            (None, Some(sent_ms)) => now_ms >= sent_ms + AGAIN_MS,
            (None, None) => true,
        };
        if is_due { self.flush(now_ms) } else { None }
    }

    /// What is not durable, sent whether or not it is time to.
    pub fn flush(&mut self, now_ms: f64) -> Option<(u32, Draft)> {
        let draft = self.newest.clone()?;
        (self.changed, self.sent_ms) = (None, Some(now_ms));
        Some((self.number, draft))
    }

    /// The server has made a draft durable.
    pub fn kept(&mut self, number: u32) {
        if number == self.number {
            self.newest = None;
        }
    }

    /// Whether everything is durable.
    pub fn is_kept(&self) -> bool {
        self.newest.is_none()
    }

    /// The connection is gone, and with it what was on its way.
    pub fn lost(&mut self) {
        self.sent_ms = None;
    }

    /// The stage is over.
    pub fn clear(&mut self) {
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
        let mut times = Times::new(1_000.0, 3, None);
        times.turn(3_000.0, 1);
        times.turn(3_500.0, -1);
        assert_eq!(times.all_ms(4_000.0), [2_500, 500, 0]);
        times.turn(4_000.0, 1);
        let before = Draft {
            page: 1,
            pages_ms: times.all_ms(4_100.0),
            answers: Vec::new(),
        };
        let times = Times::new(50.0, 3, Some(&before));
        assert_eq!((times.page(), times.here_ms(150.0)), (1, 700.0));
        assert_eq!(times.all_ms(150.0), [2_500, 700, 0]);
        // The study may have fewer pages by now.
        assert_eq!(Times::new(0.0, 1, Some(&before)).page(), 0);
    }

    #[test]
    fn a_change_is_sent_when_typing_pauses_or_goes_on_for_long() {
        let mut drafts = Drafts::default();
        assert_eq!(drafts.poll(0.0), None);
        drafts.change(100.0, draft(1));
        assert_eq!(drafts.poll(399.0), None);
        assert_eq!(drafts.poll(400.0), Some((1, draft(1))));
        for at in 0..7 {
            drafts.change(1_000.0 + 200.0 * f64::from(at), draft(2));
            assert_eq!(drafts.poll(1_100.0 + 200.0 * f64::from(at)), None);
        }
        drafts.change(2_400.0, draft(3));
        assert_eq!(drafts.poll(2_500.0), Some((9, draft(3))));
    }

    #[test]
    fn what_is_not_confirmed_is_sent_again_and_what_is_confirmed_is_not() {
        let mut drafts = Drafts::default();
        drafts.change(0.0, draft(1));
        assert!(drafts.poll(300.0).is_some());
        assert_eq!(drafts.poll(3_000.0), None);
        assert!(drafts.poll(3_300.0).is_some());
        drafts.lost();
        assert!(drafts.poll(3_400.0).is_some(), "at once when it is back");
        drafts.change(3_500.0, draft(2));
        drafts.kept(1);
        assert_eq!(drafts.poll(3_800.0), Some((2, draft(2))), "an older one");
        assert!(!drafts.is_kept());
        drafts.kept(2);
        assert!(drafts.is_kept());
        assert_eq!(drafts.poll(60_000.0), None);
        drafts.change(60_000.0, draft(3));
        drafts.clear();
        assert_eq!(drafts.flush(60_000.0), None);
        drafts.change(60_000.0, draft(4));
        assert_eq!(
            drafts.flush(60_000.0),
            Some((4, draft(4))),
            "no number twice"
        );
    }
}
