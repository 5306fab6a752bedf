//! Counts of all pages: how far they are, how much they sent, and when the server said that it is durable.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use client_core::Verdict;
use protocol::Tick;

use crate::switchboard::Place;

/// The inputs that one person sent in an episode, and those that the server acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SeatTally {
    /// The page's own inputs before this tick were sent.
    pub(crate) sent: Tick,
    /// The page's own inputs before this tick are acknowledged.
    pub(crate) acknowledged: Tick,
    /// The server's word on the end.
    pub(crate) verdict: Option<Verdict>,
}

/// The counts of all pages.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Pages that the server let in.
    pub(crate) welcomed: usize,
    /// Pages in a running episode.
    pub(crate) playing: usize,
    /// Pages on the last page of the study.
    pub(crate) over: usize,
    /// Pages that were turned away, by the reason.
    pub(crate) refused: BTreeMap<String, usize>,
    /// Connections that broke, or did not come about.
    pub(crate) lost_connections: usize,
    /// Reasons for which pages ended before the last page of the study.
    pub(crate) failures: Vec<String>,
    /// Bytes of WebSocket frames, from the pages and to them.
    pub(crate) bytes_out: u64,
    pub(crate) bytes_in: u64,
    /// Uploads with inputs.
    pub(crate) uploads: u64,
    /// The seats of all episodes.
    pub(crate) seats: BTreeMap<Place, SeatTally>,
    /// Time from an upload to its acknowledgement, while measured.
    waits: Vec<Duration>,
    is_measuring: bool,
}

/// Sums at one moment, for the difference between two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TallySums {
    pub(crate) bytes_out: u64,
    pub(crate) bytes_in: u64,
    pub(crate) uploads: u64,
}

impl Tally {
    /// Sums so far.
    pub(crate) fn sums(&self) -> TallySums {
        TallySums {
            bytes_out: self.bytes_out,
            bytes_in: self.bytes_in,
            uploads: self.uploads,
        }
    }

    /// Begins to measure acknowledgements, or stops.
    pub(crate) fn set_measuring(&mut self, is_measuring: bool) {
        self.is_measuring = is_measuring;
    }

    /// Notes an acknowledgement of what was sent then.
    pub(crate) fn note_wait(&mut self, sent: Instant) {
        if self.is_measuring {
            self.waits.push(sent.elapsed());
        }
    }

    /// The waits that were measured, the shortest first.
    pub(crate) fn sorted_waits(&mut self) -> Vec<Duration> {
        self.waits.sort_unstable();
        self.waits.clone()
    }
}

/// The value at a share of a sorted list; zero for an empty one.
pub(crate) fn percentile(sorted: &[Duration], share: f64) -> Duration {
    let last = sorted.len().saturating_sub(1);
    let at = (share * last as f64).round() as usize;
    sorted.get(at).copied().unwrap_or_default()
}

/// Bytes of a WebSocket frame with a payload of `len` bytes. Those of pages are masked.
///
/// Source: RFC 6455 §5.2.
pub(crate) fn frame_len(len: usize, is_masked: bool) -> u64 {
    let head = match len {
        0..=125 => 2,
        126..=65_535 => 4,
        _ => 10,
    };
    (head + if is_masked { 4 } else { 0 } + len) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_of_the_list() {
        let list: Vec<Duration> = (1..=101).map(Duration::from_millis).collect();
        assert_eq!(percentile(&list, 0.5), Duration::from_millis(51));
        assert_eq!(percentile(&list, 0.99), Duration::from_millis(100));
        assert_eq!(percentile(&list, 1.0), Duration::from_millis(101));
        assert_eq!(percentile(&[], 0.5), Duration::ZERO);
    }

    #[test]
    fn frames_have_the_heads_that_the_protocol_says() {
        assert_eq!(frame_len(125, false), 127);
        assert_eq!(frame_len(126, true), 126 + 8);
        assert_eq!(frame_len(70_000, true), 70_000 + 14);
    }

    #[test]
    fn waits_count_only_while_they_are_measured() {
        let mut tally = Tally::default();
        tally.note_wait(Instant::now());
        tally.set_measuring(true);
        tally.note_wait(Instant::now());
        tally.set_measuring(false);
        tally.note_wait(Instant::now());
        assert_eq!(tally.sorted_waits().len(), 1);
    }
}
