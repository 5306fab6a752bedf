//! A bucket that fills steadily: how often somebody may do something.

/// The number of times that something may happen in one go.
const BURST: u64 = 5;

/// A token bucket. A single time says how full it is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bucket {
    /// The time at which it is full again, microseconds.
    full_us: u64,
}

impl Bucket {
    /// Takes one, if there is one; every `each_us` there is one more.
    pub(super) fn take_token(&mut self, now_us: u64, each_us: u64) -> bool {
        self.take_token_of(now_us, each_us, BURST)
    }

    /// The same, from a bucket that holds `burst`.
    pub(super) fn take_token_of(&mut self, now_us: u64, each_us: u64, burst: u64) -> bool {
        let full_us = self.full_us.max(now_us) + each_us;
        let enough = full_us - now_us <= burst * each_us;
        if enough {
            self.full_us = full_us;
        }
        enough
    }

    /// The time at which it is full again, microseconds; in the past if nothing taken from it matters any more.
    pub(super) fn full_us(&self) -> u64 {
        self.full_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_taken_and_then_the_steady_rate() {
        let mut bucket = Bucket::default();
        let taken = (0..20).filter(|_| bucket.take_token(7, 1_000)).count();
        assert_eq!(taken, 5);
        assert!(!bucket.take_token(1_006, 1_000));
        assert!(bucket.take_token(1_007, 1_000));
        assert!(!bucket.take_token(1_007, 1_000));
        let later = (0..20)
            .filter(|_| bucket.take_token(1_000_000, 1_000))
            .count();
        assert_eq!(later, 5);
    }
}
