//! Backups of a study in one archive, also while a server writes to it.
//!
//! The archive is a data folder with its own database. That database is copied first, as it was at one time. The length
//! of each append-only file at that time is noted, and so many bytes are copied: a restored folder is like one after a
//! crash of the server at that time. If several servers share a PostgreSQL database, rows and logs are read from there
//! in one transaction, and the archive is the same. If somebody withdraws meanwhile, the backup is made again, so that
//! it has nothing that was erased before it was complete.

pub mod restore;

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use tar::{Builder, EntryType, Header};

use crate::participant_links::LINKS_KEY;
use crate::servers::snapshot::copy_study;
use crate::{FILE, StudyStore, desk_keys, has_database, servers};

/// The entry of an archive that lists its contents.
pub const CONTENTS: &str = "backup.json";

/// Secrets that are made again where they are missing: a person with a backup must not have them.
const LEFT_OUT: [&str; 2] = ["replay.key", "turn.secret"];

/// How often a backup begins again because somebody withdrew meanwhile.
const MOST_TRIES: usize = 5;
/// A backup reports its progress at this interval.
const SAYS_EACH: Duration = Duration::from_secs(2);

/// A backup that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Backup {
    /// The archive.
    pub file: PathBuf,
    /// Its length, bytes.
    pub bytes: u64,
    /// The time at which the database was copied: microseconds since the Unix epoch.
    pub at_unix_us: u64,
    /// Number of files in it.
    pub files: usize,
    /// Number of episodes among them.
    pub episodes: usize,
    /// Episodes that the database has and the folder has not.
    pub missing: Vec<String>,
    /// True if it has the secret of participant links: everybody who gets it can make links of this study.
    pub has_links_key: bool,
    /// The name of the key of recruiters' identifiers, which is not in the archive; `None` if there are none.
    pub key: Option<String>,
}

impl fmt::Display for Backup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            bytes,
            files,
            episodes,
            ..
        } = self;
        write!(
            f,
            "{}: {files} files, {episodes} of them episodes, {bytes} bytes",
            self.file.display()
        )?;
        if !self.missing.is_empty() {
            let missing = self.missing.join(", ");
            write!(
                f,
                "\nepisodes that the database has and the folder has not: {missing}"
            )?;
        }
        if self.has_links_key {
            write!(
                f,
                "\nThe secret of participant links, links.key, is in this file: keep it as private as the data folder."
            )?;
        }
        if let Some(key) = &self.key {
            write!(
                f,
                "\nRecruiters' identifiers need the key {key}, which is not in this file; keep it in another place."
            )?;
        }
        Ok(())
    }
}

/// The list at the beginning of an archive.
#[derive(Debug, Deserialize, Serialize)]
struct Contents {
    /// The time at which the database was copied: microseconds since the Unix epoch.
    at_unix_us: u64,
    /// The files, with the bytes of each that were there then.
    files: Vec<ListedFile>,
}

#[derive(Debug, Deserialize, Serialize)]
struct ListedFile {
    path: String,
    bytes: u64,
    #[serde(skip)]
    from: PathBuf,
}

/// Writes a backup of the study of a data folder. Servers may run.
///
/// # Errors
/// There is no data folder, the file exists already or is in the data folder, people withdraw all the time, or the
/// database, the object store or the disk fails. Nothing is left behind then.
pub async fn write_backup(data: &Path, out: &Path) -> anyhow::Result<Backup> {
    anyhow::ensure!(
        has_database(data)?,
        "{} is no data folder of a server: it has no database; name one with --data",
        data.display()
    );
    anyhow::ensure!(
        !out.try_exists()?,
        "{} is there already; name another file with --out",
        out.display()
    );
    let (folder, part) = part_of(out).context("--out must name a file")?;
    let whole = folder
        .canonicalize()
        .with_context(|| format!("the folder {}", folder.display()))?;
    anyhow::ensure!(
        !whole.starts_with(data.canonicalize()?),
        "{} is in the data folder; a backup belongs to another place, best on another disk",
        out.display()
    );
    make_private_folder(&part)?;
    let written = write_into(data, &part).await;
    let finished = written.and_then(|mut backup| {
        fs::rename(part.join("archive"), out)?;
        sync_folder(&folder)?;
        backup.file = out.to_owned();
        Ok(backup)
    });
    fs::remove_dir_all(&part).with_context(|| format!("{} cannot be removed", part.display()))?;
    finished
}

/// Returns the folder of a path, and the temporary path of the new file; `None` for a path without a name.
fn part_of(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let name = path.file_name()?.to_string_lossy();
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or(Path::new("."));
    Some((folder.to_owned(), folder.join(format!(".{name}.part"))))
}

/// Makes a folder of that name that nobody else can open; one that an interrupted backup left goes first.
fn make_private_folder(path: &Path) -> anyhow::Result<()> {
    let failed = || format!("{} cannot be made", path.display());
    if path.try_exists()? {
        fs::remove_dir_all(path).with_context(failed)?;
    }
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).with_context(failed)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Copies the database into the folder `part`, as it is now. Returns the folder that has everything else, which is the
/// data folder unless several servers share its database; `None` if an episode was erased or moved meanwhile.
async fn copy_database(
    store: &StudyStore,
    data: &Path,
    part: &Path,
) -> anyhow::Result<Option<PathBuf>> {
    let copy = part.join(FILE);
    if copy.try_exists()? {
        fs::remove_file(&copy)?;
    }
    let Some(address) = servers::read_address(data)? else {
        store.copy_to(&copy).await?;
        return Ok(Some(data.to_owned()));
    };
    let folder = part.join("study");
    make_private_folder(&folder)?;
    let rows = StudyStore::create_copy(part).await?;
    let copied = copy_study(&address, &rows, &folder).await;
    rows.close().await;
    Ok(copied?.then_some(folder))
}

