//! The server's time as the page knows it: the offset of the fastest of the last answers, slewed.
//!
//! If two clocks run at different rates, an old answer is a wrong one. A rate that differs by more than
//! [`RATE_FLOOR`] is therefore found from the fastest of older and of newer answers, and applied to all of them.
//!
//! This module must not know where times come from; they are microseconds, given by the caller.

use std::collections::VecDeque;

/// Answers asked for in quick succession before the clock counts as set.
const FIRST: usize = 8;
/// Answers that the filter looks back on.
const KEPT: usize = 8;
/// Answers before those, for the rate.
const OLDER: usize = 8;
/// Rates of two clocks that differ by less count as equal, millionths: answers of a busy network are no more precise.
const RATE_FLOOR: i64 = 5_000;
/// Clocks whose rates differ by more do not exist, millionths.
const RATE_LIMIT: i64 = 100_000;
/// Pause between the first questions, microseconds.
const QUICK_US: u64 = 40_000;
/// Pause between questions after that, microseconds.
const STEADY_US: u64 = 1_000_000;
/// Slew: at least this part of the time that passed, millionths.
const SLEW_LEAST: u64 = 5_000;
/// Slew: at most this part, millionths.
const SLEW_MOST: u64 = 100_000;
/// Between the two, an error is slewed as if it were to be gone after this long, microseconds.
const SLEW_US: u64 = 500_000;
/// Slower answers are useless, because the offset may be wrong by half of the time that they took, microseconds.
const SLOWEST_US: u64 = 2_000_000;
/// An error larger than this is not drift: the machine slept. It is corrected immediately, microseconds.
const SLEPT_US: u64 = 1_000_000;

#[derive(Clone, Copy, Debug)]
struct Sample {
    at_us: u64,
    rtt_us: u64,
    offset_us: i64,
}

/// Server time from page time.
#[derive(Debug, Default)]
pub struct ServerClock {
    samples: VecDeque<Sample>,
    taken: usize,
    asked_us: Option<u64>,
    /// How much faster the server's clock runs, millionths; 0 while the clocks differ little or the rate is unknown.
    rate: i64,
    offset_us: i64,
    read_us: u64,
    shown_us: u64,
}

impl ServerClock {
    /// True if it is time to ask the server; if so, the question counts as asked.
    pub fn poll_question(&mut self, page_us: u64) -> bool {
        let due = page_us >= self.next_question_us();
        if due {
            self.asked_us = Some(page_us);
        }
        due
    }

    /// The time of the next question, page clock, microseconds; 0 for now.
    pub fn next_question_us(&self) -> u64 {
        let pause_us = if self.is_set() { STEADY_US } else { QUICK_US };
        self.asked_us.map_or(0, |asked_us| asked_us + pause_us)
    }

