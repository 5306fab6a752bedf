//! The session: its data, its start, and its timing. The documentation of the crate explains it.

mod confirm;
mod guesses;
mod hands;
mod packets;
mod preview;
mod retrace;
mod simulate;
mod turns;

use std::collections::VecDeque;

use env_core::shared::{count_own_actions, is_mark};
use env_core::{Action, Policy, Spec, World};
use protocol::datagram::{Datagram, DatagramLayout, MAX_INPUTS, TICK_LIMIT};
use protocol::{Controller, Life, MAX_SEATS, Seat, Tick, digest_ticks};

use self::guesses::Guesses;
pub(crate) use self::preview::FORESEEN;
use crate::checkpoints::Checkpoints;
use crate::config::{Config, Predictor};
use crate::effects::{SessionEvent, Stats};
use crate::inputs::Inputs;
use crate::link::Link;
use crate::pace::Pace;
use crate::presses::Presses;
use crate::roster::{Hand, Roster, Seats};
use crate::schedule::Schedule;

/// The most due ticks that one call of `handle_timeout` runs, so that catching up leaves time for the page. Also the
/// lateness in periods from which on a call runs more than one tick, so that a slow page shows each tick as soon as it
/// can.
const BURST: u32 = 4;

/// Events that may wait to be polled; beyond, the oldest is dropped. A packet that brings a whole window of inputs
/// makes fewer.
const EVENTS: usize = 1 << 10;

/// An N-player rollback session that drives a world.
pub struct Session<W: World> {
    config: Config,
    spec: Spec,
    layout: DatagramLayout,
    world: W,
    roster: Roster,
    predictor: Predictor,
    schedule: Schedule,
    pub(crate) pace: Pace,
    /// The life of the local seat in which this session plays, and whether the seat now has another.
    life: Life,
    lost: bool,
    links: [Link; MAX_SEATS],
    inputs: Inputs,
    presses: Presses,
    pub(crate) now_us: u64,
    /// Ticks simulated.
    current: u32,
    /// Simulated ticks that no known input contradicts; the others will be simulated again.
    sound: u32,
    /// The most ticks simulated at any time.
    reached: u32,
    guesses: Guesses,
    /// Ticks that every person has all inputs for, and that are simulated here.
    confirmed: u32,
    /// Ticks that the server has made durable, by its last message: only these are final.
    durable: u32,
    /// Up to this tick the server has the same states, by its last message.
    agreed: u32,
    /// Ticks from one state that is kept with its digest to the next.
    spacing: u32,
    checkpoints: Checkpoints,
    /// Ticks after which the world said that it is over, predicted or not.
    end: Option<u32>,
    over: bool,
    /// Digests of simulated states; from `settled` on they may still be taken back.
    digests: Vec<(Tick, u64)>,
    settled: usize,
    /// The tick that waits for the window, and since when.
    held: Option<(u32, u64)>,
    /// The time at which packets last became due; `None` before the first tick.
    sent_us: Option<u64>,
    /// Peers to which a packet is due, and the first input of the next packet if it is not the first packet.
    due: Seats,
    cursor: [u32; MAX_SEATS],
    /// The first input of each seat that is in no frame yet.
    told: [u32; MAX_SEATS],
    events: VecDeque<SessionEvent>,
    stats: Stats,
    incoming: Datagram,
    outgoing: Datagram,
    buffer: Vec<u8>,
    observation: Vec<f32>,
}

impl<W: World> Session<W> {
    /// Begins an episode: resets the world and the partners. `partners` has one entry a seat, a policy for AI seats;
    /// an AI seat without one plays the no-op. Limits of [`Config`] are enforced by clamping.
    pub fn new(config: Config, world: W, mut partners: Vec<Option<Box<dyn Policy>>>) -> Self {
        let mut session = Self::at(config, world, 0, |seat, _| {
            partners.get_mut(seat).and_then(Option::take)
        });
        session.world.reset(session.config.seed);
        session.begin_checkpoints();
        session
    }

    /// Keeps the state that the session begins with.
    fn begin_checkpoints(&mut self) {
        // Partners that begin here have a state from now on, so memory for it is set aside.
        self.roster.begin(self.current, self.config.seed);
        let (world, roster) = (&mut self.world, &mut self.roster);
        self.checkpoints.begin(self.current, world, roster);
    }

