//! A run: all pages, the server and the network on one virtual clock, in one thread.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use peer::Peer;
use protocol::control::{self, ClientMessage, ServerMessage};
use protocol::{Era, Seat, Tick};
use signaling_server::hub::{ConnId, Event};

use crate::chance::Chance;
use crate::channels::Channels;
use crate::native::Native;
use crate::oracle::{Figures, Oracle};
use crate::page::{Deed, Page};
use crate::scenario::{Fault, Scenario, Victim};
use crate::server::{self, Outgoing, Sabotage, Server};
use crate::trace::Trace;
use crate::weather::{End, Weather};
use crate::wire::Wires;

/// How long after the network has healed everybody must be at the end of the study, microseconds.
const PATIENCE_US: u64 = 150_000_000;
/// How long a page that is connected and in sight may see nothing confirmed after that, microseconds.
const STALL_US: u64 = 25_000_000;
/// Datagrams that wait for a frozen page; more are lost.
const WAITING: usize = 300;

/// Something that is under way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    /// A person opens the study.
    Arrive(usize),
    /// A fault of the scenario.
    Fault(usize),
    /// A person's page is opened again.
    Reopen(usize),
    /// A page comes into sight again.
    Show(usize),
    /// The process of the server starts.
    Start,
    /// A connection reaches the server.
    Accept(u64),
    /// A page learns that its connection is there.
    Opened(u64),
    /// A message reaches the server.
    Up(u64, Vec<u8>),
    /// A message reaches a page.
    Down(u64, Vec<u8>),
    /// The server learns that a connection is gone.
    Gone(u64),
    /// A page learns that its connection is gone.
    Lost(u64),
    /// A data channel comes up, or not.
    Channel(u64),
    /// A page learns that a data channel is open.
    ChannelOpen(u64, usize),
    /// A page learns that its data channel to a seat is gone, or will not come up.
    ChannelGone(usize, u8),
    /// A datagram reaches a page.
    Datagram {
        channel: u64,
        page: usize,
        from: u8,
        bytes: Vec<u8>,
    },
    /// A module is loaded.
    Loaded(usize, u16),
}

/// What is broken on purpose.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mischief {
    /// In the server.
    pub server: Sabotage,
    /// Pages confirm seats that lost their person without regard to the lease.
    pub no_lease: bool,
    /// Rewrites datagrams under way: the page that gets them, and what was sent before.
    pub datagrams: Option<Tamper>,
}

/// Rewrites a datagram, given its layout and those sent before by its sender.
pub type Tamper = fn(&mut Vec<u8>, protocol::datagram::Layout, &[Vec<u8>]);

/// A run.
pub struct Run {
    scenario: Scenario,
    mischief: Mischief,
    now_us: u64,
    queue: BinaryHeap<Reverse<(u64, u64, Happening)>>,
    number: u64,
    chance: Chance,
    weather: Weather,
    server: Server,
    pages: Vec<Page>,
    /// The token that each person's browser remembers.
    tokens: Vec<Option<String>>,
    /// Whether a person is gone for good.
    gone: Vec<bool>,
    wires: Wires,
    channels: Channels,
    oracle: Oracle,
    /// What has been delivered so far, messages and datagrams.
    delivered: u64,
    /// When each page's confirmed ticks last grew, and how many they were.
    moved: BTreeMap<usize, (u64, u32)>,
    /// What was sent over data channels and through the server, for leaks.
    sent: Vec<Vec<u8>>,
    /// What happened.
    pub trace: Trace,
}

/// What a run came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    /// Figures.
    pub figures: Figures,
    /// Messages and datagrams delivered.
    pub delivered: u64,
    /// Virtual time, microseconds.
    pub took_us: u64,
}

impl Run {
    /// A run that has not begun.
    pub fn new(scenario: Scenario, mischief: Mischief, trace: Trace) -> Self {
        let (study, stages) = scenario.terms.load();
        let Scenario { seed, .. } = scenario;
        let people = scenario.people.len();
        let weather = Weather::new(
            seed,
            scenario.ways.clone(),
            scenario.partitions.clone(),
            scenario.heals_us,
        );
        Self {
            server: Server::new(seed, study, stages, mischief.server),
            mischief,
            now_us: 0,
            queue: BinaryHeap::new(),
            number: 0,
            chance: Chance::new(seed, "run"),
            weather,
            pages: Vec::new(),
            tokens: vec![None; people],
            gone: vec![false; people],
            wires: Wires::default(),
            channels: Channels::default(),
            oracle: Oracle::default(),
            delivered: 0,
            moved: BTreeMap::new(),
            sent: Vec::new(),
            trace,
            scenario,
        }
    }

