//! The formats of tables: each takes rows cell by cell, and writes a file.

mod csv;
mod jsonl;
mod parquet;

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::column::{CellSink, Column};

use self::parquet::ParquetSink;
pub(crate) use self::parquet::{BatchWriter, write_batches};

/// A format of tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TableFormat {
    /// Comma-separated values, for table programs.
    #[default]
    Csv,
    /// Parquet: typed columns with their descriptions, compressed.
    Parquet,
    /// One JSON object per line and row.
    Jsonl,
}

impl TableFormat {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::Csv, Self::Parquet, Self::Jsonl];

    /// The extension of its files.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::Jsonl => "jsonl",
        }
    }
}

/// A file of a table that is being written.
pub(super) trait TableSink: CellSink + Send {
    /// Ends a row; it has a cell for each column.
    fn end_row(&mut self) -> anyhow::Result<()>;

    /// Writes the rest, and waits for the disk.
    fn finish(self: Box<Self>) -> anyhow::Result<()>;
}

/// Creates the file of a table.
pub(super) fn create_sink(
    format: TableFormat,
    path: &Path,
    about: &str,
    columns: &[Column],
) -> anyhow::Result<Box<dyn TableSink>> {
    Ok(match format {
        TableFormat::Csv => Box::new(csv::CsvSink::create(path, columns)?),
        TableFormat::Parquet => Box::new(ParquetSink::create(path, about, columns)?),
        TableFormat::Jsonl => Box::new(jsonl::JsonlSink::create(path, columns)?),
    })
}
