//! The release of Pyodide that pages load, and NumPy for it: its place, and whether it is complete.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use flate2::Compression;
use flate2::write::GzEncoder;
use protocol::hash::sha256_hex;
use serde::Deserialize;

/// The one compiled package that pages have.
pub const NUMPY: &str = "numpy";

/// The files of a release that pages load, beside the wheel of NumPy.
pub const FILES: [&str; 5] = [
    "pyodide.mjs",
    "pyodide.asm.js",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
    LOCK,
];

const LOCK: &str = "pyodide-lock.json";

/// The folder of releases inside a folder that has some.
const FOLDER: &str = "pyodide";

/// The file of an installed release with the hash of each other file.
const SUMS: &str = "SHA256SUMS";

/// The newest release that is known: its version, and the name of NumPy's wheel in it.
pub const NEWEST: (&str, &str) = (
    "0.27.7",
    "numpy-2.0.2-cp312-cp312-pyodide_2024_0_wasm32.whl",
);

/// The ending of a file in gzip.
const PACKED: &str = "gz";

/// SHA-256 of the files of releases that are known, as published.
const KNOWN: [(&str, [(&str, &str); 4]); 1] = [(
    "0.27.7",
    [
        (
            "pyodide.mjs",
            "04c052c815abb0bf2981fa38c2dfa58e3120ee5288c956df2b2a15e301782c5f",
        ),
        (
            "pyodide.asm.js",
            "6b4c90de5b7172873f04f21884d0e9d2274e305fe32116558fe3e4fbe3618d51",
        ),
        (
            "pyodide.asm.wasm",
            "a50dd1843f805a0b7c45b61037ee0d7b26dfe85efe0e18ef95a34ad24e401f5f",
        ),
        (
            "python_stdlib.zip",
            "16611534726e5d8ac2bd8f926410b2dcb8d6f49aa24913463533b457a2115c16",
        ),
    ],
)];

/// A release on this machine, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    folder: PathBuf,
    version: String,
    hashes: BTreeMap<String, String>,
}

impl Release {
    /// The folder with its files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Version of Pyodide.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// SHA-256 of each of its files, by name; lower-case hex.
    pub fn hashes(&self) -> &BTreeMap<String, String> {
        &self.hashes
    }

    /// Reads a file that pages load; `None` if it has none of that name.
    pub fn read_file(&self, name: &str) -> Option<ReleaseFile> {
        // The names of files are known, so that no name leads out of the folder.
        let (name, _) = self.hashes.get_key_value(name)?;
        let path = self.folder.join(name);
        Some(ReleaseFile {
            packed: fs::read(path.with_added_extension(PACKED)).ok(),
            bytes: fs::read(path).ok()?,
        })
    }
}

/// A file of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseFile {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The same in gzip, where that is shorter.
    pub packed: Option<Vec<u8>>,
}

/// A release that cannot be installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// A file is missing.
    #[error("{0} has no file `{1}`: give the folder of a Pyodide release, unpacked (`--from DIR`)")]
    Missing(PathBuf, String),
    /// A file cannot be read or written.
    #[error("{0}: {1}")]
    Disk(PathBuf, std::io::Error),
    /// The list of packages cannot be read.
    #[error("{0}: it is no list of packages of a Pyodide release: {1}")]
    Lock(PathBuf, String),
    /// The version is none whose hashes are known.
    #[error("this is Pyodide {found}, and Coplay knows {known}: take that release")]
    Version {
        /// The version that is there.
        found: String,
        /// Versions that are known.
        known: String,
    },
    /// A file is not the published one.
    #[error(
        "{path}: this is not the file of the release: its SHA-256 is {found}, and that of the release {expected}. Files of different versions do not go together: take all of them from one release"
    )]
    Hash {
        /// The file.
        path: PathBuf,
        /// Its hash.
        found: String,
        /// The hash of the published file.
        expected: String,
    },
}

#[derive(Deserialize)]
struct Lock {
    info: LockInfo,
    packages: BTreeMap<String, LockPackage>,
}

#[derive(Deserialize)]
struct LockInfo {
    version: Option<String>,
    python: Option<String>,
}

#[derive(Deserialize)]
struct LockPackage {
    file_name: String,
    sha256: String,
}

/// Checks the files of a release in `from`, and copies them into `folder`, in a folder named after the version.
///
/// # Errors
/// [`InstallError`]; nothing is installed then.
pub fn install_release(from: &Path, folder: &Path) -> Result<Release, InstallError> {
    let read = |name: &str| {
        let path = from.join(name);
        match fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(InstallError::Missing(from.to_owned(), name.to_owned()))
            }
            other => other.map_err(|error| InstallError::Disk(path, error)),
        }
    };
    let text = read(LOCK)?;
    let told = |what: String| InstallError::Lock(from.join(LOCK), what);
    let lock: Lock = serde_json::from_slice(&text).map_err(|error| told(error.to_string()))?;
    let numpy = lock.packages.get(NUMPY);
    let numpy = numpy.ok_or_else(|| told("it has no numpy".to_owned()))?;
    let mut files = BTreeMap::new();
    for name in FILES.into_iter().chain([numpy.file_name.as_str()]) {
        files.insert(name.to_owned(), read(name)?);
    }
    let hashes: BTreeMap<String, String> = files
        .iter()
        .map(|(name, bytes)| (name.clone(), sha256_hex(bytes)))
        .collect();
    let version = version_of(&lock, &hashes, from)?;
    let mut expected: Vec<(&str, &str)> = expected_hashes(&version).to_vec();
    expected.push((&numpy.file_name, &numpy.sha256));
    for (name, expected) in expected {
        let found = &hashes[name];
        if found != expected {
            return Err(InstallError::Hash {
                path: from.join(name),
                found: found.clone(),
                expected: expected.to_owned(),
            });
        }
    }
    let folder = folder.join(FOLDER).join(&version);
    write_files(&folder, &files, &hashes)?;
    Ok(Release {
        folder,
        version,
        hashes,
    })
}

