//! An unfinished file: it is beside its final place until it is complete.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::VideoError;

/// A file that ends in `.part`, and is removed unless it is finished.
#[derive(Debug)]
pub(crate) struct PartFile {
    place: PathBuf,
    part: PathBuf,
}

impl PartFile {
    pub(crate) fn beside_file(place: &Path) -> Self {
        let mut part = OsString::from(place);
        part.push(".part");
        Self {
            place: place.to_owned(),
            part: part.into(),
        }
    }

    /// The file that is written.
    pub(crate) fn path(&self) -> &Path {
        &self.part
    }

    /// The place where it will be.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// An error of the disk, with the name of the file.
    pub(crate) fn as_error(&self, error: io::Error) -> VideoError {
        VideoError::File {
            path: self.place.clone(),
            error,
        }
    }

    /// Moves the complete file to its place, and returns its number of bytes.
    pub(crate) fn finish(self) -> Result<u64, VideoError> {
        let moved = fs::metadata(&self.part).and_then(|file| {
            fs::rename(&self.part, &self.place)?;
            Ok(file.len())
        });
        moved.map_err(|error| self.as_error(error))
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        // After it has moved there is nothing to remove.
        let _ = fs::remove_file(&self.part);
    }
}
