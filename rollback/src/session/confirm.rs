//! Confirmed ticks, and final ones.
//!
//! # Confirmed
//!
//! A tick is confirmed once it is simulated here and the people who play in it need nothing more for it:
//!
//! - *Inputs.* For every seat that a person plays in this tick, the input is here.
//! - *Receipts.* For every seat that a person plays in this tick, every other person who plays in it has reported to
//!   have the input. Somebody who gave up or lost a seat is not asked any more; somebody who takes one is asked from
//!   their first tick on. Nobody is asked for ticks that the server has made final: the server sends them to everybody.
//!
//! Both conditions are one question: the first tick from which on a receipt must wait for a person at that seat
//! (`Roster::awaited_tick`). So a cut seat binds until the receipts reach the cut, then not until its next person.
//!
//! A receipt has a meaning only for one life of a seat: inputs of the earlier page are other inputs. A packet says how
//! many changes its sender knows. Its receipt for a seat counts up to the first change of that seat that the sender
//! does not know; if the sender knows a change that is unknown here, none of its receipts count. A page that took a
//! seat begins with the receipts of its first tick, and packets of the earlier page are refused because of their life.
//!
//! Confirmed ticks keep people together: nobody plays more than the window beyond them, and the episode is over here
//! when its last tick is confirmed. They are an agreement among pages, and pages may fail, or lie.
//!
//! # Final
//!
//! Only the server makes a tick final. It has the input of every person who plays in the tick from that person's own
//! page, stores it, and says so ([`Session::handle_durable`]). What others say about somebody's inputs does not count.
//!
//! So the server may cut a seat before ticks that are confirmed here: at the last input that it has from the seat's
//! page. Everybody then goes back to the last state before the cut (states from the last final tick on are kept for
//! this), and simulates again from there. The server never cuts before final ticks, changes are durable before anyone
//! receives them, and everybody applies all of them in one order; so all reach the same states.
//!
//! It also does not matter how far anybody was. A page that knew fewer inputs of the person who is gone gets them with
//! the change; a page that knew more forgets them.

use env_core::World;
use protocol::{Seat, Tick};

use super::Session;
use crate::effects::SessionEvent;

impl<W: World> Session<W> {
    /// Returns the seat that keeps the next tick from being confirmed: a person whose inputs or receipts are missing;
    /// `None` if there is nobody.
    pub fn waiting_for(&self) -> Option<Seat> {
        self.confirmable_tick().1.map(|seat| Seat(seat as u8))
    }

    /// True if every input before the present state is here, so the state contains no guess; inputs that came since are
    /// simulated first.
    pub fn is_known(&mut self) -> bool {
        self.resimulate();
        let known = |seat| {
            self.roster
                .awaited_tick(seat, self.inputs.known_through(seat))
                >= self.current
        };
        (0..usize::from(self.layout.seats)).all(known)
    }

    /// Returns the ticks that could be confirmed once simulated, and the seat that keeps the next one from it.
    pub(super) fn confirmable_tick(&self) -> (u32, Option<usize>) {
        let roster = &self.roster;
        let (mut end, mut who) = (u32::MAX, None);
        let mut bind = |tick: u32, seat: usize| {
            if tick < end {
                (end, who) = (tick, Some(seat));
            }
        };
        for seat in 0..usize::from(self.layout.seats) {
            bind(
                roster.awaited_tick(seat, self.inputs.known_through(seat)),
                seat,
            );
            for peer in self.peers().without_seat(Some(Seat(seat as u8))).iter() {
                let theirs = self.inputs.acknowledged_tick(peer, seat).max(self.durable);
                bind(
                    roster.awaited_tick(seat, theirs.max(roster.start(peer))),
                    peer,
                );
            }
        }
        (end, who)
    }

    /// Moves the confirmed end up to what everybody has.
    pub(super) fn confirm_ticks(&mut self) {
        let end = self.confirmable_tick().0;
        self.confirmed = end.min(self.sound).max(self.confirmed);
        while self
            .digests
            .get(self.settled)
            .is_some_and(|(at, _)| at.0 <= self.confirmed)
        {
            self.settled += 1;
        }
        self.forget_settled();
        if !self.over && self.end == Some(self.confirmed) {
            self.over = true;
            self.report(SessionEvent::Over {
                ticks: Tick(self.confirmed),
            });
        }
    }

    /// Drops the states before the last final one.
    pub(super) fn forget_settled(&mut self) {
        self.checkpoints.forget_before(self.settled().0);
    }
}
