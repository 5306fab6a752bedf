//! One episode on this page: module, session, links, keys, picture and uploads, each fed by the others.
//!
//! The clockwork is [`Play::tick`]; it is called by the Worker, hidden page or not. Drawing follows the screen and
//! decides nothing. This module must not know of stages.

mod input;
mod report;

use std::cell::RefCell;
use std::rc::Rc;

use env_core::{Action, Policy, Spec, World};
use protocol::control::{ClientMessage, EndReason, KeyEvent, Link, Plan};
use protocol::datagram::Layout;
use protocol::{Controller, Era, Seat, Tick};
use rollback::{Config, Event, Session};

use crate::dom;
use crate::keys::Keys;
use crate::module::Module;
use crate::net::Net;
use crate::post::Post;
use crate::scene::{Badge, Scene};
use crate::sentences;
use crate::socket::Socket;
use crate::view::View;
use peer::recorder::Recorder;

/// Pause between uploads, microseconds.
const UPLOAD_US: u64 = 250_000;
/// Pause between round trips in the timing, microseconds.
const RTT_US: u64 = 1_000_000;
/// A hold is told to the person after this long, microseconds.
const HOLD_US: u64 = 300_000;
/// A hold of this length puts the data channels in doubt, microseconds.
const DOUBT_US: u64 = 1_000_000;
/// A peer that was not heard for this long is shown as lost, microseconds.
const LOST_US: u64 = 1_500_000;

/// What every step of the clockwork needs to know.
pub(crate) struct Now<'a> {
    /// The page's clock, microseconds.
    pub(crate) page_us: u64,
    /// The server's clock, microseconds.
    pub(crate) server_us: u64,
    /// Whether the server's clock is known well enough to start by.
    pub(crate) is_set: bool,
    /// The way to the server.
    pub(crate) socket: &'a Socket,
}

impl Now<'_> {
    /// A moment of the server's clock on the page's, milliseconds.
    fn page_ms(&self, server_us: u64) -> f64 {
        let ahead = server_us.wrapping_sub(self.server_us).cast_signed();
        (self.page_us as f64 + ahead as f64) / 1_000.0
    }

    /// A moment of the page's clock on the server's, microseconds since `t0_us`.
    fn since(&self, t0_us: u64, page_ms: f64) -> i64 {
        let ago = self.page_us as i64 - (page_ms * 1_000.0) as i64;
        self.server_us.wrapping_sub(t0_us).cast_signed() - ago
    }
}

/// A key event whose answer is not on the screen yet.
struct Unseen {
    event: KeyEvent,
    drawn: bool,
}

/// The server's word on the end.
pub(crate) struct Verdict {
    /// Why it ended.
    pub(crate) reason: EndReason,
    /// Ticks in the archive.
    pub(crate) ticks: Tick,
    /// Score, from the replica.
    pub(crate) score: i64,
    /// Digest of the replica's last state.
    pub(crate) digest: u64,
}

/// An episode.
pub(crate) struct Play {
    post: Post,
    plan: Plan,
    /// The page.
    pub(crate) scene: Scene,
    net: Net,
    keys: Keys,
    spec: Option<Spec>,
    module: Option<Module>,
    session: Option<Session<Module>>,
    view: Option<View>,
    recorder: Rc<RefCell<Recorder>>,
    is_ready: bool,
    /// How packets travel, or travelled when they last did.
    link: Option<Link>,
    t0_us: u64,
    may_upload: bool,
    upload_us: u64,
    rtt_us: u64,
    held_us: Option<u64>,
    hidden: Option<Tick>,
    unseen: Vec<Unseen>,
    is_playable: bool,
    /// Whether the environment broke down, and the server was told.
    is_stopped: bool,
    advisor: Option<Box<dyn Policy>>,
    advised: Option<(Tick, Tick)>,
    verdict: Option<Verdict>,
}

