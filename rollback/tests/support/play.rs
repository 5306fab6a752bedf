//! A whole match in virtual time, watched by oracles.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use env_core::rng::Rng;
use env_core::{Action, MAX_SEATS, Policy, World};
use protocol::change::Change;
use protocol::control::Report as Answer;
use protocol::datagram::{Datagram, Layout};
use protocol::seen::{self, Frame};
use protocol::{Controller, Era, Life, Seat, Tick};
use rollback::{ChangeError, Config, Event, Record, Session, Stats, rebuild};

use super::arbiter::{Arbiter, Replica, Word};
use super::network::{Network, Packet};
use super::scenario::{READY_US, Scenario, Trouble};
use super::toy::{Defect, Partner, Toy};

/// Virtual time that a match may take after the network has healed.
const PATIENCE_US: u64 = 120_000_000;

/// What a test changes in a match before or while it runs.
pub(crate) struct Mischief {
    /// Breaks the world of a seat.
    pub(crate) defect: Option<(usize, Defect)>,
    /// The AI partners on this seat's machine do not go back with the world.
    pub(crate) stubborn: Option<usize>,
    /// Rewrites packets under way.
    pub(crate) tamper: fn(&mut Packet, &Config),
    /// Nothing passes in this direction.
    pub(crate) cut: Option<(u8, u8)>,
    /// The server cuts a seat at what the least has.
    pub(crate) cuts_at_least: bool,
    /// Everybody believes that everything is durable.
    pub(crate) ignores_lease: bool,
    /// Everybody believes that all receipts are of the present lives.
    pub(crate) mixes_lives: bool,
}

impl Mischief {
    pub(crate) fn none() -> Self {
        Self {
            defect: None,
            stubborn: None,
            tamper: |_, _| {},
            cut: None,
            cuts_at_least: false,
            ignores_lease: false,
            mixes_lives: false,
        }
    }
}

/// What a match came to.
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
    /// Frames that were shown and rebuilt, and the bytes that tell of them.
    pub(crate) frames: usize,
    pub(crate) seen_bytes: usize,
}

/// What a page was told to have shown: the frames and the digests of their states.
#[derive(Default)]
struct Screen {
    frames: Vec<Frame>,
    digests: Vec<u64>,
}

struct Peer<W: World> {
    seat: Seat,
    /// Tells the pages of a seat apart.
    page: u32,
    /// The life of the seat in which it plays.
    life: Life,
    /// None while it waits to come back.
    session: Option<Session<W>>,
    /// Whether the server counts on it.
    is_member: bool,
    is_online: bool,
    /// Mail of an earlier connection is lost.
    connection: u32,
    /// The server's last word on its way arrives then.
    mailed_us: u64,
    person: Rng,
    actions: u16,
    clock_error_us: i64,
    drift: i64,
    slowness: u64,
    wakes_us: u64,
    acts_us: u64,
    uploads_us: u64,
    busy_us: u64,
    screen: Screen,
    /// When each second began that is measured, and with which tick.
    second: (u64, u32),
    /// What the oracles have seen of it.
    confirmed: u32,
    digests: usize,
    over_events: u32,
    over_us: u64,
}

/// A clock that runs wrong is set right over and over: half a period fast, half a period slow, microseconds.
const HALF_US: u64 = 600_000;

impl<W: World> Peer<W> {
    fn clock(&self, true_us: u64) -> u64 {
        let phase = true_us % (2 * HALF_US);
        let away = phase.min(2 * HALF_US - phase).cast_signed();
        true_us.saturating_add_signed(self.clock_error_us + away * self.drift / 1_000)
    }

    fn set_alarm(&mut self, now_us: u64) {
        let wanted = self
            .session
            .as_ref()
            .map_or(u64::MAX, Session::poll_timeout);
        let slack = if self.slowness > 0 {
            0
        } else {
            u64::from(self.person.below(4_000))
        };
        let error_us = self.clock(now_us).cast_signed() - now_us.cast_signed();
        let next = match wanted {
            u64::MAX => u64::MAX,
            wanted => wanted.saturating_add_signed(-error_us).max(now_us + 500) + slack,
        };
        self.wakes_us = if self.wakes_us > now_us {
            self.wakes_us.min(next)
        } else {
            next
        };
    }

