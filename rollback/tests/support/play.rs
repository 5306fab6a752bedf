//! A whole match in virtual time, watched by oracles.

mod oracles;
mod page;
mod server;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use env_core::rng::Rng;
use env_core::{Action, MAX_SEATS, Policy, World};
use protocol::change::Change;
use protocol::datagram::{Datagram, DatagramLayout};
use protocol::rules::Rules;
use protocol::seen::{self, Frame};
use protocol::{Controller, Era, Life, Seat, Tick};
use rollback::{ChangeError, Config, EpisodeRecord, Session, SessionEvent, Stats, rebuild};

use super::arbiter::{Arbiter, Replica, Word};
use super::network::{Network, Packet};
use super::scenario::{READY_US, Scenario, Trouble};
use super::toy::{Defect, Partner, Toy};
use page::{Peer, Screen};
use server::{Mail, Post};

/// Virtual time that a match may take after the network has healed.
const PATIENCE_US: u64 = 120_000_000;

/// A test's changes to a match before or while it runs.
pub(crate) struct Mischief {
    /// Breaks the world of a seat.
    pub(crate) defect: Option<(usize, Defect)>,
    /// The AI partners on this seat's machine do not go back with the world.
    pub(crate) stubborn: Option<usize>,
    /// Rewrites packets under way.
    pub(crate) tamper: fn(&mut Packet, &Config),
    /// Nothing passes in this direction.
    pub(crate) cut: Option<(u8, u8)>,
    /// The server cuts a seat before what is final.
    pub(crate) cuts_early: bool,
    /// Everybody believes that what they confirm is final.
    pub(crate) settles_early: bool,
}

impl Mischief {
    pub(crate) fn none() -> Self {
        Self {
            defect: None,
            stubborn: None,
            tamper: |_, _| {},
            cut: None,
            cuts_early: false,
            settles_early: false,
        }
    }
}

/// The result of a match.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) ticks: u32,
    pub(crate) log: Vec<Action>,
    pub(crate) stats: Vec<Stats>,
    /// From the first tick to the confirmed end of the last peer.
    pub(crate) playing_us: u64,
    /// Seats that changed hands.
    pub(crate) changes: Vec<Change>,
    /// The most ticks between the two people furthest apart.
    pub(crate) gap: u32,
    /// How much later than at first ticks were due in the end.
    pub(crate) delay_ms: u32,
    /// The most ticks that anybody simulated for the first time within a second.
    pub(crate) fastest: u32,
    /// Frames that were shown and rebuilt, and the bytes that record them.
    pub(crate) frames: usize,
    pub(crate) seen_bytes: usize,
}

/// A match and what is known to be true of it.
struct Match<'a, W: World> {
    scenario: &'a Scenario,
    mischief: &'a Mischief,
    world: Box<dyn Fn(Option<usize>) -> W + 'a>,
    layout: DatagramLayout,
    network: Network,
    arbiter: Arbiter<W>,
    post: BinaryHeap<Reverse<Post>>,
    posted: u64,
    rng: Rng,
    pages: u32,
    peers: Vec<Peer<W>>,
    /// The frames of pages that are gone.
    screens: Vec<(Seat, Screen)>,
    /// The receipts that the page of each seat has ever sent, `[peer][seat]`, read from its packets.
    told: [[u32; MAX_SEATS]; MAX_SEATS],
    gap: u32,
    fastest: u32,
}

/// Plays a scenario to its end, in the toy world.
///
/// # Errors
/// What an oracle saw.
pub(crate) fn play(scenario: &Scenario, mischief: &Mischief) -> Result<Report, String> {
    play_in(scenario, mischief, |seat| {
        let seats = scenario.controllers.len() as u8;
        let mut world = Toy::new(seats, scenario.horizon, scenario.horizon * 3 / 4);
        world.alternates = scenario.turns && scenario.seed.is_multiple_of(2);
        if let Some((at, defect)) = mischief.defect
            && seat == Some(at)
        {
            world.defect = defect;
        }
        world
    })
}

/// Plays a scenario to its end, in the worlds given for each seat and, for the replay, for none.
///
/// # Errors
/// What an oracle saw.
pub(crate) fn play_in<W: World>(
    scenario: &Scenario,
    mischief: &Mischief,
    world: impl Fn(Option<usize>) -> W,
) -> Result<Report, String> {
    let mut game = Match::new(scenario, mischief, world);
    game.run()?;
    game.judge()
}

pub(crate) fn config(scenario: &Scenario, local: Option<Seat>) -> Config {
    Config {
        era: Era(9),
        local,
        controllers: scenario.controllers.clone(),
        seed: scenario.seed,
        tick_hz: scenario.tick_hz,
        input_delay: scenario.input_delay,
        window: scenario.window,
        t0_us: READY_US + 500_000,
        rules: Rules {
            turns: scenario.turns,
            ..Rules::default()
        },
    }
}

