//! The figures of a crowd, a line each, and whether it went well.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use crate::tally::percentile;

/// The measurements while everybody played.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// Pages in a running episode at the beginning.
    pub(crate) playing: usize,
    /// How long it was measured.
    pub(crate) took: Duration,
    /// Seconds of processor time.
    pub(crate) server_cpu_s: f64,
    pub(crate) own_cpu_s: f64,
    /// Bytes of the server before anybody came, and at the end.
    pub(crate) idle_memory: u64,
    pub(crate) server_memory: u64,
    /// Bytes of this process at the end.
    pub(crate) own_memory: u64,
    /// Threads of the server.
    pub(crate) server_threads: u64,
    /// Bytes from the pages to the server, and back.
    pub(crate) bytes_out: u64,
    pub(crate) bytes_in: u64,
    /// Uploads with inputs.
    pub(crate) uploads: u64,
    /// Time from an upload to its acknowledgement, the shortest first.
    pub(crate) waits: Vec<Duration>,
    /// How late the timers of this process were, the least first.
    pub(crate) lags: Vec<Duration>,
    /// Programs that ran or waited to run on the machine, where the system says it.
    pub(crate) load_average: Option<f64>,
}

/// The ticks that were sent, acknowledged and stored, summed over all seats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Episodes in the data.
    pub(crate) episodes: usize,
    /// Ticks for which pages sent inputs.
    pub(crate) sent: u64,
    /// Ticks that the server acknowledged.
    pub(crate) acknowledged: u64,
    /// Ticks in the verified data.
    pub(crate) archived: u64,
    /// Ticks that were acknowledged and are not in the data.
    pub(crate) lost: u64,
    /// Seats whose episode ended before its last tick.
    pub(crate) cut_short: usize,
    /// True if `coplay verify` finds everything as it was recorded.
    pub(crate) does_verify: bool,
}

/// The report on a crowd.
#[derive(Clone, Debug)]
pub(crate) struct LoadReport {
    /// People.
    pub(crate) sessions: usize,
    /// People who reached the last page.
    pub(crate) over: usize,
    /// Pages that were turned away, by the reason.
    pub(crate) refused: BTreeMap<String, usize>,
    /// Connections that broke, or did not come about.
    pub(crate) lost_connections: usize,
    /// Reasons for which pages ended early.
    pub(crate) failures: Vec<String>,
    /// True if one page more than there is room for was told so.
    pub(crate) is_full_told: bool,
    /// The measurements while everybody played.
    pub(crate) measured: Measured,
    /// Bytes of the world of one episode.
    pub(crate) world_memory: u64,
    /// Seconds of processor time of the server from its start on.
    pub(crate) cpu_s: f64,
    /// The ticks that were sent, acknowledged and stored.
    pub(crate) kept: Kept,
}

impl LoadReport {
    /// True if nobody and nothing was lost.
    pub(crate) fn is_good(&self) -> bool {
        self.over == self.sessions
            && self.is_full_told
            && self.kept.does_verify
            && self.kept.lost == 0
            && self.kept.cut_short == 0
            && self.kept.episodes == self.sessions / 2
    }

    /// Prints a line for each figure, and what went wrong on the standard error.
    pub(crate) fn print(&self) {
        for (name, value, unit) in self.figures() {
            println!("{}", json!({ "name": name, "value": value, "unit": unit }));
        }
        for (why, number) in &self.refused {
            eprintln!("    {number} pages were refused: {why}");
        }
        for why in self.failures.iter().take(10) {
            eprintln!("    a page failed: {why}");
        }
    }

    /// The figures: name, value, unit.
    fn figures(&self) -> Vec<(&'static str, f64, &'static str)> {
        let Measured { took, waits, .. } = &self.measured;
        let measured = &self.measured;
        let (s, playing) = (took.as_secs_f64(), measured.playing.max(1) as f64);
        let ms = |share| percentile(waits, share).as_secs_f64() * 1e3;
        let minutes = playing * s / 60.0;
        let grown = measured.server_memory.saturating_sub(measured.idle_memory);
        let (grown_kb, world_kb) = (grown as f64 / 1e3 / playing, self.world_memory as f64 / 1e3);
        let refused: usize = self.refused.values().sum();
        let lag_ms = percentile(&measured.lags, 0.95).as_secs_f64() * 1e3;
        let kept = &self.kept;
        vec![
            ("sessions", self.sessions as f64, ""),
            ("sessions that play at once", measured.playing as f64, ""),
            (
                "load average of the machine",
                measured.load_average.unwrap_or(f64::NAN),
                "",
            ),
            (
                "server: processor",
                100.0 * measured.server_cpu_s / s,
                "% of a core",
            ),
            (
                "server: processor per session",
                1e6 * measured.server_cpu_s / s / playing,
                "µs/s",
            ),
            (
                "server: memory before anybody came",
                measured.idle_memory as f64 / 1e6,
                "MB",
            ),
            ("server: memory", measured.server_memory as f64 / 1e6, "MB"),
            ("server: memory per session", grown_kb, "kB"),
            (
                "server: memory per session beyond its half of a world",
                grown_kb - world_kb / 2.0,
                "kB",
            ),
            ("a world, as each episode has one", world_kb, "kB"),
            ("server: threads", measured.server_threads as f64, ""),
            ("acknowledgement, median", ms(0.5), "ms"),
            ("acknowledgement, 95 %", ms(0.95), "ms"),
            ("acknowledgement, 99 %", ms(0.99), "ms"),
            ("acknowledgement, slowest", ms(1.0), "ms"),
            ("uploads with inputs", measured.uploads as f64 / s, "1/s"),
            (
                "from a participant",
                measured.bytes_out as f64 / minutes,
                "B/min",
            ),
            (
                "to a participant",
                measured.bytes_in as f64 / minutes,
                "B/min",
            ),
            (
                "load generator: processor",
                100.0 * measured.own_cpu_s / s,
                "% of a core",
            ),
            (
                "load generator: memory",
                measured.own_memory as f64 / 1e6,
                "MB",
            ),
            ("load generator: lateness of its timers, 95 %", lag_ms, "ms"),
            ("server: processor time from start to stop", self.cpu_s, "s"),
            ("refused", refused as f64, "sessions"),
            ("connections lost", self.lost_connections as f64, ""),
            ("on the last page", self.over as f64, "sessions"),
            ("ticks sent", kept.sent as f64, ""),
            ("ticks acknowledged", kept.acknowledged as f64, ""),
            ("ticks in the verified data", kept.archived as f64, ""),
            ("acknowledged and lost", kept.lost as f64, "ticks"),
            (
                "seats whose episode was cut short",
                kept.cut_short as f64,
                "",
            ),
            (
                "`coplay verify` finds all as recorded",
                f64::from(u8::from(kept.does_verify)),
                "",
            ),
            (
                "the next page reads that the server is full",
                f64::from(u8::from(self.is_full_told)),
                "",
            ),
        ]
    }
}