    /// Runs to the end of the study for everybody, and judges.
    ///
    /// # Errors
    /// What an oracle saw.
    pub fn run(&mut self) -> Result<Report, String> {
        self.run_watched(|_, _, seen| seen)
    }

    /// [`Self::run`] under the eyes of somebody who may also reach into the pages: `look` is called after every
    /// step with the time, microseconds, and with what an oracle saw, and says whether that matters.
    ///
    /// # Errors
    /// What an oracle saw.
    pub fn run_watched(
        &mut self,
        mut look: impl FnMut(u64, &mut [Page], Result<(), String>) -> Result<(), String>,
    ) -> Result<Report, String> {
        self.server.start(0)?;
        for person in 0..self.scenario.people.len() {
            self.later(
                self.scenario.people[person].arrives_us,
                Happening::Arrive(person),
            );
        }
        for (number, (at_us, _)) in self.scenario.faults.clone().into_iter().enumerate() {
            self.later(at_us, Happening::Fault(number));
        }
        while !self.is_over() {
            let until_us = self.scenario.heals_us + PATIENCE_US + self.scenario.terms.slowest_us();
            if self.now_us > until_us {
                return Err(format!("liveness: {}", self.standing()));
            }
            let seen = self.step();
            look(self.now_us, &mut self.pages, seen)?;
        }
        self.settle()?;
        self.oracle.judge(&self.server.disk)?;
        Ok(Report {
            figures: self.oracle.figures,
            delivered: self.delivered,
            took_us: self.now_us,
        })
    }

    /// Whether everybody who is still there sees the end of the study.
    fn is_over(&self) -> bool {
        let arrived = self.now_us >= 2_000_000;
        arrived
            && self.server.is_up()
            && (0..self.gone.len()).all(|person| self.gone[person] || self.is_done(person))
    }

    fn is_done(&self, person: usize) -> bool {
        let mut own = self.pages.iter();
        own.any(|page| page.person == person && page.is_alive && page.is_done)
    }

    /// Lets the archive finish what nobody waits for any more.
    fn settle(&mut self) -> Result<(), String> {
        let until_us = self.now_us + 100_000_000;
        while self.now_us < until_us
            && let Some(at_us) = self.server.next_us()
        {
            self.now_us = self.now_us.max(at_us);
            self.server.run(self.now_us)?;
            while self.server.poll_outgoing().is_some() {}
        }
        Ok(())
    }

    /// Where everybody stands, for a run that does not end.
    fn standing(&mut self) -> String {
        let now_us = self.now_us;
        let mut text = String::from("no end long after the network has healed:");
        for page in self.pages.iter_mut().filter(|page| page.is_alive) {
            let now = page.now(now_us);
            let status = page.peer.as_ref().map(|peer| {
                let ticks = peer
                    .session()
                    .map(|session| (session.confirmed().0, session.current().0));
                (
                    peer.plan().era.0,
                    peer.plan().seat.0,
                    peer.status(now),
                    ticks,
                )
            });
            text += &format!(
                "\n  page {} of person {}: done {}, stopped {}, welcome {}, {status:?}",
                page.number, page.person, page.is_done, page.is_stopped, page.is_welcome
            );
        }
        text
    }

    fn later(&mut self, at_us: u64, happening: Happening) {
        self.number += 1;
        self.queue
            .push(Reverse((at_us.max(self.now_us), self.number, happening)));
    }

    /// Does what is due next.
    fn step(&mut self) -> Result<(), String> {
        let queue_us = self
            .queue
            .peek()
            .map_or(u64::MAX, |Reverse((at_us, ..))| *at_us);
        let server_us = self.server.next_us().unwrap_or(u64::MAX);
        let next = (0..self.pages.len()).map(|at| (self.page_us(at), at)).min();
        let (page_us, page) = next.unwrap_or((u64::MAX, 0));
        let at_us = queue_us.min(server_us).min(page_us);
        if at_us == u64::MAX {
            return Err("liveness: nothing will ever happen again".into());
        }
        self.now_us = self.now_us.max(at_us);
        if queue_us == at_us {
            let Some(Reverse((_, _, happening))) = self.queue.pop() else {
                return Ok(());
            };
            self.happen(happening)
        } else if server_us == at_us {
            self.server.run(self.now_us)?;
            self.send_out()
        } else {
            self.wake(page)
        }
    }

