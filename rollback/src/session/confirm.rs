//! Confirmed ticks, and why nothing confirmed is ever taken back.
//!
//! # The rule
//!
//! A tick is confirmed once it is simulated here and nothing binds it any more:
//!
//! - *Inputs.* For every seat that a person plays in this tick, the input is here.
//! - *Receipts.* For every seat that a person plays in this tick, every other person who plays in it has said to have
//!   the input. Who gave up a seat, or lost it, is not asked any more; who takes one is asked from their first tick on.
//! - *Lease.* A seat that lost its person, and has no next one yet, is settled up to two seconds ([`LEASE_S`]) beyond
//!   what the server has made durable, as last told.
//!
//! The first two are one question: the first tick from which a receipt on must wait for a person at that seat
//! (`Roster::awaited`). So a seat that was cut binds until the receipts reach the cut, then not until its next person.
//!
//! A receipt means something only for a life of a seat: inputs of the page before are other inputs. A packet tells how
//! many changes its sender knows. What it says of a seat counts up to the first change of that seat that the sender
//! does not know; and if the sender knows a change that is unknown here, nothing of it counts. A page that took a
//! seat begins with the receipts of its first tick, and packets of the page before are refused by their life.
//!
//! # Why it holds
//!
//! *Taking.* Let a seat be cut at `C`. The server takes the greatest `have` that any connected member reported after
//! it was fenced, that is, after it ceased to take inputs of the seat; and no less than what is durable. It waits for
//! the report of a member who has played since before that. Whoever has confirmed a tick that is not durable, and in
//! which the seat's person played, had the receipts of all who played in it, that member among them; and the member has
//! told no more than it had at last. So confirmed ticks end at `C` or before, those of a page that cannot be reached
//! included. The inputs up to `C` come with the change, so that everybody has the same ones, and from `C` on everybody
//! simulates the same. Who does not know the change waits for inputs that never come.
//! (If there is no such member, the others have yet to play, and each may have confirmed what the person and it alone
//! have: the server waits for all of them. If there is nobody else at all, who was taken has confirmed alone; what had
//! not become durable is lost with the page.)
//!
//! *Giving.* The server picks the first tick of the next person beyond the lease that follows from what is durable then.
//! Whoever has confirmed a tick of the seat was told of no more than that. So all confirmed ticks end before.
//! Between two who know different changes no receipt passes, so nobody is taken for having what they do not have.
//!
//! *Changes* are durable before anyone is told, and everybody applies all of them in one order. A change at a tick that
//! is confirmed here therefore does not happen; if it does, it is refused ([`ChangeError::Settled`]).
//!
//! [`ChangeError::Settled`]: crate::ChangeError::Settled

use env_core::World;
use protocol::change::LEASE_S;
use protocol::{Seat, Tick};

use super::Session;
use crate::effects::SessionEvent;

impl<W: World> Session<W> {
    /// Ticks that the server has made durable: those of a seat that lost its person count up to `LEASE_S` beyond.
    pub fn handle_lease(&mut self, through: Tick) {
        self.durable = self.durable.max(through.0);
        self.confirm();
    }

    /// The seat that keeps the next tick from being confirmed: a person whose inputs or receipts are missing; none if
    /// that is the server, or nobody.
    pub fn waiting_for(&self) -> Option<Seat> {
        self.confirmable().1.map(|seat| Seat(seat as u8))
    }

    /// Ticks that could be confirmed, were they simulated, and the seat that keeps the next one from being so.
    pub(super) fn confirmable(&self) -> (u32, Option<usize>) {
        let roster = &self.roster;
        let lease = LEASE_S * u32::from(self.config.tick_hz);
        let lease = self.durable.saturating_add(lease);
        let (mut end, mut who) = (u32::MAX, None);
        let mut bind = |tick: u32, seat: Option<usize>| {
            if tick < end {
                (end, who) = (tick, seat);
            }
        };
        for seat in 0..usize::from(self.layout.seats) {
            bind(roster.awaited(seat, self.inputs.have(seat)), Some(seat));
            for peer in self.peers().without(Some(Seat(seat as u8))).iter() {
                let theirs = self.inputs.acknowledged(peer, seat);
                bind(
                    roster.awaited(seat, theirs.max(roster.start(peer))),
                    Some(peer),
                );
            }
            if let Some(since) = roster.lost(seat) {
                bind(since.max(lease), None);
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
        if !self.over && self.end == Some(self.confirmed) {
            self.over = true;
            self.report(SessionEvent::Over {
                ticks: Tick(self.confirmed),
            });
        }
    }
}
