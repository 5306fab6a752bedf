//! The storage of a server, which outlives its process: tables, and the files of episodes.

use archive::{Episode, OpenError};
use protocol::Era;
use protocol::log::Header;
use server_core::arbiter::{Restored, Write};
use study::Study;

use crate::agent::read_stored;
use crate::database::Database;
use crate::disk::Disk;

/// The durable half of a server. What a method has done survives the process.
pub trait Storage {
    /// Makes a write of the arbiter durable, at a time of the server's clock, microseconds.
    ///
    /// # Errors
    /// The tables refuse it.
    fn write(&mut self, clock_us: u64, write: Write) -> Result<(), String>;

    /// Makes the file of an episode.
    ///
    /// # Errors
    /// The file is there, or the episode cannot be simulated here.
    fn create(&mut self, header: Header) -> Result<Episode, OpenError>;

    /// The length of the file of an episode, bytes; `None` if there is none.
    fn file_len(&self, episode: &str) -> Option<usize>;

    /// Leaves what a crash leaves of a file: its first `len` bytes.
    fn tear(&mut self, episode: &str, len: usize);

    /// Removes a file that was not whole when the process stopped, and so never got its name.
    fn forget(&mut self, episode: &str);

    /// The state that a new process begins with, at a time of its clock, and the logs of the episodes that run.
    ///
    /// # Errors
    /// Something durable cannot be read.
    fn restore(
        &mut self,
        clock_us: u64,
        study: &Study,
    ) -> Result<(Restored, Vec<(Era, Episode)>), String>;
}

/// Storage in memory.
#[derive(Debug, Default)]
pub struct MemoryStorage {
    /// The files.
    pub disk: Disk,
    /// The tables.
    pub database: Database,
}

impl Storage for MemoryStorage {
    fn write(&mut self, _: u64, write: Write) -> Result<(), String> {
        self.database.write(write)
    }

    fn create(&mut self, header: Header) -> Result<Episode, OpenError> {
        let file = self.disk.create(&header.episode);
        let file = file.ok_or_else(|| std::io::Error::other("the file is there"))?;
        Episode::create_in(Box::new(file), header, read_stored)
    }

    fn file_len(&self, episode: &str) -> Option<usize> {
        self.disk.open(episode).map(|file| file.len())
    }

    fn tear(&mut self, episode: &str, len: usize) {
        if let Some(file) = self.disk.open(episode) {
            file.tear_write(len);
        }
    }

    fn forget(&mut self, episode: &str) {
        self.disk.forget(episode);
    }

    fn restore(
        &mut self,
        _: u64,
        study: &Study,
    ) -> Result<(Restored, Vec<(Era, Episode)>), String> {
        let mut running = Vec::new();
        for row in self.database.running() {
            let file = self.disk.open(&row.episode);
            let file = file.ok_or_else(|| format!("recovery: {} has no file", row.episode))?;
            let episode = Episode::recover_from(Box::new(file), read_stored)
                .map_err(|error| format!("recovery: {}: {error}", row.episode))?;
            running.push((row, episode));
        }
        let restored = self.database.restore(study, &mut running);
        let restored = restored.map_err(|error| format!("recovery: {error}"))?;
        let logs = running.into_iter();
        let logs = logs.map(|(row, episode)| (row.era, episode)).collect();
        Ok((restored, logs))
    }
}
