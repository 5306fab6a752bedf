//! The part of a take-over that is not in rows: the files that its data folder lacks, and the logs of episodes.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tokio::task::JoinSet;

use super::objects::Objects;
use super::read_file;
use super::shared_log::{list_logs, read_log};
use crate::data_folder::{DataDir, read_secret, replace_file, write_private};
use crate::database::{Pool, query};

/// The folders whose files are named by their content, so that a file of one name is the same everywhere.
const FOLDERS: [&str; 3] = ["modules", "networks", "studies"];

/// The secrets that every server of a study needs: participant links, links to replays and TURN work at each of them.
const SECRETS: [&str; 3] = ["links.key", "replay.key", "turn.secret"];

/// The most logs that are fetched at the same time.
const FETCHED_AT_ONCE: usize = 16;

/// Gives every server the secrets of the first one.
///
/// # Errors
/// The database or the disk failed.
pub(super) async fn share_secrets(data: &DataDir, pool: &Pool) -> anyhow::Result<()> {
    for name in SECRETS {
        let own = read_secret(data.path(), name)?;
        query("INSERT INTO shared_files (path, bytes) VALUES (?, ?) ON CONFLICT DO NOTHING")
            .bind(name)
            .bind(&own[..])
            .execute(pool)
            .await?;
        let row = query("SELECT bytes FROM shared_files WHERE path = ?")
            .bind(name)
            .fetch_one(pool)
            .await?;
        let shared: &[u8] = row.try_get("bytes")?;
        if shared != own {
            write_private(&data.path().join(name), shared)?;
        }
    }
    Ok(())
}

/// Shares modules, models and versions of the study that the data folder has, and fetches those that it lacks.
///
/// # Errors
/// The database or the disk failed.
pub(crate) async fn share_files(data: &DataDir, pool: &Pool) -> anyhow::Result<()> {
    let shared = list_shared(pool).await?;
    let own = list_own(data.path())?;
    for path in own.difference(&shared) {
        query("INSERT INTO shared_files (path, bytes) VALUES (?, ?) ON CONFLICT DO NOTHING")
            .bind(path)
            .bind(read_file(&data.path().join(path))?)
            .execute(pool)
            .await?;
    }
    fetch_lacking(data, pool, shared.difference(&own)).await
}

/// Fetches the shared files that a data folder lacks.
///
/// # Errors
/// The database or the disk failed.
pub(super) async fn fetch_files(data: &DataDir, pool: &Pool) -> anyhow::Result<()> {
    let (shared, own) = (list_shared(pool).await?, list_own(data.path())?);
    fetch_lacking(data, pool, shared.difference(&own)).await
}

async fn fetch_lacking(
    data: &DataDir,
    pool: &Pool,
    paths: impl Iterator<Item = &String>,
) -> anyhow::Result<()> {
    for path in paths {
        let row = query("SELECT bytes FROM shared_files WHERE path = ?")
            .bind(path)
            .fetch_one(pool)
            .await?;
        let file = data.path().join(path);
        fs::create_dir_all(file.parent().unwrap_or(data.path()))?;
        replace_file(&file, row.try_get("bytes")?)?;
    }
    Ok(())
}

/// The files that servers share, apart from secrets, by their path in a data folder.
async fn list_shared(pool: &Pool) -> anyhow::Result<BTreeSet<String>> {
    let rows = query("SELECT path FROM shared_files")
        .fetch_all(pool)
        .await?;
    let mut shared = BTreeSet::new();
    for row in &rows {
        let path: String = row.try_get("path")?;
        if is_shared_path(&path) {
            shared.insert(path);
        }
    }
    Ok(shared)
}

/// True for a file that servers share and that is not a secret. Nothing else is ever written into a data folder,
/// whatever the database contains.
pub(super) fn is_shared_path(path: &str) -> bool {
    path.split_once('/').is_some_and(|(folder, name)| {
        FOLDERS.contains(&folder) && !name.starts_with('.') && !name.contains(['/', '\\'])
    })
}

/// The files of a data folder that servers share, apart from secrets.
pub(super) fn list_own(data: &Path) -> io::Result<BTreeSet<String>> {
    let mut own = BTreeSet::new();
    for folder in FOLDERS {
        let names = list_names(&data.join(folder))?;
        let complete = names.into_iter().filter(|name| !name.ends_with(".part"));
        own.extend(complete.map(|name| format!("{folder}/{name}")));
    }
    Ok(own)
}

/// Lists the names in a folder; empty if there is no such folder.
pub(super) fn list_names(folder: &Path) -> io::Result<Vec<String>> {
    if !folder.try_exists()? {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    let names = entries
        .into_iter()
        .map(|entry| entry.file_name().into_string());
    // A name that is not text is not one of ours.
    Ok(names.filter_map(Result::ok).collect())
}

/// Makes the logs of episodes in a data folder those of the study. All other logs there were never acknowledged, or are
/// erased by now.
///
/// # Errors
/// The database, the object store or the disk failed.
pub(super) async fn fetch_logs(
    data: &DataDir,
    pool: &Pool,
    objects: Option<&Objects>,
) -> anyhow::Result<()> {
    let mut kept = BTreeSet::new();
    let mut fetching = JoinSet::new();
    for log in list_logs(pool).await? {
        let name = log.path.strip_prefix(&format!("{}/", archive::FOLDER));
        let Some(name) = name.filter(|name| !name.contains(['/', '\\'])) else {
            continue;
        };
        let file = data.episodes().join(name);
        kept.insert(name.to_owned());
        if file.try_exists()? && log.is_equal(&read_file(&file)?) {
            continue;
        }
        if fetching.len() >= FETCHED_AT_ONCE {
            finish_one(&mut fetching).await?;
        }
        fetching.spawn(fetch_log(pool.clone(), objects.cloned(), log.path, file));
    }
    while !fetching.is_empty() {
        finish_one(&mut fetching).await?;
    }
    for name in list_names(&data.episodes())? {
        if !kept.contains(&name) {
            fs::remove_file(data.episodes().join(name))?;
        }
    }
    Ok(())
}

async fn finish_one(fetching: &mut JoinSet<anyhow::Result<()>>) -> anyhow::Result<()> {
    let done = fetching.join_next().await;
    done.context("a log that is fetched")??
}

/// Fetches a log into a file, unless it is erased by now.
async fn fetch_log(
    pool: Pool,
    objects: Option<Objects>,
    path: String,
    file: PathBuf,
) -> anyhow::Result<()> {
    match read_log(&pool, objects.as_ref(), &path).await? {
        Some(bytes) => Ok(replace_file(&file, &bytes)?),
        None => Ok(()),
    }
}
