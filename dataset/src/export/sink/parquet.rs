//! Parquet files: typed columns, with the descriptions of the table and of each column in the schema.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Float32Builder, Float64Builder, Int16Builder, Int32Builder,
    Int64Builder, ListBuilder, StringBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::super::column::{CellSink, Column, ColumnKind};
use super::TableSink;

/// Rows that are encoded together.
const BATCH_ROWS: usize = 4_096;

/// Bytes of values that are encoded together at most: observations are long.
const BATCH_BYTES: usize = 4 << 20;

/// Rows of a group, which readers load together.
const GROUP_ROWS: usize = 131_072;

/// The most bytes of an encoded group, which the writer holds in memory.
const GROUP_BYTES: usize = 16 << 20;

/// The values of a column that are not encoded yet.
enum Builder {
    Boolean(BooleanBuilder),
    Int16(Int16Builder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    Float32(Float32Builder),
    Float64(Float64Builder),
    Text(StringBuilder),
    Bytes(BinaryBuilder),
    Floats(ListBuilder<Float32Builder>),
}

impl Builder {
    fn new(kind: ColumnKind) -> Self {
        match kind {
            ColumnKind::Boolean => Self::Boolean(BooleanBuilder::new()),
            ColumnKind::Int16 => Self::Int16(Int16Builder::new()),
            ColumnKind::Int32 => Self::Int32(Int32Builder::new()),
            ColumnKind::Int64 => Self::Int64(Int64Builder::new()),
            ColumnKind::Float32 => Self::Float32(Float32Builder::new()),
            ColumnKind::Float64 => Self::Float64(Float64Builder::new()),
            ColumnKind::Text => Self::Text(StringBuilder::new()),
            ColumnKind::Bytes => Self::Bytes(BinaryBuilder::new()),
            ColumnKind::Floats => {
                let floats = ListBuilder::new(Float32Builder::new());
                Self::Floats(floats.with_field(item()))
            }
        }
    }

    fn put_missing(&mut self) {
        match self {
            Self::Boolean(values) => values.append_null(),
            Self::Int16(values) => values.append_null(),
            Self::Int32(values) => values.append_null(),
            Self::Int64(values) => values.append_null(),
            Self::Float32(values) => values.append_null(),
            Self::Float64(values) => values.append_null(),
            Self::Text(values) => values.append_null(),
            Self::Bytes(values) => values.append_null(),
            Self::Floats(values) => values.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Boolean(values) => Arc::new(values.finish()),
            Self::Int16(values) => Arc::new(values.finish()),
            Self::Int32(values) => Arc::new(values.finish()),
            Self::Int64(values) => Arc::new(values.finish()),
            Self::Float32(values) => Arc::new(values.finish()),
            Self::Float64(values) => Arc::new(values.finish()),
            Self::Text(values) => Arc::new(values.finish()),
            Self::Bytes(values) => Arc::new(values.finish()),
            Self::Floats(values) => Arc::new(values.finish()),
        }
    }
}

/// The values of a list.
fn item() -> Field {
    Field::new("item", DataType::Float32, false)
}

fn data_type(kind: ColumnKind) -> DataType {
    match kind {
        ColumnKind::Boolean => DataType::Boolean,
        ColumnKind::Int16 => DataType::Int16,
        ColumnKind::Int32 => DataType::Int32,
        ColumnKind::Int64 => DataType::Int64,
        ColumnKind::Float32 => DataType::Float32,
        ColumnKind::Float64 => DataType::Float64,
        ColumnKind::Text => DataType::Utf8,
        ColumnKind::Bytes => DataType::Binary,
        ColumnKind::Floats => DataType::List(Arc::new(item())),
    }
}

/// The key of descriptions in the metadata of a schema and of its fields.
const DESCRIPTION: &str = "description";

fn describe(text: &str) -> HashMap<String, String> {
    HashMap::from([(DESCRIPTION.to_owned(), text.to_owned())])
}

fn schema(about: &str, columns: &[Column]) -> SchemaRef {
    let field = |column: &Column| {
        let field = Field::new(&column.name, data_type(column.kind), true);
        field.with_metadata(describe(&column.description))
    };
    let fields: Vec<Field> = columns.iter().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, describe(about)))
}

/// How all our Parquet files are written; `group_rows` are the rows of a group.
fn properties(group_rows: usize) -> WriterProperties {
    let level = ZstdLevel::try_new(3).expect("a level of zstd");
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_max_row_group_row_count(Some(group_rows))
        .set_created_by(format!("coplay {}", env!("CARGO_PKG_VERSION")))
        .build()
}

/// Writes a file of whole batches, all rows of it in one group.
pub(crate) fn write_batches(
    path: &Path,
    schema: SchemaRef,
    batches: &[RecordBatch],
) -> anyhow::Result<()> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let mut writer = ArrowWriter::try_new(file, schema, Some(properties(rows.max(1))))?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.into_inner()?.sync_all()?;
    Ok(())
}

