//! Pages, wires and a server, on one clock.
#![allow(dead_code, reason = "every test uses a part of it")]

pub(crate) mod server;
pub(crate) mod toy;

use std::collections::{BTreeMap, BTreeSet};

use env_core::Instance;
use peer::{Effect, Now, Peer, Status};
use protocol::control::{ClientMessage, ServerMessage};
use protocol::{Controller, Seat};

use server::Server;
use toy::{ACTIONS, Toy, mix};

/// One way over a data channel, and between a page and the server, microseconds.
pub(crate) const DIRECT_US: u64 = 60_000;
pub(crate) const SERVER_US: u64 = 20_000;
/// From the wish for a data channel to its opening, microseconds.
pub(crate) const OPENS_US: u64 = 300_000;
/// The server's clock when a test begins: the part of it in a datagram, sixteen bits of milliseconds, is some seconds
/// ahead of a page's own clock.
const EPOCH_US: u64 = 1_699_999_980_376_000;

pub(crate) type Page = Peer<Instance<Toy>>;

enum Flight {
    ToServer(Seat, ClientMessage),
    ToPage(Seat, ServerMessage),
    Datagram {
        from: Seat,
        to: Seat,
        bytes: Vec<u8>,
    },
    /// A data channel between two seats opens.
    Opens(Seat, Seat),
}

pub(crate) struct Tab {
    pub(crate) page: Page,
    pub(crate) is_connected: bool,
    /// A page that is not called any more.
    pub(crate) is_gone: bool,
    /// A page that the machine does not run until then: what comes meanwhile waits for it.
    pub(crate) asleep_until_us: u64,
    pub(crate) is_hidden: bool,
    skew_us: u64,
    acts_us: u64,
    acted: u64,
    /// The longest time without a new tick, while ticks were due, microseconds; and when the last one came.
    pub(crate) stall_us: u64,
    stepped: (u32, u64),
}

pub(crate) struct Rig {
    pub(crate) now_us: u64,
    pub(crate) server: Server,
    pub(crate) tabs: Vec<Option<Tab>>,
    flights: Vec<(u64, Flight)>,
    /// Open data channels, lower seat first.
    pub(crate) open: BTreeSet<(Seat, Seat)>,
    /// Directions in which open data channels bring nothing.
    pub(crate) dead: BTreeSet<(Seat, Seat)>,
    /// Directions in which every so many-th datagram is lost, and how many there were.
    pub(crate) lossy: BTreeMap<(Seat, Seat), (u32, u32)>,
    /// True if wished data channels open, and then carry.
    pub(crate) channels_open: bool,
    /// Wishes for data channels: time, sender, receiver.
    pub(crate) connects: Vec<(u64, Seat, Seat)>,
}

impl Rig {
    pub(crate) fn new(controllers: &[Controller], horizon: u32) -> Self {
        let mut rig = Self {
            now_us: EPOCH_US,
            server: Server::new(controllers.to_vec(), horizon),
            tabs: controllers.iter().map(|_| None).collect(),
            flights: Vec::new(),
            open: BTreeSet::new(),
            dead: BTreeSet::new(),
            lossy: BTreeMap::new(),
            channels_open: true,
            connects: Vec::new(),
        };
        for seat in rig.server.people() {
            rig.enter(seat, false);
        }
        rig
    }

    /// Two people.
    pub(crate) fn two(horizon: u32) -> Self {
        Self::new(&[Controller::Human, Controller::Human], horizon)
    }

    /// Two people whose pages count how many packets are lost.
    pub(crate) fn counting(horizon: u32) -> Self {
        let mut rig = Self::two(horizon);
        rig.flights.clear();
        rig.server.measures_loss = true;
        rig.enter(Seat(0), false);
        rig.enter(Seat(1), false);
        rig
    }

    /// A new page for a seat, with its world.
    pub(crate) fn enter(&mut self, seat: Seat, running: bool) {
        let before = self.tabs[seat.index()].take();
        let skew_us = 77_000 + 1_000_003 * u64::from(seat.0);
        let plan = self.server.plan(seat, running);
        let now = self.moment(skew_us);
        let mut page = Peer::new(plan, server::key(seat), now);
        let world = toy::world(self.server.seats() as u8, self.server.horizon);
        page.handle_world(now, world);
        self.tabs[seat.index()] = Some(Tab {
            page,
            is_connected: true,
            is_gone: false,
            asleep_until_us: 0,
            is_hidden: before.is_some_and(|tab| tab.is_hidden),
            skew_us,
            acts_us: self.now_us,
            acted: u64::from(seat.0) << 32,
            stall_us: 0,
            stepped: (0, self.now_us),
        });
        self.with(seat, |_, _| ());
    }

