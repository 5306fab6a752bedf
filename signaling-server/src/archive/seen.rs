//! What the archive has of a page's timing, so that what is uploaded twice is stored once.

use std::collections::BTreeSet;

use protocol::Tick;
use protocol::control::{KeyEvent, Timing};

/// The most entries of timing that are stored for a seat: half an hour of a key event at each tick of 60 Hz.
const MAX_ENTRIES: usize = 100_000;

/// The timing of one seat that is stored.
#[derive(Debug, Default)]
pub(super) struct Seen {
    keys: BTreeSet<KeyEvent>,
    rollbacks: BTreeSet<(Tick, u8)>,
    holds: BTreeSet<(Tick, u32)>,
    hidden: BTreeSet<(Tick, Tick)>,
    rtt_us: Vec<u32>,
    entries: usize,
}

impl Seen {
    /// What is new; nothing if there is nothing, or no room.
    pub(super) fn news(&self, timing: &Timing) -> Option<Timing> {
        fn new<T: Ord + Copy>(seen: &BTreeSet<T>, items: &[T]) -> Vec<T> {
            items
                .iter()
                .copied()
                .filter(|item| !seen.contains(item))
                .collect()
        }
        let news = Timing {
            keys: new(&self.keys, &timing.keys),
            rollbacks: new(&self.rollbacks, &timing.rollbacks),
            holds: new(&self.holds, &timing.holds),
            hidden: new(&self.hidden, &timing.hidden),
            rtt_us: timing.rtt_us.clone(),
            ..Timing::default()
        };
        let is_new = entries(&news) > 1 || news.rtt_us != self.rtt_us;
        (is_new && self.entries + entries(&news) <= MAX_ENTRIES).then_some(news)
    }

    /// Takes note of what is stored.
    pub(super) fn take(&mut self, timing: &Timing) {
        self.keys.extend(&timing.keys);
        self.rollbacks.extend(&timing.rollbacks);
        self.holds.extend(&timing.holds);
        self.hidden.extend(&timing.hidden);
        self.rtt_us.clone_from(&timing.rtt_us);
        self.entries += entries(timing);
    }
}

/// The round trips count as one.
fn entries(timing: &Timing) -> usize {
    1 + timing.keys.len() + timing.rollbacks.len() + timing.holds.len() + timing.hidden.len()
}