    fn act(&mut self, now_us: u64) {
        let action = self.person.below(u32::from(self.actions)) as Action;
        let clock = self.clock(now_us);
        if let Some(session) = &mut self.session {
            session.handle_action(clock, action);
        }
        self.acts_us = now_us + u64::from(self.person.below(500_000));
    }

    /// When it does something of its own.
    fn next_us(&self) -> u64 {
        let uploads = if self.is_online && self.session.is_some() {
            self.uploads_us
        } else {
            u64::MAX
        };
        self.wakes_us
            .min(self.acts_us)
            .min(uploads)
            .max(self.busy_us)
    }
}

/// What happens at the server, or on the way to a page or from it.
enum Mail {
    ToPage(u32, u32, Word),
    Report(u32, u32, Answer),
    Upload(u32, u32, Life, u32, Vec<Action>),
    Trouble(u8, Trouble),
    Suspect(u8),
    Back(u8),
    Ready(u32),
    Online(u32),
}

struct Post {
    at_us: u64,
    number: u64,
    mail: Mail,
}

impl PartialEq for Post {
    fn eq(&self, other: &Self) -> bool {
        (self.at_us, self.number) == (other.at_us, other.number)
    }
}

impl Eq for Post {}

impl PartialOrd for Post {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Post {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at_us, self.number).cmp(&(other.at_us, other.number))
    }
}

