//! The episode on the page: begun, played, judged and left.

use peer::{Effect, Now, Partners, Peer, Status, World};
use protocol::Era;
use protocol::control::{Plan, ServerMessage};

use super::Page;
use crate::effects::{PageEffect, PageEvent};

impl<W: World> Page<W> {
    /// Lets the shell use the peer of the episode (keys, frames, pictures), and does what the peer asks for; `None` if
    /// there is no episode.
    pub fn with_peer<T>(
        &mut self,
        now_us: u64,
        action: impl FnOnce(&mut Peer<W>, Now) -> T,
    ) -> Option<T> {
        let now = self.now(now_us);
        let peer = self.peer.as_mut()?;
        let given = action(peer, now);
        while let Some(effect) = self.peer.as_mut().and_then(Peer::poll_effect) {
            match effect {
                Effect::Send(message) => self.send(message),
                Effect::Datagram { to, bytes } => {
                    self.effects.push_back(PageEffect::Datagram { to, bytes });
                }
                Effect::Connect { seat } => {
                    self.effects.push_back(PageEffect::OpenChannel { seat });
                }
                Effect::Disconnect { seat } => {
                    self.effects.push_back(PageEffect::CloseChannel { seat });
                }
            }
        }
        Some(given)
    }

    pub(super) fn call_peer(&mut self, now_us: u64, action: impl FnOnce(&mut Peer<W>, Now)) {
        // A page without an episode has nobody to inform.
        self.with_peer(now_us, action);
    }

    /// The environment and the models of an episode are loaded; void if another episode is on the page by now.
    pub fn handle_world(&mut self, now_us: u64, era: Era, world: W, partners: Partners) {
        if self
            .peer
            .as_ref()
            .is_some_and(|peer| peer.plan().era == era)
        {
            self.call_peer(now_us, |peer, now| {
                peer.handle_partners(partners);
                peer.handle_world(now, world);
            });
        }
    }

    pub(super) fn handle_match(&mut self, now_us: u64, plan: Plan) {
        let known = self.peer.as_ref().map(|peer| peer.plan().era);
        let is_return = plan.running && known == Some(plan.era) && !self.stages.is_judged();
        if is_return {
            // What the part before saw goes out first.
            self.call_peer(now_us, Peer::handle_seat_lost);
        } else {
            self.leave_episode(now_us);
            self.writing.clear_field();
        }
        let era = plan.era;
        let mut peer = Peer::new(plan, self.key.clone(), self.now(now_us));
        peer.handle_hidden(self.now(now_us), self.is_hidden);
        self.peer = Some(peer);
        self.call_peer(now_us, |_, _| ());
        self.events.push_back(PageEvent::EpisodeBegan { is_return });
        self.effects.push_back(PageEffect::LoadWorld(era));
    }

    /// A message about an episode; one about another episode than this page plays is late and void.
    pub(super) fn handle_episode_message(&mut self, now_us: u64, message: ServerMessage) {
        if let ServerMessage::Buttons(told) = message {
            return self.handle_buttons(told);
        }
        if let ServerMessage::Signal { from, data } = message {
            if self.peer.is_some() {
                self.effects.push_back(PageEffect::Signal { from, data });
            }
            return;
        }
        let own = self.peer.as_ref().map(|peer| peer.plan().era);
        if own.is_some() && own == message.era() {
            self.tell_partners(&message);
        }
        let status = self.with_peer(now_us, |peer, now| {
            peer.handle_message(now, message);
            peer.status(now)
        });
        if let Some(Status::Over(verdict)) = status
            && self.stages.handle_verdict(now_us)
        {
            self.writing.close();
            self.events.push_back(PageEvent::Judged(verdict));
        }
    }

    /// Tells the shell what the message says about the other people.
    fn tell_partners(&mut self, message: &ServerMessage) {
        let event = match message {
            &ServerMessage::Peer {
                seat,
                presence,
                left_ms,
                ..
            } => PageEvent::PresenceChanged {
                seat,
                presence,
                left_ms,
            },
            ServerMessage::Change { change, .. } => PageEvent::SeatsChanged(vec![change.clone()]),
            ServerMessage::Running { changes, .. } => PageEvent::SeatsChanged(changes.clone()),
            ServerMessage::Return(back) => PageEvent::SeatsChanged(back.changes.clone()),
            _ => return,
        };
        self.events.push_back(event);
    }

    /// Ends the episode, to make place for what follows it.
    pub(super) fn leave_episode(&mut self, now_us: u64) {
        if !self.stages.is_judged() {
            self.call_peer(now_us, Peer::flush);
        }
        self.drop_peer();
        self.stages.handle_episode_left();
    }

    pub(super) fn drop_peer(&mut self) {
        if let Some(peer) = self.peer.take() {
            self.events
                .push_back(PageEvent::EpisodeLeft(Box::new(peer)));
        }
    }
}
