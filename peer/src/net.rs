//! The other people of an episode, and the ways to them.
//!
//! This module must not know what the datagrams of a session mean.

use std::collections::VecDeque;

use protocol::control::{ClientMessage, Link, Plan, SILENT_MS};
use protocol::datagram::Layout;
use protocol::{Controller, Era, Life, Seat};

use crate::effects::Effect;
use crate::link::{DIRECT_WITHIN_US, PeerLink};
use crate::probe::Probe;

/// Another person.
#[derive(Debug)]
struct Other {
    seat: Seat,
    /// Whether a person has the seat now.
    is_person: bool,
    link: PeerLink,
    probe: Option<Probe>,
    /// Silence counts from then at the earliest, page clock, microseconds.
    since_us: u64,
    /// Whether the server was told that the seat is silent.
    is_silent: bool,
}

/// The ways to all other people.
#[derive(Debug)]
pub(crate) struct Net {
    era: Era,
    own: Seat,
    life: Life,
    seats: usize,
    others: Vec<Other>,
    silent_us: u64,
    began_us: u64,
    /// Whether the connection to the server is there, and with it the relay.
    is_connected: bool,
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
            others: Vec::new(),
            // Packets go out once a tick: two that are late or lost are no silence.
            silent_us: (u64::from(SILENT_MS) * 1_000).max(5 * period_us / 2),
            began_us: now_us,
            is_connected: true,
            effects: VecDeque::new(),
        };
        for (seat, controller) in plan.controllers.iter().enumerate() {
            if *controller == Controller::Human {
                net.given(now_us, Seat(seat as u8));
            }
        }
        net
    }

    /// The next thing to do.
    pub(crate) fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// Sends a message to the server, if it is connected.
    pub(crate) fn tell(&mut self, message: ClientMessage) {
        if self.is_connected {
            self.effects.push_back(Effect::Send(message));
        }
    }

    /// Whether the connection to the server is there.
    pub(crate) fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// The connection to the server came or went. What was told over the old one is told again.
    pub(crate) fn connected(&mut self, is_connected: bool) {
        self.is_connected = is_connected;
        self.others
            .iter_mut()
            .for_each(|other| other.is_silent = false);
    }

    /// Begins to measure round trips, once the layout of datagrams is known.
    pub(crate) fn probe(&mut self, layout: Layout) {
        for other in &mut self.others {
            other.probe = Some(Probe::new(self.era, self.own, self.life, layout));
        }
    }

    /// A person has a seat: a new page.
    pub(crate) fn given(&mut self, now_us: u64, seat: Seat) {
        if seat == self.own {
            return;
        }
        let known = self.others.iter_mut().find(|other| other.seat == seat);
        // A page that came back may have connected before that is told.
        if let Some(other) = known {
            (other.is_person, other.since_us, other.is_silent) = (true, now_us, false);
            if other.link.is_open() {
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
            });
        }
        self.effects.push_back(Effect::Connect { seat });
    }

    /// No person has the seat any more.
    pub(crate) fn taken(&mut self, now_us: u64, seat: Seat) {
        let known = self.others.iter_mut().find(|other| other.seat == seat);
        if let Some(other) = known.filter(|other| other.is_person) {
            (other.is_person, other.is_silent) = (false, false);
            other.link = PeerLink::new(now_us, self.silent_us);
            self.effects.push_back(Effect::Disconnect { seat });
        }
    }

    /// The data channel to a seat opened, or closed, or will not open.
    pub(crate) fn channel(&mut self, now_us: u64, seat: Seat, open: bool) {
        let Some(other) = self.others.iter_mut().find(|other| other.seat == seat) else {
            return;
        };
        if open {
            other.link.opened(now_us);
        } else {
            other.link.closed(now_us);
        }
    }

    /// A datagram came; whether from one of the others.
    pub(crate) fn heard(&mut self, now_us: u64, from: Seat, over: Link) -> bool {
        let other = self.others.iter_mut().find(|other| other.seat == from);
        let Some(other) = other else { return false };
        let before = other.link.link();
        other.link.heard(now_us, over);
        if before != other.link.link() {
            // Round trips of the other way say nothing.
            other.probe.iter_mut().for_each(Probe::restart);
        }
        true
    }

    /// Sends a datagram by every way that it should take.
    pub(crate) fn send(&mut self, now_us: u64, to: Seat, bytes: &[u8]) {
        let Some(other) = self.others.iter_mut().find(|other| other.seat == to) else {
            return;
        };
        let ways = other.link.ways(now_us);
        if ways.direct {
            let bytes = bytes.to_vec();
            self.effects.push_back(Effect::Datagram { to, bytes });
        }
        if ways.relay {
            let bytes = bytes.to_vec();
            self.tell(ClientMessage::Relay { to, bytes });
        }
    }

    /// Before the episode: takes a datagram that came for the measurement.
    pub(crate) fn measure(&mut self, now_us: u64, from: Seat, over: Link, bytes: &[u8]) {
        let other = self.others.iter_mut().find(|other| other.seat == from);
        if let Some(other) = other.filter(|other| other.link.link() == over)
            && let Some(probe) = &mut other.probe
        {
            probe.heard(now_us, bytes);
        }
    }

    /// Before the episode: sends the probes that are due.
    pub(crate) fn send_probes(&mut self, now_us: u64) {
        for k in 0..self.others.len() {
            let other = &mut self.others[k];
            let due = other.probe.as_mut().and_then(|probe| probe.poll(now_us));
            if let Some(bytes) = due {
                self.send(now_us, self.others[k].seat, &bytes);
            }
        }
    }

    /// Whether every way is known and measured, or the time for that is up.
    pub(crate) fn is_ready(&self, now_us: u64) -> bool {
        let late = now_us > self.began_us + DIRECT_WITHIN_US;
        late || self.others.iter().all(|other| {
            other.link.is_settled() && other.probe.as_ref().is_some_and(Probe::is_enough)
        })
    }

    /// Tells that this page is ready to play.
    pub(crate) fn tell_ready(&mut self) {
        let (mut links, mut rtt_us) = (vec![Link::Direct; self.seats], vec![0; self.seats]);
        for other in &mut self.others {
            let seat = other.seat.index();
            // From here on only changes are told.
            other.link.change();
            links[seat] = other.link.link();
            rtt_us[seat] = other.probe.as_ref().map_or(0, Probe::rtt_us);
        }
        let era = self.era;
        self.tell(ClientMessage::Ready { era, links, rtt_us });
    }

    /// Keeps up the ways to people: builds dead channels anew, which needs the server for its signals.
    pub(crate) fn keep_up(&mut self, now_us: u64) {
        if !self.is_connected {
            return;
        }
        for other in self.others.iter_mut().filter(|other| other.is_person) {
            other.link.ways(now_us);
            if other.link.rebuild(now_us) {
                let seat = other.seat;
                self.effects.push_back(Effect::Connect { seat });
            }
        }
    }

    /// During the episode: tells when a way changes, and who falls silent or is heard again.
    pub(crate) fn tell_changes(&mut self, now_us: u64) {
        if !self.is_connected {
            return;
        }
        let era = self.era;
        for other in self.others.iter_mut().filter(|other| other.is_person) {
            let seat = other.seat;
            let link = other.link.change();
            let link = link.map(|link| ClientMessage::LinkChanged { era, seat, link });
            let silent = other.link.is_silent(now_us, other.since_us);
            let changed = silent != std::mem::replace(&mut other.is_silent, silent);
            let silence = changed.then_some(ClientMessage::Silent { era, seat, silent });
            self.effects
                .extend(link.into_iter().chain(silence).map(Effect::Send));
        }
    }

    /// Nobody counts as silent for what was before `since_us`: nobody sent, or this page itself slept.
    pub(crate) fn listen_from(&mut self, since_us: u64) {
        for other in &mut self.others {
            other.since_us = other.since_us.max(since_us);
        }
    }

    /// The episode does not go on: a data channel that brings packets may yet not carry them the other way.
    pub(crate) fn doubt(&mut self, now_us: u64) {
        self.others
            .iter_mut()
            .for_each(|other| other.link.doubt(now_us));
    }

    /// How datagrams travel: through the server if any of them does; none without other people.
    pub(crate) fn link(&self) -> Option<Link> {
        let people = self.others.iter().filter(|other| other.is_person);
        people
            .map(|other| other.link.link())
            .reduce(|worst, link| if link == Link::Relay { link } else { worst })
    }

    /// How datagrams travel to one person.
    pub(crate) fn link_to(&self, seat: Seat) -> Option<Link> {
        let mut people = self.others.iter().filter(|other| other.is_person);
        let other = people.find(|other| other.seat == seat)?;
        Some(other.link.link())
    }

    /// The people who are not heard.
    pub(crate) fn silent(&self, now_us: u64) -> Vec<Seat> {
        let people = self.others.iter().filter(|other| other.is_person);
        people
            .filter(|other| other.link.is_silent(now_us, other.since_us))
            .map(|other| other.seat)
            .collect()
    }
}
