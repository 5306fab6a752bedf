//! A browser tab: its clock, its connection, its place in the study, and the peer of its episode.

use std::collections::{BTreeMap, VecDeque};

use env_core::World as _;
use peer::clock::Clock;
use peer::{Effect, Now, Peer};
use protocol::control::{Ask, ClientMessage, Entry, Refusal, ServerMessage, StageView};
use protocol::datagram::Layout;
use protocol::{Era, Life, Seat};

use crate::chance::Chance;
use crate::native::Native;
use crate::scenario::Person;

/// Pauses before the next try to connect, microseconds; the last one repeats.
pub const PAUSES_US: [u64; 6] = [250_000, 500_000, 1_000_000, 2_000_000, 3_000_000, 5_000_000];
/// A try to connect that came to nothing by then is given up, microseconds.
pub const OPEN_WITHIN_US: u64 = 10_000_000;

/// Of which episode a session is, how its datagrams are laid out, and how many changes it knows.
pub type Said = (Era, Layout, u16);

fn said(peer: &mut Peer<Native>) -> Option<Said> {
    let era = peer.plan().era;
    let session = peer.session_mut()?;
    let changes = session.changes();
    let spec = session.world().spec();
    let layout = Layout {
        seats: spec.seats,
        actions: spec.actions.len() as u16,
    };
    Some((era, layout, changes))
}

/// What a page does to the world outside.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "carried out at once, never kept")]
pub enum Deed {
    /// Begins a connection to the server.
    Dial,
    /// Ends the connection to the server.
    HangUp,
    /// Sends a message to the server.
    Send(ClientMessage),
    /// Sends a datagram over the data channel to a seat.
    Datagram(Seat, Vec<u8>),
    /// Wishes for a new data channel to a seat.
    Connect(Seat),
    /// Wishes for no data channel to a seat.
    Disconnect(Seat),
    /// Loads the module of the episode.
    Load(Era),
}

/// A frame that was on the screen.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// In which episode.
    pub era: Era,
    /// On the page of which seat.
    pub seat: Seat,
    /// In which life of the seat.
    pub life: Life,
    /// When, milliseconds since tick 0 was due.
    pub at_ms: u32,
    /// Digest of the state.
    pub digest: u64,
}

/// A tab.
pub struct Page {
    /// Its number in the run.
    pub number: usize,
    /// Whose it is.
    pub person: usize,
    /// Whether it is there.
    pub is_alive: bool,
    /// Whether it says that another tab, or nobody, goes on.
    pub is_stopped: bool,
    /// Whether the end of the study is shown.
    pub is_done: bool,
    /// Until when it does nothing, microseconds.
    pub frozen_us: u64,
    /// Whether it is out of sight.
    pub is_hidden: bool,
    /// The connection that it has, or begins.
    pub conn: Option<u64>,
    /// Whether the server has let it in over that connection.
    pub is_welcome: bool,
    /// When it wants to run next, microseconds of the run.
    pub wakes_us: u64,
    /// When its person does something next, microseconds of the run.
    pub acts_us: u64,
    /// When it draws next, microseconds of the run.
    pub draws_us: u64,
    /// The episode.
    pub peer: Option<Peer<Native>>,
    /// The open data channels, by seat.
    pub channels: BTreeMap<Seat, u64>,
    /// The session's secret, as the tab's storage has it.
    pub token: Option<String>,
    /// Digests of what was viewed and of what is being drawn, each with the life in which it was.
    viewed: Option<(Era, Life, u64)>,
    drawn: Option<(Era, Life, u64)>,
    clock: Clock,
    clock_us: u64,
    drift_ppm: i64,
    tick_us: u64,
    /// Until when the machine is busy with ticks.
    busy_us: u64,
    pauses_us: u64,
    frame_us: Option<u64>,
    chance: Chance,
    retry_us: Option<u64>,
    dialed_us: u64,
    failures: usize,
    deeds: VecDeque<Deed>,
    said: VecDeque<(Said, Vec<u8>)>,
}

