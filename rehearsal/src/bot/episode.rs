//! The episode on the page: the native peer, its datagrams through the server, and the hands that play.

use std::collections::VecDeque;

use peer::{Effect, Now, Peer, Status};
use protocol::Controller;
use protocol::Seat;
use protocol::control::{ClientMessage, Plan, ServerMessage};
use study::StageKind;
use study::assign::Rng;

use super::Bot;
use crate::hands::{Hands, Native};
use crate::record::Waited;

/// Chance, of 100, that a slow network loses a datagram.
const LOST: usize = 5;

/// Datagrams that are under way in a slow network.
pub(super) struct Late {
    is_slow: bool,
    waiting: VecDeque<(u64, Way)>,
}

/// The direction of a datagram.
enum Way {
    Out(Seat, Vec<u8>),
    In(Seat, Vec<u8>),
}

impl Late {
    pub(super) fn new(is_slow: bool) -> Self {
        Self {
            is_slow,
            waiting: VecDeque::new(),
        }
    }

    /// Drops all datagrams, after the connection that they travel through is closed.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// When the next one arrives.
    pub(super) fn due_us(&self) -> Option<u64> {
        self.waiting.iter().map(|(at_us, _)| *at_us).min()
    }

    /// Takes a datagram; gives it back if the network is not slow.
    fn take(&mut self, now_us: u64, way: Way, rng: &mut Rng) -> Option<Way> {
        if !self.is_slow {
            return Some(way);
        }
        if rng.below(100) >= LOST {
            let at_us = now_us + 40_000 + rng.below(140_000) as u64;
            self.waiting.push_back((at_us, way));
        }
        None
    }

    fn due(&mut self, now_us: u64) -> Vec<Way> {
        let (due, waiting) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|(at_us, _)| *at_us <= now_us);
        self.waiting = waiting;
        let due: VecDeque<(u64, Way)> = due;
        due.into_iter().map(|(_, way)| way).collect()
    }
}

impl Bot {
    /// Calls the peer, and carries out its effects.
    pub(super) fn with_peer(&mut self, now_us: u64, with: impl FnOnce(&mut Peer<Native>, Now)) {
        let now = self.now(now_us);
        let Some(mut peer) = self.peer.take() else {
            return;
        };
        with(&mut peer, now);
        while let Some(effect) = peer.poll_effect() {
            match effect {
                Effect::Send(ClientMessage::Relay { to, bytes }) => {
                    let way = Way::Out(to, bytes);
                    if let Some(Way::Out(to, bytes)) = self.late.take(now_us, way, &mut self.rng) {
                        self.say(ClientMessage::Relay { to, bytes });
                    }
                }
                Effect::Send(message) => self.say(message),
                // There is no WebRTC here: the way is through the server.
                Effect::Connect { seat } => peer.handle_channel(now, seat, false),
                Effect::Datagram { .. } | Effect::Disconnect { .. } => {}
            }
        }
        self.peer = Some(peer);
    }

    /// When the peer wants to be called, or the hands want to look.
    pub(super) fn peer_due_us(&mut self, now_us: u64) -> u64 {
        let now = self.now(now_us);
        match &self.peer {
            Some(peer) => self.opened_us + peer.poll_timeout(now),
            None => u64::MAX,
        }
    }

    /// Runs whatever is due in the episode.
    pub(super) fn play(&mut self, now_us: u64) {
        for way in self.late.due(now_us) {
            match way {
                Way::Out(to, bytes) => self.say(ClientMessage::Relay { to, bytes }),
                Way::In(from, bytes) => {
                    let message = ServerMessage::Relay { from, bytes };
                    self.with_peer(now_us, |peer, now| peer.handle_message(now, message));
                }
            }
        }
        if self.peer_due_us(now_us) > now_us {
            return;
        }
        self.with_peer(now_us, |peer, now| peer.handle_timeout(now));
        let mut hands = std::mem::replace(&mut self.hands, Hands::new(Rng::of(0, &[])));
        self.with_peer(now_us, |peer, now| hands.play(peer, now));
        self.hands = hands;
    }

    /// Returns true if the server's verdict has arrived.
    pub(super) fn is_judged(&mut self, now_us: u64) -> bool {
        let now = self.now(now_us);
        let peer = self.peer.as_ref();
        peer.is_some_and(|peer| matches!(peer.status(now), Status::Over(_)))
    }

