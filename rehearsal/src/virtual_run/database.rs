//! The database of a virtual rehearsal, on its own thread: writes follow behind, in their order, and nobody waits
//! for them but a server that starts.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use anyhow::Context as _;
use protocol::Era;
use server_core::arbiter::{Restored, Write};
use store::data_folder::DataDir;
use store::persistence::Persistence;
use store::study_version::OnStudyChange;
use study::Study;

/// Writes that may wait for the thread.
const WAITING: usize = 4_096;

/// Work for the thread.
enum Order {
    /// Stores a write, at a time.
    Write(u64, Box<Write>),
    /// Opens the database again at a time, as a new process does.
    Restore(u64, mpsc::Sender<anyhow::Result<Found>>),
}

/// The durable state after a restart.
pub(super) struct Found {
    /// The state that the arbiter begins with.
    pub(super) restored: Restored,
    /// The eras of the episodes that run.
    pub(super) running: Vec<Era>,
    /// The tokens of the participant links.
    pub(super) links: Vec<String>,
}

/// The database.
pub(super) struct Database {
    orders: mpsc::SyncSender<Order>,
    thread: JoinHandle<anyhow::Result<()>>,
    has_failed: Arc<AtomicBool>,
}

impl Database {
    /// Opens the database of a new data folder, with this many participant links.
    ///
    /// # Errors
    /// The system has no more threads.
    pub(super) fn open(data: &Path, study: Arc<Study>, links: usize) -> anyhow::Result<Self> {
        let (orders, todo) = mpsc::sync_channel(WAITING);
        let has_failed = Arc::new(AtomicBool::new(false));
        let failed = Arc::clone(&has_failed);
        let data = data.to_owned();
        let thread = std::thread::Builder::new().name("database".to_owned());
        let thread = thread.spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            let done = runtime.block_on(work(&data, study, links, &todo));
            failed.store(done.is_err(), Ordering::Release);
            done
        })?;
        Ok(Self {
            orders,
            thread,
            has_failed,
        })
    }

    /// Stores a write at a time of the study, microseconds.
    ///
    /// # Errors
    /// An earlier write failed.
    pub(super) fn write(&self, now_us: u64, write: Write) -> Result<(), String> {
        let handed = self.orders.send(Order::Write(now_us, Box::new(write)));
        match handed.is_err() || self.has_failed.load(Ordering::Acquire) {
            true => Err("the database failed".to_owned()),
            false => Ok(()),
        }
    }

    /// The durable state, once every write is stored.
    ///
    /// # Errors
    /// The database failed.
    pub(super) fn restore(&self, now_us: u64) -> anyhow::Result<Found> {
        let (reply, found) = mpsc::channel();
        let asked = self.orders.send(Order::Restore(now_us, reply));
        asked.ok().context("the database failed")?;
        found.recv().context("the database failed")?
    }

    /// Closes it once every write is stored.
    ///
    /// # Errors
    /// A write failed.
    pub(super) fn close(self) -> anyhow::Result<()> {
        drop(self.orders);
        let done = self.thread.join();
        done.map_err(|_| anyhow::anyhow!("the thread of the database panicked"))?
    }
}

/// Does the work of the thread until nobody has any more.
async fn work(
    data: &Path,
    study: Arc<Study>,
    links: usize,
    todo: &mpsc::Receiver<Order>,
) -> anyhow::Result<()> {
    let data = DataDir::open(data)?;
    let mut open: Option<Persistence> = None;
    for order in todo {
        match order {
            Order::Write(now_us, write) => {
                let persistence = open.as_ref().context("nothing is open yet")?;
                persistence.write_at(now_us, *write).await?;
            }
            Order::Restore(now_us, reply) => {
                let is_first = open.is_none();
                if let Some(persistence) = open.take() {
                    persistence.close().await;
                }
                let opened = Persistence::open_rehearsed(&data, Arc::clone(&study), now_us).await?;
                let wanted = if is_first { links } else { 0 };
                let found = restore(&opened, &data, wanted).await;
                open = Some(opened);
                // Who asked waits for the answer.
                let _ = reply.send(found);
            }
        }
    }
    if let Some(persistence) = open {
        persistence.close().await;
    }
    Ok(())
}

async fn restore(persistence: &Persistence, data: &DataDir, links: usize) -> anyhow::Result<Found> {
    let (mut restored, logs) = persistence.restore(data, OnStudyChange::Refuse).await?;
    let links = persistence
        .restore_links(data, &mut restored, links)
        .await?;
    let mut running: Vec<Era> = logs.into_keys().collect();
    running.sort_unstable_by_key(|era| era.0);
    Ok(Found {
        restored,
        running,
        links,
    })
}