    fn moment(&self, skew_us: u64) -> Now {
        Now {
            page_us: self.now_us - EPOCH_US + skew_us,
            server_us: self.now_us,
            is_set: true,
        }
    }

    pub(crate) fn tab(&mut self, seat: u8) -> &mut Tab {
        self.tabs[usize::from(seat)]
            .as_mut()
            .expect("the seat has a page")
    }

    pub(crate) fn now(&self, seat: u8) -> Now {
        let tab = self.tabs[usize::from(seat)]
            .as_ref()
            .expect("the seat has a page");
        self.moment(tab.skew_us)
    }

    pub(crate) fn status(&mut self, seat: u8) -> Status {
        let now = self.now(seat);
        self.tab(seat).page.status(now)
    }

    pub(crate) fn current(&mut self, seat: u8) -> u32 {
        self.tab(seat)
            .page
            .session()
            .map_or(0, |session| session.current().0)
    }

    /// Calls a page, and does what it asks for.
    pub(crate) fn with(&mut self, seat: Seat, call: impl FnOnce(&mut Page, Now)) {
        let now_us = self.now_us;
        let Some(tab) = self.tabs[seat.index()].as_mut().filter(|tab| !tab.is_gone) else {
            return;
        };
        let now = Now {
            page_us: now_us - EPOCH_US + tab.skew_us,
            server_us: now_us,
            is_set: true,
        };
        call(&mut tab.page, now);
        while let Some(effect) = tab.page.poll_effect() {
            match effect {
                Effect::Send(message) => {
                    assert!(tab.is_connected, "nothing is sent where nobody hears");
                    let flight = Flight::ToServer(seat, message);
                    self.flights.push((now_us + SERVER_US, flight));
                }
                Effect::Datagram { to, bytes } => {
                    let from = seat;
                    let lost = self.lossy.get_mut(&(from, to)).is_some_and(|(each, sent)| {
                        *sent += 1;
                        sent.is_multiple_of(*each)
                    });
                    if !lost
                        && self.open.contains(&pair(from, to))
                        && !self.dead.contains(&(from, to))
                    {
                        let flight = Flight::Datagram { from, to, bytes };
                        self.flights.push((now_us + DIRECT_US, flight));
                    }
                }
                Effect::Connect { seat: other } => {
                    self.connects.push((now_us, seat, other));
                    let (low, high) = pair(seat, other);
                    self.flights
                        .push((now_us + OPENS_US, Flight::Opens(low, high)));
                }
                Effect::Disconnect { seat: other } => {
                    self.open.remove(&pair(seat, other));
                }
            }
        }
    }