    /// When a page does something of its own.
    fn page_us(&self, at: usize) -> u64 {
        let page = &self.pages[at];
        if !page.is_alive || page.is_stopped {
            return u64::MAX;
        }
        page.wakes_us
            .min(page.acts_us)
            .min(page.draws_us)
            .max(page.frozen_us)
    }

    fn wake(&mut self, at: usize) -> Result<(), String> {
        let now_us = self.now_us;
        let page = &mut self.pages[at];
        if page.acts_us <= now_us {
            page.act(now_us);
        }
        if page.draws_us <= now_us
            && let Some(shown) = page.draw(now_us)
        {
            self.oracle.shown(shown);
        }
        let page = &mut self.pages[at];
        if page.wakes_us <= now_us {
            page.wake(now_us);
        }
        self.drain(at)
    }

    /// Does what a page asks for, and looks at it.
    fn drain(&mut self, at: usize) -> Result<(), String> {
        if self.mischief.no_lease
            && let Some(session) = self.pages[at].peer.as_mut().and_then(Peer::session_mut)
        {
            session.handle_lease(Tick(1 << 20));
        }
        while let Some(deed) = self.pages[at].poll_deed() {
            self.deed(at, deed)?;
        }
        let page = &self.pages[at];
        if let Some(peer) = &page.peer {
            self.oracle.watch(page.number, peer)?;
            self.watch_progress(at)?;
        }
        Ok(())
    }

    /// After the network has healed, what is played is confirmed.
    fn watch_progress(&mut self, at: usize) -> Result<(), String> {
        let page = &self.pages[at];
        let session = page.peer.as_ref().and_then(Peer::session);
        let playing = session.filter(|session| session.ended().is_none());
        let Some(session) = playing.filter(|_| self.now_us > self.scenario.heals_us) else {
            self.moved.remove(&at);
            return Ok(());
        };
        let confirmed = session.confirmed().0;
        let moved = self.moved.entry(at).or_insert((self.now_us, confirmed));
        if moved.1 != confirmed {
            *moved = (self.now_us, confirmed);
        }
        if self.now_us > moved.0 + STALL_US {
            let number = page.number;
            return Err(format!(
                "stall: page {number} has confirmed nothing beyond tick {confirmed} for {} s: {}",
                STALL_US / 1_000_000,
                self.standing()
            ));
        }
        Ok(())
    }

    fn deed(&mut self, at: usize, deed: Deed) -> Result<(), String> {
        let (now_us, person) = (self.now_us, self.pages[at].person);
        match deed {
            Deed::Dial => self.dial(at),
            Deed::HangUp => {
                if let Some(conn) = self.pages[at].conn.take() {
                    self.hang_up(conn);
                }
            }
            Deed::Send(message) => self.up(at, &message)?,
            Deed::Datagram(seat, bytes) => {
                if let Some(&channel) = self.pages[at].channels.get(&seat) {
                    self.datagram(at, channel, seat, bytes)?;
                }
            }
            Deed::Connect(seat) => {
                self.close_channel(at, seat);
                self.channels.wish(at, seat);
                self.attempt(at, seat);
            }
            Deed::Disconnect(seat) => {
                self.channels.unwish(at, seat);
                self.close_channel(at, seat);
            }
            Deed::Load(era) => {
                let takes_us = self.chance.between(20_000, 1_200_000);
                self.later(now_us + takes_us, Happening::Loaded(at, era.0));
            }
        }
        if self.pages[at].token.is_some() {
            self.tokens[person].clone_from(&self.pages[at].token);
        }
        Ok(())
    }

    // The connections to the server.

    fn dial(&mut self, at: usize) {
        let (now_us, person) = (self.now_us, self.pages[at].person);
        let burst = server::limits().messages_burst;
        let conn = self.wires.dial(now_us, at, person, burst);
        self.pages[at].conn = Some(conn);
        if let Some(wire) = self.wires.get(conn) {
            let at_us = wire.up(now_us, &mut self.weather);
            self.later(at_us, Happening::Accept(conn));
        }
    }

    fn hang_up(&mut self, conn: u64) {
        if let Some(wire) = self.wires.get(conn) {
            wire.at_page = false;
            let at_us = wire.up(self.now_us, &mut self.weather);
            self.later(at_us, Happening::Gone(conn));
        }
    }

