//! What the person does: keys and buttons.

use env_core::Action;
use peer::Now;

use super::Play;
use crate::episode::keys::Change;

impl Play {
    /// Whether a key belongs to the world: it means something there, and the outcome is not told yet.
    pub(crate) fn owns(&self, now: Now, code: &str) -> bool {
        self.keys.has(code) && !self.is_judged(now)
    }

    /// The first key of an action.
    pub(crate) fn key_for(&self, action: Action) -> Option<String> {
        self.keys.of(action).next().map(str::to_owned)
    }

    /// A key goes down or up; `at_ms` is the time of the event.
    pub(crate) fn key(&mut self, now: Now, code: &str, down: bool, at_ms: f64) {
        let changes = match down {
            false => self.keys.release(code),
            true if self.peer.takes_keys() => self.keys.press(code),
            true => return,
        };
        self.tell(now, &changes, at_ms);
    }

    /// A finger goes to the button of an action, or away from one; `at_ms` is the time of the event.
    pub(crate) fn touch(&mut self, now: Now, finger: i32, action: Option<Action>, at_ms: f64) {
        let action = action.filter(|_| self.peer.takes_keys());
        let changes = self.keys.touch(finger, action);
        self.tell(now, &changes, at_ms);
    }

    /// The page lost the focus: nothing is held any more.
    pub(crate) fn blurred(&mut self, now: Now) {
        let changes = self.keys.release_all();
        self.tell(now, &changes, now.page_us as f64 / 1_000.0);
    }

    fn tell(&mut self, now: Now, changes: &[Change], at_ms: f64) {
        let at_us = (at_ms * 1_000.0) as u64;
        for change in changes {
            let (action, down, wanted) = (change.action, change.down, change.wanted);
            self.peer.handle_key(now, action, down, at_us, wanted);
            // The next frame answers the press.
            self.pictured = None;
        }
    }

    /// The page went out of sight or came back.
    pub(crate) fn hidden(&mut self, now: Now, hidden: bool) {
        self.blurred(now);
        self.peer.handle_hidden(now, hidden);
    }
}
