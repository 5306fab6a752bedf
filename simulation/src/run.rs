//! A run: all pages, the server and the network on one virtual clock, in one thread.

mod direct;
mod faults;
mod sockets;
mod watch;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use client_core::{PageEffect, Peer};
use protocol::{Era, Seat};

use crate::bounds::LOADS_WITHIN_US;
use crate::channels::Channels;
use crate::fault_injection::FaultInjection;
use crate::lie::Liar;
use crate::native::Native;
use crate::network_conditions::NetworkConditions;
use crate::oracle::{Figures, Oracle};
use crate::rng::SeededRng;
use crate::scenario::Scenario;
use crate::server::SimulatedServer;
use crate::tab::Tab;
use crate::trace::Trace;
use crate::wire::Wires;

/// The number of waiting messages of a frozen page before datagrams are lost.
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

/// A run.
pub struct Run {
    scenario: Scenario,
    injected: FaultInjection,
    now_us: u64,
    queue: BinaryHeap<Reverse<(u64, u64, Happening)>>,
    /// The happenings that wait for each frozen page, in order.
    backlogs: BTreeMap<usize, VecDeque<Happening>>,
    number: u64,
    rng: SeededRng,
    network: NetworkConditions,
    server: SimulatedServer,
    pages: Vec<Tab>,
    /// The token that each person's browser remembers.
    tokens: Vec<Option<String>>,
    /// True if a person is gone permanently.
    gone: Vec<bool>,
    wires: Wires,
    channels: Channels,
    oracle: Oracle,
    /// The number of messages and datagrams that have been delivered so far.
    delivered: u64,
    /// The time at which each page's confirmed ticks last grew, and their number.
    moved: BTreeMap<usize, (u64, u32)>,
    /// Datagrams that were sent over data channels and through the server, for leaks.
    sent: Vec<Vec<u8>>,
    /// The trace.
    pub trace: Trace,
}

/// The result of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunReport {
    /// Figures.
    pub figures: Figures,
    /// Messages and datagrams delivered.
    pub delivered: u64,
    /// Virtual time, microseconds.
    pub took_us: u64,
}

