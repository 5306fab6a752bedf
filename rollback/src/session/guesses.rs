//! The guesses simulated in place of missing inputs, and how long each was simulated: one list for each unconfirmed
//! tick and seat, in a ring of the window.

use env_core::Action;

/// A guess, and the time since which it was simulated; no action while the tick was beyond an end.
#[derive(Clone, Copy, Debug)]
struct Guess {
    action: Option<Action>,
    since_us: u64,
}

#[derive(Debug)]
pub(super) struct Guesses {
    seats: usize,
    slots: usize,
    lists: Vec<Vec<Guess>>,
}

impl Guesses {
    /// Makes lists for this many ticks at a time. A guess is replaced when an earlier input comes, so no list gets
    /// longer than the window; the tick may be beyond an end as many times.
    pub(super) fn new(seats: usize, window: u8) -> Self {
        let slots = usize::from(window) + 1;
        let list = || Vec::with_capacity(2 * slots);
        Self {
            seats,
            slots,
            lists: std::iter::repeat_with(list).take(slots * seats).collect(),
        }
    }

    fn at(&self, tick: u32, seat: usize) -> usize {
        tick as usize % self.slots * self.seats + seat
    }

    /// Removes the guesses for this input, if there are any.
    pub(super) fn clear(&mut self, tick: u32, seat: usize) {
        let at = self.at(tick, seat);
        self.lists[at].clear();
    }

    /// Notes that this action is simulated from now on.
    pub(super) fn record_guess(&mut self, tick: u32, seat: usize, action: Action, now_us: u64) {
        self.push(tick, seat, Some(action), now_us);
    }

    /// Notes that the tick is beyond an end now.
    pub(super) fn record_hidden(&mut self, tick: u32, now_us: u64) {
        for seat in 0..self.seats {
            self.push(tick, seat, None, now_us);
        }
    }

    fn push(&mut self, tick: u32, seat: usize, action: Option<Action>, since_us: u64) {
        let at = self.at(tick, seat);
        let list = &mut self.lists[at];
        if list.last().and_then(|guess| guess.action) != action {
            list.push(Guess { action, since_us });
        }
    }

    /// Returns the guesses that were simulated for an input, in order, each with the time until it was replaced, or
    /// until now, microseconds.
    pub(super) fn guesses_shown(
        &self,
        tick: u32,
        seat: usize,
        now_us: u64,
    ) -> impl Iterator<Item = (Action, u64)> {
        let list = &self.lists[self.at(tick, seat)];
        let ends = list.iter().skip(1).map(|next| next.since_us);
        let spans = list.iter().zip(ends.chain([now_us]));
        spans.filter_map(|(guess, end_us)| {
            Some((guess.action?, end_us.saturating_sub(guess.since_us)))
        })
    }
}