    fn up(&mut self, at: usize, message: &ClientMessage) -> Result<(), String> {
        if let ClientMessage::Relay { bytes, .. } = message {
            self.look_at(at, bytes)?;
        }
        let page = &self.pages[at];
        let Some(conn) = page.conn else { return Ok(()) };
        self.trace.line(self.now_us, || {
            format!("page {} -> {message:?}", page.number)
        });
        let bytes = control::encode(message);
        if let Some(wire) = self.wires.get(conn) {
            let at_us = wire.up(self.now_us, &mut self.weather);
            self.later(at_us, Happening::Up(conn, bytes));
        }
        Ok(())
    }

    /// A page sends a datagram, one way or the other.
    fn look_at(&mut self, at: usize, bytes: &[u8]) -> Result<(), String> {
        let page = &mut self.pages[at];
        match (page.layout(), page.peer.as_ref()) {
            (Some(layout), Some(peer)) => self.oracle.sent(peer.plan().era, layout, bytes),
            // Before the start, datagrams only measure.
            _ => Ok(()),
        }
    }

    /// Sends what the server has to say.
    fn send_out(&mut self) -> Result<(), String> {
        while let Some(taken) = self.server.poll_taken() {
            self.trace.line(self.now_us, || format!("taken: {taken:?}"));
            self.oracle.taken(&taken);
        }
        while let Some(outgoing) = self.server.poll_outgoing() {
            match outgoing {
                Outgoing::Send(ConnId(conn), message) => self.down(conn, &message, false),
                Outgoing::Relay(ConnId(conn), message) => self.down(conn, &message, true),
                Outgoing::Close(ConnId(conn)) => self.close(conn)?,
            }
        }
        self.wires.sweep();
        Ok(())
    }

    fn down(&mut self, conn: u64, message: &ServerMessage, may_drop: bool) {
        let Some(wire) = self.wires.get(conn).filter(|wire| wire.at_server) else {
            return;
        };
        // A few hundred messages lie in the buffers of the system before the server's own queue fills.
        if may_drop && wire.down > 600 {
            return;
        }
        wire.down += 1;
        let at_us = wire.down(self.now_us, &mut self.weather);
        let page = wire.page;
        self.trace
            .line(self.now_us, || format!("server -> page {page} {message:?}"));
        self.later(at_us, Happening::Down(conn, control::encode(message)));
    }

    /// The server closes a connection.
    fn close(&mut self, conn: u64) -> Result<(), String> {
        let Some(wire) = self.wires.get(conn).filter(|wire| wire.at_server) else {
            return Ok(());
        };
        wire.at_server = false;
        let at_us = wire.down(self.now_us, &mut self.weather);
        self.later(at_us, Happening::Lost(conn));
        self.server
            .handle(self.now_us, Event::Closed(ConnId(conn)))?;
        self.send_out()
    }

    fn accept(&mut self, conn: u64) {
        let is_up = self.server.is_up();
        let Some(wire) = self.wires.get(conn) else {
            return;
        };
        wire.at_server = is_up;
        let at_us = wire.down(self.now_us, &mut self.weather);
        let news = if is_up {
            Happening::Opened(conn)
        } else {
            Happening::Lost(conn)
        };
        self.later(at_us, news);
    }

    fn message_up(&mut self, conn: u64, bytes: &[u8]) -> Result<(), String> {
        let limits = server::limits();
        let now_us = self.now_us;
        let Some(wire) = self.wires.get(conn).filter(|wire| wire.at_server) else {
            return Ok(());
        };
        if !wire.take(now_us, limits.messages_per_s, limits.messages_burst) {
            return Err("refusal: a page sends more messages than the server takes".into());
        }
        let message: ClientMessage = control::decode(bytes)
            .map_err(|error| format!("packet: a page sends what is no message: {error}"))?;
        wire.greeted = true;
        match message {
            ClientMessage::Clock { sent_us } => {
                let server_us = self.server.clock_us(now_us);
                self.down(conn, &ServerMessage::Clock { sent_us, server_us }, false);
            }
            message => {
                self.note_report(conn, &message);
                self.server
                    .handle(now_us, Event::Message(ConnId(conn), message))?;
                self.send_out()?;
            }
        }
        self.count()
    }

