//! The other people of an episode, and the links to them.
//!
//! This module must not know what the datagrams of a session mean.

use std::collections::VecDeque;

use protocol::control::{ClientMessage, Link, Plan, SILENT_MS};
use protocol::datagram::DatagramLayout;
use protocol::{Controller, Era, Life, Seat};

use crate::effects::{Effect, Now};
use crate::link::{DIRECT_WITHIN_US, PeerLink};
use crate::probe::Probe;

/// Datagrams that go through the server in a second, to all others together: the server closes a connection that brings
/// many more. Each repeats what those before it said, so some may be left out.
const RELAYED_PER_S: u64 = 300;
/// Datagrams that go through the server in one go, to one other person.
const RELAYED_AT_ONCE: u64 = 4;
/// A server that was not heard for this long does not carry; everything sent to it would arrive together later,
/// microseconds.
const STALLED_US: u64 = 1_000_000;
/// Pause between datagrams through a server that does not carry, microseconds.
const STALLED_PAUSE_US: u64 = 250_000;

/// The extra time to get ready if the loss of packets is measured: the slowest pace at which a page of sixteen sends
/// probes, and some that are late, microseconds.
const COUNTING_US: u64 = 6_000_000;

/// Another person.
#[derive(Debug)]
struct Other {
    seat: Seat,
    /// True if a person has the seat now.
    is_person: bool,
    link: PeerLink,
    probe: Option<Probe>,
    /// Silence counts from then at the earliest, page clock, microseconds.
    since_us: u64,
    /// True if the server knows that the seat is silent.
    is_silent: bool,
    /// When the next datagram through the server is on time, page clock, microseconds.
    relay_us: u64,
}

impl Other {
    /// True if a datagram may go through the server now, at this pace; if so, it counts as sent.
    ///
    /// Source: ITU-T I.371, the generic cell rate algorithm.
    fn may_relay(&mut self, now_us: u64, pause_us: u64) -> bool {
        let next_us = self.relay_us.max(now_us);
        let may = next_us < now_us + RELAYED_AT_ONCE * pause_us;
        if may {
            self.relay_us = next_us + pause_us;
        }
        may
    }
}

/// The ways to all other people.
#[derive(Debug)]
pub(crate) struct Net {
    era: Era,
    own: Seat,
    life: Life,
    seats: usize,
    /// True if it is measured how many packets are lost.
    measures_loss: bool,
    others: Vec<Other>,
    silent_us: u64,
    began_us: u64,
    /// True if the connection to the server is there, and with it the relay.
    is_connected: bool,
    /// When the server was heard, page clock, microseconds.
    server_us: u64,
    effects: VecDeque<Effect>,
}

impl Net {
    /// Starts to link up with the people of a plan.
    pub(crate) fn new(plan: &Plan, now_us: u64) -> Self {
        let period_us = 1_000_000 / u64::from(plan.tick_hz.max(1));
        let mut net = Self {
            era: plan.era,
            own: plan.seat,
            life: plan.life,
            seats: plan.controllers.len(),
            measures_loss: plan.measures_loss,
            others: Vec::new(),
            // Packets go out once a tick: two that are late or lost are no silence.
            silent_us: (u64::from(SILENT_MS) * 1_000).max(5 * period_us / 2),
            began_us: now_us,
            is_connected: true,
            server_us: now_us,
            effects: VecDeque::new(),
        };
        for (seat, controller) in plan.controllers.iter().enumerate() {
            if *controller == Controller::Human {
                net.handle_seat_given(now_us, Seat(seat as u8));
            }
        }
        net
    }

    /// The next thing to do.
    pub(crate) fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// Sends a message to the server, if it is connected.
    pub(crate) fn send_to_server(&mut self, message: ClientMessage) {
        if self.is_connected {
            self.effects.push_back(Effect::Send(message));
        }
    }

