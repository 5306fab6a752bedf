//! Tables as CSV files.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use protocol::Seat;
use protocol::log::Header;
use serde::Serialize;

use super::WrittenTable;
use crate::cells::write_cells;

/// The columns that every table of episodes begins with. A row of such a table is `(EpisodeKeys, Row)`.
#[derive(Default, Serialize)]
pub(super) struct EpisodeKeys<'a> {
    study_id: &'a str,
    version: &'a str,
    stage_id: &'a str,
    group_id: &'a str,
    episode_id: &'a str,
    participant_id: &'a str,
    seat: u8,
}

impl<'a> EpisodeKeys<'a> {
    pub(super) fn new(header: &'a Header, seat: Seat) -> Self {
        Self {
            study_id: &header.study,
            version: &header.study_version,
            stage_id: &header.stage,
            group_id: &header.group,
            episode_id: &header.episode,
            participant_id: &header.participants[seat.index()],
            seat: seat.0,
        }
    }
}

/// A CSV file that takes its name when it is whole.
pub(super) struct Table {
    name: &'static str,
    path: PathBuf,
    part: PathBuf,
    writer: csv::Writer<File>,
    row: csv::StringRecord,
    rows: u64,
}

impl Table {
    /// A table of rows of one type: its columns are the fields of `R`, also without any row.
    pub(super) fn create<R: Default + Serialize>(
        out: &Path,
        name: &'static str,
    ) -> anyhow::Result<Self> {
        Self::create_with::<R>(out, name, &[])
    }

    /// A table whose rows are `(R, cells)`: the fields of `R`, and a cell for each of `more`, columns of the study.
    pub(super) fn create_with<R: Default + Serialize>(
        out: &Path,
        name: &'static str,
        more: &[&str],
    ) -> anyhow::Result<Self> {
        let path = out.join(format!("{name}.csv"));
        let part = out.join(format!("{name}.csv.part"));
        let file =
            File::create(&part).with_context(|| format!("cannot write {}", part.display()))?;
        let mut writer = csv::WriterBuilder::new()
            .has_headers(false)
            .from_writer(file);
        let fields = list_fields::<R>()?;
        write_cells(&mut writer, fields.iter().chain(more.iter().copied()))?;
        Ok(Self {
            name,
            path,
            part,
            writer,
            row: csv::StringRecord::new(),
            rows: 0,
        })
    }

    pub(super) fn add(&mut self, row: &impl Serialize) -> anyhow::Result<()> {
        self.rows += 1;
        let mut writer = csv::WriterBuilder::new()
            .has_headers(false)
            .from_writer(Vec::new());
        writer.serialize(row)?;
        let cells = writer
            .into_inner()
            .map_err(csv::IntoInnerError::into_error)?;
        // Serde names no cells, so they are read back to be looked at.
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .from_reader(&*cells);
        while reader.read_record(&mut self.row)? {
            write_cells(&mut self.writer, &self.row)
                .with_context(|| format!("cannot write {}", self.part.display()))?;
        }
        Ok(())
    }

    /// Gives the file its name.
    pub(super) fn finish(self) -> anyhow::Result<WrittenTable> {
        let file = self
            .writer
            .into_inner()
            .map_err(csv::IntoInnerError::into_error)?;
        file.sync_all()?;
        fs::rename(&self.part, &self.path)?;
        Ok(WrittenTable {
            name: self.name,
            path: self.path,
            rows: self.rows,
        })
    }
}

/// The names of the fields of a row, as they are serialised.
fn list_fields<R: Default + Serialize>() -> anyhow::Result<csv::StringRecord> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.serialize(R::default())?;
    let bytes = writer
        .into_inner()
        .map_err(csv::IntoInnerError::into_error)?;
    let mut reader = csv::Reader::from_reader(&*bytes);
    Ok(reader.headers()?.clone())
}
