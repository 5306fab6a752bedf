//! Confirmed ticks, and final ones.
//!
//! # Confirmed
//!
//! A tick is confirmed once it is simulated here and the people who play in it need nothing any more:
//!
//! - *Inputs.* For every seat that a person plays in this tick, the input is here.
//! - *Receipts.* For every seat that a person plays in this tick, every other person who plays in it has said to have
//!   the input. Who gave up a seat, or lost it, is not asked any more; who takes one is asked from their first tick on.
//!   Nobody is asked for what the server has made final: it tells everybody.
//!
//! Both are one question: the first tick from which a receipt on must wait for a person at that seat
//! (`Roster::awaited`). So a seat that was cut binds until the receipts reach the cut, then not until its next person.
//!
//! A receipt means something only for a life of a seat: inputs of the page before are other inputs. A packet tells how
//! many changes its sender knows. What it says of a seat counts up to the first change of that seat that the sender
//! does not know; and if the sender knows a change that is unknown here, nothing of it counts. A page that took a
//! seat begins with the receipts of its first tick, and packets of the page before are refused by their life.
//!
//! Confirmed ticks keep people together: nobody plays more than the window beyond them, and the episode is over here
//! when its last tick is. They are an agreement among pages, and pages may fail, or lie.
//!
//! # Final
//!
//! The server alone makes a tick final. It has, from the page of every person who plays in the tick, that page's own
//! word on its input, writes it down, and says so ([`Session::handle_durable`]). Nobody's word on somebody else's
//! inputs counts.
//!
//! So the server may cut a seat before ticks that are confirmed here: at the last input on which it has the word of the
//! seat's page. Everybody then goes back to the cut, to the last of the states that are kept for this from the last
//! final tick on, and simulates again what follows. It never cuts before what is final, changes are durable before
//! anyone is told, and everybody applies all of them in one order; so all come to the same states.
//!
//! Nor does it matter how far anybody was. Who knew less inputs of the person who is gone gets them with the change,
//! who knew more forgets them.

use env_core::World;
use protocol::{Seat, Tick};

use super::Session;
use crate::effects::SessionEvent;

impl<W: World> Session<W> {
    /// The seat that keeps the next tick from being confirmed: a person whose inputs or receipts are missing; none if
    /// there is nobody.
    pub fn waiting_for(&self) -> Option<Seat> {
        self.confirmable().1.map(|seat| Seat(seat as u8))
    }

    /// True if every input before the present state is here, so that nothing in it is a guess; what came since is
    /// simulated first.
    pub fn is_known(&mut self) -> bool {
        self.resimulate();
        let known = |seat| self.roster.awaited(seat, self.inputs.have(seat)) >= self.current;
        (0..usize::from(self.layout.seats)).all(known)
    }

    /// Ticks that could be confirmed, were they simulated, and the seat that keeps the next one from being so.
    pub(super) fn confirmable(&self) -> (u32, Option<usize>) {
        let roster = &self.roster;
        let (mut end, mut who) = (u32::MAX, None);
        let mut bind = |tick: u32, seat: usize| {
            if tick < end {
                (end, who) = (tick, Some(seat));
            }
        };
        for seat in 0..usize::from(self.layout.seats) {
            bind(roster.awaited(seat, self.inputs.have(seat)), seat);
            for peer in self.peers().without(Some(Seat(seat as u8))).iter() {
                let theirs = self.inputs.acknowledged(peer, seat).max(self.durable);
                bind(roster.awaited(seat, theirs.max(roster.start(peer))), peer);
            }
        }
        (end, who)
    }

    /// Moves the confirmed end up to what everybody has.
    pub(super) fn confirm(&mut self) {
        let end = self.confirmable().0;
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

    /// Gives up the states before the last one that is final.
    pub(super) fn forget_settled(&mut self) {
        self.checkpoints.forget_before(self.settled().0);
    }
}
