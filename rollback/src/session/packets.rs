//! Packets from and to the other people.

use env_core::World;
use protocol::datagram::MAX_INPUTS;
use protocol::{Seat, Tick};

use super::Session;
use crate::effects::{DatagramError, SessionEvent, Transmit};
use crate::inputs::Received;
use crate::link::clock_ms;
use crate::roster::Seats;

/// The most packets to a peer in one go: a page that comes back needs more inputs than one packet can hold.
const PACKETS: u32 = 4;

impl<W: World> Session<W> {
    /// Takes a packet that came by the channel of a seat: its inputs, its receipts, its clock. If a prediction was
    /// wrong, the next call of `handle_timeout` rolls back, or any earlier call that reads the world: once for all
    /// packets that came.
    ///
    /// # Errors
    /// [`DatagramError`]; the packet then had no effect.
    pub fn handle_datagram(
        &mut self,
        now_us: u64,
        from: Seat,
        bytes: &[u8],
    ) -> Result<(), DatagramError> {
        self.now_us = now_us;
        self.stats.datagrams_received += 1;
        self.stats.bytes_received += bytes.len() as u64;
        let taken = self.check(from, bytes);
        match &taken {
            Ok(()) if self.lost => {}
            Ok(()) => self.take_in(from.index()),
            Err(error) => {
                self.stats.dropped += 1;
                self.stats.refused.count(error);
            }
        }
        taken
    }