    /// A session before tick `first`, whose world is not there yet.
    fn at(
        config: Config,
        world: W,
        first: u32,
        mut partner: impl FnMut(usize, &str) -> Option<Box<dyn Policy>>,
    ) -> Self {
        let mut spec = world.spec().clone();
        if config.rules.press {
            // A mark of a shared seat lasts: a person who gave the seat away takes it back only by another action.
            let own = count_own_actions(&spec);
            (spec.actions[..own].iter_mut()).for_each(|of| of.momentary = true);
        }
        let seats = usize::from(spec.seats).min(MAX_SEATS);
        let config = config.clamp_settings(seats);
        let roster = Roster::new((0..seats).map(|seat| {
            let controller = config.controllers.get(seat).unwrap_or(&Controller::Vacant);
            let partner = match controller {
                Controller::Ai { policy } => partner(seat, policy),
                Controller::Human | Controller::Vacant => None,
            };
            Hand::new(controller, partner)
        }));
        let mut inputs = Inputs::new(seats, first, config.input_delay, spec.noop);
        inputs.reserve(spec.horizon, 3 * MAX_INPUTS);
        let spacing = digest_ticks(config.tick_hz);
        let digests = (spec.horizon / spacing).min(1 << 14) as usize;
        Self {
            layout: DatagramLayout {
                seats: seats as u8,
                actions: spec.actions.len().try_into().unwrap_or(u16::MAX),
            },
            world,
            predictor: |spec, _, last| spec.predict(last),
            schedule: Schedule::new(config.t0_us, config.tick_hz),
            pace: Pace::default(),
            life: Life(0),
            lost: false,
            links: [Link::default(); MAX_SEATS],
            told: std::array::from_fn(|seat| inputs.known_through(seat)),
            inputs,
            presses: Presses::new(spec.noop),
            now_us: 0,
            current: first,
            sound: first,
            reached: first,
            guesses: Guesses::new(seats, config.window),
            confirmed: first,
            durable: first,
            agreed: first,
            spacing,
            checkpoints: Checkpoints::default(),
            end: None,
            over: false,
            digests: Vec::with_capacity(digests + 64),
            settled: 0,
            held: None,
            sent_us: None,
            due: Seats(0),
            cursor: [0; MAX_SEATS],
            events: VecDeque::with_capacity(EVENTS),
            stats: Stats::default(),
            incoming: Datagram::default(),
            outgoing: Datagram::default(),
            buffer: Vec::with_capacity(protocol::datagram::MAX_DATAGRAM),
            observation: Vec::with_capacity(spec.observation_len()),
            roster,
            spec,
            config,
        }
    }

    /// Replaces the predictor, which is [`Spec::predict`] at first. Peers need not have the same one.
    pub fn with_predictor(mut self, predictor: Predictor) -> Self {
        self.predictor = predictor;
        self
    }

    /// Takes the action that the local person wants now. A lasting one holds until replaced and enters at least one
    /// tick; a momentary one enters exactly one. Before the first tick of the person is due, only the action that is
    /// held until then counts. Returns the first tick that it enters; `None` if it changes nothing, or if too many
    /// presses wait already.
    ///
    /// In turns, it is the choice for the next tick, and counts if the person has a choice: [`Session::is_own_turn`].
    pub fn handle_action(&mut self, now_us: u64, action: Action) -> Option<Tick> {
        self.now_us = now_us;
        if self.config.rules.turns {
            return self.take_turn(action);
        }
        let mut before = self.presses.add_press(action, &self.spec);
        if now_us < self.schedule.due_us(0) || self.is_waiting_for_seat() {
            self.presses.forget();
            before = before.and((self.presses.held_action() == action).then_some(0));
        }
        before.map(|before| Tick(self.input_tick().0 + before as u32))
    }

    /// True if an action stands for the choice of an AI partner; see [`env_core::shared`].
    pub fn is_mark(&self, action: Action) -> bool {
        is_mark(&self.spec, action)
    }

