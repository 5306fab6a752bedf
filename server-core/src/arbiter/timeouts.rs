//! Times at which something must be settled, by key: the next one is at hand, however many there are.

use std::collections::{BTreeMap, BTreeSet};

/// A time, microseconds, and the reason.
pub(super) type Timeout = (u64, &'static str);

/// The times of many things.
#[derive(Debug)]
pub(super) struct Timeouts<K> {
    by_key: BTreeMap<K, Timeout>,
    by_time: BTreeSet<(Timeout, K)>,
}

impl<K> Default for Timeouts<K> {
    fn default() -> Self {
        Self {
            by_key: BTreeMap::new(),
            by_time: BTreeSet::new(),
        }
    }
}

impl<K: Copy + Ord> Timeouts<K> {
    /// Replaces the time of a thing; with `None`, nothing is due for it.
    pub(super) fn set(&mut self, key: K, timeout: Option<Timeout>) {
        let before = match timeout {
            Some(timeout) => self.by_key.insert(key, timeout),
            None => self.by_key.remove(&key),
        };
        if before == timeout {
            return;
        }
        if let Some(before) = before {
            self.by_time.remove(&(before, key));
        }
        self.by_time.extend(timeout.map(|timeout| (timeout, key)));
    }

    /// The next time, and its reason.
    pub(super) fn next_timeout(&self) -> Option<Timeout> {
        self.next_of(|_| true)
    }

    /// The next time of those things, and its reason.
    pub(super) fn next_of(&self, is_meant: impl Fn(&K) -> bool) -> Option<Timeout> {
        let mut meant = self.by_time.iter().filter(|(_, key)| is_meant(key));
        meant.next().map(|(timeout, _)| *timeout)
    }

    /// The things that are due, in their order.
    pub(super) fn due_keys(&self, now_us: u64) -> Vec<K> {
        let due = self.by_time.iter();
        let due = due.take_while(|((at_us, _), _)| *at_us <= now_us);
        let mut due: Vec<K> = due.map(|(_, key)| *key).collect();
        due.sort_unstable();
        due
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_times_are_those_that_were_set_last(sets in prop::collection::vec((0_u8..6, prop::option::of(0_u64..9)), 0..60), now_us in 0_u64..10) {
            let mut timeouts = Timeouts::default();
            let mut plain = BTreeMap::new();
            for (key, at_us) in sets {
                let reason = if key % 2 == 0 { "even" } else { "odd" };
                let timeout = at_us.map(|at_us| (at_us, reason));
                timeouts.set(key, timeout);
                plain.insert(key, timeout);
                prop_assert_eq!(timeouts.next_timeout(), plain.values().flatten().min().copied());
                let is_due = |(_, timeout): &(&u8, &Option<Timeout>)| timeout.is_some_and(|(at_us, _)| at_us <= now_us);
                let due: Vec<u8> = plain.iter().filter(is_due).map(|(key, _)| *key).collect();
                prop_assert_eq!(timeouts.due_keys(now_us), due);
            }
        }
    }
}
