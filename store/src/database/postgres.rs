//! PostgreSQL: connections, tables, and what differs from SQLite.

use std::str::FromStr as _;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection as _, raw_sql};

use crate::error::StoreError;

/// The schema that has the tables; a database may have others beside it.
const SCHEMA: &str = "coplay";

/// The tables, as these many migrations for SQLite leave them.
const TABLES: &str = include_str!("tables.sql");
const TABLES_VERSION: usize = 19;

const FUNCTIONS: &str = include_str!("functions.sql");

/// The migrations of the tables that only a shared database has. Each comes with the functions as they are now.
const SHARED_MIGRATIONS: [&str; 1] = [include_str!("objects.sql")];

/// The step of a version for each of them. Programs that know none of them refuse such a version as a newer one.
const SHARED_STEP: usize = 1_000;

/// The code of an error of `check_generation` in `functions.sql`.
const FENCED: &str = "CP001";

/// For how long the server waits for a connection in the middle of a transaction, milliseconds. A program that was stopped
/// there holds up the one that takes over for no longer.
const IDLE_MS: u64 = 3_000;

/// For how long a connection is waited for.
const CONNECTS_WITHIN: Duration = Duration::from_secs(10);

/// Connects to a database, with this many connections at most; `reads` if nothing will be written.
///
/// # Errors
/// [`StoreError::Address`] if the address is invalid; [`StoreError::Unreachable`] if nobody answers there;
/// [`StoreError::Server`] if it refuses the connection.
pub(crate) async fn connect(address: &str, most: u32, reads: bool) -> Result<PgPool, StoreError> {
    let options = PgConnectOptions::from_str(address)
        .map_err(StoreError::Address)?
        .application_name("coplay")
        .options([
            ("search_path", SCHEMA.to_owned()),
            ("synchronous_commit", "on".to_owned()),
            // A statement that has waited for a lock must see what was written meanwhile.
            ("default_transaction_isolation", "read committed".to_owned()),
            (
                "idle_in_transaction_session_timeout",
                format!("{IDLE_MS}ms"),
            ),
            (
                "default_transaction_read_only",
                if reads { "on" } else { "off" }.to_owned(),
            ),
        ]);
    let pool = PgPoolOptions::new()
        .max_connections(most)
        .acquire_timeout(CONNECTS_WITHIN)
        .connect_with(options.clone());
    let pool = match pool.await {
        Ok(pool) => pool,
        Err(sqlx::Error::PoolTimedOut) => return Err(find_cause(&options).await),
        Err(refused) => return Err(map_error(refused)),
    };
    let row = super::query("SELECT current_setting('fsync') AS fsync")
        .fetch_one(&super::Pool::Postgres(pool.clone(), super::Writer::Command))
        .await?;
    match row.try_get::<&str, _>("fsync")? {
        "on" => Ok(pool),
        _ => Err(StoreError::NoSync),
    }
}

/// Finds out why there is no connection: a pool tries again until its time is over, and keeps the reason to itself.
async fn find_cause(options: &PgConnectOptions) -> StoreError {
    let single = PgConnection::connect_with(options);
    let cause = match tokio::time::timeout(CONNECTS_WITHIN, single).await {
        Ok(Err(cause)) => cause,
        // It answers after all, or keeps silent.
        Ok(Ok(_)) | Err(_) => sqlx::Error::PoolTimedOut,
    };
    let place = match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    };
    StoreError::Unreachable { place, cause }
}

/// Makes the tables and functions, or updates them. `migrations` are those for SQLite. Functions are written only with
/// a migration, so a change of `functions.sql` needs one: of SQLite's, or of [`SHARED_MIGRATIONS`].
///
/// # Errors
/// [`StoreError::Older`] if a server of an older version uses the tables, [`StoreError::Newer`] if a newer program made
/// them; [`StoreError`] otherwise.
pub(crate) async fn migrate_schema(pool: &PgPool, migrations: &[&str]) -> Result<(), StoreError> {
    let mut transaction = pool.begin().await.map_err(map_error)?;
    // One program at a time.
    sqlx::query("SELECT pg_advisory_xact_lock(1668248684, 1)")
        .execute(&mut *transaction)
        .await
        .map_err(map_error)?;
    let is_there = sqlx::query_scalar("SELECT to_regclass('schema_version') IS NOT NULL")
        .fetch_one(&mut *transaction)
        .await
        .map_err(map_error)?;
    let (found, is_used): (i64, bool) = match is_there {
        true => {
            let sql = "SELECT version, (SELECT until > clock_timestamp() FROM servers) FROM schema_version";
            let row = sqlx::query_as(sql).fetch_one(&mut *transaction).await;
            row.map_err(map_error)?
        }
        false => (0, false),
    };
    let (version, shared) = split_version(found, migrations.len())?;
    if (version, shared) == (migrations.len(), SHARED_MIGRATIONS.len()) {
        return Ok(());
    }
    if is_used {
        return Err(StoreError::Older);
    }
    for sql in list_scripts(version, shared, migrations) {
        raw_sql(AssertSqlSafe(sql))
            .execute(&mut *transaction)
            .await
            .map_err(map_error)?;
    }
    transaction.commit().await.map_err(map_error)
}