    /// Notes who reports, and from which tick on their person plays.
    fn note_report(&mut self, conn: u64, message: &ClientMessage) {
        let page = self.wires.get(conn).map(|wire| wire.page);
        let peer = page.and_then(|page| self.pages[page].peer.as_ref());
        if let (ClientMessage::Report { era, report }, Some(peer)) = (message, peer) {
            self.oracle.reported(*era, report, peer.plays_from());
        }
    }

    fn message_down(&mut self, conn: u64, bytes: &[u8]) -> Result<(), String> {
        let Some(wire) = self.wires.get(conn) else {
            return Ok(());
        };
        wire.down = wire.down.saturating_sub(1);
        let at = wire.page;
        if !wire.at_page || !self.pages[at].is_alive || self.pages[at].conn != Some(conn) {
            return Ok(());
        }
        let mut message: ServerMessage = control::decode(bytes)
            .map_err(|error| format!("packet: the server sends what is no message: {error}"))?;
        if let ServerMessage::Relay { bytes, .. } = &mut message {
            self.tamper(at, bytes);
        }
        let page = &mut self.pages[at];
        let plays = page
            .peer
            .as_ref()
            .map(|peer| (peer.plan().era, peer.plan().seat, peer.plan().life));
        self.oracle.told(plays, &message)?;
        if let Some(peer) = &page.peer {
            self.oracle.tells(peer, &message)?;
        }
        page.message(self.now_us, message)?;
        self.drain(at)?;
        self.count()
    }

    /// A message or datagram was delivered: somebody may have to die.
    fn count(&mut self) -> Result<(), String> {
        self.delivered += 1;
        match self.scenario.kill {
            Some((number, victim)) if number == self.delivered => self.kill(victim),
            _ => Ok(()),
        }
    }

    fn kill(&mut self, victim: Victim) -> Result<(), String> {
        self.trace.line(self.now_us, || format!("kill {victim:?}"));
        match victim {
            Victim::Person(person) => self.fault(Fault::Reload {
                person,
                farewell: false,
                away_us: 300_000,
            }),
            Victim::ForGood(person) => self.fault(Fault::Crash {
                person,
                told: true,
                away_us: None,
            }),
            Victim::Server => self.fault(Fault::Restart { away_us: 500_000 }),
        }
    }

    // The data channels.

    /// The page that has a seat of an episode, if it is connected.
    fn holder(&self, era: Era, seat: Seat) -> Option<usize> {
        let holds = |page: &&Page| {
            page.is_alive
                && page.is_welcome
                && page
                    .peer
                    .as_ref()
                    .is_some_and(|peer| peer.plan().era == era && peer.plan().seat == seat)
        };
        self.pages.iter().rev().find(holds).map(|page| page.number)
    }

    /// Begins a channel if both of its pages wish for one.
    fn attempt(&mut self, at: usize, seat: Seat) {
        let Some(peer) = &self.pages[at].peer else {
            return;
        };
        let (era, own) = (peer.plan().era, peer.plan().seat);
        let other = self.holder(era, seat);
        let wished = other.filter(|&other| self.channels.wishes(other, own));
        let takes_us = self.chance.between(60_000, 900_000);
        match wished {
            Some(other) => {
                self.close_channel(other, own);
                let channel = self.channels.begin([at, other], [own, seat]);
                self.later(self.now_us + takes_us, Happening::Channel(channel));
            }
            // Nobody answers: the attempt fails after a while, and is asked for again.
            None => self.later(
                self.now_us + 4 * takes_us,
                Happening::ChannelGone(at, seat.0),
            ),
        }
    }

    fn channel_up(&mut self, channel: u64) {
        let Some(&mut found) = self.channels.get(channel) else {
            return;
        };
        let people = found.pages.map(|page| self.pages[page].person);
        let ends = people.map(End::Person);
        let good = people
            .iter()
            .all(|&person| self.scenario.people[person].direct)
            && found
                .pages
                .iter()
                .all(|&page| self.pages[page].is_alive && self.pages[page].is_welcome)
            && self.weather.passes(self.now_us, ends[0], ends[1])
            && self.weather.passes(self.now_us, ends[1], ends[0]);
        for side in 0..2 {
            let soon_us = self.now_us + self.chance.below(150_000);
            let news = match good {
                true => Happening::ChannelOpen(channel, side),
                false => Happening::ChannelGone(found.pages[side], found.seats[1 - side].0),
            };
            self.later(soon_us, news);
        }
        if !good {
            self.channels.end(channel);
        }
    }

