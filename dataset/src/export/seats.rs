//! One row an episode and seat.

use std::path::Path;

use protocol::control::EndReason;
use protocol::{Controller, Seat};
use serde::Serialize;
use study::stage::PartnerOrigin;

use super::report::ExportReport;
use super::simulation::{EpisodeTable, SimulatedEpisode, controller_name};
use super::table::{EpisodeKeys, Table};

/// An episode, as the participant of a seat went through it.
#[derive(Default, Serialize)]
struct SeatRow<'a> {
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
    seat_score: i64,
    success: bool,
    /// Of an AI partner that the study names; so the next three.
    partner: String,
    algorithm: String,
    training_seed: Option<i64>,
    checkpoint: String,
    /// Of an AI partner that is a model.
    model_sha256: &'a str,
}

/// The table of seats.
pub(super) struct SeatTable(Table);

impl SeatTable {
    pub(super) fn create(out: &Path) -> anyhow::Result<Self> {
        Table::create::<(EpisodeKeys<'_>, SeatRow<'_>)>(out, "seats").map(Self)
    }
}

impl EpisodeTable for SeatTable {
    fn add_episode(
        &mut self,
        episode: &SimulatedEpisode<'_>,
        _: &mut ExportReport,
    ) -> anyhow::Result<()> {
        let seats = (0..).map(Seat).zip(&episode.log.header.controllers);
        let mut seats = seats.filter(|(seat, _)| !episode.left_out.contains(seat));
        seats.try_for_each(|(seat, controller)| {
            let keys = EpisodeKeys::new(&episode.log.header, seat);
            self.0.add(&(keys, seat_row(episode, seat, controller)))
        })
    }

    fn finish(self: Box<Self>, report: &mut ExportReport) -> anyhow::Result<()> {
        report.tables.push(self.0.finish()?);
        Ok(())
    }
}

/// The row of a seat, with the score by now.
fn seat_row<'a>(
    episode: &'a SimulatedEpisode<'_>,
    seat: Seat,
    controller: &'a Controller,
) -> SeatRow<'a> {
    let (header, course) = (&episode.log.header, episode.log.header.course.as_ref());
    let of_person = course.filter(|_| *controller == Controller::Human);
    let score = episode.steps.last().map_or(0, |step| step.score);
    let mut own = episode.steps.iter().rev().filter(|step| step.seat == seat);
    let names = course.map_or(&[][..], |course| course.names.as_slice());
    let origin = PartnerOrigin::of_seat(seat.index(), names).unwrap_or_default();
    let model = match controller {
        Controller::Ai { policy } => protocol::hash::model_sha256(policy),
        Controller::Human | Controller::Vacant => None,
    };
    SeatRow {
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
        ticks: episode.log.through.0,
        score,
        seat_score: own.next().map_or(0, |step| step.seat_score),
        success: episode.reason == Some(EndReason::Played) && score > 0,
        partner: origin.name,
        algorithm: origin.algorithm.unwrap_or_default(),
        training_seed: origin.training_seed,
        checkpoint: origin.checkpoint.unwrap_or_default(),
        model_sha256: model.unwrap_or_default(),
    }
}
