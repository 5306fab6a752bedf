//! Pages that send no inputs although others wait for them, and pages that get help. What a page sends beside its
//! inputs, and what others say about it, does not count.

use protocol::{Controller, Seat, Tick};

use super::seats::{Moment, Page, SeatState, Seats};

/// For how long a page gets the inputs of the others from the server, once it needed them, microseconds.
const HELP_US: u64 = 10_000_000;

/// The greatest age of the last message of somebody else when the time of a page is up, microseconds: every page sends
/// something each second. If nobody is heard, the server itself hears nothing.
const WITNESS_US: u64 = 500_000;

/// The time for which the server itself must have heard nothing of a page before another page's claim about it counts,
/// microseconds: a page whose connection breaks has a new one within that time.
const UNHEARD_US: u64 = 1_000_000;

/// A page that keeps others waiting may play this many times slower than the episode. If it is slower, its time runs
/// out as if it said nothing: a page that sends one input from time to time would otherwise hold everybody for hours.
const SLOWEST: u64 = 5;

impl Seats {
    /// Returns the time since which a page has sent no input although it keeps others waiting. Silence means no inputs,
    /// whatever else a page sends, and whatever others say about it.
    pub(super) fn silent_since(&self, seat: Seat) -> Option<u64> {
        let state = &self.list[seat.index()];
        // In a hosted world, a page sends nothing while its person does nothing; but it answers views.
        let counts = self.rules.is_hosted || self.is_behind(seat);
        let since_us = state.lag.since_us.filter(|_| counts);
        since_us.map(|since_us| since_us.max(state.begins_us))
    }

    /// True if somebody has sent more inputs than the page of a seat, and no other person fewer: a page that waits for
    /// another is not behind.
    fn is_behind(&self, seat: Seat) -> bool {
        let own = |other: Seat| self.list[other.index()].own;
        let is_ahead = |other: Seat| own(other) > own(seat);
        self.playing().all(|other| own(other) >= own(seat)) && self.others_live(seat).any(is_ahead)
    }

    /// Returns the time from which on it counts that a page that plays does not hear a seat; `None` if no page says so.
    /// Such claims do not count for as long as the server itself has heard the page.
    pub(super) fn is_unheard_at(&self, seat: Seat) -> Option<u64> {
        let mut others = self.others_live(seat);
        let is_said = others.any(|other| self.list[other.index()].deaf_to[seat.index()]);
        let state = &self.list[seat.index()];
        is_said.then(|| state.heard_us.max(state.begins_us) + UNHEARD_US)
    }

    /// Returns the time at which a page that sends no inputs counts as gone; in turns, its person may think first.
    /// Claims of others do not make it earlier while the page is connected.
    pub(super) fn is_silent_at(&self, seat: Seat) -> Option<u64> {
        Some(self.silent_since(seat)? + self.rules.choice_us + self.rules.still_us)
    }

    /// Returns the time since which nobody has sent an input, if nobody has sent more than another. Each page may then
    /// wait for inputs that only the server has, and a page that sends no more than it hears keeps everybody waiting
    /// without being behind.
    fn stands_since(&self, seat: Seat) -> Option<u64> {
        let own = self.list[seat.index()].own;
        let is_level = self
            .playing()
            .all(|other| self.list[other.index()].own == own);
        let said_us = self.playing().map(|other| {
            let state = &self.list[other.index()];
            state.said_us.max(state.begins_us)
        });
        // If no page has sent inputs, there are none to give.
        let gives = is_level && own > Tick(0) && self.is_watched(seat);
        said_us.max().filter(|_| gives)
    }

    /// Returns the time at which a page that sends no inputs gets those of the others from the server: perhaps it waits
    /// for them.
    pub(super) fn is_helped_at(&self, seat: Seat) -> Option<u64> {
        if self.rules.is_hosted {
            return None;
        }
        // A page that keeps others waiting gets help before it counts as gone. If no page does, there is no hurry.
        let behind = self.silent_since(seat).zip(Some(self.rules.helped_us));
        let level = self.stands_since(seat).zip(Some(self.rules.still_us));
        let (since_us, after_us) = behind.or(level)?;
        let is_helped = self.list[seat.index()].helped_until_us > since_us;
        (!is_helped).then_some(since_us + after_us)
    }

