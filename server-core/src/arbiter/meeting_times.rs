//! The latest waits of people for the rest of their group, and one of these waits at random.

use std::collections::{BTreeMap, VecDeque};

use study::assign::Rng;

/// The most waits that are remembered of a kind; the oldest are forgotten.
const MOST: usize = 64;
/// The number of waits from which on they count as usual here.
const ENOUGH: usize = 5;
/// If nothing was measured, the person who comes first waits for less than this, microseconds.
const USUAL_US: usize = 2_000_000;

/// A kind of wait: the env stage, and whether an episode of it came before.
pub(super) type WaitKind = (u16, bool);

/// The latest waits of people for the rest of their group; 0 for the person who came last.
#[derive(Debug, Default)]
pub(super) struct MeetingTimes {
    waited_us: BTreeMap<WaitKind, VecDeque<u64>>,
}

impl MeetingTimes {
    pub(super) fn add_time(&mut self, kind: WaitKind, waited_us: u64) {
        let waits = self.waited_us.entry(kind).or_default();
        waits.push_back(waited_us);
        if waits.len() > MOST {
            waits.pop_front();
        }
    }

    /// Draws one of the latest waits, so that the median and the spread are those of people.
    pub(super) fn draw_us(&self, kind: WaitKind, rng: &mut Rng) -> u64 {
        match self.waited_us.get(&kind) {
            Some(waits) if waits.len() >= ENOUGH => waits[rng.draw_below(waits.len())],
            // One of two comes last.
            _ if rng.draw_below(2) == 0 => 0,
            _ => rng.draw_below(USUAL_US) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_usual_at_first_and_then_one_of_those_that_people_had() {
        let (mut times, kind) = (MeetingTimes::default(), (3, true));
        let mut rng = Rng::of(7, &[1]);
        let mut drawn: Vec<u64> = (0..100).map(|_| times.draw_us(kind, &mut rng)).collect();
        drawn.sort_unstable();
        assert!(drawn[30] == 0 && drawn[70] > 0 && drawn[99] < 2_000_000);
        (0..5).for_each(|at| times.add_time(kind, 7_000_000 + at));
        let drawn_us = times.draw_us(kind, &mut rng);
        assert!((7_000_000..7_000_005).contains(&drawn_us), "{drawn_us}");
        assert!(
            times.draw_us((3, false), &mut rng) < 2_000_000,
            "another kind"
        );
        (0..MOST).for_each(|_| times.add_time(kind, 0));
        assert_eq!(times.draw_us(kind, &mut rng), 0, "the latest");
    }
}
