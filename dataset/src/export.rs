//! Tables from a data folder: what people and AI partners did, tick by tick, by re-simulation; what pages noted of
//! keys, time and network; who was there, and which ways packets took; and the answers.
//!
//! The folder is only read, also while a server writes to it.

mod chat;
mod episode_tables;
mod groups;
mod notes;
mod responses;
mod screening;
mod seats;
mod seen;
mod step_events;
mod steps;
mod table;
mod visits;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Serialize;
use store::data_folder;
use study::plural::count;

/// A table that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WrittenTable {
    /// Its name, such as `steps`.
    pub name: &'static str,
    /// Its file.
    pub path: PathBuf,
    /// Its rows, without the header.
    pub rows: u64,
}

/// The tables that were written, and the parts of the data that are in none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ExportReport {
    /// Episodes in the tables.
    pub episodes: usize,
    /// Those of them without an end yet: their steps so far.
    pub running: usize,
    /// The tables, in the order in which they were written.
    pub tables: Vec<WrittenTable>,
    /// Episodes, or the frames of a page of one, that were left out, each with the reason.
    pub skipped: Vec<Skipped>,
}

impl ExportReport {
    /// The table of a name; `None` if it was not written.
    #[must_use]
    pub fn find_table(&self, name: &str) -> Option<&WrittenTable> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// The rows of a table; `None` if it was not written.
    #[must_use]
    pub fn count_rows(&self, table: &str) -> Option<u64> {
        self.find_table(table).map(|table| table.rows)
    }
}

impl fmt::Display for ExportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let running = match self.running {
            0 => String::new(),
            running => format!(", {running} of them running"),
        };
        write!(f, "{}{running}", count(self.episodes, "episode"))?;
        for table in &self.tables {
            write!(f, "\n{}: {} rows", table.path.display(), table.rows)?;
        }
        self.skipped
            .iter()
            .try_for_each(|left| write!(f, "\nleft out: {}: {}", left.path.display(), left.reason))
    }
}

/// Something of an episode that is not exported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Its file.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

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
