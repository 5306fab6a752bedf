//! The data folder of a virtual rehearsal: like a server's, but without waiting for the disk.
//!
//! A file has what was appended to it in this process; a crash of the virtual server tears it as far as one of a real
//! one could. This module must not know what the server stores.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use archive::{Episode, LogFile, OpenError};
use protocol::Era;
use protocol::log::Header;
use server_core::arbiter::{Restored, Write};
use simulation::storage::Storage;
use study::{Assignment, Study};

use super::database::Database;

/// A file that is not synchronised, and its length.
struct LooseFile {
    file: File,
    len: Arc<AtomicUsize>,
}

impl LogFile for LooseFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.len.fetch_add(bytes.len(), Ordering::Relaxed);
        Ok(())
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file.rewind()?;
        self.file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn truncate(&mut self, len: usize) -> io::Result<()> {
        self.file.set_len(len as u64)?;
        self.len.store(len, Ordering::Relaxed);
        Ok(())
    }
}

/// The storage of the server.
pub(super) struct FolderStorage {
    data: PathBuf,
    database: Database,
    lens: BTreeMap<String, Arc<AtomicUsize>>,
    /// Sessions that have no outcome, and episodes that have no end.
    open: BTreeSet<String>,
    running: BTreeSet<String>,
    /// The tokens of the participant links.
    pub(super) links: Vec<String>,
    /// The assignments of participants, each time that the server started again.
    pub(super) snapshots: Vec<BTreeMap<String, Assignment>>,
    has_started: bool,
}

impl FolderStorage {
    /// The storage in a new data folder.
    pub(super) fn new(data: &Path, database: Database) -> Self {
        Self {
            data: data.to_owned(),
            database,
            lens: BTreeMap::new(),
            open: BTreeSet::new(),
            running: BTreeSet::new(),
            links: Vec::new(),
            snapshots: Vec::new(),
            has_started: false,
        }
    }

    /// Sessions without an outcome, and episodes without an end.
    pub(super) fn count_unfinished(&self) -> (usize, usize) {
        (self.open.len(), self.running.len())
    }

    /// Waits until everything is stored.
    ///
    /// # Errors
    /// A write failed.
    pub(super) fn close(self) -> anyhow::Result<Vec<BTreeMap<String, Assignment>>> {
        self.database.close()?;
        Ok(self.snapshots)
    }

    fn episodes(&self) -> PathBuf {
        self.data.join("episodes")
    }

    fn path(&self, episode: &str) -> Option<PathBuf> {
        archive::path(&self.episodes(), episode).ok()
    }

    fn open_file(&mut self, episode: &str, options: &mut OpenOptions) -> io::Result<LooseFile> {
        let path = archive::path(&self.episodes(), episode).map_err(io::Error::other)?;
        let file = options.read(true).append(true).open(path)?;
        let len = Arc::new(AtomicUsize::new(file.metadata()?.len() as usize));
        self.lens.insert(episode.to_owned(), Arc::clone(&len));
        Ok(LooseFile { file, len })
    }

    /// Counts open work.
    fn count(&mut self, write: &Write) {
        match write {
            Write::Reopen { participant, .. }
            | Write::NewSession {
                participant,
                payment: None,
                ..
            } => drop(self.open.insert(participant.clone())),
            Write::Place {
                participant,
                payment: Some(_),
                ..
            }
            | Write::Forget { participant } => drop(self.open.remove(participant)),
            Write::Episode(row) => drop(self.running.insert(row.episode.clone())),
            Write::EpisodeEnded { episode, .. } => drop(self.running.remove(episode)),
            _ => {}
        }
    }
}

impl Storage for FolderStorage {
    fn write(&mut self, clock_us: u64, write: Write) -> Result<(), String> {
        self.count(&write);
        self.database.write(clock_us, write)
    }

    fn create(&mut self, header: Header) -> Result<Episode, OpenError> {
        let stored = archive::open_stored(&self.episodes());
        let mut options = OpenOptions::new();
        let file = self.open_file(&header.episode, options.create_new(true))?;
        Episode::create_in(Box::new(file), header, stored)
    }

    fn file_len(&self, episode: &str) -> Option<usize> {
        let len = self.lens.get(episode)?;
        Some(len.load(Ordering::Relaxed))
    }

    fn tear(&mut self, episode: &str, len: usize) {
        if let Ok(mut file) = self.open_file(episode, &mut OpenOptions::new()) {
            // What cannot be torn stays whole, as after a crash that came later.
            let _ = file.truncate(len);
        }
    }

    fn forget(&mut self, episode: &str) {
        self.lens.remove(episode);
        if let Some(path) = self.path(episode) {
            // One that stays is a file that no row names, which a crash leaves too.
            let _ = fs::remove_file(path);
        }
    }

    fn restore(
        &mut self,
        clock_us: u64,
        _: &Study,
    ) -> Result<(Restored, Vec<(Era, Episode)>), String> {
        let found = self.database.restore(clock_us);
        let found = found.map_err(|error| format!("{error:#}"))?;
        let sessions = found.restored.sessions.iter();
        if self.has_started {
            // One that nobody has begun may be forgotten.
            let begun = sessions.filter(|session| session.progress.has_begun());
            let drawn = begun.map(|session| {
                let assignment = session.progress.assignment().clone();
                (session.participant.clone(), assignment)
            });
            self.snapshots.push(drawn.collect());
        } else {
            self.links = found.links;
            self.has_started = true;
        }
        let mut logs = Vec::new();
        for episode in &found.restored.episodes {
            if !found.running.contains(&episode.row.era) {
                continue;
            }
            let file = self.open_file(&episode.header.episode, &mut OpenOptions::new());
            let file = file.map_err(|error| error.to_string())?;
            let log = Episode::recover_from(Box::new(file), archive::open_stored(&self.episodes()));
            logs.push((episode.row.era, log.map_err(|error| error.to_string())?));
        }
        Ok((found.restored, logs))
    }
}
