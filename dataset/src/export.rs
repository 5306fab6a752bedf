//! Tables from a data folder: the actions of people and AI partners, tick by tick, by re-simulation; the notes of pages
//! on keys, time and network; the presence of people, and the paths of packets; and the answers.
//!
//! The folder is only read, also while a server writes to it.

mod adherence;
mod agents;
mod annotations;
mod chat;
mod clips;
mod column;
mod decisions;
mod demographics;
mod desk_messages;
mod episode_tables;
mod exclusions;
mod groups;
mod interventions;
mod known;
mod model_calls;
mod notes;
mod options;
mod output;
mod packed;
mod pixels;
mod quality;
mod question;
mod recomputed;
mod report;
mod responses;
mod screening;
mod seat_control;
mod seats;
mod seen;
mod simulation;
mod sink;
mod step_events;
mod step_infos;
mod steps;
mod table;
mod visits;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use store::{StudyStore, data_folder};

pub use adherence::ChosenMeasure;
pub use column::{Column, ColumnKind};
use known::KnownData;
pub use options::{ExportOptions, ObservationKind, StopFlag};
pub use output::DICTIONARY;
use output::Output;
pub use packed::export_archive;
pub use report::{ExportReport, Skipped, WrittenTable};
pub use sink::TableFormat;
pub(crate) use sink::{BatchWriter, write_batches};

/// Writes the tables into the folder `out`: either all of them are there afterwards, or those of an earlier export are
/// unchanged. Work of more than two seconds reports its progress on the standard error.
///
/// # Errors
/// The error of the disk or of the database; also if there is no data folder, or the export was asked to stop.
pub async fn export(
    data: &Path,
    out: &Path,
    options: &ExportOptions,
) -> anyhow::Result<ExportReport> {
    anyhow::ensure!(
        data_folder::is_there(data),
        "{} is no data folder of a server: it has neither episodes nor a database; name one with --data",
        data.display()
    );
    let mut report = ExportReport::default();
    let database = data.join(store::FILE);
    if !store::has_database(data)? && !archive::list_logs(data)?.is_empty() {
        report.skipped.push(Skipped {
            path: database,
            reason: "it is missing, although there are episodes".into(),
        });
    }
    let joined = demographics::read(data, options).await?;
    let output = Output::create(out, options.format)?;
    let withdrawn = store::read_withdrawn(data).await?;
    // The database first: a file is never behind it.
    let known = KnownData::read(data, options).await?;
    report.altered.clone_from(&known.altered);
    visits::write_episodes(data, &output, &known, &mut report).await?;
    let facts = (&known, &withdrawn);
    let totals = episode_tables::write_tables(data, &output, options, facts, &mut report)?;
    report_unknown(data, &totals.unknown, &mut report).await?;
    responses::write_tables(data, &output, options, &known, &mut report).await?;
    visits::write_sessions(data, &output, (&known, &joined), &mut report).await?;
    screening::write_table(data, &output, options, &mut report).await?;
    exclusions::write_tables(data, &output, options, facts, &totals, &mut report).await?;
    groups::write_tables(data, &output, options, &known, &mut report).await?;
    chat::write_table(data, &output, options, facts, &mut report).await?;
    model_calls::write_table(data, &output, options, facts, &mut report).await?;
    desk_messages::write_table(data, &output, options, facts, &mut report).await?;
    interventions::write_table(data, &output, options, &mut report).await?;
    agents::write_table(data, &output, &known, &mut report)?;
    options.stop.check()?;
    joined.record(data).await?;
    output.publish(&report.tables.iter().collect::<Vec<_>>())?;
    Ok(report)
}

/// Reports played episodes that a database lacks although it is there, as a new one does. It has those that have begun
/// since the export did.
async fn report_unknown(
    data: &Path,
    unknown: &[PathBuf],
    report: &mut ExportReport,
) -> anyhow::Result<()> {
    if unknown.is_empty() {
        return Ok(());
    }
    let Some(store) = StudyStore::find(data).await? else {
        return Ok(());
    };
    let episodes = store.episodes().await;
    store.close().await;
    let known: BTreeSet<String> = episodes?.into_iter().map(|episode| episode.id).collect();
    let is_known = |path: &&PathBuf| {
        let id = path.file_stem().unwrap_or_default().to_string_lossy();
        known.contains(&*id)
    };
    let unknown = unknown.iter().filter(|path| !is_known(path));
    report.unknown.extend(unknown.cloned());
    Ok(())
}

#[cfg(test)]
mod tests;
