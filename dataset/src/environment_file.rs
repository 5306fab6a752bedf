//! The kind of an environment's file, by its first bytes.
//!
//! Files of environments of every kind are stored alike, under their hash. It must not know how one is opened.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// The kind of a stored environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EnvironmentFile {
    /// A WebAssembly module.
    Module,
    /// The archive of an environment in Python that pages step.
    PageArchive,
    /// The source of an environment in Python that a host steps.
    HostSource,
}

impl EnvironmentFile {
    /// The kind of a file that begins with these bytes; `None` if it is no environment.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0, b'a', b's', b'm', ..] => Some(Self::Module),
            [b'P', b'K', ..] => Some(Self::PageArchive),
            [b'{', ..] => Some(Self::HostSource),
            _ => None,
        }
    }

    /// The kind of the environment that a data folder has under a hash; `None` without such a file.
    pub(crate) fn find(data: &Path, sha256: &str) -> Option<Self> {
        // Nothing else is a name of a file there.
        if sha256.len() != 64 || !sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = [0; 4];
        let path = data.join("modules").join(format!("{sha256}.wasm"));
        let mut file = File::open(path).ok()?;
        file.read_exact(&mut bytes).ok()?;
        Self::of(&bytes)
    }

    /// As tables name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Module => "module",
            Self::PageArchive | Self::HostSource => "python",
        }
    }

    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Module => "application/wasm",
            Self::PageArchive => "application/zip",
            Self::HostSource => "application/json",
        }
    }

    /// A sentence for those who find the file.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Module => "An environment as a WebAssembly module.",
            Self::PageArchive => {
                "An environment in Python that the pages of participants stepped: a zip archive with its source and packages."
            }
            Self::HostSource => {
                "An environment in Python that a process beside the server stepped: JSON with its source."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_a_file_is_found_by_its_first_bytes() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("modules")).unwrap();
        let files: [(&[u8], _); 4] = [
            (b"\0asm\x01\0\0\0", Some("module")),
            (b"PK\x03\x04", Some("python")),
            (b"{\"python\": \"a.py:make\"}", Some("python")),
            (b"GIF89a", None),
        ];
        for (number, (bytes, name)) in (1_u8..).zip(files) {
            let sha256 = format!("{number:064x}");
            let path = dir.path().join(format!("modules/{sha256}.wasm"));
            std::fs::write(path, bytes).unwrap();
            let found = EnvironmentFile::find(dir.path(), &sha256);
            assert_eq!(found.map(EnvironmentFile::name), name);
        }
        assert_eq!(EnvironmentFile::find(dir.path(), &"a".repeat(64)), None);
        assert_eq!(EnvironmentFile::find(dir.path(), "../secret"), None);
    }
}