/// Writes the archive into its own folder.
async fn write_into(data: &Path, part: &Path) -> anyhow::Result<Backup> {
    let store = StudyStore::read(data).await?;
    for _ in 0..MOST_TRIES {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.context("the clock of this machine is before 1970")?;
        let at_unix_us = u64::try_from(now.as_micros()).unwrap_or(u64::MAX);
        let Some(folder) = copy_database(&store, data, part).await? else {
            continue;
        };
        let copied = StudyStore::read(part).await?;
        let (before, key) = (copied.count_erasures().await?, copied.key_id().await?);
        let episodes = copied.episodes().await?;
        copied.close().await;
        let mut missing = Vec::new();
        let mut listed = vec![list_file(part.join(FILE), FILE.to_owned())?];
        for episode in &episodes {
            let from = folder.join(&episode.path);
            match from.try_exists()? {
                true => listed.push(list_file(from, episode.path.clone())?),
                // One that has just begun has its row before its file.
                false if episode.ended_at.is_none() => {}
                false => missing.push(episode.id.clone()),
            }
        }
        let of_episodes = listed.len() - 1;
        list_folder(&folder, "", &mut listed)?;
        let has_links_key = listed.iter().any(|file| file.path == LINKS_KEY);
        let contents = Contents {
            at_unix_us,
            files: listed,
        };
        let to = part.join("archive");
        let written = tokio::task::spawn_blocking(move || {
            let bytes = write_archive(&to, &contents)?;
            anyhow::Ok((bytes, contents.files.len()))
        });
        let written = written
            .await
            .context("the thread that writes the archive")?;
        if store.count_erasures().await? != before {
            tracing::info!("somebody withdrew meanwhile; the backup begins anew");
            continue;
        }
        let (bytes, files) = written?;
        store.close().await;
        return Ok(Backup {
            file: PathBuf::new(),
            bytes,
            at_unix_us,
            files,
            episodes: of_episodes,
            missing,
            has_links_key,
            key,
        });
    }
    anyhow::bail!("somebody withdrew during each of {MOST_TRIES} attempts; try again")
}

fn list_file(from: PathBuf, path: String) -> io::Result<ListedFile> {
    let bytes = fs::metadata(&from)?.len();
    Ok(ListedFile { path, bytes, from })
}

/// Adds the files of a data folder, except the database, episodes, the lock, incomplete files, and [`LEFT_OUT`].
fn list_folder(data: &Path, below: &str, listed: &mut Vec<ListedFile>) -> io::Result<()> {
    let mut entries = fs::read_dir(data.join(below))?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        // A name that is not text is not one of ours.
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let is_top = below.is_empty();
        let is_database = is_top && (name.starts_with(FILE) || name.starts_with(desk_keys::FILE));
        let is_left_out = is_top
            && (name == "lock" || name == archive::FOLDER || LEFT_OUT.contains(&name.as_str()));
        if is_database || is_left_out || name.ends_with(".part") {
            continue;
        }
        let path = match is_top {
            true => name,
            false => format!("{below}/{name}"),
        };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            list_folder(data, &path, listed)?;
        } else if kind.is_file() {
            listed.push(list_file(entry.path(), path)?);
        }
    }
    Ok(())
}

/// Writes an archive for its owner alone; returns its length.
fn write_archive(to: &Path, contents: &Contents) -> anyhow::Result<u64> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(to)?;
    let mut builder = Builder::new(BufWriter::new(file));
    let text = serde_json::to_vec_pretty(contents)?;
    append(&mut builder, CONTENTS, text.len() as u64, &text[..])?;
    let all: u64 = contents.files.iter().map(|file| file.bytes).sum();
    let (mut done, mut said) = (0, Instant::now());
    for listed in &contents.files {
        let failed = || format!("{} cannot be read", listed.from.display());
        let file = File::open(&listed.from).with_context(failed)?;
        // A server appends to it meanwhile.
        append(
            &mut builder,
            &listed.path,
            listed.bytes,
            file.take(listed.bytes),
        )
        .with_context(failed)?;
        done += listed.bytes;
        if said.elapsed() >= SAYS_EACH {
            said = Instant::now();
            tracing::info!("{} of {} MB", done >> 20, all >> 20);
        }
    }
    let file = builder.into_inner()?.into_inner()?;
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

/// Appends an entry of this length; fewer bytes are an error.
fn append(
    builder: &mut Builder<impl Write>,
    path: &str,
    bytes: u64,
    from: impl io::Read,
) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_size(bytes);
    header.set_mode(0o600);
    header.set_mtime(0);
    let mut counted = Counted { from, left: bytes };
    builder.append_data(&mut header, path, &mut counted)?;
    match counted.left {
        0 => Ok(()),
        left => Err(io::Error::other(format!(
            "the file lost {left} of its bytes meanwhile"
        ))),
    }
}

struct Counted<R> {
    from: R,
    left: u64,
}

impl<R: io::Read> io::Read for Counted<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(bytes)?;
        self.left = self.left.saturating_sub(read as u64);
        Ok(read)
    }
}
