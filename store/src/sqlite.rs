//! The store in one SQLite file, with a write-ahead log that is synchronised on every commit.

mod audit;
mod desk;
mod desk_messages;
mod episodes;
mod erasure;
mod groups;
mod identifiers;
mod ledger;
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
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteRow,
    SqliteSynchronous,
};
use sqlx::{Row as _, Sqlite, Transaction, raw_sql};

use super::identifier_key::{IdentifierKey, KeyPlace};
use super::{ParticipantLink, StoreError};

/// The file of [`SqliteStore`] in a data folder.
pub const FILE: &str = "coplay.sqlite";

/// How long a statement waits for another program that has the database, milliseconds.
const BUSY_MS: u64 = 10_000;

/// The migrations: each brings the database of a data folder to its next version.
const MIGRATIONS: [&str; 19] = [
    include_str!("1_tables.sql"),
    include_str!("2_visits.sql"),
    include_str!("3_groups.sql"),
    include_str!("4_visit.sql"),
    include_str!("5_pages.sql"),
    include_str!("6_waits.sql"),
    include_str!("7_withdrawals.sql"),
    include_str!("8_erased.sql"),
    include_str!("9_messages.sql"),
    include_str!("10_shown.sql"),
    include_str!("11_ways.sql"),
    include_str!("12_group_waits.sql"),
    include_str!("13_signs_of_life.sql"),
    include_str!("14_ledger.sql"),
    include_str!("15_salts.sql"),
    include_str!("16_audit.sql"),
    include_str!("17_privacy.sql"),
    include_str!("18_model_calls.sql"),
    include_str!("19_desk_messages.sql"),
];

/// Durable memory: a method returns once what it wrote is on the disk, and has stored nothing if it fails.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    pool: SqlitePool,
    /// The data folder.
    data: PathBuf,
    /// Where the key of recruiters' identifiers is.
    place: KeyPlace,
    /// That key, once it was needed.
    key: Arc<OnceLock<IdentifierKey>>,
    /// True while the database's log still has what was erased.
    has_erased_log: Arc<AtomicBool>,
}