    /// True if the connection to the server is there.
    pub(crate) fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// Handles that the connection to the server came or went. Everything reported over the old one is reported again.
    pub(crate) fn handle_connection(&mut self, now_us: u64, is_connected: bool) {
        (self.is_connected, self.server_us) = (is_connected, now_us);
        self.others
            .iter_mut()
            .for_each(|other| other.is_silent = false);
    }

    /// A message of the server came.
    pub(crate) fn heard_server(&mut self, now_us: u64) {
        self.server_us = now_us;
    }

    /// Begins to measure the ways, once the layout of datagrams is known.
    pub(crate) fn probe(&mut self, layout: DatagramLayout) {
        // What the server would not take would look lost.
        let least_pause_us = self.others.len() as u64 * 1_000_000 / RELAYED_PER_S;
        for other in &mut self.others {
            let probe = Probe::new(self.era, self.own, self.life, layout);
            other.probe = Some(match self.measures_loss {
                true => probe.with_counting(least_pause_us),
                false => probe,
            });
        }
    }

    /// A person has a seat: a new page.
    pub(crate) fn handle_seat_given(&mut self, now_us: u64, seat: Seat) {
        if seat == self.own {
            return;
        }
        let known = self.others.iter_mut().find(|other| other.seat == seat);
        // A page that came back may have connected before its change arrives.
        if let Some(other) = known {
            let is_under_way = other.is_person && other.link.is_first_attempt(now_us);
            (other.is_person, other.since_us, other.is_silent) = (true, now_us, false);
            if other.link.is_open() || is_under_way {
                return;
            }
            other.link = PeerLink::new(now_us, self.silent_us);
        } else {
            self.others.push(Other {
                seat,
                is_person: true,
                link: PeerLink::new(now_us, self.silent_us),
                probe: None,
                since_us: now_us,
                is_silent: false,
                relay_us: 0,
            });
        }
        self.effects.push_back(Effect::Connect { seat });
    }

    /// No person has the seat any more.
    pub(crate) fn handle_seat_taken(&mut self, now_us: u64, seat: Seat) {
        let known = self.others.iter_mut().find(|other| other.seat == seat);
        if let Some(other) = known.filter(|other| other.is_person) {
            (other.is_person, other.is_silent) = (false, false);
            other.link = PeerLink::new(now_us, self.silent_us);
            self.effects.push_back(Effect::Disconnect { seat });
        }
    }

    /// The page of a seat has begun to build a data channel.
    pub(crate) fn channel_begun(&mut self, now_us: u64, seat: Seat) {
        let mut others = self.others.iter_mut();
        if let Some(other) = others.find(|other| other.seat == seat) {
            other.link.handle_begun(now_us);
        }
    }

    /// The data channel to a seat opened, or closed, or will not open.
    pub(crate) fn handle_channel(&mut self, now_us: u64, seat: Seat, open: bool) {
        let Some(other) = self.others.iter_mut().find(|other| other.seat == seat) else {
            return;
        };
        if open {
            other.link.handle_opened(now_us);
        } else {
            other.link.handle_closed(now_us);
        }
    }

    /// True for the seat of another person, who may have left it since.
    pub(crate) fn has_other(&self, seat: Seat) -> bool {
        self.others.iter().any(|other| other.seat == seat)
    }

    /// A datagram came from one of the others.
    pub(crate) fn handle_heard(&mut self, now_us: u64, from: Seat, over: Link) {
        let other = self.others.iter_mut().find(|other| other.seat == from);
        let Some(other) = other else { return };
        let before = other.link.link();
        other.link.handle_heard(now_us, over);
        if before != other.link.link() {
            // Round trips over the other link say nothing.
            other.probe.iter_mut().for_each(Probe::restart);
        }
    }

