//! Moves the logs of ended episodes into an object store, while the study runs.
//!
//! An object is written and read before the database names it; in the same transaction, the rows of its log are
//! deleted. A crash or another server in between leaves at most an object that nothing names. Names of objects have the
//! generation of their server, so a server that was paused can neither replace nor delete the objects of its successor.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use protocol::hash::sha256_hex;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::objects::Objects;
use super::shared_log::{has_objects, read_parts};
use crate::database::{Pool, query};
use crate::error::StoreError;

/// Time between two looks for ended episodes, and until the next one while the object store fails.
const LOOKS_EACH: Duration = Duration::from_secs(2);
const TRIES_EACH: Duration = Duration::from_secs(10);

/// Time between two deletions of objects that nothing names.
const SWEEPS_EACH: Duration = Duration::from_secs(3_600);

/// The logs of ended episodes are moved until this is dropped.
#[derive(Debug)]
pub struct MovingLogs(JoinHandle<()>);

impl Drop for MovingLogs {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Moves logs, one after the other.
#[derive(Debug)]
pub(super) struct LogMover {
    pool: Pool,
    objects: Objects,
    /// The folder of the objects of this database.
    folder: String,
    generation: i64,
    /// The number of objects that it has written.
    count: u64,
    /// The time at which it deleted objects that nothing names, if no new ones came since.
    swept: Option<Instant>,
}

impl LogMover {
    /// Makes a mover for the server of a generation, which writes through `pool`.
    ///
    /// # Errors
    /// [`StoreError`]
    pub(super) async fn new(
        pool: Pool,
        objects: Objects,
        generation: i64,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            folder: find_folder(&pool).await?,
            pool,
            objects,
            generation,
            count: 0,
            swept: None,
        })
    }

    /// The folder of the objects of its database.
    #[cfg(test)]
    pub(super) fn folder(&self) -> &str {
        &self.folder
    }

    /// Goes on until it is dropped.
    pub(super) fn start(mut self) -> MovingLogs {
        MovingLogs(tokio::spawn(async move {
            let mut is_failing = false;
            loop {
                let pause = match self.remove_moved().await {
                    Ok(()) if is_failing => {
                        is_failing = false;
                        let address = self.objects.address();
                        tracing::info!(address, "the object store works again");
                        LOOKS_EACH
                    }
                    Ok(()) => LOOKS_EACH,
                    Err(error) => {
                        if !is_failing {
                            tracing::warn!(
                                "logs of ended episodes stay in PostgreSQL for now: {error:#}"
                            );
                        }
                        is_failing = true;
                        TRIES_EACH
                    }
                };
                sleep(pause).await;
            }
        }))
    }

    /// Deletes all objects that must be deleted, and moves every log that must be moved.
    ///
    /// # Errors
    /// The database or the object store failed. The next call does the rest.
    pub(super) async fn remove_moved(&mut self) -> anyhow::Result<()> {
        if self.swept.is_none_or(|at| at.elapsed() >= SWEEPS_EACH) {
            self.sweep_logs().await?;
            self.swept = Some(Instant::now());
        }
        self.delete_leftovers().await?;
        let sql = "SELECT DISTINCT path FROM episode_parts JOIN episodes USING (path) WHERE state = 'ended' ORDER BY path";
        for row in query(sql).fetch_all(&self.pool).await? {
            let path: String = row.try_get("path")?;
            if let Err(error) = self.move_log(&path).await {
                // The object may be there.
                self.swept = None;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Moves a log, unless it changes meanwhile.
    ///
    /// # Errors
    /// The database or the object store failed; the log is then where it was.
    pub(super) async fn move_log(&mut self, path: &str) -> anyhow::Result<()> {
        let Some(parts) = read_parts(&self.pool, path).await? else {
            return Ok(());
        };
        let whole = parts.join(Some(&self.objects)).await?;
        let name = self.name_object(path);
        let object = self.objects.write(&name, whole).await?;
        let row = query("SELECT move_log(?, ?, ?, ?, ?, ?, ?) AS moved")
            .bind(self.generation)
            .bind(path)
            .bind(parts.rows.as_deref().map(sha256_hex))
            .bind(parts.object.map(|before| before.name))
            .bind(&object.name)
            .bind(object.length as i64)
            .bind(&object.sha256)
            .fetch_one(&self.pool)
            .await?;
        match row.try_get("moved")? {
            true => Ok(()),
            false => self.objects.delete(&object.name).await,
        }
    }

    /// A name that no object ever had.
    fn name_object(&mut self, path: &str) -> String {
        self.count += 1;
        let (_, file) = path.rsplit_once('/').unwrap_or(("", path));
        let (id, extension) = file.rsplit_once('.').unwrap_or((file, archive::EXTENSION));
        let (folder, generation, count) = (&self.folder, self.generation, self.count);
        format!("{folder}/{id}.{generation}-{count}.{extension}")
    }

    /// Deletes objects that nothing names: those of a crash, and of a server that lost the study.
    ///
    /// The names are listed before this server checks that it still has the study. Later servers write other names than
    /// those that were there by then, so none of theirs is deleted.
    ///
    /// # Errors
    /// The database or the object store failed; the next call continues.
    pub(super) async fn sweep_logs(&self) -> anyhow::Result<()> {
        let found = self.objects.list(&self.folder).await?;
        let mut transaction = self.pool.begin_write().await?;
        let sql = "SELECT object FROM episode_objects";
        let rows = query(sql).fetch_all(&mut *transaction).await?;
        transaction.commit().await?;
        let named = rows.iter().map(|row| row.try_get("object"));
        let named = named.collect::<Result<BTreeSet<String>, _>>()?;
        for name in found.iter().filter(|name| !named.contains(*name)) {
            self.objects.delete(name).await?;
        }
        Ok(())
    }

    /// Deletes the objects of logs that were erased, replaced or moved again.
    ///
    /// # Errors
    /// The database or the object store failed; the next call continues.
    pub(super) async fn delete_leftovers(&self) -> anyhow::Result<()> {
        let sql = "SELECT object FROM object_leftovers";
        for row in query(sql).fetch_all(&self.pool).await? {
            let name: String = row.try_get("object")?;
            self.objects.delete(&name).await?;
            query("DELETE FROM object_leftovers WHERE object = ?")
                .bind(&name)
                .execute(&self.pool)
                .await?;
        }
        Ok(())
    }
}

/// Returns the folder of a database's objects. A copy of the database has another one, so that it does not delete
/// objects of the original that it does not know.
async fn find_folder(pool: &Pool) -> Result<String, StoreError> {
    let sql = "SELECT system_identifier || '-' || oid AS folder FROM pg_control_system(), pg_database \
               WHERE datname = current_database()";
    Ok(query(sql).fetch_one(pool).await?.try_get("folder")?)
}

/// The object store of a study: the one that its database names, or else the one that the data folder does, which the
/// database names from now on.
///
/// # Errors
/// They name different ones; the store cannot be used, or cannot be written by this server if it is new; the database.
pub(super) async fn open_objects(
    pool: &Pool,
    chosen: Option<String>,
    generation: i64,
) -> anyhow::Result<Option<Objects>> {
    let known = find_address(pool).await?;
    let objects = check_objects(known.clone(), chosen)?;
    if let (Some(objects), None) = (&objects, known) {
        let name = format!("{}/trial.{generation}", find_folder(pool).await?);
        objects.try_out(&name).await.context("--object-store")?;
        query("INSERT INTO object_store (id, address) VALUES (1, ?)")
            .bind(objects.address())
            .execute(pool)
            .await?;
    }
    Ok(objects)
}

/// The address of the object store that a database names.
///
/// # Errors
/// [`StoreError`]
pub(super) async fn find_address(pool: &Pool) -> Result<Option<String>, StoreError> {
    let row = query("SELECT address FROM object_store")
        .fetch_optional(pool)
        .await?;
    Ok(row.map(|row| row.try_get("address")).transpose()?)
}

/// The same of a database that is only read, and may be older than object stores.
///
/// # Errors
/// [`StoreError`]
pub(super) async fn find_address_if_there(pool: &Pool) -> Result<Option<String>, StoreError> {
    match has_objects(pool).await? {
        true => find_address(pool).await,
        false => Ok(None),
    }
}

/// The object store that the database names, or else the data folder.
///
/// # Errors
/// They name different ones, or the environment lacks the settings that it needs.
pub(super) fn check_objects(
    known: Option<String>,
    chosen: Option<String>,
) -> anyhow::Result<Option<Objects>> {
    if let (Some(known), Some(chosen)) = (&known, &chosen) {
        anyhow::ensure!(
            known == chosen,
            "the logs of this study lie in {known}, and --object-store names {chosen}; name the same one"
        );
    }
    let address = known.or(chosen);
    address.map(|address| Objects::open(&address)).transpose()
}
