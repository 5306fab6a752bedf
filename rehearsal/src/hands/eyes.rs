//! The eyes of the player: they look at frames, so that the data have the shown frames.

use peer::{Now, Peer};

use super::Native;

/// The time from one frame to the next, microseconds.
const FRAME_US: u64 = 100_000;

/// The eyes of one who plays.
#[derive(Default)]
pub(super) struct Eyes {
    seen_us: u64,
}

impl Eyes {
    /// Looks at a frame, if it is time for one.
    pub(super) fn look_at_frame(&mut self, peer: &mut Peer<Native>, now: Now) {
        if now.page_us >= self.seen_us + FRAME_US {
            self.seen_us = now.page_us;
            peer.view(|_| ());
            peer.handle_shown(now, now.page_us);
        }
    }
}
