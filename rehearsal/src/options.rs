//! The options of a rehearsal.

use std::path::PathBuf;

use serde::Serialize;

use crate::fault::Faults;

/// The way in which a rehearsal is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RehearsalMode {
    /// In one process, on a virtual clock.
    Virtual,
    /// Over the real program and real sockets.
    Process,
}

/// How a rehearsal is run.
#[derive(Clone, Debug)]
pub struct RehearsalOptions {
    /// The way in which it is run; the program, the speed, browsers and WebRTC belong only to
    /// [`RehearsalMode::Process`].
    pub mode: RehearsalMode,
    /// The program whose `serve` is the server.
    pub program: PathBuf,
    /// Study folder.
    pub study: PathBuf,
    /// A new data folder that is kept; `None` for one that is removed at the end.
    pub data: Option<PathBuf>,
    /// Number of sessions.
    pub sessions: usize,
    /// Faults that may happen.
    pub faults: Faults,
    /// How often the server is killed, if that fault is chosen.
    pub kills: usize,
    /// People who arrive in a minute, on average.
    pub arrivals_per_min: f64,
    /// Seed of every random number.
    pub seed: u64,
    /// The highest speed of time, as a multiple of real time.
    pub speed: f64,
    /// Number of sessions, the first ones, that are real pages in a Chromium.
    pub browsers: usize,
    /// The Chromium; `None` for the one in the path.
    pub chromium: Option<PathBuf>,
    /// True if bots play with each other, and with browsers, over data channels of WebRTC.
    pub has_webrtc: bool,
    /// True if the program has the pages that a browser shows.
    pub has_pages: bool,
}