impl Play {
    /// Begins to link up and shows the page; the module is given later.
    pub(crate) fn new(post: Post, plan: Plan, page_us: u64) -> Self {
        let scene = Scene::new(&partner_name(&plan));
        let net = Net::new(&plan, page_us);
        let recorder = Rc::new(RefCell::new(Recorder::new(
            plan.era,
            plan.controllers.len() as u8,
        )));
        Self {
            post,
            plan,
            scene,
            net,
            keys: Keys::default(),
            spec: None,
            module: None,
            session: None,
            view: None,
            recorder,
            is_ready: false,
            link: None,
            t0_us: 0,
            may_upload: false,
            upload_us: 0,
            rtt_us: 0,
            held_us: None,
            hidden: None,
            unseen: Vec::new(),
            is_playable: false,
            is_stopped: false,
            advisor: None,
            advised: None,
            verdict: None,
        }
    }

    /// The episode.
    pub(crate) fn era(&self) -> Era {
        self.plan.era
    }

    /// What must not be lost.
    pub(crate) fn recorder(&self) -> Rc<RefCell<Recorder>> {
        Rc::clone(&self.recorder)
    }

    /// Whether keys belong to the world now.
    pub(crate) fn takes_keys(&self) -> bool {
        self.session
            .as_ref()
            .is_some_and(|session| session.ended().is_none())
            && self.verdict.is_none()
    }

    /// The action of a key.
    pub(crate) fn action_of(&self, code: &str) -> Option<Action> {
        self.keys.action_of(code)
    }

    /// The first key of an action.
    pub(crate) fn key_for(&self, action: Action) -> Option<String> {
        self.keys.keys_of(action).next().map(str::to_owned)
    }

    /// Whether the server's word on the end is there.
    pub(crate) fn is_judged(&self) -> bool {
        self.verdict.is_some()
    }

    /// The module is there: shows the first state.
    ///
    /// # Errors
    /// A sentence for the log.
    pub(crate) fn loaded(&mut self, mut module: Module) -> Result<(), String> {
        let spec = module.spec().clone();
        if usize::from(spec.seats) != self.plan.controllers.len() {
            return Err(format!(
                "the module has {} seats, the plan {}",
                spec.seats,
                self.plan.controllers.len()
            ));
        }
        self.keys = Keys::new(&spec, &self.plan.keys);
        self.scene.explain(&self.post, &spec, &self.keys);
        self.net.probe(Layout {
            seats: spec.seats,
            actions: spec.actions.len() as u16,
        });
        let canvas = self.scene.canvas.clone();
        let mut view = View::new(canvas, &module.facts().sprites, self.plan.seat.index())
            .map_err(|error| format!("{error:?}"))?;
        module.reset(self.plan.seed);
        module.draw(view.list());
        let now_ms = dom::page_ms();
        view.aim(now_ms, now_ms);
        self.scene
            .figures(module.score(), left_ms(&spec, self.plan.tick_hz, 0));
        (self.view, self.spec, self.module) = (Some(view), Some(spec), Some(module));
        Ok(())
    }

    /// Everyone is ready.
    pub(crate) fn start(&mut self, now: &Now, t0_us: u64, input_delay: u8) -> Result<(), String> {
        let Some(module) = self.module.take() else {
            return Ok(());
        };
        let spec = module.spec();
        let mut partners = Vec::new();
        for controller in &self.plan.controllers {
            partners.push(match controller {
                Controller::Human | Controller::Vacant => None,
                Controller::Ai { policy } => Some(
                    policy::by_name(policy, spec)
                        .ok_or_else(|| format!("there is no policy {policy} here"))?,
                ),
            });
        }
        let config = Config {
            era: self.plan.era,
            local: Some(self.plan.seat),
            controllers: self.plan.controllers.clone(),
            seed: self.plan.seed,
            tick_hz: self.plan.tick_hz,
            input_delay,
            window: self.plan.window,
            t0_us,
        };
        self.session = Some(Session::new(config, module, partners));
        (self.t0_us, self.may_upload) = (t0_us, true);
        self.hidden = dom::document().hidden().then_some(Tick(0));
        self.refresh(now);
        Ok(())
    }

    /// The server takes uploads of this episode, and has everything before this tick.
    pub(crate) fn running(&mut self, through: Tick) {
        self.recorder.borrow_mut().resume(through);
        self.may_upload = true;
    }

    /// Confirmed play is durable.
    pub(crate) fn archived(&mut self, through: Tick) {
        self.recorder.borrow_mut().archived(through);
    }