/// The version of the release that has one of these files.
fn version_of(
    lock: &Lock,
    hashes: &BTreeMap<String, String>,
    from: &Path,
) -> Result<String, InstallError> {
    let is_of = |(_, files): &&(&str, [(&str, &str); 4])| {
        files
            .iter()
            .any(|(name, hash)| hashes.get(*name).is_some_and(|found| found == hash))
    };
    if let Some((version, _)) = KNOWN.iter().find(is_of) {
        return Ok((*version).to_owned());
    }
    let said = lock.info.version.clone().or_else(|| {
        lock.info
            .python
            .as_ref()
            .map(|python| format!("for Python {python}"))
    });
    Err(InstallError::Version {
        found: said.unwrap_or_else(|| from.display().to_string()),
        known: KNOWN.map(|(version, _)| version).join(", "),
    })
}

fn expected_hashes(version: &str) -> &'static [(&'static str, &'static str)] {
    let known = KNOWN.iter().find(|(known, _)| *known == version);
    known.map_or(&[], |(_, files)| files)
}

/// Writes all files beside the folder first, so that a folder with the version's name is whole.
fn write_files(
    folder: &Path,
    files: &BTreeMap<String, Vec<u8>>,
    hashes: &BTreeMap<String, String>,
) -> Result<(), InstallError> {
    let disk = |path: &Path| {
        let path = path.to_owned();
        move |error| InstallError::Disk(path, error)
    };
    let fresh = folder.with_extension("new");
    fs::create_dir_all(&fresh).map_err(disk(&fresh))?;
    let sums: String = hashes
        .iter()
        .map(|(name, hash)| format!("{hash}  {name}\n"))
        .collect();
    let sums = (SUMS.to_owned(), sums.into_bytes());
    for (name, bytes) in files.iter().chain([(&sums.0, &sums.1)]) {
        let path = fresh.join(name);
        fs::write(&path, bytes).map_err(disk(&path))?;
        if name.ends_with(".js") || name.ends_with(".mjs") || name.ends_with(".wasm") {
            let packed = path.with_added_extension(PACKED);
            fs::write(&packed, pack(bytes).map_err(disk(&packed))?).map_err(disk(&packed))?;
        }
    }
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(disk(folder))?;
    }
    fs::rename(&fresh, folder).map_err(disk(folder))
}

fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(bytes)?;
    packer.finish()
}

/// Folders that are looked into first, the latest before the others.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Has releases looked for in a folder as well, such as a data folder.
pub fn add_folder(folder: PathBuf) {
    let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    folders.retain(|known| *known != folder);
    folders.insert(0, folder);
}

/// The folder for what environments need at work: the latest that was added, or the user's own.
pub(crate) fn working_folder() -> Option<PathBuf> {
    let added = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    added.first().cloned().or_else(user_folder)
}

/// The folder of this user for what all studies share: `COPLAY_HOME`, or `.coplay` in the home folder.
pub fn user_folder() -> Option<PathBuf> {
    let own = std::env::var_os("COPLAY_HOME").map(PathBuf::from);
    own.or_else(|| std::env::home_dir().map(|home| home.join(".coplay")))
}

/// The installed release of a version, or the newest one: in the folders that were added, then in the user's own.
pub fn find_release(version: Option<&str>) -> Option<Release> {
    let added = FOLDERS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    let folders = added.into_iter().chain(user_folder());
    let versions = KNOWN.iter().rev().map(|(known, _)| *known);
    let versions: Vec<&str> = versions
        .filter(|known| version.is_none_or(|wanted| wanted == *known))
        .collect();
    folders
        .flat_map(|folder| {
            versions
                .iter()
                .map(move |version| (folder.join(FOLDER).join(version), *version))
                .collect::<Vec<_>>()
        })
        .find_map(|(folder, version)| read_release(folder, version))
}

/// Reads an installed release; its files were checked when it was installed.
fn read_release(folder: PathBuf, version: &str) -> Option<Release> {
    let sums = fs::read_to_string(folder.join(SUMS)).ok()?;
    let hashes: BTreeMap<String, String> = sums
        .lines()
        .filter_map(|line| line.split_once("  "))
        .map(|(hash, name)| (name.to_owned(), hash.to_owned()))
        .collect();
    let is_whole = hashes.keys().all(|name| folder.join(name).is_file())
        && FILES.iter().all(|name| hashes.contains_key(*name));
    is_whole.then(|| Release {
        folder,
        version: version.to_owned(),
        hashes,
    })
}
