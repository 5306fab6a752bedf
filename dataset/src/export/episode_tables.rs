//! The tables of episodes: each episode is simulated again once, and every table takes its rows from that.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;
use protocol::Seat;
use protocol::control::EndReason;
use protocol::log::Header;
use store::Withdrawn;

use super::notes::NoteTables;
use super::report::{ExportReport, Skipped};
use super::seats::SeatTable;
use super::seen::SeenTable;
use super::simulation::{EpisodeTable, SimulatedEpisode, Simulation, simulate_episode};
use super::step_events::StepEventTables;
use super::steps::StepTable;
use crate::progress::Progress;

/// Every table of episodes; that of frames only if `seen` asks for it.
fn create_tables(out: &Path, seen: bool) -> anyhow::Result<Vec<Box<dyn EpisodeTable>>> {
    let mut tables: Vec<Box<dyn EpisodeTable>> = vec![
        Box::new(StepTable::create(out)?),
        Box::new(StepEventTables::create(out)?),
        Box::new(SeatTable::create(out)?),
        Box::new(NoteTables::create(out)?),
    ];
    if seen {
        tables.push(Box::new(SeenTable::create(out)?));
    }
    Ok(tables)
}

/// Writes the tables of episodes. `known` are the episodes that the database has, with the ends that it knows, whatever
/// their files could take.
pub(super) fn write_tables(
    data: &Path,
    out: &Path,
    seen: bool,
    known: &BTreeMap<String, Option<EndReason>>,
    withdrawn: &Withdrawn,
    report: &mut ExportReport,
) -> anyhow::Result<()> {
    let files = archive::files(data)
        .with_context(|| format!("cannot read the episodes of {}", data.display()))?;
    let mut tables = create_tables(out, seen)?;
    let mut progress = Progress::new(files.len());
    for path in files {
        match simulate_episode(&path) {
            // The server died when it had the file, and not yet the episode: nobody has played it.
            Ok(Simulation { log, .. })
                if log.through.0 == 0 && !known.contains_key(&log.header.episode) => {}
            Ok(Simulation { log, .. }) if withdrawn.groups.contains(&log.header.group) => {
                let reason = "somebody of the group withdrew what was recorded".to_owned();
                report.skipped.push(Skipped { path, reason });
            }
            Ok(simulation) => {
                let Simulation {
                    log,
                    spec,
                    steps,
                    happenings,
                } = simulation;
                let reason = log.ending.map(|ending| ending.reason);
                let reason = reason.or(known.get(&log.header.episode).copied().flatten());
                let left_out = list_withdrawn_seats(&log.header, withdrawn);
                report.episodes += 1;
                report.running += usize::from(reason.is_none());
                let episode = SimulatedEpisode {
                    data,
                    path,
                    log,
                    spec,
                    steps,
                    happenings,
                    reason,
                    left_out,
                };
                for table in &mut tables {
                    table.add_episode(&episode, report)?;
                }
            }
            Err(error) => {
                let reason = format!("{error:#}");
                report.skipped.push(Skipped { path, reason });
            }
        }
        progress.step("episodes");
    }
    tables
        .into_iter()
        .try_for_each(|table| table.finish(report))
}

/// The seats of those who withdrew what was recorded of them.
fn list_withdrawn_seats(header: &Header, withdrawn: &Withdrawn) -> BTreeSet<Seat> {
    let seats = (0..).map(Seat).zip(&header.participants);
    let gone = seats.filter(|(_, name)| withdrawn.participants.contains(*name));
    gone.map(|(seat, _)| seat).collect()
}
