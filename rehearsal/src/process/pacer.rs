//! The pace of time: as fast as the machine keeps up with.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::host::Host;
use clock::{Clock, Pace};

/// How often lateness is measured.
const EACH: Duration = Duration::from_millis(5);

/// How late events may be in an episode, microseconds of the study: well below the time after which a page counts as
/// silent.
const LATE_IN_PLAY_US: f64 = 60_000.0;

/// The same while nobody plays.
const LATE_US: f64 = 1_000_000.0;

/// The shortest that a tick takes on the machine, seconds: its timers are no finer than a millisecond.
const TICK_S: f64 = 0.004;

/// The speed in an episode with WebRTC, whose own timers keep real time: a channel opens within the time that a
/// page gives it.
const WITH_WEBRTC: f64 = 1.0;

/// The lowest speed: no busy machine slows time further.
const LEAST: f64 = 0.2;

/// The speed of time once only the server's own rules are waited for: a day takes 17 seconds.
const WHEN_OVER: f64 = 5_000.0;

/// The highest speed of time while the server starts.
const WHILE_DOWN: f64 = 1.0;

/// The number of recent measurements that the pace depends on.
const LOOKS: usize = 10;

/// How far ahead a pace is set, so that both sides have it in time, microseconds.
const AHEAD_US: u64 = 30_000;

/// Lateness of the tasks of a thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Lag(Arc<AtomicU64>);

impl Lag {
    /// Measures forever.
    pub(super) async fn measure(self) {
        loop {
            let asked = Instant::now();
            tokio::time::sleep(EACH).await;
            let late = asked.elapsed().saturating_sub(EACH);
            self.0.fetch_max(late.as_micros() as u64, Ordering::Relaxed);
        }
    }
}

/// The people who are present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// Nobody.
    Nobody,
    /// Somebody, but nobody plays.
    Waiting,
    /// Somebody who plays.
    Playing,
    /// Pages in a real browser.
    Browsers,
}

/// Sets the pace of the clock of server and bots.
pub(super) struct Pacer {
    set: watch::Sender<Pace>,
    clock: Clock,
    most: f64,
    most_in_play: f64,
    lag: Lag,
    round_trips: Arc<Mutex<Vec<u64>>>,
    /// The number of round trips that were looked at.
    seen: usize,
    late_us: VecDeque<u64>,
    speed: f64,
}

impl Pacer {
    /// A pacer at the pace of real time; `most` and `most_in_play` are the highest speeds.
    pub(super) fn new(
        set: watch::Sender<Pace>,
        clock: Clock,
        most: f64,
        most_in_play: f64,
        round_trips: Arc<Mutex<Vec<u64>>>,
    ) -> Self {
        Self {
            set,
            clock,
            most,
            most_in_play: most_in_play.min(most).max(1.0),
            lag: Lag::default(),
            round_trips,
            seen: 0,
            late_us: VecDeque::new(),
            speed: 1.0,
        }
    }

    /// The meter that threads measure with.
    pub(super) fn meter(&self) -> Lag {
        self.lag.clone()
    }

    /// The speed of time, as a multiple of real time.
    pub(super) fn speed(&self) -> f64 {
        self.speed
    }

    /// The pace, for a server that starts.
    pub(super) fn pace(&self) -> Pace {
        *self.set.borrow()
    }

    /// All round trips to the server, microseconds of the machine.
    pub(super) fn round_trips(&self) -> Vec<u64> {
        self.round_trips
            .lock()
            .unwrap_or_else(|all| all.into_inner())
            .clone()
    }

    /// Takes new measurements, and sets the pace by them.
    pub(super) async fn look_at_host(&mut self, host: &mut Host, who: Who) {
        let slowest_us = self.slowest_us();
        let late_us = self.lag.0.swap(0, Ordering::Relaxed);
        if self.late_us.len() == LOOKS {
            self.late_us.pop_front();
        }
        self.late_us.push_back(slowest_us.max(late_us).max(500));
        let worst_us = self.late_us.iter().copied().max().unwrap_or(500);
        let most = match who {
            Who::Playing => self.most_in_play,
            _ => self.most,
        };
        let wanted = match who {
            Who::Browsers => 1.0,
            Who::Nobody => most,
            Who::Playing | Who::Waiting => {
                bearable(who == Who::Playing, worst_us).clamp(LEAST, most)
            }
        };
        // Slows down immediately, speeds up gradually; the pages of a browser know only real time.
        let speed = match who {
            Who::Browsers => wanted,
            _ => wanted.min(self.speed * 1.25),
        };
        if (speed / self.speed - 1.0).abs() > 0.05 {
            self.set(host, speed).await;
        }
    }

    /// Sets the speed for the time when nobody is there any more.
    pub(super) async fn leap_ahead(&mut self, host: &mut Host) {
        if self.speed < WHEN_OVER {
            self.set(host, WHEN_OVER).await;
        }
    }

    /// The slowest round trip since the last look.
    fn slowest_us(&mut self) -> u64 {
        let all = self
            .round_trips
            .lock()
            .unwrap_or_else(|all| all.into_inner());
        let fresh = &all[self.seen..];
        self.seen = all.len();
        fresh.iter().copied().max().unwrap_or(0)
    }

    /// Slows down enough for a server that starts.
    pub(super) async fn slow_down(&mut self, host: &mut Host) {
        self.set(host, self.speed.min(WHILE_DOWN)).await;
    }

    async fn set(&mut self, host: &mut Host, speed: f64) {
        let before = self.pace();
        // The pace before it is in effect by then.
        while self.clock.machine_us() < before.from_us {
            tokio::time::sleep(EACH).await;
        }
        let pace = before.then(self.clock.machine_us() + AHEAD_US, speed);
        self.speed = speed;
        host.set_pace(&pace).await;
        self.set.send_replace(pace);
    }
}

/// The highest speed in an episode of this many ticks a second.
pub(super) fn most_in_play(tick_hz: u16, has_webrtc: bool) -> f64 {
    let by_ticks = 1.0 / (TICK_S * f64::from(tick_hz.max(1)));
    match has_webrtc {
        true => by_ticks.min(WITH_WEBRTC),
        false => by_ticks,
    }
}

/// The speed at which a lateness on the machine, microseconds, is still acceptable in time of the study.
fn bearable(in_play: bool, late_us: u64) -> f64 {
    let allowed_us = if in_play { LATE_IN_PLAY_US } else { LATE_US };
    allowed_us / late_us.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_not_silent_because_the_machine_is_busy() {
        for late_us in [500, 3_000, 20_000, 200_000] {
            let late_ms = bearable(true, late_us) * late_us as f64 / 1e3;
            assert!(
                late_ms * 3.0 < f64::from(protocol::control::SILENT_MS),
                "{late_us}"
            );
            assert!(bearable(false, late_us) > bearable(true, late_us));
        }
    }
}
