//! One page's part in an episode: it handles its inputs one after the other, never nested.

mod beat;
mod hosted;
mod person;
mod seat;
mod status;
mod turn;

use env_core::{Policy, Spec, World};
use policy::Partners;
use protocol::chain::SigningKey;
use protocol::change::{Change, Presence};
use protocol::control::{
    ClientMessage, EndReason, Link, Misprediction, Plan, Return, ServerMessage,
};
use protocol::datagram::{Datagram, DatagramLayout};
use protocol::{Controller, EnvWay, Era, Life, Seat, Tick};
use rollback::{Config, Session, SessionEvent};

use crate::effects::{Effect, Now, Verdict};
use crate::net::Net;
use crate::recorder::{Recorder, SharedRecorder};
use crate::seals::Seals;
use hosted::HostedPlay;
pub use hosted::ShownView;
use person::Person;

/// A page that was not called for this long slept, and heard nobody because of that, microseconds.
const SLEPT_US: u64 = 200_000;
/// Pause between two questions for the lost seat, microseconds.
const TAKE_BACK_US: u64 = 2_000_000;
/// The wait for the last picture of an episode before the end is reported.
const LAST_FRAME_US: u64 = 200_000;

/// The world, as far as it is loaded.
enum Stage<W: World> {
    /// Nothing yet.
    Loading,
    /// The world, and whether the server knows that this page is ready.
    Linking(W, bool),
    /// The world in a session.
    Playing(Box<Session<W>>),
    /// A world that a host steps.
    Hosted(Box<HostedPlay<W>>),
    /// Nothing any more: somebody or something else plays.
    Lost,
    /// Nothing any more: it cannot be played here.
    Stopped,
}

/// One page's part in an episode; the documentation of the crate says how to use it.
pub struct Peer<W: World> {
    plan: Plan,
    net: Net,
    recorder: SharedRecorder,
    seals: Seals,
    stage: Stage<W>,
    person: Person,
    /// Presence of people by the server's last message, and the time at which the server decides on those who stay
    /// away, page clock.
    presence: Vec<(Seat, Presence, Option<u64>)>,
    /// Parts of a state that came ahead of it.
    parts: Vec<u8>,
    partners: Partners,
    t0_us: u64,
    /// The tick from which on this page's person plays.
    plays_from: Tick,
    /// Width and height of the picture, pixels of the screen; 0 before it is laid out.
    picture_size: [u16; 2],
    is_hidden: bool,
    may_upload: bool,
    /// Since when the session waits, page clock.
    held_us: Option<u64>,
    called_us: u64,
    beat_us: u64,
    /// When the next upload is due, if the last one is answered, and if it is not, page clock.
    upload_us: (u64, u64),
    chunk_us: u64,
    rtt_us: u64,
    take_back_us: u64,
    is_fault_told: bool,
    /// Since when the episode is over, page clock, and whether its last state was viewed.
    over_us: Option<u64>,
    is_end_viewed: bool,
    verdict: Option<Verdict>,
    /// In turns with a limit: the tick that the person here chooses for, and since when, page clock.
    turn: Option<(Tick, u64)>,
}

impl<W: World> Peer<W> {
    /// Begins to link up; the world is given later.
    /// `key` signs the inputs of the person here.
    pub fn new(plan: Plan, key: SigningKey, now: Now) -> Self {
        let seats = plan.controllers.len() as u8;
        let count = plan.controllers.len();
        let seals = Seals::new(key.clone(), &plan.episode, plan.era, plan.seat, count);
        let recorder = Recorder::new(key, &plan.episode, plan.era, plan.seat, plan.life, seats);
        Self {
            net: Net::new(&connected_by(&plan), now.page_us),
            recorder: SharedRecorder::new(recorder),
            seals,
            stage: Stage::Loading,
            person: Person::default(),
            presence: Vec::new(),
            parts: Vec::new(),
            partners: Partners::default(),
            t0_us: 0,
            plays_from: Tick(0),
            picture_size: [0; 2],
            is_hidden: false,
            may_upload: false,
            held_us: None,
            called_us: now.page_us,
            beat_us: now.page_us,
            upload_us: (0, 0),
            chunk_us: 0,
            rtt_us: 0,
            take_back_us: 0,
            is_fault_told: false,
            over_us: None,
            is_end_viewed: false,
            verdict: None,
            turn: None,
            plan,
        }
    }

