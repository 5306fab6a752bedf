//! Tables from a data folder: what people and AI partners did, tick by tick, by re-simulation; what pages noted of
//! keys, time and network; who was there, and which ways packets took; and the answers.
//!
//! The folder is only read, also while a server writes to it.

mod chat;
mod episode_tables;
mod groups;
mod notes;
mod report;
mod responses;
mod screening;
mod seats;
mod seen;
mod simulation;
mod step_events;
mod steps;
mod table;
mod visits;

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use store::data_folder;

pub use report::{ExportReport, Skipped, WrittenTable};

/// Writes the tables into `out`, that of what was shown only if `seen` asks for it. A table is there whole or not at all.
/// Work of more than two seconds tells its progress on the standard error.
///
/// # Errors
/// The error of the disk or of the database; also if there is no data folder.
pub async fn export(data: &Path, out: &Path, seen: bool) -> anyhow::Result<ExportReport> {
    anyhow::ensure!(
        data_folder::is_there(data),
        "{} is no data folder of a server: it has neither episodes nor a database; name one with --data",
        data.display()
    );
    fs::create_dir_all(out).with_context(|| format!("cannot make the folder {}", out.display()))?;
    let mut report = ExportReport::default();
    let database = data.join(store::FILE);
    if !database.is_file() && !archive::files(data)?.is_empty() {
        report.skipped.push(Skipped {
            path: database,
            reason: "it is missing, although there are episodes".into(),
        });
    }
    let withdrawn = store::withdrawn(data).await?;
    // The database first: a file is never behind it.
    let known = visits::write_episodes(data, out, &mut report).await?;
    episode_tables::write_tables(data, out, seen, &known, &withdrawn, &mut report)?;
    responses::write_tables(data, out, &mut report).await?;
    visits::write_sessions(data, out, &mut report).await?;
    screening::write_table(data, out, &mut report).await?;
    groups::write_tables(data, out, &mut report).await?;
    chat::write_table(data, out, &withdrawn, &mut report).await?;
    Ok(report)
}

#[cfg(test)]
mod tests;
