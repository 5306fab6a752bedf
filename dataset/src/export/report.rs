//! The tables that an export wrote, and what it left out.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use study::plural::count;

use super::column::Column;

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
    /// The number of them without an end yet: their steps so far were exported.
    pub running: usize,
    /// The tables, in the order of writing.
    pub tables: Vec<WrittenTable>,
    /// Episodes, or the frames of a page of one, that were left out, each with the reason.
    pub skipped: Vec<Skipped>,
    /// The rows of the database that decide payments and were changed after they were stored: a sentence for each. The
    /// tables have them as they are now.
    pub altered: Vec<String>,
    /// The files of played episodes that the database does not know, as a new one does not. Their steps are in the
    /// tables, and `episodes` has no row for them.
    pub unknown: Vec<PathBuf>,
}

impl ExportReport {
    /// Tells if nothing was left out, and the tables have what was stored.
    #[must_use]
    pub fn is_fine(&self) -> bool {
        self.skipped.is_empty() && self.altered.is_empty() && self.unknown.is_empty()
    }

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
            let rows = count(usize::try_from(table.rows).unwrap_or(usize::MAX), "row");
            write!(f, "\n{}: {rows}", table.path.display())?;
        }
        for altered in &self.altered {
            write!(
                f,
                "\naltered: {altered}; `coplay verify` reports it, and a backup from before has the row as it was"
            )?;
        }
        for unknown in &self.unknown {
            write!(
                f,
                "\nunknown: {}: the database does not have this episode; if another database belongs here, put it back",
                unknown.display()
            )?;
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
    /// The reason.
    pub reason: String,
}