fn partner(controller: &Controller, stubborn: bool) -> Option<Box<dyn Policy>> {
    match controller {
        Controller::Human | Controller::Vacant => None,
        Controller::Ai { .. } => Some(Box::new(Partner::new(stubborn))),
    }
}

impl<'a, W: World> Match<'a, W> {
    fn new(
        scenario: &'a Scenario,
        mischief: &'a Mischief,
        world: impl Fn(Option<usize>) -> W + 'a,
    ) -> Self {
        let spec = world(None).spec().clone();
        let layout = DatagramLayout {
            seats: spec.seats,
            actions: spec.actions.len() as u16,
        };
        let server = world(None);
        let partitions = scenario.partitions.clone();
        let mut network = Network::new(
            !scenario.seed,
            scenario.conditions,
            partitions,
            scenario.heals_us,
        );
        network.cut = mischief.cut;
        let mut game = Self {
            scenario,
            mischief,
            world: Box::new(world),
            layout,
            network,
            arbiter: Arbiter::new(
                &scenario.controllers,
                server,
                scenario.seed,
                scenario.tick_hz,
                mischief.cuts_early,
            ),
            post: BinaryHeap::new(),
            posted: 0,
            rng: Rng::new(scenario.seed ^ 77),
            pages: 0,
            peers: Vec::new(),
            screens: Vec::new(),
            told: [[u32::from(scenario.input_delay); MAX_SEATS]; MAX_SEATS],
            gap: 0,
            fastest: 0,
        };
        for (seat, controller) in scenario.controllers.iter().enumerate() {
            if *controller == Controller::Human {
                let session = game.session(seat);
                game.enter(Seat(seat as u8), Some(session), READY_US);
            }
        }
        for &(at_us, seat, trouble) in &scenario.troubles {
            game.put(at_us, Mail::Trouble(seat, trouble));
        }
        game
    }

    /// A session from the start.
    fn session(&self, seat: usize) -> Session<W> {
        let stubborn = self.mischief.stubborn == Some(seat);
        let partners = self.scenario.controllers.iter();
        let partners = partners.map(|c| partner(c, stubborn)).collect();
        let local = Some(Seat(seat as u8));
        let world = (self.world)(Some(seat));
        Session::new(config(self.scenario, local), world, partners)
    }

    fn enter(&mut self, seat: Seat, session: Option<Session<W>>, now_us: u64) {
        let at = seat.index();
        self.pages += 1;
        self.peers.push(Peer {
            seat,
            page: self.pages,
            life: Life(0),
            is_member: session.is_some(),
            session,
            is_online: true,
            connection: 0,
            mailed_us: 0,
            person: Rng::new(self.scenario.seed ^ u64::from(self.pages) << 32),
            actions: self.layout.actions,
            clock_error_us: self.scenario.clock_error_us[at],
            drift: self.scenario.drift[at],
            slowness: self.scenario.slowness[at],
            wakes_us: now_us,
            acts_us: now_us,
            uploads_us: now_us,
            busy_us: 0,
            screen: Screen::default(),
            second: (now_us, 0),
            settled: 0,
            current: 0,
            over_events: 0,
            over_us: 0,
        });
    }

    fn put(&mut self, at_us: u64, mail: Mail) {
        self.posted += 1;
        let number = self.posted;
        self.post.push(Reverse(Post {
            at_us,
            number,
            mail,
        }));
    }

    /// Until every session says that nobody needs it any more.
    fn run(&mut self) -> Result<(), String> {
        let heals_us = self.scenario.heals_us.min(READY_US + 3_600_000_000);
        while !self.is_finished() {
            let woken = (0..self.peers.len()).min_by_key(|&at| self.next_us(at));
            let wakes_us = woken.map_or(u64::MAX, |at| self.next_us(at));
            let posted_us = self.post.peek().map_or(u64::MAX, |post| post.0.at_us);
            let packet_us = self.network.next_us().unwrap_or(u64::MAX);
            let now_us = wakes_us.min(posted_us).min(packet_us);
            if now_us > heals_us + PATIENCE_US {
                let confirmed: Vec<_> = self.sessions().map(|s| s.confirmed().0).collect();
                return Err(format!(
                    "liveness: no end long after the network healed; confirmed {confirmed:?}"
                ));
            }
            if posted_us == now_us {
                let Reverse(post) = self.post.pop().expect("it was just seen");
                self.open(now_us, post.mail)?;
            } else if packet_us == now_us {
                self.deliver(now_us)?;
            } else if let Some(at) = woken {
                self.wake(at, now_us)?;
            }
        }
        Ok(())
    }

    fn sessions(&self) -> impl Iterator<Item = &Session<W>> {
        self.peers.iter().filter_map(|peer| peer.session.as_ref())
    }

    fn is_finished(&self) -> bool {
        let is_back = |post: &Reverse<Post>| matches!(post.0.mail, Mail::Back(_));
        let is_empty = self.peers.is_empty() && !self.post.iter().any(is_back);
        self.sessions().all(Session::finished) && (self.arbiter.ended.is_some() || is_empty)
    }

