//! The server's clock: microseconds since the Unix epoch, read once at the start and steady from then on.
//! In a rehearsal it runs at another pace, which may change while it runs.

#![forbid(unsafe_code)]

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The pace of a clock: from `from_us` on, it runs `speed` times as fast as the machine's, and until then `before`
/// times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// From when on, microseconds since the Unix epoch by the machine's clock.
    pub from_us: u64,
    /// The time that the clock shows then, microseconds.
    pub shows_us: u64,
    /// The speed from then on, relative to the machine's clock; above 0.
    pub speed: f64,
    /// The speed until then.
    pub before: f64,
}

impl Pace {
    /// As fast as the machine's clock, and showing the same.
    pub const REAL: Self = Self {
        from_us: 0,
        shows_us: 0,
        speed: 1.0,
        before: 1.0,
    };

    /// The time that the clock shows at a time of the machine.
    pub fn shown_us(&self, at_us: u64) -> u64 {
        match at_us.checked_sub(self.from_us) {
            Some(since_us) => self.shows_us + times(since_us, self.speed),
            None => (self.shows_us).saturating_sub(times(self.from_us - at_us, self.before)),
        }
    }

    /// Returns when the clock shows a time, by the machine's clock; rounded up.
    pub fn due_us(&self, shown_us: u64) -> u64 {
        match shown_us.checked_sub(self.shows_us) {
            Some(ahead_us) => self.from_us + times(ahead_us, 1.0 / self.speed) + 1,
            None => {
                let behind_us = times(self.shows_us - shown_us, 1.0 / self.before);
                (self.from_us + 1).saturating_sub(behind_us)
            }
        }
    }

    /// The same clock, at another speed from a time of the machine on that is not before `from_us`.
    pub fn then(&self, from_us: u64, speed: f64) -> Self {
        Self {
            from_us,
            shows_us: self.shown_us(from_us),
            speed,
            before: self.speed,
        }
    }
}

/// A clock never shows so much that a number of microseconds would not be exact.
fn times(us: u64, factor: f64) -> u64 {
    if factor == 1.0 {
        us
    } else {
        (us as f64 * factor) as u64
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            from_us,
            shows_us,
            speed,
            before,
        } = self;
        write!(f, "{from_us} {shows_us} {speed} {before}")
    }
}

/// A line that is not a pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `FROM_US SHOWS_US SPEED BEFORE`, two times and two speeds above 0")]
pub struct NoPace;

impl FromStr for Pace {
    type Err = NoPace;

    fn from_str(line: &str) -> Result<Self, NoPace> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [from_us, shows_us, speed, before] = words[..] else {
            return Err(NoPace);
        };
        let time = |word: &str| word.parse::<u64>().map_err(|_| NoPace);
        let speed_of = |word: &str| {
            let speed: f64 = word.parse().map_err(|_| NoPace)?;
            let is_one = speed.is_finite() && speed > 0.0;
            is_one.then_some(speed).ok_or(NoPace)
        };
        Ok(Self {
            from_us: time(from_us)?,
            shows_us: time(shows_us)?,
            speed: speed_of(speed)?,
            before: speed_of(before)?,
        })
    }
}

/// A clock that no change of the system's time can step.
#[derive(Clone, Debug)]
pub struct Clock {
    started: Instant,
    epoch_us: u64,
    /// How far it is ahead of the machine's clock, because that was set back, microseconds.
    ahead_us: Arc<AtomicU64>,
    pace: watch::Receiver<Pace>,
    /// The time that it showed last: a pace that is set late must not turn it back.
    shown_us: Arc<AtomicU64>,
}

impl Clock {
    /// Starts the clock at the system's time.
    pub fn start() -> Self {
        Self::paced(Pace::REAL).1
    }

    /// Starts a clock whose pace can be set.
    pub fn paced(pace: Pace) -> (watch::Sender<Pace>, Self) {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let (set, pace) = watch::channel(pace);
        let clock = Self {
            started: Instant::now(),
            epoch_us: since.as_micros() as u64,
            ahead_us: Arc::default(),
            pace,
            shown_us: Arc::default(),
        };
        (set, clock)
    }

