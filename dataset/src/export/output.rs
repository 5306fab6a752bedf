//! The folder that an export writes: everything goes into a temporary folder beside it, and takes its place when it is
//! whole. What is interrupted leaves nothing behind.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::column::Column;
use super::report::WrittenTable;
use super::sink::TableFormat;
use crate::output_tree::part_of;

/// The file that lists the tables and columns. It is written last: a folder without it is not a complete export.
pub const DICTIONARY: &str = "tables.json";

/// The folder of an export that is being written.
pub(super) struct Output {
    pub(super) format: TableFormat,
    target: PathBuf,
    part: PathBuf,
}

/// The tables of an export as the dictionary lists them.
#[derive(Serialize)]
struct Dictionary<'a> {
    program: &'static str,
    program_version: &'static str,
    format: TableFormat,
    tables: Vec<DictionaryTable<'a>>,
}

#[derive(Serialize)]
struct DictionaryTable<'a> {
    name: &'static str,
    about: &'a str,
    rows: u64,
    columns: &'a [Column],
}

/// Enough of the dictionary of an earlier export to replace its files.
#[derive(Deserialize)]
struct EarlierDictionary {
    format: TableFormat,
    tables: Vec<EarlierTable>,
}

#[derive(Deserialize)]
struct EarlierTable {
    name: String,
}

impl Output {
    /// Makes the temporary folder.
    pub(super) fn create(target: &Path, format: TableFormat) -> anyhow::Result<Self> {
        let target = std::path::absolute(target)?;
        anyhow::ensure!(
            !target.exists() || target.is_dir(),
            "{} is a file, and no folder for tables; name another one with --out",
            target.display()
        );
        let part = part_of(&target)?;
        Ok(Self {
            format,
            target,
            part,
        })
    }

    /// The temporary folder, where files are written.
    pub(super) fn folder(&self) -> &Path {
        &self.part
    }

    /// The folder where they will be.
    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    /// Puts the tables into their place; they replace those of an earlier export. Other files there stay.
    pub(super) fn publish(&self, tables: &[&WrittenTable]) -> anyhow::Result<()> {
        let tables = tables.iter().map(|table| DictionaryTable {
            name: table.name,
            about: &table.about,
            rows: table.rows,
            columns: &table.columns,
        });
        let dictionary = Dictionary {
            program: "coplay",
            program_version: env!("CARGO_PKG_VERSION"),
            format: self.format,
            tables: tables.collect(),
        };
        let file = File::create(self.part.join(DICTIONARY))?;
        serde_json::to_writer_pretty(&file, &dictionary)?;
        file.sync_all()?;
        let failed = || format!("cannot write {}", self.target.display());
        if !self.target.exists() {
            return fs::rename(&self.part, &self.target).with_context(failed);
        }
        self.remove_earlier().with_context(failed)?;
        let last = |path: &PathBuf| path.ends_with(DICTIONARY);
        let mut files: Vec<PathBuf> = list(&self.part)?;
        files.sort_by_key(last);
        for file in files {
            let name = file.file_name().context("a file has a name")?;
            fs::rename(&file, self.target.join(name)).with_context(failed)?;
        }
        Ok(fs::remove_dir(&self.part)?)
    }

    /// Removes the dictionary and the tables of an earlier export.
    fn remove_earlier(&self) -> anyhow::Result<()> {
        let path = self.target.join(DICTIONARY);
        let Ok(text) = fs::read(&path) else {
            return Ok(());
        };
        fs::remove_file(&path)?;
        let Ok(earlier) = serde_json::from_slice::<EarlierDictionary>(&text) else {
            return Ok(());
        };
        for EarlierTable { name } in earlier.tables {
            let is_plain = name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            let path = self
                .target
                .join(format!("{name}.{}", earlier.format.extension()));
            if is_plain && path.is_file() {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // It is gone once the tables have their place; nothing can be done about a disk that refuses.
        let _ = fs::remove_dir_all(&self.part);
    }
}

fn list(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect()
}
