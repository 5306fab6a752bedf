//! Values of columns and parameters, the same for both databases.

use std::sync::Arc;

use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{Column as _, Row as _, TypeInfo as _, ValueRef as _};

/// A parameter of a statement, or a column of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// A whole number, or true as 1 and false as 0.
    Int(Option<i64>),
    /// A text.
    Text(Option<String>),
    /// Bytes.
    Bytes(Option<Vec<u8>>),
}

impl Value {
    /// True if there is none.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Int(None) | Self::Text(None) | Self::Bytes(None))
    }
}

/// A type of values that columns can be read as.
pub(crate) trait FromValue<'r>: Sized {
    /// Reads a value; `None` if it is empty, or of another type.
    fn from_value(value: &'r Value) -> Option<Self>;
}

macro_rules! whole_numbers {
    ($($number:ty),*) => {$(
        impl From<$number> for Value {
            fn from(value: $number) -> Self {
                Self::Int(Some(value.into()))
            }
        }

        impl From<&$number> for Value {
            fn from(value: &$number) -> Self {
                (*value).into()
            }
        }

        impl From<Option<$number>> for Value {
            fn from(value: Option<$number>) -> Self {
                Self::Int(value.map(Into::into))
            }
        }

        impl FromValue<'_> for $number {
            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    Value::Int(Some(value)) => (*value).try_into().ok(),
                    _ => None,
                }
            }
        }
    )*};
}

whole_numbers!(u8, u16, u32, i32, i64);

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Int(Some(value.into()))
    }
}

impl From<Option<bool>> for Value {
    fn from(value: Option<bool>) -> Self {
        Self::Int(value.map(Into::into))
    }
}

impl FromValue<'_> for bool {
    fn from_value(value: &Value) -> Option<Self> {
        i64::from_value(value).map(|value| value != 0)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(Some(value))
    }
}

impl From<&String> for Value {
    fn from(value: &String) -> Self {
        Self::Text(Some(value.clone()))
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(Some(value.to_owned()))
    }
}

impl From<Option<String>> for Value {
    fn from(value: Option<String>) -> Self {
        Self::Text(value)
    }
}

impl From<&Option<String>> for Value {
    fn from(value: &Option<String>) -> Self {
        Self::Text(value.clone())
    }
}

impl From<Option<&str>> for Value {
    fn from(value: Option<&str>) -> Self {
        Self::Text(value.map(str::to_owned))
    }
}

impl FromValue<'_> for String {
    fn from_value(value: &Value) -> Option<Self> {
        <&str>::from_value(value).map(str::to_owned)
    }
}

impl<'r> FromValue<'r> for &'r str {
    fn from_value(value: &'r Value) -> Option<Self> {
        match value {
            Value::Text(value) => value.as_deref(),
            _ => None,
        }
    }
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(Some(value))
    }
}

impl From<&Vec<u8>> for Value {
    fn from(value: &Vec<u8>) -> Self {
        Self::Bytes(Some(value.clone()))
    }
}

impl From<&[u8]> for Value {
    fn from(value: &[u8]) -> Self {
        Self::Bytes(Some(value.to_owned()))
    }
}

impl FromValue<'_> for Vec<u8> {
    fn from_value(value: &Value) -> Option<Self> {
        <&[u8]>::from_value(value).map(<[u8]>::to_vec)
    }
}

impl<'r> FromValue<'r> for &'r [u8] {
    fn from_value(value: &'r Value) -> Option<Self> {
        match value {
            Value::Bytes(value) => value.as_deref(),
            _ => None,
        }
    }
}

impl<'r, T: FromValue<'r>> FromValue<'r> for Option<T> {
    fn from_value(value: &'r Value) -> Option<Self> {
        match value.is_null() {
            true => Some(None),
            false => T::from_value(value).map(Some),
        }
    }
}

/// The name or the number of a column.
pub(crate) trait ColumnKey {
    /// The number of the column among these.
    ///
    /// # Errors
    /// There is no such column.
    fn find(&self, names: &[String]) -> Result<usize, sqlx::Error>;
}

impl ColumnKey for usize {
    fn find(&self, names: &[String]) -> Result<usize, sqlx::Error> {
        let (index, len) = (*self, names.len());
        match index < len {
            true => Ok(index),
            false => Err(sqlx::Error::ColumnIndexOutOfBounds { index, len }),
        }
    }
}

impl ColumnKey for &str {
    fn find(&self, names: &[String]) -> Result<usize, sqlx::Error> {
        let found = names.iter().position(|name| name == self);
        found.ok_or_else(|| sqlx::Error::ColumnNotFound((*self).to_owned()))
    }
}

/// A row of a result.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    names: Arc<[String]>,
    values: Vec<Value>,
}

impl Row {
    /// The values of all columns, in the order of the statement.
    pub(crate) fn values(&self) -> &[Value] {
        &self.values
    }