    /// Now, microseconds since the Unix epoch.
    pub fn now_us(&self) -> u64 {
        let now_us =
            self.pace.borrow().shown_us(self.machine_us()) + self.ahead_us.load(Ordering::Relaxed);
        self.shown_us
            .fetch_max(now_us, Ordering::Relaxed)
            .max(now_us)
    }

    /// Shows no time before this one from now on: stored events have happened, whatever the machine's clock says after
    /// a restart. Until the machine's clock is past it, this one continues from there at its pace.
    pub fn advance_to(&self, least_us: u64) {
        let behind_us = least_us.saturating_sub(self.now_us());
        self.ahead_us.fetch_add(behind_us, Ordering::Relaxed);
    }

    /// Now by the machine, microseconds since the Unix epoch, whatever the pace.
    pub fn machine_us(&self) -> u64 {
        self.epoch_us + self.started.elapsed().as_micros() as u64
    }

    /// Waits until the clock shows a time, also if its pace changes meanwhile.
    pub async fn sleep_until(&self, at_us: u64) {
        let mut pace = self.pace.clone();
        loop {
            let at_us = at_us.saturating_sub(self.ahead_us.load(Ordering::Relaxed));
            let due_us = pace.borrow_and_update().due_us(at_us);
            let due = self.started + Duration::from_micros(due_us.saturating_sub(self.epoch_us));
            tokio::select! {
                () = sleep_until(due) => return,
                Ok(()) = pace.changed() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_goes_on_from_the_one_before_and_its_inverse_is_when_a_time_is_shown() {
        let slow = Pace::REAL.then(1_000_000, 0.5);
        let fast = slow.then(3_000_000, 20.0);
        assert_eq!(slow.shown_us(3_000_000), 2_000_000);
        assert_eq!(fast.shown_us(3_000_000), 2_000_000);
        assert_eq!(fast.shown_us(2_000_000), slow.shown_us(2_000_000));
        assert_eq!(fast.shown_us(4_000_000), 22_000_000);
        for at_us in [1_500_000, 2_900_000, 3_000_000, 3_100_000, 9_000_000] {
            let due_us = fast.due_us(fast.shown_us(at_us));
            assert!(due_us.abs_diff(at_us) <= 2, "{at_us} {due_us}");
            assert!(fast.shown_us(due_us) >= fast.shown_us(at_us));
        }
        assert_eq!(fast.to_string().parse(), Ok(fast));
        for line in ["", "1 2 3", "1 2 0 1", "1 2 -1 1", "1 2 NaN 1", "1 2 1 1 1"] {
            assert_eq!(line.parse::<Pace>(), Err(NoPace), "{line}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_was_set_back_continues_from_what_is_known() {
        let clock = Clock::start();
        let known_us = clock.now_us() + 3_600_000_000;
        clock.advance_to(known_us);
        assert!(clock.now_us().abs_diff(known_us) < 1_000_000);
        let before = Instant::now();
        clock.sleep_until(known_us + 10_000_000).await;
        assert!((9..12).contains(&before.elapsed().as_secs()));
        assert!(clock.now_us() >= known_us + 10_000_000);
        clock.advance_to(1);
        assert!(clock.now_us() < known_us + 20_000_000);
    }

    #[tokio::test(start_paused = true)]
    async fn who_sleeps_is_woken_by_the_pace_that_is_set_last() {
        let (set, clock) = Clock::paced(Pace::REAL);
        let at_us = clock.now_us() + 10_000_000_000;
        let before = Instant::now();
        let sleep = clock.sleep_until(at_us);
        let hurry = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let pace = Pace::REAL.then(clock.machine_us(), 1_000.0);
            set.send(pace).unwrap();
        };
        tokio::join!(sleep, hurry);
        let slept = before.elapsed();
        assert!(clock.now_us() >= at_us);
        assert!((10..12).contains(&slept.as_secs()), "{slept:?}");
    }
}
