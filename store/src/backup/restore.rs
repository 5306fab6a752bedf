//! Restores a backup, into a data folder with its own database or into a new database that several servers share.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use serde::Serialize;
use tar::{Archive, Entry};

use super::{CONTENTS, Contents, make_private_folder, part_of, sync_folder};
use crate::data_folder::{DataDir, is_there};
use crate::servers::snapshot::{ensure_empty, fill_database};
use crate::servers::{choose_database, read_address};
use crate::{FILE, StudyStore};

/// A backup that was restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RestoredBackup {
    /// The new data folder.
    pub data: PathBuf,
    /// The time of the study's state in the backup: microseconds since the Unix epoch.
    pub at_unix_us: u64,
    /// Number of files in the backup.
    pub files: usize,
    /// Number of sessions.
    pub sessions: usize,
    /// True if rows and logs are in a PostgreSQL database, which the folder names.
    pub is_shared: bool,
}

impl fmt::Display for RestoredBackup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let data = self.data.display();
        write!(
            f,
            "{data}: {} files, {} sessions",
            self.files, self.sessions
        )?;
        if self.is_shared {
            f.write_str(
                "\nThe study is in the new database. Start servers with its address and without an earlier data folder.",
            )?;
        }
        f.write_str(
            "\nPeople who withdrew or were erased after the backup are in it: erase them again, with coplay erase.",
        )
    }
}

/// Restores a backup into a new data folder, and into an empty PostgreSQL database if one is named.
///
/// # Errors
/// The archive is not a whole backup, the folder or the database is not empty, or the database or the disk fails. The
/// folder is not made then, and the database stays empty.
pub async fn restore_backup(
    file: &Path,
    data: &Path,
    database: Option<&str>,
) -> anyhow::Result<RestoredBackup> {
    ensure!(
        !data.try_exists()?,
        "{} is there already; name a new folder with --data",
        data.display()
    );
    if let Some(address) = database {
        ensure_empty(address).await?;
    }
    let (folder, part) = part_of(data).context("--data must name a folder")?;
    make_private_folder(&part)?;
    let restored = restore_into(file, &part, database).await;
    let finished = restored.and_then(|mut restored| {
        fs::rename(&part, data)?;
        sync_folder(&folder)?;
        restored.data = data.to_owned();
        Ok(restored)
    });
    if finished.is_err() {
        fs::remove_dir_all(&part).ok();
    }
    finished
}

async fn restore_into(
    file: &Path,
    part: &Path,
    database: Option<&str>,
) -> anyhow::Result<RestoredBackup> {
    let (from, to) = (file.to_owned(), part.to_owned());
    let unpacked = tokio::task::spawn_blocking(move || unpack(&from, &to));
    let contents = unpacked
        .await
        .context("the thread that reads the archive")??;
    ensure!(
        part.join(FILE).is_file() && read_address(part)?.is_none() && is_there(part),
        "{} is no backup of a server: it has no database",
        file.display()
    );
    let store = StudyStore::open(part).await?;
    let sessions = store.sessions().await?.len();
    let filled = match database {
        Some(address) => fill_database(address, &store, part).await,
        None => Ok(()),
    };
    store.close().await;
    filled?;
    if let Some(address) = database {
        for end in ["", "-wal", "-shm"] {
            let file = part.join(format!("{FILE}{end}"));
            if file.try_exists()? {
                fs::remove_file(file)?;
            }
        }
        choose_database(&DataDir::open(part)?, address)?;
    }
    Ok(RestoredBackup {
        data: PathBuf::new(),
        at_unix_us: contents.at_unix_us,
        files: contents.files.len(),
        sessions,
        is_shared: database.is_some(),
    })
}

