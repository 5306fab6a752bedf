//! What is confirmed, and why nothing confirmed is ever taken back.

use env_core::World;
use protocol::change::LEASE_S;
use protocol::{Seat, Tick};

use super::Session;
use crate::effects::Event;

impl<W: World> Session<W> {
    /// Ticks that the server has made durable: those of a seat that lost its person count up to `LEASE_S` beyond.
    pub fn handle_lease(&mut self, through: Tick) {
        self.durable = self.durable.max(through.0);
        self.confirm();
    }

    /// Who keeps the next tick from being confirmed: a person whose inputs or receipts are missing; none if that is
    /// the server, or nobody.
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
        self.confirmed = end.min(self.current).max(self.confirmed);
        while self
            .digests
            .get(self.settled)
            .is_some_and(|(at, _)| at.0 <= self.confirmed)
        {
            self.settled += 1;
        }
        if !self.over && self.end == Some(self.confirmed) {
            self.over = true;
            self.report(Event::Over {
                ticks: Tick(self.confirmed),
            });
        }
    }
}