    /// The episode.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the episode and life that the page names when it comes back to the server; `None` if only a
    /// [`ServerMessage::Match`] helps.
    pub fn life_in_play(&self) -> Option<(Era, Life)> {
        let simulates = match self.stage {
            Stage::Playing(_) | Stage::Hosted(_) => true,
            Stage::Loading | Stage::Linking(..) => !self.plan.running,
            Stage::Lost | Stage::Stopped => false,
        };
        (simulates && self.verdict.is_none()).then_some((self.plan.era, self.plan.life))
    }

    /// The records that must not be lost, for a page that fails.
    pub fn recorder(&self) -> SharedRecorder {
        self.recorder.clone()
    }

    /// The session, for reports.
    pub fn session(&self) -> Option<&Session<W>> {
        match &self.stage {
            Stage::Playing(session) => Some(session),
            _ => None,
        }
    }

    /// The session, for reports that ask the world.
    pub fn session_mut(&mut self) -> Option<&mut Session<W>> {
        match &mut self.stage {
            Stage::Playing(session) => Some(session),
            _ => None,
        }
    }

    /// The next thing that the shell has to do.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.net.poll_effect()
    }

    /// The time at which [`Peer::handle_timeout`] is due at the latest, page clock, microseconds, and its reason.
    pub fn poll_timeout(&self, now: Now) -> (u64, &'static str) {
        let beat = (self.beat_us, "beat");
        let session = self.session().filter(|_| !self.is_cut_short());
        match session.and_then(Session::poll_timeout) {
            Some((due_us, reason)) => beat.min((now.page_us_of(due_us), reason)),
            None => beat,
        }
    }

    /// Takes the loaded networks of [`Plan::networks`]; called before the world is given.
    pub fn handle_partners(&mut self, partners: Partners) {
        self.partners = partners;
    }

    /// The module is loaded.
    pub fn handle_world(&mut self, now: Now, mut world: W) {
        if !matches!(self.stage, Stage::Loading) {
            return;
        }
        let spec = world.spec().clone();
        let seats = self.plan.controllers.len();
        if usize::from(spec.seats) != seats {
            let message = format!("the module has {} seats, the plan {seats}", spec.seats);
            return self.stop(message);
        }
        self.net.probe(DatagramLayout {
            seats: spec.seats,
            actions: spec.actions.len() as u16,
        });
        world.reset(self.plan.seed);
        self.stage = Stage::Linking(world, false);
        self.beat(now);
    }

    /// A message of the server; one about another episode is late and void.
    pub fn handle_message(&mut self, now: Now, message: ServerMessage) {
        self.net.heard_server(now.page_us);
        if message.era().is_some_and(|era| era != self.plan.era) {
            return;
        }
        match message {
            ServerMessage::Start {
                t0_us, input_delay, ..
            } => self.start(now, t0_us, input_delay),
            ServerMessage::Return(back) => self.come_back(now, back),
            ServerMessage::Part { bytes, .. } => self.parts.extend(bytes),
            ServerMessage::Running {
                through,
                own,
                changes,
                ..
            } => self.handle_running(now, through, own, &changes),
            ServerMessage::Archived {
                through,
                own,
                agreed,
                notes,
                ..
            } => {
                let mut recorder = self.recorder.lock();
                recorder.handle_archived(own, notes);
                recorder.handle_agreed(agreed);
                drop(recorder);
                if let Some(session) = self.session_mut() {
                    session.handle_durable(through, agreed);
                }
            }
            ServerMessage::Inputs {
                seat,
                life,
                first,
                inputs,
                ..
            } => {
                self.seals.compare(seat, life, first, &inputs);
                if let Some(session) = self.session_mut() {
                    session.handle_inputs(now.server_us, seat, life, first, &inputs);
                }
            }
            ServerMessage::Recheck { number, agreed, .. } => {
                // The digests are those of the states after all inputs that came before this.
                self.settle(now);
                self.recorder.lock().handle_recheck(number, agreed);
            }
            ServerMessage::View(view) => self.take_view(now, view),
            ServerMessage::Pointed { number, action, .. } => self.take_pointed(number, action),
            ServerMessage::Relay { from, bytes } => self.take(now, from, Link::Relay, &bytes),
            ServerMessage::Change { change, .. } => self.handle_change(now, &change),
            ServerMessage::Peer {
                seat,
                presence,
                left_ms,
                ..
            } => {
                let until_us = now.page_us + u64::from(left_ms) * 1_000;
                self.presence.retain(|(of, ..)| *of != seat);
                self.presence
                    .push((seat, presence, (left_ms > 0).then_some(until_us)));
            }
            ServerMessage::Ended {
                reason,
                ticks,
                score,
                digest,
                ..
            } => {
                self.verdict = Some(Verdict {
                    reason,
                    ticks,
                    score,
                    digest,
                });
            }
            _ => {}
        }
        self.settle(now);
    }

    /// A datagram came over the data channel to a seat.
    pub fn handle_datagram(&mut self, now: Now, from: Seat, bytes: &[u8]) {
        self.take(now, from, Link::Direct, bytes);
        self.settle(now);
    }

    /// The page of a seat has begun to build a data channel: this one lets it try.
    pub fn handle_channel_begun(&mut self, now: Now, seat: Seat) {
        self.net.channel_begun(now.page_us, seat);
    }

    /// The data channel to a seat opened, or closed, or will not open.
    pub fn handle_channel(&mut self, now: Now, seat: Seat, open: bool) {
        if open || !self.is_done() {
            self.net.handle_channel(now.page_us, seat, open);
        }
    }

    /// True once this page has the whole episode. Pages that have it leave, so a channel that closes or falls silent
    /// says nothing about the link any more; the remaining messages go through the server as well.
    fn is_done(&self) -> bool {
        let session = self.session();
        self.verdict.is_some() || session.is_some_and(|session| session.ended().is_some())
    }

    /// Handles that the server has let this page in again, or that the connection to it is gone; the match continues.
    pub fn handle_connection(&mut self, now: Now, open: bool) {
        self.net.handle_connection(now.page_us, open);
        self.may_upload = false;
        if self.is_hosted() {
            // Without the server nothing moves.
            self.held_us = (!open).then(|| self.held_us.unwrap_or(now.page_us));
        }
        // The server may have missed that this page was ready, or hidden. A page on its way back into a running episode
        // begins again.
        if let Stage::Linking(_, is_ready) = &mut self.stage {
            *is_ready = self.plan.running;
        }
        if self.is_hidden {
            self.tell_hidden();
        }
        self.take_back_us = now.page_us + TAKE_BACK_US;
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Now) {
        if now.page_us.saturating_sub(self.called_us) > SLEPT_US {
            self.net.listen_from(now.page_us);
        }
        self.called_us = now.page_us;
        let is_cut_short = self.is_cut_short();
        if let Some(session) = self.session_mut().filter(|_| !is_cut_short) {
            session.handle_timeout(now.server_us);
        }
        self.keep_turn(now);
        self.settle(now);
        if now.page_us >= self.beat_us {
            self.beat(now);
        }
    }

    /// Immediately reports to the server what is confirmed, and to the others what came from them: the page may be
    /// about to close, or to be replaced by the next peer.
    pub fn flush(&mut self, now: Now) {
        // After the verdict nobody plays on.
        if let (Stage::Playing(session), None) = (&mut self.stage, self.verdict) {
            session.flush(now.server_us);
            while let Some(packet) = session.poll_transmit() {
                self.net.send(now.page_us, packet.to, packet.bytes);
            }
        }
        self.person.tell_unseen(&mut self.recorder.lock());
        (self.upload_us, self.chunk_us) = ((0, 0), 0);
        self.upload(now);
    }

    /// A datagram came, one way or the other.
    fn take(&mut self, now: Now, from: Seat, over: Link, bytes: &[u8]) {
        if !self.net.has_other(from) {
            return;
        }
        if !self.is_done() {
            self.net.handle_heard(now.page_us, from, over);
        }
        if self.seals.take_seal(from, bytes) {
            return;
        }
        match &mut self.stage {
            // What is refused is counted in the statistics.
            Stage::Playing(session) => {
                if session.handle_datagram(now.server_us, from, bytes).is_ok()
                    && let Ok(packet) = Datagram::decode(bytes, session.layout())
                {
                    self.seals.record_packet(from, &packet);
                }
            }
            Stage::Linking(..) => self.net.measure(now, from, over, bytes),
            Stage::Loading | Stage::Hosted(_) | Stage::Lost | Stage::Stopped => {}
        }
    }

    /// Sends and notes the output of the session after a call.
    fn settle(&mut self, now: Now) {
        let Stage::Playing(session) = &mut self.stage else {
            return self.settle_hosted(now);
        };
        while let Some(packet) = session.poll_transmit() {
            self.net.send(now.page_us, packet.to, packet.bytes);
        }
        let mut recorder = self.recorder.lock();
        let mut is_lost = false;
        while let Some(event) = session.poll_event() {
            match event {
                SessionEvent::RolledBack { at, depth } => {
                    recorder.timing().rollbacks.push((at, depth))
                }
                SessionEvent::Mispredicted {
                    seat,
                    tick,
                    predicted,
                    actual,
                    shown_us,
                } => recorder.timing().mispredictions.push(Misprediction {
                    seat,
                    tick,
                    predicted,
                    actual,
                    shown_ms: if self.is_hidden {
                        0
                    } else {
                        (shown_us / 1_000) as u32
                    },
                }),
                SessionEvent::Held { .. } => self.held_us = Some(now.page_us),
                SessionEvent::Resumed { since, held_ms } => {
                    self.held_us = None;
                    recorder.timing().holds.push((since, held_ms));
                }
                SessionEvent::Delayed { tick, delay_ms } => {
                    recorder.timing().delays.push((tick, delay_ms))
                }
                SessionEvent::Lost { .. } => is_lost = true,
                SessionEvent::Over { ticks } => {
                    self.person.record_shown(&mut recorder, ticks);
                    self.over_us = Some(now.page_us);
                }
            }
        }
        // The server takes nothing after the end, so the end is reported once the last picture was presented.
        let told = self.over_us.filter(|over_us| {
            let presented = self.is_hidden || self.is_end_viewed && self.person.has_seen_all();
            presented || now.page_us >= over_us + LAST_FRAME_US
        });
        let ended = session.ended().filter(|_| told.is_some());
        if let Some(ticks) = ended.filter(|_| !recorder.has_ended()) {
            self.person.record_over(&mut recorder, ticks);
            (self.upload_us, self.chunk_us) = ((0, 0), 0);
        }
        let (_, inputs) = session.own_inputs(recorder.next_needed());
        recorder.add_inputs(inputs);
        let (_, inputs) = session.own_inputs(self.seals.next_needed());
        self.seals.add_inputs(inputs);
        recorder.record_confirmed(session.changes(), session.digests(), ended);
        drop(recorder);
        if let Some(seal) = self.seals.poll_seal(now.page_us) {
            self.net.send_to_all(now.page_us, &seal);
        }
        while let Some(recount) = self.seals.poll_recount() {
            let era = self.plan.era;
            self.net
                .send_to_server(ClientMessage::Recount { era, recount });
        }
        if is_lost {
            self.handle_seat_lost(now);
        }
    }

    /// True if the episode ended otherwise than by its own rules: nobody continues, wherever they are.
    fn is_cut_short(&self) -> bool {
        self.verdict
            .is_some_and(|verdict| verdict.reason != EndReason::Played)
    }

    /// Nothing can be played here.
    fn stop(&mut self, message: String) {
        self.net.send_to_server(ClientMessage::Trouble { message });
        self.stage = Stage::Stopped;
    }
}

/// The plan as far as connections to other pages go: an episode on a host has none.
fn connected_by(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    if plan.way == EnvWay::Host {
        plan.controllers.fill(Controller::Vacant);
    }
    plan
}
