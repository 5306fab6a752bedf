//! The state of the dashboard: its keys, the last overview of the study, and the channels to the driver.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use clock::Clock;
use store::StudyStore;
use store::data_folder::DataDir;
use store::desk_keys::{DeskKeys, DeskRole, KeyKind};
use tokio::sync::{Mutex, Semaphore, mpsc};

use super::call::DeskCall;
use super::tables::TableWriter;
use super::view::Snapshot;
use crate::disk::DiskRoom;
use crate::world_faults::WorldFaults;

/// The most streams of news that are open at the same time.
const STREAMS: usize = 32;

/// The most requests that look a key up at the same time.
const REQUESTS: usize = 32;

/// The most downloads that are written at the same time: each keeps a processor busy.
const DOWNLOADS: usize = 1;

/// The parts of a server that its dashboard uses.
#[derive(Debug)]
pub struct DeskParts {
    /// Calls to the driver.
    pub calls: mpsc::Sender<DeskCall>,
    /// The server's clock.
    pub clock: Clock,
    /// The disk of the data folder.
    pub disk: Arc<DiskRoom>,
    /// Environments that broke down.
    pub faults: Arc<WorldFaults>,
}

/// The dashboard of a server.
#[derive(Debug)]
pub struct Desk {
    pub(super) parts: DeskParts,
    pub(super) keys: DeskKeys,
    pub(super) store: StudyStore,
    pub(super) data: PathBuf,
    /// True if browsers reach it by HTTPS.
    pub(super) is_secure: bool,
    /// The last view, for all who look at the same time.
    pub(super) seen: Mutex<Option<Arc<Snapshot>>>,
    pub(super) streams: Arc<Semaphore>,
    pub(super) requests: Semaphore,
    /// Writes the tables, if they can be downloaded.
    pub(super) tables: OnceLock<TableWriter>,
    /// One permit for each download at a time.
    pub(super) downloads: Semaphore,
}

impl Desk {
    /// Opens the dashboard of a data folder that a server has open.
    ///
    /// # Errors
    /// The database or the file of keys failed.
    pub async fn open(
        data: &DataDir,
        parts: DeskParts,
        is_secure: bool,
    ) -> anyhow::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            parts,
            keys: DeskKeys::open(data.path()).await?,
            store: StudyStore::open_for_server(data).await?,
            data: data.path().to_owned(),
            is_secure,
            seen: Mutex::default(),
            streams: Arc::new(Semaphore::new(STREAMS)),
            requests: Semaphore::new(REQUESTS),
            tables: OnceLock::new(),
            downloads: Semaphore::new(DOWNLOADS),
        }))
    }

    /// Closes the database, before somebody deletes its file: the last connection to a deleted file removes the log of
    /// the new file with the same name.
    pub async fn close(&self) {
        self.store.close().await;
    }

    /// Makes a link that signs one browser in as an administrator; returns its part after the address of the server.
    ///
    /// # Errors
    /// The file of keys failed.
    pub async fn make_link(&self) -> anyhow::Result<String> {
        let role = DeskRole::Administer;
        let made = self
            .keys
            .issue(KeyKind::Link, "", role, self.now_s())
            .await?;
        Ok(link_path(&made.1))
    }

    pub(super) fn now_s(&self) -> u64 {
        self.parts.clock.now_us() / 1_000_000
    }
}

/// The part of a link to the dashboard behind the address of the server. The secret is in the fragment, which a browser
/// sends to nobody.
pub fn link_path(secret: &str) -> String {
    format!("/desk#key={secret}")
}