impl SqliteStore {
    fn new(pool: SqlitePool, data: &Path, place: KeyPlace) -> Self {
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
        let options = options(data)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full);
        let store = Self::new(connect(options).await?, data, KeyPlace::chosen());
        store.migrate().await?;
        Ok(store)
    }

    /// Opens the store of a rehearsal on a virtual clock: nothing waits for the disk, and rows have the time that
    /// [`Self::tell_time`] told last.
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

    /// Opens the store of a data folder as [`Self::open`] does; rows have the time that [`Self::tell_time`] told last.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn open_told(data: &Path) -> Result<Self, StoreError> {
        let store = Self::open(data).await?;
        told_time::follow(&store.pool).await?;
        Ok(store)
    }

    /// Tells a store of [`Self::open_rehearsed`] or [`Self::open_told`] the time, microseconds since the Unix epoch.
    ///
    /// # Errors
    /// [`StoreError`], also for any other store.
    pub async fn tell_time(&self, now_us: u64) -> Result<(), StoreError> {
        told_time::tell(&self.pool, now_us).await
    }

    /// Opens the store of a data folder for reading, also while a server writes to it.
    ///
    /// # Errors
    /// [`StoreError`], also if there is none.
    pub async fn read(data: &Path) -> Result<Self, StoreError> {
        let pool = connect(options(data).read_only(true)).await?;
        let store = Self::new(pool, data, KeyPlace::chosen());
        store.version().await?;
        Ok(store)
    }

    /// Opens the store of a data folder for writing, also while a server writes to it. It is neither made nor migrated.
    ///
    /// # Errors
    /// [`StoreError::Older`] if it would have to be; [`StoreError`] otherwise.
    pub(crate) async fn open_as_it_is(data: &Path) -> Result<Self, StoreError> {
        let options = options(data).synchronous(SqliteSynchronous::Full);
        let store = Self::new(connect(options).await?, data, KeyPlace::chosen());
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
        match data.join(FILE).try_exists().map_err(sqlx::Error::Io)? {
            true => Self::read(data).await.map(Some),
            false => Ok(None),
        }
    }

    /// Copies the database as it is now into a new file, without what was deleted in it.
    pub(crate) async fn copy_to(&self, file: &Path) -> Result<(), StoreError> {
        let path = file.to_str().ok_or_else(|| {
            let said = format!("{} is no text", file.display());
            sqlx::Error::Io(std::io::Error::other(said))
        })?;
        sqlx::query("VACUUM INTO ?")
            .bind(path)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Closes the file.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// How many migrations the file has.
    async fn version(&self) -> Result<usize, StoreError> {
        let found: i64 = sqlx::query("PRAGMA user_version")
            .fetch_one(&self.pool)
            .await?
            .try_get(0)?;
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
            let mut transaction = self.begin_write().await?;
            for (done, migration) in MIGRATIONS.iter().enumerate().skip(found) {
                raw_sql(*migration).execute(&mut *transaction).await?;
                if done + 1 == ledger::WHOLE {
                    ledger::adopt_rows(&mut transaction).await?;
                }
                if done + 1 == identifiers::FIRST {
                    self.seal_plain_rows(&mut transaction).await?;
                }
            }
            // A pragma takes no parameters; the number is ours.
            let version = format!("PRAGMA user_version = {}", MIGRATIONS.len());
            let version = sqlx::AssertSqlSafe(version);
            raw_sql(version).execute(&mut *transaction).await?;
            transaction.commit().await?;
        }
        // A crash may have come between an erasure, or the encryption of what was plain, and this.
        self.empty_log().await
    }

    /// Begins a transaction that writes. It has the right to write from its first statement on: one that gets it only after
    /// it has read fails at once if another program has written meanwhile.
    async fn begin_write(&self) -> Result<Transaction<'static, Sqlite>, StoreError> {
        Ok(self.pool.begin_with("BEGIN IMMEDIATE").await?)
    }

    /// Makes a participant link; one that is there stays as it is.
    pub async fn issue_link(&self, token: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO links (token_hash) VALUES (?) ON CONFLICT DO NOTHING";
        sqlx::query(sql)
            .bind(token_hash(token))
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// All participant links, oldest first.
    pub async fn links(&self) -> Result<Vec<ParticipantLink>, StoreError> {
        let sql = "SELECT links.token_hash, participant, links.created_at FROM links \
                   LEFT JOIN sessions ON link_hash = links.token_hash ORDER BY links.rowid";
        let rows = sqlx::query(sql).fetch_all(&self.pool).await?;
        let link = |row: &SqliteRow| {
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
        let sql = "INSERT INTO studies (hash, canonical) VALUES (?, ?) ON CONFLICT DO UPDATE \
                   SET at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";
        sqlx::query(sql)
            .bind(hash)
            .bind(canonical)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// The studies in canonical form, the last one last.
    pub async fn studies(&self) -> Result<Vec<String>, StoreError> {
        // A folder that is only read may be older than the table.
        if self.version().await? < 4 {
            return Ok(Vec::new());
        }
        let rows = sqlx::query("SELECT canonical FROM studies ORDER BY at, rowid")
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
        let row = sqlx::query(sql).fetch_optional(&self.pool).await?;
        Ok(Era(row.map_or(Ok(0), |row| row.try_get(0))?))
    }

    /// Sets the era of the next episode.
    pub async fn set_next_era(&self, era: Era) -> Result<(), StoreError> {
        let sql = "INSERT INTO counters (name, value) VALUES ('next_era', ?) \
                   ON CONFLICT DO UPDATE SET value = excluded.value";
        sqlx::query(sql).bind(era.0).execute(&self.pool).await?;
        Ok(())
    }

    /// The seed of all assignments; `None` before it was set.
    pub async fn seed(&self) -> Result<Option<u64>, StoreError> {
        let sql = "SELECT value FROM counters WHERE name = 'seed'";
        let row = sqlx::query(sql).fetch_optional(&self.pool).await?;
        let seed: Option<i64> = row.map(|row| row.try_get(0)).transpose()?;
        Ok(seed.map(i64::cast_unsigned))
    }

    /// Sets what everything is drawn from; the first one stands.
    pub async fn set_seed(&self, seed: u64) -> Result<(), StoreError> {
        let sql = "INSERT INTO counters (name, value) VALUES ('seed', ?) ON CONFLICT DO NOTHING";
        sqlx::query(sql)
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
async fn connect(options: SqliteConnectOptions) -> Result<SqlitePool, StoreError> {
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .idle_timeout(None)
        .max_lifetime(None);
    Ok(pool.connect_with(options).await?)
}

#[cfg(test)]
mod tests;