    /// Takes the server's answer to the question sent at `sent_us`, come at `received_us`.
    ///
    /// Source: RFC 5905 §8, on the assumption that both ways take equally long; the fastest answer errs least.
    pub fn handle_answer(&mut self, sent_us: u64, server_us: u64, received_us: u64) {
        let rtt_us = received_us.checked_sub(sent_us);
        let Some(rtt_us) = rtt_us.filter(|&rtt_us| rtt_us <= SLOWEST_US) else {
            return;
        };
        let middle = sent_us + rtt_us / 2;
        let sample = Sample {
            at_us: received_us,
            rtt_us,
            offset_us: server_us.cast_signed().wrapping_sub(middle.cast_signed()),
        };
        if self.samples.len() == KEPT + OLDER {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
        self.rate = self.find_rate();
        self.taken += 1;
        if self.taken <= FIRST {
            self.offset_us = self.best_us(received_us);
        }
    }

    /// True if enough answers came to start a match.
    pub fn is_set(&self) -> bool {
        self.taken >= FIRST
    }

    /// The round trip of the fastest recent answer, microseconds; 0 for none.
    pub fn rtt_us(&self) -> u64 {
        self.newest().map(|sample| sample.rtt_us).min().unwrap_or(0)
    }

    /// Server time, never before one given earlier.
    pub fn server_us(&mut self, page_us: u64) -> u64 {
        let passed = page_us.saturating_sub(self.read_us);
        self.read_us = self.read_us.max(page_us);
        let error = self.best_us(page_us).wrapping_sub(self.offset_us);
        let step = if error.unsigned_abs() > SLEPT_US {
            error
        } else {
            let part = (error.unsigned_abs() * 1_000_000 / SLEW_US).clamp(SLEW_LEAST, SLEW_MOST);
            let most = (u128::from(passed) * u128::from(part) / 1_000_000) as i64;
            error.clamp(-most, most)
        };
        self.offset_us = self.offset_us.wrapping_add(step);
        self.shown_us = self
            .shown_us
            .max(page_us.wrapping_add_signed(self.offset_us));
        self.shown_us
    }

    fn newest(&self) -> impl Iterator<Item = &Sample> {
        self.samples.iter().rev().take(KEPT)
    }

    /// The offset by the best of the newest answers, brought up to `page_us`. By half of its round trip an answer may
    /// be wrong, and by what two clocks taken as equal drift apart in its age.
    ///
    /// Source: RFC 5905 §10, where the dispersion of a sample grows with its age.
    fn best_us(&self, page_us: u64) -> i64 {
        let best = self.newest().min_by_key(|sample| {
            let age_us = page_us.saturating_sub(sample.at_us);
            let drifted_us = age_us.saturating_mul(RATE_FLOOR.unsigned_abs()) / 1_000_000;
            sample.rtt_us.saturating_add(2 * drifted_us)
        });
        best.map_or(self.offset_us, |sample| {
            let age_us = page_us.saturating_sub(sample.at_us).cast_signed();
            let drifted_us = match self.rate {
                0 => 0,
                rate => (i128::from(age_us) * i128::from(rate) / 1_000_000) as i64,
            };
            sample.offset_us.wrapping_add(drifted_us)
        })
    }

    /// Finds the rate from the samples.
    fn find_rate(&self) -> i64 {
        let older = self.samples.iter().rev().skip(KEPT);
        let ends = older
            .min_by_key(|sample| sample.rtt_us)
            .zip(self.newest().min_by_key(|sample| sample.rtt_us));
        let Some((old, new)) = ends.filter(|_| self.samples.len() == KEPT + OLDER) else {
            return 0;
        };
        let passed = i128::from(new.at_us.saturating_sub(old.at_us).max(1));
        let gained = i128::from(new.offset_us.wrapping_sub(old.offset_us));
        let rate = i64::try_from(gained * 1_000_000 / passed).unwrap_or(i64::MAX);
        // Beyond the limit it was a jump: a machine that slept.
        let is_rate = (RATE_FLOOR..=RATE_LIMIT).contains(&rate.saturating_abs());
        if is_rate { rate } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(offset: u64) -> ServerClock {
        let mut clock = ServerClock::default();
        for k in 0..FIRST as u64 {
            let sent = 1_000_000 + k * QUICK_US;
            // The way back takes longer and longer: only the first answer is good.
            clock.handle_answer(sent, sent + 500 + offset, sent + 1_000 + k * 7_000);
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
    fn answers_that_waited_for_a_network_set_no_clock() {
        let mut clock = ServerClock::default();
        for k in 0..FIRST as u64 {
            clock.handle_answer(k * QUICK_US, 8_000_000, 8_000_100 + k);
        }
        assert!(!clock.is_set());
    }

    #[test]
    fn questions_are_quick_and_then_steady() {
        let mut clock = ServerClock::default();
        assert!(clock.poll_question(0));
        assert!(!clock.poll_question(QUICK_US - 1));
        assert!(clock.poll_question(QUICK_US));
        let mut clock = set(0);
        assert!(clock.poll_question(2_000_000));
        assert!(!clock.poll_question(2_999_999));
        assert!(clock.poll_question(3_000_000));
    }

    #[test]
    fn an_error_is_slewed_and_never_jumped() {
        let mut clock = set(9_000_000_000);
        clock.server_us(3_000_000);
        for k in 0..KEPT as u64 {
            let sent = 3_000_000 + k;
            clock.handle_answer(sent, sent + 100 + 9_000_009_000, sent + 200);
        }
        // 9 ms are mended at 1.8 %, as if to be gone after half a second.
        assert_eq!(clock.server_us(3_100_000), 9_003_100_000 + 1_800);
    }

    #[test]
    fn a_clock_of_another_rate_is_followed() {
        for rate in [-50_000_i64, 20_000, 50_000] {
            let mut clock = ServerClock::default();
            let server = |page_us: u64| {
                let gained = i128::from(page_us) * i128::from(rate) / 1_000_000;
                9_000_000_000 + page_us.wrapping_add_signed(gained as i64)
            };
            let (mut shown, mut worst) = (0, 0);
            for at in (0..120_000_000_u64).step_by(4_000) {
                if clock.poll_question(at) {
                    // Ways of 10 to 50 ms, each way another.
                    let (there, back) = (10_000 + at / 7 % 40_000, 10_000 + at / 11 % 40_000);
                    clock.handle_answer(at - at.min(there + back), server(at - at.min(back)), at);
                }
                let now = clock.server_us(at);
                assert!(now >= shown, "it turned back at {at}");
                shown = now;
                if at > 30_000_000 {
                    worst = worst.max(now.abs_diff(server(at)));
                }
            }
            assert!(worst < 60_000, "{rate}: {worst} us");
        }
    }

    #[test]
    fn a_slow_server_clock_never_turns_back() {
        let mut clock = set(9_000_000_000);
        let before = clock.server_us(2_000_000);
        for k in 0..KEPT as u64 {
            clock.handle_answer(2_000_000 + k, 8_000_000_000, 2_000_100 + k);
        }
        assert!(clock.server_us(2_000_001) >= before);
    }

    #[test]
    fn a_machine_that_slept_catches_up_at_once() {
        let mut clock = set(9_000_000_000);
        for k in 0..KEPT as u64 {
            let sent = 2_000_000 + k;
            clock.handle_answer(sent, sent + 100 + 9_060_000_000, sent + 200);
        }
        assert_eq!(clock.server_us(2_100_000), 9_062_100_000);
    }
}
