//! `trim FROM TO EPISODE...`: keeps some episodes of a recording, so that the repository stays small.
//!
//! `tests/golden` has episodes 0 and 4 of each recording: `cargo run -p parity --example trim FROM TO 0 4`.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to, episodes @ ..] = &arguments[..] else {
        anyhow::bail!("name the recording, the new file, and the episodes to keep");
    };
    let episodes = episodes
        .iter()
        .map(|episode| Ok(episode.parse::<u64>()?))
        .collect::<Result<Vec<_>>>()
        .context("episodes are numbers")?;
    let lines = BufReader::new(GzDecoder::new(File::open(from)?)).lines();
    let mut out = GzEncoder::new(File::create(to)?, Compression::best());
    let mut keep = false;
    for line in lines {
        let line = line?;
        let value: Value = serde_json::from_str(&line)?;
        if let Some(episode) = value["episode"].as_u64() {
            keep = episodes.contains(&episode);
        }
        if keep {
            writeln!(out, "{line}")?;
        }
    }
    out.finish()?;
    Ok(())
}
