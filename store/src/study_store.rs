//! The store: in one SQLite file, with a write-ahead log that is synchronised on every commit, or in a PostgreSQL server
//! that the data folder names ([`crate::servers`]).

mod audit;
mod desk;
mod desk_messages;
mod episodes;
mod erasure;
mod groups;
mod identifiers;
mod ledger;
mod ledger_logs;
mod messages;
mod model_calls;
mod payments;
mod rows;
mod sessions;
mod told_time;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use protocol::Era;
use server_core::token::token_hash;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{AssertSqlSafe, Row as _, raw_sql};

use super::identifier_key::{IdentifierKey, KeyPlace};
use super::{ParticipantLink, StoreError};
use crate::data_folder::DataDir;
pub use crate::database::FILE;
use crate::database::migrations::MIGRATIONS;
use crate::database::value::Row;
use crate::database::{Connection, Pool, Writer, postgres, query};
use crate::servers::{SharedLogs, read_address};

/// The time that a statement waits for another program that has the database, milliseconds.
const BUSY_MS: u64 = 10_000;

/// The most connections of a store to a PostgreSQL server: to write, and to read beside it.
const CONNECTIONS: u32 = 2;

/// Durable memory: a method returns once its data are on the disk, and has stored nothing if it fails.
#[derive(Clone, Debug)]
pub struct StudyStore {
    pool: Pool,
    /// The data folder.
    data: PathBuf,
    /// The place of the key of recruiters' identifiers.
    place: KeyPlace,
    /// That key, once it was needed.
    key: Arc<OnceLock<IdentifierKey>>,
    /// True while the database's log still has erased data.
    has_erased_log: Arc<AtomicBool>,
}

impl StudyStore {
    fn new(pool: Pool, data: &Path, place: KeyPlace) -> Self {
        Self {
            pool,
            data: data.to_owned(),
            place,
            key: Arc::default(),
            has_erased_log: Arc::default(),
        }
    }

