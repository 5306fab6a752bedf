//! Tables as CSV files.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use protocol::Seat;
use protocol::log::Header;
use serde::Serialize;

use super::report::WrittenTable;
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

/// Rows whose cells are looked at together.
const BATCH: usize = 1_000;

/// A CSV file that takes its name when it is whole.
pub(super) struct Table {
    name: &'static str,
    path: PathBuf,
    part: PathBuf,
    writer: csv::Writer<File>,
    /// Rows whose cells were not looked at yet: serde names no cells, so they are written here, and read back.
    raw: csv::Writer<Vec<u8>>,
    waiting: usize,
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
            raw: make_raw(),
            waiting: 0,
            rows: 0,
        })
    }

    pub(super) fn add(&mut self, row: &impl Serialize) -> anyhow::Result<()> {
        self.rows += 1;
        self.raw.serialize(row)?;
        self.waiting += 1;
        match self.waiting >= BATCH {
            true => self.write_waiting(),
            false => Ok(()),
        }
    }

    fn write_waiting(&mut self) -> anyhow::Result<()> {
        self.waiting = 0;
        let raw = std::mem::replace(&mut self.raw, make_raw());
        let cells = raw.into_inner().map_err(csv::IntoInnerError::into_error)?;
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(&*cells);
        let mut row = csv::StringRecord::new();
        while reader.read_record(&mut row)? {
            write_cells(&mut self.writer, &row)
                .with_context(|| format!("cannot write {}", self.part.display()))?;
        }
        Ok(())
    }

    /// Gives the file its name.
    pub(super) fn finish(mut self) -> anyhow::Result<WrittenTable> {
        self.write_waiting()?;
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

fn make_raw() -> csv::Writer<Vec<u8>> {
    csv::WriterBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_writer(Vec::new())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default, Serialize)]
    struct TextRow<'a> {
        number: u32,
        text: &'a str,
    }

    #[test]
    fn every_row_is_written_and_quoted_however_many_there_are() {
        let texts = ["plain", "", "=1+1", "two\nlines, \"quoted\"", "-2+3"];
        let written = ["plain", "", "'=1+1", "two\nlines, \"quoted\"", "'-2+3"];
        for rows in [0, 1, 999, 1_000, 1_001, 2_500] {
            let dir = tempfile::tempdir().unwrap();
            let mut table = Table::create::<TextRow<'_>>(dir.path(), "texts").unwrap();
            for number in 0..rows {
                let text = texts[number as usize % texts.len()];
                table.add(&TextRow { number, text }).unwrap();
            }
            let table = table.finish().unwrap();
            assert_eq!(table.rows, u64::from(rows));
            let mut reader = csv::Reader::from_path(&table.path).unwrap();
            let found: Vec<(u32, String)> = reader.deserialize().map(Result::unwrap).collect();
            let expected = (0..rows).map(|row| (row, written[row as usize % 5].to_owned()));
            assert!(found.into_iter().eq(expected), "{rows} rows");
        }
    }

    #[test]
    fn a_row_does_not_cost_a_writer_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let mut table = Table::create::<TextRow<'_>>(dir.path(), "texts").unwrap();
        let row = TextRow::default();
        (1..BATCH).for_each(|_| table.add(&row).unwrap());
        assert_eq!(table.waiting, BATCH - 1, "they wait for each other");
        table.add(&row).unwrap();
        assert_eq!(table.waiting, 0);
    }
}
