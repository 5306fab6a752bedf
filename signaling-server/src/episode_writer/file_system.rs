//! A file system that makes everything durable in one go, which costs it little more than one file does.
//!
//! A small study never needs it: few files are made durable one by one.

use std::io;
use std::path::Path;

#[cfg(target_os = "linux")]
use rustix::fs::{Mode, OFlags, StatVfsMountFlags, fstatfs, fstatvfs, open, syncfs};

/// Magic numbers of ext4, XFS and Btrfs: of them it is known that nothing is missing afterwards.
#[cfg(target_os = "linux")]
const KNOWN: [u64; 3] = [0xEF53, 0x5846_5342, 0x9123_683E];

/// The first Linux whose `syncfs` tells of every failure of the disk.
#[cfg(target_os = "linux")]
const LEAST_LINUX: (u32, u32) = (5, 17);

/// The file system of a folder.
#[derive(Debug)]
pub(super) struct FileSystem {
    #[cfg(target_os = "linux")]
    folder: std::os::fd::OwnedFd,
}

#[cfg(target_os = "linux")]
impl FileSystem {
    /// That of this folder; `None` if its files are to be made durable one by one.
    pub(super) fn open(folder: &Path) -> Option<Self> {
        let release = rustix::system::uname();
        if !is_new_enough(release.release().to_str().ok()?) {
            return None;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open(folder, flags, Mode::empty()).ok()?;
        let magic = fstatfs(&folder).ok()?.f_type;
        KNOWN.contains(&(magic as u64)).then_some(Self { folder })
    }

    /// Waits until everything that was written to any file is durable.
    ///
    /// # Errors
    /// The disk failed under some file, or takes nothing any more.
    pub(super) fn sync(&self) -> io::Result<()> {
        syncfs(&self.folder)?;
        // After a failure it may be read-only, and then has nothing to do.
        match fstatvfs(&self.folder)?
            .f_flag
            .contains(StatVfsMountFlags::RDONLY)
        {
            true => Err(io::ErrorKind::ReadOnlyFilesystem.into()),
            false => Ok(()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl FileSystem {
    /// `None`: files are made durable one by one.
    pub(super) fn open(_folder: &Path) -> Option<Self> {
        None
    }

    /// Nothing to do.
    ///
    /// # Errors
    /// None.
    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn is_new_enough(release: &str) -> bool {
    let mut numbers = release.split(|sign: char| !sign.is_ascii_digit());
    let mut number = || numbers.next()?.parse::<u32>().ok();
    let (major, minor) = (number(), number());
    major
        .zip(minor)
        .is_some_and(|version| version >= LEAST_LINUX)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn an_old_linux_does_not_tell_that_the_disk_has_failed() {
        for new in ["5.17.0", "6.1.0-28-amd64", "6.12", "10.0"] {
            assert!(is_new_enough(new), "{new}");
        }
        for old in [
            "4.18.0-553.el8",
            "5.10.0-28-amd64",
            "5.16.19",
            "",
            "linux",
            "5",
        ] {
            assert!(!is_new_enough(old), "{old}");
        }
    }

    #[test]
    fn a_folder_that_is_not_there_has_no_file_system() {
        assert!(FileSystem::open(Path::new("/proc/self/fd/none")).is_none());
        assert!(FileSystem::open(Path::new("/proc")).is_none(), "no disk");
    }
}
