//! The hands of a person who plays: keys pressed by a scripted policy, or at random.

mod agent;
mod eyes;
mod sharing;

use env_core::shared::count_own_actions;
use env_core::{Action, Policy, World};
use peer::{Now, Peer};
use protocol::Tick;
use study::assign::Rng;

pub(super) use agent::AgentHands;
use eyes::Eyes;
use sharing::Sharing;

/// Any environment, run natively.
pub(super) type Native = Box<dyn World + Send>;

/// The policy of skilled people, in environments that it can play.
const SKILLED: &str = "cook";

/// The hands of a person in one episode.
pub(super) struct Hands {
    rng: Rng,
    sharing: Sharing,
    policy: Option<Box<dyn Policy>>,
    is_ready: bool,
    /// When the policy was last asked, and the tick that its action enters.
    asked: Option<(Tick, Tick)>,
    held: Option<Action>,
    next_us: u64,
    eyes: Eyes,
}

impl Hands {
    pub(super) fn new(rng: Rng) -> Self {
        Self {
            rng,
            sharing: Sharing::default(),
            policy: None,
            is_ready: false,
            asked: None,
            held: None,
            next_us: 0,
            eyes: Eyes::default(),
        }
    }

    /// Looks at the world and presses the key that is due.
    pub(super) fn play(&mut self, peer: &mut Peer<Native>, now: Now) {
        let runs = peer.t0_us().is_some_and(|t0_us| now.server_us >= t0_us);
        if !runs || !peer.takes_keys() {
            return;
        }
        self.eyes.look_at_frame(peer, now);
        if self.sharing.play(&mut self.rng, peer, now) {
            return;
        }
        if let Some(action) = self.choose(peer, now) {
            self.press(peer, now, action);
        }
    }

    fn choose(&mut self, peer: &mut Peer<Native>, now: Now) -> Option<Action> {
        let (plays_from, turns) = (peer.plays_from(), peer.plan().rules.turns);
        if !std::mem::replace(&mut self.is_ready, true) {
            self.sit_down(peer);
        }
        if peer.is_hosted() {
            return self.choose_hosted(peer, now);
        }
        let seat = peer.plan().seat.index();
        let session = peer.session_mut()?;
        if session.current() < plays_from {
            return None;
        }
        let (current, enters) = (session.current(), session.input_tick());
        let world = session.world();
        if turns || self.policy.is_none() {
            return self.take_time(now).then(|| self.any(world, seat));
        }
        let waits = (self.asked).is_some_and(|(asked, until)| asked == current || current <= until);
        if waits {
            return None;
        }
        let action = self.wanted(world, seat)?;
        let is_still = action == world.spec().noop;
        let until = match is_still {
            true => Tick(current.0.saturating_sub(1)),
            false => enters,
        };
        self.asked = Some((current, until));
        (!is_still).then_some(action)
    }

    /// Presses any key of a world that a host steps: all that is known of it is its picture.
    fn choose_hosted(&mut self, peer: &mut Peer<Native>, now: Now) -> Option<Action> {
        let waits = peer.plan().rules.turns && !peer.is_own_turn();
        if waits || !self.take_time(now) {
            return None;
        }
        let mut actions = 0;
        peer.view(|world| actions = world.spec().actions.len());
        Some(self.rng.draw_below(actions.max(1)) as Action)
    }

    /// Makes half of the people skilled.
    fn sit_down(&mut self, peer: &mut Peer<Native>) {
        let (seat, seed) = (peer.plan().seat.index(), peer.plan().seed);
        let is_skilled = self.rng.draw_below(2) == 1;
        if let Some(session) = peer.session_mut().filter(|_| is_skilled) {
            self.policy = policy::by_name(SKILLED, session.world().spec());
            self.policy
                .iter_mut()
                .for_each(|policy| policy.reset(seat, seed));
        }
    }

    /// Returns true if it is time for another key.
    fn take_time(&mut self, now: Now) -> bool {
        let is_time = now.page_us >= self.next_us;
        if is_time {
            self.next_us = now.page_us + 150_000 + self.rng.draw_below(600_000) as u64;
        }
        is_time
    }

    /// The action that the policy chooses; `None` without a policy.
    fn wanted(&mut self, world: &mut Native, seat: usize) -> Option<Action> {
        let mut observation = Vec::new();
        world.observe(seat, &mut observation);
        Some(self.policy.as_mut()?.act(&observation))
    }

    /// The action that the policy chooses, or any action if there is none: every turn needs one.
    fn any(&mut self, world: &mut Native, seat: usize) -> Action {
        let noop = world.spec().noop;
        let wanted = self.wanted(world, seat).filter(|action| *action != noop);
        wanted.unwrap_or_else(|| self.rng.draw_below(count_own_actions(world.spec())) as Action)
    }

    /// Presses the key of an action, after releasing the key of another one, as fingers do.
    fn press(&mut self, peer: &mut Peer<Native>, now: Now, action: Action) {
        if let Some(held) = self.held.replace(action).filter(|held| *held != action) {
            peer.handle_key(now, held, false, now.page_us, None);
        }
        peer.handle_key(now, action, true, now.page_us, Some(action));
    }
}