    /// The connection to the server is gone; the match goes on.
    pub(crate) fn disconnected(&mut self) {
        self.may_upload = false;
    }

    /// The server is back. It may have missed that this page was ready.
    pub(crate) fn reconnected(&mut self) {
        self.is_ready = self.session.is_some();
    }

    /// The episode is over.
    pub(crate) fn judged(&mut self, verdict: Verdict) {
        self.keys.release_all();
        let sentence = match sentences::early_end(verdict.reason) {
            Some(sentence) => sentence.to_owned(),
            None => format!("Well played! Your score: {}.", verdict.score),
        };
        self.verdict = Some(verdict);
        self.scene.outcome(&self.post, &sentence);
    }

    /// Takes a signal from a peer.
    pub(crate) fn signal(&mut self, from: Seat, data: &str) {
        self.net.signal(from, data);
    }

    /// Takes a datagram that came through the server.
    pub(crate) fn relayed(&mut self, from: Seat, bytes: Vec<u8>) {
        self.net.relayed(from, bytes);
    }

    /// One turn of the clockwork.
    pub(crate) fn tick(&mut self, now: &Now) {
        let mut send = |message| now.socket.send(&message);
        let came = self.net.poll(now.page_us, &mut send);
        match &mut self.session {
            Some(session) => {
                let before = (session.current(), session.stats().rollbacks);
                for (_, bytes) in &came {
                    // What is refused is counted in the statistics.
                    session.handle_datagram(now.server_us, bytes).ok();
                }
                session.handle_timeout(now.server_us);
                while let Some(packet) = session.poll_transmit() {
                    self.net
                        .send(now.page_us, packet.to, packet.bytes, &mut send);
                }
                // Silence after the end says nothing about the way.
                if !session.finished() {
                    self.net.tell_changes(now.page_us, &mut send);
                    self.link = self.net.link(now.page_us);
                }
                if self
                    .held_us
                    .is_some_and(|since| now.page_us > since + DOUBT_US)
                {
                    self.net.doubt(now.page_us);
                }
                let changed = before != (session.current(), session.stats().rollbacks);
                self.take_events(now);
                if changed {
                    self.refresh(now);
                }
                self.upload(now, false);
                self.tell_fault(now);
            }
            None => {
                self.net.measure(now.page_us, &came, &mut send);
                if self.module.is_some()
                    && !self.is_ready
                    && now.is_set
                    && self.net.is_ready(now.page_us)
                {
                    self.is_ready = true;
                    send(self.net.ready(now.page_us));
                }
            }
        }
        self.show(now);
    }

    /// A world that broke down stands still and is over; the server's replica finds the same and ends the episode.
    fn tell_fault(&mut self, now: &Now) {
        let fault = self.session.as_mut().and_then(|s| s.world().fault());
        if let Some(fault) = fault
            && !std::mem::replace(&mut self.is_stopped, true)
        {
            now.socket.send(&ClientMessage::Trouble {
                message: format!("the environment was stopped: {fault}"),
            });
        }
    }

    fn take_events(&mut self, now: &Now) {
        let Some(session) = &mut self.session else {
            return;
        };
        let mut recorder = self.recorder.borrow_mut();
        while let Some(event) = session.poll_event() {
            match event {
                Event::RolledBack { at, depth } => recorder.timing().rollbacks.push((at, depth)),
                Event::Held { .. } => self.held_us = Some(now.page_us),
                Event::Resumed { since, held_ms } => {
                    self.held_us = None;
                    recorder.timing().holds.push((since, held_ms));
                }
                Event::Over { ticks } => {
                    let hidden = self.hidden.take().map(|first| (first, ticks));
                    recorder.timing().hidden.extend(hidden);
                }
            }
        }
        recorder.absorb(session.rows(), session.digests(), session.ended());
    }

