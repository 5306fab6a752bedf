//! Columns of tables, derived from row types: a row says its columns, their kinds and descriptions, and writes its cells.

use serde::Serialize;

/// The kind of a column. Whole numbers are signed, so that a difference never wraps around in a table program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    /// True or false.
    Boolean,
    /// Whole number of 16 bits.
    Int16,
    /// Whole number of 32 bits.
    Int32,
    /// Whole number of 64 bits.
    Int64,
    /// Number of 32 bits.
    Float32,
    /// Number of 64 bits.
    Float64,
    /// Text.
    Text,
    /// Bytes.
    Bytes,
    /// A list of numbers of 32 bits.
    Floats,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: ColumnKind,
    /// The description in the data dictionary.
    pub description: String,
}

impl Column {
    pub(super) fn new(name: &str, kind: ColumnKind, description: &str) -> Self {
        let words: Vec<&str> = description.split_whitespace().collect();
        Self {
            name: name.to_owned(),
            kind,
            description: words.join(" "),
        }
    }
}

/// Takes the cells of a row, one after the other.
pub(super) trait CellSink {
    /// A cell without a value.
    fn put_missing(&mut self) -> anyhow::Result<()>;
    fn put_boolean(&mut self, value: bool) -> anyhow::Result<()>;
    fn put_integer(&mut self, value: i64) -> anyhow::Result<()>;
    fn put_single(&mut self, value: f32) -> anyhow::Result<()>;
    fn put_double(&mut self, value: f64) -> anyhow::Result<()>;
    /// An amount of money; text shows all decimals of its currency.
    fn put_money(&mut self, amount: f64, _decimals: usize) -> anyhow::Result<()> {
        self.put_double(amount)
    }
    fn put_text(&mut self, value: &str) -> anyhow::Result<()>;
    fn put_bytes(&mut self, value: &[u8]) -> anyhow::Result<()>;
    fn put_floats(&mut self, values: &[f32]) -> anyhow::Result<()>;
}

/// A type that is a cell.
pub(super) trait Cell {
    const KIND: ColumnKind;
    fn put(&self, sink: &mut dyn CellSink) -> anyhow::Result<()>;
}

/// A type that is a row of a table.
pub(super) trait Row {
    /// The description of the table.
    fn about() -> String;
    fn columns() -> Vec<Column>;
    fn put(&self, sink: &mut dyn CellSink) -> anyhow::Result<()>;
}

/// Text whose emptiness is an answer too; the plain types of text are missing if they are empty.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Typed<'a>(pub(super) &'a str);

macro_rules! cells {
    ($($type:ty, $kind:ident, $put:ident, $value:ident => $cell:expr;)*) => {$(
        impl Cell for $type {
            const KIND: ColumnKind = ColumnKind::$kind;
            fn put(&self, sink: &mut dyn CellSink) -> anyhow::Result<()> {
                let $value = self;
                sink.$put($cell)
            }
        }
    )*};
}

cells! {
    bool, Boolean, put_boolean, value => *value;
    u8, Int16, put_integer, value => (*value).into();
    u16, Int32, put_integer, value => (*value).into();
    u32, Int64, put_integer, value => (*value).into();
    u64, Int64, put_integer, value => i64::try_from(*value).unwrap_or(i64::MAX);
    usize, Int64, put_integer, value => i64::try_from(*value).unwrap_or(i64::MAX);
    i64, Int64, put_integer, value => *value;
    f32, Float32, put_single, value => *value;
    f64, Float64, put_double, value => *value;
    Typed<'_>, Text, put_text, value => value.0;
    Vec<u8>, Bytes, put_bytes, value => value;
    Vec<f32>, Floats, put_floats, value => value;
}

/// An amount of money, in units of its currency.
#[derive(Clone, Copy, Debug)]
pub(super) struct Money {
    pub(super) amount: f64,
    /// The decimals of the currency.
    pub(super) decimals: usize,
}

impl Cell for Money {
    const KIND: ColumnKind = ColumnKind::Float64;
    fn put(&self, sink: &mut dyn CellSink) -> anyhow::Result<()> {
        sink.put_money(self.amount, self.decimals)
    }
}

impl Cell for &str {
    const KIND: ColumnKind = ColumnKind::Text;

    fn put(&self, sink: &mut dyn CellSink) -> anyhow::Result<()> {
        match self.is_empty() {
            true => sink.put_missing(),
            false => sink.put_text(self),
        }
    }
}

impl Cell for String {
    const KIND: ColumnKind = ColumnKind::Text;

    fn put(&self, sink: &mut dyn CellSink) -> anyhow::Result<()> {
        self.as_str().put(sink)
    }
}

impl<C: Cell> Cell for Option<C> {
    const KIND: ColumnKind = C::KIND;

    fn put(&self, sink: &mut dyn CellSink) -> anyhow::Result<()> {
        match self {
            Some(cell) => cell.put(sink),
            None => sink.put_missing(),
        }
    }
}

/// Two rows beside each other; the second one is the subject of the table.
impl<A: Row, B: Row> Row for (A, B) {
    fn about() -> String {
        B::about()
    }

    fn columns() -> Vec<Column> {
        let mut columns = A::columns();
        columns.extend(B::columns());
        columns
    }

    fn put(&self, sink: &mut dyn CellSink) -> anyhow::Result<()> {
        self.0.put(sink)?;
        self.1.put(sink)
    }
}

impl<R: Row> Row for &R {
    fn about() -> String {
        R::about()
    }

    fn columns() -> Vec<Column> {
        R::columns()
    }

    fn put(&self, sink: &mut dyn CellSink) -> anyhow::Result<()> {
        (**self).put(sink)
    }
}

/// Makes a type of rows: the name of a field is that of its column, and the documentation of the field is the
/// description of the column in the data dictionary and in the schema of Parquet files.
macro_rules! row {
    (
        $(#[doc = $about:literal])+
        $vis:vis struct $name:ident $(<$life:lifetime>)? {
            $($(#[doc = $doc:literal])+ $field_vis:vis $field:ident: $type:ty,)*
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Default)]
        $vis struct $name $(<$life>)? {
            $($(#[doc = $doc])+ $field_vis $field: $type,)*
        }

        impl $(<$life>)? $crate::export::column::Row for $name $(<$life>)? {
            fn about() -> String {
                concat!($($about),+).trim().to_owned()
            }

            fn columns() -> Vec<$crate::export::column::Column> {
                use $crate::export::column::{Cell, Column};
                vec![$(Column::new(stringify!($field), <$type as Cell>::KIND, concat!($($doc),+))),*]
            }

            fn put(&self, sink: &mut dyn $crate::export::column::CellSink) -> anyhow::Result<()> {
                $($crate::export::column::Cell::put(&self.$field, sink)?;)*
                Ok(())
            }
        }
    };
}
pub(super) use row;
