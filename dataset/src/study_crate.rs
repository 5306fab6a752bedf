//! A study as one folder or archive that can be published: recordings, modules, studies, tables, and their description in
//! four standards. RO-Crate describes every file, Croissant the tables for learning, Psych-DS and BIDS the data set.
//!
//! Nothing in it names a person: the database stays behind, and with it recruiters' identifiers, keys and sessions.

mod bids;
mod check;
mod contents;
mod croissant;
mod described;
mod facts;
mod psych_ds;
mod readme;
mod ro_crate;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Serialize;
use store::{StudyStore, data_folder};
use study::plural::count;

use crate::export::{
    DICTIONARY, ExportOptions, Skipped, StopFlag, TableFormat, WrittenTable, export,
};
use crate::output_tree::OutputTree;

pub use check::{CrateCheck, check_crate};
use contents::{copy_record, list_files};
use described::{DATA, Described, METADATA, RECORD, STUDIES, TABLES};
pub use facts::{CrateFacts, EXAMPLE};

/// A study that was made ready to be published.
#[derive(Clone, Debug, Serialize)]
pub struct CrateReport {
    /// Its folder or archive.
    pub path: PathBuf,
    /// Its files.
    pub files: usize,
    /// Bytes of all files.
    pub bytes: u64,
    /// Recordings in it.
    pub episodes: usize,
    /// Recordings that were left out, with the reason.
    pub skipped: Vec<Skipped>,
}

impl fmt::Display for CrateReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}, {}, {:.1} MB",
            self.path.display(),
            count(self.files, "file"),
            count(self.episodes, "episode"),
            self.bytes as f64 / 1e6
        )?;
        let mut skipped = self.skipped.iter();
        skipped
            .try_for_each(|left| write!(f, "\nleft out: {}: {}", left.path.display(), left.reason))
    }
}

/// Writes the study of a data folder into `out`, which must not exist yet: an archive if its name ends in `.zip`, else a
/// folder.
///
/// # Errors
/// There is no data folder, `out` exists, the disk fails, or it was asked to stop.
pub async fn write_crate(
    data: &Path,
    out: &Path,
    facts: &CrateFacts,
    stop: &StopFlag,
) -> anyhow::Result<CrateReport> {
    anyhow::ensure!(
        data_folder::is_there(data),
        "{} is no data folder of a server: it has neither episodes nor a database; name one with --data",
        data.display()
    );
    let is_archive = out.extension().is_some_and(|end| end == "zip");
    let tree = OutputTree::create(out)?;
    let root = tree.folder().join("crate");
    fs::create_dir(&root)?;
    let mut skipped = Vec::new();
    let episodes = copy_record(data, &root.join(RECORD), stop, &mut skipped).await?;
    let tables = write_tables(data, &root, stop).await?;
    let described = describe(data, facts, tables, &root).await?;
    write_metadata(&root, &described)?;
    let files = list_files(&root)?;
    let metadata = ro_crate::make_metadata(&described, &files);
    write_json(&root.join(METADATA), &metadata)?;
    stop.check()?;
    let report = CrateReport {
        path: tree.target().to_owned(),
        files: files.len() + 1,
        bytes: files.iter().map(|file| file.bytes).sum(),
        episodes,
        skipped,
    };
    if is_archive {
        let archive = tree.folder().join("crate.zip");
        contents::pack(&root, &files, &archive, stop)?;
        tree.publish_part("crate.zip")?;
    } else {
        tree.publish_part("crate")?;
    }
    Ok(report)
}

/// The tables, as Parquet and as CSV.
async fn write_tables(
    data: &Path,
    root: &Path,
    stop: &StopFlag,
) -> anyhow::Result<Vec<WrittenTable>> {
    let options = |format| ExportOptions {
        format,
        stop: stop.clone(),
        ..ExportOptions::default()
    };
    let (csv, parquet) = (root.join(DATA), root.join(TABLES));
    let written = export(data, &csv, &options(TableFormat::Csv)).await?;
    fs::remove_file(csv.join(DICTIONARY))?;
    export(data, &parquet, &options(TableFormat::Parquet)).await?;
    Ok(written.tables)
}

/// Reads the facts for the metadata about the study, and writes the studies themselves.
async fn describe<'a>(
    data: &Path,
    facts: &'a CrateFacts,
    tables: Vec<WrittenTable>,
    root: &Path,
) -> anyhow::Result<Described<'a>> {
    let mut described = Described {
        facts,
        study: "study".to_owned(),
        version: String::new(),
        title: facts.title.clone().unwrap_or_default(),
        protocol: None,
        days: None,
        people: 0,
        tables,
    };
    fs::create_dir(root.join(STUDIES))?;
    let Some(store) = StudyStore::find(data).await? else {
        return Ok(described);
    };
    let (studies, sessions) = (store.list_studies().await?, store.sessions().await?);
    store.close().await;
    described.people = sessions.len();
    let day = |at: &str| at.get(..10).unwrap_or(at).to_owned();
    let first = sessions
        .iter()
        .map(|session| day(&session.created_at))
        .min();
    let last = sessions.iter().map(|session| {
        let ended = session.ended_at.as_deref();
        day(ended.unwrap_or(&session.created_at))
    });
    described.days = first.zip(last.max());
    for (number, canonical) in studies.iter().enumerate() {
        let study: serde_json::Value =
            serde_json::from_str(canonical).context("a stored study is damaged")?;
        let text = |name: &str| study["study"][name].as_str().map(str::to_owned);
        described.study = text("id").unwrap_or_default();
        described.version = text("version").unwrap_or_default();
        described.protocol = text("protocol");
        if facts.title.is_none() {
            let title = &study["study"]["title"];
            let in_english = title["en"].as_str().or(title.as_str());
            described.title = in_english.unwrap_or(&described.study).to_owned();
        }
        let name = format!("{}-{number}.json", described.study);
        write_json(
            &root.join(STUDIES).join(name),
            &contents::without_codes(study),
        )?;
    }
    Ok(described)
}

/// Writes every file of metadata except that of RO-Crate, which lists them.
fn write_metadata(root: &Path, described: &Described<'_>) -> anyhow::Result<()> {
    psych_ds::name_tables(&root.join(DATA), described)?;
    write_json(
        &root.join("dataset_description.json"),
        &psych_ds::make_description(described),
    )?;
    bids::write_files(root, described)?;
    fs::write(root.join("README.md"), readme::make_readme(described))?;
    let tables = croissant::make_metadata(described, &root.join(TABLES))?;
    write_json(&root.join("croissant.json"), &tables)
}

fn write_json(path: &Path, value: &serde_json::Value) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests;
