//! Tables from a data folder: what people and AI partners did, tick by tick, by re-simulation; what pages noted of
//! keys, time and network; who was there, and which ways packets took; and the answers.
//!
//! The folder is only read, also while a server writes to it.

mod chat;
mod column;
mod demographics;
mod episode_tables;
mod groups;
mod known;
mod notes;
mod output;
mod question;
mod recomputed;
mod responses;
mod screening;
mod seats;
mod seen;
mod sink;
mod step_events;
mod steps;
mod table;
mod visits;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use store::data_folder;
use study::plural::count;

pub use column::{Column, ColumnKind};
use known::KnownData;
use output::Output;
pub use output::{DICTIONARY, StopFlag};
pub use sink::TableFormat;
pub(crate) use sink::write_batches;

/// The choice of what an export writes.
#[derive(Clone, Debug, Default)]
pub struct ExportOptions {
    /// The format of the tables.
    pub format: TableFormat,
    /// True for the table of frames that pages showed.
    pub seen: bool,
    /// True for the table of states, computed again.
    pub states: bool,
    /// True for the table of observations, computed again.
    pub observations: bool,
    /// Only what is new or changed since then, microseconds since the Unix epoch.
    pub since_us: Option<u64>,
    /// True for recruiters' identifiers in the table of sessions.
    pub identifiers: bool,
    /// A file of the recruiter with a row per participant, to join with the table of sessions.
    pub demographics: Option<PathBuf>,
    /// Ends the export early.
    pub stop: StopFlag,
}

impl ExportOptions {
    /// Tells whether something is exported that happened then.
    fn includes(&self, at_us: u64) -> bool {
        self.since_us.is_none_or(|since_us| at_us >= since_us)
    }
}

/// A table that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WrittenTable {
    /// Its name, such as `steps`.
    pub name: &'static str,
    /// Its file.
    pub path: PathBuf,
    /// Its rows, without the header.
    pub rows: u64,
    /// Its description.
    pub about: String,
    /// Its columns.
    pub columns: Vec<Column>,
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

/// Writes the tables into the folder `out`: they are there whole, or those of an earlier export are unchanged.
/// Work of more than two seconds tells its progress on the standard error.
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
    if !database.is_file() && !archive::files(data)?.is_empty() {
        report.skipped.push(Skipped {
            path: database,
            reason: "it is missing, although there are episodes".into(),
        });
    }
    let joined = demographics::read(data, options).await?;
    let output = Output::create(out, options.format)?;
    let withdrawn = store::withdrawn(data).await?;
    // The database first: a file is never behind it.
    let known = KnownData::read(data, options).await?;
    visits::write_episodes(data, &output, &known, &mut report).await?;
    let facts = (&known, &withdrawn);
    episode_tables::write_tables(data, &output, options, facts, &mut report)?;
    responses::write_tables(data, &output, options, &known, &mut report).await?;
    visits::write_sessions(data, &output, (&known, &joined), &mut report).await?;
    screening::write_table(data, &output, options, &mut report).await?;
    groups::write_tables(data, &output, options, &known, &mut report).await?;
    chat::write_table(data, &output, options, facts, &mut report).await?;
    options.stop.check()?;
    joined.record(data).await?;
    output.publish(&report.tables.iter().collect::<Vec<_>>())?;
    Ok(report)
}

#[cfg(test)]
mod tests;