    /// Runs the ticks that are due, a few at most, and makes packets go out at the tick rate, held or not. Call it at
    /// [`Session::poll_timeout`], and again immediately if that time has passed: a page that is late again and again
    /// counts as one that cannot keep up, and all others wait for it.
    pub fn handle_timeout(&mut self, now_us: u64) {
        self.now_us = now_us;
        self.resimulate();
        self.confirm_ticks();
        self.take_turns();
        self.take_rest();
        self.keep_pace();
        let behind = self.lateness_us().unwrap_or(0) / self.period_us();
        let burst = if behind < u64::from(BURST) { 1 } else { BURST };
        let mut ran = 0;
        while ran < burst && self.lateness_us().is_some() {
            self.sample_action();
            self.simulate_next();
            self.confirm_ticks();
            self.note_ran();
            ran += 1;
        }
        self.watch_hold();
        let period_us = self.schedule.period_us();
        if ran > 0
            || self
                .sent_us
                .is_some_and(|sent_us| now_us >= sent_us.saturating_add(period_us))
        {
            self.send_all();
        }
    }

    /// Makes packets due immediately instead of with the next tick: this page may be about to close, and the others can
    /// continue only as far as its last receipts allow.
    pub fn flush(&mut self, now_us: u64) {
        if self.sent_us.is_some() {
            self.now_us = now_us;
            self.send_all();
        }
    }

    fn send_all(&mut self) {
        self.sent_us = Some(self.now_us);
        self.send_to(self.listeners());
    }

    /// The next event, if any.
    pub fn poll_event(&mut self) -> Option<SessionEvent> {
        self.events.pop_front()
    }

    /// The time at which `handle_timeout` wants to be called next, shared clock, microseconds, and its reason; `None`
    /// if not at all.
    pub fn poll_timeout(&self) -> Option<(u64, &'static str)> {
        if self.may_run() && !self.config.rules.turns {
            Some((self.schedule.due_us(self.current), "tick"))
        } else if self.listeners().0 == 0 {
            None
        } else {
            let sent_us = self.sent_us.unwrap_or(self.config.t0_us);
            let again_us = sent_us.saturating_add(self.schedule.period_us());
            Some((again_us, "packets to send again"))
        }
    }

    /// Ticks simulated. Goes back only when a rollback finds an earlier end.
    pub fn current(&self) -> Tick {
        Tick(self.current)
    }

    /// Confirmed ticks: everybody has all their inputs. The number decreases only when the server cuts a seat before
    /// them.
    pub fn confirmed(&self) -> Tick {
        Tick(self.confirmed)
    }

    /// Ticks played, once the end is confirmed.
    pub fn ended(&self) -> Option<Tick> {
        self.over.then_some(Tick(self.confirmed))
    }

    /// True if every peer has confirmed the end as well, so that nobody needs this session any more.
    pub fn finished(&self) -> bool {
        self.over && self.listeners().0 == 0
    }

    /// The first tick that this session knows: 0, or where it was resumed.
    pub fn first_tick(&self) -> Tick {
        Tick(self.inputs.first())
    }

    /// Ticks that no longer change: the server has made them durable, by its last message, and they are the same here.
    pub fn settled(&self) -> Tick {
        Tick(self.agreed.min(self.durable).min(self.confirmed))
    }

    /// Returns the inputs of the local person from a tick on, and the tick of the first: this page's own statement
    /// about them. Empty without a person, and for ticks in which the person did not play.
    pub fn own_inputs(&self, first: Tick) -> (Tick, impl Iterator<Item = Action>) {
        let local = self.config.local.filter(|_| self.local().is_some());
        let seat = local.map_or(0, Seat::index);
        let first = first
            .0
            .max(self.inputs.first())
            .max(self.roster.start(seat));
        let end = local.map_or(first, |_| self.inputs.known_through(seat));
        (Tick(first), self.inputs.column(seat, first, end))
    }

    /// All confirmed actions from [`Session::first_tick`] on, `[tick, seat]`, row-major; of AI seats, what their
    /// policies chose, of vacant seats the no-op.
    pub fn rows(&self) -> &[Action] {
        self.inputs.rows(self.confirmed)
    }

    /// Digests of confirmed states after [`Session::first_tick`], with the number of steps: every [`digest_ticks`] and
    /// at the end.
    pub fn digests(&self) -> &[(Tick, u64)] {
        &self.digests[..self.settled]
    }

    /// The facts that packets of this episode leave out.
    pub fn layout(&self) -> DatagramLayout {
        self.layout
    }

    /// The life of a seat, as far as known.
    pub fn life(&self, seat: Seat) -> Life {
        self.roster.life(seat.index())
    }

