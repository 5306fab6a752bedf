//! CSV files.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use protocol::hash::to_hex;

use super::super::column::{CellSink, Column};
use super::TableSink;
use crate::cells::quote_cell;

/// A CSV file.
pub(super) struct CsvSink {
    writer: csv::Writer<File>,
    number: Vec<u8>,
}

impl CsvSink {
    pub(super) fn create(path: &Path, columns: &[Column]) -> anyhow::Result<Self> {
        let file =
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        let builder = csv::WriterBuilder::new();
        let mut sink = Self {
            writer: { builder }.buffer_capacity(1 << 16).from_writer(file),
            number: Vec::new(),
        };
        for column in columns {
            sink.put_text(&column.name)?;
        }
        sink.end_row()?;
        Ok(sink)
    }

    fn put_number(&mut self, number: std::fmt::Arguments<'_>) -> anyhow::Result<()> {
        self.number.clear();
        self.number.write_fmt(number)?;
        Ok(self.writer.write_field(&self.number)?)
    }
}

impl CellSink for CsvSink {
    fn put_missing(&mut self) -> anyhow::Result<()> {
        Ok(self.writer.write_field("")?)
    }

    fn put_boolean(&mut self, value: bool) -> anyhow::Result<()> {
        Ok(self
            .writer
            .write_field(if value { "true" } else { "false" })?)
    }

    fn put_integer(&mut self, value: i64) -> anyhow::Result<()> {
        self.put_number(format_args!("{value}"))
    }

    fn put_single(&mut self, value: f32) -> anyhow::Result<()> {
        self.put_number(format_args!("{value:?}"))
    }

    fn put_double(&mut self, value: f64) -> anyhow::Result<()> {
        self.put_number(format_args!("{value:?}"))
    }

    fn put_money(&mut self, amount: f64, decimals: usize) -> anyhow::Result<()> {
        self.put_number(format_args!("{amount:.decimals$}"))
    }

    fn put_text(&mut self, value: &str) -> anyhow::Result<()> {
        Ok(self.writer.write_field(&*quote_cell(value))?)
    }

    fn put_bytes(&mut self, value: &[u8]) -> anyhow::Result<()> {
        Ok(self.writer.write_field(to_hex(value))?)
    }

    fn put_floats(&mut self, values: &[f32]) -> anyhow::Result<()> {
        self.number.clear();
        for (at, value) in values.iter().enumerate() {
            let space = if at == 0 { "" } else { " " };
            write!(self.number, "{space}{value}")?;
        }
        Ok(self.writer.write_field(&self.number)?)
    }
}

impl TableSink for CsvSink {
    fn end_row(&mut self) -> anyhow::Result<()> {
        Ok(self.writer.write_record(None::<&[u8]>)?)
    }

    fn finish(self: Box<Self>) -> anyhow::Result<()> {
        let file = self.writer.into_inner();
        let file = file.map_err(csv::IntoInnerError::into_error)?;
        Ok(file.sync_all()?)
    }
}
