//! The server's disk: episode files that outlive the process, and the rest of a write after a crash.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use archive::LogFile;

/// The bytes of a file.
#[derive(Clone, Debug, Default)]
pub struct Platter(Arc<Mutex<Vec<u8>>>);

impl Platter {
    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy of the bytes.
    pub fn copy(&self) -> Vec<u8> {
        self.bytes().clone()
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.bytes().len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Leaves what a crash leaves: the first `len` bytes.
    pub fn tear_write(&self, len: usize) {
        self.bytes().truncate(len);
    }
}

impl LogFile for Platter {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes().extend_from_slice(bytes);
        Ok(())
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.copy())
    }

    fn truncate(&mut self, len: usize) -> io::Result<()> {
        self.tear_write(len);
        Ok(())
    }
}

/// The episode files, by the id of the episode.
#[derive(Debug, Default)]
pub struct Disk {
    files: BTreeMap<String, Platter>,
}

impl Disk {
    /// Makes an empty file; `None` if there is one of this name.
    pub fn create(&mut self, episode: &str) -> Option<Platter> {
        if self.files.contains_key(episode) {
            return None;
        }
        let platter = Platter::default();
        self.files.insert(episode.into(), platter.clone());
        Some(platter)
    }

    /// The file of an episode.
    pub fn open(&self, episode: &str) -> Option<Platter> {
        self.files.get(episode).cloned()
    }

    /// A file that was not whole when the machine stopped never got its name.
    pub fn forget(&mut self, episode: &str) {
        self.files.remove(episode);
    }
}