/// The scripts that bring a database of these versions, 0 for a new one, up to date.
fn list_scripts(version: usize, shared: usize, migrations: &[&str]) -> Vec<String> {
    let mut scripts = Vec::new();
    if version == 0 {
        scripts.push(format!("CREATE SCHEMA IF NOT EXISTS {SCHEMA}"));
    }
    scripts.push(FUNCTIONS.to_owned());
    if version == 0 {
        scripts.push(TABLES.to_owned());
        scripts.push("INSERT INTO schema_version (version) VALUES (0)".to_owned());
    }
    let later = migrations.iter().skip(version.max(TABLES_VERSION));
    scripts.extend(later.map(|sql| translate_tables(sql)));
    let later = SHARED_MIGRATIONS.iter().skip(shared);
    scripts.extend(later.map(|sql| (*sql).to_owned()));
    let version = migrations.len() + SHARED_STEP * SHARED_MIGRATIONS.len();
    scripts.push(format!("UPDATE schema_version SET version = {version}"));
    scripts
}

/// Splits a database's version into its two parts: the version of the tables that SQLite also has (this program knows
/// `known` of them), and the version of the tables that only a shared database has.
///
/// # Errors
/// [`StoreError::Newer`]
fn split_version(found: i64, known: usize) -> Result<(usize, usize), StoreError> {
    let newest = known + SHARED_STEP * SHARED_MIGRATIONS.len();
    let version = usize::try_from(found).ok();
    let split = version.map(|version| (version % SHARED_STEP, version / SHARED_STEP));
    split
        .filter(|(version, shared)| *version <= known && *shared <= SHARED_MIGRATIONS.len())
        .ok_or(StoreError::Newer {
            found,
            known: newest,
        })
}

/// Returns the number of migrations of the tables that SQLite also has; `known` is the number that exist.
///
/// # Errors
/// [`StoreError`]
pub(crate) async fn read_version(pool: &PgPool, known: usize) -> Result<i64, StoreError> {
    let version = sqlx::query_scalar("SELECT version FROM schema_version");
    let found = version.fetch_one(pool).await.map_err(map_error)?;
    Ok(split_version(found, known)?.0 as i64)
}

/// True if the database has the tables of logs in an object store.
///
/// # Errors
/// [`StoreError`]
pub(crate) async fn has_objects(pool: &PgPool) -> Result<bool, StoreError> {
    let is_there = sqlx::query_scalar("SELECT to_regclass('episode_objects') IS NOT NULL");
    is_there.fetch_one(pool).await.map_err(map_error)
}

/// An error of PostgreSQL.
pub(crate) fn map_error(error: sqlx::Error) -> StoreError {
    let code = error.as_database_error().and_then(|error| error.code());
    match code.as_deref() {
        Some(FENCED) => StoreError::Fenced,
        _ => StoreError::Server(error),
    }
}

/// A statement with `$1` in place of `?1`, and of the first `?`.
pub(crate) fn translate_sql(sql: &str) -> String {
    let mut translated = String::with_capacity(sql.len() + 16);
    let (mut count, mut is_text) = (0, false);
    let mut letters = sql.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => {
                is_text = !is_text;
                translated.push(letter);
            }
            '?' if !is_text => {
                translated.push('$');
                if !letters.peek().is_some_and(char::is_ascii_digit) {
                    count += 1;
                    translated.push_str(&count.to_string());
                }
            }
            _ => translated.push(letter),
        }
    }
    translated
}

/// A migration for SQLite that makes tables or adds columns, for PostgreSQL.
fn translate_tables(sql: &str) -> String {
    let rowid = "\n    rowid BIGINT GENERATED BY DEFAULT AS IDENTITY,";
    let lines = sql.lines().map(|line| match line.trim_end() {
        line if line.starts_with("CREATE TABLE") && line.ends_with('(') => format!("{line}{rowid}"),
        ") STRICT;" => ");".to_owned(),
        line => line
            .replace(" INTEGER", " BIGINT")
            .replace(" BLOB", " BYTEA"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_does_not_answer_is_named_without_the_password() {
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let place = closed.local_addr().unwrap();
        drop(closed);
        let options = PgConnectOptions::from_str(&format!("postgres://lab:secret@{place}/study"));
        let told = find_cause(&options.unwrap()).await.to_string();
        assert!(
            told.contains(&format!("at {place} does not answer")),
            "{told}"
        );
        assert!(
            told.contains("refused") && !told.contains("secret"),
            "{told}"
        );
    }

    #[test]
    fn a_version_says_both_and_a_newer_one_is_refused() {
        let read = |found| split_version(found, 19).ok();
        assert_eq!(read(19), Some((19, 0)), "before there were object stores");
        assert_eq!(read(1_019), Some((19, 1)));
        assert_eq!((read(1_020), read(2_019), read(-1)), (None, None, None));
        let refused = split_version(1_020, 19).unwrap_err().to_string();
        assert!(refused.contains("version 1020"), "{refused}");
        let scripts = list_scripts(19, 0, &["table"; 19]);
        let version = "UPDATE schema_version SET version = 1019";
        assert_eq!(scripts, [FUNCTIONS, SHARED_MIGRATIONS[0], version]);
    }

    #[test]
    fn parameters_have_numbers_and_texts_stay() {
        let sql = "UPDATE a SET b = ?, c = '?' WHERE d = ?2 AND e = ?1 OR f = ?";
        let expected = "UPDATE a SET b = $1, c = '?' WHERE d = $2 AND e = $1 OR f = $2";
        assert_eq!(translate_sql(sql), expected);
    }

    #[test]
    fn a_later_migration_for_sqlite_makes_the_same_table() {
        let sql = "CREATE TABLE a (\n    b INTEGER NOT NULL,\n    c BLOB\n) STRICT;";
        let expected = "CREATE TABLE a (\n    rowid BIGINT GENERATED BY DEFAULT AS IDENTITY,\n    b BIGINT NOT NULL,\n    \
                        c BYTEA\n);";
        assert_eq!(translate_tables(sql), expected);
    }
}
