//! The progress of a rehearsal, for the person who waits.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// Reports progress: one line that overwrites the one before on a terminal, and a line now and then elsewhere.
pub(super) struct Line {
    is_terminal: bool,
    told: Instant,
}

impl Line {
    /// A line that shows nothing yet.
    pub(super) fn new() -> Self {
        Self {
            is_terminal: std::io::stderr().is_terminal(),
            told: Instant::now(),
        }
    }

    /// Shows a line, if the last one is old enough.
    pub(super) fn tell(&mut self, line: impl FnOnce() -> String) {
        let each = Duration::from_millis(if self.is_terminal { 200 } else { 5_000 });
        if self.told.elapsed() < each {
            return;
        }
        self.told = Instant::now();
        // Nobody may be reading; that is no reason to stop.
        let _ = match self.is_terminal {
            true => write!(std::io::stderr(), "\r\x1b[2K{}", line()),
            false => writeln!(std::io::stderr(), "{}", line()),
        };
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.is_terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}
