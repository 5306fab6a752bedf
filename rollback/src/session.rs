//! The session: ticks, predictions, rollbacks, confirmation, packets. The crate's head tells the story.

mod preview;

use std::collections::VecDeque;

use env_core::{Action, Policy, Spec, World};
use protocol::datagram::{Datagram, Layout, MAX_INPUTS, TICK_LIMIT};
use protocol::{MAX_SEATS, Seat, Tick};

use crate::config::{Config, Predictor};
use crate::effects::{DatagramError, Event, Stats, Transmit};
use crate::inputs::{Inputs, Seats};
use crate::link::{Link, clock_ms};
use crate::presses::Presses;
use crate::schedule::Schedule;

/// The most due ticks that one call of `handle_timeout` runs, so that catching up leaves time for the page.
const BURST: u32 = 4;

/// Events that may wait to be polled; beyond, the oldest is dropped.
const EVENTS: usize = 64;

/// An N-player rollback session that drives a world.
pub struct Session<W: World> {
    config: Config,
    spec: Spec,
    layout: Layout,
    world: W,
    partners: Vec<Option<Box<dyn Policy>>>,
    predictor: Predictor,
    schedule: Schedule,
    humans: Seats,
    /// The people at the other ends.
    peers: Seats,
    links: [Link; MAX_SEATS],
    inputs: Inputs,
    presses: Presses,
    now_us: u64,
    /// Ticks simulated.
    current: u32,
    /// Ticks that every person has all inputs for, and that are simulated here.
    confirmed: u32,
    /// Ticks after which the world said that it is over, predicted or not.
    end: Option<u32>,
    over: bool,
    /// Digests of simulated states; from `settled` on they may still be taken back.
    digests: Vec<(Tick, u64)>,
    settled: usize,
    /// The tick that waits for the window, and since when.
    held: Option<(u32, u64)>,
    /// When packets last became due; none before the first tick.
    sent_us: Option<u64>,
    /// Peers to whom a packet is due.
    due: Seats,
    events: VecDeque<Event>,
    stats: Stats,
    incoming: Datagram,
    outgoing: Datagram,
    buffer: Vec<u8>,
    observation: Vec<f32>,
}

impl<W: World> Session<W> {
    /// Begins an episode: resets the world and the partners. `partners` has one entry a seat, a policy for AI seats;
    /// an AI seat without one plays the no-op. Limits of [`Config`] are enforced by clamping.
    pub fn new(config: Config, mut world: W, mut partners: Vec<Option<Box<dyn Policy>>>) -> Self {
        let spec = world.spec().clone();
        let seats = usize::from(spec.seats).min(MAX_SEATS);
        let config = config.clamped(seats);
        let humans = config.humans(seats);
        world.reset(config.seed);
        partners.resize_with(seats, || None);
        for (seat, partner) in partners.iter_mut().enumerate() {
            *partner = partner.take().filter(|_| !humans.contains(seat));
            if let Some(policy) = partner {
                policy.reset(seat, config.seed);
            }
        }
        let mut inputs = Inputs::new(seats, humans, config.local, config.input_delay, spec.noop);
        inputs.reserve(spec.horizon, 3 * MAX_INPUTS);
        let digests = (spec.horizon / u32::from(config.tick_hz)).min(1 << 12) as usize;
        Self {
            layout: Layout {
                seats: seats as u8,
                actions: spec.actions.len().try_into().unwrap_or(u16::MAX),
            },
            world,
            partners,
            predictor: |spec, _, last| spec.predict(last),
            schedule: Schedule::new(config.t0_us, config.tick_hz),
            humans,
            peers: humans.without(config.local),
            links: [Link::default(); MAX_SEATS],
            inputs,
            presses: Presses::new(spec.noop),
            now_us: 0,
            current: 0,
            confirmed: 0,
            end: None,
            over: false,
            digests: Vec::with_capacity(digests + 64),
            settled: 0,
            held: None,
            sent_us: None,
            due: Seats(0),
            events: VecDeque::with_capacity(EVENTS),
            stats: Stats::default(),
            incoming: Datagram::default(),
            outgoing: Datagram::default(),
            buffer: Vec::with_capacity(protocol::datagram::MAX_DATAGRAM),
            observation: Vec::with_capacity(spec.observation_len()),
            spec,
            config,
        }
    }

