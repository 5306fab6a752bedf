//! Transfer of the seats of a running episode: a seat that must be taken is fenced by the others, cut by the archive,
//! and given back. Pages and archive may fail at any step; the next step then follows from the seats.

use protocol::control::Report;
use protocol::{Controller, Life, Seat};
use study::disconnect::{Meanwhile, Then};

use super::seats::{Moment, Page, SeatState, Seats};

/// The step in progress for a seat; one at a time, so that everybody sees changes in one order.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// The others fence it and report.
    Fence {
        seat: Seat,
        controller: Controller,
        since_us: u64,
        reports: Vec<Option<Report>>,
    },
    /// The archive takes it from its person.
    Take(Seat),
    /// The archive gives it to somebody.
    Give(Seat),
}

/// Work that follows for a seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SeatEffect {
    /// These seats must fence it.
    Fence(Seat, Life, Vec<Seat>),
    /// The archive takes it.
    Take(Seat, Controller, Vec<(Seat, Report)>),
    /// The archive gives it.
    Give(Seat, Controller),
    /// Its page gets the plan.
    Plan(Seat),
}

impl Seats {
    /// Takes the next work, unless a step is in progress already.
    pub(super) fn poll_effect(&mut self, at: Moment) -> Option<SeatEffect> {
        match &self.step {
            Some(Step::Fence { .. }) => self.report_all(at),
            Some(Step::Take(_) | Step::Give(_)) => None,
            None => (0..self.list.len()).find_map(|index| self.begin(at, Seat(index as u8))),
        }
    }

    /// Begins the next step for a seat.
    fn begin(&mut self, at: Moment, seat: Seat) -> Option<SeatEffect> {
        let state = &self.list[seat.index()];
        if !state.person {
            return None;
        }
        if state.controller == Controller::Human {
            return self.begin_fence(at, seat);
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

    fn begin_fence(&mut self, at: Moment, seat: Seat) -> Option<SeatEffect> {
        let controller = self.successor(seat)?;
        let fencers: Vec<Seat> = self.others_live(seat).collect();
        let (since_us, reports) = (at.now_us, vec![None; self.list.len()]);
        self.step = Some(Step::Fence {
            seat,
            controller,
            since_us,
            reports,
        });
        let life = self.list[seat.index()].life;
        Some(SeatEffect::Fence(seat, life, fencers))
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

    /// Passes the reports on once there are enough. A page that may have confirmed inputs of the seat and cannot be
    /// asked must not continue: others may receive other inputs. As long as nobody waits for the seat, it can be asked
    /// later: if everybody lost the connection at once, they may well continue peer to peer.
    fn report_all(&mut self, at: Moment) -> Option<SeatEffect> {
        let Some(Step::Fence {
            seat,
            controller,
            since_us,
            reports,
        }) = &self.step
        else {
            return None;
        };
        let (seat, waited_us) = (*seat, at.now_us.saturating_sub(*since_us));
        let said = |other: &Seat| reports[other.index()].is_some();
        let witnesses: Vec<Seat> = self.witnesses(seat).collect();
        // What a page has before its own first tick binds nobody.
        let binds = |other: &&Seat| self.list[other.index()].since <= at.through;
        let enough = if witnesses.iter().any(|other| binds(&other)) {
            witnesses.iter().filter(binds).any(said)
        } else {
            // Each may have confirmed alone what the others lack.
            witnesses.iter().all(said)
        };
        let all = self.others_live(seat).all(|other| said(&other));
        let answered = enough && (all || waited_us >= self.rules.fence_us);
        if !answered && (waited_us < self.rules.witness_us || !self.is_awaited(seat)) {
            return None;
        }
        let mute = witnesses
            .into_iter()
            .filter(|other| !enough && !said(other));
        let mute: Vec<Seat> = mute.collect();
        let told = (0..).map(Seat).zip(reports);
        let told = told.filter_map(|(from, report)| Some((from, report.clone()?)));
        let next = SeatEffect::Take(seat, controller.clone(), told.collect());
        self.step = Some(Step::Take(seat));
        mute.into_iter()
            .for_each(|other| self.list[other.index()].doomed = true);
        Some(next)
    }

    /// True if anybody waits for the result of a seat: somebody who plays with it, or whose own turn comes after it.
    fn is_awaited(&self, seat: Seat) -> bool {
        let waits = |page| matches!(page, Page::Waiting | Page::Loading | Page::Ready);
        self.is_watched(seat) || self.people().any(|(_, state)| waits(state.page))
    }

    /// A page is back: if it is the first one that waits for a fence, its time begins now.
    pub(super) fn wait_again(&mut self, now_us: u64) {
        let unheeded = match &self.step {
            Some(Step::Fence { seat, .. }) => !self.is_awaited(*seat),
            _ => false,
        };
        if let (true, Some(Step::Fence { since_us, .. })) = (unheeded, &mut self.step) {
            *since_us = now_us;
        }
    }

    /// The other people whose page may have confirmed inputs of a seat.
    fn witnesses(&self, seat: Seat) -> impl Iterator<Item = Seat> + '_ {
        let plays = |state: &SeatState| state.controller == Controller::Human && !state.doomed;
        let others = self
            .people()
            .filter(move |(other, state)| *other != seat && plays(state));
        others.map(|(other, _)| other)
    }

    /// Takes a report; false if it answers nothing.
    pub(super) fn handle_report(&mut self, from: Seat, report: Report) -> bool {
        let Some(Step::Fence { seat, reports, .. }) = &mut self.step else {
            return false;
        };
        let state = &self.list[seat.index()];
        let fits = report.seat == *seat && report.life == state.life && from != *seat;
        if fits && self.list[from.index()].page == Page::Plays {
            reports[from.index()] = Some(report);
        }
        fits
    }

    /// The fence that a page must keep when it comes back, if there is one: it answers again.
    pub(super) fn fence_again(&mut self, from: Seat) -> Option<(Seat, Life)> {
        let Some(Step::Fence { seat, reports, .. }) = &mut self.step else {
            return None;
        };
        reports[from.index()] = None;
        (*seat != from).then(|| (*seat, self.list[seat.index()].life))
    }

    /// True if a seat is being taken, so that fences must not be forgotten.
    pub(super) fn is_taking(&self) -> bool {
        matches!(self.step, Some(Step::Fence { .. } | Step::Take(_)))
    }

    /// True if a fence was passed on to the archive, and the change is not there yet.
    pub(super) fn is_cut(&self) -> bool {
        matches!(self.step, Some(Step::Take(_)))
    }

    /// True if the archive is at work for this seat.
    pub(super) fn is_changing(&self, seat: Seat) -> bool {
        matches!(self.step, Some(Step::Take(at) | Step::Give(at)) if at == seat)
    }
}