    /// Sends a datagram by every way that it should take.
    pub(crate) fn send(&mut self, now_us: u64, to: Seat, bytes: &[u8]) {
        let pause_us = self.relay_pause_us(now_us);
        let Some(other) = self.others.iter_mut().find(|other| other.seat == to) else {
            return;
        };
        let ways = other.link.ways(now_us);
        if ways.direct {
            let bytes = bytes.to_vec();
            self.effects.push_back(Effect::Datagram { to, bytes });
        }
        if ways.relay && other.may_relay(now_us, pause_us) {
            let bytes = bytes.to_vec();
            self.send_to_server(ClientMessage::Relay { to, bytes });
        }
    }

    /// Sends a packet to everybody.
    pub(crate) fn send_to_all(&mut self, now_us: u64, bytes: &[u8]) {
        let people = self.others.iter().filter(|other| other.is_person);
        let people: Vec<Seat> = people.map(|other| other.seat).collect();
        for to in people {
            self.send(now_us, to, bytes);
        }
    }

    /// Time between two datagrams through the server to one other.
    fn relay_pause_us(&self, now_us: u64) -> u64 {
        if now_us.saturating_sub(self.server_us) > STALLED_US {
            STALLED_PAUSE_US
        } else {
            self.others.len() as u64 * 1_000_000 / RELAYED_PER_S
        }
    }

    /// Before the episode: takes a datagram that came for the measurement.
    pub(crate) fn measure(&mut self, now: Now, from: Seat, over: Link, bytes: &[u8]) {
        let other = self.others.iter_mut().find(|other| other.seat == from);
        if let Some(other) = other.filter(|other| other.link.link() == over)
            && let Some(probe) = &mut other.probe
        {
            probe.handle_probe(now.server_us, bytes);
        }
    }

    /// Sends the probes that are due, before the episode. They carry the server's clock as the session will, so that
    /// the session may take an answer to a probe for its own.
    pub(crate) fn send_probes(&mut self, now: Now) {
        if !now.is_set {
            return;
        }
        for k in 0..self.others.len() {
            let probe = self.others[k].probe.as_mut();
            let due = probe.and_then(|probe| probe.poll(now.server_us));
            if let Some(bytes) = due {
                self.send(now.page_us, self.others[k].seat, &bytes);
            }
        }
    }

    /// True if every way is known and measured, or the time for that is up.
    pub(crate) fn is_ready(&self, now_us: u64) -> bool {
        let counting_us = if self.measures_loss { COUNTING_US } else { 0 };
        let late = now_us > self.began_us + DIRECT_WITHIN_US + counting_us;
        late || self.others.iter().all(|other| {
            other.link.is_settled() && other.probe.as_ref().is_some_and(Probe::is_enough)
        })
    }

    /// Tells that this page is ready to play.
    pub(crate) fn tell_ready(&mut self) {
        let (mut links, mut rtt_us) = (vec![Link::Direct; self.seats], vec![0; self.seats]);
        let mut loss_permille = vec![None; self.seats];
        for other in &mut self.others {
            let seat = other.seat.index();
            // From here on, only changes are reported.
            other.link.poll_change();
            links[seat] = other.link.link();
            rtt_us[seat] = other.probe.as_ref().map_or(0, Probe::rtt_us);
            loss_permille[seat] = other.probe.as_ref().and_then(Probe::loss_permille);
        }
        self.send_to_server(ClientMessage::Ready {
            era: self.era,
            links,
            rtt_us,
            loss_permille,
        });
    }

    /// Maintains the links to people: rebuilds dead channels, which needs the server for its signals.
    pub(crate) fn keep_up(&mut self, now_us: u64) {
        if !self.is_connected {
            return;
        }
        for other in self.others.iter_mut().filter(|other| other.is_person) {
            if other.link.poll_rebuild(now_us) {
                let seat = other.seat;
                self.effects.push_back(Effect::Connect { seat });
            }
        }
    }

