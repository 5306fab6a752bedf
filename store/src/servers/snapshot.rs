//! A whole study between the database that several servers share and a folder: out of it for a backup, into a new one to
//! restore that.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};

use super::moving::{check_objects, find_address};
use super::shared_log::{LogParts, has_objects, read_parts, read_parts_at};
use super::sharing::{is_shared_path, list_names, list_own};
use super::{check_address, find_holder, open, read_file, without_password};
use crate::StudyStore;
use crate::database::migrations::MIGRATIONS;
use crate::database::{Pool, Transaction, Writer, postgres, query};
use crate::error::StoreError;
use crate::participant_links::LINKS_KEY;
use crate::table_copy::{copy_rows, find_rows};

/// For how long PostgreSQL waits for the next statement of a copy, which reads and writes files in between.
const PATIENCE: &str = "SET LOCAL idle_in_transaction_session_timeout = '300s'";

/// A log whose beginning is in an object, by its path in a data folder.
type MovedLog = (String, LogParts);

/// Copies the study in a database as it is at one time, also while a server has it: rows into an empty store, logs and
/// files into a folder. Returns false if a log was erased or moved meanwhile; the copy must then be made again.
///
/// # Errors
/// The database is of another version; the database, the object store or the disk failed.
pub(crate) async fn copy_study(
    address: &str,
    rows: &StudyStore,
    folder: &Path,
) -> anyhow::Result<bool> {
    let pool = postgres::connect(address, 1, true).await?;
    let version = postgres::read_version(&pool, MIGRATIONS.len()).await?;
    let pool = Pool::Postgres(pool, Writer::Command);
    ensure!(
        usize::try_from(version) == Ok(MIGRATIONS.len()) && has_objects(&pool).await?,
        "the database {} is of an older version of Coplay; stop every server of it, and start one of this version, which \
         brings it up to date",
        without_password(address)
    );
    let mut reading = pool.begin_read().await?;
    query(PATIENCE).execute(&mut *reading).await?;
    let mut writing = rows.pool().begin_write().await?;
    copy_rows(&mut reading, &mut writing).await?;
    writing.commit().await?;
    copy_files(&mut reading, folder).await?;
    let moved = copy_logs(&mut reading, folder).await?;
    reading.commit().await?;
    let is_whole = fetch_moved(&pool, &moved, folder).await?;
    pool.close().await;
    Ok(is_whole)
}

/// Writes the files that servers share beside rows and logs, except secrets that a server makes again.
async fn copy_files(reading: &mut Transaction, folder: &Path) -> anyhow::Result<()> {
    let sql = "SELECT path FROM shared_files ORDER BY path";
    for row in query(sql).fetch_all(&mut **reading).await? {
        let path: &str = row.try_get("path")?;
        if !is_shared_path(path) && path != LINKS_KEY {
            continue;
        }
        let sql = "SELECT bytes FROM shared_files WHERE path = ?";
        let row = query(sql).bind(path).fetch_one(&mut **reading).await?;
        write_file(folder, path, row.try_get("bytes")?)?;
    }
    Ok(())
}

/// Writes the logs that are in rows; returns the others.
async fn copy_logs(reading: &mut Transaction, folder: &Path) -> anyhow::Result<Vec<MovedLog>> {
    let sql = "SELECT path FROM episode_parts UNION SELECT path FROM episode_objects ORDER BY path";
    let mut moved = Vec::new();
    for row in query(sql).fetch_all(&mut **reading).await? {
        let path: String = row.try_get("path")?;
        if !is_log_path(&path) {
            continue;
        }
        match read_parts_at(&mut **reading, true, &path).await? {
            Some(parts) if parts.object.is_some() => moved.push((path, parts)),
            Some(parts) => write_file(folder, &path, &parts.rows.unwrap_or_default())?,
            None => {}
        }
    }
    Ok(moved)
}

