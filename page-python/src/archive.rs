//! The archive of an environment in Python: everything that makes it, in one file with one hash.

use std::collections::BTreeMap;
use std::io::{Cursor, Read as _, Write as _};

use serde::{Deserialize, Serialize};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use crate::release::Release;

/// The file that lists the contents of an archive.
const MANIFEST: &str = "coplay.json";

/// The largest archive, bytes: what a module may have, too.
const LARGEST: usize = 16 << 20;

/// The lines that connect an environment to a page.
const SUPPORT: [(&str, &str); 10] = [
    ("__init__", ""),
    (
        "adapters",
        include_str!("../../python/coplay/host/adapters.py"),
    ),
    ("facts", include_str!("../../python/coplay/host/facts.py")),
    (
        "functional",
        include_str!("../../python/coplay/host/functional.py"),
    ),
    (
        "loading",
        include_str!("../../python/coplay/host/loading.py"),
    ),
    ("page", include_str!("../../python/coplay/host/page.py")),
    (
        "pictures",
        include_str!("../../python/coplay/host/pictures.py"),
    ),
    ("saving", include_str!("../../python/coplay/host/saving.py")),
    ("spaces", include_str!("../../python/coplay/host/spaces.py")),
    ("worlds", include_str!("../../python/coplay/host/worlds.py")),
];

/// The same, for what it shares with a host.
const SERVE: &str = include_str!("../../python/coplay/host/serve.py");

/// The facts of an archive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The world as the study names it: `{"python": "my_game.py:make", "kwargs": {}}`.
    pub world: serde_json::Value,
    /// Compiled packages of the release that it needs, such as `numpy`.
    pub packages: Vec<String>,
    /// Version of Pyodide.
    pub pyodide: String,
    /// SHA-256 of every file of the release that pages load, by name; lower-case hex.
    pub release: BTreeMap<String, String>,
    /// Pure packages in it, by the name of the wheel, with their SHA-256.
    pub wheels: BTreeMap<String, String>,
}

/// An archive that cannot be made or read.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The bytes are no archive.
    #[error("this is no archive of an environment in Python: {0}")]
    Unreadable(String),
    /// It is too large for a page.
    #[error(
        "the environment and its packages have {bytes} bytes; at most {LARGEST} are taken: leave packages out that a page does not need"
    )]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// A wheel has compiled code.
    #[error(
        "`{wheel}` is no pure Python package, and a page has no other compiled packages than NumPy: play it with `run: host`"
    )]
    Compiled {
        /// The wheel.
        wheel: String,
    },
}

impl From<zip::result::ZipError> for ArchiveError {
    fn from(error: zip::result::ZipError) -> Self {
        Self::Unreadable(error.to_string())
    }
}

impl From<std::io::Error> for ArchiveError {
    fn from(error: std::io::Error) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// Checks whether the bytes begin as an archive does.
pub fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04")
}

/// An archive that is being made.
#[derive(Clone, Debug, Default)]
pub struct Archive {
    manifest: Manifest,
    files: BTreeMap<String, Vec<u8>>,
}

impl Archive {
    /// An archive of a world as the study names it, for pages that load this release; with NumPy if it needs that.
    pub fn new(world: serde_json::Value, release: &Release, needs_numpy: bool) -> Self {
        let packages = needs_numpy.then(|| crate::NUMPY.to_owned());
        let mut archive = Self {
            manifest: Manifest {
                world,
                packages: packages.into_iter().collect(),
                pyodide: release.version().to_owned(),
                release: release.hashes().clone(),
                wheels: BTreeMap::new(),
            },
            files: BTreeMap::new(),
        };
        for (name, text) in SUPPORT.into_iter().chain([("serve", SERVE)]) {
            archive.add(
                "packages/coplay_page/",
                &format!("{name}.py"),
                text.as_bytes(),
            );
        }
        archive
    }

    /// Adds a file of the study's folder.
    pub fn add_source(&mut self, name: &str, bytes: &[u8]) {
        self.add("study/", name, bytes);
    }

    /// Adds the contents of a wheel, if it is pure Python.
    ///
    /// # Errors
    /// [`ArchiveError::Compiled`], or bytes that are not a wheel.
    pub fn add_wheel(&mut self, name: &str, bytes: &[u8]) -> Result<(), ArchiveError> {
        if !name.ends_with("-none-any.whl") {
            let wheel = name.to_owned();
            return Err(ArchiveError::Compiled { wheel });
        }
        let mut wheel = ZipArchive::new(Cursor::new(bytes))?;
        for index in 0..wheel.len() {
            let mut file = wheel.by_index(index)?;
            let Some(path) = file.enclosed_name().filter(|_| file.is_file()) else {
                continue;
            };
            let mut content = Vec::new();
            file.read_to_end(&mut content)?;
            self.add("packages/", &path.to_string_lossy(), &content);
        }
        let hash = protocol::hash::sha256_hex(bytes);
        self.manifest.wheels.insert(name.to_owned(), hash);
        Ok(())
    }

    fn add(&mut self, folder: &str, name: &str, bytes: &[u8]) {
        self.files.insert(format!("{folder}{name}"), bytes.to_vec());
    }

    /// The archive as bytes: the same content gives the same bytes.
    ///
    /// # Errors
    /// [`ArchiveError::TooLarge`].
    pub fn pack(mut self) -> Result<Vec<u8>, ArchiveError> {
        let manifest = serde_json::to_vec(&self.manifest);
        let manifest = manifest.map_err(|error| ArchiveError::Unreadable(error.to_string()))?;
        self.files.insert(MANIFEST.to_owned(), manifest);
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default())
            .unix_permissions(0o644);
        for (name, bytes) in &self.files {
            zip.start_file(name.as_str(), options)?;
            zip.write_all(bytes)?;
        }
        let bytes = zip.finish()?.into_inner();
        match bytes.len() {
            len if len > LARGEST => Err(ArchiveError::TooLarge { bytes: len }),
            _ => Ok(bytes),
        }
    }
}

impl Manifest {
    /// Reads the manifest of an archive.
    ///
    /// # Errors
    /// [`ArchiveError::Unreadable`].
    pub fn read(bytes: &[u8]) -> Result<Self, ArchiveError> {
        let mut zip = ZipArchive::new(Cursor::new(bytes))?;
        let mut text = String::new();
        // A file of a few lines; a longer one is not one of ours.
        let file = zip.by_name(MANIFEST)?;
        file.take(1 << 20).read_to_string(&mut text)?;
        serde_json::from_str(&text)
            .map_err(|error| ArchiveError::Unreadable(format!("{MANIFEST}: {error}")))
    }
}
