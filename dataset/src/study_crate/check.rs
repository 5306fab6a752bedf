//! Verification of a published study: every file has its hash, every episode is simulated again, and the table of episodes
//! says the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;
use serde_json::Value;
use store::KnownLogs;
use zip::ZipArchive;

use super::contents::list_files;
use super::described::{DATA, METADATA, RECORD};
use super::psych_ds::table_path;
use crate::cells::unquote_cell;
use crate::verify::{VerifyReport, check_all};

/// The result of verifying a published study.
#[derive(Clone, Debug, Serialize)]
pub struct CrateCheck {
    /// A sentence for each file or row that was changed after publication.
    pub altered: Vec<String>,
    /// Files whose hashes are right.
    pub files: usize,
    /// The episodes, simulated again.
    #[serde(flatten)]
    pub record: VerifyReport,
}

impl CrateCheck {
    /// Tells if everything was verified and nothing differs.
    #[must_use]
    pub fn is_fine(&self) -> bool {
        self.altered.is_empty() && self.record.is_fine()
    }
}

impl fmt::Display for CrateCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for altered in &self.altered {
            writeln!(f, "DIFFERS: {altered}")?;
        }
        writeln!(f, "{} files have their hashes", self.files)?;
        self.record.fmt(f)
    }
}

/// Verifies an archive or a folder that `coplay crate` wrote.
///
/// # Errors
/// It is no such archive or folder, or the disk fails. What differs is in the [`CrateCheck`].
pub fn check_crate(path: &Path) -> anyhow::Result<CrateCheck> {
    if path.is_dir() {
        return check_folder(path);
    }
    let folder = tempfile::tempdir()?;
    let failed = || format!("{} is no archive of a study", path.display());
    let file = File::open(path).with_context(failed)?;
    unpack(ZipArchive::new(file).with_context(failed)?, folder.path()).with_context(failed)?;
    check_folder(folder.path())
}

/// Unpacks the files of an archive; what would land elsewhere, or is no file, is refused.
fn unpack(mut archive: ZipArchive<File>, folder: &Path) -> anyhow::Result<()> {
    for number in 0..archive.len() {
        let mut file = archive.by_index(number)?;
        let name = file.name().to_owned();
        let inside = file
            .enclosed_name()
            .with_context(|| format!("the file `{name}` would leave the folder"))?;
        if file.is_dir() {
            continue;
        }
        anyhow::ensure!(file.is_file(), "`{name}` is neither a file nor a folder");
        let target = folder.join(inside);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        io::copy(&mut file, &mut File::create(target)?)?;
    }
    Ok(())
}

fn check_folder(root: &Path) -> anyhow::Result<CrateCheck> {
    let text = fs::read_to_string(root.join(METADATA)).with_context(|| {
        format!(
            "{} has no {METADATA}: it is no study that `coplay crate` wrote",
            root.display()
        )
    })?;
    let metadata: Value =
        serde_json::from_str(&text).with_context(|| format!("{METADATA} is damaged"))?;
    let (mut altered, mut right) = (Vec::new(), 0);
    let mut listed = list_hashes(&metadata);
    for file in list_files(root)? {
        match listed.remove(&file.path) {
            _ if file.path == METADATA => {}
            Some(hash) if hash == file.sha256 => right += 1,
            Some(_) => altered.push(format!("{} has another hash", file.path)),
            None => altered.push(format!("{} is not listed in {METADATA}", file.path)),
        }
    }
    altered.extend(listed.into_keys().map(|path| format!("{path} is missing")));
    let folder = root.join(RECORD);
    let mut record = VerifyReport::default();
    record.episodes.extend(check_all(
        &folder,
        &archive::list_logs(&folder)?,
        &KnownLogs::default(),
    )?);
    let study = find_root(&metadata).and_then(|root| root["identifier"].as_str());
    altered.extend(compare_table(root, study.unwrap_or_default(), &record)?);
    Ok(CrateCheck {
        altered,
        files: right,
        record,
    })
}

/// The description of the whole.
fn find_root(metadata: &Value) -> Option<&Value> {
    let mut graph = metadata["@graph"].as_array()?.iter();
    graph.find(|entity| entity["@id"] == "./")
}

/// The hash of every listed file, by path.
fn list_hashes(metadata: &Value) -> BTreeMap<String, String> {
    let graph = metadata["@graph"].as_array().into_iter().flatten();
    let files = graph.filter(|entity| entity["@type"] == "File");
    let hashes = files.filter_map(|file| {
        Some((
            file["@id"].as_str()?.to_owned(),
            file["sha256"].as_str()?.to_owned(),
        ))
    });
    hashes.collect()
}

/// Holds the table of episodes against the simulated ones.
fn compare_table(root: &Path, study: &str, record: &VerifyReport) -> anyhow::Result<Vec<String>> {
    let path = table_path(&root.join(DATA), study, "episodes");
    let Ok(mut reader) = csv::Reader::from_path(&path) else {
        return Ok(vec![format!(
            "the table of episodes, {}, is missing",
            path.display()
        )]);
    };
    let head = reader.headers()?.clone();
    let column = |name: &str| head.iter().position(|column| column == name);
    let (Some(id), Some(ticks), Some(score)) =
        (column("episode_id"), column("ticks"), column("score"))
    else {
        return Ok(vec![
            "the table of episodes lacks `episode_id`, `ticks` or `score`".to_owned(),
        ]);
    };
    let (mut wrong, mut known) = (Vec::new(), BTreeSet::new());
    let simulated: BTreeMap<&str, [String; 2]> = record
        .episodes
        .iter()
        .map(|episode| {
            (
                &*episode.episode,
                [
                    episode.ticks.to_string(),
                    episode
                        .score
                        .map_or_else(String::new, |score| score.to_string()),
                ],
            )
        })
        .collect();
    for row in reader.records() {
        let row = row?;
        let cell = |at: usize| unquote_cell(row.get(at).unwrap_or_default()).into_owned();
        let (id, told) = (cell(id), [cell(ticks), cell(score)]);
        if let Some(found) = simulated.get(&*id)
            && told.iter().any(|cell| !cell.is_empty())
            && *found != told
        {
            let [ticks, score] = &told;
            wrong.push(format!(
                "the table of episodes says {ticks} ticks and score {score} of {id}; the recording has {} and {}",
                found[0], found[1]
            ));
        }
        known.insert(id);
    }
    let strange = record
        .episodes
        .iter()
        .filter(|episode| !known.contains(&episode.episode));
    wrong.extend(strange.map(|episode| format!("the table of episodes lacks {}", episode.episode)));
    Ok(wrong)
}