    pub(crate) fn run_ms(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now_us += 1_000;
            self.wake_sleepers();
            self.arrive();
            for seat in (0..self.tabs.len() as u8).map(Seat) {
                self.wake(seat);
            }
            for (to, message) in std::mem::take(&mut self.server.outbox) {
                self.flights
                    .push((self.now_us + SERVER_US, Flight::ToPage(to, message)));
            }
        }
    }

    pub(crate) fn run_s(&mut self, s: u64) {
        self.run_ms(1_000 * s);
    }

    /// The machine does not run a page for this long.
    pub(crate) fn put_to_sleep(&mut self, seat: u8, ms: u64) {
        let until_us = self.now_us + 1_000 * ms;
        self.tab(seat).asleep_until_us = until_us;
    }

    fn is_asleep(&self, seat: Seat) -> bool {
        let tab = self.tabs[seat.index()].as_ref();
        tab.is_some_and(|tab| tab.asleep_until_us > self.now_us)
    }

    /// The first thing that a page hears after a sleep is its own clock: that beat has waited longest.
    fn wake_sleepers(&mut self) {
        for seat in (0..self.tabs.len() as u8).map(Seat) {
            let tab = self.tabs[seat.index()].as_ref();
            if tab.is_some_and(|tab| tab.asleep_until_us == self.now_us) {
                self.with(seat, |page, now| page.handle_timeout(now));
            }
        }
    }

    fn arrive(&mut self) {
        let now_us = self.now_us;
        let flying = std::mem::take(&mut self.flights);
        let (due, later): (Vec<_>, Vec<_>) = flying.into_iter().partition(|(at, flight)| {
            let waits = match flight {
                Flight::ToPage(to, _) | Flight::Datagram { to, .. } => self.is_asleep(*to),
                Flight::ToServer(..) | Flight::Opens(..) => false,
            };
            *at <= now_us && !waits
        });
        self.flights = later;
        for (_, flight) in due {
            match flight {
                Flight::ToServer(from, message) => self.server.hear(now_us, from, message),
                Flight::ToPage(to, message) => {
                    let tab = self.tabs[to.index()].as_ref();
                    if tab.is_some_and(|tab| tab.is_connected) {
                        self.with(to, |page, now| page.handle_message(now, message));
                    }
                }
                Flight::Datagram { from, to, bytes } => {
                    self.with(to, |page, now| page.handle_datagram(now, from, &bytes));
                }
                Flight::Opens(a, b) => self.open_channel(a, b),
            }
        }
    }

    fn open_channel(&mut self, a: Seat, b: Seat) {
        let there = |rig: &Self, seat: Seat| {
            let tab = rig.tabs[seat.index()].as_ref();
            tab.is_some_and(|tab| !tab.is_gone)
        };
        if !self.channels_open || !there(self, a) || !there(self, b) {
            return;
        }
        let is_dead = self.dead.contains(&(a, b)) || self.dead.contains(&(b, a));
        if !self.open.insert((a, b)) && !is_dead {
            // Both wished for it.
            return;
        }
        self.dead.remove(&(a, b));
        self.dead.remove(&(b, a));
        self.with(a, |page, now| page.handle_channel(now, b, true));
        self.with(b, |page, now| page.handle_channel(now, a, true));
    }

    fn wake(&mut self, seat: Seat) {
        let now_us = self.now_us;
        if self.is_asleep(seat) {
            return;
        }
        let Some(tab) = self.tabs[seat.index()].as_mut().filter(|tab| !tab.is_gone) else {
            return;
        };
        let page_us = now_us - EPOCH_US + tab.skew_us;
        let now = Now {
            page_us,
            server_us: now_us,
            is_set: true,
        };
        if tab.acts_us <= now_us {
            tab.acted += 1;
            tab.acts_us = now_us + 40_000 + mix(tab.acted) % 200_000;
            let action = (mix(tab.acted ^ 5) % ACTIONS) as u16;
            self.with(seat, |page, now| page.handle_action(now, action));
        } else if tab.page.poll_timeout(now).0 <= page_us {
            self.with(seat, |page, now| page.handle_timeout(now));
        }
        let started = self.server.t0_us.is_some_and(|t0_us| now_us >= t0_us);
        let tab = self.tabs[seat.index()]
            .as_mut()
            .expect("the seat has a page");
        let session = tab.page.session();
        let ticks = session.map_or(0, |session| session.current().0);
        let ended = session.is_none_or(|session| session.ended().is_some());
        if tab.stepped.0 != ticks || !started || ended {
            tab.stepped = (ticks, now_us);
        }
        tab.stall_us = tab.stall_us.max(now_us - tab.stepped.1);
    }

    /// Closes or opens the connection of a page to the server, with the messages that the server then sends.
    pub(crate) fn connect(&mut self, seat: u8, open: bool) {
        let seat = Seat(seat);
        self.tabs[seat.index()]
            .as_mut()
            .expect("the seat has a page")
            .is_connected = open;
        self.with(seat, |page, now| page.handle_connection(now, open));
        if open {
            let (era, through) = (protocol::Era(7), self.server.through());
            let changes = self.server.changes.clone();
            let own = self.server.own(seat);
            self.server.tell(
                seat,
                ServerMessage::Running {
                    era,
                    through,
                    own,
                    changes,
                },
            );
        }
    }

    /// The page of a seat is not there any more.
    pub(crate) fn vanish(&mut self, seat: u8) {
        let tab = self.tab(seat);
        (tab.is_gone, tab.is_connected) = (true, false);
        self.open.retain(|&(a, b)| a.0 != seat && b.0 != seat);
    }

    /// The messages of a kind that the server heard.
    pub(crate) fn heard<T>(&self, of: impl Fn(&ClientMessage) -> Option<T>) -> Vec<(u64, Seat, T)> {
        let all = self.server.heard.iter();
        all.filter_map(|(at, seat, message)| Some((*at, *seat, of(message)?)))
            .collect()
    }
}

fn pair(a: Seat, b: Seat) -> (Seat, Seat) {
    (a.min(b), a.max(b))
}
