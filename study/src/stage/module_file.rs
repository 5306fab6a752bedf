//! The file of an environment module in the study folder.

use std::fmt;

use protocol::hash::sha256_hex;
use serde::Serialize;

use crate::folder::{self, Source};
use crate::limits::MAX_MODULE;
use crate::read::Cursor;

/// An environment module in the study folder.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct ModuleFile {
    /// The file, relative to the study folder.
    pub file: String,
    /// SHA-256 of its bytes, lower-case hex; part of the study's hash.
    pub sha256: String,
    /// Its bytes.
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

impl fmt::Debug for ModuleFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.file, self.sha256)
    }
}

/// Reads the file of a module.
pub(super) fn read(source: Source<'_>, place: &Cursor<'_>) -> Option<ModuleFile> {
    let file = place.file("file")?;
    let bytes = folder::read_bytes(source.dir, place, &file, MAX_MODULE, "my_env.wasm")?;
    Some(ModuleFile {
        sha256: sha256_hex(&bytes),
        file,
        bytes,
    })
}
