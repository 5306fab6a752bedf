//! Tables that are written: rows of one type go into a file of the chosen format.

use std::path::PathBuf;

use protocol::Seat;
use protocol::log::Header;

use super::column::{Column, Row, row};
use super::output::Output;
use super::report::WrittenTable;
use super::sink::{TableSink, create_sink};

row! {
    /// The columns that every table of episodes begins with. A row of such a table is `(EpisodeKeys, Row)`.
    pub(super) struct EpisodeKeys<'a> {
        /// The study, as in the study file.
        study_id: &'a str,
        /// The version of the study, as in the study file.
        version: &'a str,
        /// The stage of the episode.
        stage_id: &'a str,
        /// The group.
        group_id: &'a str,
        /// The number of the episode among those of the group, from 0: the same for everybody in the group.
        round: Option<u32>,
        /// The episode; also the name of its log.
        episode_id: &'a str,
        /// Pseudonym of the person of the seat, also in ticks that an AI partner played for this person; missing for the
        /// seat of an AI partner.
        participant_id: &'a str,
        /// The seat, from 0.
        seat: u8,
    }
}

impl<'a> EpisodeKeys<'a> {
    pub(super) fn new(header: &'a Header, round: Option<u32>, seat: Seat) -> Self {
        Self {
            study_id: &header.study,
            version: &header.study_version,
            stage_id: &header.stage,
            group_id: &header.group,
            round,
            episode_id: &header.episode,
            participant_id: &header.participants[seat.index()],
            seat: seat.0,
        }
    }
}

/// A table that is being written.
pub(super) struct Table {
    name: &'static str,
    about: String,
    columns: Vec<Column>,
    path: PathBuf,
    sink: Box<dyn TableSink>,
    rows: u64,
}

impl Table {
    /// A table of rows of one type.
    pub(super) fn create<R: Row>(output: &Output, name: &'static str) -> anyhow::Result<Self> {
        Self::create_with::<R>(output, name, Vec::new())
    }

    /// Creates a table whose rows have more columns than their type: the study's own.
    pub(super) fn create_with<R: Row>(
        output: &Output,
        name: &'static str,
        more: Vec<Column>,
    ) -> anyhow::Result<Self> {
        let (about, mut columns) = (R::about(), R::columns());
        columns.extend(more);
        let file = format!("{name}.{}", output.format.extension());
        let part = output.folder().join(&file);
        Ok(Self {
            name,
            sink: create_sink(output.format, &part, &about, &columns)?,
            about,
            columns,
            path: output.target().join(file),
            rows: 0,
        })
    }

    pub(super) fn add(&mut self, row: &impl Row) -> anyhow::Result<()> {
        self.add_with(row, &[])
    }

    /// Adds a row with the cells of its further columns, which are text.
    pub(super) fn add_with(&mut self, row: &impl Row, more: &[Option<&str>]) -> anyhow::Result<()> {
        row.put(&mut *self.sink)?;
        for cell in more {
            match cell {
                Some(text) => self.sink.put_text(text)?,
                None => self.sink.put_missing()?,
            }
        }
        self.rows += 1;
        self.sink.end_row()
    }

    /// Writes the rest of the file.
    pub(super) fn finish(self) -> anyhow::Result<WrittenTable> {
        self.sink.finish()?;
        Ok(WrittenTable {
            name: self.name,
            path: self.path,
            rows: self.rows,
            about: self.about,
            columns: self.columns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::sink::TableFormat;
    use super::*;

    row! {
        /// Texts by number.
        struct TextRow<'a> {
            /// The number.
            number: u32,
            /// The text.
            text: &'a str,
        }
    }

    #[test]
    fn every_row_is_written_and_quoted_however_many_there_are() {
        let texts = ["plain", "", "=1+1", "two\nlines, \"quoted\"", "NA"];
        let written = ["plain", "", "'=1+1", "two\nlines, \"quoted\"", "'NA"];
        for rows in [0, 1, 4_095, 4_096, 9_000] {
            let dir = tempfile::tempdir().unwrap();
            let out = dir.path().join("out");
            let output = Output::create(&out, TableFormat::Csv).unwrap();
            let mut table = Table::create::<TextRow<'_>>(&output, "texts").unwrap();
            for number in 0..rows {
                let text = texts[number as usize % texts.len()];
                table.add(&TextRow { number, text }).unwrap();
            }
            let table = table.finish().unwrap();
            output.publish(&[&table]).unwrap();
            assert_eq!(table.rows, u64::from(rows));
            let mut reader = csv::Reader::from_path(&table.path).unwrap();
            assert_eq!(reader.headers().unwrap(), vec!["number", "text"]);
            let found: Vec<(u32, String)> = reader.deserialize().map(Result::unwrap).collect();
            let expected = (0..rows).map(|row| (row, written[row as usize % 5].to_owned()));
            assert!(found.into_iter().eq(expected), "{rows} rows");
        }
    }
}
