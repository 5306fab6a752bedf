//! Datagrams to and from the other people of an episode, over whichever way carries.
//!
//! This module must not know what the datagrams mean; it owns the ways: the data channels, the relay
//! through the server, and the choice between them.

use std::collections::VecDeque;

use protocol::control::{ClientMessage, Link, Plan};
use protocol::datagram::Layout;
use protocol::{Controller, Seat};

use crate::peers::{self, News, Peers};
use peer::link::{DIRECT_WITHIN_US, PeerLink};
use peer::probe::Probe;

/// One other person.
struct Other {
    seat: Seat,
    link: PeerLink,
    probe: Option<Probe>,
}

/// The ways to all other people.
pub(crate) struct Net {
    plan: Plan,
    peers: Option<Peers>,
    others: Vec<Other>,
    began_us: u64,
    relayed: VecDeque<(Seat, Vec<u8>)>,
}

impl Net {
    /// Starts to link up with the people of a plan.
    pub(crate) fn new(plan: &Plan, now_us: u64) -> Self {
        let seats = plan.controllers.iter().enumerate();
        let people = seats.filter(|(_, controller)| **controller == Controller::Human);
        let seats: Vec<Seat> = people
            .map(|(seat, _)| Seat(seat as u8))
            .filter(|&seat| seat != plan.seat)
            .collect();
        let direct = !seats.is_empty() && peers::is_supported();
        let mut peers = direct.then(|| Peers::new(plan.seat, &plan.ice, plan.relay_only));
        // The lower seat offers by itself; the other one would only repeat it.
        if let Some(peers) = &mut peers {
            let offered = seats.iter().filter(|&&seat| plan.seat < seat);
            offered.for_each(|&seat| peers.connect(seat));
        }
        let other = |seat| Other {
            seat,
            link: PeerLink::default(),
            probe: None,
        };
        Self {
            plan: plan.clone(),
            peers,
            others: seats.into_iter().map(other).collect(),
            began_us: now_us,
            relayed: VecDeque::new(),
        }
    }

    /// Begins to measure round trips, once the layout of datagrams is known.
    pub(crate) fn probe(&mut self, layout: Layout) {
        for other in &mut self.others {
            other.probe = Some(Probe::new(self.plan.era, self.plan.seat, layout));
        }
    }

    /// Takes a signal that came over the session socket.
    pub(crate) fn signal(&mut self, from: Seat, data: &str) {
        if let Some(peers) = self
            .peers
            .as_mut()
            .filter(|_| self.others.iter().any(|other| other.seat == from))
        {
            peers.signal(from, data);
        }
    }

    /// Takes a datagram that came over the session socket.
    pub(crate) fn relayed(&mut self, from: Seat, bytes: Vec<u8>) {
        self.relayed.push_back((from, bytes));
    }

    /// All datagrams that came. Signals and changes of links go out through `send`.
    pub(crate) fn poll(
        &mut self,
        now_us: u64,
        send: &mut impl FnMut(ClientMessage),
    ) -> Vec<(Seat, Vec<u8>)> {
        let mut came = Vec::new();
        while let Some((seat, news)) = self.peers.as_mut().and_then(Peers::poll) {
            let Some(other) = self.others.iter_mut().find(|other| other.seat == seat) else {
                continue;
            };
            match news {
                News::Opened => {
                    other.link.opened(now_us);
                    other.probe.iter_mut().for_each(Probe::restart);
                }
                News::Closed => other.link.closed(),
                News::Datagram(bytes) => {
                    other.link.heard(now_us, Link::Direct);
                    came.push((seat, bytes));
                }
                News::Signal(data) => send(ClientMessage::Signal { to: seat, data }),
            }
        }
        while let Some((seat, bytes)) = self.relayed.pop_front() {
            if let Some(other) = self.others.iter_mut().find(|other| other.seat == seat) {
                other.link.heard(now_us, Link::Relay);
                came.push((seat, bytes));
            }
        }
        came
    }

    /// Sends a datagram. A data channel that fell silent is tried beside the relay.
    pub(crate) fn send(
        &mut self,
        now_us: u64,
        to: Seat,
        bytes: &[u8],
        send: &mut impl FnMut(ClientMessage),
    ) {
        let Some(other) = self.others.iter().find(|other| other.seat == to) else {
            return;
        };
        if let Some(peers) = self.peers.as_mut().filter(|_| other.link.is_open()) {
            peers.send(to, bytes);
        }
        if other.link.choose(now_us) == Link::Relay {
            send(ClientMessage::Relay {
                to,
                bytes: bytes.to_vec(),
            });
        }
    }

    /// Before the episode: measures, from datagrams that came.
    pub(crate) fn measure(
        &mut self,
        now_us: u64,
        came: &[(Seat, Vec<u8>)],
        send: &mut impl FnMut(ClientMessage),
    ) {
        for (seat, bytes) in came {
            let other = self.others.iter_mut().find(|other| other.seat == *seat);
            if let Some(probe) = other.and_then(|other| other.probe.as_mut()) {
                probe.heard(now_us, bytes);
            }
        }
        for k in 0..self.others.len() {
            let due = self.others[k]
                .probe
                .as_mut()
                .and_then(|probe| probe.poll(now_us));
            if let Some(bytes) = due {
                self.send(now_us, self.others[k].seat, &bytes, send);
            }
        }
    }

    /// Whether every way is known, or the time for that is up.
    pub(crate) fn is_ready(&self, now_us: u64) -> bool {
        let late = now_us > self.began_us + DIRECT_WITHIN_US;
        late || self.others.iter().all(|other| {
            let hopeless = self.peers.is_none();
            let direct = other.link.choose(now_us) == Link::Direct;
            other.probe.as_ref().is_some_and(Probe::is_enough) && (direct || hopeless)
        })
    }

    /// The message that this page is ready to play.
    pub(crate) fn ready(&mut self, now_us: u64) -> ClientMessage {
        let seats = self.plan.controllers.len();
        let (mut links, mut rtt_us) = (vec![Link::Direct; seats], vec![0; seats]);
        for other in &mut self.others {
            let seat = other.seat.index();
            // From here on only changes are told.
            other.link.change(now_us);
            links[seat] = other.link.choose(now_us);
            rtt_us[seat] = other.probe.as_ref().map_or(0, Probe::rtt_us);
        }
        ClientMessage::Ready {
            era: self.plan.era,
            links,
            rtt_us,
        }
    }

    /// The episode does not go on: a data channel that brings packets may yet not carry them the other way.
    pub(crate) fn doubt(&mut self, now_us: u64) {
        self.others
            .iter_mut()
            .for_each(|other| other.link.doubt(now_us));
    }

    /// During the episode: tells when a way changes.
    pub(crate) fn tell_changes(&mut self, now_us: u64, send: &mut impl FnMut(ClientMessage)) {
        for other in &mut self.others {
            if let Some(link) = other.link.change(now_us) {
                send(ClientMessage::LinkChanged {
                    era: self.plan.era,
                    seat: other.seat,
                    link,
                });
            }
        }
    }

    /// How datagrams travel: through the server if any of them does; none without other people.
    pub(crate) fn link(&self, now_us: u64) -> Option<Link> {
        let links = self.others.iter().map(|other| other.link.choose(now_us));
        links.reduce(|worst, link| if link == Link::Relay { link } else { worst })
    }

    /// Whether some other person was not heard for `within_us`.
    pub(crate) fn is_missing(&self, now_us: u64, within_us: u64) -> bool {
        self.others
            .iter()
            .any(|other| !other.link.is_alive(now_us, within_us))
    }
}
