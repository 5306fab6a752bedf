//! The disk of the data folder: whether it takes data, and the consequences if it does not. Answers are then held back
//! until it does, so that nothing is acknowledged that is not stored.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::DiskFault;

/// The least room in which anything is written, bytes: more than one write takes.
const LEAST: u64 = 1024 * 1024;

/// The bytes by which a failing disk is tried.
const TRIAL: [u8; 4_096] = [0; 4_096];

/// Time between two looks at a disk that does not take data.
pub const LOOKS_EACH: Duration = Duration::from_millis(250);

/// The disk of a data folder.
#[derive(Debug)]
pub struct DiskRoom {
    folder: PathBuf,
    free: fn(&Path) -> Option<u64>,
    attempt: fn(&Path) -> io::Result<()>,
    fault: Mutex<Option<DiskFault>>,
    /// True while the database waits for the disk.
    holds_store: AtomicBool,
    is_given_up: AtomicBool,
}

impl DiskRoom {
    /// The disk that has this folder.
    pub fn new(folder: &Path) -> Self {
        Self::with_probe(folder, free_bytes, try_to_write)
    }

    fn with_probe(
        folder: &Path,
        free: fn(&Path) -> Option<u64>,
        attempt: fn(&Path) -> io::Result<()>,
    ) -> Self {
        Self {
            folder: folder.to_owned(),
            free,
            attempt,
            fault: Mutex::new(None),
            holds_store: AtomicBool::new(false),
            is_given_up: AtomicBool::new(false),
        }
    }

    /// True if something can be written, or nobody waits for room any more.
    pub fn has_room(&self) -> bool {
        let has_room = (self.free)(&self.folder).is_none_or(|free| free >= LEAST);
        has_room || self.is_given_up()
    }

    /// Returns why answers are held back, in words; `None` if they are not.
    pub fn find_fault(&self) -> Option<String> {
        self.fault().as_ref().map(say)
    }

    /// True if a page that comes now would wait for its answers. There may be room again, and nobody has noticed.
    pub fn holds_pages(&self) -> bool {
        let fault = self.fault().clone();
        match fault {
            None => false,
            Some(DiskFault::Full) => self.holds_store.load(Ordering::Relaxed) || !self.has_room(),
            Some(DiskFault::Failing(_)) => true,
        }
    }

    /// Notes that the database waits for the disk, for this reason. Returns true if that is new.
    ///
    /// SQLite reports a used-up quota, or a full disk under its log, like any other error: a test write distinguishes
    /// them.
    pub fn hold_store(&self, fault: DiskFault) -> bool {
        self.holds_store.store(true, Ordering::Relaxed);
        let tried = match fault {
            DiskFault::Full => fault,
            DiskFault::Failing(_) => match (self.attempt)(&self.folder) {
                Err(error) => DiskFault::of_io(&error),
                Ok(()) if !self.has_room() => DiskFault::Full,
                Ok(()) => fault,
            },
        };
        self.set_fault(Some(tried))
    }

    /// Takes note that the database is written again.
    pub fn release_store(&self) {
        self.holds_store.store(false, Ordering::Relaxed);
        self.set_fault(None);
    }

    /// Sets the reason why answers are held back, and informs the researcher once. Returns true if they were not held
    /// back before.
    fn set_fault(&self, fault: Option<DiskFault>) -> bool {
        let mut now = self.fault();
        if *now == fault {
            return false;
        }
        match &fault {
            Some(DiskFault::Full) => tracing::error!(
                "the disk is full: answers are held back until there is room; free some in {}",
                self.folder.display()
            ),
            Some(DiskFault::Failing(why)) => tracing::error!(
                "the disk of {} fails: {why}; answers are held back until it works",
                self.folder.display()
            ),
            None => tracing::info!("the disk works again, and answers are stored"),
        }
        let before = std::mem::replace(&mut *now, fault);
        before.is_none()
    }