    /// True if nobody can play with the page of a seat now.
    pub(super) fn is_missed(&self, at: Moment, seat: Seat) -> bool {
        let state = &self.list[seat.index()];
        match state.page {
            Page::Plays => {
                let silent_at = self.is_silent_at(seat);
                state.unloading || silent_at.is_some_and(|at_us| self.is_up(at, seat, at_us))
            }
            // Peer to peer, it may continue to play, until somebody says that it does not, or nothing moves.
            Page::Away if state.controller == Controller::Human && !self.rules.is_hosted => {
                let still_at = self.stands_still_at(at.moved_us, seat);
                let mut times = self.is_unheard_at(seat).into_iter().chain([still_at]);
                let is_up = times.any(|at_us| self.is_up(at, seat, at_us));
                is_up || state.unloading || !self.is_watched(seat)
            }
            _ => true,
        }
    }

    /// True if the time of a page that is not heard was up at `at_us`, and somebody else was heard then.
    fn is_up(&self, at: Moment, seat: Seat, at_us: u64) -> bool {
        let mut others = self.others_live(seat);
        let is_heard = |other: Seat| self.list[other.index()].heard_us + WITNESS_US >= at_us;
        at_us <= at.now_us && others.any(is_heard)
    }

    /// Returns the time at which a page without a connection counts as gone because nothing moves: others must have had
    /// the time to report.
    pub(super) fn stands_still_at(&self, moved_us: u64, seat: Seat) -> u64 {
        let watching = self.others_live(seat);
        let since_us = watching.map(|other| self.list[other.index()].begins_us);
        moved_us.max(since_us.min().unwrap_or(0)) + self.rules.choice_us + self.rules.still_us
    }

    /// Notes whether a page hears another seat. A page that does not hear it gets help, or help for longer.
    pub(super) fn handle_silent(&mut self, now_us: u64, by: Seat, of: Seat, silent: bool) {
        let state = &mut self.list[by.index()];
        if let Some(deaf) = state.deaf_to.get_mut(of.index()) {
            *deaf = silent;
            if !silent {
                return;
            }
            match state.helped_until_us > now_us {
                true => state.helped_until_us = now_us + HELP_US,
                false => state.asks_help = true,
            }
        }
    }

    /// Takes note that a page has said something. Whether somebody is missed from now on.
    pub(super) fn handle_heard(&mut self, at: Moment, seat: Seat) -> bool {
        let heard_us = &mut self.list[seat.index()].heard_us;
        // A page sends many datagrams a second.
        if *heard_us + WITNESS_US / 5 > at.now_us {
            return false;
        }
        *heard_us = at.now_us;
        let is_news = |state: &SeatState| state.gone.is_none() && state.page != Page::Lost;
        let mut people = self.people();
        people.any(|(other, state)| is_news(state) && self.is_missed(at, other))
    }

    /// Takes note of how far a page has said its inputs, of this many ticks a second.
    pub(super) fn handle_own(&mut self, now_us: u64, seat: Seat, own: Tick, tick_hz: u16) {
        let worth_us = match self.rules.turns {
            // A choice takes as long as it takes.
            true => u64::MAX,
            false => SLOWEST * 1_000_000 / u64::from(tick_hz.max(1)),
        };
        let state = &mut self.list[seat.index()];
        if let Some(more) = own.0.checked_sub(state.own.0) {
            state.own = own;
            if more > 0 {
                state.said_us = now_us;
            }
            if !self.rules.is_hosted {
                let worth_us = worth_us.saturating_mul(u64::from(more));
                state.lag.make_up(now_us, worth_us);
            }
        }
        if self.rules.is_hosted {
            return;
        }
        for index in 0..self.list.len() {
            let is_behind = self.is_behind(Seat(index as u8));
            self.list[index].lag.set_behind(now_us, is_behind);
        }
    }

    /// The pages that need the inputs of a seat from the server.
    pub(super) fn helped_with(&self, now_us: u64, of: Seat) -> Vec<Seat> {
        let others = self.others_live(of);
        others
            .filter(|other| self.list[other.index()].helped_until_us > now_us)
            .collect()
    }

    /// The pages that begin to need help now.
    pub(super) fn poll_help(&mut self, now_us: u64) -> Vec<Seat> {
        let seats = (0..self.list.len() as u8).map(Seat);
        let needs = |seat: &Seat| {
            let helped_at = self.is_helped_at(*seat);
            let is_due = helped_at.is_some_and(|at_us| at_us <= now_us);
            (is_due || self.list[seat.index()].asks_help) && self.is_live(*seat)
        };
        let due: Vec<Seat> = seats.filter(needs).collect();
        for seat in &due {
            let state = &mut self.list[seat.index()];
            (state.helped_until_us, state.asks_help) = (now_us + HELP_US, false);
        }
        due
    }
}
