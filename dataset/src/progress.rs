//! Progress of long work, on the standard error.

use std::io::Write as _;
use std::time::{Duration, Instant};

/// Tells how far long work is.
pub(crate) struct Progress {
    done: usize,
    of: usize,
    next: Instant,
}

impl Progress {
    const FIRST: Duration = Duration::from_secs(2);
    const EACH: Duration = Duration::from_secs(1);

    pub(crate) fn new(of: usize) -> Self {
        Self {
            done: 0,
            of,
            next: Instant::now() + Self::FIRST,
        }
    }

    pub(crate) fn step(&mut self, what: &str) {
        self.done += 1;
        let now = Instant::now();
        if now >= self.next {
            self.next = now + Self::EACH;
            // Nobody may be reading; that is no reason to stop.
            let _ = writeln!(std::io::stderr(), "{} of {} {what}", self.done, self.of);
        }
    }
}

/// Work in many parts, which reports its progress once it takes more than two seconds.
pub struct LongWork(Progress);

impl LongWork {
    /// Begins work that has this many parts.
    pub fn begin(parts: usize) -> Self {
        Self(Progress::new(parts))
    }

    /// Counts a part; `what` names the parts.
    pub fn finish_part(&mut self, what: &str) {
        self.0.step(what);
    }
}
