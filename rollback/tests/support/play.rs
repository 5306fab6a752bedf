//! A whole match in virtual time, watched by oracles.

use env_core::rng::Rng;
use env_core::{Action, MAX_SEATS, Policy, World};
use protocol::datagram::{Datagram, Layout};
use protocol::{Controller, Era, Seat, Tick};
use rollback::{Config, Event, Session, Stats};

use super::network::{Network, Packet};
use super::scenario::{READY_US, Scenario};
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
}

impl Mischief {
    pub(crate) fn none() -> Self {
        Self {
            defect: None,
            stubborn: None,
            tamper: |_, _| {},
            cut: None,
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
}

struct Peer<W: World> {
    seat: Seat,
    session: Session<W>,
    person: Rng,
    actions: u16,
    clock_error_us: i64,
    wakes_us: u64,
    acts_us: u64,
    /// What the oracles have seen of it.
    confirmed: u32,
    digests: usize,
    over_events: u32,
    over_us: u64,
}

impl<W: World> Peer<W> {
    fn clock(&self, true_us: u64) -> u64 {
        true_us.saturating_add_signed(self.clock_error_us)
    }

    fn set_alarm(&mut self, now_us: u64) {
        let wanted = self.session.poll_timeout();
        let slack = u64::from(self.person.below(4_000));
        let next = match wanted {
            u64::MAX => u64::MAX,
            wanted => {
                wanted
                    .saturating_add_signed(-self.clock_error_us)
                    .max(now_us + 500)
                    + slack
            }
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
        self.session.handle_action(clock, action);
        self.acts_us = now_us + u64::from(self.person.below(500_000));
    }
}

/// A match and what is known to be true of it.
struct Match<'a, W: World> {
    scenario: &'a Scenario,
    mischief: &'a Mischief,
    /// A world that nobody has played in.
    fresh: W,
    layout: Layout,
    network: Network,
    peers: Vec<Peer<W>>,
    /// The receipts that each seat has ever sent, `[peer][seat]`, read from its packets.
    told: [[u32; MAX_SEATS]; MAX_SEATS],
    /// What has been confirmed by anybody, and the digests.
    log: Vec<Action>,
    digests: Vec<(Tick, u64)>,
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

fn partners(scenario: &Scenario, stubborn: bool) -> Vec<Option<Box<dyn Policy>>> {
    let partner = |controller: &Controller| match controller {
        Controller::Human | Controller::Vacant => None,
        Controller::Ai { .. } => Some(Box::new(Partner::new(stubborn)) as Box<dyn Policy>),
    };
    scenario.controllers.iter().map(partner).collect()
}

impl<'a, W: World> Match<'a, W> {
    fn new(
        scenario: &'a Scenario,
        mischief: &'a Mischief,
        world: impl Fn(Option<usize>) -> W,
    ) -> Self {
        let fresh = world(None);
        let spec = fresh.spec();
        let layout = Layout {
            seats: spec.seats,
            actions: spec.actions.len() as u16,
        };
        let humans = (0..scenario.controllers.len())
            .filter(|&seat| scenario.controllers[seat] == Controller::Human);
        let peer = |seat: usize| {
            let local = Seat(seat as u8);
            let partners = partners(scenario, mischief.stubborn == Some(seat));
            Peer {
                seat: local,
                session: Session::new(config(scenario, Some(local)), world(Some(seat)), partners),
                person: Rng::new(scenario.seed ^ (seat as u64 + 1) << 32),
                actions: layout.actions,
                clock_error_us: scenario.clock_error_us[seat],
                wakes_us: READY_US,
                acts_us: READY_US,
                confirmed: 0,
                digests: 0,
                over_events: 0,
                over_us: 0,
            }
        };
        let mut network = Network::new(!scenario.seed, scenario.conditions, scenario.heals_us);
        network.cut = mischief.cut;
        let peers = humans.map(peer).collect();
        Self {
            scenario,
            mischief,
            fresh,
            layout,
            network,
            peers,
            told: [[u32::from(scenario.input_delay); MAX_SEATS]; MAX_SEATS],
            log: Vec::new(),
            digests: Vec::new(),
        }
    }

    /// Until every session says that nobody needs it any more.
    fn run(&mut self) -> Result<(), String> {
        let heals_us = self.scenario.heals_us.min(READY_US + 3_600_000_000);
        while !self.peers.iter().all(|peer| peer.session.finished()) {
            let woken = (0..self.peers.len())
                .min_by_key(|&at| self.next_us(at))
                .expect("a match has a person");
            let now_us = self
                .next_us(woken)
                .min(self.network.next_us().unwrap_or(u64::MAX));
            if now_us > heals_us + PATIENCE_US {
                let confirmed: Vec<_> = self
                    .peers
                    .iter()
                    .map(|peer| peer.session.confirmed().0)
                    .collect();
                return Err(format!(
                    "liveness: no end long after the network healed; confirmed {confirmed:?}"
                ));
            }
            if self.network.next_us() == Some(now_us) {
                self.deliver(now_us)?;
            } else {
                self.wake(woken, now_us)?;
            }
        }
        Ok(())
    }

    /// When a peer next does something of its own, at the end of its pause if it has one then.
    fn next_us(&self, at: usize) -> u64 {
        let peer = &self.peers[at];
        self.awake_us(peer.seat, peer.wakes_us.min(peer.acts_us))
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
        let awake_us = self.awake_us(Seat(packet.to), now_us);
        if awake_us > now_us {
            packet.arrives_us = awake_us;
            self.network.hold(packet);
            return Ok(());
        }
        let at = self
            .peers
            .iter()
            .position(|peer| peer.seat.0 == packet.to)
            .expect("sessions send to people");
        let peer = &mut self.peers[at];
        let clock = peer.clock(now_us);
        (self.mischief.tamper)(&mut packet, peer.session.config());
        let taken = peer
            .session
            .handle_datagram(clock, Seat(packet.from), &packet.bytes);
        taken.map_err(|error| {
            format!(
                "refusal: seat {} refused an honest packet: {error}",
                packet.to
            )
        })?;
        self.drain(at, now_us)
    }

    fn wake(&mut self, at: usize, now_us: u64) -> Result<(), String> {
        let peer = &mut self.peers[at];
        if peer.acts_us <= now_us {
            peer.act(now_us);
        }
        if peer.wakes_us <= now_us {
            let clock = peer.clock(now_us);
            peer.session.handle_timeout(clock);
        }
        if peer.person.below(8) == 0 {
            let before = peer.session.world().digest();
            peer.session.preview(|world| _ = world.score());
            if peer.session.world().digest() != before {
                return Err("preview: it left a trace".into());
            }
        }
        self.drain(at, now_us)
    }

    fn drain(&mut self, at: usize, now_us: u64) -> Result<(), String> {
        let peer = &mut self.peers[at];
        let layout = self.layout;
        while let Some(transmit) = peer.session.poll_transmit() {
            let datagram = Datagram::decode(transmit.bytes, layout)
                .map_err(|error| format!("packet: {error}"))?;
            for (told, have) in self.told[peer.seat.index()].iter_mut().zip(&datagram.have) {
                *told = have.0.max(*told);
            }
            self.network
                .send(now_us, peer.seat, transmit.to, transmit.bytes);
        }
        while let Some(event) = peer.session.poll_event() {
            if let Event::Over { ticks } = event {
                peer.over_events += 1;
                peer.over_us = now_us;
                if peer.session.ended() != Some(ticks) {
                    return Err(format!(
                        "end: event at {ticks:?}, but ended {:?}",
                        peer.session.ended()
                    ));
                }
            }
        }
        peer.set_alarm(now_us);
        self.watch(at)
    }

    /// The oracles that hold after every step of a peer.
    fn watch(&mut self, at: usize) -> Result<(), String> {
        let window = u32::from(self.scenario.window);
        let peer = &self.peers[at];
        let (confirmed, current) = (peer.session.confirmed().0, peer.session.current().0);
        if confirmed < peer.confirmed || peer.session.digests().len() < peer.digests {
            return Err(format!(
                "retraction: {} confirmed, then {confirmed}",
                peer.confirmed
            ));
        }
        let deepest = u32::from(peer.session.stats().max_depth);
        if confirmed > current || current - confirmed > window || deepest > window {
            return Err(format!(
                "window: {current} simulated, {confirmed} confirmed"
            ));
        }
        self.watch_receipts(at)?;
        self.watch_log(at)
    }

    /// Confirmed is what everyone has, and has said so.
    fn watch_receipts(&self, at: usize) -> Result<(), String> {
        let (seat, confirmed) = (
            self.peers[at].seat.index(),
            self.peers[at].session.confirmed().0,
        );
        let people = || self.peers.iter().map(|peer| peer.seat.index());
        for from in people().filter(|&from| from != seat) {
            if let Some(of) = people().find(|&of| of != from && self.told[from][of] < confirmed) {
                return Err(format!(
                    "receipts: seat {seat} confirmed {confirmed} without seat {from} for seat {of}"
                ));
            }
        }
        Ok(())
    }

    /// One log and one row of digests: what anyone confirms first must be what everyone confirms.
    fn watch_log(&mut self, at: usize) -> Result<(), String> {
        let seats = self.scenario.controllers.len();
        let peer = &mut self.peers[at];
        let first = peer.confirmed as usize * seats;
        for (cell, &action) in (first..).zip(&peer.session.rows()[first..]) {
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
        for (number, &digest) in peer.session.digests().iter().enumerate().skip(peer.digests) {
            match self.digests.get(number) {
                None => self.digests.push(digest),
                Some(&known) if known == digest => {}
                Some(known) => return Err(format!("digest: {known:?} and {digest:?}")),
            }
        }
        (peer.confirmed, peer.digests) = (peer.session.confirmed().0, peer.session.digests().len());
        Ok(())
    }

    /// The oracles that hold at the end.
    fn judge(mut self) -> Result<Report, String> {
        let seats = self.scenario.controllers.len();
        let ticks = (self.log.len() / seats) as u32;
        for peer in &self.peers {
            let session = &peer.session;
            let ends = (
                session.confirmed().0,
                session.ended(),
                session.current().0,
                peer.over_events,
            );
            if ends != (ticks, Some(Tick(ticks)), ticks, 1) {
                return Err(format!("end: {ends:?} of {ticks}"));
            }
            if session.rows() != self.log || session.digests() != self.digests {
                return Err("retraction: something confirmed was changed later".into());
            }
            let stats = session.stats();
            if (stats.dropped, stats.equivocations) != (0, 0) {
                return Err(format!("honesty: {stats:?}"));
            }
        }
        self.replay(ticks)?;
        let t0_us = READY_US + 500_000;
        Ok(Report {
            ticks,
            stats: self
                .peers
                .iter()
                .map(|peer| *peer.session.stats())
                .collect(),
            playing_us: self
                .peers
                .iter()
                .map(|peer| peer.over_us - t0_us)
                .max()
                .unwrap_or(0),
            log: std::mem::take(&mut self.log),
        })
    }

    /// A fresh world, stepped through the log as the server does, and the partners asked again.
    fn replay(&mut self, ticks: u32) -> Result<(), String> {
        let seats = self.scenario.controllers.len();
        let world = &mut self.fresh;
        world.reset(self.scenario.seed);
        let mut partners = partners(self.scenario, false);
        let mut observation = Vec::new();
        for (seat, partner) in partners.iter_mut().enumerate() {
            partner
                .iter_mut()
                .for_each(|policy| policy.reset(seat, self.scenario.seed));
        }
        let mut digests = Vec::new();
        for (row, tick) in self.log.chunks(seats).zip(1..) {
            for (seat, partner) in partners.iter_mut().enumerate() {
                let Some(policy) = partner else { continue };
                world.observe(seat, &mut observation);
                let action = policy.act(&observation);
                let action = if u32::from(action) < u32::from(self.layout.actions) {
                    action
                } else {
                    0
                };
                if action != row[seat] {
                    return Err(format!(
                        "replay: the partner on seat {seat} plays otherwise at tick {}",
                        tick - 1
                    ));
                }
            }
            let over = world.step(row).over;
            if over != (tick == ticks) {
                return Err(format!(
                    "replay: over is {over} after {tick} of {ticks} steps"
                ));
            }
            if over || tick % u32::from(self.scenario.tick_hz) == 0 {
                digests.push((Tick(tick), world.digest()));
            }
        }
        if digests != self.digests {
            return Err("replay: other digests".into());
        }
        Ok(())
    }
}
