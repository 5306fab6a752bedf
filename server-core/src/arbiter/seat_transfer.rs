//! Transfer of the seats of a running episode: a seat that must be taken is cut by the archive, and given back. Pages and
//! archive may fail at any step; the next step then follows from the seats.

use protocol::{Controller, Seat};
use study::disconnect::{Meanwhile, Then};

use super::seats::{Page, Seats};

/// The step in progress for a seat; one at a time, so that everybody sees changes in one order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// The archive takes it from its person.
    Take(Seat),
    /// The archive gives it to somebody.
    Give(Seat),
}

/// Work that follows for a seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SeatEffect {
    /// The archive takes it.
    Take(Seat, Controller),
    /// The archive gives it.
    Give(Seat, Controller),
    /// Its page gets the plan.
    Plan(Seat),
}

impl Seats {
    /// Takes the next work, unless a step is in progress already.
    pub(super) fn poll_effect(&mut self) -> Option<SeatEffect> {
        match self.step {
            Some(_) => None,
            None => (0..self.list.len()).find_map(|index| self.begin(Seat(index as u8))),
        }
    }

    /// Begins the next step for a seat.
    fn begin(&mut self, seat: Seat) -> Option<SeatEffect> {
        let state = &self.list[seat.index()];
        if !state.person {
            return None;
        }
        if state.controller == Controller::Human {
            let controller = self.successor(seat)?;
            self.step = Some(Step::Take(seat));
            return Some(SeatEffect::Take(seat, controller));
        }
        match state.page {
            Page::Waiting => {
                self.list[seat.index()].page = Page::Loading;
                Some(SeatEffect::Plan(seat))
            }
            Page::Ready => {
                self.step = Some(Step::Give(seat));
                Some(SeatEffect::Give(seat, Controller::Human))
            }
            Page::Away | Page::Lost
                if self.is_for_a_partner(seat)
                    && state.controller != self.rules.partner_controller() =>
            {
                self.step = Some(Step::Give(seat));
                Some(SeatEffect::Give(seat, self.rules.partner_controller()))
            }
            _ => None,
        }
    }

    /// True if a person's time is up and an AI partner is to play for the others.
    fn is_for_a_partner(&self, seat: Seat) -> bool {
        self.list[seat.index()].verdict == Some(Then::Bot) && self.is_watched(seat)
    }

    /// The next controller of a seat that its person must lose now; `None` if they keep it.
    fn successor(&self, seat: Seat) -> Option<Controller> {
        if self.is_for_a_partner(seat) {
            return Some(self.rules.partner_controller());
        }
        let state = &self.list[seat.index()];
        let stands = state.gone.is_some() && self.rules.meanwhile != Meanwhile::Hold;
        let lost = state.doomed || !matches!(state.page, Page::Away | Page::Plays);
        (lost || stands && self.is_watched(seat)).then(|| self.rules.meanwhile_controller())
    }

    /// True if the archive is at work for this seat.
    pub(super) fn is_changing(&self, seat: Seat) -> bool {
        matches!(self.step, Some(Step::Take(at) | Step::Give(at)) if at == seat)
    }
}