impl Run {
    /// A run that has not begun.
    pub fn new(scenario: Scenario, injected: FaultInjection, trace: Trace) -> Self {
        let (study, stages) = scenario.terms.load();
        let Scenario { seed, .. } = scenario;
        let people = scenario.people.len();
        let network = NetworkConditions::new(
            seed,
            scenario.ways.clone(),
            scenario.partitions.clone(),
            scenario.heals_us,
        );
        Self {
            server: SimulatedServer::new(seed, study, stages, injected),
            injected,
            now_us: 0,
            queue: BinaryHeap::new(),
            backlogs: BTreeMap::new(),
            number: 0,
            rng: SeededRng::new(seed, "run"),
            network,
            pages: Vec::new(),
            tokens: vec![None; people],
            gone: vec![false; people],
            wires: Wires::default(),
            channels: Channels::default(),
            oracle: Oracle::new(scenario.liar.is_some()),
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
    /// The finding of an oracle.
    pub fn run(&mut self) -> Result<RunReport, String> {
        self.run_watched(|_, _, seen| seen)
    }

    /// Does the same as [`Self::run`] with an observer who may also change the pages: `look` is called after every step
    /// with the time, microseconds, and with an oracle's finding, and says whether that matters.
    ///
    /// # Errors
    /// The finding of an oracle.
    pub fn run_watched(
        &mut self,
        mut look: impl FnMut(u64, &mut [Tab], Result<(), String>) -> Result<(), String>,
    ) -> Result<RunReport, String> {
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
        self.oracle.judge(&self.server.storage().disk)?;
        self.oracle.judge_typing(&self.server.storage().database)?;
        self.judge_blame()?;
        Ok(RunReport {
            figures: self.oracle.figures,
            delivered: self.delivered,
            took_us,
        })
    }

    /// True if everybody who is still there sees the end of the study.
    fn is_over(&self) -> bool {
        let arrived = self.now_us >= 2_000_000;
        arrived
            && self.server.is_up()
            && (0..self.gone.len()).all(|person| self.gone[person] || self.is_done(person))
    }

    fn is_done(&self, person: usize) -> bool {
        let mut own = self.pages.iter();
        own.any(|page| page.person == person && page.is_alive && page.page.is_at_end())
    }

    /// Lets the archive finish the work for which nobody waits any more.
    fn settle(&mut self) -> Result<(), String> {
        // Turns that nobody takes any more last until their session expires.
        let lasts_us = if self.scenario.terms.alone {
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

    /// Describes everybody's state, for a run that does not end.
    fn standing(&mut self) -> String {
        let now_us = self.now_us;
        let mut text = String::from("no end long after the network has healed:");
        for page in self.pages.iter_mut().filter(|page| page.is_alive) {
            let now = page.now(now_us);
            let status = page.peer().map(|peer| {
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
                "\n  page {} of person {}: stage {:?}, stopped {}, welcome {}, {status:?}",
                page.number,
                page.person,
                page.page.stage().map(|stage| (stage.index, &stage.id)),
                page.page.is_stopped(),
                page.page.is_welcomed()
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

    /// The time at which a page acts by itself.
    fn page_us(&self, at: usize) -> u64 {
        let timeout = self.pages[at].poll_timeout();
        timeout.map_or(u64::MAX, |(due_us, _)| due_us)
    }

    fn wake(&mut self, at: usize) -> Result<(), String> {
        let now_us = self.now_us;
        if let Some(shown) = self.pages[at].handle_timeout(now_us) {
            self.oracle.record_shown(shown);
        }
        self.drain(at)
    }

    /// Does what a page asks for, and checks it.
    fn drain(&mut self, at: usize) -> Result<(), String> {
        if self.injected.settles_early
            && let Some(session) = self.pages[at].peer_mut().and_then(Peer::session_mut)
        {
            let confirmed = session.confirmed();
            session.handle_durable(confirmed, confirmed);
        }
        while let Some((sender, bytes)) = self.pages[at].poll_sent() {
            self.oracle.check_sent(&sender, &bytes)?;
        }
        while let Some(effect) = self.pages[at].poll_effect() {
            self.perform(at, effect)?;
        }
        if let Some(problem) = self.pages[at].poll_problem() {
            return Err(problem);
        }
        let (number, person) = (self.pages[at].number, self.pages[at].person);
        if let Some(peer) = self.pages[at].peer_mut() {
            if self.scenario.liar.is_some_and(|liar| liar.person == person) {
                return Ok(());
            }
            self.oracle.watch_peer(number, peer)?;
            if self.scenario.liar.is_none() {
                self.watch_progress(at)?;
            }
            self.watch_pace(at)?;
        }
        Ok(())
    }

    /// The lies of a page, if it is the dishonest one.
    fn liar_of(&self, at: usize) -> Option<Liar> {
        let liar = self.scenario.liar;
        liar.filter(|liar| liar.person == self.pages[at].person)
    }

    /// Changes a packet for another page, if the page is the dishonest one.
    fn lie(&mut self, at: usize, bytes: &mut Vec<u8>) {
        let (liar, layout) = (self.liar_of(at), self.pages[at].layout());
        let page = &self.pages[at];
        if let (Some(liar), Some(layout), Some(peer)) = (liar, layout, page.peer()) {
            liar.change_packet(bytes, layout, &peer.plan().episode, &page.key);
        }
    }

    /// Checks that every honest person is paid, and that none is named in a log for the acts of a dishonest page.
    fn judge_blame(&self) -> Result<(), String> {
        let storage = self.server.storage();
        let Some(liar) = self.scenario.liar else {
            // Pages may fail by the faults of the run.
            return storage.database.judge_pay(None, true);
        };
        let token = self.tokens[liar.person].as_deref();
        let liar = token.and_then(|token| storage.database.find_participant(token));
        self.oracle.judge_blame(&storage.disk, liar)?;
        storage.database.judge_pay(liar, false)
    }

    /// Does what a page asks for.
    fn perform(&mut self, at: usize, effect: PageEffect) -> Result<(), String> {
        let (now_us, person) = (self.now_us, self.pages[at].person);
        match effect {
            PageEffect::OpenSocket(_) => self.dial(at),
            PageEffect::CloseSocket => {
                if let Some(conn) = self.pages[at].conn.take() {
                    self.hang_up(conn);
                }
            }
            PageEffect::Send(message) => self.send_up(at, &message)?,
            PageEffect::Datagram { to, bytes } => {
                if let Some(&channel) = self.pages[at].channels.get(&to) {
                    self.send_datagram(at, channel, to, bytes)?;
                }
            }
            PageEffect::OpenChannel { seat } => {
                self.close_channel(at, seat);
                self.channels.add_wish(at, seat);
                self.attempt_channel(at, seat);
            }
            PageEffect::CloseChannel { seat } => {
                self.channels.remove_wish(at, seat);
                self.close_channel(at, seat);
            }
            // Channels come up by themselves here.
            PageEffect::Signal { .. } => {}
            PageEffect::LoadWorld(era) => {
                let takes_us = self.rng.draw_between(20_000, LOADS_WITHIN_US);
                self.later(now_us + takes_us, Happening::Loaded(at, era.0));
            }
            PageEffect::RememberSession(session) => self.tokens[person] = session,
        }
        Ok(())
    }

    fn happen(&mut self, happening: Happening) -> Result<(), String> {
        if let Some(at) = self.tab_that_meets(&happening)
            && self.must_wait(at, &happening)
        {
            return Ok(());
        }
        self.carry_out(happening)
    }

    fn carry_out(&mut self, happening: Happening) -> Result<(), String> {
        match happening {
            Happening::Arrive(person) => self.open(person),
            Happening::Reopen(person) => self.open(person),
            Happening::Fault(number) => self.inject_fault(self.scenario.faults[number].1)?,
            Happening::Show(at) => {
                if self.pages[at].is_alive {
                    self.pages[at].handle_hidden(self.now_us, false);
                    self.drain(at)?;
                }
            }
            Happening::Thaw(at) => self.thaw_tab(at)?,
            Happening::Start => {
                self.trace
                    .line(self.now_us, || "the server starts again".into());
                self.server.start(self.now_us)?;
                self.oracle.check_restart(&self.server.storage().disk)?;
                self.send_out()?;
            }
            Happening::Accept(conn) => self.accept_socket(conn),
            Happening::Opened(conn) => self.handle_opened(conn)?,
            Happening::Up(conn, bytes) => self.message_up(conn, &bytes)?,
            Happening::Down(conn, bytes) => self.message_down(conn, &bytes)?,
            Happening::Gone(conn) => self.handle_gone(conn)?,
            Happening::Lost(conn) => self.handle_lost(conn)?,
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
        let plan = page.peer().map(Peer::plan).filter(|plan| plan.era == era);
        if let Some(plan) = plan.filter(|_| page.is_alive) {
            let world = Native::open(plan)?;
            page.handle_world(self.now_us, era, world);
            self.drain(at)?;
        }
        Ok(())
    }
}