    /// Reads a column.
    ///
    /// # Errors
    /// There is no such column, it is empty, or of another type.
    pub(crate) fn try_get<'r, T: FromValue<'r>, K: ColumnKey>(
        &'r self,
        key: K,
    ) -> Result<T, sqlx::Error> {
        let index = key.find(&self.names)?;
        T::from_value(&self.values[index]).ok_or_else(|| sqlx::Error::ColumnDecode {
            index: self.names[index].clone(),
            source: format!("is not a {}", std::any::type_name::<T>()).into(),
        })
    }

    /// The rows of a result of SQLite.
    ///
    /// # Errors
    /// A column is of a type that no table of ours has.
    pub(super) fn of_sqlite(rows: &[SqliteRow]) -> Result<Vec<Self>, sqlx::Error> {
        let names = names(rows.first().map(SqliteRow::columns));
        let read = |row: &SqliteRow| {
            let values = (0..row.len()).map(|index| {
                let raw = row.try_get_raw(index)?;
                let kind = match raw.is_null() {
                    true => "NULL".to_owned(),
                    false => raw.type_info().name().to_owned(),
                };
                Ok(match kind.as_str() {
                    "NULL" => Value::Text(None),
                    "TEXT" => Value::Text(row.try_get_unchecked(index)?),
                    "BLOB" => Value::Bytes(row.try_get_unchecked(index)?),
                    "INTEGER" | "BOOLEAN" => Value::Int(row.try_get_unchecked(index)?),
                    other => return Err(unknown(row.columns()[index].name(), other)),
                })
            });
            let (names, values) = (Arc::clone(&names), values.collect::<Result<_, _>>()?);
            Ok(Self { names, values })
        };
        rows.iter().map(read).collect()
    }

    /// The rows of a result of PostgreSQL.
    ///
    /// # Errors
    /// A column is of a type that no table of ours has.
    pub(super) fn of_postgres(rows: &[PgRow]) -> Result<Vec<Self>, sqlx::Error> {
        let names = names(rows.first().map(PgRow::columns));
        let read = |row: &PgRow| {
            let columns = row.columns().iter().enumerate();
            let values = columns.map(|(index, column)| {
                Ok(match column.type_info().name() {
                    "TEXT" | "VARCHAR" => Value::Text(row.try_get(index)?),
                    "BYTEA" => Value::Bytes(row.try_get(index)?),
                    "INT8" => Value::Int(row.try_get(index)?),
                    "INT4" => Value::from(row.try_get::<Option<i32>, _>(index)?),
                    "BOOL" => Value::from(row.try_get::<Option<bool>, _>(index)?),
                    "VOID" => Value::Text(None),
                    other => return Err(unknown(column.name(), other)),
                })
            });
            let (names, values) = (Arc::clone(&names), values.collect::<Result<_, _>>()?);
            Ok(Self { names, values })
        };
        rows.iter().map(read).collect()
    }
}

fn names<C: sqlx::Column>(columns: Option<&[C]>) -> Arc<[String]> {
    let columns = columns.unwrap_or_default().iter();
    columns.map(|column| column.name().to_owned()).collect()
}

fn unknown(column: &str, kind: &str) -> sqlx::Error {
    sqlx::Error::ColumnDecode {
        index: column.to_owned(),
        source: format!("no column of ours has the type {kind}").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[(&str, Value)]) -> Row {
        Row {
            names: values.iter().map(|(name, _)| (*name).to_owned()).collect(),
            values: values.iter().map(|(_, value)| value.clone()).collect(),
        }
    }

    #[test]
    fn a_column_is_read_as_what_fits_into_the_wanted_type_and_nothing_else() {
        let row = row(&[
            ("count", 300_i64.into()),
            ("name", "Ana".into()),
            ("none", Value::Int(None)),
        ]);
        assert_eq!(row.try_get::<u16, _>("count").unwrap(), 300);
        assert_eq!(row.try_get::<&str, _>(1).unwrap(), "Ana");
        assert_eq!(row.try_get::<Option<u32>, _>("none").unwrap(), None);
        assert!(row.try_get::<bool, _>("count").unwrap());
        for error in [
            row.try_get::<u8, _>("count").map(drop),
            row.try_get::<i64, _>("name").map(drop),
            row.try_get::<i64, _>("none").map(drop),
        ] {
            assert!(
                matches!(error, Err(sqlx::Error::ColumnDecode { .. })),
                "{error:?}"
            );
        }
        let missing = row.try_get::<i64, _>("other").map(drop);
        assert!(
            matches!(missing, Err(sqlx::Error::ColumnNotFound(_))),
            "{missing:?}"
        );
        let beyond = row.try_get::<i64, _>(3).map(drop);
        assert!(beyond.is_err(), "{beyond:?}");
    }
}
