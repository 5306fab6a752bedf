//! Layouts: a plan of the ground, a symbol a cell.
//!
//! `+` is a start cell, a blank or `.` is free floor, and every other symbol belongs to a kind.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::kind::{EMPTY, Kind, KindId};
use crate::contract::ParamError;

/// The most rows or columns of a layout.
pub const MAX_SIDE: usize = 64;

/// The ground of an episode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GridGround {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// The kind in each cell, `[row, column]` row-major.
    pub kinds: Vec<KindId>,
    /// Start cells, in reading order.
    pub starts: Vec<u16>,
}

/// A layout as a parameter: the name of one that the world knows, or its own rows of symbols.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(
    untagged,
    expecting = "expected the name of a layout, or a list of rows, each a string"
)]
pub enum Chart {
    /// The name of a layout.
    Name(String),
    /// One string a row.
    Rows(Vec<String>),
}

impl<'de> Deserialize<'de> for Chart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Chart;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("the name of a layout, or its rows as an array of strings")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Chart, E> {
                Ok(Chart::named(name))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Chart, A::Error> {
                let mut rows = Vec::new();
                while let Some(row) = seq.next_element()? {
                    rows.push(row);
                }
                Ok(Chart::Rows(rows))
            }
        }
        deserializer.deserialize_any(Read)
    }
}

impl From<&str> for Chart {
    fn from(name: &str) -> Self {
        Self::named(name)
    }
}

impl Chart {
    /// The layout with a name.
    pub fn named(name: &str) -> Self {
        Self::Name(name.into())
    }

    /// The rows of the layout; `known` are the names there are, and their rows.
    ///
    /// # Errors
    /// [`ParamError`] for a name that nothing has.
    pub fn rows(&self, known: &[(&str, &[&str])]) -> Result<Vec<String>, ParamError> {
        match self {
            Self::Rows(rows) => Ok(rows.clone()),
            Self::Name(name) => match known.iter().find(|(other, _)| other == name) {
                Some((_, rows)) => Ok(rows.iter().map(|&row| row.into()).collect()),
                None => refuse(super::refusal::tell_unknown(
                    "layout",
                    name,
                    known.iter().map(|&(known, _)| known),
                )),
            },
        }
    }
}

fn refuse<T>(reason: String) -> Result<T, ParamError> {
    super::refusal::refuse("layout", reason)
}

/// Refuses a row: a study has a line for each.
fn refuse_row<T>(row: usize, reason: String) -> Result<T, ParamError> {
    super::refusal::refuse(&format!("layout[{row}]"), reason)
}

impl GridGround {
    /// Reads a layout.
    ///
    /// # Errors
    /// [`ParamError`] with row and column of what is wrong.
    pub fn read<S: AsRef<str>>(rows: &[S], kinds: &[Kind]) -> Result<Self, ParamError> {
        let width = rows.first().map_or(0, |row| row.as_ref().chars().count());
        if width == 0 || rows.len() > MAX_SIDE || width > MAX_SIDE {
            return refuse(format!(
                "needs 1 to {MAX_SIDE} rows of 1 to {MAX_SIDE} symbols; this one has {} rows of {width}",
                rows.len()
            ));
        }
        let mut ground = Self {
            rows: rows.len(),
            cols: width,
            kinds: Vec::with_capacity(rows.len() * width),
            starts: Vec::new(),
        };
        for (row, symbols) in rows.iter().enumerate() {
            let symbols = symbols.as_ref();
            let count = symbols.chars().count();
            if count != width {
                let (number, far) = (row + 1, "make them equally long");
                return refuse_row(
                    row,
                    format!("row {number} has {count} symbols and row 1 has {width}: {far}"),
                );
            }
            for (col, symbol) in symbols.chars().enumerate() {
                ground.push(row, col, symbol, kinds)?;
            }
        }
        Ok(ground)
    }

    fn push(
        &mut self,
        row: usize,
        col: usize,
        symbol: char,
        kinds: &[Kind],
    ) -> Result<(), ParamError> {
        let kind = match symbol {
            ' ' | '.' => EMPTY,
            '+' => {
                self.starts.push(self.kinds.len() as u16);
                EMPTY
            }
            _ => match kinds.iter().position(|kind| kind.symbol == Some(symbol)) {
                Some(index) => index as KindId + 1,
                None => return refuse_row(row, unknown(row, col, symbol, kinds)),
            },
        };
        self.kinds.push(kind);
        Ok(())
    }
}

fn unknown(row: usize, col: usize, symbol: char, kinds: &[Kind]) -> String {
    let swapped = |known: char| known.to_lowercase().eq(symbol.to_lowercase()) && known != symbol;
    let hint = kinds
        .iter()
        .find(|kind| kind.symbol.is_some_and(swapped))
        .and_then(|kind| Some(format!("; did you mean `{}` ({})", kind.symbol?, kind.name)))
        .unwrap_or_default();
    let known: Vec<String> = kinds
        .iter()
        .filter_map(|kind| Some(format!("`{}` {}", kind.symbol?, kind.name)))
        .chain(["`+` start".to_string(), "` ` or `.` floor".to_string()])
        .collect();
    format!(
        "row {}, column {}: no kind has the symbol `{symbol}`{hint}; there is: {}",
        row + 1,
        col + 1,
        known.join(", ")
    )
}
