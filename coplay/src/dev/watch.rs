//! Notices that a folder changed, by looking at names, times and lengths: it needs nothing of the system, and works on
//! shared and mounted folders too.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::time::{Interval, MissedTickBehavior, interval};

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(300);

/// The most files that are looked at.
const MAX_FILES: usize = 5_000;

/// The deepest folder that is looked into.
const MAX_DEPTH: usize = 8;

type Files = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

/// A folder under watch.
pub(super) struct Watch {
    dir: PathBuf,
    /// The data folder, which is left out: it is written while the study runs.
    data: PathBuf,
    seen: Files,
    beat: Interval,
}

impl Watch {
    /// Watches a folder from now on, except the data folder and hidden files.
    pub(super) fn of(dir: &Path, data: &Path) -> Self {
        let mut beat = interval(PAUSE);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut watch = Self {
            dir: dir.to_owned(),
            data: std::path::absolute(data).unwrap_or_else(|_| data.to_owned()),
            seen: Files::new(),
            beat,
        };
        watch.seen = watch.look();
        watch
    }

    /// Waits until the folder has changed, and then stood still for a look: an editor may write in several steps.
    /// Returns the files that changed, came or went, relative to the folder.
    pub(super) async fn list_changed(&mut self) -> Vec<PathBuf> {
        let mut before = self.look();
        loop {
            self.beat.tick().await;
            let now = self.look();
            if now == before && now != self.seen {
                let before = mem::replace(&mut self.seen, now);
                return self.list_differences(&before);
            }
            before = now;
        }
    }

    fn list_differences(&self, before: &Files) -> Vec<PathBuf> {
        let all: BTreeSet<&PathBuf> = before.keys().chain(self.seen.keys()).collect();
        let changed = all
            .into_iter()
            .filter(|path| before.get(*path) != self.seen.get(*path));
        let named = changed.map(|path| path.strip_prefix(&self.dir).unwrap_or(path));
        named.map(Path::to_owned).collect()
    }

    fn look(&self) -> Files {
        let mut files = Files::new();
        self.into(&self.dir, 0, &mut files);
        files
    }

    fn into(&self, dir: &Path, depth: usize, files: &mut Files) {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_data = std::path::absolute(&path).is_ok_and(|path| path == self.data);
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            if is_data || is_hidden || files.len() >= MAX_FILES {
                continue;
            }
            match entry.metadata() {
                Ok(facts) if facts.is_dir() && depth < MAX_DEPTH => {
                    self.into(&path, depth + 1, files)
                }
                Ok(facts) => drop(files.insert(path, (facts.modified().ok(), facts.len()))),
                Err(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_change_is_noticed_once_and_data_are_no_change() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        std::fs::create_dir_all(&data).unwrap();
        let mut watch = Watch::of(dir.path(), &data);
        std::fs::write(data.join("rows"), "1").unwrap();
        std::fs::write(dir.path().join(".swp"), "1").unwrap();
        let quiet = tokio::time::timeout(PAUSE * 5, watch.list_changed()).await;
        assert!(quiet.is_err(), "data and hidden files are no change");
        std::fs::write(dir.path().join("how.md"), "# How").unwrap();
        let files = tokio::time::timeout(PAUSE * 5, watch.list_changed()).await;
        assert_eq!(files.unwrap(), [PathBuf::from("how.md")]);
        let quiet = tokio::time::timeout(PAUSE * 5, watch.list_changed()).await;
        assert!(quiet.is_err(), "a change is told once");
    }
}
