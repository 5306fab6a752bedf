//! What the person does: keys and buttons.

use env_core::Action;
use peer::Now;

use super::Play;

impl Play {
    /// Whether keys belong to the world now.
    pub(crate) fn takes_keys(&self) -> bool {
        self.peer.takes_keys()
    }

    /// The action of a key.
    pub(crate) fn action_of(&self, code: &str) -> Option<Action> {
        self.keys.action_of(code)
    }

    /// The first key of an action.
    pub(crate) fn key_for(&self, action: Action) -> Option<String> {
        self.keys.keys_of(action).next().map(str::to_owned)
    }

    /// A key or button goes down or up; `at_ms` is the time of the event.
    pub(crate) fn key(&mut self, now: Now, source: &str, action: Action, down: bool, at_ms: f64) {
        if !self.takes_keys() {
            return;
        }
        let (meant, wanted) = if down {
            (action, self.keys.press(source, action))
        } else {
            let Some(released) = self.keys.release(source) else {
                return;
            };
            released
        };
        if down && wanted.is_none() {
            return;
        }
        let at_us = (at_ms * 1_000.0) as u64;
        self.peer.handle_key(now, meant, down, at_us, wanted);
        // The next frame answers the press.
        self.pictured = None;
    }

    /// The page lost the focus: nothing is held any more.
    pub(crate) fn blurred(&mut self, now: Now) {
        let held = self.keys.release_all();
        let mut wanted = Some(self.keys.lasting());
        for action in held {
            let wanted = wanted.take();
            self.peer
                .handle_key(now, action, false, now.page_us, wanted);
            self.pictured = None;
        }
    }

    /// The page went out of sight or came back.
    pub(crate) fn hidden(&mut self, now: Now, hidden: bool) {
        self.blurred(now);
        self.peer.handle_hidden(now, hidden);
    }
}
