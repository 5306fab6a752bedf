//! Several servers of one study. They share a PostgreSQL server, which has the rows and the logs of episodes; one of
//! them has the study, and the others wait to take it over. Logs of ended episodes may be in an object store instead.
//!
//! The server that has the study renews its lease all the time. Once the lease has run out, another server takes the
//! next generation. Then all writes of the earlier server are refused: every write names its generation, within the
//! transaction. Only the time of the database counts, so clocks of servers may differ. Everything else that a server
//! needs is in its own data folder, which is updated when it takes over.

mod logs;
mod moving;
mod objects;
mod shared_log;
mod sharing;
pub(crate) mod snapshot;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod trial;

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::str::FromStr as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use sqlx::postgres::{PgConnectOptions, PgPool};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::data_folder::{DataDir, DataError, write_private};
use crate::database::migrations::MIGRATIONS;
use crate::database::value::Row;
use crate::database::{FILE as SQLITE_FILE, Pool, Writer, postgres, query};
use crate::error::StoreError;
pub use logs::EpisodeFiles;
pub(crate) use logs::SharedLogs;
use moving::LogMover;
pub use moving::MovingLogs;
use objects::Objects;

/// The file of a data folder that has the address of the database, where that is no file of the folder.
pub const FILE: &str = "database";

/// The file of a data folder that has the address of an object store, where one was named at this server.
const OBJECTS_FILE: &str = "object-store";

/// For how long a server has the study without renewing its lease. A longer time makes the others wait longer, a shorter
/// one takes a study from a server that was only slow.
pub const LEASE: Duration = Duration::from_secs(5);

/// Time between two renewals.
const RENEWS_EACH: Duration = Duration::from_secs(1);

/// Time between two looks of a server that waits.
const LOOKS_EACH: Duration = Duration::from_millis(250);

/// The most connections by which logs of episodes are written at the same time.
const LOG_CONNECTIONS: u32 = 8;

/// The lease of the server that has the study.
#[derive(Debug)]
pub struct StudyLease {
    address: String,
    generation: i64,
    pool: PgPool,
    logs: SharedLogs,
    objects: Option<Objects>,
    lost: watch::Receiver<Option<Lost>>,
    renewing: JoinHandle<()>,
}

/// The reason why a server no longer has the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lost {
    /// Another server has it.
    Fenced,
    /// The database does not answer.
    Silent,
}

/// The address of the database that a data folder names; `None` if the folder has its own.
///
/// # Errors
/// The disk refused.
pub fn read_address(data: &Path) -> Result<Option<String>, StoreError> {
    read_line(&data.join(FILE))
}

/// Reads the text of a file of one line; `None` if there is no such file.
fn read_line(file: &Path) -> Result<Option<String>, StoreError> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(sqlx::Error::Io(error).into()),
    }
}

/// Makes a new data folder name a PostgreSQL database, `postgres://user@host/database`, permanently.
///
/// # Errors
/// The address is invalid, the folder already has data or names another database, or the disk refused.
pub fn choose_database(data: &DataDir, address: &str) -> anyhow::Result<()> {
    check_address(address)?;
    ensure!(
        !data.path().join(SQLITE_FILE).try_exists()?,
        "{} has a database of its own, {SQLITE_FILE}, so it cannot use another one; name a new folder with --data, or leave \
         --database out",
        data.path().display()
    );
    match read_address(data.path())? {
        Some(known) if known != address => bail!(
            "{} is of the database {}, and --database names {}; name the same one, or another folder with --data",
            data.path().display(),
            without_password(&known),
            without_password(address)
        ),
        Some(_) => Ok(()),
        None => Ok(write_private(&data.path().join(FILE), address.as_bytes())?),
    }
}