    pub(super) fn leave_play(&mut self) {
        (self.peer, self.outcome_us, self.next) = (None, None, None);
        self.late.clear();
    }

    /// Handles a message about an episode.
    pub(super) fn of_episode(&mut self, now_us: u64, message: ServerMessage) -> Result<(), String> {
        match message {
            ServerMessage::Match(plan) => self.matched(now_us, plan)?,
            ServerMessage::Relay { from, bytes } => {
                let way = Way::In(from, bytes);
                if let Some(Way::In(from, bytes)) = self.late.take(now_us, way, &mut self.rng) {
                    let message = ServerMessage::Relay { from, bytes };
                    self.with_peer(now_us, |peer, now| peer.handle_message(now, message));
                }
            }
            message => {
                let begins = matches!(
                    message,
                    ServerMessage::Start { .. } | ServerMessage::Return(_)
                );
                self.with_peer(now_us, |peer, now| peer.handle_message(now, message));
                if begins {
                    self.begins(now_us)?;
                }
                self.judge(now_us);
            }
        }
        Ok(())
    }

    fn matched(&mut self, now_us: u64, plan: Plan) -> Result<(), String> {
        self.with_peer(now_us, |peer, now| peer.flush(now));
        // A person who still reads an outcome is not asked.
        let next = self.next.take();
        self.leave_play();
        if let Some(stage) = next {
            self.show(now_us, stage)?;
        }
        let world = self.open(&plan)?;
        let spec = world.spec();
        // A turn takes as long as the person thinks.
        let hz = if plan.rules.turns {
            1
        } else {
            spec.tick_hz.max(1)
        };
        let horizon_s = u64::from(spec.horizon) / u64::from(hz);
        self.hands = Hands::new(Rng::of(self.rng.bits(), &[]));
        let now = self.now(now_us);
        self.peer = Some(Peer::new(plan, now));
        let partners = self.around.partners.clone();
        self.with_peer(now_us, |peer, now| {
            peer.handle_partners(partners);
            peer.handle_world(now, world);
        });
        self.doing("playing");
        self.act = None;
        self.expect(2 * horizon_s + 400, "for an episode to end");
        self.tempt_play(now_us, horizon_s);
        Ok(())
    }

    /// The environment of a plan; a custom one from its module.
    fn open(&self, plan: &Plan) -> Result<Native, String> {
        let mut stages = self.around.study.timeline.iter();
        let own = stages.find_map(|stage| match &stage.kind {
            StageKind::Env(env) => env
                .module
                .as_ref()
                .filter(|file| file.sha256 == plan.module),
            _ => None,
        });
        let world: Result<Native, String> = match own {
            Some(file) => module::load(&file.bytes, &plan.params, module::ModuleLimits::default())
                .map(|world| Box::new(world) as Native)
                .map_err(|error| error.to_string()),
            None => {
                env_core::envs::open(&plan.env, &plan.params).map_err(|error| error.to_string())
            }
        };
        world.map_err(|error| format!("the environment `{}` does not open: {error}", plan.env))
    }

    /// Begins the episode, or continues it on this page.
    fn begins(&mut self, now_us: u64) -> Result<(), String> {
        let Some(plan) = self.peer.as_ref().map(Peer::plan) else {
            return Ok(());
        };
        let people = plan
            .controllers
            .iter()
            .filter(|by| **by == Controller::Human)
            .count();
        let (env, params) = (plan.env.clone(), plan.params.clone());
        self.waited(
            now_us,
            if people > 1 {
                Waited::Matched
            } else {
                Waited::Bot
            },
        );
        match self.stage.as_ref().map(|stage| stage.index) {
            Some(position) => (self.record.lock()).stand_at(position, format!("{env} {params}")),
            None => Ok(()),
        }
    }

    /// Records the server's verdict, which the person reads for a while.
    fn judge(&mut self, now_us: u64) {
        let now = self.now(now_us);
        let Some(peer) = &self.peer else { return };
        if let Status::Over(verdict) = peer.status(now)
            && self.outcome_us.is_none()
        {
            let episode = peer.plan().episode.clone();
            self.record.lock().verdicts.insert(episode, verdict);
            self.outcome_us = Some(now_us + self.some(1, 6));
            self.expect(60, "for the stage after an episode");
            self.mishap_us = None;
        }
    }
}
