//! The files of the front end: embedded in the binary, or read from a folder.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use rust_embed::RustEmbed;
use sha2::{Digest, Sha256};

/// `dist/` as it was when the binary was built; a debug build reads it from the disk.
#[derive(RustEmbed)]
#[folder = "../dist"]
#[allow_missing = true]
struct Embedded;

/// Where the front end comes from.
#[derive(Clone, Debug)]
pub enum Assets {
    /// From the binary.
    Embedded,
    /// From a folder.
    Folder(PathBuf),
}

/// Bytes of a file of the front end.
pub type Bytes = Cow<'static, [u8]>;

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

    /// The environment module of an id, as `cargo xtask` lays it down.
    pub fn module(&self, env: &str) -> Option<Bytes> {
        self.read(&format!("modules/{env}.wasm"))
    }
}

/// Whether a path names a file below its folder, with no step up or aside.
fn is_plain(path: &str) -> bool {
    !path.contains('\\')
        && Path::new(path)
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
}

/// SHA-256, lower-case hex.
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Whether a name is a SHA-256, and so cannot lead out of a folder.
pub fn is_sha256(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
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
    fn a_hash_is_sixty_four_lower_case_digits() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_hex(b"abc"), expected);
    }
}
