//! The disk of the data folder: whether there is room, and what follows if there is none. Answers are then held back
//! until there is, so that nothing is acknowledged that is not stored.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The least room in which anything is written, bytes: more than one write takes.
const LEAST: u64 = 1024 * 1024;

/// Time between two looks at a full disk.
pub const LOOKS_EACH: Duration = Duration::from_millis(250);

/// The room on the disk of a data folder.
#[derive(Debug)]
pub struct DiskRoom {
    folder: PathBuf,
    free: fn(&Path) -> Option<u64>,
    is_full: AtomicBool,
    is_given_up: AtomicBool,
}

impl DiskRoom {
    /// The disk that has this folder.
    pub fn new(folder: &Path) -> Self {
        Self::with_probe(folder, free_bytes)
    }

    fn with_probe(folder: &Path, free: fn(&Path) -> Option<u64>) -> Self {
        Self {
            folder: folder.to_owned(),
            free,
            is_full: AtomicBool::new(false),
            is_given_up: AtomicBool::new(false),
        }
    }

    /// True if something can be written, or nobody waits for room any more.
    pub fn has_room(&self) -> bool {
        let has_room = (self.free)(&self.folder).is_none_or(|free| free >= LEAST);
        has_room || self.is_given_up.load(Ordering::Relaxed)
    }

    /// True if answers are held back.
    pub fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Takes note that answers are held back, or not any more, and tells the researcher once. True if that is new.
    pub fn set_full(&self, is_full: bool) -> bool {
        let is_new = self.is_full.swap(is_full, Ordering::Relaxed) != is_full;
        match is_full {
            _ if !is_new => {}
            true => tracing::error!(
                "the disk is full: answers are held back until there is room; free some in {}",
                self.folder.display()
            ),
            false => tracing::info!("there is room on the disk again, and answers are stored"),
        }
        is_new
    }

    /// Waits for room no longer: the server stops.
    pub fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Relaxed);
    }

    /// True if nobody waits for room any more.
    pub fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::Relaxed)
    }

    /// Holds a thread until there is room.
    pub fn wait_for_room(&self) {
        while !self.has_room() {
            self.set_full(true);
            std::thread::sleep(LOOKS_EACH);
        }
    }
}

/// The bytes that are free on the disk of a folder; `None` if the system does not say.
#[cfg(unix)]
fn free_bytes(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_full_disk_is_told_once_and_holds_until_there_is_room_or_the_server_stops() {
        let disk = DiskRoom::with_probe(Path::new("/"), |_| Some(LEAST - 1));
        assert!(!disk.has_room() && !disk.is_full());
        assert!(disk.set_full(true) && disk.is_full());
        assert!(!disk.set_full(true), "told already");
        let disk = Arc::new(disk);
        let waiting = Arc::clone(&disk);
        let waits = std::thread::spawn(move || waiting.wait_for_room());
        disk.give_up();
        waits.join().unwrap();
        assert!(disk.set_full(false));
    }

    #[test]
    fn a_disk_with_room_holds_nobody() {
        let disk = DiskRoom::with_probe(Path::new("/"), |_| Some(LEAST));
        disk.wait_for_room();
        assert!(disk.has_room() && !disk.is_full());
        assert!(DiskRoom::with_probe(Path::new("/"), |_| None).has_room());
    }
}