    fn channel_open(&mut self, channel: u64, side: usize) -> Result<(), String> {
        let Some(found) = self.channels.get(channel) else {
            return Ok(());
        };
        found.open[side] = true;
        let (at, seat) = (found.pages[side], found.seats[1 - side]);
        if !self.pages[at].is_alive {
            return Ok(());
        }
        self.pages[at].channels.insert(seat, channel);
        self.pages[at].with_peer(self.now_us, |peer, now| {
            peer.handle_channel(now, seat, true)
        });
        self.drain(at)
    }

    /// A page closes its channel to a seat; the other end learns of it.
    fn close_channel(&mut self, at: usize, seat: Seat) {
        self.pages[at].channels.remove(&seat);
        let Some(channel) = self.channels.find(at, seat) else {
            return;
        };
        let Some(ended) = self.channels.end(channel) else {
            return;
        };
        let side = ended.side(at).unwrap_or(0);
        let other = ended.pages[1 - side];
        let soon_us = self.now_us + self.chance.between(5_000, 200_000);
        self.later(soon_us, Happening::ChannelGone(other, ended.seats[side].0));
    }

    fn channel_gone(&mut self, at: usize, seat: Seat) -> Result<(), String> {
        // A newer one may be there.
        if !self.pages[at].is_alive || self.channels.find(at, seat).is_some() {
            return Ok(());
        }
        self.pages[at].channels.remove(&seat);
        self.pages[at].with_peer(self.now_us, |peer, now| {
            peer.handle_channel(now, seat, false)
        });
        self.drain(at)
    }

    fn datagram(
        &mut self,
        at: usize,
        channel: u64,
        seat: Seat,
        bytes: Vec<u8>,
    ) -> Result<(), String> {
        self.look_at(at, &bytes)?;
        let Some(found) = self.channels.get(channel) else {
            return Ok(());
        };
        let side = found.side(at).unwrap_or(0);
        let (to, from) = (found.pages[1 - side], found.seats[side]);
        debug_assert_eq!(found.seats[1 - side], seat);
        let ends = [self.pages[at].person, self.pages[to].person].map(End::Person);
        for at_us in self.weather.datagram(self.now_us, ends[0], ends[1]) {
            let bytes = bytes.clone();
            self.later(
                at_us,
                Happening::Datagram {
                    channel,
                    page: to,
                    from: from.0,
                    bytes,
                },
            );
        }
        Ok(())
    }

    fn datagram_in(
        &mut self,
        channel: u64,
        at: usize,
        from: Seat,
        mut bytes: Vec<u8>,
    ) -> Result<(), String> {
        if self.pages[at].channels.get(&from) != Some(&channel) {
            return Ok(());
        }
        self.tamper(at, &mut bytes);
        self.pages[at].with_peer(self.now_us, |peer, now| {
            peer.handle_datagram(now, from, &bytes)
        });
        let now_us = self.now_us;
        self.pages[at].set_alarm(now_us, 0);
        self.drain(at)?;
        self.count()
    }

    fn tamper(&mut self, at: usize, bytes: &mut Vec<u8>) {
        let Some(tamper) = self.mischief.datagrams else {
            return;
        };
        let Some(layout) = self.pages[at].layout() else {
            return;
        };
        // The first ones are the oldest, and a few will do.
        if self.sent.len() < 300 {
            self.sent.push(bytes.clone());
        }
        tamper(bytes, layout, &self.sent);
    }

    // What goes wrong.

    fn open(&mut self, person: usize) {
        let number = self.pages.len();
        let token = self.tokens[person].clone();
        let machine = &self.scenario.people[person];
        let page = Page::new(
            self.scenario.seed,
            number,
            (person, machine),
            token,
            self.now_us,
        );
        self.trace.line(self.now_us, || {
            format!("person {person} opens page {number}")
        });
        self.pages.push(page);
    }

    /// The newest page of a person.
    fn current(&self, person: usize) -> Option<usize> {
        let own = self.pages.iter().rev();
        let mut own = own.filter(|page| page.person == person && page.is_alive && !page.is_stopped);
        own.next().map(|page| page.number)
    }

