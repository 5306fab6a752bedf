//! The files of a study: what of a data folder may be published, a list of all, and their archive.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use protocol::hash::sha256_hex;
use protocol::log;
use serde_json::Value;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::described::METADATA;
use crate::environment_file::EnvironmentFile;
use crate::export::{Skipped, StopFlag};
use crate::progress::Progress;
use crate::verify::check_copy;

/// The folder of environments, from the root.
const ENVIRONMENTS: &str = "record/modules/";

/// A file, by its path from the root with slashes.
pub(super) struct CrateFile {
    pub(super) path: String,
    pub(super) bytes: u64,
    pub(super) sha256: String,
    /// The kind of a stored environment; `None` for every other file.
    pub(super) environment: Option<EnvironmentFile>,
}

/// Copies recordings, and the modules and models that they need. Changed recordings, and recordings of groups from
/// which somebody withdrew, are left out. Returns the number of recordings.
pub(super) async fn copy_record(
    data: &Path,
    record: &Path,
    stop: &StopFlag,
    skipped: &mut Vec<Skipped>,
) -> anyhow::Result<usize> {
    let withdrawn = store::read_withdrawn(data).await?;
    let known = store::read_ledger(data).await?.logs;
    let episodes = record.join(archive::FOLDER);
    fs::create_dir_all(&episodes)?;
    let files = archive::list_logs(data)?;
    let (mut progress, mut copied) = (Progress::new(files.len()), 0);
    for path in files {
        stop.check()?;
        let bytes = fs::read(&path)?;
        let reason = match log::read_log(&bytes) {
            Err(error) => Some(error.to_string()),
            Ok(log) if log.through.0 == 0 => Some("nobody has played it".to_owned()),
            Ok(log) => {
                let mut people = log.header.participants.iter();
                let is_gone = people.any(|person| withdrawn.participants.contains(person))
                    || withdrawn.groups.contains(&log.header.group);
                let name = path.file_stem().unwrap_or_default().to_string_lossy();
                match is_gone {
                    true => Some("somebody withdrew what was recorded".to_owned()),
                    false => check_copy(&name, (&log, &bytes), &known).err(),
                }
            }
        };
        match reason {
            Some(reason) => skipped.push(Skipped { path, reason }),
            None => {
                let name = path.file_name().context("an episode has a name")?;
                fs::write(episodes.join(name), bytes)?;
                copied += 1;
            }
        }
        progress.step("episodes copied");
    }
    for folder in ["modules", "networks"] {
        let from = data.join(folder);
        if !from.is_dir() {
            continue;
        }
        fs::create_dir(record.join(folder))?;
        for file in list(&from)? {
            let name = file.file_name().context("a file has a name")?;
            fs::copy(&file, record.join(folder).join(name))?;
        }
    }
    Ok(copied)
}

/// The plain files of a folder, by name.
fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// Every file below a folder with its hash, by path.
pub(super) fn list_files(root: &Path) -> anyhow::Result<Vec<CrateFile>> {
    let mut files = Vec::new();
    add_files(root, "", &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn add_files(folder: &Path, prefix: &str, files: &mut Vec<CrateFile>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name
            .to_str()
            .with_context(|| format!("{} is no name of UTF-8", entry.path().display()))?;
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() {
            add_files(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file() {
            let bytes = fs::read(entry.path())?;
            let is_environment = path.starts_with(ENVIRONMENTS);
            files.push(CrateFile {
                environment: EnvironmentFile::of(&bytes).filter(|_| is_environment),
                path,
                bytes: bytes.len() as u64,
                sha256: sha256_hex(&bytes),
            });
        } else {
            anyhow::bail!("{} is neither a file nor a folder", entry.path().display());
        }
    }
    Ok(())
}

/// A study without the codes by which recruiters pay.
pub(super) fn without_codes(mut study: Value) -> Value {
    if let Some(outcomes) = study.pointer_mut("/recruitment/outcomes")
        && let Some(outcomes) = outcomes.as_object_mut()
    {
        for outcome in outcomes.values_mut().filter_map(Value::as_object_mut) {
            outcome.remove("code");
        }
    }
    study
}

/// Packs the files and the description of all of them. The same files give the same archive.
pub(super) fn pack(
    root: &Path,
    files: &[CrateFile],
    archive: &Path,
    stop: &StopFlag,
) -> anyhow::Result<()> {
    let file = File::create(archive)?;
    let mut zip = ZipWriter::new(BufWriter::new(file));
    let options = SimpleFileOptions::default()
        .last_modified_time(DateTime::default())
        .large_file(false);
    let paths = files.iter().map(|file| (file.path.as_str(), file.bytes));
    for (path, bytes) in paths.chain([(METADATA, 0)]) {
        stop.check()?;
        // Recordings are packed already as far as it pays, and Parquet is compressed.
        let method = match path.ends_with(".parquet") {
            true => CompressionMethod::Stored,
            false => CompressionMethod::Deflated,
        };
        let options = options
            .compression_method(method)
            .large_file(bytes > u64::from(u32::MAX) / 2);
        zip.start_file(path, options)?;
        io::copy(&mut BufReader::new(File::open(root.join(path))?), &mut zip)?;
    }
    let mut file = zip.finish()?;
    file.flush()?;
    Ok(file.get_ref().sync_all()?)
}