/// Makes sure that this is the address of a PostgreSQL database.
fn check_address(address: &str) -> anyhow::Result<()> {
    ensure!(
        address.starts_with("postgres://") || address.starts_with("postgresql://"),
        "--database must be the address of a PostgreSQL database, such as postgres://coplay@db.example.edu/study; \
         without it, the data folder has a database of its own"
    );
    PgConnectOptions::from_str(address)
        .map_err(StoreError::Address)
        .context("--database")?;
    Ok(())
}

/// Makes the logs of ended episodes move into an object store, `s3://BUCKET/PREFIX`, permanently.
///
/// # Errors
/// The address is invalid, the data folder names another one or has its own database, or the disk refused.
pub fn choose_object_store(data: &DataDir, address: &str) -> anyhow::Result<()> {
    let address = address.trim_end_matches('/');
    objects::read_address(address)?;
    ensure!(
        read_address(data.path())?.is_some(),
        "--object-store is for a study in a PostgreSQL database; name that with --database, or leave --object-store out"
    );
    let file = data.path().join(OBJECTS_FILE);
    match read_line(&file)? {
        Some(known) if known != address => bail!(
            "{} is of the object store {known}, and --object-store names {address}; name the same one",
            data.path().display()
        ),
        Some(_) => Ok(()),
        None => Ok(write_private(&file, address.as_bytes())?),
    }
}

/// An address to be shown: without a password, which may stand before the host and in the parameters.
fn without_password(address: &str) -> String {
    let address = address.split('?').next().unwrap_or_default();
    let Some((scheme, rest)) = address.split_once("://") else {
        return address.to_owned();
    };
    match rest.rsplit_once('@') {
        Some((user, host)) => {
            let user = user.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}@{host}")
        }
        None => address.to_owned(),
    }
}

/// Waits until no other server has the study, takes it over, and updates the data folder. A folder with its own
/// database stays as it is.
///
/// # Errors
/// The database or the disk failed.
pub async fn join(data: DataDir) -> anyhow::Result<DataDir> {
    let Some(address) = read_address(data.path())? else {
        return Ok(data);
    };
    let pool = open(&address).await?;
    // Better now than at the take-over of the study.
    let known = moving::find_address(&Pool::Postgres(pool.clone(), Writer::Command)).await?;
    moving::check_objects(known, read_line(&data.path().join(OBJECTS_FILE))?)?;
    let name = own_name(data.path());
    let (began, mut has_said) = (Instant::now(), false);
    let generation = loop {
        let holder = match take_over(&pool, &name).await? {
            Ok(generation) => break generation,
            Err(holder) => holder,
        };
        if !has_said {
            tracing::info!(
                "{holder} has the study; this server waits, and takes over once that one stops or is silent for {} s",
                LEASE.as_secs()
            );
            has_said = true;
        }
        sleep(LOOKS_EACH).await;
    };
    let data = lead(data, address, pool, generation).await?;
    if has_said {
        let waited_s = began.elapsed().as_secs();
        tracing::warn!(waited_s, generation, "this server has taken the study over");
    }
    Ok(data)
}

/// Takes the study over as [`join`] does, but only if no server has it now.
///
/// # Errors
/// A server has it; the database or the disk failed.
pub async fn join_alone(data: DataDir) -> anyhow::Result<DataDir> {
    let Some(address) = read_address(data.path())? else {
        return Ok(data);
    };
    let pool = open(&address).await?;
    match take_over(&pool, &own_name(data.path())).await? {
        Ok(generation) => lead(data, address, pool, generation).await,
        Err(holder) => {
            bail!("{holder} has the study; stop every server of it, and run this again")
        }
    }
}

/// Makes sure that no server has the study of a data folder now.
///
/// # Errors
/// A server has it; the database or the disk failed.
pub async fn ensure_free(data: &Path) -> anyhow::Result<()> {
    let Some(address) = read_address(data)? else {
        return Ok(());
    };
    let pool = open(&address).await?;
    let found = find_holder(&Pool::Postgres(pool, Writer::Command)).await?;
    match found {
        None => Ok(()),
        Some(holder) => {
            bail!("{holder} has the study; stop every server of it, and run this again")
        }
    }
}