    /// Waits for the disk no longer: the server stops.
    pub fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Relaxed);
    }

    /// True if nobody waits for the disk any more.
    pub fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::Relaxed)
    }

    /// Holds a thread until there is room, and until the database can be written.
    pub fn wait_for_room(&self) {
        let is_held = || self.holds_store.load(Ordering::Relaxed) && !self.is_given_up();
        let mut has_waited = false;
        while is_held() || !self.has_room() {
            if !is_held() {
                self.set_fault(Some(DiskFault::Full));
            }
            has_waited = true;
            std::thread::sleep(LOOKS_EACH);
        }
        if has_waited && !self.holds_store.load(Ordering::Relaxed) {
            self.set_fault(None);
        }
    }

    fn fault(&self) -> MutexGuard<'_, Option<DiskFault>> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A fault in words.
fn say(fault: &DiskFault) -> String {
    match fault {
        DiskFault::Full => "the disk is full".to_owned(),
        DiskFault::Failing(why) => format!("the disk fails: {why}"),
    }
}

/// Writes a few bytes into a folder, and removes them.
fn try_to_write(folder: &Path) -> io::Result<()> {
    let path = folder.join("trial.part");
    let written = fs::write(&path, TRIAL);
    match fs::remove_file(&path) {
        Err(error) if written.is_ok() => Err(error),
        _ => written,
    }
}

/// Returns the free bytes on the disk of a folder; `None` if the system does not say.
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

    fn failing(why: &str) -> DiskFault {
        DiskFault::Failing(why.to_owned())
    }

    #[test]
    fn a_full_disk_is_told_once_and_holds_until_there_is_room_or_the_server_stops() {
        let disk = DiskRoom::with_probe(Path::new("/"), |_| Some(LEAST - 1), |_| Ok(()));
        assert!(!disk.has_room() && disk.find_fault().is_none());
        assert!(disk.hold_store(DiskFault::Full));
        assert_eq!(disk.find_fault().as_deref(), Some("the disk is full"));
        assert!(!disk.hold_store(DiskFault::Full), "told already");
        assert!(disk.holds_pages());
        let disk = Arc::new(disk);
        let waiting = Arc::clone(&disk);
        let waits = std::thread::spawn(move || waiting.wait_for_room());
        disk.give_up();
        waits.join().unwrap();
        disk.release_store();
        assert_eq!(disk.find_fault(), None);
    }

    #[test]
    fn a_failing_disk_is_named_and_holds_until_the_database_is_written() {
        let disk = DiskRoom::with_probe(Path::new("/"), |_| Some(LEAST), |_| Ok(()));
        assert!(disk.hold_store(failing("disk I/O error (SQLite 778)")));
        let named = "the disk fails: disk I/O error (SQLite 778)";
        assert_eq!(disk.find_fault().as_deref(), Some(named));
        assert!(disk.holds_pages() && disk.has_room());
        disk.release_store();
        assert!(!disk.holds_pages());
        assert_eq!(disk.find_fault(), None);
        disk.wait_for_room();
    }

    #[test]
    fn a_trial_tells_a_quota_from_a_disk_that_fails() {
        let used_up = |_: &Path| Err(io::ErrorKind::QuotaExceeded.into());
        let disk = DiskRoom::with_probe(Path::new("/"), |_| Some(LEAST), used_up);
        disk.hold_store(failing("disk I/O error"));
        assert_eq!(disk.find_fault().as_deref(), Some("the disk is full"));
        assert!(disk.holds_pages(), "although the system says there is room");
        let broken = |_: &Path| Err(io::Error::other("read-only file system"));
        let disk = DiskRoom::with_probe(Path::new("/"), |_| Some(LEAST), broken);
        disk.hold_store(failing("disk I/O error"));
        let named = "the disk fails: read-only file system";
        assert_eq!(disk.find_fault().as_deref(), Some(named));
    }

    #[test]
    fn a_disk_with_room_holds_nobody() {
        let disk = DiskRoom::with_probe(Path::new("/"), |_| Some(LEAST), |_| Ok(()));
        disk.wait_for_room();
        assert!(disk.has_room() && disk.find_fault().is_none());
        let silent = DiskRoom::with_probe(Path::new("/"), |_| None, |_| Ok(()));
        assert!(silent.has_room());
    }

    #[test]
    fn a_trial_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        try_to_write(dir.path()).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        assert!(try_to_write(&dir.path().join("missing")).is_err());
    }
}
