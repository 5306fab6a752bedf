//! The host in Python, which this program carries, so that a researcher's interpreter needs nothing of ours.

use std::path::{Path, PathBuf};
use std::{fs, io};

use protocol::hash::sha256_hex;

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
    if folder.join("complete").is_file() {
        return Ok(folder);
    }
    let package = folder.join("coplay_host");
    fs::create_dir_all(&package)?;
    for (name, text) in FILES {
        // Two programs may write at the same time: each file gets its place when it is complete.
        let draft = package.join(format!("{name}.{}", std::process::id()));
        fs::write(&draft, text)?;
        fs::rename(&draft, package.join(name))?;
    }
    fs::write(folder.join("complete"), "")?;
    Ok(folder)
}