    /// Replaces the predictor, which is [`Spec::predict`] at first. Peers need not have the same one.
    pub fn with_predictor(mut self, predictor: Predictor) -> Self {
        self.predictor = predictor;
        self
    }

    /// The local person now wants this action. A lasting one holds until replaced and enters at least one tick;
    /// a momentary one enters exactly one. Before tick 0 is due, only what is held until then counts.
    pub fn handle_action(&mut self, now_us: u64, action: Action) {
        self.now_us = now_us;
        self.presses.want(action, &self.spec);
        if now_us < self.schedule.due_us(0) {
            self.presses.forget();
        }
    }

    /// Takes a packet from a peer: its inputs, its receipts, its clock. Rolls back if a prediction was wrong.
    ///
    /// # Errors
    /// [`DatagramError`]; the packet then had no effect.
    pub fn handle_datagram(&mut self, now_us: u64, bytes: &[u8]) -> Result<(), DatagramError> {
        self.now_us = now_us;
        self.stats.datagrams_received += 1;
        self.stats.bytes_received += bytes.len() as u64;
        let refused = self.take_in(bytes);
        self.stats.dropped += u64::from(refused.is_err());
        refused
    }

    /// Runs the ticks that are due, a few at most, and sees to it that packets go out at the tick rate, held or not.
    pub fn handle_timeout(&mut self, now_us: u64) {
        self.now_us = now_us;
        let mut ran = 0;
        while ran < BURST && self.may_run() && self.schedule.due_us(self.current) <= now_us {
            self.sample();
            self.simulate();
            self.confirm();
            ran += 1;
        }
        self.watch_hold();
        let period_us = self.schedule.period_us();
        if ran > 0
            || self
                .sent_us
                .is_some_and(|sent_us| now_us >= sent_us.saturating_add(period_us))
        {
            self.sent_us = Some(now_us);
            self.due = self.listeners();
        }
    }

