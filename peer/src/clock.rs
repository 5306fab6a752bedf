//! The server's time as the page knows it: the offset of the fastest of the last answers, slewed.
//!
//! This module must not know where times come from; they are microseconds, given by the caller.

use std::collections::VecDeque;

/// Answers asked for in quick succession before the clock counts as set.
const FIRST: usize = 8;
/// Answers that the filter looks back on.
const KEPT: usize = 8;
/// Pause between the first questions, microseconds.
const QUICK_US: u64 = 40_000;
/// Pause between questions after that, microseconds.
const STEADY_US: u64 = 1_000_000;
/// Slew: at most this part of the time that passed, 1/200 = 0.5 %.
const SLEW_DIVISOR: u64 = 200;
/// An error larger than this is not drift but a machine that slept; it is mended at once, microseconds.
const SLEPT_US: u64 = 250_000;

#[derive(Clone, Copy, Debug)]
struct Sample {
    rtt_us: u64,
    offset_us: i64,
}

/// Server time from page time.
#[derive(Debug, Default)]
pub struct Clock {
    samples: VecDeque<Sample>,
    taken: usize,
    asked_us: Option<u64>,
    offset_us: i64,
    read_us: u64,
    shown_us: u64,
}

impl Clock {
    /// Whether it is time to ask the server; if so, the question counts as asked.
    pub fn ask(&mut self, page_us: u64) -> bool {
        let pause = if self.is_set() { STEADY_US } else { QUICK_US };
        let due = self.asked_us.is_none_or(|asked| page_us >= asked + pause);
        if due {
            self.asked_us = Some(page_us);
        }
        due
    }

    /// Takes the server's answer to the question sent at `sent_us`, come at `received_us`.
    ///
    /// Source: RFC 5905 §8, on the assumption that both ways take equally long; the fastest answer errs least.
    pub fn answer(&mut self, sent_us: u64, server_us: u64, received_us: u64) {
        let Some(rtt_us) = received_us.checked_sub(sent_us) else {
            return;
        };
        let middle = sent_us + rtt_us / 2;
        let sample = Sample {
            rtt_us,
            offset_us: server_us.cast_signed().wrapping_sub(middle.cast_signed()),
        };
        if self.samples.len() == KEPT {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
        self.taken += 1;
        if self.taken <= FIRST {
            self.offset_us = self.best_us();
        }
    }

    /// Whether enough answers came to start a match by.
    pub fn is_set(&self) -> bool {
        self.taken >= FIRST
    }

    /// The round trip of the fastest recent answer, microseconds; 0 for none.
    pub fn rtt_us(&self) -> u64 {
        self.samples
            .iter()
            .map(|sample| sample.rtt_us)
            .min()
            .unwrap_or(0)
    }

    /// Server time, never before one given earlier.
    pub fn server_us(&mut self, page_us: u64) -> u64 {
        let passed = page_us.saturating_sub(self.read_us);
        self.read_us = self.read_us.max(page_us);
        let error = self.best_us().wrapping_sub(self.offset_us);
        let step = if error.unsigned_abs() > SLEPT_US {
            error
        } else {
            let most = (passed / SLEW_DIVISOR).cast_signed();
            error.clamp(-most, most)
        };
        self.offset_us = self.offset_us.wrapping_add(step);
        self.shown_us = self
            .shown_us
            .max(page_us.wrapping_add_signed(self.offset_us));
        self.shown_us
    }

    fn best_us(&self) -> i64 {
        let best = self.samples.iter().min_by_key(|sample| sample.rtt_us);
        best.map_or(self.offset_us, |sample| sample.offset_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(offset: u64) -> Clock {
        let mut clock = Clock::default();
        for k in 0..FIRST as u64 {
            let sent = 1_000_000 + k * QUICK_US;
            // The way back takes longer and longer: only the first answer is good.
            clock.answer(sent, sent + 500 + offset, sent + 1_000 + k * 7_000);
        }
        clock
    }

    #[test]
    fn the_fastest_answer_decides() {
        let mut clock = set(9_000_000_000);
        assert!(clock.is_set());
        assert_eq!(clock.rtt_us(), 1_000);
        assert_eq!(clock.server_us(2_000_000), 9_002_000_000);
    }

    #[test]
    fn questions_are_quick_and_then_steady() {
        let mut clock = Clock::default();
        assert!(clock.ask(0));
        assert!(!clock.ask(QUICK_US - 1));
        assert!(clock.ask(QUICK_US));
        let mut clock = set(0);
        assert!(clock.ask(2_000_000));
        assert!(!clock.ask(2_999_999));
        assert!(clock.ask(3_000_000));
    }

    #[test]
    fn drift_is_slewed_by_half_a_percent() {
        let mut clock = set(9_000_000_000);
        let before = clock.server_us(2_000_000);
        for k in 0..KEPT as u64 {
            let sent = 2_000_000 + k;
            clock.answer(sent, sent + 100 + 9_000_020_000, sent + 200);
        }
        let after = clock.server_us(3_000_000);
        assert_eq!(after - before, 1_005_000);
        assert_eq!(clock.server_us(13_000_000), 9_013_020_000);
    }

    #[test]
    fn a_slow_server_clock_never_turns_back() {
        let mut clock = set(9_000_000_000);
        let before = clock.server_us(2_000_000);
        for k in 0..KEPT as u64 {
            clock.answer(2_000_000 + k, 8_000_000_000, 2_000_100 + k);
        }
        assert!(clock.server_us(2_000_001) >= before);
    }

    #[test]
    fn a_machine_that_slept_catches_up_at_once() {
        let mut clock = set(9_000_000_000);
        for k in 0..KEPT as u64 {
            let sent = 2_000_000 + k;
            clock.answer(sent, sent + 100 + 9_060_000_000, sent + 200);
        }
        assert_eq!(clock.server_us(2_100_000), 9_062_100_000);
    }
}