/// Writes the logs that are in objects; returns false if one of them is no longer there.
async fn fetch_moved(pool: &Pool, moved: &[MovedLog], folder: &Path) -> anyhow::Result<bool> {
    if moved.is_empty() {
        return Ok(true);
    }
    let objects = check_objects(find_address(pool).await?, None)?;
    for (path, parts) in moved {
        match parts.join(objects.as_ref()).await {
            Ok(bytes) => write_file(folder, path, &bytes)?,
            Err(error) => {
                let now = read_parts(pool, path).await?;
                if now.is_some_and(|now| now.object == parts.object) {
                    return Err(error.context(format!("the log {path}")));
                }
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn write_file(folder: &Path, path: &str, bytes: &[u8]) -> anyhow::Result<()> {
    let file = folder.join(path);
    fs::create_dir_all(file.parent().unwrap_or(folder))?;
    fs::write(&file, bytes).with_context(|| format!("{} cannot be written", file.display()))
}

/// True for the path of a log in a data folder. Nothing else is written there, whatever the database contains.
fn is_log_path(path: &str) -> bool {
    let name = path.strip_prefix(archive::FOLDER);
    let name = name.and_then(|rest| rest.strip_prefix('/'));
    name.is_some_and(|name| !name.starts_with('.') && !name.contains(['/', '\\']))
}

/// Makes sure that a database can take a study: it is there, no server has it, and it has no study.
///
/// # Errors
/// That is not so, or the database failed.
pub(crate) async fn ensure_empty(address: &str) -> anyhow::Result<()> {
    let pool = open_empty(address).await?;
    let mut writing = pool.begin_write().await?;
    refuse_rows(&mut writing, address).await?;
    writing.rollback().await?;
    pool.close().await;
    Ok(())
}

async fn open_empty(address: &str) -> anyhow::Result<Pool> {
    check_address(address)?;
    let pool = Pool::Postgres(open(address).await?, Writer::Command);
    if let Some(holder) = find_holder(&pool).await? {
        anyhow::bail!("{holder} uses this database; name a new one with --database");
    }
    Ok(pool)
}

async fn refuse_rows(writing: &mut Transaction, address: &str) -> anyhow::Result<()> {
    let logs = "SELECT 1 FROM episode_parts UNION ALL SELECT 1 FROM episode_objects LIMIT 1";
    let has_logs = query(logs).fetch_optional(&mut **writing).await?.is_some();
    ensure!(
        find_rows(writing).await?.is_none() && !has_logs,
        "the database {} has a study already; make a new one, and name it with --database",
        without_password(address)
    );
    Ok(())
}

/// Fills an empty database with the study of a data folder: all of it, or nothing.
///
/// # Errors
/// As [`ensure_empty`]; the database or the disk failed.
pub(crate) async fn fill_database(
    address: &str,
    rows: &StudyStore,
    folder: &Path,
) -> anyhow::Result<()> {
    let pool = open_empty(address).await?;
    let mut writing = pool.begin_write().await?;
    query(PATIENCE).execute(&mut *writing).await?;
    refuse_rows(&mut writing, address).await?;
    let mut reading = rows.pool().begin_read().await?;
    copy_rows(&mut reading, &mut writing).await?;
    reading.commit().await?;
    let mut shared = list_own(folder)?;
    if folder.join(LINKS_KEY).try_exists()? {
        shared.insert(LINKS_KEY.to_owned());
    }
    for path in &shared {
        let sql = "INSERT INTO shared_files (path, bytes) VALUES (?, ?) \
                   ON CONFLICT (path) DO UPDATE SET bytes = excluded.bytes";
        insert_file(&mut writing, sql, folder, path).await?;
    }
    for name in list_names(&folder.join(archive::FOLDER))? {
        let sql = "INSERT INTO episode_parts (path, start, bytes) VALUES (?, 0, ?)";
        let path = format!("{}/{name}", archive::FOLDER);
        insert_file(&mut writing, sql, folder, &path).await?;
    }
    writing.commit().await?;
    pool.close().await;
    Ok(())
}

/// Runs a statement with a path and the bytes of the file there.
async fn insert_file(
    writing: &mut Transaction,
    sql: &'static str,
    folder: &Path,
    path: &str,
) -> anyhow::Result<()> {
    let bytes = read_file(&folder.join(path))?;
    let inserted: Result<_, StoreError> = query(sql)
        .bind(path)
        .bind(bytes)
        .execute(&mut **writing)
        .await;
    inserted.with_context(|| path.to_owned())?;
    Ok(())
}