impl Page {
    /// A tab that opens now.
    pub fn new(
        seed: u64,
        number: usize,
        of: (usize, &Person),
        token: Option<String>,
        now_us: u64,
    ) -> Self {
        let (person, machine) = of;
        let mut chance = Chance::new(seed, &format!("page {number}"));
        Self {
            number,
            person,
            is_alive: true,
            is_stopped: false,
            is_done: false,
            frozen_us: 0,
            is_hidden: false,
            conn: None,
            is_welcome: false,
            wakes_us: now_us,
            acts_us: now_us + chance.below(machine.acts_us),
            draws_us: now_us,
            viewed: None,
            drawn: None,
            peer: None,
            channels: BTreeMap::new(),
            token,
            clock: Clock::default(),
            // A new page counts from its own opening.
            clock_us: machine.clock_us + chance.below(1_000_000_000),
            drift_ppm: machine.drift_ppm,
            tick_us: machine.tick_us,
            busy_us: 0,
            pauses_us: machine.acts_us,
            frame_us: machine.frame_us,
            chance,
            retry_us: Some(now_us),
            dialed_us: now_us,
            failures: 0,
            deeds: VecDeque::new(),
            said: VecDeque::new(),
        }
    }

    /// The page's clock.
    pub fn page_us(&self, now_us: u64) -> u64 {
        let drifted = i128::from(now_us) * i128::from(1_000_000 + self.drift_ppm) / 1_000_000;
        self.clock_us + drifted as u64
    }

    /// When the page's clock shows a time; rounded up.
    fn run_us(&self, page_us: u64) -> u64 {
        let passed = i128::from(page_us.saturating_sub(self.clock_us));
        (passed * 1_000_000 / i128::from(1_000_000 + self.drift_ppm)) as u64 + 1
    }

    /// This moment on both clocks of the page.
    pub fn now(&mut self, now_us: u64) -> Now {
        let page_us = self.page_us(now_us);
        Now {
            page_us,
            server_us: self.clock.server_us(page_us),
            is_set: self.clock.is_set(),
        }
    }

    /// The next datagram that a session of this page gave out, and what it was then.
    pub fn poll_said(&mut self) -> Option<(Said, Vec<u8>)> {
        self.said.pop_front()
    }

    /// What the page does next.
    pub fn poll_deed(&mut self) -> Option<Deed> {
        self.deeds.pop_front()
    }

    /// Lets the peer do something, and takes up what it asks for.
    pub fn with_peer(&mut self, now_us: u64, with: impl FnOnce(&mut Peer<Native>, Now)) {
        let now = self.now(now_us);
        let Some(peer) = &mut self.peer else { return };
        with(peer, now);
        while let Some(effect) = peer.poll_effect() {
            let bytes = match &effect {
                Effect::Datagram { bytes, .. }
                | Effect::Send(ClientMessage::Relay { bytes, .. }) => Some(bytes),
                _ => None,
            };
            if let Some(bytes) = bytes {
                // Before the start, datagrams only measure.
                self.said
                    .extend(said(peer).map(|said| (said, bytes.clone())));
            }
            self.deeds.push_back(match effect {
                Effect::Send(message) => Deed::Send(message),
                Effect::Datagram { to, bytes } => Deed::Datagram(to, bytes),
                Effect::Connect { seat } => Deed::Connect(seat),
                Effect::Disconnect { seat } => Deed::Disconnect(seat),
            });
        }
    }

