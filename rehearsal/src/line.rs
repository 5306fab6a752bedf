//! The progress of a rehearsal, for the person who waits.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use super::record::Phase;

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
    pub(super) fn tell_line(&mut self, line: impl FnOnce() -> String) {
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

/// How far the sessions are after a time of the study, microseconds.
pub(super) fn describe_progress(since_us: u64, phases: &[Phase]) -> String {
    let count = |is: &dyn Fn(&Phase) -> bool| phases.iter().filter(|phase| is(phase)).count();
    let (over, stuck) = (
        count(&|p| p.is_over()),
        count(&|p| matches!(p, Phase::Stuck(_))),
    );
    let (play, coming) = (count(&|p| p.is_playing()), count(&|p| *p == Phase::Coming));
    let (all, here) = (phases.len(), phases.len() - over - coming);
    let s = since_us / 1_000_000;
    let (min, s) = (s / 60, s % 60);
    let stuck = match stuck {
        0 => String::new(),
        stuck => format!(", {stuck} STUCK"),
    };
    format!(
        "{min:02}:{s:02} of study time: {over} of {all} done, {here} here, {play} of them playing, {coming} to \
         come{stuck}"
    )
}
