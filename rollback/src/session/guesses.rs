//! The guesses simulated in the place of inputs that are not here, and for how long: one list for each unconfirmed tick
//! and seat, in a ring of the window.

use env_core::Action;

/// A guess, and since when it was what is simulated; none while the tick lay beyond an end.
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
    /// For this many ticks at once. A guess is replaced when an earlier input comes, so no list outgrows the
    /// window; as many times it may lie beyond an end.
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

    /// Of this input there are no guesses, or none any more.
    pub(super) fn clear(&mut self, tick: u32, seat: usize) {
        let at = self.at(tick, seat);
        self.lists[at].clear();
    }

    /// This is what is simulated from now on.
    pub(super) fn note(&mut self, tick: u32, seat: usize, action: Action, now_us: u64) {
        self.push(tick, seat, Some(action), now_us);
    }

    /// The tick lies beyond an end now.
    pub(super) fn hide(&mut self, tick: u32, now_us: u64) {
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

    /// The guesses that were simulated for an input, in order, each with the time until it was replaced, now at the
    /// latest, microseconds.
    pub(super) fn shown(
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