    /// The next packet to send, if any.
    pub fn poll_transmit(&mut self) -> Option<Transmit<'_>> {
        let local = self.local()?;
        let to = self.due.iter().next()?;
        let packet = &mut self.outgoing;
        let base = self.inputs.acknowledged_tick(to, local);
        let first = base.max(self.roster.start(local)).max(self.cursor[to]);
        packet.inputs.clear();
        packet
            .inputs
            .extend(self.inputs.column(local, first, first + MAX_INPUTS as u32));
        let end = first + packet.inputs.len() as u32;
        packet.have.clear();
        for seat in 0..usize::from(self.layout.seats) {
            let have = self.inputs.known_through(seat);
            packet.have.push(Tick(
                if self.roster.people().contains(seat) && seat != local {
                    have
                } else {
                    // The inputs of a seat that lost its person are known up to its cut and beyond.
                    end.max(have)
                },
            ));
        }
        packet.have[local] = Tick(end);
        (packet.era, packet.from, packet.first) = (self.config.era, Seat(local as u8), Tick(first));
        (packet.sent_ms, packet.done) = (clock_ms(self.now_us), self.over);
        (packet.life, packet.delay_ms) = (self.life, self.schedule.delay_ms());
        packet.changes = self.roster.changes() as u8;
        packet.echo = self.links[to].poll_echo(self.now_us);
        packet.encode(self.layout, &mut self.buffer);
        self.cursor[to] = end;
        if end >= self.inputs.known_through(local) || end >= base + PACKETS * MAX_INPUTS as u32 {
            self.due = self.due.without_seat(Some(Seat(to as u8)));
        }
        self.stats.datagrams_sent += 1;
        self.stats.bytes_sent += self.buffer.len() as u64;
        Some(Transmit {
            to: Seat(to as u8),
            bytes: &self.buffer,
        })
    }

    /// Makes packets due.
    pub(super) fn send_to(&mut self, peers: Seats) {
        self.due = peers;
        self.cursor = Default::default();
    }

    /// Decodes a packet, and refuses it unless it is of this episode and of the page that plays the seat.
    fn check(&mut self, channel: Seat, bytes: &[u8]) -> Result<(), DatagramError> {
        self.incoming.decode_into(bytes, self.layout)?;
        let packet = &self.incoming;
        if packet.era != self.config.era {
            return Err(DatagramError::Era);
        }
        let named = packet.from;
        if named != channel {
            return Err(DatagramError::Channel { channel, named });
        }
        let (present, found) = (self.roster.life(named.index()), packet.life);
        if found != present {
            return Err(DatagramError::Life {
                seat: named,
                present,
                found,
            });
        }
        if !self.peers().contains(named.index()) {
            return Err(DatagramError::Sender(named));
        }
        match self.local() {
            Some(own) if self.receipt(own) > Some(self.inputs.known_through(own)) => {
                Err(DatagramError::Receipt(packet.have[own]))
            }
            _ => Ok(()),
        }
    }

    /// Returns the packet's receipt for a seat, as far as it is about the same stints of the seat; `None` if the sender
    /// knows a change that is unknown here.
    fn receipt(&self, seat: usize) -> Option<u32> {
        let known = self.roster.changes();
        let behind = (known as u8)
            .wrapping_sub(self.incoming.changes)
            .cast_signed();
        let theirs = known.checked_sub(u16::try_from(behind).ok()?)?;
        let have = self.incoming.have[seat].0;
        Some(have.min(self.roster.common_tick(seat, theirs)))
    }

    fn take_in(&mut self, from: usize) {
        let packet = &self.incoming;
        // Two finished peers fall silent: only a peer that does not know of the other's end keeps asking, without an
        // echo.
        if self.over && self.links[from].done && packet.done && packet.echo.is_none() {
            self.due = self.due.with_seat(from);
            self.cursor[from] = 0;
        }
        self.links[from].handle_echo(self.now_us, packet);
        for seat in 0..usize::from(self.layout.seats) {
            if let Some(have) = self.receipt(seat) {
                self.inputs.acknowledge_inputs(from, seat, have);
            }
        }
        let end = self.incoming.first.0 + self.incoming.inputs.len() as u32;
        self.adopt_delay(self.incoming.delay_ms, end);
        // An honest peer is at most the window and the delay beyond the inputs that it has from this page.
        let own = self.local();
        let limit =
            own.map_or(self.current, |own| self.inputs.known_through(own)) + 2 * MAX_INPUTS as u32;
        let packet = std::mem::take(&mut self.incoming);
        self.receive(from, packet.first.0, &packet.inputs, limit);
        self.incoming = packet;
        // A session that waits, at the end of the window or of the episode, may not have to wait any more.
        if !self.may_run() {
            self.resimulate();
        }
        self.confirm_ticks();
        self.take_turns();
    }

    /// Takes in inputs of a person, except inputs before their first tick or this session's first tick.
    pub(super) fn receive(
        &mut self,
        from: usize,
        first: u32,
        inputs: &[u16],
        limit: u32,
    ) -> Received {
        let (now_us, guesses, events) = (self.now_us, &self.guesses, &mut self.events);
        let begun = self.roster.start(from).max(self.inputs.first());
        let settled = begun.saturating_sub(first) as usize;
        let inputs = inputs.get(settled..).unwrap_or_default();
        let (stats, reached) = (&mut self.stats, self.reached);
        let learn = |tick, actual| {
            if tick >= reached {
                return;
            }
            let mut shown = guesses
                .guesses_shown(tick, from, now_us)
                .enumerate()
                .peekable();
            stats.predicted[from] += u32::from(shown.peek().is_some());
            for (number, (predicted, shown_us)) in shown.filter(|(_, (guess, _))| *guess != actual)
            {
                stats.mispredicted[from] += u32::from(number == 0);
                super::report(
                    events,
                    SessionEvent::Mispredicted {
                        seat: Seat(from as u8),
                        tick: Tick(tick),
                        predicted,
                        actual,
                        shown_us,
                    },
                );
            }
        };
        let received =
            self.inputs
                .receive(from, first.max(begun), inputs, self.current, limit, learn);
        self.stats.equivocations += u64::from(received.equivocations);
        self.sound = received
            .wrong
            .map_or(self.sound, |tick| self.sound.min(tick));
        received
    }
}
