//! Keeping pace: nobody plays faster than the slowest page, and nobody makes up for a stop by playing faster.
//!
//! The delay of the ticks only grows, and everybody takes on the greatest that is heard.

use env_core::World;
use protocol::Tick;

use crate::effects::SessionEvent;
use crate::session::Session;

/// A stop longer than this is not made up for, microseconds.
const STOP_US: u64 = 250_000;

/// The delays of others put the next tick off by at most this many periods after the last one. So nobody's claims make
/// the game slower than a quarter of its pace. A page slower than a fifth of the pace loses its seat; the others adopt
/// the delay of a page that they wait for at that rate.
const SLOWEST: u64 = 4;

/// A page whose inputs end this many ticks beyond this page's own inputs has a clock that is ahead, and waits by
/// itself.
const AHEAD: u32 = 4;

/// The recent lateness of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pace {
    /// How late the last tick was, if the page had no time to spare since.
    late_us: u64,
    /// When the page last ran.
    awake_us: Option<u64>,
    /// When the last tick ran for the first time.
    ran_us: Option<u64>,
}

impl<W: World> Session<W> {
    /// A delay that was heard from a page whose inputs end there. A page that cannot keep up is never ahead of the
    /// others: one that is waits for them, and if they waited for it in turn nobody would come on.
    pub(crate) fn adopt_delay(&mut self, delay_ms: u32, end: u32) {
        if end > self.input_tick().0 + AHEAD {
            return;
        }
        let undelayed_us = self.due_us() - u64::from(self.delay_ms()) * 1_000;
        let ran_us = self.pace.ran_us.unwrap_or(undelayed_us);
        let furthest_us = ran_us.saturating_add(SLOWEST * self.period_us());
        let furthest_ms = furthest_us.saturating_sub(undelayed_us) / 1_000;
        self.put_off(delay_ms.min(u32::try_from(furthest_ms).unwrap_or(u32::MAX)));
    }

    /// Ticks have run for the first time.
    pub(crate) fn note_ran(&mut self) {
        self.pace.ran_us = Some(self.now_us);
    }

    /// Lets the ticks continue from where they are, after a stop of the page or of the network.
    pub(crate) fn take_rest(&mut self) {
        let awake_us = self.pace.awake_us.replace(self.now_us);
        let slept = awake_us.is_some_and(|awake_us| self.now_us > awake_us + STOP_US);
        let late = self.lateness_us().is_some_and(|late_us| late_us > STOP_US);
        if late && (slept || self.held_us().is_some()) {
            self.wait_for_this();
        }
    }

    /// How late the next tick is, if it is due and may run.
    pub(crate) fn lateness_us(&self) -> Option<u64> {
        let late_us = self.now_us.checked_sub(self.due_us())?;
        let is_timed = !self.config().rules.turns;
        (is_timed && self.may_run()).then_some(late_us)
    }

    /// Called before ticks run: if this page falls further behind with every tick, although it is called again
    /// immediately, the others wait for it. The lateness counts only from most of a period on, so that an uneven timer
    /// does not look like a slow page, and so that nobody is more than two ticks ahead of the page before the others
    /// learn of it.
    pub(crate) fn keep_pace(&mut self) {
        let (late_us, before_us) = (self.lateness_us().unwrap_or(0), self.pace.late_us);
        self.pace.late_us = late_us;
        let period_us = self.period_us();
        if late_us > before_us && before_us * 5 >= period_us * 2 && late_us * 5 >= period_us * 4 {
            self.pace.late_us = 0;
            self.wait_for_this();
        }
    }

    /// Puts ticks off so that the next one is due now; not while the page comes back and nobody waits for it yet.
    fn wait_for_this(&mut self) {
        if self.is_playing() {
            let late_us = self.now_us.saturating_sub(self.due_us());
            let late_ms = u32::try_from(late_us / 1_000).unwrap_or(u32::MAX);
            self.put_off(self.delay_ms().saturating_add(late_ms));
        }
    }

    fn put_off(&mut self, delay_ms: u32) {
        if self.set_delay(delay_ms) {
            self.report(SessionEvent::Delayed {
                tick: Tick(self.current().0),
                delay_ms: self.delay_ms(),
            });
        }
    }
}
