//! Data folders of earlier programs: they verify, and give the same tables as then, also after today's program has
//! opened their database.
//!
//! `tests/data-folders/VERSION/EXAMPLE` is the folder `data` that a server wrote while `coplay rehearse --faults all` ran
//! an example, with `expected.json`: what the same program said about it. A new version of a log, database or module
//! format adds a folder; nothing in an existing folder ever changes. `v5b` has version 16 of the database.

#![allow(
    clippy::unwrap_used,
    reason = "clippy knows the helpers of a test only inside its function"
)]

mod erasure;
mod forged;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dataset::export::{ExportOptions, export};
use dataset::verify::{EpisodeVerdict, verify_data};
use serde::{Deserialize, Serialize};
use store::StudyStore;

/// Facts of a data folder.
#[derive(Debug, Default, PartialEq, Deserialize, Serialize)]
struct Expected {
    /// Episodes that were played again and are equal.
    equal: usize,
    ticks: u64,
    score: i64,
    /// Frames that pages showed, each rebuilt.
    frames: u64,
    /// Rows by table.
    rows: BTreeMap<String, u64>,
}

/// These people are invented, and no test writes into the configuration of the user who runs it.
fn use_trial_key() {
    store::identifier_key::choose_place(store::identifier_key::KeyPlace::Trial);
}

/// The folders of every version.
fn list_folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data-folders");
    let list = |dir: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(dir).unwrap().map(Result::unwrap);
        entries.map(|entry| entry.path()).collect()
    };
    let mut folders: Vec<_> = list(&root)
        .iter()
        .flat_map(|version| list(version))
        .collect();
    folders.sort();
    folders
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}

/// Verifies and exports a data folder.
async fn read_facts(data: &Path, out: &Path) -> Expected {
    let report = verify_data(data).await.unwrap();
    assert!(report.is_fine(), "{report}");
    let played = report.episodes.iter().filter(|episode| episode.ticks > 0);
    let mut facts = Expected::default();
    for episode in played {
        assert_eq!(episode.verdict, EpisodeVerdict::Equal, "{report}");
        assert_eq!(episode.faulty_notes, [], "{report}");
        facts.equal += 1;
        facts.ticks += u64::from(episode.ticks);
        facts.score += episode.score.unwrap_or(0);
        facts.frames += episode.frames;
    }
    let options = ExportOptions {
        seen: true,
        ..ExportOptions::default()
    };
    let report = export(data, out, &options).await.unwrap();
    assert_eq!(report.skipped, []);
    assert!(report.is_fine());
    let tables = report.tables.iter();
    let rows = tables.map(|table| (table.name.to_owned(), table.rows));
    facts.rows = rows.collect();
    facts
}

impl Expected {
    /// Leaves out tables that came later.
    fn without_later_tables(mut self, than: &Self) -> Self {
        self.rows.retain(|name, _| than.rows.contains_key(name));
        self
    }
}

#[tokio::test]
async fn data_folders_of_earlier_programs_verify_and_give_the_same_tables() {
    use_trial_key();
    let folders = list_folders();
    assert!(folders.len() >= 12, "{folders:?}");
    for folder in folders {
        let dir = tempfile::tempdir().unwrap();
        let (data, out) = (dir.path().join("data"), dir.path().join("out"));
        copy_folder(&folder.join("data"), &data);
        let expected = fs::read_to_string(folder.join("expected.json")).unwrap();
        let expected: Expected = serde_json::from_str(&expected).unwrap();
        let facts = read_facts(&data, &out).await;
        let facts = facts.without_later_tables(&expected);
        let found = serde_json::to_string_pretty(&facts).unwrap();
        assert_eq!(facts, expected, "{}: {found}", folder.display());
        // A server of today opens it, and brings the database to its own version.
        StudyStore::open(&data).await.unwrap().close().await;
        let facts = read_facts(&data, &out).await;
        let facts = facts.without_later_tables(&expected);
        assert_eq!(facts, expected, "{}", folder.display());
    }
}

#[tokio::test]
async fn a_ledger_of_version_14_takes_the_marks_and_identifiers_that_are_there() {
    use_trial_key();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data-folders");
    let dir = tempfile::tempdir().unwrap();
    copy_folder(&root.join("v4/overcooked-coord/data"), dir.path());
    let before = verify_data(dir.path()).await.unwrap().ledger.unwrap();
    assert_eq!(before.entries, 1, "the payment");
    StudyStore::open(dir.path()).await.unwrap().close().await;
    let mut report = verify_data(dir.path()).await.unwrap();
    report.require_hash(&before.hash);
    assert!(report.is_fine(), "{report}");
    assert_eq!(
        report.ledger.unwrap().entries,
        4,
        "its mark, the identifier as it was, and as it is encrypted"
    );
}
