//! Storage of an episode's bytes: a file on the disk, or a substitute.
//!
//! This module must not know what the bytes mean.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;

/// An append-only file.
pub trait LogFile: Send {
    /// Adds bytes at the end; they are durable when it returns.
    ///
    /// # Errors
    /// The error of the disk; some of the bytes may then be there.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Adds bytes at the end; they are durable once [`Self::sync`] has returned, or a `syncfs` of the file system.
    ///
    /// # Errors
    /// The error of the disk; some of the bytes may then be there.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.append(bytes)
    }

    /// Waits until everything that was written is durable.
    ///
    /// # Errors
    /// The error of the disk; some of the bytes may then be missing.
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// All its bytes.
    ///
    /// # Errors
    /// The error of the disk.
    fn read(&mut self) -> io::Result<Vec<u8>>;

    /// Cuts off what follows the first `len` bytes, durably.
    ///
    /// # Errors
    /// The error of the disk.
    fn truncate(&mut self, len: usize) -> io::Result<()>;
}

/// A file on the disk.
#[derive(Debug)]
pub struct DiskFile(File);

impl DiskFile {
    /// Makes a file that has these bytes from the moment when it has its name.
    ///
    /// # Errors
    /// The error of the disk, or that a file already has the name.
    pub fn create(path: &Path, bytes: &[u8]) -> io::Result<Self> {
        if path.try_exists()? {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                format!("{} is there", path.display()),
            ));
        }
        let part = path.with_extension("part");
        fs::write(&part, [])?;
        let mut file = Self::open(&part)?;
        file.0.write_all(bytes)?;
        file.0.sync_all()?;
        fs::rename(&part, path)?;
        File::open(path.parent().unwrap_or(Path::new("")))?.sync_all()?;
        Ok(file)
    }

    /// Opens an existing file.
    ///
    /// # Errors
    /// The error of the disk.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).append(true).open(path)?;
        Ok(Self(file))
    }
}

impl LogFile for DiskFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write(bytes)?;
        self.sync()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.0.rewind()?;
        self.0.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn truncate(&mut self, len: usize) -> io::Result<()> {
        self.0.set_len(len as u64)?;
        self.0.sync_all()
    }
}
