//! The storage of a server without a disk: the changes that the arbiter made durable, and the logs of episodes.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use archive::{Episode, LogFile, OpenError};
use protocol::log::Header;
use server_core::arbiter::{Attendance, Write};

/// The changes and logs of a study, for those who import them.
#[derive(Debug, Default)]
pub struct Kept {
    /// The changes, each with the time of the server's clock, microseconds.
    pub writes: Vec<(u64, Write)>,
    /// The log of each episode, by its id.
    pub logs: BTreeMap<String, Vec<u8>>,
}

impl Kept {
    /// True if the people did the same in both. How long and how often they opened their pages does not count.
    pub fn has_same_deeds(&self, other: &Self) -> bool {
        self.logs == other.logs && list_deeds(&self.writes) == list_deeds(&other.writes)
    }
}

/// The deeds of people: the changes without secrets and the time of presence, each once.
fn list_deeds(writes: &[(u64, Write)]) -> Vec<Write> {
    let mut deeds: Vec<Write> = Vec::new();
    for (_, write) in writes {
        let mut deed = write.clone();
        match &mut deed {
            Write::Token { .. } | Write::Identity { .. } | Write::Attendance { .. } => continue,
            Write::NewSession { attendance, .. }
            | Write::Place { attendance, .. }
            | Write::Reopen { attendance, .. } => *attendance = Attendance::default(),
            _ => {}
        }
        // A reload stores the same place again.
        if deeds.last() != Some(&deed) {
            deeds.push(deed);
        }
    }
    deeds
}

/// Files that episodes are played with, by their SHA-256.
pub type StoredFiles = BTreeMap<String, Vec<u8>>;

/// The storage of a server.
pub(crate) struct MemoryStorage {
    stored: Arc<StoredFiles>,
    writes: Option<Vec<(u64, Write)>>,
    logs: BTreeMap<String, Arc<Mutex<Vec<u8>>>>,
}

impl MemoryStorage {
    /// Empty storage; one that keeps nothing is for a page, whose journal has everything.
    pub(crate) fn new(stored: StoredFiles, keeps: bool) -> Self {
        Self {
            stored: Arc::new(stored),
            writes: keeps.then(Vec::new),
            logs: BTreeMap::new(),
        }
    }

    pub(crate) fn write(&mut self, now_us: u64, write: Write) {
        if let Some(writes) = &mut self.writes {
            writes.push((now_us, write));
        }
    }

    /// Begins the log of an episode.
    ///
    /// # Errors
    /// [`OpenError`]
    pub(crate) fn create(&mut self, header: Header) -> Result<Episode, OpenError> {
        let log = Arc::new(Mutex::new(Vec::new()));
        if self.writes.is_some() {
            self.logs.insert(header.episode.clone(), Arc::clone(&log));
        }
        let stored = Arc::clone(&self.stored);
        let find = move |hash: &str| {
            let found = stored.get(hash).cloned();
            found.ok_or_else(|| io::Error::other("the study brings no such file"))
        };
        Episode::create_in(Box::new(MemoryLog(log)), header, find)
    }

    pub(crate) fn into_kept(self) -> Kept {
        let logs = self.logs.into_iter();
        let logs = logs.map(|(name, log)| {
            let log = log.lock().unwrap_or_else(PoisonError::into_inner);
            (name, log.clone())
        });
        Kept {
            writes: self.writes.unwrap_or_default(),
            logs: logs.collect(),
        }
    }
}

/// A log in memory.
struct MemoryLog(Arc<Mutex<Vec<u8>>>);

impl MemoryLog {
    fn bytes(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogFile for MemoryLog {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes().extend_from_slice(bytes);
        Ok(())
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.bytes().clone())
    }

    fn truncate(&mut self, len: usize) -> io::Result<()> {
        self.bytes().truncate(len);
        Ok(())
    }
}