    /// The time at which a peer next acts by itself, at the end of its pause if it has one then.
    fn next_us(&self, at: usize) -> u64 {
        let peer = &self.peers[at];
        self.awake_us(peer.seat, peer.next_us())
    }

    fn awake_us(&self, seat: Seat, at_us: u64) -> u64 {
        let pauses = self
            .scenario
            .pauses
            .iter()
            .filter(|pause| pause.seat == seat.0);
        pauses.fold(at_us, |at_us, pause| {
            if (pause.from_us..pause.to_us).contains(&at_us) {
                pause.to_us
            } else {
                at_us
            }
        })
    }

    fn deliver(&mut self, now_us: u64) -> Result<(), String> {
        let mut packet = self.network.arrive().expect("it was just seen");
        let at = self.peers.iter().position(|peer| peer.seat.0 == packet.to);
        let Some(at) = at.filter(|&at| self.peers[at].session.is_some()) else {
            return Ok(());
        };
        let awake_us = self.awake_us(Seat(packet.to), now_us.max(self.peers[at].busy_us));
        if awake_us > now_us {
            packet.arrives_us = awake_us;
            self.network.hold(packet);
            return Ok(());
        }
        let peer = &mut self.peers[at];
        let clock = peer.clock(now_us);
        let Some(session) = &mut peer.session else {
            return Ok(());
        };
        (self.mischief.tamper)(&mut packet, session.config());
        let taken = session.handle_datagram(clock, Seat(packet.from), &packet.bytes);
        match taken {
            Err(rollback::DatagramError::Life { .. }) => {}
            taken => taken.map_err(|error| {
                format!(
                    "refusal: seat {} refused an honest packet: {error}",
                    packet.to
                )
            })?,
        }
        self.drain(at, now_us)
    }

    fn wake(&mut self, at: usize, now_us: u64) -> Result<(), String> {
        let peer = &mut self.peers[at];
        if peer.acts_us <= now_us {
            peer.act(now_us);
        }
        if peer.wakes_us <= now_us {
            let clock = peer.clock(now_us);
            if let Some(session) = &mut peer.session {
                let before = session.current().0;
                session.handle_timeout(clock);
                let ran = u64::from(session.current().0.saturating_sub(before));
                let period_us = 1_000_000 / u64::from(self.scenario.tick_hz);
                peer.busy_us = now_us + ran * period_us * peer.slowness / 100;
            }
        }
        let shows = peer.person.below(8) == 0;
        if let Some(session) = peer.session.as_mut().filter(|_| shows) {
            let before = session.world().digest();
            let mut shown = 0;
            session.preview(|world| shown = world.digest());
            let at_ms = (now_us.saturating_sub(READY_US) / 1_000) as u32;
            peer.screen.frames.push(session.record_frame(at_ms, false));
            peer.screen.digests.push(shown);
            if session.world().digest() != before {
                return Err("preview: it left a trace".into());
            }
        }
        self.upload(at, now_us);
        self.drain(at, now_us)
    }

    fn drain(&mut self, at: usize, now_us: u64) -> Result<(), String> {
        let peer = &mut self.peers[at];
        let layout = self.layout;
        let Some(session) = &mut peer.session else {
            peer.set_alarm(now_us);
            return Ok(());
        };
        if self.mischief.settles_early {
            let confirmed = session.confirmed();
            session.handle_durable(confirmed, confirmed);
        }
        while let Some(transmit) = session.poll_transmit() {
            let datagram = Datagram::decode(transmit.bytes, layout)
                .map_err(|error| format!("packet: {error}"))?;
            for (told, have) in self.told[peer.seat.index()].iter_mut().zip(&datagram.have) {
                *told = have.0.max(*told);
            }
            self.network
                .send(now_us, peer.seat, transmit.to, transmit.bytes);
        }
        let mut lost = false;
        while let Some(event) = session.poll_event() {
            match event {
                SessionEvent::Over { ticks } => {
                    peer.over_events += 1;
                    peer.over_us = now_us;
                    if session.ended() != Some(ticks) {
                        return Err(format!(
                            "end: event at {ticks:?}, but ended {:?}",
                            session.ended()
                        ));
                    }
                }
                SessionEvent::Lost { .. } => lost = true,
                _ => {}
            }
        }
        peer.set_alarm(now_us);
        self.watch(at, now_us)?;
        if lost {
            let peer = &mut self.peers[at];
            peer.session = None;
            (peer.settled, peer.over_events) = (0, 0);
            let screen = std::mem::take(&mut peer.screen);
            let (seat, page) = (peer.seat, peer.page);
            self.screens.push((seat, screen));
            let way_us = self.way_us();
            self.put(now_us + way_us, Mail::Ready(page));
        }
        Ok(())
    }
}
