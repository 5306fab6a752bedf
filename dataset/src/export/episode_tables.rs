//! The tables of episodes: each episode is simulated again once, and every table takes its rows from that.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use protocol::Seat;
use protocol::log::Header;
use store::Withdrawn;

use super::adherence::{AdherenceTable, PersonAdherence};
use super::decisions::DecisionTable;
use super::known::KnownData;
use super::notes::NoteTables;
use super::options::{ExportOptions, ObservationKind};
use super::output::Output;
use super::pixels::PixelTable;
use super::quality::{PersonTotals, QualityTable};
use super::recomputed::RecomputedTable;
use super::report::{ExportReport, Skipped};
use super::seat_control::SeatControlTables;
use super::seats::SeatTable;
use super::seen::SeenTable;
use super::simulation::{EpisodeTable, SimulatedEpisode, Simulation, simulate_episode};
use super::step_events::StepEventTables;
use super::step_infos::StepInfoTable;
use super::steps::StepTable;
use crate::progress::Progress;

/// The totals of each person over all episodes, by pseudonym.
pub(super) struct EpisodeTotals {
    pub(super) quality: BTreeMap<String, PersonTotals>,
    pub(super) adherence: BTreeMap<String, PersonAdherence>,
    /// The files of episodes that the database did not have when the export began.
    pub(super) unknown: Vec<PathBuf>,
}

/// Every table of episodes; some only if they are asked for.
fn create_tables(
    output: &Output,
    options: &ExportOptions,
) -> anyhow::Result<Vec<Box<dyn EpisodeTable>>> {
    let mut tables: Vec<Box<dyn EpisodeTable>> = vec![
        Box::new(StepTable::create(output)?),
        Box::new(StepEventTables::create(output)?),
        Box::new(StepInfoTable::create(output)?),
        Box::new(SeatTable::create(output)?),
        Box::new(SeatControlTables::create(output)?),
        Box::new(NoteTables::create(output)?),
    ];
    if options.seen {
        tables.push(Box::new(SeenTable::create(output)?));
    }
    if options.states {
        tables.push(Box::new(RecomputedTable::create_states(output)?));
    }
    if options.decisions {
        tables.push(Box::new(DecisionTable::create(output)?));
    }
    for kind in &options.observations {
        tables.push(match kind {
            ObservationKind::Features => Box::new(RecomputedTable::create_observations(output)?),
            ObservationKind::Grid => Box::new(RecomputedTable::create_grids(output)?),
            ObservationKind::Pixels => Box::new(PixelTable::create_pixels(output)?),
            ObservationKind::Atari => Box::new(PixelTable::create_atari(output)?),
        });
    }
    Ok(tables)
}

/// Writes the tables of episodes, and returns the totals of each person. If a file could not take its end, the end in
/// the database counts.
pub(super) fn write_tables(
    data: &Path,
    output: &Output,
    options: &ExportOptions,
    (known, withdrawn): (&KnownData, &Withdrawn),
    report: &mut ExportReport,
) -> anyhow::Result<EpisodeTotals> {
    let files = archive::list_logs(data)
        .with_context(|| format!("cannot read the episodes of {}", data.display()))?;
    let mut tables = create_tables(output, options)?;
    let mut quality = QualityTable::create(output)?;
    let mut adherence = AdherenceTable::create(output, options.adherence.clone())?;
    let mut unknown = Vec::new();
    let mut progress = Progress::new(files.len());
    for path in files {
        options.stop.check()?;
        // The name of the file is the id: an episode that is not exported need not be read.
        let id = path.file_stem().unwrap_or_default().to_string_lossy();
        if known.includes_episode(&id) {
            match read_episode(data, path.clone(), known, withdrawn) {
                Ok(Some(episode)) => {
                    if !known.has_episode(&id) {
                        unknown.push(path.clone());
                    }
                    report.episodes += 1;
                    report.running += usize::from(episode.reason.is_none());
                    for table in &mut tables {
                        table.add_episode(&episode, report)?;
                    }
                    quality.add_episode(&episode)?;
                    adherence.add_episode(&episode, report)?;
                }
                Ok(None) => {}
                Err(error) => {
                    let reason = format!("{error:#}");
                    report.skipped.push(Skipped { path, reason });
                }
            }
        }
        progress.step("episodes exported");
    }
    tables
        .into_iter()
        .try_for_each(|table| table.finish(report))?;
    Ok(EpisodeTotals {
        quality: quality.finish(report)?,
        adherence: adherence.finish(report)?,
        unknown,
    })
}

/// Simulates an episode; `None` if nobody has played it: the server died when it had the file, and not yet the episode.
fn read_episode<'a>(
    data: &'a Path,
    path: PathBuf,
    known: &KnownData,
    withdrawn: &Withdrawn,
) -> anyhow::Result<Option<SimulatedEpisode<'a>>> {
    let Simulation {
        log,
        spec,
        steps,
        happenings,
        is_only_recorded,
    } = simulate_episode(&path, known.logs())?;
    let id = &log.header.episode;
    if log.through.0 == 0 && !known.has_episode(id) {
        return Ok(None);
    }
    anyhow::ensure!(
        !withdrawn.groups.contains(&log.header.group),
        "somebody of the group withdrew what was recorded"
    );
    let reason = log.ending.map(|ending| ending.reason);
    Ok(Some(SimulatedEpisode {
        data,
        path,
        spec,
        steps,
        happenings,
        is_only_recorded,
        reason: reason.or(known.reason(id)),
        ended_us: known.ended_us(id),
        round: known.round_of(id),
        left_out: list_withdrawn_seats(&log.header, withdrawn),
        log,
    }))
}

/// Lists the seats of people who withdrew their data.
fn list_withdrawn_seats(header: &Header, withdrawn: &Withdrawn) -> BTreeSet<Seat> {
    let seats = (0..).map(Seat).zip(&header.participants);
    let gone = seats.filter(|(_, name)| withdrawn.participants.contains(*name));
    gone.map(|(seat, _)| seat).collect()
}