/// A match and what is known to be true of it.
struct Match<'a, W: World> {
    scenario: &'a Scenario,
    mischief: &'a Mischief,
    world: Box<dyn Fn(Option<usize>) -> W + 'a>,
    layout: Layout,
    network: Network,
    arbiter: Arbiter,
    post: BinaryHeap<Reverse<Post>>,
    posted: u64,
    rng: Rng,
    pages: u32,
    peers: Vec<Peer<W>>,
    /// What pages showed that are gone.
    screens: Vec<(Seat, Screen)>,
    /// The receipts that the page of each seat has ever sent, `[peer][seat]`, read from its packets.
    told: [[u32; MAX_SEATS]; MAX_SEATS],
    /// What has been confirmed by anybody, and the digests.
    log: Vec<Action>,
    digests: Vec<(Tick, u64)>,
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
        let layout = Layout {
            seats: spec.seats,
            actions: spec.actions.len() as u16,
        };
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
                scenario.tick_hz,
                mischief.cuts_at_least,
            ),
            post: BinaryHeap::new(),
            posted: 0,
            rng: Rng::new(scenario.seed ^ 77),
            pages: 0,
            peers: Vec::new(),
            screens: Vec::new(),
            told: [[u32::from(scenario.input_delay); MAX_SEATS]; MAX_SEATS],
            log: Vec::new(),
            digests: Vec::new(),
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
        let mut session = Session::new(config(self.scenario, local), world, partners);
        self.mislead(&mut session);
        session
    }

    fn mislead(&self, session: &mut Session<W>) {
        if self.mischief.ignores_lease {
            session.handle_lease(Tick(1 << 23));
        }
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
            confirmed: 0,
            digests: 0,
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
        let waits = self.peers.iter().any(|peer| !peer.is_member);
        let comes = self
            .post
            .iter()
            .any(|post| matches!(post.0.mail, Mail::Back(_)));
        self.sessions().all(Session::finished) && (self.arbiter.ended.is_some() || !waits && !comes)
    }

    /// When a peer next does something of its own, at the end of its pause if it has one then.
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
        if self.mischief.mixes_lives
            && let Ok(mut datagram) = Datagram::decode(&packet.bytes, self.layout)
        {
            datagram.changes = session.changes() as u8;
            datagram.encode(self.layout, &mut packet.bytes);
        }
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
            peer.screen.frames.push(session.seen(at_ms, false));
            peer.screen.digests.push(shown);
            if session.world().digest() != before {
                return Err("preview: it left a trace".into());
            }
        }
        self.upload(at, now_us);
        self.drain(at, now_us)
    }

    /// A page tells the server what it has confirmed.
    fn upload(&mut self, at: usize, now_us: u64) {
        let durable = self.arbiter.durable();
        let delay_us = self.way_us();
        let peer = &mut self.peers[at];
        if peer.uploads_us > now_us {
            return;
        }
        peer.uploads_us = now_us + 250_000;
        if !peer.is_online || !peer.is_member {
            return;
        }
        let Some(session) = &peer.session else { return };
        let first = session.first_tick().0;
        if first > durable || durable > session.confirmed().0 {
            return;
        }
        let rows = &session.rows()[(durable - first) as usize * usize::from(self.layout.seats)..];
        let (page, connection, rows) = (peer.page, peer.connection, rows.to_vec());
        let mail = Mail::Upload(page, connection, peer.life, durable, rows);
        self.put(now_us + delay_us, mail);
    }

    /// How long a message to the server or from it takes.
    fn way_us(&mut self) -> u64 {
        1_000 + u64::from(self.rng.below(60_000))
    }

    fn drain(&mut self, at: usize, now_us: u64) -> Result<(), String> {
        let peer = &mut self.peers[at];
        let layout = self.layout;
        let Some(session) = &mut peer.session else {
            peer.set_alarm(now_us);
            return Ok(());
        };
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
                Event::Over { ticks } => {
                    peer.over_events += 1;
                    peer.over_us = now_us;
                    if session.ended() != Some(ticks) {
                        return Err(format!(
                            "end: event at {ticks:?}, but ended {:?}",
                            session.ended()
                        ));
                    }
                }
                Event::Lost { .. } => lost = true,
                _ => {}
            }
        }
        peer.set_alarm(now_us);
        self.watch(at, now_us)?;
        if lost {
            let peer = &mut self.peers[at];
            peer.session = None;
            (peer.confirmed, peer.digests, peer.over_events) = (0, 0, 0);
            let screen = std::mem::take(&mut peer.screen);
            let (seat, page) = (peer.seat, peer.page);
            self.screens.push((seat, screen));
            let way_us = self.way_us();
            self.put(now_us + way_us, Mail::Ready(page));
        }
        Ok(())
    }

    fn at(&self, page: u32) -> Option<usize> {
        self.peers.iter().position(|peer| peer.page == page)
    }

    /// Seats whose pages the server counts on and reaches, but for one.
    fn members(&self, but: usize) -> u16 {
        let members = self
            .peers
            .iter()
            .filter(|peer| peer.is_member && peer.is_online);
        let members = members.filter(|peer| peer.seat.index() != but);
        members.fold(0, |members, peer| members | 1 << peer.seat.0)
    }

    fn open(&mut self, now_us: u64, mail: Mail) -> Result<(), String> {
        match mail {
            Mail::ToPage(page, connection, word) => {
                return self.hear(now_us, page, connection, word);
            }
            Mail::Report(page, connection, report) => {
                if let Some(at) = self.connected(page, connection) {
                    self.arbiter.report(self.peers[at].seat.index(), report);
                }
            }
            Mail::Upload(page, connection, life, first, rows) => {
                let at = self.connected(page, connection);
                let seat = at.map(|at| self.peers[at].seat.index());
                if seat.is_some_and(|seat| self.arbiter.life(seat) == life) {
                    self.archive(now_us, first, &rows)?;
                }
            }
            Mail::Trouble(seat, trouble) => self.trouble(now_us, seat, trouble),
            Mail::Suspect(seat) => {
                let members = self.members(usize::from(seat));
                if self.arbiter.take(usize::from(seat), members) {
                    let life = self.arbiter.life(usize::from(seat));
                    self.tell(now_us, members, &Word::Fence(Seat(seat), life));
                }
            }
            Mail::Back(seat) => {
                self.enter(Seat(seat), None, now_us);
                let page = self.pages;
                self.put(now_us, Mail::Ready(page));
            }
            Mail::Ready(page) => self.give(now_us, page)?,
            Mail::Online(page) => self.online(now_us, page),
        }
        self.commit(now_us);
        Ok(())
    }

    fn connected(&self, page: u32, connection: u32) -> Option<usize> {
        let at = self.at(page)?;
        let peer = &self.peers[at];
        (peer.is_online && peer.connection == connection).then_some(at)
    }

    fn archive(&mut self, now_us: u64, first: u32, rows: &[Action]) -> Result<(), String> {
        let before = self.arbiter.durable();
        if !self.arbiter.upload(first, rows) {
            return Err("archive: two pages confirmed two things".into());
        }
        let through = self.arbiter.durable();
        if through > before {
            self.tell(
                now_us,
                self.members(MAX_SEATS),
                &Word::Archived(Tick(through)),
            );
        }
        let ended = self.sessions().find_map(Session::ended);
        if ended == Some(Tick(through)) {
            self.arbiter.ended = Some(through);
        }
        Ok(())
    }

    fn trouble(&mut self, now_us: u64, seat: u8, trouble: Trouble) {
        let is_here = |peer: &Peer<W>| peer.seat.0 == seat && peer.session.is_some();
        let Some(at) = self.peers.iter().position(is_here) else {
            return;
        };
        let soon_us = now_us + u64::from(self.rng.below(600_000));
        match trouble {
            Trouble::Killed(back_us) => {
                let peer = self.peers.remove(at);
                self.screens.push((peer.seat, peer.screen));
                self.left(now_us, usize::from(seat));
                self.put(soon_us, Mail::Suspect(seat));
                if let Some(back_us) = back_us {
                    self.put(now_us + back_us, Mail::Back(seat));
                }
            }
            Trouble::Evicted => self.put(soon_us, Mail::Suspect(seat)),
            Trouble::Offline(for_us) => {
                let peer = &mut self.peers[at];
                (peer.is_online, peer.connection) = (false, peer.connection + 1);
                let page = peer.page;
                self.left(now_us, usize::from(seat));
                self.put(now_us + for_us, Mail::Online(page));
            }
        }
    }

    /// The connection of a page is lost: the others are asked again.
    fn left(&mut self, now_us: u64, seat: usize) {
        let members: Vec<u16> = (0..MAX_SEATS).map(|seat| self.members(seat)).collect();
        self.arbiter.left(seat, |taken| members[taken]);
        for (seat, life) in self.arbiter.fences() {
            self.tell(now_us, members[seat.index()], &Word::Fence(seat, life));
        }
    }

    fn online(&mut self, now_us: u64, page: u32) {
        let Some(at) = self.at(page) else { return };
        let peer = &mut self.peers[at];
        if std::mem::replace(&mut peer.is_online, true) {
            return;
        }
        let (seat, is_member) = (peer.seat, peer.is_member);
        let running = Word::Running(Tick(self.arbiter.durable()), self.arbiter.changes.clone());
        self.tell_page(now_us, at, running);
        if is_member {
            self.arbiter.came(seat.index());
            for (fenced, life) in self.arbiter.fences() {
                if fenced != seat {
                    self.tell_page(now_us, at, Word::Fence(fenced, life));
                }
            }
        }
    }

    /// A page wants its seat back.
    fn give(&mut self, now_us: u64, page: u32) -> Result<(), String> {
        let Some(at) = self.at(page) else {
            return Ok(());
        };
        let seat = self.peers[at].seat.index();
        if self.arbiter.ended.is_some() {
            return Ok(());
        }
        if self.arbiter.is_person(seat) || !self.peers[at].is_online {
            // It has to be taken from the page before first.
            self.put(now_us + 1, Mail::Suspect(seat as u8));
            self.put(now_us + 100_000, Mail::Ready(page));
            return Ok(());
        }
        let change = self.arbiter.give(seat);
        let mut world = (self.world)(None);
        let (seed, delay) = (self.scenario.seed, self.scenario.input_delay);
        let start = self.arbiter.state(&mut world, seed, delay);
        self.tell(now_us, self.members(seat), &Word::Change(change));
        self.peers[at].is_member = true;
        self.tell_page(now_us, at, Word::Return(Box::new(start)));
        Ok(())
    }

    /// Takes that everybody has answered are carried out.
    fn commit(&mut self, now_us: u64) {
        for (seat, _) in self.arbiter.fences() {
            let others = self.peers.iter();
            let others = others.filter(|peer| peer.is_member && peer.seat != seat);
            let others = others.fold(0, |others, peer| others | 1 << peer.seat.0);
            let then = if self.rng.below(3) == 0 {
                Controller::Vacant
            } else {
                Controller::Ai {
                    policy: "toy".into(),
                }
            };
            let committed = self.arbiter.commit(seat.index(), others, then);
            if let Some(change) = committed {
                self.tell(now_us, self.members(MAX_SEATS), &Word::Change(change));
                for peer in self.peers.iter_mut().filter(|peer| peer.seat == seat) {
                    peer.is_member = false;
                }
                self.told[seat.index()] = [0; MAX_SEATS];
                self.forget(seat);
            }
        }
    }

    /// A page is gone: what it alone has confirmed is gone with it. That is so only if nobody else's inputs and receipts
    /// were awaited in ticks that are not durable yet, because the others are gone or have yet to play again.
    fn forget(&mut self, taken: Seat) {
        let others = self
            .peers
            .iter()
            .filter(|peer| peer.is_member && peer.seat != taken);
        let durable = self.arbiter.durable();
        if others
            .clone()
            .any(|peer| self.arbiter.is_settled(peer.seat.index()))
        {
            return;
        }
        let confirmed = others.filter_map(|peer| peer.session.as_ref());
        let confirmed = confirmed.map(|session| session.confirmed().0);
        let kept = confirmed.fold(durable, u32::max);
        self.log
            .truncate(kept as usize * self.scenario.controllers.len());
        self.digests.retain(|(tick, _)| tick.0 <= kept);
    }

    fn tell(&mut self, now_us: u64, members: u16, word: &Word) {
        for at in 0..self.peers.len() {
            if members >> self.peers[at].seat.0 & 1 == 1 && self.peers[at].is_online {
                self.tell_page(now_us, at, word.clone());
            }
        }
    }

    fn tell_page(&mut self, now_us: u64, at: usize, word: Word) {
        let way_us = self.way_us();
        let peer = &mut self.peers[at];
        peer.mailed_us = (peer.mailed_us + 1).max(now_us + way_us);
        let (at_us, page, connection) = (peer.mailed_us, peer.page, peer.connection);
        self.put(at_us, Mail::ToPage(page, connection, word));
    }

    /// A page hears from the server.
    fn hear(&mut self, now_us: u64, page: u32, connection: u32, word: Word) -> Result<(), String> {
        let Some(at) = self.connected(page, connection) else {
            return Ok(());
        };
        let clock = self.peers[at].clock(now_us);
        if let Word::Return(start) = word {
            let seat = self.peers[at].seat;
            let (config, world) = (
                config(self.scenario, Some(seat)),
                (self.world)(Some(seat.index())),
            );
            let toy = |_: &str| Some(Box::new(Partner::new(false)) as Box<dyn Policy>);
            let session = Session::resume(config, world, toy, &start);
            let mut session = session.map_err(|error| format!("resume: {error}"))?;
            self.mislead(&mut session);
            let before = self
                .digests
                .partition_point(|(tick, _)| *tick <= start.tick);
            let peer = &mut self.peers[at];
            (peer.confirmed, peer.digests) = (start.tick.0, before);
            peer.session = Some(session);
            let own = start.changes.iter().rfind(|change| change.seat == seat);
            peer.life = own.map_or(Life(0), |change| change.life);
            peer.set_alarm(now_us);
            return Ok(());
        }
        let way_us = self.way_us();
        let lease = !self.mischief.ignores_lease;
        let Some(session) = &mut self.peers[at].session else {
            return Ok(());
        };
        match word {
            Word::Fence(seat, life) => {
                if let Some(report) = session.handle_fence(seat, life) {
                    self.put(now_us + way_us, Mail::Report(page, connection, report));
                }
            }
            Word::Change(change) => change_hands(session, clock, &change)?,
            Word::Archived(through) if lease => session.handle_lease(through),
            Word::Running(through, changes) => {
                session.handle_reconnect();
                for change in &changes {
                    change_hands(session, clock, change)?;
                }
                if lease {
                    session.handle_lease(through);
                }
            }
            Word::Archived(_) | Word::Return(_) => {}
        }
        self.drain(at, now_us)
    }

    /// The oracles that hold after every step of a peer.
    fn watch(&mut self, at: usize, now_us: u64) -> Result<(), String> {
        let window = u32::from(self.scenario.window);
        let peer = &self.peers[at];
        let Some(session) = &peer.session else {
            return Ok(());
        };
        let (confirmed, current) = (session.confirmed().0, session.current().0);
        if confirmed < peer.confirmed {
            return Err(format!(
                "retraction: {} confirmed, then {confirmed}",
                peer.confirmed
            ));
        }
        let deepest = u32::from(session.stats().max_depth);
        if confirmed > current || current - confirmed > window || deepest > window {
            return Err(format!(
                "window: {current} simulated, {confirmed} confirmed"
            ));
        }
        let ticks = self.sessions().map(|session| session.current().0);
        let (least, most) = ticks.fold((u32::MAX, 0), |(least, most), tick| {
            (least.min(tick), most.max(tick))
        });
        self.gap = self.gap.max(most - least);
        let peer = &mut self.peers[at];
        if now_us >= peer.second.0 + 1_000_000 {
            self.fastest = self.fastest.max(current.saturating_sub(peer.second.1));
            peer.second = (now_us, current);
        }
        self.watch_receipts(at)?;
        self.watch_log(at)
    }

    /// Confirmed is what everyone has, and has said so.
    fn watch_receipts(&self, at: usize) -> Result<(), String> {
        let Some(session) = &self.peers[at].session else {
            return Ok(());
        };
        let (seat, confirmed) = (self.peers[at].seat.index(), session.confirmed().0);
        // Who knows less than the server may still count on a page that is gone; the log shows what comes of it.
        if usize::from(session.changes()) < self.arbiter.changes.len() {
            return Ok(());
        }
        let people = || 0..usize::from(self.layout.seats);
        for from in people().filter(|&from| from != seat && self.arbiter.is_person(from)) {
            for of in people().filter(|&of| of != from) {
                let begun = self.arbiter.start(from).max(session.first_tick().0);
                let first = self.told[from][of].max(begun);
                if (first..confirmed).any(|tick| self.arbiter.awaits(of, tick)) {
                    return Err(format!(
                        "receipts: seat {seat} confirmed {confirmed} without seat {from} for seat {of}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// One log and one row of digests: what anyone confirms first must be what everyone confirms.
    fn watch_log(&mut self, at: usize) -> Result<(), String> {
        let seats = self.scenario.controllers.len();
        let peer = &mut self.peers[at];
        let Some(session) = peer.session.as_ref().filter(|_| peer.is_member) else {
            return Ok(());
        };
        let first = peer.confirmed as usize * seats;
        let skipped = session.first_tick().0 as usize * seats;
        for (cell, &action) in (first..).zip(&session.rows()[first - skipped..]) {
            match self.log.get(cell) {
                None => self.log.push(action),
                Some(&known) if known == action => {}
                Some(&known) => {
                    let (tick, seat) = (cell / seats, cell % seats);
                    return Err(format!(
                        "log: tick {tick} seat {seat} is {known} and {action}"
                    ));
                }
            }
        }
        let before = self
            .digests
            .partition_point(|(tick, _)| *tick <= session.first_tick());
        for (number, &digest) in (before..)
            .zip(session.digests())
            .skip(peer.digests - before)
        {
            match self.digests.get(number) {
                None => self.digests.push(digest),
                Some(&known) if known == digest => {}
                Some(known) => return Err(format!("digest: {known:?} and {digest:?}")),
            }
        }
        (peer.confirmed, peer.digests) = (session.confirmed().0, before + session.digests().len());
        Ok(())
    }

    /// The oracles that hold at the end.
    fn judge(mut self) -> Result<Report, String> {
        let seats = self.scenario.controllers.len();
        let ticks = (self.log.len() / seats) as u32;
        for peer in &self.peers {
            let Some(session) = &peer.session else {
                continue;
            };
            let ends = (
                session.confirmed().0,
                session.ended(),
                session.current().0,
                peer.over_events,
            );
            if ends != (ticks, Some(Tick(ticks)), ticks, 1) {
                return Err(format!("end: {ends:?} of {ticks}"));
            }
            let first = session.first_tick();
            let before = self.digests.partition_point(|(tick, _)| *tick <= first);
            if session.rows() != &self.log[first.0 as usize * seats..]
                || session.digests() != &self.digests[before..]
            {
                return Err("retraction: something confirmed was changed later".into());
            }
            let stats = session.stats();
            if (stats.dropped - stats.refused.life, stats.equivocations) != (0, 0) {
                return Err(format!("honesty: {stats:?}"));
            }
            if self.arbiter.changes.is_empty() && stats.dropped > 0 {
                return Err(format!("honesty: {stats:?}"));
            }
        }
        let is_whole = self.sessions().next().is_some();
        self.replay(ticks, is_whole)?;
        let (frames, seen_bytes) = self.rebuild()?;
        let t0_us = READY_US + 500_000;
        Ok(Report {
            ticks,
            stats: self.sessions().map(|session| *session.stats()).collect(),
            playing_us: self
                .peers
                .iter()
                .map(|peer| peer.over_us.saturating_sub(t0_us))
                .max()
                .unwrap_or(0),
            log: std::mem::take(&mut self.log),
            changes: std::mem::take(&mut self.arbiter.changes),
            gap: self.gap,
            delay_ms: self.sessions().map(Session::delay_ms).max().unwrap_or(0),
            fastest: self.fastest,
            frames,
            seen_bytes,
        })
    }

    /// A fresh world, stepped through the log as the server does, and the partners asked again.
    fn replay(&mut self, ticks: u32, is_whole: bool) -> Result<(), String> {
        let seats = self.scenario.controllers.len();
        let mut world = (self.world)(None);
        let mut replica = Replica::new(&mut world, &self.arbiter, self.scenario.seed);
        let mut digests = Vec::new();
        for (row, tick) in self.log.chunks(seats).zip(1..) {
            let (over, differs) = replica.step(row);
            if let Some(seat) = differs {
                return Err(format!(
                    "replay: the partner on seat {seat} plays otherwise at tick {}",
                    tick - 1
                ));
            }
            if is_whole && over != (tick == ticks) {
                return Err(format!(
                    "replay: over is {over} after {tick} of {ticks} steps"
                ));
            }
            if over || tick % u32::from(self.scenario.tick_hz) == 0 {
                digests.push((Tick(tick), replica.world.digest()));
            }
        }
        if digests != self.digests {
            return Err("replay: other digests".into());
        }
        Ok(())
    }

    /// Every frame that was shown, from the log and from what the pages noted.
    fn rebuild(&mut self) -> Result<(usize, usize), String> {
        let mut screens = std::mem::take(&mut self.screens);
        let peers = self.peers.iter_mut();
        screens.extend(peers.map(|peer| (peer.seat, std::mem::take(&mut peer.screen))));
        let (mut shown, mut size) = (0, 0);
        for (seat, screen) in screens {
            let seats = usize::from(self.layout.seats);
            let (mut frames, mut bytes) = (Vec::new(), Vec::new());
            for chunk in screen.frames.chunks(64) {
                seen::encode(chunk, seats, &mut bytes);
                size += bytes.len();
                let decoded = seen::decode(&bytes, seats);
                frames.extend(decoded.map_err(|error| format!("seen: {error}"))?);
            }
            let record = Record {
                changes: &self.arbiter.changes,
                rows: &self.log,
            };
            let config = config(self.scenario, Some(seat));
            let world = (self.world)(None);
            let toy = |_: &str| Some(Box::new(Partner::new(false)) as Box<dyn Policy>);
            let digests = rebuild(config, world, toy, record, &frames)
                .map_err(|error| format!("seen: {error}"))?;
            let differs = digests
                .iter()
                .zip(&screen.digests)
                .position(|(a, b)| a != b);
            if let Some(number) = differs {
                return Err(format!(
                    "seen: frame {number} of seat {} showed something else: {:?}",
                    seat.0, frames[number]
                ));
            }
            shown += digests.len();
        }
        Ok((shown, size))
    }
}

fn change_hands<W: World>(
    session: &mut Session<W>,
    clock: u64,
    change: &Change,
) -> Result<(), String> {
    let partner = partner(&change.controller, false);
    session
        .handle_change(clock, change, partner)
        .map_err(|error| match error {
            ChangeError::Settled { .. } => format!("retraction: {error}"),
            error => format!("change: {error}"),
        })
}
