//! One row an episode and seat.

use protocol::control::EndReason;
use protocol::log::Log;
use protocol::{Controller, Seat};
use serde::Serialize;

use super::Keys;
use super::steps::controller_name;

/// An episode, as the participant of a seat went through it.
#[derive(Serialize)]
pub(super) struct SeatRow<'a> {
    keys: Keys<'a>,
    #[serde(skip)]
    pub(super) seat: Seat,
    /// `None` for a seat without a person, and in files of earlier programs; so the next two.
    visit: Option<u16>,
    episode_index: Option<u16>,
    episodes: Option<u16>,
    env: &'a str,
    env_version: &'a str,
    params: &'a str,
    /// Hexadecimal, as no table program keeps 64 bits.
    seed: String,
    mode: &'static str,
    tick_hz: u16,
    /// At the first tick.
    controller: &'a str,
    /// When tick 0 was due, microseconds since the Unix epoch.
    t0_us: u64,
    ticks: u32,
    score: i64,
    success: bool,
}

pub(super) const SEAT_COLUMNS: [&str; 14] = [
    "visit",
    "episode_index",
    "episodes",
    "env",
    "env_version",
    "params",
    "seed",
    "mode",
    "tick_hz",
    "controller",
    "t0_us",
    "ticks",
    "score",
    "success",
];

/// The rows of an episode with this score by now, and the reason of its end, if it has one.
pub(super) fn rows(log: &Log, score: i64, reason: Option<EndReason>) -> Vec<SeatRow<'_>> {
    let (header, course) = (&log.header, log.header.course.as_ref());
    let seats = (0..).map(Seat).zip(&header.controllers);
    let rows = seats.map(|(seat, controller)| {
        let of_person = course.filter(|_| *controller == Controller::Human);
        SeatRow {
            keys: Keys::new(header, seat),
            seat,
            visit: of_person.and_then(|course| course.visits.get(seat.index()).copied()),
            episode_index: course.map(|course| course.episode),
            episodes: course.map(|course| course.episodes),
            env: &header.env,
            env_version: &header.env_version,
            params: &header.params,
            seed: format!("{:016x}", header.seed),
            mode: if header.rules.turns { "turns" } else { "ticks" },
            tick_hz: header.tick_hz,
            controller: controller_name(controller),
            t0_us: header.t0_us,
            ticks: log.through.0,
            score,
            success: reason == Some(EndReason::Played) && score > 0,
        }
    });
    rows.collect()
}