    /// Sends what is confirmed and not yet sent, every so often or at once.
    pub(crate) fn upload(&mut self, now: &Now, at_once: bool) {
        let Some(session) = &self.session else { return };
        let due = at_once || now.page_us >= self.upload_us;
        if !due || !self.may_upload || !now.socket.is_open() {
            return;
        }
        self.upload_us = now.page_us + UPLOAD_US;
        let mut recorder = self.recorder.borrow_mut();
        if now.page_us >= self.rtt_us {
            self.rtt_us = now.page_us + RTT_US;
            let seats = 0..self.plan.controllers.len() as u8;
            recorder.timing().rtt_us = seats.map(|seat| session.rtt_us(Seat(seat))).collect();
        }
        while let Some(upload) = recorder.upload() {
            now.socket.send(&ClientMessage::Upload(upload));
        }
    }

    /// Shows the next tick as far as it is known, by the time it is due.
    fn refresh(&mut self, now: &Now) {
        let (Some(session), Some(view), Some(spec)) =
            (&mut self.session, &mut self.view, &self.spec)
        else {
            return;
        };
        let mut score = 0;
        session.preview(|world| {
            world.draw(view.list());
            score = world.score();
        });
        view.aim(
            now.page_us as f64 / 1_000.0,
            now.page_ms(session.poll_timeout()),
        );
        self.scene
            .figures(score, left_ms(spec, self.plan.tick_hz, session.current().0));
        if self.scene.may_describe(now.page_us as f64 / 1_000.0) {
            let mut words = String::new();
            session.world().describe(self.plan.seat.index(), &mut words);
            self.scene.describe(&words);
        }
    }

    /// Shows where things stand around the world.
    fn show(&mut self, now: &Now) {
        if self.verdict.is_some() {
            return;
        }
        let Some(session) = &self.session else {
            let waits = if self.is_ready {
                "Waiting for everybody to be ready…"
            } else {
                "Connecting…"
            };
            return self.scene.overlay(waits, None);
        };
        let held = self
            .held_us
            .is_some_and(|since| now.page_us > since + HOLD_US);
        let countdown = self.t0_us.saturating_sub(now.server_us).div_ceil(1_000_000);
        match () {
            () if self.is_stopped => self.scene.overlay(sentences::STOPPED, None),
            () if session.ended().is_some() => self.scene.overlay("Time is up. Saving…", None),
            () if countdown > 0 => self.scene.overlay("Get ready", Some(countdown)),
            () if held => self.scene.overlay("Waiting for your partner…", None),
            () => self.scene.overlay("", None),
        }
        let missing = countdown == 0
            && session.ended().is_none()
            && self.net.is_missing(now.page_us, LOST_US);
        self.scene.badge(match self.link {
            _ if !now.socket.is_open() => Badge::Unsaved,
            None => Badge::None,
            Some(_) if missing => Badge::Lost,
            Some(Link::Direct) => Badge::Direct,
            Some(Link::Relay) => Badge::Relay,
        });
    }

    /// Draws; `at_ms` is the time of the frame.
    pub(crate) fn frame(&mut self, now: &Now, at_ms: f64) {
        let Some(view) = &mut self.view else { return };
        // What was drawn for the frame before is on the screen when this one begins.
        let shown_us = now.since(self.t0_us, at_ms);
        let mut recorder = self.recorder.borrow_mut();
        self.unseen.retain_mut(|unseen| {
            if unseen.drawn {
                recorder.key(KeyEvent {
                    shown_us,
                    ..unseen.event
                });
            }
            !unseen.drawn
        });
        view.frame(dom::page_ms().max(at_ms));
        self.unseen
            .iter_mut()
            .for_each(|unseen| unseen.drawn = true);
        if view.is_complete() && !self.is_playable {
            self.is_playable = true;
            dom::mark("coplay-playable");
        }
    }
}

/// What the partners are called; nothing if there are none.
fn partner_name(plan: &Plan) -> String {
    let others = plan
        .controllers
        .iter()
        .enumerate()
        .filter(|(seat, _)| *seat != plan.seat.index());
    let name = |(_, controller): (usize, &Controller)| match controller {
        Controller::Ai { .. } if plan.disclose_ai => "Partner (AI)",
        _ => "Partner",
    };
    others.map(name).collect::<Vec<_>>().join(", ")
}

fn left_ms(spec: &Spec, tick_hz: u16, current: u32) -> u64 {
    u64::from(spec.horizon.saturating_sub(current)) * 1_000 / u64::from(tick_hz.max(1))
}
