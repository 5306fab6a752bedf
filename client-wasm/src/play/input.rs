//! What the person does: keys and buttons, with the tick they enter and the frame that answers them.

use env_core::Action;
use protocol::control::KeyEvent;

use super::{Now, Play, Unseen};

/// A key event whose frame was not presented by then is told without one, microseconds.
const FRAME_WITHIN_US: i64 = 2_000_000;

impl Play {
    /// A key or button goes down or up.
    pub(crate) fn key(&mut self, now: &Now, source: &str, action: Action, down: bool, at_ms: f64) {
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
        self.note_key(now, meant, down, at_ms);
        if let Some(wanted) = wanted {
            self.want(now, wanted);
        }
    }

    /// The page lost the focus: nothing is held any more.
    pub(crate) fn blurred(&mut self, now: &Now) {
        let held = self.keys.release_all();
        for &action in &held {
            self.note_key(now, action, false, now.page_us as f64 / 1_000.0);
        }
        if !held.is_empty() {
            self.want(now, self.keys.lasting());
        }
    }

    /// The page went out of sight or came back.
    pub(crate) fn hidden(&mut self, now: &Now, hidden: bool) {
        self.blurred(now);
        let Some(session) = &self.session else { return };
        let mut recorder = self.recorder.borrow_mut();
        if hidden {
            self.hidden = Some(session.current());
            // No frame will answer these.
            self.unseen
                .drain(..)
                .for_each(|unseen| recorder.key(unseen.event));
        } else if let Some(first) = self.hidden.take() {
            recorder.timing().hidden.push((first, session.current()));
        }
    }

    fn want(&mut self, now: &Now, action: Action) {
        if let Some(session) = &mut self.session {
            session.handle_action(now.server_us, action);
        }
        self.refresh(now);
    }

    fn note_key(&mut self, now: &Now, action: Action, down: bool, at_ms: f64) {
        let Some(session) = &self.session else { return };
        let at_us = now.since(self.t0_us, at_ms);
        let event = KeyEvent {
            tick: session.input_tick(),
            action,
            down,
            at_us,
            shown_us: 0,
        };
        let mut recorder = self.recorder.borrow_mut();
        self.unseen.retain(|unseen| {
            let late = at_us - unseen.event.at_us > FRAME_WITHIN_US;
            if late {
                recorder.key(unseen.event);
            }
            !late
        });
        self.unseen.push(Unseen {
            event,
            drawn: false,
        });
    }
}