    /// Runs what is due.
    pub fn wake(&mut self, now_us: u64) {
        let page_us = self.page_us(now_us);
        if self.retry_us.is_some_and(|at_us| at_us <= now_us) && !self.is_stopped {
            (self.retry_us, self.dialed_us) = (None, now_us);
            self.deeds.push_back(Deed::Dial);
        } else if self.conn.is_some()
            && !self.is_welcome
            && now_us > self.dialed_us + OPEN_WITHIN_US
        {
            self.deeds.push_back(Deed::HangUp);
            self.lost(now_us);
        }
        if self.is_welcome && self.clock.ask(page_us) {
            self.deeds
                .push_back(Deed::Send(ClientMessage::Clock { sent_us: page_us }));
        }
        let ticks = self.ticks();
        self.with_peer(now_us, |peer, now| peer.handle_timeout(now));
        let ran = u64::from(self.ticks().saturating_sub(ticks));
        self.busy_us = now_us + ran * self.tick_us;
        self.set_alarm(now_us);
    }

    fn ticks(&self) -> u32 {
        let session = self.peer.as_ref().and_then(Peer::session);
        session.map_or(0, |session| session.current().0)
    }

    /// Sets the time of the next [`Self::wake`]: what comes in may make it earlier, but no busy machine faster.
    pub fn set_alarm(&mut self, now_us: u64) {
        let now = self.now(now_us);
        let asks_us = if self.clock.is_set() { 100_000 } else { 20_000 };
        let mut next_us = now_us + asks_us;
        if let Some(peer) = &self.peer {
            next_us = next_us.min(self.run_us(peer.poll_timeout(now)));
        }
        let slack_us = self
            .chance
            .below(if self.is_hidden { 20_000 } else { 3_000 });
        let next_us = next_us.min(self.retry_us.unwrap_or(u64::MAX));
        let next_us = next_us.max(now_us + 200).max(self.busy_us) + slack_us;
        self.wakes_us = if self.wakes_us > now_us {
            self.wakes_us.min(next_us)
        } else {
            next_us
        };
    }

    /// How datagrams of the page's episode are laid out, once its session runs.
    pub fn layout(&mut self) -> Option<Layout> {
        said(self.peer.as_mut()?).map(|(_, layout, _)| layout)
    }

    /// The person does something.
    pub fn act(&mut self, now_us: u64) {
        self.acts_us = now_us + 20_000 + self.chance.below(self.pauses_us);
        let (bits, hidden) = (self.chance.bits(), self.is_hidden);
        self.with_peer(now_us, |peer, now| {
            let actions = match peer.session_mut() {
                Some(session) => session.world().spec().actions.len() as u64,
                None => return,
            };
            if !hidden {
                peer.handle_action(now, (bits % actions) as u16);
            }
        });
    }

    /// The screen asks for a frame: what was drawn last is on it now. Gives what came on it.
    pub fn draw(&mut self, now_us: u64) -> Option<Shown> {
        let chance = &mut self.chance;
        let frame_us = self.frame_us;
        self.draws_us = now_us + frame_us.unwrap_or_else(|| 20_000 + chance.below(150_000));
        if self.is_hidden {
            return None;
        }
        let now = self.now(now_us);
        let peer = self.peer.as_mut()?;
        let (era, seat, life) = (peer.plan().era, peer.plan().seat, peer.plan().life);
        let t0_us = peer.t0_us()?;
        peer.handle_shown(now, now.page_us);
        let mut digest = None;
        peer.view(|world| digest = Some(world.digest()));
        let viewed = std::mem::replace(&mut self.viewed, digest.map(|digest| (era, life, digest)));
        let shown = std::mem::replace(&mut self.drawn, viewed);
        let (_, _, digest) = shown.filter(|&(of, by, _)| (of, by) == (era, life))?;
        let at_ms = (now.since_us(t0_us, now.page_us) / 1_000).max(0) as u32;
        Some(Shown {
            era,
            seat,
            life,
            at_ms,
            digest,
        })
    }

    /// The page goes out of sight, or comes back.
    pub fn hide(&mut self, now_us: u64, is_hidden: bool) {
        (self.viewed, self.drawn) = (None, None);
        self.is_hidden = is_hidden;
        self.with_peer(now_us, |peer, now| peer.handle_hidden(now, is_hidden));
        self.set_alarm(now_us);
    }

