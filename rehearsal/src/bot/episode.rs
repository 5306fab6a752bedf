//! The episode on the page: its environment, the datagrams that are late, and the hands that play.

use std::collections::VecDeque;

use client_core::Peer;
use client_core::{PageEffect, Verdict};
use env_core::tally::TalliedWorld;
use env_core::view::ViewWorld;
use protocol::control::{ClientMessage, Link, Plan, ServerMessage};
use protocol::rules::SharedSeats;
use protocol::{Controller, EnvWay, Seat};
use study::StageKind;
use study::assign::Rng;

use super::{Bot, BotEffect};
use crate::hands::{Hands, Native};
use crate::record::Waited;

/// Chance, of 100, that a slow network loses a datagram.
const LOST: usize = 5;

/// Datagrams that are under way in a slow network.
pub(super) struct Late {
    pub(super) is_slow: bool,
    waiting: VecDeque<(u64, Way)>,
}

/// The direction of a datagram, and how it travels.
pub(super) enum Way {
    Out(Link, Seat, Vec<u8>),
    In(Link, Seat, Vec<u8>),
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

    /// Takes a datagram, or loses it.
    pub(super) fn take(&mut self, now_us: u64, way: Way, rng: &mut Rng) {
        if rng.draw_below(100) >= LOST {
            let at_us = now_us + 40_000 + rng.draw_below(140_000) as u64;
            self.waiting.push_back((at_us, way));
        }
    }

    fn due(&mut self, now_us: u64) -> Vec<Way> {
        if self.waiting.is_empty() {
            return Vec::new();
        }
        let (due, waiting) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|(at_us, _)| *at_us <= now_us);
        self.waiting = waiting;
        let due: VecDeque<(u64, Way)> = due;
        due.into_iter().map(|(_, way)| way).collect()
    }
}

impl Bot {
    /// Sends a message of the page.
    pub(super) fn send(&mut self, now_us: u64, message: ClientMessage) {
        let message = match message {
            ClientMessage::Relay { to, bytes } if self.late.is_slow => {
                let way = Way::Out(Link::Relay, to, bytes);
                return self.late.take(now_us, way, &mut self.rng);
            }
            message => message,
        };
        match &message {
            // The token is a secret: the trace does not have it.
            ClientMessage::Hello { .. } => self.note(
                now_us,
                if self.token.is_some() {
                    "> Hello again"
                } else {
                    "> Hello by a link"
                },
            ),
            message => self.record.lock().trace.note_sent(now_us, message),
        }
        let Some(tab) = &self.tab else { return };
        if let ClientMessage::Draft { number, draft, .. } = &message {
            self.drafts.record_sent(tab.number, *number, draft);
        }
        if let Some((_, wire)) = tab.wire {
            self.effects.push_back(BotEffect::Send(wire, message));
        }
    }

    /// Holds a datagram back if the network is slow; gives everything else back.
    pub(super) fn take_late(
        &mut self,
        now_us: u64,
        message: ServerMessage,
    ) -> Option<ServerMessage> {
        match message {
            ServerMessage::Relay { from, bytes } if self.late.is_slow => {
                let way = Way::In(Link::Relay, from, bytes);
                self.late.take(now_us, way, &mut self.rng);
                None
            }
            message => Some(message),
        }
    }

    /// Runs whatever is due on the page, and in its episode.
    ///
    /// # Errors
    /// As [`Self::drain`].
    pub(super) fn play(&mut self, now_us: u64) -> Result<(), String> {
        for way in self.late.due(now_us) {
            let Some(tab) = &mut self.tab else { break };
            let Some((socket, wire)) = tab.wire else {
                break;
            };
            match way {
                Way::Out(Link::Relay, to, bytes) => {
                    let message = ClientMessage::Relay { to, bytes };
                    self.effects.push_back(BotEffect::Send(wire, message));
                }
                Way::Out(Link::Direct, to, bytes) => {
                    let datagram = PageEffect::Datagram { to, bytes };
                    self.effects.push_back(BotEffect::Channel(datagram));
                }
                Way::In(Link::Relay, from, bytes) => tab.call_page(now_us, |page, at_us| {
                    let message = ServerMessage::Relay { from, bytes };
                    page.handle_socket_message(at_us, socket, message);
                }),
                Way::In(Link::Direct, from, bytes) => tab.call_page(now_us, |page, at_us| {
                    page.handle_datagram(at_us, from, &bytes);
                }),
            }
        }
        self.let_agent_act(now_us)?;
        if let Some(tab) = &mut self.tab {
            let is_episode_due = tab.is_episode_due(now_us);
            if tab.is_due(now_us) {
                tab.call_page(now_us, |page, at_us| page.handle_timeout(at_us));
            }
            if is_episode_due && self.agent.is_none() {
                let hands = &mut self.hands;
                tab.call_page(now_us, |page, at_us| {
                    page.with_peer(at_us, |peer, now| hands.play(peer, now));
                });
            }
        }
        self.press_button(now_us);
        self.note_links();
        let peer = self.tab.as_ref().and_then(|tab| tab.page.peer());
        let tick = peer
            .and_then(Peer::session)
            .map(|session| session.current());
        if self.mishap_tick.take_if(|at| tick >= Some(*at)).is_some() {
            self.mishap_us = Some(now_us);
        }
        self.drain(now_us)
    }

    /// Lets an agent choose its action for the next tick, before that tick is played.
    ///
    /// # Errors
    /// The policy cannot play the world.
    fn let_agent_act(&mut self, now_us: u64) -> Result<(), String> {
        let (Some(hands), Some(tab)) = (&mut self.agent, &mut self.tab) else {
            return Ok(());
        };
        let partners = &self.info.partners;
        let acted = tab.call_page(now_us, |page, at_us| {
            page.with_peer(at_us, |peer, now| hands.play(partners, peer, now))
        });
        acted.unwrap_or(Ok(()))
    }

