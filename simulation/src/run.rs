//! A run: all pages, the server and the network on one virtual clock, in one thread.

mod direct;
mod faults;
mod sockets;
mod watch;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use peer::Peer;
use protocol::{Era, Seat, Tick};

use crate::agent;
use crate::chance::Chance;
use crate::channels::Channels;
use crate::native::Native;
use crate::oracle::{Figures, Oracle};
use crate::page::{Deed, Page};
use crate::promise::LOADS_WITHIN_US;
use crate::scenario::Scenario;
use crate::server::{Sabotage, Server};
use crate::trace::Trace;
use crate::weather::Weather;
use crate::wire::Wires;

/// How much waits for a frozen page before datagrams are lost.
const WAITING: usize = 300;

/// An hour, microseconds.
const HOUR_US: u64 = 3_600_000_000;

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
    /// The first of what waited for a frozen page happens.
    Thaw(usize),
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

/// Rewrites a datagram, given its layout, the seat of the page that gets it, and datagrams sent before.
pub type Tamper = fn(&mut Vec<u8>, protocol::datagram::Layout, Seat, &[Vec<u8>]);

/// A run.
pub struct Run {
    scenario: Scenario,
    mischief: Mischief,
    now_us: u64,
    queue: BinaryHeap<Reverse<(u64, u64, Happening)>>,
    /// What waits for each frozen page, in order.
    backlogs: BTreeMap<usize, VecDeque<Happening>>,
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
            backlogs: BTreeMap::new(),
            number: 0,
            chance: Chance::new(seed, "run"),
            weather,
            pages: Vec::new(),
            tokens: vec![None; people],
            gone: vec![false; people],
            wires: Wires::default(),
            channels: Channels::default(),
            oracle: Oracle::new(scenario.lost_within_us()),
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
        let ends_us = self.scenario.calm_us() + self.scenario.ends_within_us();
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
            if self.now_us > ends_us {
                return Err(format!("liveness: {}", self.standing()));
            }
            let seen = self.step();
            look(self.now_us, &mut self.pages, seen)?;
        }
        let late_us = self.now_us.saturating_sub(self.scenario.calm_us());
        self.oracle.figures.late_us = late_us;
        let took_us = self.now_us;
        self.settle()?;
        self.oracle.judge(&self.server.disk)?;
        Ok(Report {
            figures: self.oracle.figures,
            delivered: self.delivered,
            took_us,
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
        // Turns that nobody takes any more last until their session expires.
        let lasts_us = if self.scenario.terms.turns {
            2 * HOUR_US
        } else {
            100_000_000
        };
        let until_us = self.now_us + lasts_us;
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
        while let Some(((era, layout, changes), bytes)) = self.pages[at].poll_said() {
            self.oracle.sent(era, layout, changes, &bytes)?;
        }
        while let Some(deed) = self.pages[at].poll_deed() {
            self.deed(at, deed)?;
        }
        let page = &mut self.pages[at];
        if let Some(peer) = &mut page.peer {
            self.oracle.watch(page.number, peer)?;
            self.watch_progress(at)?;
            self.watch_pace(at)?;
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
                let takes_us = self.chance.between(20_000, LOADS_WITHIN_US);
                self.later(now_us + takes_us, Happening::Loaded(at, era.0));
            }
        }
        if self.pages[at].token.is_some() {
            self.tokens[person].clone_from(&self.pages[at].token);
        }
        Ok(())
    }

    fn happen(&mut self, happening: Happening) -> Result<(), String> {
        if let Some(at) = self.whose(&happening)
            && self.waits(at, &happening)
        {
            return Ok(());
        }
        self.carry_out(happening)
    }

    fn carry_out(&mut self, happening: Happening) -> Result<(), String> {
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
            Happening::Thaw(at) => self.thaw(at)?,
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

    fn loaded(&mut self, at: usize, era: Era) -> Result<(), String> {
        let page = &mut self.pages[at];
        let plan = page
            .peer
            .as_ref()
            .map(Peer::plan)
            .filter(|plan| plan.era == era);
        if let Some(plan) = plan.filter(|_| page.is_alive) {
            let world = Native::open(plan)?;
            page.with_peer(self.now_us, |peer, now| {
                peer.handle_partners(agent::partners());
                peer.handle_world(now, world);
            });
            page.set_alarm(self.now_us);
            self.drain(at)?;
        }
        Ok(())
    }
}
