//! The hands of an agent that takes part instead of a person: in every tick, the keys of its policy's choice.
//!
//! An agent acts on states in which nothing is guessed, and its action enters the tick that begins with such a state:
//! so the recorded action of every tick is the policy's choice for the observation before that tick. It keeps a seat that it
//! could give to an AI partner; among proposals, it takes one that is its own choice.

use std::sync::Arc;

use env_core::shared::{count_own_actions, without_marks};
use env_core::{Action, Policy, World, choose_action};
use peer::{Now, Peer};
use policy::Partners;
use protocol::Tick;
use protocol::rules::SharingMode;

use super::Native;
use super::eyes::Eyes;
use super::sharing::press_mark;
use crate::agent::Agent;

/// The hands of an agent.
pub(crate) struct AgentHands {
    agent: Arc<Agent>,
    /// The policy in the present episode, once its world is there.
    policy: Option<Box<dyn Policy>>,
    /// The last tick for which the policy was asked.
    asked: Option<Tick>,
    /// The action whose key is down.
    held: Option<Action>,
    eyes: Eyes,
    observation: Vec<f32>,
}

impl AgentHands {
    pub(crate) fn new(agent: Arc<Agent>) -> Self {
        Self {
            agent,
            policy: None,
            asked: None,
            held: None,
            eyes: Eyes::default(),
            observation: Vec::new(),
        }
    }

    /// Begins an episode.
    pub(crate) fn sit_down(&mut self) {
        *self = Self::new(Arc::clone(&self.agent));
    }

    /// Presses the keys for the next tick, once the state before it is known.
    ///
    /// # Errors
    /// The policy cannot play the world.
    pub(crate) fn play(
        &mut self,
        partners: &Partners,
        peer: &mut Peer<Native>,
        now: Now,
    ) -> Result<(), String> {
        let runs = peer.t0_us().is_some_and(|t0_us| now.server_us >= t0_us);
        if !runs || !peer.takes_keys() {
            return Ok(());
        }
        self.eyes.look_at_frame(peer, now);
        let (plays_from, turns) = (peer.plays_from(), peer.plan().rules.turns);
        if turns && !peer.is_own_turn() {
            return Ok(());
        }
        if self.policy.is_none() {
            self.policy = Some(self.open_policy(partners, peer)?);
        }
        let seat = peer.plan().seat.index();
        let (Some(session), Some(policy)) = (peer.session_mut(), &mut self.policy) else {
            return Ok(());
        };
        let is_known = session.is_known();
        let tick = session.current();
        if !is_known
            || tick < plays_from
            || session.input_tick() != tick
            || self.asked >= Some(tick)
        {
            return Ok(());
        }
        self.asked = Some(tick);
        let action = choose_action(session.world(), &mut **policy, seat, &mut self.observation);
        let shared = peer.plan().shared.as_ref();
        match shared.map(|shared| shared.mode) {
            Some(SharingMode::Choose) => choose_proposal(peer, now, action),
            _ => {
                take_seat_back(peer, now);
                self.press(peer, now, action);
            }
        }
        Ok(())
    }

    /// Opens the policy for the world of the episode.
    fn open_policy(
        &self,
        partners: &Partners,
        peer: &mut Peer<Native>,
    ) -> Result<Box<dyn Policy>, String> {
        let (seat, seed) = (peer.plan().seat.index(), peer.plan().seed);
        let name = self
            .agent
            .find_policy(&peer.plan().env, &peer.plan().params);
        let opened = (name.zip(peer.session_mut())).and_then(|(name, session)| {
            partners.open(name, &without_marks(session.world().spec()))
        });
        let mut policy = opened.ok_or_else(|| {
            let (agent, env) = (&self.agent.name, &peer.plan().env);
            format!("the agent `{agent}` cannot play `{env}`")
        })?;
        policy.reset(seat, seed);
        Ok(policy)
    }

    /// Has the next tick get an action, by the keys of a person who wants it.
    fn press(&mut self, peer: &mut Peer<Native>, now: Now, action: Action) {
        let rules = &peer.plan().rules;
        let (turns, press) = (rules.turns, rules.press);
        let Some(session) = peer.session_mut() else {
            return;
        };
        let spec = session.world().spec();
        let noop = spec.noop;
        let is_momentary = spec
            .actions
            .get(usize::from(action))
            .is_some_and(|of| of.momentary);
        if self.held == Some(action) {
            return;
        }
        if let Some(held) = self.held.take() {
            peer.handle_key(now, held, false, now.page_us, Some(noop));
        }
        if action == noop && !turns {
            return;
        }
        peer.handle_key(now, action, true, now.page_us, Some(action));
        match turns || press || is_momentary {
            true => peer.handle_key(now, action, false, now.page_us, None),
            false => self.held = Some(action),
        }
    }
}

/// Takes the seat from the AI partner that has it. The wish to do nothing needs no separate tick, so the next one is
/// the agent's.
fn take_seat_back(peer: &mut Peer<Native>, now: Now) {
    let is_given = peer.is_handed_over();
    if let Some(session) = peer.session_mut().filter(|_| is_given) {
        let spec = session.world().spec();
        let (mark, noop) = (count_own_actions(spec) as Action, spec.noop);
        press_mark(peer, now, mark, noop);
    }
}

/// Takes the first proposal that equals the policy's choice; the first of all if there is none.
fn choose_proposal(peer: &mut Peer<Native>, now: Now, action: Action) {
    let seat = peer.plan().seat.index();
    let Some(session) = peer.session_mut() else {
        return;
    };
    let world = session.world();
    let first = count_own_actions(world.spec()) as Action;
    let mut proposals = world.proposals(seat).iter();
    let at = proposals.position(|proposal| *proposal == action);
    let mark = first + at.unwrap_or(0) as Action;
    press_mark(peer, now, mark, mark);
}