async fn open(address: &str) -> Result<PgPool, StoreError> {
    let pool = postgres::connect(address, 1, false).await?;
    postgres::migrate_schema(&pool, &MIGRATIONS).await?;
    Ok(pool)
}

/// The name by which other servers speak of this one.
fn own_name(data: &Path) -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = match host.trim() {
        "" => "a machine",
        host => host,
    };
    let process = std::process::id();
    format!("process {process} on {host} (data in {})", data.display())
}

/// Takes the study over; returns the new generation, or the server that has it.
async fn take_over(pool: &PgPool, name: &str) -> Result<Result<i64, String>, StoreError> {
    let pool = Pool::Postgres(pool.clone(), Writer::Command);
    if let Some(holder) = find_holder(&pool).await? {
        return Ok(Err(holder));
    }
    let row = query("SELECT take_over(?, ?) AS generation")
        .bind(name)
        .bind(millis(LEASE))
        .fetch_one(&pool)
        .await?;
    let generation: Option<i64> = row.try_get("generation")?;
    // Another one was faster.
    Ok(generation.ok_or_else(|| "another server".to_owned()))
}

/// The server that has the study, if one has it.
async fn find_holder(pool: &Pool) -> Result<Option<String>, StoreError> {
    let sql = "SELECT holder FROM servers WHERE until > clock_timestamp()";
    let row = query(sql).fetch_optional(pool).await?;
    Ok(row.map(|row| row.try_get("holder")).transpose()?)
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// Begins to renew the lease of a generation, and brings the data folder up to date.
async fn lead(
    mut data: DataDir,
    address: String,
    pool: PgPool,
    generation: i64,
) -> anyhow::Result<DataDir> {
    let (lose, lost) = watch::channel(None);
    // A separate connection: a slow statement on the other one must not prevent a renewal.
    let renewals = postgres::connect(&address, 1, false).await?;
    let renewing = tokio::spawn(renew(renewals, generation, lose));
    let writer = Writer::Server(generation);
    let logs = postgres::connect(&address, LOG_CONNECTIONS, false).await?;
    let mut lease = StudyLease {
        logs: SharedLogs::new(logs, writer),
        objects: None,
        address,
        generation,
        pool,
        lost,
        renewing,
    };
    match prepare(&data, &mut lease).await {
        Ok(()) => {
            data.set_lease(lease);
            Ok(data)
        }
        Err(error) => {
            // Another server may do better, and is not to wait for the end of the lease.
            let _ = lease.give_up().await;
            Err(error)
        }
    }
}

/// Brings a data folder up to date.
async fn prepare(data: &DataDir, lease: &mut StudyLease) -> anyhow::Result<()> {
    let pool = lease.pool();
    let chosen = read_line(&data.path().join(OBJECTS_FILE))?;
    lease.objects = moving::open_objects(&pool, chosen, lease.generation).await?;
    sharing::share_secrets(data, &pool).await?;
    sharing::share_files(data, &pool).await?;
    sharing::fetch_logs(data, &pool, lease.objects.as_ref()).await
}

/// Updates the logs in a data folder for commands that read them, if no server does: those of a study in a PostgreSQL
/// database. While a server has the folder, it is not changed.
///
/// # Errors
/// The database, the object store or the disk failed.
pub async fn fetch_for_reading(data: &Path) -> anyhow::Result<()> {
    let Some(address) = read_address(data)? else {
        return Ok(());
    };
    // No server begins to write there meanwhile.
    let folder = match DataDir::open(data) {
        Err(DataError::Locked(_)) => return Ok(()),
        folder => folder?,
    };
    let pool = postgres::connect(&address, 1, true).await?;
    let pool = Pool::Postgres(pool, Writer::Command);
    let known = moving::find_address_if_there(&pool).await?;
    let objects = moving::check_objects(known, None)?;
    sharing::fetch_files(&folder, &pool).await?;
    sharing::fetch_logs(&folder, &pool, objects.as_ref()).await
}

/// Renews a lease until it is lost.
async fn renew(pool: PgPool, generation: i64, lose: watch::Sender<Option<Lost>>) {
    let pool = Pool::Postgres(pool, Writer::Command);
    let mut renewed = Instant::now();
    loop {
        sleep(RENEWS_EACH).await;
        let stays = query("SELECT stay(?, ?) AS stays")
            .bind(generation)
            .bind(millis(LEASE))
            .fetch_one(&pool);
        let began = Instant::now();
        let stays = timeout(LEASE, stays).await;
        let stays = stays.map(|row| row.and_then(|row: Row| Ok(row.try_get("stays")?)));
        match stays {
            Ok(Ok(true)) => renewed = began,
            Ok(Ok(false)) => {
                lose.send_replace(Some(Lost::Fenced));
                return;
            }
            failed if renewed.elapsed() < LEASE => {
                tracing::warn!(?failed, "the lease of the study could not be renewed");
            }
            _ => {
                lose.send_replace(Some(Lost::Silent));
                return;
            }
        }
    }
}

impl StudyLease {
    /// The address of the database.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The number of this server among all that have had the study.
    pub fn generation(&self) -> i64 {
        self.generation
    }

    pub(crate) fn logs(&self) -> SharedLogs {
        self.logs.clone()
    }

    /// The database, for what this server writes.
    pub(crate) fn pool(&self) -> Pool {
        Pool::Postgres(self.pool.clone(), Writer::Server(self.generation))
    }

    /// Begins to move the logs of ended episodes into the object store, if the study has one.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn move_logs(&self) -> Result<Option<MovingLogs>, StoreError> {
        let Some(objects) = self.objects.clone() else {
            return Ok(None);
        };
        // A separate connection: reading a log keeps nobody waiting.
        let pool = postgres::connect(&self.address, 1, false).await?;
        let pool = Pool::Postgres(pool, Writer::Server(self.generation));
        let mover = LogMover::new(pool, objects, self.generation).await?;
        Ok(Some(mover.start()))
    }

    /// Deletes erased data from the object store.
    ///
    /// # Errors
    /// The database or the object store failed; a repetition continues.
    pub async fn delete_erased(&self) -> anyhow::Result<()> {
        let Some(objects) = self.objects.clone() else {
            return Ok(());
        };
        let mover = LogMover::new(self.pool(), objects, self.generation).await?;
        mover.sweep_logs().await?;
        mover.delete_leftovers().await
    }

    /// Waits until this server no longer has the study, and returns the reason.
    pub async fn wait_for_loss(&self) -> StoreError {
        let mut lost = self.lost.clone();
        let why = lost.wait_for(Option::is_some).await.map(|why| *why);
        match why {
            Ok(Some(Lost::Fenced)) => StoreError::Fenced,
            _ => StoreError::Silent(LEASE.as_secs()),
        }
    }

    /// Gives the study up, so that another server need not wait for the end of the lease.
    ///
    /// # Errors
    /// [`StoreError`]; the lease then ends by itself.
    pub async fn give_up(&self) -> Result<(), StoreError> {
        self.renewing.abort();
        query("UPDATE servers SET until = clock_timestamp() WHERE generation = ?")
            .bind(self.generation)
            .execute(&self.pool())
            .await?;
        Ok(())
    }
}

impl Drop for StudyLease {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

/// Adds to the shared files what is new in a data folder.
///
/// # Errors
/// The database or the disk failed.
pub(crate) async fn share_new_files(data: &DataDir) -> anyhow::Result<()> {
    match data.lease() {
        Some(lease) => sharing::share_files(data, &lease.pool()).await,
        None => Ok(()),
    }
}

/// Reads the bytes of a file in a data folder, or returns an error that names it.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    fs::read(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}
