//! The person's input: keys and buttons.

use client_core::Now;
use env_core::{Action, World as _};

use super::{EpisodePeer, Play};
use crate::episode::controls::name_action;
use crate::episode::keys::ActionChange;
use crate::episode::pointer::{AskedPress, PointerChange};

impl Play {
    /// True if a key means something in the world.
    pub(crate) fn has_key(&self, code: &str) -> bool {
        self.keys.has_key(code)
    }

    /// The first key of an action.
    pub(crate) fn key_for(&self, action: Action) -> Option<String> {
        self.keys.keys_of(action).next().map(str::to_owned)
    }

    /// A key goes down or up; `at_ms` is the time of the event.
    pub(crate) fn handle_key(
        &mut self,
        peer: &mut EpisodePeer,
        now: Now,
        (code, is_down, at_ms): (&str, bool, f64),
    ) {
        let changes = match is_down {
            false => self.keys.release_key(code),
            true if peer.takes_keys() => self.keys.press_key(code),
            true => return,
        };
        self.tell_changes(peer, now, &changes, at_ms);
    }

    /// A finger goes to the button of an action, or away from one; `at_ms` is the time of the event.
    pub(crate) fn handle_touch(
        &mut self,
        peer: &mut EpisodePeer,
        now: Now,
        (finger, action, at_ms): (i32, Option<Action>, f64),
    ) {
        let action = action.filter(|_| peer.takes_keys());
        let changes = self.keys.touch_button(finger, action);
        self.tell_changes(peer, now, &changes, at_ms);
    }

    /// Handles a pointer at a point of the canvas, in CSS pixels. If the point means an action, the person sees it; a
    /// pointer that goes down there chooses it.
    pub(crate) fn handle_pointer(
        &mut self,
        peer: &mut EpisodePeer,
        now: Now,
        (finger, at, change, at_ms): (i32, [f64; 2], PointerChange, f64),
    ) {
        let point = self.view.as_mut().and_then(|view| view.point_under(at));
        let point = point.filter(|_| peer.takes_keys());
        let rests = point.is_none() && change == PointerChange::Move;
        self.resting = rests.then_some((finger, at));
        if peer.is_hosted() {
            return self.ask_host(peer, now, (finger, point, change, at_ms));
        }
        let seat = peer.plan().seat.index();
        let mut action = None;
        if let Some(point) = point {
            peer.view(|world| action = world.point(seat, point));
        }
        self.show_meaning(action);
        match change {
            PointerChange::Move => {}
            PointerChange::Down => self.handle_touch(peer, now, (finger, action, at_ms)),
            PointerChange::Up => self.handle_touch(peer, now, (finger, None, at_ms)),
        }
    }

    /// A picture may have appeared under a pointer that does not move.
    pub(crate) fn follow_resting_pointer(&mut self, peer: &mut EpisodePeer, now: Now) {
        if let (Some((finger, at)), Some(view)) = (self.resting, &mut self.view)
            && view.point_under(at).is_some()
            && peer.takes_keys()
        {
            self.handle_pointer(peer, now, (finger, at, PointerChange::Move, 0.0));
        }
    }

    /// Shows what the point under the pointer means.
    fn show_meaning(&self, action: Option<Action>) {
        let name = action.and_then(|action| {
            let actions = &self.spec.as_ref()?.actions;
            Some(name_action(&actions.get(usize::from(action))?.name))
        });
        self.screen.show_pointed(name.as_deref());
    }

    /// Does the same as [`Play::handle_pointer`] if only a host knows the meaning of a point: the answer comes later.
    fn ask_host(
        &mut self,
        peer: &mut EpisodePeer,
        now: Now,
        (finger, point, change, at_ms): (i32, Option<[f32; 2]>, PointerChange, f64),
    ) {
        let parts = point.zip(self.view.as_ref());
        let parts = parts.map(|(point, view)| view.parts_of(point));
        match (parts, change) {
            (Some(at), PointerChange::Move) => {
                peer.ask_point(at, false);
            }
            (Some(at), PointerChange::Down) => self.presses.push(AskedPress {
                number: peer.ask_point(at, true),
                finger,
                at_ms,
                is_up: false,
            }),
            (None, _) => self.show_meaning(None),
            (_, PointerChange::Up) => {}
        }
        if change == PointerChange::Up {
            let mut own = self.presses.iter_mut();
            if let Some(press) = own.rfind(|press| press.finger == finger) {
                press.is_up = true;
            }
            self.handle_touch(peer, now, (finger, None, at_ms));
        }
    }

    /// A host has said what points mean: the person sees it, and presses there count from now on.
    pub(crate) fn take_pointed(&mut self, peer: &mut EpisodePeer, now: Now) {
        while let Some((number, action)) = peer.poll_pointed() {
            self.show_meaning(action);
            let pressed = self.presses.iter().find(|press| press.number == number);
            let pressed = pressed.copied();
            // An older question has no answer any more.
            self.presses.retain(|press| press.number > number);
            if let Some(press) = pressed {
                self.handle_touch(peer, now, (press.finger, action, press.at_ms));
                if press.is_up {
                    self.handle_touch(peer, now, (press.finger, None, press.at_ms));
                }
            }
        }
    }

    /// Handles that the page lost the focus: nothing is held any more.
    pub(crate) fn handle_blur(&mut self, peer: &mut EpisodePeer, now: Now) {
        let changes = self.keys.release_all();
        self.tell_changes(peer, now, &changes, now.page_us as f64 / 1_000.0);
    }

    /// Shows the held controls beside the world.
    pub(super) fn show_held(&self) {
        let held: Vec<Action> = self.keys.held_actions().collect();
        self.screen.show_held(held.iter().copied());
    }

    fn tell_changes(
        &mut self,
        peer: &mut EpisodePeer,
        now: Now,
        changes: &[ActionChange],
        at_ms: f64,
    ) {
        let at_us = (at_ms * 1_000.0) as u64;
        if !changes.is_empty() {
            self.show_held();
        }
        for change in changes {
            let (action, down, wanted) = (change.action, change.down, change.wanted);
            peer.handle_key(now, action, down, at_us, wanted);
            // The next frame answers the press.
            self.pictured = None;
        }
    }
}
