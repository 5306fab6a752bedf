//! Verification of the clips of AI partners: each is played again from its seed, and gives the same bytes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use archive::{ClipError, play_again};
use protocol::log::{Log, LogError, read_log};
use serde::Serialize;
use serde_json::Value;
use store::data_folder::clip_file;

use super::verdict::EpisodeVerdict;

/// The result of verifying a clip of AI partners.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerifiedClip {
    /// Its file.
    pub path: PathBuf,
    /// The watch stage, and the number of the clip there.
    pub clip: String,
    /// Ticks played.
    pub ticks: u32,
    /// The verdict, with the reason in `because` unless everything is equal.
    #[serde(flatten)]
    pub verdict: EpisodeVerdict,
}

/// Checks every clip of a data folder, in the order of the files.
pub(super) fn check_clips(data: &Path) -> io::Result<Vec<VerifiedClip>> {
    let folder = match fs::read_dir(data.join("studies")) {
        Ok(folder) => folder,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let paths = folder.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|it| it == "clip"));
    paths.sort();
    paths
        .into_iter()
        .map(|path| check_clip(data, path))
        .collect()
}

fn check_clip(data: &Path, path: PathBuf) -> io::Result<VerifiedClip> {
    let bytes = fs::read(&path)?;
    let (clip, ticks, verdict) = match read_log(&bytes) {
        Ok(log) => {
            let verdict = judge(data, &path, &log, &bytes);
            (log.header.episode, log.through.0, verdict)
        }
        Err(error @ LogError::Version { .. }) => {
            let verdict = EpisodeVerdict::Unverified(error.to_string());
            (String::new(), 0, verdict)
        }
        Err(error) => (String::new(), 0, EpisodeVerdict::Differs(error.to_string())),
    };
    Ok(VerifiedClip {
        path,
        clip,
        ticks,
        verdict,
    })
}

fn judge(data: &Path, path: &Path, log: &Log, bytes: &[u8]) -> EpisodeVerdict {
    if let Err(because) = check_origin(data, path, log) {
        return EpisodeVerdict::Differs(because);
    }
    match play_again(log, archive::open_stored(&data.join(archive::FOLDER))) {
        Ok(again) if again == bytes => EpisodeVerdict::Equal,
        Ok(_) => EpisodeVerdict::Differs("played again from its seed, it has other bytes".into()),
        Err(ClipError::Replica(error)) => EpisodeVerdict::Unverified(error.to_string()),
        Err(error) => EpisodeVerdict::Differs(error.to_string()),
    }
}

/// Checks that the study of its name has this clip, with this seed.
fn check_origin(data: &Path, path: &Path, log: &Log) -> Result<(), String> {
    let (header, id) = (&log.header, &log.header.episode);
    let number = id.strip_prefix(&format!("{}-", header.stage));
    let number: usize = number.and_then(|it| it.parse().ok()).unwrap_or(0);
    if clip_file(data, &header.study_hash, &header.stage, number) != path {
        return Err(format!("its file has the name of another clip than `{id}`"));
    }
    let study = data
        .join("studies")
        .join(format!("{}.json", header.study_hash));
    let study = fs::read(&study).map_err(|error| format!("{}: {error}", study.display()))?;
    let study: Value = serde_json::from_slice(&study).map_err(|error| error.to_string())?;
    let stages = study["timeline"].as_array().into_iter().flatten();
    let stage = stages
        .into_iter()
        .find(|stage| stage["id"] == header.stage.as_str());
    let clip = stage.and_then(|stage| stage["clips"].get(number.checked_sub(1)?));
    match clip.and_then(|clip| clip["seed"].as_u64()) {
        Some(seed) if seed == header.seed => Ok(()),
        Some(seed) => Err(format!(
            "its seed is {}, and that of the study is {seed}",
            header.seed
        )),
        None => Err(format!("its study has no clip `{id}`")),
    }
}