/// Unpacks an archive whose files are those of its list, with all of their bytes.
fn unpack(file: &Path, to: &Path) -> anyhow::Result<Contents> {
    let failed = || format!("{} cannot be read", file.display());
    let mut archive = Archive::new(BufReader::new(File::open(file).with_context(failed)?));
    let mut entries = archive.entries().with_context(failed)?;
    let first = entries.next().transpose().ok().flatten();
    let contents = first.and_then(read_contents).with_context(|| {
        format!(
            "{} is no backup: it does not begin with {CONTENTS}",
            file.display()
        )
    })?;
    let listed = contents.files.iter();
    let mut missing: BTreeMap<&str, u64> = listed
        .map(|file| (file.path.as_str(), file.bytes))
        .collect();
    for entry in entries {
        let mut entry = entry.with_context(failed)?;
        let path = entry
            .path()
            .with_context(failed)?
            .to_string_lossy()
            .into_owned();
        let is_listed = missing.remove(path.as_str()) == Some(entry.size());
        let is_file = entry.header().entry_type().is_file();
        // An archive that somebody else made must not write outside of the folder.
        if !is_listed || !is_file || !entry.unpack_in(to).with_context(failed)? {
            bail!(
                "{} has the entry {path}, which is not in its list",
                file.display()
            );
        }
    }
    if let Some(path) = missing.into_keys().next() {
        bail!("{} has no {path}: it is not complete", file.display());
    }
    // A study without episodes has no such files.
    fs::create_dir_all(to.join(archive::FOLDER))?;
    Ok(contents)
}

fn read_contents(mut entry: Entry<'_, impl Read>) -> Option<Contents> {
    if entry.path().ok()? != Path::new(CONTENTS) {
        return None;
    }
    let mut text = String::new();
    entry.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::super::{ListedFile, write_archive};
    use super::*;

    /// Makes an archive of two files, with these lengths in its list.
    fn packed(dir: &Path, listed: [(&str, u64); 2]) -> PathBuf {
        let files = listed.map(|(path, bytes)| {
            let from = dir.join(path.replace(['/', '.'], "_"));
            fs::write(&from, "four").unwrap();
            ListedFile {
                path: path.to_owned(),
                bytes,
                from,
            }
        });
        let contents = Contents {
            at_unix_us: 7,
            files: files.into(),
        };
        let file = dir.join("backup.tar");
        write_archive(&file, &contents).unwrap();
        file
    }

    #[test]
    fn an_archive_is_unpacked_whole_or_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = packed(dir.path(), [("links.key", 4), ("modules/ab.wasm", 3)]);
        let to = dir.path().join("new");
        fs::create_dir(&to).unwrap();
        let contents = unpack(&file, &to).unwrap();
        assert_eq!((contents.at_unix_us, contents.files.len()), (7, 2));
        assert_eq!(fs::read(to.join("modules/ab.wasm")).unwrap(), b"fou");
        assert!(!to.join(CONTENTS).exists() && to.join("episodes").is_dir());

        let whole = fs::read(&file).unwrap();
        let refused = |bytes: &[u8]| {
            fs::write(&file, bytes).unwrap();
            unpack(&file, &to).unwrap_err().to_string()
        };
        // The entry of the list and of the first file, with a header of 512 bytes each, and nothing else.
        let list = whole.len() - 2 * 1_024 - 2 * 512;
        let said = refused(&whole[..list + 1_024]);
        assert!(said.contains("has no modules/ab.wasm"), "{said}");
        let said = refused(&whole[list..]);
        assert!(said.contains("does not begin with backup.json"), "{said}");
        let said = refused(b"");
        assert!(said.contains("does not begin with backup.json"), "{said}");
    }

    #[tokio::test]
    async fn nothing_is_restored_over_what_is_there_or_without_a_database() {
        let dir = tempfile::tempdir().unwrap();
        let file = packed(dir.path(), [("links.key", 4), ("modules/ab.wasm", 3)]);
        let refused = async |data: &Path| {
            let refused = restore_backup(&file, data, None).await;
            refused.unwrap_err().to_string()
        };
        let said = refused(dir.path()).await;
        assert!(said.contains("is there already"), "{said}");
        let data = dir.path().join("new");
        let said = refused(&data).await;
        assert!(said.contains("it has no database"), "{said}");
        let left = fs::read_dir(dir.path()).unwrap();
        let mut left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert!(left.all(|name| !name.contains("new")));
    }
}
