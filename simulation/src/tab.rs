//! A browser tab: its clock, its connection and its channels around a participant's page, and the person in front of it.
//!
//! The page itself is [`client_core::Page`], the one that people's browsers run. This module must not know what a page
//! does when: it is a shell, like the browser's.

mod person;
mod sharing;

use std::collections::{BTreeMap, VecDeque};

use client_core::{
    Credentials, Now, Page, PageEffect, PageEvent, Peer, SocketId, StopReason, World as _,
};
use protocol::chain::SigningKey;
use protocol::control::{ClientMessage, ServerMessage};
use protocol::datagram::DatagramLayout;
use protocol::hash::sha256;
use protocol::{Era, Life, Seat};

use crate::agent;
use crate::native::Native;
use crate::rng::SeededRng;
use crate::scenario::Person;
use person::Reader;
use sharing::Sharing;

pub use person::{ITEM, words};

/// A session as datagrams show it: its episode, how they are laid out, and how many changes it knows.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    /// The episode.
    pub era: Era,
    /// The layout of its datagrams.
    pub layout: DatagramLayout,
    /// How many changes of seats the session knows.
    pub changes: u16,
}

impl Sender {
    fn of(peer: &mut Peer<Native>) -> Option<Self> {
        let era = peer.plan().era;
        let session = peer.session_mut()?;
        let changes = session.changes();
        let spec = session.world().spec();
        let layout = DatagramLayout {
            seats: spec.seats,
            actions: spec.actions.len() as u16,
        };
        Some(Self {
            era,
            layout,
            changes,
        })
    }
}

/// A frame that was on the screen.
#[derive(Clone, Copy, Debug)]
pub struct ShownFrame {
    /// The episode.
    pub era: Era,
    /// The seat of the page.
    pub seat: Seat,
    /// The life of the seat.
    pub life: Life,
    /// The time, milliseconds since tick 0 was due.
    pub at_ms: u32,
    /// Digest of the state.
    pub digest: u64,
}

/// A tab.
pub struct Tab {
    /// Its number in the run.
    pub number: usize,
    /// The number of its person.
    pub person: usize,
    /// True until the tab is closed.
    pub is_alive: bool,
    /// The time until which it does nothing, microseconds.
    pub frozen_us: u64,
    /// True while it is out of sight.
    pub is_hidden: bool,
    /// The connection that it has, or begins.
    pub conn: Option<u64>,
    /// The page.
    pub page: Page<Native>,
    /// The key with which the page signs.
    pub key: SigningKey,
    /// The open data channels, by seat.
    pub channels: BTreeMap<Seat, u64>,
    /// The time at which the page wants to run next, microseconds of the run.
    wakes_us: u64,
    /// The time at which its person acts in the episode next, microseconds of the run.
    acts_us: u64,
    /// The time at which it draws next, microseconds of the run.
    draws_us: u64,
    socket: SocketId,
    reader: Reader,
    sharing: Sharing,
    /// Digests of the viewed and of the drawn state, each with its life.
    viewed: Option<(Era, Life, u64)>,
    drawn: Option<(Era, Life, u64)>,
    clock_us: u64,
    drift_ppm: i64,
    tick_us: u64,
    /// The time until which the machine is busy with ticks.
    busy_us: u64,
    pauses_us: u64,
    frame_us: Option<u64>,
    rng: SeededRng,
    effects: VecDeque<PageEffect>,
    sender: Option<Sender>,
    sent: VecDeque<(Sender, Vec<u8>)>,
    problem: Option<String>,
}

impl Tab {
    /// A tab that opens now, with the session that the browser remembers.
    pub fn new(
        seed: u64,
        number: usize,
        person: usize,
        machine: &Person,
        session: Option<String>,
        now_us: u64,
    ) -> Self {
        let mut rng = SeededRng::new(seed, &format!("page {number}"));
        let acts_us = now_us + rng.draw_below(machine.acts_us);
        // A new page counts from its own opening.
        let clock_us = machine.clock_us + rng.draw_below(1_000_000_000);
        let credentials = Credentials {
            session,
            ..Credentials::default()
        };
        let secret = sha256(&rng.draw_bits().to_le_bytes());
        let mut tab = Self {
            number,
            person,
            is_alive: true,
            frozen_us: 0,
            is_hidden: false,
            conn: None,
            page: Page::new(0, credentials, secret),
            key: SigningKey::from_bytes(&secret),
            channels: BTreeMap::new(),
            wakes_us: now_us,
            acts_us,
            draws_us: now_us,
            socket: SocketId(0),
            reader: Reader::new(
                person,
                number,
                SeededRng::new(seed, &format!("reader {number}")),
            ),
            sharing: Sharing::default(),
            viewed: None,
            drawn: None,
            clock_us,
            drift_ppm: machine.drift_ppm,
            tick_us: machine.tick_us,
            busy_us: 0,
            pauses_us: machine.acts_us,
            frame_us: machine.frame_us,
            rng,
            effects: VecDeque::new(),
            sender: None,
            sent: VecDeque::new(),
            problem: None,
        };
        tab.settle(now_us);
        tab
    }