    /// The tick that a press now would enter.
    pub fn input_tick(&self) -> Tick {
        Tick(
            self.config
                .local
                .map_or(self.current, |seat| self.inputs.known_through(seat.index())),
        )
    }

    /// How much later than at first ticks are due, milliseconds.
    pub fn delay_ms(&self) -> u32 {
        self.schedule.delay_ms()
    }

    /// How many changes of seats are known: the number of the next one.
    pub fn changes(&self) -> u16 {
        self.roster.changes()
    }

    /// Smoothed round trip to a seat, microseconds; 0 for none.
    pub fn rtt_us(&self, seat: Seat) -> u32 {
        self.links.get(seat.index()).map_or(0, |link| link.rtt_us)
    }

    /// Counts of the session's work so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The settings in force, after clamping.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The world as simulated so far, with all that is known.
    pub fn world(&mut self) -> &mut W {
        self.resimulate();
        &mut self.world
    }

    /// The local seat, as long as it is played here.
    fn local(&self) -> Option<usize> {
        let local = self.config.local.filter(|_| !self.lost)?;
        Some(local.index()).filter(|&seat| self.roster.people().contains(seat))
    }

    /// The people at the other ends.
    fn peers(&self) -> Seats {
        self.roster.people().without_seat(self.config.local)
    }

    /// True if the local person has a seat, but only from a tick to come.
    fn is_waiting_for_seat(&self) -> bool {
        self.local().is_some_and(|seat| {
            let have = self.inputs.known_through(seat);
            let sampled = self.current + u32::from(self.config.input_delay);
            have == self.roster.start(seat) && have > sampled
        })
    }

    /// True if the next tick may be simulated once it is due.
    pub(crate) fn may_run(&self) -> bool {
        let is_on = self.end.is_none() && !self.lost;
        is_on && !self.is_full() && self.current < TICK_LIMIT - 2 * MAX_INPUTS as u32
    }

    /// True if the prediction window is used up.
    fn is_full(&self) -> bool {
        self.current - self.confirmed >= u32::from(self.config.window)
    }

    /// The peers who still need packets.
    fn listeners(&self) -> Seats {
        let needs = |&peer: &usize| !(self.over && self.links[peer].done);
        match self.local() {
            Some(_) => {
                let needy = self.peers().iter().filter(needs);
                needy.fold(Seats(0), Seats::with_seat)
            }
            None => Seats(0),
        }
    }

    /// When the next tick is due.
    pub(crate) fn due_us(&self) -> u64 {
        self.schedule.due_us(self.current)
    }

    pub(crate) fn period_us(&self) -> u64 {
        self.schedule.period_us()
    }

    /// True if ticks are due later now.
    pub(crate) fn set_delay(&mut self, delay_ms: u32) -> bool {
        self.schedule.put_off(delay_ms)
    }

    /// How long the window has kept a due tick waiting.
    pub(crate) fn held_us(&self) -> Option<u64> {
        let (_, since_us) = self.held?;
        Some(self.now_us.saturating_sub(since_us))
    }

    /// True if the local person gives the inputs of the next tick.
    pub(crate) fn is_playing(&self) -> bool {
        self.local()
            .is_some_and(|seat| self.roster.start(seat) <= self.current)
    }

    /// Notes when the window begins and ceases to keep a due tick waiting.
    fn watch_hold(&mut self) {
        let waits =
            self.end.is_none() && !self.lost && self.is_full() && self.due_us() <= self.now_us;
        if let Some((tick, since_us)) = self.held
            && (!waits || self.current > tick)
        {
            let held_us = self.now_us.saturating_sub(since_us);
            self.held = None;
            self.stats.held_us += held_us;
            self.report(SessionEvent::Resumed {
                since: Tick(tick),
                held_ms: (held_us / 1_000) as u32,
            });
        }
        if waits && self.held.is_none() {
            self.held = Some((self.current, self.now_us));
            self.report(SessionEvent::Held {
                since: Tick(self.current),
            });
        }
    }

    pub(crate) fn report(&mut self, event: SessionEvent) {
        report(&mut self.events, event);
    }
}

fn report(events: &mut VecDeque<SessionEvent>, event: SessionEvent) {
    if events.len() == EVENTS {
        events.pop_front();
    }
    events.push_back(event);
}
