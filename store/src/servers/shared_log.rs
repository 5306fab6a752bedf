//! Logs of episodes in a database that several servers share: the beginning of an ended log may be in an object, and
//! the rest in rows.

use anyhow::Context as _;
use protocol::hash::sha256_hex;

use super::objects::{Objects, StoredObject};
use crate::database::value::Row;
use crate::database::{On, Pool, postgres, query};
use crate::error::StoreError;

/// How often a log is read again because it was moved meanwhile.
const MOST_TRIES: usize = 3;

/// A log, without its bytes.
#[derive(Clone, Debug)]
pub(super) struct ListedLog {
    /// Its path in a data folder.
    pub(super) path: String,
    /// The object that has its beginning.
    object: Option<StoredObject>,
    /// The SHA-256 of the bytes in rows, which come after that.
    rows: Option<String>,
}

impl ListedLog {
    /// True if these are its bytes.
    pub(super) fn is_equal(&self, bytes: &[u8]) -> bool {
        let moved = self.object.as_ref().map_or(0, |object| object.length);
        let Some((beginning, rest)) = bytes.split_at_checked(moved) else {
            return false;
        };
        let is_beginning = |object: &StoredObject| object.sha256 == sha256_hex(beginning);
        self.object.as_ref().is_none_or(is_beginning)
            && match &self.rows {
                Some(hash) => *hash == sha256_hex(rest),
                None => rest.is_empty(),
            }
    }
}

/// The bytes of a log that are in rows, and the object that has its beginning.
#[derive(Clone, Debug)]
pub(super) struct LogParts {
    pub(super) rows: Option<Vec<u8>>,
    pub(super) object: Option<StoredObject>,
}

impl LogParts {
    /// The whole log.
    ///
    /// # Errors
    /// The object store.
    pub(super) async fn join(&self, objects: Option<&Objects>) -> anyhow::Result<Vec<u8>> {
        let mut whole = match &self.object {
            Some(object) => {
                let objects = objects.context("the study names no object store")?;
                objects.read(object).await?
            }
            None => Vec::new(),
        };
        whole.extend(self.rows.iter().flatten());
        Ok(whole)
    }
}

/// The logs of a study.
///
/// # Errors
/// [`StoreError`]
pub(super) async fn list_logs(pool: &Pool) -> Result<Vec<ListedLog>, StoreError> {
    let sql = match has_objects(pool).await? {
        true => {
            "SELECT path, rows, object, length, sha256 FROM (SELECT path, parts_hash(path) AS rows FROM episode_parts \
             GROUP BY path) AS parts FULL JOIN episode_objects USING (path) ORDER BY path"
        }
        false => {
            "SELECT path, encode(sha256(string_agg(bytes, ''::BYTEA ORDER BY start)), 'hex') AS rows, \
             NULL AS object FROM episode_parts GROUP BY path ORDER BY path"
        }
    };
    let rows = query(sql).fetch_all(pool).await?;
    let logs = rows.iter().map(|row| {
        Ok(ListedLog {
            path: row.try_get("path")?,
            object: read_object(row)?,
            rows: row.try_get("rows")?,
        })
    });
    Ok(logs.collect::<Result<_, sqlx::Error>>()?)
}

/// Reads the bytes of a log; `None` if there is no such log.
///
/// # Errors
/// The database or the object store failed.
pub(super) async fn read_log(
    pool: &Pool,
    objects: Option<&Objects>,
    path: &str,
) -> anyhow::Result<Option<Vec<u8>>> {
    let mut tries = 0;
    loop {
        tries += 1;
        let Some(parts) = read_parts(pool, path).await? else {
            return Ok(None);
        };
        match parts.join(objects).await {
            Ok(bytes) => return Ok(Some(bytes)),
            Err(error) => {
                let now = read_parts(pool, path).await?;
                let is_other = now.is_none_or(|now| now.object != parts.object);
                if !is_other || tries == MOST_TRIES {
                    return Err(error.context(format!("the log {path}")));
                }
            }
        }
    }
}

/// Reads a log as it is at one time; `None` if there is no such log.
///
/// # Errors
/// [`StoreError`]
pub(super) async fn read_parts(pool: &Pool, path: &str) -> Result<Option<LogParts>, StoreError> {
    read_parts_at(pool, has_objects(pool).await?, path).await
}

/// The same within a transaction; `has_objects` if the database knows of object stores.
///
/// # Errors
/// [`StoreError`]
pub(super) async fn read_parts_at<'a>(
    on: impl Into<On<'a>>,
    has_objects: bool,
    path: &str,
) -> Result<Option<LogParts>, StoreError> {
    let rows = "(SELECT string_agg(bytes, ''::BYTEA ORDER BY start) FROM episode_parts WHERE path = ?1) AS rows";
    let sql = match has_objects {
        true => format!(
            "SELECT {rows}, object, length, sha256 FROM (SELECT 1) AS one LEFT JOIN episode_objects ON path = ?1"
        ),
        false => format!("SELECT {rows}, NULL AS object"),
    };
    let row = query(sqlx::AssertSqlSafe(sql)).bind(path);
    let row = row.fetch_one(on).await?;
    let parts = LogParts {
        rows: row.try_get("rows")?,
        object: read_object(&row)?,
    };
    let is_there = parts.rows.is_some() || parts.object.is_some();
    Ok(is_there.then_some(parts))
}

fn read_object(row: &Row) -> Result<Option<StoredObject>, sqlx::Error> {
    let name: Option<String> = row.try_get("object")?;
    let Some(name) = name else { return Ok(None) };
    let length: i64 = row.try_get("length")?;
    Ok(Some(StoredObject {
        name,
        length: usize::try_from(length).unwrap_or(usize::MAX),
        sha256: row.try_get("sha256")?,
    }))
}

/// True if the database knows of object stores: one that is only read may be older.
pub(super) async fn has_objects(pool: &Pool) -> Result<bool, StoreError> {
    match pool {
        Pool::Sqlite(_) => Ok(false),
        Pool::Postgres(pool, _) => postgres::has_objects(pool).await,
    }
}