    /// The page's clock.
    pub fn page_us(&self, now_us: u64) -> u64 {
        let drifted = i128::from(now_us) * i128::from(1_000_000 + self.drift_ppm) / 1_000_000;
        self.clock_us + drifted as u64
    }

    /// The time of the run at which the page's clock shows a time; rounded up.
    fn run_us(&self, page_us: u64) -> u64 {
        let passed = i128::from(page_us.saturating_sub(self.clock_us));
        (passed * 1_000_000 / i128::from(1_000_000 + self.drift_ppm)) as u64 + 1
    }

    /// This moment on both clocks of the page.
    pub fn now(&mut self, now_us: u64) -> Now {
        let page_us = self.page_us(now_us);
        self.page.now(page_us)
    }

    /// The episode on the page.
    pub fn peer(&self) -> Option<&Peer<Native>> {
        self.page.peer()
    }

    /// The episode on the page, for those who look into its world.
    pub fn peer_mut(&mut self) -> Option<&mut Peer<Native>> {
        self.page.peer_mut()
    }

    /// The next datagram that a session of this page sent, and the session as it was then.
    pub fn poll_sent(&mut self) -> Option<(Sender, Vec<u8>)> {
        self.sent.pop_front()
    }

    /// The next work for the run.
    pub fn poll_effect(&mut self) -> Option<PageEffect> {
        self.effects.pop_front()
    }

    /// The next problem: something that a page of this study must never do or receive.
    pub fn poll_problem(&mut self) -> Option<String> {
        self.problem.take()
    }

    /// The time of the next [`Self::handle_timeout`], microseconds of the run, and its reason; `None` if there is none.
    pub fn poll_timeout(&self) -> Option<(u64, &'static str)> {
        if !self.is_alive || self.page.is_stopped() {
            return None;
        }
        let times = [
            (self.acts_us, "person"),
            (self.draws_us, "screen"),
            (self.reader.due_us(), "reader"),
            (self.wakes_us, "page"),
        ];
        let (due_us, reason) = times.into_iter().min()?;
        Some((due_us.max(self.frozen_us), reason))
    }

    /// Does what is due. Returns the frame that came on the screen.
    pub fn handle_timeout(&mut self, now_us: u64) -> Option<ShownFrame> {
        if self.acts_us <= now_us {
            self.act(now_us);
        }
        if self.reader.due_us() <= now_us {
            let page_us = self.page_us(now_us);
            self.reader.handle_timeout(now_us, page_us, &mut self.page);
            self.settle(now_us);
            self.set_alarm(now_us);
        }
        let shown = match self.draws_us <= now_us {
            true => self.draw(now_us),
            false => None,
        };
        if self.wakes_us <= now_us {
            self.wake(now_us);
        }
        shown
    }

    fn wake(&mut self, now_us: u64) {
        let ticks = self.ticks();
        self.page.handle_timeout(self.page_us(now_us));
        self.settle(now_us);
        let ran = u64::from(self.ticks().saturating_sub(ticks));
        self.busy_us = now_us + ran * self.tick_us;
        self.set_alarm(now_us);
    }

    fn ticks(&self) -> u32 {
        let session = self.peer().and_then(Peer::session);
        session.map_or(0, |session| session.current().0)
    }

    /// Does what the page asks for, and lets the person see what it shows.
    fn settle(&mut self, now_us: u64) {
        if let Some(sender) = self.page.peer_mut().and_then(Sender::of) {
            self.sender = Some(sender);
        }
        while let Some(effect) = self.page.poll_effect() {
            match &effect {
                PageEffect::OpenSocket(socket) => self.socket = *socket,
                // Before the start, datagrams only measure.
                PageEffect::Datagram { bytes, .. }
                | PageEffect::Send(ClientMessage::Relay { bytes, .. }) => {
                    self.sent
                        .extend(self.sender.map(|sender| (sender, bytes.clone())));
                }
                _ => {}
            }
            self.effects.push_back(effect);
        }
        while let Some(event) = self.page.poll_event() {
            self.see(now_us, event);
        }
    }

    fn see(&mut self, now_us: u64, event: PageEvent<Native>) {
        match &event {
            PageEvent::Stopped(StopReason::Superseded) => {}
            PageEvent::Stopped(why) => {
                self.problem = Some(format!("refusal: a page is refused: {why:?}"));
            }
            PageEvent::Garbled(error) => {
                self.problem = Some(format!("packet: a page gets what is no message: {error}"));
            }
            PageEvent::EpisodeBegan { .. } => self.sender = None,
            _ => {}
        }
        let page_us = self.page_us(now_us);
        let seen = (self.reader).handle_page_event(now_us, page_us, event, &mut self.page);
        self.problem = self.problem.take().or(seen.err());
    }