    /// A page is gone, and with it its channels; whether the server learns of it at once.
    fn bury(&mut self, at: usize, told: bool) {
        let page = &mut self.pages[at];
        page.is_alive = false;
        page.channels.clear();
        if let Some(conn) = page.conn.take() {
            if told {
                self.hang_up(conn);
            } else if let Some(wire) = self.wires.get(conn) {
                // The server's pings find it out.
                wire.at_page = false;
                let at_us = self.now_us + self.chance.between(15_000_000, 20_000_000);
                self.later(at_us, Happening::Gone(conn));
            }
        }
        self.channels.forget(at);
        for channel in self.channels.of(at) {
            if let Some(ended) = self.channels.end(channel) {
                let side = ended.side(at).unwrap_or(0);
                // ICE finds out after some seconds that nobody is there.
                let at_us = self.now_us + self.chance.between(100_000, 6_000_000);
                self.later(
                    at_us,
                    Happening::ChannelGone(ended.pages[1 - side], ended.seats[side].0),
                );
            }
        }
    }

    fn fault(&mut self, fault: Fault) -> Result<(), String> {
        self.trace.line(self.now_us, || format!("{fault:?}"));
        let now_us = self.now_us;
        match fault {
            Fault::Reload {
                person,
                farewell,
                away_us,
            } => {
                if let Some(at) = self.current(person) {
                    if farewell {
                        self.pages[at].with_peer(now_us, |peer, now| peer.flush(now));
                        self.drain(at)?;
                        self.up(at, &ClientMessage::Unloading)?;
                    }
                    self.bury(at, true);
                    self.later(now_us + away_us, Happening::Reopen(person));
                }
            }
            Fault::Crash {
                person,
                told,
                away_us,
            } => {
                if let Some(at) = self.current(person) {
                    self.bury(at, told);
                    match away_us {
                        Some(away_us) => self.later(now_us + away_us, Happening::Reopen(person)),
                        None => self.gone[person] = true,
                    }
                }
            }
            Fault::SecondTab { person } => {
                if self.current(person).is_some() {
                    self.open(person);
                }
            }
            Fault::Freeze { person, for_us } => {
                if let Some(at) = self.current(person) {
                    let frozen_us = &mut self.pages[at].frozen_us;
                    *frozen_us = (*frozen_us).max(now_us + for_us);
                }
            }
            Fault::Hide { person, for_us } => {
                if let Some(at) = self.current(person) {
                    self.pages[at].hide(now_us, true);
                    self.drain(at)?;
                    self.later(now_us + for_us, Happening::Show(at));
                }
            }
            Fault::DropSocket { person } => {
                if let Some(conn) = self.current(person).and_then(|at| self.pages[at].conn) {
                    let soon_us = now_us + self.chance.below(300_000);
                    self.later(soon_us, Happening::Lost(conn));
                    self.hang_up(conn);
                }
            }
            Fault::DropChannels { person } => {
                if let Some(at) = self.current(person) {
                    let seats: Vec<Seat> = self.pages[at].channels.keys().copied().collect();
                    for seat in seats {
                        self.close_channel(at, seat);
                        self.later(now_us, Happening::ChannelGone(at, seat.0));
                    }
                }
            }
            Fault::Leave { person } => {
                if let Some(at) = self.current(person) {
                    self.up(at, &ClientMessage::Leave)?;
                }
            }
            Fault::Restart { away_us } => self.restart(away_us)?,
        }
        Ok(())
    }

    fn restart(&mut self, away_us: u64) -> Result<(), String> {
        if !self.server.is_up() {
            return Ok(());
        }
        self.server.crash()?;
        for conn in self.wires.accepted() {
            if let Some(wire) = self.wires.get(conn) {
                wire.at_server = false;
            }
            // A process that dies closes its sockets; a machine that dies is missed when it is back.
            let silent_us = if self.chance.one_in(2) { away_us } else { 0 };
            let at_us = self.now_us + silent_us + self.chance.between(1_000, 400_000);
            self.later(at_us, Happening::Lost(conn));
        }
        self.later(self.now_us + away_us, Happening::Start);
        Ok(())
    }

    /// Something of a frozen page waits until it thaws; whether it does.
    fn waits(&mut self, at: usize, happening: &Happening) -> bool {
        let thaws_us = self.pages[at].frozen_us;
        if thaws_us <= self.now_us || !self.pages[at].is_alive {
            return false;
        }
        self.pages[at].waiting += 1;
        let is_lost =
            matches!(happening, Happening::Datagram { .. }) && self.pages[at].waiting > WAITING;
        if !is_lost {
            self.later(thaws_us, happening.clone());
        }
        true
    }

