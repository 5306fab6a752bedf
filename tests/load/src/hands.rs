//! The hands of a person who plays: any key, two or three times a second.

use client_core::{Now, Peer};
use env_core::Action;

/// An environment, run natively.
pub(crate) type Native = Box<dyn env_core::World + Send>;

/// Time between two looks at the picture, microseconds.
const LOOKS_US: u64 = 100_000;

/// The shortest time between two keys, and how much longer it may be, microseconds.
const KEYS_US: (u64, u64) = (150_000, 600_000);

/// The hands of a person.
#[derive(Debug)]
pub(crate) struct Hands {
    random: u64,
    held: Option<Action>,
    next_us: u64,
    seen_us: u64,
}

impl Hands {
    /// Hands that press other keys for another seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            random: seed,
            held: None,
            next_us: 0,
            seen_us: 0,
        }
    }

    /// Looks at the picture, and presses the key that is due, after releasing the one before.
    pub(crate) fn play(&mut self, peer: &mut Peer<Native>, now: Now) {
        let runs = peer.t0_us().is_some_and(|t0_us| now.server_us >= t0_us);
        if !runs || !peer.takes_keys() {
            return;
        }
        if now.page_us >= self.seen_us + LOOKS_US {
            self.seen_us = now.page_us;
            peer.view(|_| ());
            peer.handle_shown(now, now.page_us);
        }
        if now.page_us < self.next_us {
            return;
        }
        self.next_us = now.page_us + KEYS_US.0 + self.draw(KEYS_US.1);
        let Some(session) = peer.session_mut() else {
            return;
        };
        let actions = session.world().spec().actions.len() as u64;
        let action = self.draw(actions.max(1)) as Action;
        if let Some(held) = self.held.replace(action) {
            peer.handle_key(now, held, false, now.page_us, None);
        }
        peer.handle_key(now, action, true, now.page_us, Some(action));
    }

    /// A number below `below`.
    ///
    /// Source: Steele, Lea and Flood 2014, SplitMix64.
    fn draw(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }
}
