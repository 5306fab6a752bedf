//! Files with one JSON object per line.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::Context as _;
use protocol::hash::to_hex;

use super::super::column::{CellSink, Column};
use super::TableSink;

/// A file with one JSON object per row.
pub(super) struct JsonlSink {
    file: BufWriter<File>,
    /// For each column, all that stands before its value.
    heads: Vec<String>,
    next: usize,
}

impl JsonlSink {
    pub(super) fn create(path: &Path, columns: &[Column]) -> anyhow::Result<Self> {
        let file =
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        let heads = columns.iter().enumerate().map(|(at, column)| {
            let before = if at == 0 { '{' } else { ',' };
            Ok(format!("{before}{}:", serde_json::to_string(&column.name)?))
        });
        Ok(Self {
            file: BufWriter::with_capacity(1 << 16, file),
            heads: heads.collect::<Result<_, serde_json::Error>>()?,
            next: 0,
        })
    }

    fn begin_cell(&mut self) -> anyhow::Result<()> {
        self.file.write_all(self.heads[self.next].as_bytes())?;
        self.next += 1;
        Ok(())
    }

    fn put(&mut self, value: &(impl serde::Serialize + ?Sized)) -> anyhow::Result<()> {
        self.begin_cell()?;
        // What is no number has no form in JSON: it becomes `null`.
        Ok(serde_json::to_writer(&mut self.file, value)?)
    }
}

impl CellSink for JsonlSink {
    fn put_missing(&mut self) -> anyhow::Result<()> {
        self.put(&())
    }

    fn put_boolean(&mut self, value: bool) -> anyhow::Result<()> {
        self.put(&value)
    }

    fn put_integer(&mut self, value: i64) -> anyhow::Result<()> {
        self.put(&value)
    }

    fn put_single(&mut self, value: f32) -> anyhow::Result<()> {
        self.put(&value)
    }

    fn put_double(&mut self, value: f64) -> anyhow::Result<()> {
        self.put(&value)
    }

    fn put_text(&mut self, value: &str) -> anyhow::Result<()> {
        self.put(value)
    }

    fn put_bytes(&mut self, value: &[u8]) -> anyhow::Result<()> {
        self.put(&to_hex(value))
    }

    fn put_floats(&mut self, values: &[f32]) -> anyhow::Result<()> {
        self.put(values)
    }
}

impl TableSink for JsonlSink {
    fn end_row(&mut self) -> anyhow::Result<()> {
        self.next = 0;
        Ok(self.file.write_all(b"}\n")?)
    }

    fn finish(self: Box<Self>) -> anyhow::Result<()> {
        let file = self.file.into_inner();
        let file = file.map_err(std::io::IntoInnerError::into_error)?;
        Ok(file.sync_all()?)
    }
}