    /// The next packet to send, if any.
    pub fn poll_transmit(&mut self) -> Option<Transmit<'_>> {
        let local = self.config.local?.index();
        let to = self.due.iter().next()?;
        self.due = self.due.without(Some(Seat(to as u8)));
        let packet = &mut self.outgoing;
        let first = self.inputs.acknowledged(to, local);
        packet.inputs.clear();
        packet
            .inputs
            .extend(self.inputs.column(local, first, first + MAX_INPUTS as u32));
        let end = Tick(first + packet.inputs.len() as u32);
        packet.have.clear();
        for seat in 0..usize::from(self.layout.seats) {
            let other = self.peers.contains(seat);
            packet.have.push(if other {
                Tick(self.inputs.have(seat))
            } else {
                end
            });
        }
        (packet.era, packet.from, packet.first) = (self.config.era, Seat(local as u8), Tick(first));
        (packet.sent_ms, packet.done) = (clock_ms(self.now_us), self.over);
        (packet.life, packet.delay_ms) = (protocol::Life(0), 0);
        packet.echo = self.links[to].echo(self.now_us);
        packet.encode(self.layout, &mut self.buffer);
        self.stats.datagrams_sent += 1;
        self.stats.bytes_sent += self.buffer.len() as u64;
        Some(Transmit {
            to: Seat(to as u8),
            bytes: &self.buffer,
        })
    }

    /// The next event, if any.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When `handle_timeout` wants to be called next, shared clock, microseconds; `u64::MAX` if not at all.
    pub fn poll_timeout(&self) -> u64 {
        if self.may_run() {
            self.schedule.due_us(self.current)
        } else if self.listeners().0 == 0 {
            u64::MAX
        } else {
            let sent_us = self.sent_us.unwrap_or(self.config.t0_us);
            sent_us.saturating_add(self.schedule.period_us())
        }
    }

    /// Ticks simulated. Goes back only when a rollback finds an earlier end.
    pub fn current(&self) -> Tick {
        Tick(self.current)
    }

    /// Ticks confirmed: everybody has all inputs of them. Never goes back.
    pub fn confirmed(&self) -> Tick {
        Tick(self.confirmed)
    }

    /// Ticks played, once the end is confirmed.
    pub fn ended(&self) -> Option<Tick> {
        self.over.then_some(Tick(self.confirmed))
    }

    /// Whether every peer has confirmed the end as well, so that nobody needs this session any more.
    pub fn finished(&self) -> bool {
        self.over && self.listeners().0 == 0
    }

    /// All confirmed actions from tick 0, `[tick, seat]`, row-major; of AI seats, what their policies chose.
    pub fn rows(&self) -> &[Action] {
        self.inputs.rows(self.confirmed)
    }

    /// Digests of confirmed states, with the number of steps: every `tick_hz` ticks and at the end.
    pub fn digests(&self) -> &[(Tick, u64)] {
        &self.digests[..self.settled]
    }

    /// The tick that a press now would enter.
    pub fn input_tick(&self) -> Tick {
        Tick(
            self.config
                .local
                .map_or(self.current, |seat| self.inputs.have(seat.index())),
        )
    }

    /// Smoothed round trip to a seat, microseconds; 0 for none.
    pub fn rtt_us(&self, seat: Seat) -> u32 {
        self.links.get(seat.index()).map_or(0, |link| link.rtt_us)
    }

    /// What the session did so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The settings in force, after clamping.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The world as simulated so far.
    pub fn world(&mut self) -> &mut W {
        &mut self.world
    }

    /// The inside of [`Session::handle_datagram`].
    fn take_in(&mut self, bytes: &[u8]) -> Result<(), DatagramError> {
        self.incoming.decode_into(bytes, self.layout)?;
        let packet = &self.incoming;
        if packet.era != self.config.era {
            return Err(DatagramError::Era);
        }
        let from = packet.from.index();
        if !self.peers.contains(from) {
            return Err(DatagramError::Sender(packet.from));
        }
        let own = self.config.local.map(Seat::index);
        if let Some(own) = own.filter(|&own| packet.have[own].0 > self.inputs.have(own)) {
            return Err(DatagramError::Receipt(packet.have[own]));
        }
        // Two finished peers fall silent: only one that has not heard of the other's end asks on, without an echo.
        if self.over && self.links[from].done && packet.done && packet.echo.is_none() {
            self.due.0 |= 1 << from;
        }
        self.links[from].hear(self.now_us, packet);
        self.inputs.acknowledge(from, &packet.have);
        // An honest peer is at most the window and the delay beyond what it has from here.
        let limit = own.map_or(self.current, |own| self.inputs.have(own)) + 2 * MAX_INPUTS as u32;
        let received =
            self.inputs
                .receive(from, packet.first.0, &packet.inputs, self.current, limit);
        self.stats.predicted[from] += received.predicted;
        self.stats.mispredicted[from] += received.mispredicted;
        self.stats.equivocations += u64::from(received.equivocations);
        if let Some(tick) = received.wrong {
            self.roll_back(tick);
        }
        self.confirm();
        Ok(())
    }

    /// Whether the next tick may be simulated once it is due.
    fn may_run(&self) -> bool {
        self.end.is_none() && !self.is_full() && self.current < TICK_LIMIT - 2 * MAX_INPUTS as u32
    }

    /// Whether the prediction window is used up.
    fn is_full(&self) -> bool {
        self.current - self.confirmed >= u32::from(self.config.window)
    }

    /// The peers who still need packets.
    fn listeners(&self) -> Seats {
        let needs = |&peer: &usize| !(self.over && self.links[peer].done);
        match self.config.local {
            Some(_) => Seats(self.peers.iter().filter(needs).map(|peer| 1 << peer).sum()),
            None => Seats(0),
        }
    }

    /// Gives the local person's action the next free tick, unless an earlier run of this tick already did.
    fn sample(&mut self) {
        if let Some(local) = self.config.local.map(Seat::index)
            && self.inputs.have(local) <= self.current + u32::from(self.config.input_delay)
        {
            let action = self.presses.next();
            self.inputs.push(local, action);
        }
    }

    /// Simulates one tick with what is known, and predictions for the rest.
    fn simulate(&mut self) {
        let tick = self.current;
        if self.inputs.known() <= tick {
            self.save(self.slot(tick));
        }
        for seat in 0..usize::from(self.layout.seats) {
            let action = self.action(seat);
            self.inputs.set(tick, seat, action);
        }
        let over = self.world.step(self.inputs.row(tick)).over;
        self.current += 1;
        self.end = over.then_some(self.current);
        if over || self.current.is_multiple_of(u32::from(self.config.tick_hz)) {
            self.digests.push((Tick(self.current), self.world.digest()));
        }
    }

    /// The action of a seat for the next tick: known, predicted, or chosen by its policy now.
    fn action(&mut self, seat: usize) -> Action {
        if let Some(policy) = &mut self.partners[seat] {
            self.world.observe(seat, &mut self.observation);
            let action = policy.act(&self.observation);
            return if usize::from(action) < self.spec.actions.len() {
                action
            } else {
                self.spec.noop
            };
        }
        if !self.humans.contains(seat) {
            self.spec.noop
        } else if self.current < self.inputs.have(seat) {
            self.inputs.row(self.current)[seat]
        } else {
            (self.predictor)(&self.spec, Seat(seat as u8), self.inputs.last(seat))
        }
    }

    /// Goes back to before `tick` and simulates again up to where it was, or to an end on the way.
    fn roll_back(&mut self, tick: u32) {
        let target = self.current;
        self.load(self.slot(tick));
        self.current = tick;
        self.end = None;
        while self.digests.last().is_some_and(|(at, _)| at.0 > tick) {
            self.digests.pop();
        }
        while self.current < target && self.end.is_none() {
            self.simulate();
        }
        let depth = (target - tick) as u8;
        self.stats.rollbacks += 1;
        self.stats.max_depth = self.stats.max_depth.max(depth);
        self.stats.resimulated += u64::from(self.current - tick);
        self.report(Event::RolledBack {
            at: Tick(target),
            depth,
        });
    }

    /// Moves the confirmed end up to what everybody has.
    fn confirm(&mut self) {
        self.confirmed = self.inputs.shared().min(self.current).max(self.confirmed);
        while self
            .digests
            .get(self.settled)
            .is_some_and(|(at, _)| at.0 <= self.confirmed)
        {
            self.settled += 1;
        }
        if !self.over && self.end == Some(self.confirmed) {
            self.over = true;
            self.report(Event::Over {
                ticks: Tick(self.confirmed),
            });
        }
    }

    /// Notes when the window begins and ceases to keep a due tick waiting.
    fn watch_hold(&mut self) {
        let waits = self.end.is_none()
            && self.is_full()
            && self.schedule.due_us(self.current) <= self.now_us;
        match self.held {
            None if waits => {
                self.held = Some((self.current, self.now_us));
                self.report(Event::Held {
                    since: Tick(self.current),
                });
            }
            Some((tick, since_us)) if !waits => {
                let held_us = self.now_us.saturating_sub(since_us);
                self.held = None;
                self.stats.held_us += held_us;
                self.report(Event::Resumed {
                    since: Tick(tick),
                    held_ms: (held_us / 1_000) as u32,
                });
            }
            _ => {}
        }
    }

    fn report(&mut self, event: Event) {
        if self.events.len() == EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// The slot of the state before a tick. Rollbacks reach no further than the window.
    fn slot(&self, tick: u32) -> usize {
        (tick % (u32::from(self.config.window) + 1)) as usize
    }

    fn save(&mut self, slot: usize) {
        self.world.save(slot);
        self.partners
            .iter_mut()
            .flatten()
            .for_each(|policy| policy.save(slot));
    }

    fn load(&mut self, slot: usize) {
        self.world.load(slot);
        self.partners
            .iter_mut()
            .flatten()
            .for_each(|policy| policy.load(slot));
    }
}
