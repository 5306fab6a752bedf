//! A table that was written, read back.

use super::*;

/// A table that was written: the names of its columns, and the cells of each row by them.
pub(super) struct Cells {
    pub(super) names: Vec<String>,
    pub(super) rows: Vec<BTreeMap<String, String>>,
}

impl Cells {
    pub(super) fn read(path: &Path) -> Self {
        let mut reader = csv::Reader::from_path(path).unwrap();
        let names: Vec<String> = reader
            .headers()
            .unwrap()
            .iter()
            .map(str::to_owned)
            .collect();
        let rows = reader.records().map(Result::unwrap).map(|row| {
            let cells = row.iter().map(str::to_owned);
            names.iter().cloned().zip(cells).collect()
        });
        Self {
            rows: rows.collect(),
            names,
        }
    }

    /// The cells of a column, from the first row to the last.
    pub(super) fn column(&self, name: &str) -> Vec<&str> {
        self.rows.iter().map(|row| row[name].as_str()).collect()
    }

    /// Some cells of a row, by the names of their columns with spaces between.
    pub(super) fn cells(&self, row: usize, names: &str) -> Vec<&str> {
        let names = names.split(' ');
        names.map(|name| self.rows[row][name].as_str()).collect()
    }

    /// The cells of a row that are not empty, with their names, except the first columns of every table of episodes.
    pub(super) fn filled(&self, row: usize) -> String {
        let is_key = |name: &str| KEYS.split(' ').any(|key| key == name);
        let own = self.names.iter().filter(|name| !is_key(name));
        let cells = own.map(|name| (name, &self.rows[row][name]));
        let cells = cells.filter(|(_, cell)| !cell.is_empty());
        let cells = cells.map(|(name, cell)| format!("{name}={cell}"));
        cells.collect::<Vec<_>>().join(" ")
    }
}