    /// Sets the time at which the page runs next: inputs may make it earlier, but they make no busy machine faster.
    fn set_alarm(&mut self, now_us: u64) {
        let page_us = self.page_us(now_us);
        let next_us = match self.page.poll_timeout(page_us) {
            Some((due_us, _)) => self.run_us(due_us),
            // What comes in wakes it.
            None => now_us + 1_000_000,
        };
        let slack_us = self
            .rng
            .draw_below(if self.is_hidden { 20_000 } else { 3_000 });
        let next_us = next_us.max(now_us + 200).max(self.busy_us) + slack_us;
        self.wakes_us = if self.wakes_us > now_us {
            self.wakes_us.min(next_us)
        } else {
            next_us
        };
    }

    /// The layout of datagrams of the page's episode, once its session runs.
    pub fn layout(&mut self) -> Option<DatagramLayout> {
        Sender::of(self.page.peer_mut()?).map(|sender| sender.layout)
    }

    /// The person does something in the episode, or anywhere on the page.
    fn act(&mut self, now_us: u64) {
        self.acts_us = now_us + 20_000 + self.rng.draw_below(self.pauses_us);
        let (bits, hidden) = (self.rng.draw_bits(), self.is_hidden);
        let page_us = self.page_us(now_us);
        if !hidden {
            self.page.handle_alive(page_us);
            let sharing = &mut self.sharing;
            self.page.with_peer(page_us, |peer, now| {
                if sharing.act_on_frame(peer, now, bits) {
                    return;
                }
                let actions = peer
                    .session_mut()
                    .map(|session| session.world().spec().actions.len() as u64);
                if let Some(actions) = actions {
                    peer.handle_action(now, (bits % actions) as u16);
                }
            });
        }
        self.settle(now_us);
    }

    /// Handles the screen's request for a frame: the last drawing is on it now. Returns the frame that came on it.
    fn draw(&mut self, now_us: u64) -> Option<ShownFrame> {
        let rng = &mut self.rng;
        let frame_us = self.frame_us;
        self.draws_us = now_us + frame_us.unwrap_or_else(|| 20_000 + rng.draw_below(150_000));
        if self.is_hidden {
            return None;
        }
        let now = self.now(now_us);
        let peer = self.page.peer_mut()?;
        let (era, seat, life) = (peer.plan().era, peer.plan().seat, peer.plan().life);
        let t0_us = peer.t0_us()?;
        peer.handle_shown(now, now.page_us);
        let mut digest = None;
        peer.view(|world| digest = Some(world.digest()));
        let viewed = std::mem::replace(&mut self.viewed, digest.map(|digest| (era, life, digest)));
        let shown = std::mem::replace(&mut self.drawn, viewed);
        let (_, _, digest) = shown.filter(|&(of, by, _)| (of, by) == (era, life))?;
        let at_ms = (now.since_us(t0_us, now.page_us) / 1_000).max(0) as u32;
        Some(ShownFrame {
            era,
            seat,
            life,
            at_ms,
            digest,
        })
    }

    /// The page goes out of sight, or comes back.
    pub fn handle_hidden(&mut self, now_us: u64, is_hidden: bool) {
        (self.viewed, self.drawn) = (None, None);
        self.is_hidden = is_hidden;
        self.call(now_us, |page, page_us| {
            page.handle_hidden(page_us, is_hidden)
        });
    }

    /// The page is about to go.
    pub fn handle_leaving(&mut self, now_us: u64) {
        self.call(now_us, Page::handle_leaving);
    }

    /// The person leaves the study.
    pub fn handle_leave(&mut self, now_us: u64) {
        self.call(now_us, Page::handle_leave);
    }

    /// The connection is there.
    pub fn handle_socket_opened(&mut self, now_us: u64) {
        let socket = self.socket;
        self.call(now_us, |page, page_us| {
            page.handle_socket_opened(page_us, socket);
        });
    }

    /// The connection is gone, or does not come about.
    pub fn handle_socket_closed(&mut self, now_us: u64) {
        self.conn = None;
        let socket = self.socket;
        self.call(now_us, |page, page_us| {
            page.handle_socket_closed(page_us, socket);
        });
    }

    /// A message of the server.
    pub fn handle_message(&mut self, now_us: u64, message: ServerMessage) {
        let socket = self.socket;
        self.call(now_us, |page, page_us| {
            page.handle_socket_message(page_us, socket, message);
        });
    }

    /// A data channel to a seat opened, or closed, or will not open.
    pub fn handle_channel(&mut self, now_us: u64, seat: Seat, is_open: bool) {
        self.call(now_us, |page, page_us| {
            page.handle_channel(page_us, seat, is_open);
        });
    }

    /// A datagram came over a data channel.
    pub fn handle_datagram(&mut self, now_us: u64, from: Seat, bytes: &[u8]) {
        self.call(now_us, |page, page_us| {
            page.handle_datagram(page_us, from, bytes);
        });
    }

    /// The environment of an episode is loaded.
    pub fn handle_world(&mut self, now_us: u64, era: Era, world: Native) {
        self.call(now_us, |page, page_us| {
            page.handle_world(page_us, era, world, agent::test_partners());
        });
    }

    fn call(&mut self, now_us: u64, action: impl FnOnce(&mut Page<Native>, u64)) {
        let page_us = self.page_us(now_us);
        action(&mut self.page, page_us);
        self.settle(now_us);
        self.set_alarm(now_us);
    }
}
