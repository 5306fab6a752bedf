//! The files of the front end: embedded in the binary, or read from a folder.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use rust_embed::RustEmbed;
use store::data_folder::Bytes;

/// `dist/` at the time of the build of the binary; a debug build reads it from the disk.
#[derive(RustEmbed)]
#[folder = "../dist"]
#[allow_missing = true]
struct Embedded;

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
            Self::Embedded => Embedded::get(path).map(|file| file.data),
            Self::Folder(dir) => std::fs::read(dir.join(path)).ok().map(Cow::Owned),
        }
    }

    /// The paths of all files below `dist/`, in order.
    pub fn list(&self) -> Vec<String> {
        let mut names: Vec<String> = match self {
            Self::Embedded => Embedded::iter().map(Cow::into_owned).collect(),
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
