//! Pairs of people who are kept apart in a lobby, permanently or until they may be measured again.

use std::collections::BTreeMap;

/// The most measurements of two people.
pub(super) const MOST_MEASURED: u8 = 3;

/// The time at which the path between two people is measured again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MeasureAgain {
    /// From this time on, microseconds.
    At(u64),
    Never,
}

/// Two people who are kept apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    /// How often they were found too far apart.
    measured: u8,
    /// The time at which they may be put together, if nobody else can be found for either.
    again: MeasureAgain,
}

/// The pairs of a lobby.
#[derive(Debug)]
pub(super) struct KeptApart<P> {
    pairs: BTreeMap<(P, P), Pair>,
}

impl<P> Default for KeptApart<P> {
    fn default() -> Self {
        Self {
            pairs: BTreeMap::new(),
        }
    }
}

impl<P: Copy + Ord> KeptApart<P> {
    /// Two people are never put together any more.
    pub(super) fn keep_apart(&mut self, one: P, other: P) {
        self.pair_mut(one, other).again = MeasureAgain::Never;
    }

    /// Two people were measured, and are too far apart: they may be measured again after a while, but not for ever.
    pub(super) fn record_too_far(&mut self, one: P, other: P, again_us: u64) {
        let pair = self.pair_mut(one, other);
        pair.measured = pair.measured.saturating_add(1);
        let again = match pair.measured >= MOST_MEASURED {
            true => MeasureAgain::Never,
            false => MeasureAgain::At(again_us),
        };
        pair.again = pair.again.max(again);
    }

    /// True if nothing keeps two people apart, or if they may be measured again by now.
    pub(super) fn may_measure(&self, one: P, other: P, now_us: u64) -> bool {
        self.find_pair(one, other)
            .is_none_or(|pair| pair.again <= MeasureAgain::At(now_us))
    }

    /// True if two people are kept apart.
    pub(super) fn is_apart(&self, one: P, other: P) -> bool {
        self.find_pair(one, other).is_some()
    }

    /// The pairs that may be measured again since then.
    pub(super) fn due_pairs(
        &self,
        since_us: u64,
        now_us: u64,
    ) -> impl Iterator<Item = (P, P)> + '_ {
        let (since, now) = (MeasureAgain::At(since_us), MeasureAgain::At(now_us));
        let is_due = move |pair: &Pair| since < pair.again && pair.again <= now;
        self.pairs
            .iter()
            .filter(move |(_, pair)| is_due(pair))
            .map(|(people, _)| *people)
    }

    /// Returns the next time after this one at which two of these people may be measured again, microseconds.
    pub(super) fn next_us(&self, after_us: u64, is_here: impl Fn(P) -> bool) -> Option<u64> {
        let at_us = |((one, other), pair): (&(P, P), &Pair)| match pair.again {
            MeasureAgain::At(at_us) if is_here(*one) && is_here(*other) => Some(at_us),
            MeasureAgain::At(_) | MeasureAgain::Never => None,
        };
        let times = self.pairs.iter().filter_map(at_us);
        times.filter(|at_us| *at_us > after_us).min()
    }

    /// The pairs of which somebody is one.
    pub(super) fn pairs_of(&self, person: P) -> Vec<((P, P), Pair)> {
        let own = self.pairs.iter();
        let own = own.filter(|((one, other), _)| *one == person || *other == person);
        own.map(|(people, pair)| (*people, *pair)).collect()
    }

    /// Adds pairs of another lobby; the stricter rule counts.
    pub(super) fn add_pairs(&mut self, pairs: Vec<((P, P), Pair)>) {
        for ((one, other), new) in pairs {
            let pair = self.pair_mut(one, other);
            pair.measured = pair.measured.max(new.measured);
            pair.again = pair.again.max(new.again);
        }
    }

    fn find_pair(&self, one: P, other: P) -> Option<&Pair> {
        self.pairs.get(&(one.min(other), one.max(other)))
    }

    fn pair_mut(&mut self, one: P, other: P) -> &mut Pair {
        let people = (one.min(other), one.max(other));
        self.pairs.entry(people).or_insert(Pair {
            measured: 0,
            again: MeasureAgain::At(0),
        })
    }
}