/// A file of batches that is written piece by piece.
pub(crate) struct BatchWriter(ArrowWriter<File>);

impl BatchWriter {
    pub(crate) fn create(path: &Path, schema: SchemaRef) -> anyhow::Result<Self> {
        let file =
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        let writer = ArrowWriter::try_new(file, schema, Some(properties(GROUP_ROWS)))?;
        Ok(Self(writer))
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> anyhow::Result<()> {
        self.0.write(batch)?;
        if self.0.in_progress_size() > GROUP_BYTES {
            self.0.flush()?;
        }
        Ok(())
    }

    /// Returns the bytes so far, with an estimate of those that are not on the disk.
    pub(crate) fn size(&self) -> usize {
        self.0.bytes_written() + self.0.in_progress_size()
    }

    pub(crate) fn finish(self) -> anyhow::Result<()> {
        self.0.into_inner()?.sync_all()?;
        Ok(())
    }
}

/// A Parquet file.
pub(super) struct ParquetSink {
    writer: ArrowWriter<File>,
    schema: SchemaRef,
    builders: Vec<Builder>,
    next: usize,
    rows: usize,
    bytes: usize,
}

impl ParquetSink {
    pub(super) fn create(path: &Path, about: &str, columns: &[Column]) -> anyhow::Result<Self> {
        let file =
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        let schema = schema(about, columns);
        let properties = properties(GROUP_ROWS);
        let kinds = columns.iter().map(|column| column.kind);
        Ok(Self {
            writer: ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties))?,
            schema,
            builders: kinds.map(Builder::new).collect(),
            next: 0,
            rows: 0,
            bytes: 0,
        })
    }

    fn builder(&mut self) -> &mut Builder {
        self.next += 1;
        &mut self.builders[self.next - 1]
    }

    fn encode(&mut self) -> anyhow::Result<()> {
        (self.rows, self.bytes) = (0, 0);
        let arrays = self.builders.iter_mut().map(Builder::finish).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays)?;
        self.writer.write(&batch)?;
        if self.writer.in_progress_size() > GROUP_BYTES {
            self.writer.flush()?;
        }
        Ok(())
    }
}

/// A row wrote a cell of another kind than it said.
fn unfit() -> anyhow::Error {
    anyhow::anyhow!("a cell of another kind than its column")
}

impl CellSink for ParquetSink {
    fn put_missing(&mut self) -> anyhow::Result<()> {
        self.builder().put_missing();
        Ok(())
    }

    fn put_boolean(&mut self, value: bool) -> anyhow::Result<()> {
        match self.builder() {
            Builder::Boolean(values) => values.append_value(value),
            _ => return Err(unfit()),
        }
        Ok(())
    }

    fn put_integer(&mut self, value: i64) -> anyhow::Result<()> {
        match self.builder() {
            Builder::Int16(values) => values.append_value(i16::try_from(value)?),
            Builder::Int32(values) => values.append_value(i32::try_from(value)?),
            Builder::Int64(values) => values.append_value(value),
            _ => return Err(unfit()),
        }
        Ok(())
    }

    fn put_single(&mut self, value: f32) -> anyhow::Result<()> {
        match self.builder() {
            Builder::Float32(values) => values.append_value(value),
            _ => return Err(unfit()),
        }
        Ok(())
    }

    fn put_double(&mut self, value: f64) -> anyhow::Result<()> {
        match self.builder() {
            Builder::Float64(values) => values.append_value(value),
            _ => return Err(unfit()),
        }
        Ok(())
    }

    fn put_text(&mut self, value: &str) -> anyhow::Result<()> {
        self.bytes += value.len();
        match self.builder() {
            Builder::Text(values) => values.append_value(value),
            _ => return Err(unfit()),
        }
        Ok(())
    }

    fn put_bytes(&mut self, value: &[u8]) -> anyhow::Result<()> {
        self.bytes += value.len();
        match self.builder() {
            Builder::Bytes(values) => values.append_value(value),
            _ => return Err(unfit()),
        }
        Ok(())
    }

    fn put_floats(&mut self, floats: &[f32]) -> anyhow::Result<()> {
        self.bytes += size_of_val(floats);
        match self.builder() {
            Builder::Floats(values) => {
                values.values().append_slice(floats);
                values.append(true);
            }
            _ => return Err(unfit()),
        }
        Ok(())
    }
}

impl TableSink for ParquetSink {
    fn end_row(&mut self) -> anyhow::Result<()> {
        self.next = 0;
        self.rows += 1;
        match self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES {
            true => self.encode(),
            false => Ok(()),
        }
    }

    fn finish(mut self: Box<Self>) -> anyhow::Result<()> {
        self.encode()?;
        self.writer.into_inner()?.sync_all()?;
        Ok(())
    }
}
