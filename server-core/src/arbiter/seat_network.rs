//! The reports of a seat's page on its network in this episode: plain data, for the dashboard.

use protocol::Life;
use protocol::control::Timing;

/// The reports of a seat's pages.
#[derive(Clone, Debug, Default)]
pub(super) struct SeatNetwork {
    /// The longest round trip to another page, as last reported, microseconds.
    pub rtt_us: Option<u32>,
    /// The most packets that were lost on the way before the start, of a thousand.
    pub loss_permille: Option<u16>,
    pub rollbacks: u32,
    pub deepest_rollback: u8,
    pub holds: u32,
    pub held_ms: u32,
    /// The number of the next note of this life: a note that is uploaded twice counts once.
    next: (Life, u32),
}

impl SeatNetwork {
    /// The measurements from before the start: round trip to each seat, microseconds, and lost packets, of a thousand.
    pub(super) fn new(rtt_us: &[u32], loss_permille: &[Option<u16>]) -> Self {
        let rtt_us = rtt_us.iter().copied().max();
        Self {
            rtt_us: rtt_us.filter(|rtt_us| *rtt_us > 0),
            loss_permille: loss_permille.iter().copied().flatten().max(),
            ..Self::default()
        }
    }

    /// Adds a note of a page.
    pub(super) fn add_note(&mut self, life: Life, note: &Timing) {
        let next = match self.next {
            (of, next) if of == life => next,
            _ => 0,
        };
        if note.number < next {
            return;
        }
        self.next = (life, note.number.saturating_add(1));
        let rtt_us = note.rtt_us.iter().copied().max();
        self.rtt_us = rtt_us.filter(|rtt_us| *rtt_us > 0).or(self.rtt_us);
        let count = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
        self.rollbacks = self.rollbacks.saturating_add(count(note.rollbacks.len()));
        let depths = note.rollbacks.iter().map(|(_, ticks)| *ticks);
        self.deepest_rollback = depths.fold(self.deepest_rollback, u8::max);
        self.holds = self.holds.saturating_add(count(note.holds.len()));
        let held = note.holds.iter().map(|(_, ms)| *ms);
        self.held_ms = held.fold(self.held_ms, u32::saturating_add);
    }
}

#[cfg(test)]
mod tests {
    use protocol::Tick;

    use super::*;

    #[test]
    fn a_note_that_comes_twice_counts_once_and_a_new_life_counts_anew() {
        let mut network = SeatNetwork::new(&[0, 7], &[None, Some(3)]);
        let note = Timing {
            number: 0,
            rollbacks: vec![(Tick(4), 2), (Tick(9), 5)],
            holds: vec![(Tick(9), 300), (Tick(12), u32::MAX)],
            rtt_us: vec![0, 41_000],
            ..Timing::default()
        };
        assert_eq!((network.rtt_us, network.loss_permille), (Some(7), Some(3)));
        network.add_note(Life(0), &note);
        network.add_note(Life(0), &note);
        assert_eq!((network.rollbacks, network.deepest_rollback), (2, 5));
        assert_eq!((network.holds, network.held_ms), (2, u32::MAX));
        assert_eq!(network.rtt_us, Some(41_000));
        network.add_note(
            Life(1),
            &Timing {
                rtt_us: vec![0],
                ..note
            },
        );
        assert_eq!((network.rollbacks, network.rtt_us), (4, Some(41_000)));
    }
}