    /// The connection is there.
    pub fn opened(&mut self) {
        let playing = self.peer.as_ref().and_then(Peer::playing);
        let entry = match &self.token {
            Some(token) => Entry::Resume {
                token: token.clone(),
                playing,
            },
            None => Entry::Open,
        };
        self.deeds
            .push_back(Deed::Send(ClientMessage::hello(entry)));
    }

    /// The connection is gone, or does not come about.
    pub fn lost(&mut self, now_us: u64) {
        self.conn = None;
        let pause_us = PAUSES_US[self.failures.min(PAUSES_US.len() - 1)];
        self.failures += 1;
        self.retry_us = Some(now_us + pause_us * self.chance.between(75, 125) / 100);
        if std::mem::take(&mut self.is_welcome) {
            self.with_peer(now_us, |peer, now| peer.handle_connection(now, false));
        }
        self.set_alarm(now_us);
    }

    /// The page stops for good: another one goes on.
    fn stop(&mut self) {
        (self.is_stopped, self.is_welcome, self.peer) = (true, false, None);
        self.deeds.push_back(Deed::HangUp);
    }

    /// A message of the server.
    ///
    /// # Errors
    /// One that a page of this study must never get.
    pub fn message(&mut self, now_us: u64, message: ServerMessage) -> Result<(), String> {
        match message {
            ServerMessage::Welcome { session, .. } => {
                self.token = Some(session);
                (self.is_welcome, self.failures) = (true, 0);
                self.with_peer(now_us, |peer, now| peer.handle_connection(now, true));
            }
            ServerMessage::Refused {
                why: Refusal::Stopping,
            } => {}
            ServerMessage::Refused { why } => {
                return Err(format!("refusal: a page is refused: {why:?}"));
            }
            ServerMessage::Superseded => self.stop(),
            ServerMessage::Clock { sent_us, server_us } => {
                let page_us = self.page_us(now_us);
                self.clock.answer(sent_us, server_us, page_us);
            }
            ServerMessage::Stage { index, view, .. } => self.stage(now_us, index, &view),
            ServerMessage::Waiting(waiting) => {
                if matches!(waiting.ask, Ask::Presence { .. } | Ask::Return) {
                    self.deeds.push_back(Deed::Send(ClientMessage::Here));
                }
            }
            ServerMessage::Missing { .. } | ServerMessage::Signal { .. } => {}
            ServerMessage::Match(plan) => {
                self.with_peer(now_us, |peer, now| peer.flush(now));
                self.deeds.push_back(Deed::Load(plan.era));
                let mut peer = Peer::new(plan, self.now(now_us));
                if self.is_hidden {
                    peer.handle_hidden(self.now(now_us), true);
                }
                self.peer = Some(peer);
            }
            message => self.with_peer(now_us, |peer, now| peer.handle_message(now, message)),
        }
        self.with_peer(now_us, |_, _| ());
        self.set_alarm(now_us);
        Ok(())
    }

    fn stage(&mut self, now_us: u64, index: u16, view: &StageView) {
        match view {
            // A chat they leave when its time is up.
            StageView::Env | StageView::Regroup | StageView::Chat { .. } => {}
            // No study of the simulation asks for an answer that must be given.
            StageView::Screening { .. }
            | StageView::Consent { .. }
            | StageView::Instructions { .. }
            | StageView::Quiz { .. }
            | StageView::External { .. }
            | StageView::Debrief { .. }
            | StageView::Rest { .. }
            | StageView::Survey { .. } => {
                self.deeds.push_back(Deed::Send(ClientMessage::StageDone {
                    stage: index,
                    answers: Vec::new(),
                    pages_ms: vec![0],
                }));
            }
            StageView::Lobby { .. } => {}
            StageView::End { .. } => self.is_done = true,
        }
        if !matches!(view, StageView::Env) {
            self.with_peer(now_us, |peer, now| peer.flush(now));
            self.peer = None;
        }
    }
}