    /// During the episode: reports when a link changes, and who falls silent or is heard again.
    pub(crate) fn tell_changes(&mut self, now_us: u64) {
        if !self.is_connected {
            return;
        }
        let era = self.era;
        for other in self.others.iter_mut().filter(|other| other.is_person) {
            let seat = other.seat;
            let link = other.link.poll_change();
            let link = link.map(|link| ClientMessage::LinkChanged { era, seat, link });
            let silent = other.link.is_silent(now_us, other.since_us);
            let changed = silent != std::mem::replace(&mut other.is_silent, silent);
            let silence = changed.then_some(ClientMessage::Silent { era, seat, silent });
            self.effects
                .extend(link.into_iter().chain(silence).map(Effect::Send));
        }
    }

    /// Ignores silence before `since_us`: nobody sent, or this page itself slept.
    pub(crate) fn listen_from(&mut self, since_us: u64) {
        for other in &mut self.others {
            other.since_us = other.since_us.max(since_us);
        }
    }

    /// Handles an episode that does not continue: a data channel that brings packets may still not carry them the other
    /// way.
    pub(crate) fn doubt_links(&mut self, now_us: u64) {
        self.others
            .iter_mut()
            .for_each(|other| other.link.doubt_link(now_us));
    }

    /// Returns how datagrams travel: through the server if any of them do; `None` without other people.
    pub(crate) fn link(&self) -> Option<Link> {
        let people = self.others.iter().filter(|other| other.is_person);
        people
            .map(|other| other.link.link())
            .reduce(|worst, link| if link == Link::Relay { link } else { worst })
    }

    /// Returns how datagrams travel to one person.
    pub(crate) fn link_to(&self, seat: Seat) -> Option<Link> {
        let mut people = self.others.iter().filter(|other| other.is_person);
        let other = people.find(|other| other.seat == seat)?;
        Some(other.link.link())
    }

    /// The people who are not heard.
    pub(crate) fn silent_seats(&self, now_us: u64) -> Vec<Seat> {
        let people = self.others.iter().filter(|other| other.is_person);
        people
            .filter(|other| other.link.is_silent(now_us, other.since_us))
            .map(|other| other.seat)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_US: u64 = 1_000_000;

    fn net(people: usize) -> Net {
        Net::new(&Plan::for_testing(people), 0)
    }

    /// Relayed datagrams to each seat in the seconds from `from_s` on, sixty a second offered.
    fn relayed(net: &mut Net, from_s: u64, seconds: u64, heard: bool) -> Vec<u64> {
        let mut counts = vec![0; net.seats];
        for tick in 60 * from_s..60 * (from_s + seconds) {
            let now_us = tick * SECOND_US / 60;
            if heard {
                net.heard_server(now_us);
            }
            (1..net.seats).for_each(|seat| net.send(now_us, Seat(seat as u8), &[1]));
            while let Some(effect) = net.poll_effect() {
                if let Effect::Send(ClientMessage::Relay { to, .. }) = effect {
                    counts[to.index()] += 1;
                }
            }
        }
        counts
    }

    #[test]
    fn a_few_people_get_every_datagram_through_the_server() {
        assert_eq!(relayed(&mut net(2), 0, 10, true), [0, 600]);
        assert_eq!(relayed(&mut net(5), 0, 10, true), [0, 600, 600, 600, 600]);
    }

    #[test]
    fn of_many_people_each_gets_as_much_as_the_server_takes() {
        let counts = relayed(&mut net(16), 0, 10, true);
        let all: u64 = counts.iter().sum();
        assert!(all <= 11 * RELAYED_PER_S, "{all} in ten seconds");
        assert!(counts[1..].iter().all(|&count| count >= 190), "{counts:?}");
    }

    #[test]
    fn a_server_that_does_not_carry_is_not_flooded() {
        let mut net = net(4);
        relayed(&mut net, 0, 5, true);
        let counts = relayed(&mut net, 5, 60, false);
        assert!(counts.iter().sum::<u64>() < 3 * (60 + 4 * 60 + 10));
        net.heard_server(65 * SECOND_US);
        assert_eq!(relayed(&mut net, 66, 1, true)[1], 60);
    }
}
