//! Recordings line by line, to be changed.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use parity::host::Native;
use parity::{Report, replay_bytes};
use serde_json::Value;

/// The recordings of the repository.
pub(crate) fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden")
}

/// The first episode of a recording.
#[derive(Clone)]
pub(crate) struct Lines(pub(crate) Vec<String>);

impl Lines {
    pub(crate) fn of(path: &Path) -> Self {
        let mut text = String::new();
        GzDecoder::new(std::fs::File::open(path).unwrap())
            .read_to_string(&mut text)
            .unwrap();
        let is_header = |line: &&str| line.contains("\"type\"");
        let second = text
            .lines()
            .skip(1)
            .position(|line| is_header(&line))
            .map_or(usize::MAX, |second| second + 1);
        Self(text.lines().take(second).map(String::from).collect())
    }

    pub(crate) fn golden(name: &str) -> Self {
        Self::of(&golden().join(format!("{name}.jsonl.gz")))
    }

    pub(crate) fn json(&self, line: usize) -> Value {
        serde_json::from_str(&self.0[line]).unwrap()
    }
}

pub(crate) fn pack(lines: &[String]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    out.write_all(lines.join("\n").as_bytes()).unwrap();
    out.finish().unwrap()
}

pub(crate) fn replay(lines: &Lines) -> Report {
    replay_bytes(&pack(&lines.0)[..], &mut Native)
}
