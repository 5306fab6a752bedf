//! The messages of one page that the server still takes.

use crate::limits::Limits;

/// A bucket of messages that fills steadily. Datagrams leave half of it to the others.
#[derive(Clone, Copy, Debug)]
pub struct MessageBudget {
    left: f64,
    most: f64,
    per_s: f64,
    at_us: u64,
}

impl MessageBudget {
    /// A full one.
    pub fn new(limits: &Limits, now_us: u64) -> Self {
        let most = f64::from(limits.messages_burst);
        Self {
            left: most,
            most,
            per_s: f64::from(limits.messages_per_s),
            at_us: now_us,
        }
    }

    /// True if the server takes another message.
    pub fn take_message(&mut self, now_us: u64, is_datagram: bool) -> bool {
        let passed_us = now_us.saturating_sub(self.at_us);
        let filled = self.left + passed_us as f64 * self.per_s / 1e6;
        (self.left, self.at_us) = (filled.min(self.most), now_us);
        let kept = if is_datagram { self.most / 2.0 } else { 0.0 };
        let enough = self.left >= kept + 1.0;
        self.left -= f64::from(u8::from(enough));
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_taken_and_then_the_steady_rate() {
        let limits = Limits {
            messages_per_s: 10,
            messages_burst: 3,
            ..Limits::default()
        };
        let start = 1_000_000;
        let mut budget = MessageBudget::new(&limits, start);
        let taken = (0..5).filter(|_| budget.take_message(start, false)).count();
        assert_eq!(taken, 3);
        assert!(!budget.take_message(start + 90_000, false));
        assert!(budget.take_message(start + 110_000, false));
    }

    #[test]
    fn datagrams_that_come_all_at_once_leave_room_for_messages() {
        let limits = Limits {
            messages_per_s: 10,
            messages_burst: 8,
            ..Limits::default()
        };
        let start = 1_000_000;
        let mut budget = MessageBudget::new(&limits, start);
        let taken = (0..100)
            .filter(|_| budget.take_message(start, true))
            .count();
        assert_eq!(taken, 4);
        let taken = (0..100)
            .filter(|_| budget.take_message(start, false))
            .count();
        assert_eq!(taken, 4);
    }
}
