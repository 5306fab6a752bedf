//! A study that changed while participants are on their way through it: who continues, who ends, and when the server
//! does not start at all.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde_json::Value;
use study::Study;

use crate::Session;
use crate::data_folder::DataDir;

/// The rule for participants who are in the middle of another version of the study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnStudyChange {
    /// Do not start: They can finish only with the old version.
    #[default]
    Refuse,
    /// Continue them in the new version. Stages and blocks must be the same; texts and parameters can differ.
    Carry,
    /// End their sessions with the outcome `technical`.
    End,
}

/// The participants whose sessions are to end now, as the study that they are in is another one.
///
/// # Errors
/// They cannot continue in this version, or `changed` refuses them.
pub fn list_stale(
    study: &Study,
    data: &DataDir,
    sessions: &[Session],
    changed: OnStudyChange,
) -> anyhow::Result<BTreeSet<String>> {
    let is_stale = |session: &&Session| {
        let old = &session.study_hash;
        session.outcome.is_none()
            && *old != study.hash
            && !data.carried_path(old, &study.hash).exists()
    };
    let stale: Vec<&Session> = sessions.iter().filter(is_stale).collect();
    let hashes: BTreeSet<&str> = stale
        .iter()
        .map(|session| session.study_hash.as_str())
        .collect();
    if hashes.is_empty() {
        return Ok(BTreeSet::new());
    }
    let same_way = |hash: &&str| {
        let canonical = std::fs::read_to_string(data.study(hash));
        canonical.is_ok_and(|canonical| study.walks_as(&canonical))
    };
    let can_go_on = hashes.iter().all(same_way);
    match changed {
        OnStudyChange::Refuse => bail!("{}", refusal(study, stale.len(), can_go_on)),
        OnStudyChange::Carry if !can_go_on => bail!(
            "{} on the way through a version of the study with other stages, blocks or factors, so nobody can say \
             where they would continue; end their sessions with --changed end, or serve the study as it was until they are done",
            are(stale.len()),
        ),
        OnStudyChange::Carry => {
            for hash in hashes {
                let file = data.carried_path(hash, &study.hash);
                std::fs::write(&file, "")
                    .with_context(|| format!("cannot write {}", file.display()))?;
            }
            tracing::warn!(
                sessions = stale.len(),
                "participants go on in another version of the study"
            );
            Ok(BTreeSet::new())
        }
        OnStudyChange::End => {
            tracing::warn!(
                sessions = stale.len(),
                "sessions of another version of the study end as technical"
            );
            Ok(stale
                .into_iter()
                .map(|session| session.participant.clone())
                .collect())
        }
    }
}

/// Returns every version of a study that a data folder has, in canonical form.
///
/// # Errors
/// The disk refused.
pub fn list_kept(dir: &Path) -> anyhow::Result<Vec<String>> {
    let folder = dir.join("studies");
    let files = match std::fs::read_dir(&folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        files => files.with_context(|| format!("cannot read {}", folder.display()))?,
    };
    let paths = files.map(|file| Ok(file?.path()));
    let mut paths = paths.collect::<anyhow::Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    let read = |path: &PathBuf| {
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
    };
    paths.iter().map(read).collect()
}

/// Refuses the data folder of another study, although nobody may be in the middle of it: its links open that study.
///
/// # Errors
/// The folder has studies, and none with the id of this one; the disk.
pub fn refuse_other(study: &Study, dir: &Path) -> anyhow::Result<()> {
    let id = |text: String| {
        let canonical: Value = serde_json::from_str(&text).ok()?;
        Some(canonical["study"]["id"].as_str()?.to_owned())
    };
    let ids: BTreeSet<String> = list_kept(dir)?.into_iter().filter_map(id).collect();
    if !ids.is_empty() && !ids.contains(&study.id) {
        let ids = Vec::from_iter(ids).join("`, `");
        bail!(
            "{} belongs to the study `{ids}`, and this one is `{}`; choose another folder with --data",
            dir.display(),
            study.id
        );
    }
    Ok(())
}

fn are(count: usize) -> String {
    match count {
        1 => "one participant is".to_owned(),
        count => format!("{count} participants are"),
    }
}

fn refusal(study: &Study, count: usize, can_go_on: bool) -> String {
    let carry = match can_go_on {
        true => {
            "\n  --changed carry  to let them continue in this version, which has the same stages and blocks"
        }
        false => "",
    };
    format!(
        "{} on the way through another version of the study `{}`; serve the study as it was until they are done, or say what becomes of them:\n  \
         --data FOLDER    to begin this version with a data folder of its own{carry}\n  \
         --changed end    to end their sessions with the outcome `technical`",
        are(count),
        study.id
    )
}
