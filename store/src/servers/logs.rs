//! The logs of episodes: files of the data folder, whose bytes are also in the database that several servers share.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use archive::{DiskFile, Episode, LogFile, OpenError, open_stored};
use protocol::log::Header;
use sqlx::postgres::PgPool;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use crate::database::{Writer, postgres};
use crate::error::StoreError;

/// For how long and how often at least a record is tried again while PostgreSQL fails, and the time between two tries. By
/// then the lease is lost. A process that was put to sleep wakes up late, and with all of its tries.
const APPENDS_WITHIN: Duration = Duration::from_secs(10);
const LEAST_APPENDS: u32 = 100;
const APPENDS_EACH: Duration = Duration::from_millis(100);

/// The logs of episodes in a shared database.
#[derive(Clone, Debug)]
pub(crate) struct SharedLogs {
    pool: PgPool,
    writer: Writer,
}

impl SharedLogs {
    pub(crate) fn new(pool: PgPool, writer: Writer) -> Self {
        Self { pool, writer }
    }

    fn generation(&self) -> Option<i64> {
        match self.writer {
            Writer::Server(generation) => Some(generation),
            Writer::Command => None,
        }
    }

    /// Appends bytes that begin at this byte of a log. They are durable when it returns: this is one statement, and so one
    /// transaction. It may be repeated: bytes that are there already stay.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] if another server has taken over; the database.
    pub(crate) async fn append(
        &self,
        path: &str,
        start: usize,
        bytes: &[u8],
    ) -> Result<(), StoreError> {
        sqlx::query("SELECT append_part($1, $2, $3, $4)")
            .bind(self.generation())
            .bind(path)
            .bind(start as i64)
            .bind(bytes)
            .execute(&self.pool)
            .await
            .map_err(postgres::map_error)?;
        Ok(())
    }

    /// Replaces a whole log.
    ///
    /// # Errors
    /// As [`Self::append`]; the log is then as it was.
    pub(crate) async fn replace(&self, path: &str, bytes: &[u8]) -> Result<(), StoreError> {
        sqlx::query("SELECT replace_parts($1, $2, $3)")
            .bind(self.generation())
            .bind(path)
            .bind(bytes)
            .execute(&self.pool)
            .await
            .map_err(postgres::map_error)?;
        Ok(())
    }
}

/// The place to which the logs of episodes are written.
#[derive(Clone, Debug)]
pub struct EpisodeFiles {
    dir: PathBuf,
    shared: Option<SharedLogs>,
}

impl EpisodeFiles {
    /// A folder, and nothing beside it.
    pub fn in_folder(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            shared: None,
        }
    }

    pub(crate) fn new(dir: PathBuf, shared: Option<SharedLogs>) -> Self {
        Self { dir, shared }
    }

    /// The folder, if what is durable there is durable.
    pub fn folder(&self) -> Option<&Path> {
        self.shared.is_none().then_some(&self.dir)
    }

    /// Makes the log of an episode with its header. Blocks, as everything that is appended later: not for tasks.
    ///
    /// # Errors
    /// [`OpenError`]; also if the episode cannot be simulated here, or its log is there.
    pub fn create(&self, header: Header, runtime: &Handle) -> Result<Episode, OpenError> {
        let Some(shared) = &self.shared else {
            return Episode::create(&self.dir, header);
        };
        let local = archive::path(&self.dir, &header.episode)?;
        let file = SharedFile::new(shared.clone(), local, runtime.clone())?;
        Episode::create_in(Box::new(file), header, open_stored(&self.dir))
    }

    /// Opens the log of an episode again, as [`Episode::recover`] does. Blocks: not for tasks.
    ///
    /// # Errors
    /// [`OpenError`]; the log is then unchanged.
    pub fn recover(&self, path: &Path, runtime: &Handle) -> Result<Episode, OpenError> {
        let Some(shared) = &self.shared else {
            return Episode::recover(path);
        };
        let mut file = SharedFile::new(shared.clone(), path.to_owned(), runtime.clone())?;
        file.len = usize::try_from(fs::metadata(path)?.len()).unwrap_or(usize::MAX);
        file.disk = Some(DiskFile::open(path)?);
        Episode::recover_from(Box::new(file), open_stored(&self.dir))
    }
}

/// A log in the database, with a copy in the data folder for everything that reads logs.
struct SharedFile {
    shared: SharedLogs,
    /// The file in the data folder, and the log's path in the database.
    local: PathBuf,
    path: String,
    /// Bytes that are durable.
    len: usize,
    /// The copy, once there is something in it.
    disk: Option<DiskFile>,
    runtime: Handle,
}

impl SharedFile {
    fn new(shared: SharedLogs, local: PathBuf, runtime: Handle) -> io::Result<Self> {
        let path = log_path(&local)?;
        Ok(Self {
            shared,
            local,
            path,
            len: 0,
            disk: None,
            runtime,
        })
    }
}

/// The path of a log in the database, as rows of episodes name it.
pub(super) fn log_path(local: &Path) -> io::Result<String> {
    let name = local.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| io::Error::other(format!("{} names no log", local.display())))?;
    Ok(format!("{}/{name}", archive::FOLDER))
}

/// Appends as [`SharedLogs::append`] does, again and again for a while: a restart of PostgreSQL ends no episode. Neither
/// does the loss of the study: this server stops as soon as it notices, and its pages are to hear of no end before.
async fn append_patiently(
    shared: &SharedLogs,
    path: &str,
    start: usize,
    bytes: &[u8],
) -> Result<(), StoreError> {
    let (began, mut tries) = (Instant::now(), 0);
    loop {
        tries += 1;
        match shared.append(path, start, bytes).await {
            Err(error @ (StoreError::Server(_) | StoreError::Fenced))
                if tries < LEAST_APPENDS || began.elapsed() < APPENDS_WITHIN =>
            {
                tracing::warn!(%error, "a log could not be written to PostgreSQL; it is tried again");
                sleep(APPENDS_EACH).await;
            }
            done => return done,
        }
    }
}

impl LogFile for SharedFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let durable = append_patiently(&self.shared, &self.path, self.len, bytes);
        self.runtime.block_on(durable).map_err(io::Error::other)?;
        self.len += bytes.len();
        // What the copy lacks after a crash, the next start fetches.
        match &mut self.disk {
            Some(disk) => disk.append(bytes),
            None => {
                self.disk = Some(DiskFile::create(&self.local, bytes)?);
                Ok(())
            }
        }
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        match &mut self.disk {
            Some(disk) => disk.read(),
            None => Ok(Vec::new()),
        }
    }

    fn truncate(&mut self, len: usize) -> io::Result<()> {
        let mut bytes = self.read()?;
        bytes.truncate(len);
        let replaced = self.shared.replace(&self.path, &bytes);
        self.runtime.block_on(replaced).map_err(io::Error::other)?;
        self.len = bytes.len();
        match &mut self.disk {
            Some(disk) => disk.truncate(len),
            None => Ok(()),
        }
    }
}
