//! The files of the front end: embedded in the binary, or read from a folder.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;

use brotli_decompressor::Decompressor;
use rust_embed::RustEmbed;
use store::data_folder::Bytes;

/// `dist/` at the time of the build of the binary; a debug build reads it from the disk. Of the large files it has the
/// packed form alone.
#[derive(RustEmbed)]
#[folder = "../dist"]
#[exclude = "*.js"]
#[exclude = "*.wasm"]
#[allow_missing = true]
struct Embedded;

impl Embedded {
    fn read(path: &str) -> Option<Bytes> {
        match Self::get(path) {
            Some(file) => Some(file.data),
            None => Self::unpack(path).map(Cow::Borrowed),
        }
    }

    /// Unpacks a file at its first use, and keeps it: the front end is a few megabytes.
    fn unpack(path: &str) -> Option<&'static [u8]> {
        static UNPACKED: Mutex<BTreeMap<String, &'static [u8]>> = Mutex::new(BTreeMap::new());
        let mut unpacked = UNPACKED.lock().unwrap_or_else(|broken| broken.into_inner());
        if let Some(bytes) = unpacked.get(path) {
            return Some(bytes);
        }
        let packed = Self::get(&format!("{path}{PACKED}"))?;
        let mut bytes = Vec::new();
        Decompressor::new(&*packed.data, 1 << 16)
            .read_to_end(&mut bytes)
            .ok()?;
        let bytes: &'static [u8] = bytes.leak();
        unpacked.insert(path.to_owned(), bytes);
        Some(bytes)
    }

    fn list() -> Vec<String> {
        let listed: BTreeSet<_> = Self::iter().collect();
        let unpacked = listed.iter().filter_map(|name| name.strip_suffix(PACKED));
        let unpacked = unpacked.filter(|name| !listed.contains(*name));
        let all = unpacked.chain(listed.iter().map(AsRef::as_ref));
        all.map(str::to_owned).collect()
    }
}

/// The end of the name of a file in the form of Brotli.
const PACKED: &str = ".br";

/// The source of the front end.
#[derive(Clone, Debug)]
pub enum Assets {
    /// From the binary.
    Embedded,
    /// From a folder.
    Folder(PathBuf),
}

impl Assets {
    /// Reads a file by its path below `dist/`, such as `modules/overcooked.wasm`.
    pub fn read(&self, path: &str) -> Option<Bytes> {
        if !is_plain(path) {
            return None;
        }
        match self {
            Self::Embedded => Embedded::read(path),
            Self::Folder(dir) => std::fs::read(dir.join(path)).ok().map(Cow::Owned),
        }
    }

    /// The paths of all files below `dist/`, in order.
    pub fn list(&self) -> Vec<String> {
        let mut names = match self {
            Self::Embedded => Embedded::list(),
            Self::Folder(dir) => list_files(dir),
        };
        names.sort();
        names
    }

    /// The environment module of an id, as `cargo xtask` lays it down.
    pub fn module(&self, env: &str) -> Option<Bytes> {
        self.read(&format!("modules/{env}.wasm"))
    }
}

/// Lists the paths of the files below a folder; unreadable ones are left out.
fn list_files(dir: &Path) -> Vec<String> {
    let mut waiting = vec![PathBuf::new()];
    let mut names = Vec::new();
    while let Some(below) = waiting.pop() {
        let entries = std::fs::read_dir(dir.join(&below)).into_iter().flatten();
        for entry in entries.flatten() {
            let path = below.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => waiting.push(path),
                Ok(_) => names.push(path.to_string_lossy().replace('\\', "/")),
                Err(_) => {}
            }
        }
    }
    names
}

/// Tells if a path names a file below its folder, with no step up or aside.
fn is_plain(path: &str) -> bool {
    !path.contains('\\')
        && Path::new(path)
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
}

/// The media type of a file, by the end of its name.
pub fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, end)| end) {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" | "webmanifest" => "application/json",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" | "md" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_never_leaves_its_folder() {
        for bad in [
            "../secret",
            "a/../../b",
            "/etc/passwd",
            "a\\..\\b",
            "./x/..",
        ] {
            assert!(!is_plain(bad), "{bad}");
        }
        assert!(is_plain("modules/overcooked.wasm"));
    }

    #[test]
    fn the_program_gives_the_files_of_the_built_page() {
        let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dist");
        let folder = Assets::Folder(dist);
        let names = Assets::Embedded.list();
        assert_eq!(names, folder.list());
        for name in names {
            assert!(
                Assets::Embedded.read(&name) == folder.read(&name),
                "{name} differs"
            );
        }
    }

    #[test]
    fn a_folder_lists_what_it_can_be_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("icons")).unwrap();
        for name in ["index.html", "icons/a.svg"] {
            std::fs::write(dir.path().join(name), name).unwrap();
        }
        let assets = Assets::Folder(dir.path().to_owned());
        assert_eq!(assets.list(), ["icons/a.svg", "index.html"]);
        assert!(assets.list().iter().all(|name| assets.read(name).is_some()));
    }
}