    /// Opens the store of a data folder, and makes it if it is not there.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn open(data: &Path) -> Result<Self, StoreError> {
        #[cfg(test)]
        crate::servers::trial::choose(data).await;
        if let Some(address) = read_address(data)? {
            return Self::open_shared(data, &address, Writer::Command).await;
        }
        let options = options(data)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full);
        let store = Self::new(connect(options).await?, data, KeyPlace::default_place());
        store.migrate().await?;
        Ok(store)
    }

    /// Opens the store of the server that has a data folder: its writes fail once another server has taken over.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn open_for_server(data: &DataDir) -> Result<Self, StoreError> {
        match data.lease() {
            Some(lease) => {
                let writer = Writer::Server(lease.generation());
                Self::open_shared(data.path(), lease.address(), writer).await
            }
            None => Self::open(data.path()).await,
        }
    }

    async fn open_shared(data: &Path, address: &str, writer: Writer) -> Result<Self, StoreError> {
        let pool = postgres::connect(address, CONNECTIONS, false).await?;
        postgres::migrate_schema(&pool, &MIGRATIONS).await?;
        let pool = Pool::Postgres(pool, writer);
        Ok(Self::new(pool, data, KeyPlace::default_place()))
    }

    /// Opens the store of a rehearsal on a virtual clock: nothing waits for the disk, and rows have the last time given
    /// to [`Self::tell_time`].
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn open_rehearsed(data: &Path) -> Result<Self, StoreError> {
        let options = options(data)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Memory)
            .synchronous(SqliteSynchronous::Off);
        let store = Self::new(connect(options).await?, data, KeyPlace::Trial);
        store.migrate().await?;
        told_time::follow(&store.pool).await?;
        Ok(store)
    }

    /// Opens the store of a data folder as [`Self::open`] does; rows have the last time given to [`Self::tell_time`].
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn open_told(data: &Path) -> Result<Self, StoreError> {
        let store = Self::open(data).await?;
        told_time::follow(&store.pool).await?;
        Ok(store)
    }

    /// Makes an empty store in a file that a backup copies: nothing waits for the disk.
    ///
    /// # Errors
    /// [`StoreError`]
    pub(crate) async fn create_copy(folder: &Path) -> Result<Self, StoreError> {
        let options = options(folder)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Memory)
            .synchronous(SqliteSynchronous::Off);
        let store = Self::new(connect(options).await?, folder, KeyPlace::Trial);
        store.migrate().await?;
        Ok(store)
    }

    /// Tells a store of [`Self::open_rehearsed`] or [`Self::open_told`] the time, microseconds since the Unix epoch.
    ///
    /// # Errors
    /// [`StoreError`], also for any other store.
    pub async fn tell_time(&self, now_us: u64) -> Result<(), StoreError> {
        told_time::record_time(&self.pool, now_us).await
    }

    /// Opens the store of a data folder for reading, also while a server writes to it.
    ///
    /// # Errors
    /// [`StoreError`], also if there is none.
    pub async fn read(data: &Path) -> Result<Self, StoreError> {
        let pool = match read_address(data)? {
            Some(address) => {
                let pool = postgres::connect(&address, CONNECTIONS, true).await?;
                Pool::Postgres(pool, Writer::Command)
            }
            None => connect(options(data).read_only(true)).await?,
        };
        let store = Self::new(pool, data, KeyPlace::default_place());
        store.version().await?;
        Ok(store)
    }

    /// Opens the store of a data folder for writing, also while a server writes to it. It is neither made nor migrated.
    ///
    /// # Errors
    /// [`StoreError::Older`] if it would have to be migrated; [`StoreError`] otherwise.
    pub(crate) async fn open_as_it_is(data: &Path) -> Result<Self, StoreError> {
        if read_address(data)?.is_some() {
            return Self::open(data).await;
        }
        let options = options(data).synchronous(SqliteSynchronous::Full);
        let store = Self::new(connect(options).await?, data, KeyPlace::default_place());
        match store.version().await? {
            version if version < MIGRATIONS.len() => {
                store.close().await;
                Err(StoreError::Older)
            }
            _ => Ok(store),
        }
    }

    /// Opens it for reading, if there is one.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub async fn find(data: &Path) -> Result<Option<Self>, StoreError> {
        match has_database(data).map_err(sqlx::Error::Io)? {
            true => Self::read(data).await.map(Some),
            false => Ok(None),
        }
    }

    /// Copies the database as it is now into a new file, without deleted data.
    pub(crate) async fn copy_to(&self, file: &Path) -> Result<(), StoreError> {
        let path = file.to_str().ok_or_else(|| {
            let said = format!("{} is no text", file.display());
            sqlx::Error::Io(std::io::Error::other(said))
        })?;
        let pool = self.pool.sqlite().ok_or(StoreError::NeedsFile)?;
        sqlx::query("VACUUM INTO ?")
            .bind(path)
            .execute(pool)
            .await?;
        Ok(())
    }

    /// The logs of episodes in the database; `None` if they are only in the data folder.
    pub(crate) fn shared_logs(&self) -> Option<SharedLogs> {
        match &self.pool {
            Pool::Sqlite(_) => None,
            Pool::Postgres(pool, writer) => Some(SharedLogs::new(pool.clone(), *writer)),
        }
    }

    /// The pool of a SQLite file.
    #[cfg(test)]
    fn file(&self) -> &sqlx::SqlitePool {
        self.pool.sqlite().expect("this test is of SQLite alone")
    }

    /// The database.
    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Closes the file.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Returns the number of migrations of the file.
    async fn version(&self) -> Result<usize, StoreError> {
        let found: i64 = match &self.pool {
            Pool::Sqlite(pool) => sqlx::query("PRAGMA user_version")
                .fetch_one(pool)
                .await?
                .try_get(0)?,
            Pool::Postgres(pool, _) => postgres::read_version(pool, MIGRATIONS.len()).await?,
        };
        let known = MIGRATIONS.len();
        let version = usize::try_from(found)
            .ok()
            .filter(|version| *version <= known);
        version.ok_or(StoreError::Newer { found, known })
    }

    async fn migrate(&self) -> Result<(), StoreError> {
        let found = self.version().await?;
        if found < MIGRATIONS.len() {
            // In one transaction: a new file waits for the disk once, and a crash leaves an old one as it was.
            let mut transaction = self.pool.begin_write().await?;
            for (done, migration) in MIGRATIONS.iter().enumerate().skip(found) {
                run_script(&mut transaction, migration).await?;
                if done + 1 == ledger::WHOLE {
                    ledger::adopt_rows(&mut transaction).await?;
                }
                if done + 1 == identifiers::FIRST {
                    self.seal_plain_rows(&mut transaction).await?;
                }
            }
            // A pragma takes no parameters; the number is ours.
            let version = format!("PRAGMA user_version = {}", MIGRATIONS.len());
            run_script(&mut transaction, &version).await?;
            transaction.commit().await?;
        }
        // A crash may have come between an erasure, or the encryption of plain data, and this.
        self.empty_log().await
    }

    /// Makes a participant link; an existing one stays as it is.
    pub async fn issue_link(&self, token: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO links (token_hash) VALUES (?) ON CONFLICT DO NOTHING";
        query(sql)
            .bind(token_hash(token))
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// All participant links, oldest first.
    pub async fn list_links(&self) -> Result<Vec<ParticipantLink>, StoreError> {
        let sql = "SELECT links.token_hash, participant, links.created_at FROM links \
                   LEFT JOIN sessions ON link_hash = links.token_hash ORDER BY links.rowid";
        let rows = query(sql).fetch_all(&self.pool).await?;
        let link = |row: &Row| {
            Ok(ParticipantLink {
                token_hash: row.try_get(0)?,
                participant: row.try_get(1)?,
                created_at: row.try_get(2)?,
            })
        };
        Ok(rows.iter().map(link).collect::<Result<_, sqlx::Error>>()?)
    }

    /// Keeps a study in canonical form under its hash; makes it the last one.
    pub async fn keep_study(&self, hash: &str, canonical: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO studies (hash, canonical) VALUES (?, ?) ON CONFLICT (hash) DO UPDATE \
                   SET at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";
        query(sql)
            .bind(hash)
            .bind(canonical)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// The studies in canonical form, the last one last.
    pub async fn list_studies(&self) -> Result<Vec<String>, StoreError> {
        // A folder that is only read may be older than the table.
        if self.version().await? < 4 {
            return Ok(Vec::new());
        }
        let rows = query("SELECT canonical FROM studies ORDER BY at, rowid")
            .fetch_all(&self.pool)
            .await?;
        Ok(rows
            .iter()
            .map(|row| row.try_get(0))
            .collect::<Result<_, _>>()?)
    }

    /// The era of the next episode; 0 before any was set.
    pub async fn next_era(&self) -> Result<Era, StoreError> {
        let sql = "SELECT value FROM counters WHERE name = 'next_era'";
        let row = query(sql).fetch_optional(&self.pool).await?;
        Ok(Era(row.map_or(Ok(0), |row| row.try_get(0))?))
    }

    /// Sets the era of the next episode.
    pub async fn set_next_era(&self, era: Era) -> Result<(), StoreError> {
        let sql = "INSERT INTO counters (name, value) VALUES ('next_era', ?) \
                   ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        query(sql).bind(era.0).execute(&self.pool).await?;
        Ok(())
    }

    /// The seed of all assignments; `None` before it was set.
    pub async fn seed(&self) -> Result<Option<u64>, StoreError> {
        let sql = "SELECT value FROM counters WHERE name = 'seed'";
        let row = query(sql).fetch_optional(&self.pool).await?;
        let seed: Option<i64> = row.map(|row| row.try_get(0)).transpose()?;
        Ok(seed.map(i64::cast_unsigned))
    }

    /// Sets what everything is drawn from; the first one stands.
    pub async fn set_seed(&self, seed: u64) -> Result<(), StoreError> {
        let sql = "INSERT INTO counters (name, value) VALUES ('seed', ?) ON CONFLICT DO NOTHING";
        query(sql)
            .bind(seed.cast_signed())
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}

fn options(data: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(data.join(FILE))
        .foreign_keys(true)
        // What is erased is overwritten.
        .pragma("secure_delete", "ON")
        .busy_timeout(Duration::from_millis(BUSY_MS))
}

/// One connection: SQLite has one writer, and its own queue is fairer than a busy file.
async fn connect(options: SqliteConnectOptions) -> Result<Pool, StoreError> {
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .idle_timeout(None)
        .max_lifetime(None);
    Ok(Pool::Sqlite(pool.connect_with(options).await?))
}

/// Tells whether a data folder has a database, or names a server that has it.
///
/// # Errors
/// The disk refused.
pub fn has_database(data: &Path) -> std::io::Result<bool> {
    Ok(data.join(FILE).try_exists()? || data.join(crate::servers::FILE).try_exists()?)
}

/// Runs the statements of a migration of a SQLite file.
async fn run_script(connection: &mut Connection, sql: &str) -> Result<(), StoreError> {
    let Connection::Sqlite(connection) = connection else {
        return Err(StoreError::NeedsFile);
    };
    // They are ours.
    let sql = AssertSqlSafe(sql.to_owned());
    raw_sql(sql).execute(&mut **connection).await?;
    Ok(())
}

#[cfg(test)]
mod tests;
