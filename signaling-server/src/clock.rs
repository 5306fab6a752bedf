//! The server's clock: microseconds since the Unix epoch, read once at the start and steady from then on.

use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// A clock that no change of the system's time can step.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: Instant,
    epoch_us: u64,
}

impl Clock {
    /// Starts the clock at the system's time.
    pub fn start() -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            started: Instant::now(),
            epoch_us: since.as_micros() as u64,
        }
    }

    /// Now, microseconds since the Unix epoch.
    pub fn now_us(self) -> u64 {
        self.epoch_us + self.started.elapsed().as_micros() as u64
    }

    /// The instant of a time of this clock; times before its start are the start.
    pub fn instant(self, at_us: u64) -> Instant {
        self.started + std::time::Duration::from_micros(at_us.saturating_sub(self.epoch_us))
    }
}
