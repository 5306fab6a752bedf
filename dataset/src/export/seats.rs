//! One row an episode and seat.

use protocol::control::EndReason;
use protocol::log::Log;
use protocol::{Controller, Seat, Tick};
use study::stage::{PartnerOrigin, is_demonstration};

use super::column::row;
use super::output::Output;
use super::report::ExportReport;
use super::simulation::{EpisodeTable, SimulatedEpisode, controller_name};
use super::table::{EpisodeKeys, Table};
use crate::verify::{list_faulty_keys, list_short_seats};

row! {
    /// One row per episode and seat.
    struct SeatRow<'a> {
        /// The visit on the participant's route, as in `responses`; missing for a seat without a person.
        visit: Option<u16>,
        /// The index of the episode in the visit, from 0.
        episode_index: Option<u16>,
        /// The maximum number of episodes of the visit.
        episodes: Option<u16>,
        /// The number of seats.
        seats: u8,
        /// The environment.
        env: &'a str,
        /// Its version.
        env_version: &'a str,
        /// SHA-256 of its module; missing if it was not played from a built front end.
        module: &'a str,
        /// Its parameters, JSON.
        params: &'a str,
        /// The seed, 16 hex digits, as no table program keeps 64 bits.
        seed: String,
        /// `ticks` or `turns`.
        mode: &'static str,
        /// Ticks per second.
        tick_hz: u16,
        /// The controller of the seat at the first tick, as in `steps`; `events` has the changes.
        controller: &'a str,
        /// The time of tick 0, microseconds since the Unix epoch.
        t0_unix_us: u64,
        /// The number of ticks.
        ticks: u32,
        /// The ticks for which the person's own page has said the action; missing for a seat without a person.
        confirmed_ticks: Option<u32>,
        /// How the key events of the person's pages contradict their own inputs; missing if they do not.
        notes_fault: String,
        /// The last score of the group.
        score: Option<i64>,
        /// The last score of the seat.
        seat_score: Option<i64>,
        /// True if the episode was played to its end with a score above 0.
        success: bool,
        /// The name in `partners` of the AI partner in the seat; missing for one that the study does not name there.
        partner: String,
        /// Its algorithm, as the study says.
        algorithm: String,
        /// Its training seed, as the study says.
        training_seed: Option<i64>,
        /// Its checkpoint, as the study says.
        checkpoint: String,
        /// The rules that it was trained on, as the study says.
        training_rules: String,
        /// SHA-256 of the model of an AI partner.
        model_sha256: &'a str,
        /// True if the study marks the episodes of the stage as demonstrations.
        demonstration: bool,
    }
}

/// The table of seats.
pub(super) struct SeatTable(Table);

impl SeatTable {
    pub(super) fn create(output: &Output) -> anyhow::Result<Self> {
        Table::create::<(EpisodeKeys<'_>, SeatRow<'_>)>(output, "seats").map(Self)
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
            let row = seat_row(episode, seat, controller);
            self.0.add(&(episode.keys(seat), row))
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
    let is_person = *controller == Controller::Human;
    let of_person = course.filter(|_| is_person);
    let changes = episode.log.changes();
    let at_once = changes.filter(|change| change.seat == seat && change.tick == Tick(0));
    let controller = at_once
        .last()
        .map_or(controller, |change| &change.controller);
    let score = episode.score();
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
        seats: episode.log.count_seats() as u8,
        env: &header.env,
        env_version: &header.env_version,
        module: &header.module,
        params: &header.params,
        seed: format!("{:016x}", header.seed),
        mode: if header.rules.turns { "turns" } else { "ticks" },
        tick_hz: header.tick_hz,
        controller: controller_name(controller),
        t0_unix_us: header.t0_us,
        ticks: episode.log.through.0,
        confirmed_ticks: is_person.then(|| count_confirmed(&episode.log, seat)),
        notes_fault: find_notes_fault(&episode.log, seat),
        score,
        seat_score: own.next().map_or(Some(0), |step| step.seat_score),
        success: episode.reason == Some(EndReason::Played) && score > Some(0),
        partner: origin.name,
        algorithm: origin.algorithm.unwrap_or_default(),
        training_seed: origin.training_seed,
        checkpoint: origin.checkpoint.unwrap_or_default(),
        training_rules: origin.training_rules.unwrap_or_default(),
        model_sha256: model.unwrap_or_default(),
        demonstration: is_demonstration(names),
    }
}

/// The ticks of a person's seat for which the person's own page has said the action.
fn count_confirmed(log: &Log, seat: Seat) -> u32 {
    let mut short = list_short_seats(log).into_iter();
    let short = short.find(|short| short.seat == seat.0);
    short.map_or(log.through.0, |short| short.said)
}

/// Describes how the key events of the pages of a seat contradict their inputs; empty if they do not.
fn find_notes_fault(log: &Log, seat: Seat) -> String {
    let faults = list_faulty_keys(log).into_iter();
    let faults = faults.filter(|notes| notes.seat == seat.0);
    faults
        .map(|notes| notes.because)
        .collect::<Vec<_>>()
        .join("; ")
}