    /// Sometimes presses a button that gives a directive to an AI partner. Agents act only in the world.
    fn press_button(&mut self, now_us: u64) {
        let Some(tab) = &mut self.tab else { return };
        if now_us < self.presses_us || self.agent.is_some() {
            return;
        }
        let buttons = tab.page.buttons();
        let all: Vec<(Seat, u8)> = buttons
            .flat_map(|of| (0..of.labels.len()).map(move |at| (of.seat, at as u8)))
            .collect();
        if all.is_empty() {
            return;
        }
        let (seat, button) = all[self.rng.draw_below(all.len())];
        tab.call_page(now_us, |page, _| page.handle_button(seat, button));
        self.presses_us = now_us + self.draw_seconds(2, 9);
    }

    /// An episode is on the page, or the same one again.
    pub(super) fn handle_episode(&mut self, now_us: u64) {
        let peer = self.tab.as_ref().and_then(|tab| tab.page.peer());
        let Some(plan) = peer.map(|peer| peer.plan().clone()) else {
            return;
        };
        let (horizon, horizon_s) = self.horizon(&plan);
        self.hands = Hands::new(Rng::of(self.rng.draw_bits(), &[]));
        if let Some(agent) = &mut self.agent {
            agent.sit_down();
        }
        self.late.clear();
        self.outcome_us = None;
        self.set_doing("playing");
        self.act = None;
        self.expect(now_us, 2 * horizon_s + 400, "for an episode to end");
        self.tempt_play(now_us, horizon);
    }

    /// Returns the longest duration of an episode: its ticks, and about how many seconds they take.
    fn horizon(&self, plan: &Plan) -> (u32, u64) {
        // One that does not open ends the bot when it is loaded.
        let Ok(world) = self.open_world(plan) else {
            return (0, 0);
        };
        let spec = env_core::World::spec(&world);
        // A turn takes as long as the person thinks.
        let hz = if plan.rules.turns {
            1
        } else {
            spec.tick_hz.max(1)
        };
        (spec.horizon, u64::from(spec.horizon) / u64::from(hz))
    }

    /// The environment of a plan; a custom one from its module.
    pub(super) fn open_world(&self, plan: &Plan) -> Result<Native, String> {
        if plan.way == EnvWay::Host {
            let spec = self.info.hosted.get(&plan.module).cloned();
            let unknown = || {
                format!(
                    "the server names facts of `{}` that the study has not",
                    plan.env
                )
            };
            return spec.map(ViewWorld::boxed).ok_or_else(unknown);
        }
        let mut stages = self.info.study.timeline.iter();
        let own = stages.find_map(|stage| match &stage.kind {
            StageKind::Env(env) => env
                .module
                .as_ref()
                .filter(|file| file.sha256 == plan.module),
            _ => None,
        });
        let world: Result<Native, String> = match own {
            Some(file) => page_python::open_file(&file.bytes, &plan.params)
                .map(|opened| opened.world as Native)
                .map_err(|error| error.to_string()),
            None => {
                env_core::envs::open(&plan.env, &plan.params).map_err(|error| error.to_string())
            }
        };
        let world = world
            .map_err(|error| format!("the environment `{}` does not open: {error}", plan.env))?;
        let world = self.share_seats(plan, world)?;
        Ok(match plan.asks_rewards() {
            true => TalliedWorld::boxed(world),
            false => world,
        })
    }

    /// Returns the world in which people share their seats with AI partners, if the plan says so.
    fn share_seats(&self, plan: &Plan, world: Native) -> Result<Native, String> {
        let Some(shared) = &plan.shared else {
            return Ok(world);
        };
        let seats = SharedSeats::list_seats(&plan.controllers);
        let partners = &self.info.partners;
        let world = partners.share(world, &seats, (&shared.policies, &shared.keys));
        let world = world.ok_or("the partner of a shared seat is not there, or cannot play")?;
        Ok(Box::new(world))
    }

    /// The episode begins, or continues on this page.
    ///
    /// # Errors
    /// The way has changed.
    pub(super) fn begin_episode(&mut self, now_us: u64) -> Result<(), String> {
        let peer = self.tab.as_ref().and_then(|tab| tab.page.peer());
        let Some(plan) = peer.map(Peer::plan) else {
            return Ok(());
        };
        let people = plan
            .controllers
            .iter()
            .filter(|by| **by == Controller::Human)
            .count();
        let (env, params) = (plan.env.clone(), plan.params.clone());
        self.record_wait(
            now_us,
            if people > 1 {
                Waited::Matched
            } else {
                Waited::Bot
            },
        );
        match self.stage().map(|stage| stage.index) {
            Some(position) => (self.record.lock()).stand_at(position, format!("{env} {params}")),
            None => Ok(()),
        }
    }

    /// Records the server's verdict, which the person reads for a while.
    pub(super) fn handle_verdict(&mut self, now_us: u64, verdict: Verdict) {
        let peer = self.tab.as_ref().and_then(|tab| tab.page.peer());
        if let Some(episode) = peer.map(|peer| peer.plan().episode.clone()) {
            self.record.lock().verdicts.insert(episode, verdict);
        }
        self.count_links();
        self.outcome_us = Some(now_us + self.draw_seconds(1, 6));
        self.expect(now_us, 60, "for the stage after an episode");
        (self.mishap_us, self.mishap_tick) = (None, None);
    }
}
