//! The host in Python, which this program carries, so that a researcher's interpreter needs nothing of ours.

use std::io;
use std::path::{Path, PathBuf};

use protocol::hash::sha256_hex;

use crate::file_set::write_file_set;

/// The files, by name.
const FILES: [(&str, &str); 11] = [
    (
        "__init__.py",
        include_str!("../../python/coplay/host/__init__.py"),
    ),
    (
        "__main__.py",
        include_str!("../../python/coplay/host/__main__.py"),
    ),
    (
        "adapters.py",
        include_str!("../../python/coplay/host/adapters.py"),
    ),
    (
        "check.py",
        include_str!("../../python/coplay/host/check.py"),
    ),
    (
        "facts.py",
        include_str!("../../python/coplay/host/facts.py"),
    ),
    (
        "functional.py",
        include_str!("../../python/coplay/host/functional.py"),
    ),
    (
        "loading.py",
        include_str!("../../python/coplay/host/loading.py"),
    ),
    (
        "pictures.py",
        include_str!("../../python/coplay/host/pictures.py"),
    ),
    (
        "serve.py",
        include_str!("../../python/coplay/host/serve.py"),
    ),
    (
        "spaces.py",
        include_str!("../../python/coplay/host/spaces.py"),
    ),
    (
        "worlds.py",
        include_str!("../../python/coplay/host/worlds.py"),
    ),
];

/// SHA-256 of the host in Python, for the record.
pub fn python_host_sha256() -> String {
    let mut all = String::new();
    for (name, text) in FILES {
        all.push_str(&format!("{name} {}\n", sha256_hex(text.as_bytes())));
    }
    sha256_hex(all.as_bytes())
}

/// Writes the host in Python below a folder, unless it is there, and returns the folder for `PYTHONPATH`.
/// Each version has its own folder, so that a newer program disturbs no process of an older one.
///
/// # Errors
/// The folder cannot be written.
pub fn write_python_host(below: &Path) -> io::Result<PathBuf> {
    let folder = below.join(format!("host-{}", &python_host_sha256()[..16]));
    let paths = FILES.map(|(name, text)| (Path::new("coplay_host").join(name), text));
    write_file_set(&folder, paths.iter().map(|(path, text)| (&**path, *text)))?;
    Ok(folder)
}