    /// The page that something happens to.
    fn whose(&mut self, happening: &Happening) -> Option<usize> {
        match happening {
            Happening::Opened(conn) | Happening::Down(conn, _) | Happening::Lost(conn) => {
                self.has(*conn)
            }
            Happening::ChannelOpen(channel, side) => self
                .channels
                .get(*channel)
                .map(|channel| channel.pages[*side]),
            Happening::ChannelGone(page, _)
            | Happening::Datagram { page, .. }
            | Happening::Loaded(page, _)
            | Happening::Show(page) => Some(*page),
            _ => None,
        }
    }

    fn happen(&mut self, happening: Happening) -> Result<(), String> {
        if let Some(at) = self.whose(&happening)
            && self.waits(at, &happening)
        {
            return Ok(());
        }
        match happening {
            Happening::Arrive(person) => self.open(person),
            Happening::Reopen(person) => self.open(person),
            Happening::Fault(number) => self.fault(self.scenario.faults[number].1)?,
            Happening::Show(at) => {
                if self.pages[at].is_alive {
                    self.pages[at].hide(self.now_us, false);
                    self.drain(at)?;
                }
            }
            Happening::Start => {
                self.trace
                    .line(self.now_us, || "the server starts again".into());
                self.server.start(self.now_us)?;
                self.oracle.restarted(&self.server.disk)?;
                self.send_out()?;
            }
            Happening::Accept(conn) => self.accept(conn),
            Happening::Opened(conn) => self.opened(conn)?,
            Happening::Up(conn, bytes) => self.message_up(conn, &bytes)?,
            Happening::Down(conn, bytes) => self.message_down(conn, &bytes)?,
            Happening::Gone(conn) => self.gone(conn)?,
            Happening::Lost(conn) => self.lost(conn)?,
            Happening::Channel(channel) => self.channel_up(channel),
            Happening::ChannelOpen(channel, side) => self.channel_open(channel, side)?,
            Happening::ChannelGone(at, seat) => self.channel_gone(at, Seat(seat))?,
            Happening::Datagram {
                channel,
                page,
                from,
                bytes,
            } => {
                self.datagram_in(channel, page, Seat(from), bytes)?;
            }
            Happening::Loaded(at, era) => self.loaded(at, Era(era))?,
        }
        Ok(())
    }

    fn opened(&mut self, conn: u64) -> Result<(), String> {
        let Some(wire) = self.wires.get(conn).filter(|wire| wire.at_page) else {
            return Ok(());
        };
        let at = wire.page;
        if self.pages[at].is_alive && self.pages[at].conn == Some(conn) {
            self.pages[at].opened();
            self.drain(at)?;
        }
        Ok(())
    }

    /// The server learns that a connection is gone.
    fn gone(&mut self, conn: u64) -> Result<(), String> {
        let Some(wire) = self.wires.get(conn) else {
            return Ok(());
        };
        wire.at_page = false;
        if std::mem::take(&mut wire.at_server) {
            self.server
                .handle(self.now_us, Event::Closed(ConnId(conn)))?;
            self.send_out()?;
        }
        self.wires.sweep();
        Ok(())
    }

    /// A page learns that its connection is gone.
    fn lost(&mut self, conn: u64) -> Result<(), String> {
        if let Some(wire) = self.wires.get(conn) {
            wire.at_page = false;
        }
        if let Some(at) = self.has(conn) {
            self.trace
                .line(self.now_us, || format!("page {at} loses its connection"));
            self.pages[at].lost(self.now_us);
            self.drain(at)?;
        }
        self.wires.sweep();
        Ok(())
    }

    /// The page that has a connection, as far as it knows.
    fn has(&self, conn: u64) -> Option<usize> {
        let has = |page: &&Page| page.is_alive && page.conn == Some(conn);
        self.pages.iter().find(has).map(|page| page.number)
    }

    fn loaded(&mut self, at: usize, era: Era) -> Result<(), String> {
        let page = &mut self.pages[at];
        let plan = page
            .peer
            .as_ref()
            .map(Peer::plan)
            .filter(|plan| plan.era == era);
        if let Some(plan) = plan.filter(|_| page.is_alive) {
            let world = Native::open(plan)?;
            page.with_peer(self.now_us, |peer, now| peer.handle_world(now, world));
            page.set_alarm(self.now_us, 0);
            self.drain(at)?;
        }
        Ok(())
    }
}
