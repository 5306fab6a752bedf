//! A study that is prepared for publication, and the checks of changes since then.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::collections::BTreeSet;

use serde_json::Value;

use super::*;

/// A data folder of an earlier program, which nothing is written to.
fn folder() -> tempfile::TempDir {
    let from =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data-folders/v1/overcooked-dyad/data");
    let folder = tempfile::tempdir().unwrap();
    copy(&from, &folder.path().join("data"));
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), &target).unwrap()),
        }
    }
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

async fn written(folder: &Path, name: &str) -> PathBuf {
    let facts = CrateFacts::read(EXAMPLE).unwrap();
    let out = folder.join(name);
    let report = write_crate(&folder.join("data"), &out, &facts, &StopFlag::default())
        .await
        .unwrap();
    assert!(report.episodes > 0 && report.skipped.is_empty(), "{report}");
    out
}

#[tokio::test]
async fn a_published_study_is_verified_as_an_archive_and_as_a_folder() {
    let folder = folder();
    let out = written(folder.path(), "study.zip").await;
    let found = check_crate(&out).unwrap();
    assert!(found.is_fine(), "{found}");
    assert!(!found.record.episodes.is_empty());
    let again = written(folder.path(), "again.zip").await;
    assert_eq!(
        fs::read(&out).unwrap().len(),
        fs::read(&again).unwrap().len()
    );
    let plain = written(folder.path(), "study").await;
    assert!(check_crate(&plain).unwrap().is_fine());
    let names: BTreeSet<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 4, "nothing is left over: {names:?}");
}

#[tokio::test]
async fn what_was_altered_is_named() {
    let folder = folder();
    let out = written(folder.path(), "study").await;
    let episodes = out.join(RECORD).join(archive::FOLDER);
    let first = fs::read_dir(&episodes)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    fs::remove_file(&first).unwrap();
    fs::write(out.join("README.md"), "mine").unwrap();
    fs::write(out.join("extra.txt"), "mine").unwrap();
    let found = check_crate(&out).unwrap();
    let told = found.altered.join("\n");
    for part in [
        "README.md has another hash",
        "extra.txt is not listed",
        "is missing",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!found.is_fine());
}

#[tokio::test]
async fn a_table_that_says_something_else_than_the_recording_is_found() {
    let folder = folder();
    let out = written(folder.path(), "study").await;
    let table = psych_ds::table_path(&out.join(DATA), "overcooked-dyad", "episodes");
    let text = fs::read_to_string(&table).unwrap();
    let found = check_crate(&out).unwrap();
    let ticks = format!(",{},", found.record.episodes[0].ticks);
    assert!(text.contains(&ticks), "{text}");
    fs::write(&table, text.replacen(&ticks, ",77,", 1)).unwrap();
    let found = check_crate(&out).unwrap();
    assert!(
        found.altered.iter().any(|told| told.contains("77 ticks")),
        "{found}"
    );
}

#[tokio::test]
async fn every_standard_describes_every_column_and_nothing_names_a_person() {
    let folder = folder();
    let out = written(folder.path(), "study").await;
    let tables = read(&out.join(TABLES).join(DICTIONARY));
    let croissant = read(&out.join("croissant.json"));
    let psych_ds = read(&out.join("dataset_description.json"));
    let sets = croissant["recordSet"].as_array().unwrap();
    let variables: BTreeSet<&str> = psych_ds["variableMeasured"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variable| variable["name"].as_str().unwrap())
        .collect();
    for table in tables["tables"].as_array().unwrap() {
        let set = sets
            .iter()
            .find(|set| set["name"] == table["name"])
            .unwrap();
        let columns = table["columns"].as_array().unwrap();
        assert_eq!(set["field"].as_array().unwrap().len(), columns.len());
        for column in columns {
            assert!(
                variables.contains(column["name"].as_str().unwrap()),
                "{column}"
            );
        }
        let name = table["name"].as_str().unwrap();
        assert!(psych_ds::table_path(&out.join(DATA), "overcooked-dyad", name).is_file());
    }
    let people = fs::read_to_string(out.join("participants.tsv")).unwrap();
    assert!(people.lines().count() > 1);
    for person in people.lines().skip(1) {
        let subject = person.split('\t').next().unwrap();
        let file = format!("{subject}/beh/{subject}_task-overcookeddyad_beh.tsv");
        let rows = fs::read_to_string(out.join(file)).unwrap();
        assert!(rows.starts_with("stage_id\tgroup_id\tround\t"), "{rows}");
    }
    let sidecar = read(&out.join("task-overcookeddyad_beh.json"));
    assert!(sidecar["TaskName"].is_string() && sidecar["score"]["Description"].is_string());
    for key in ["Name", "BIDSVersion", "name", "description"] {
        assert!(psych_ds[key].is_string(), "{key}");
    }
    let metadata = read(&out.join(METADATA));
    let listed = metadata["@graph"].as_array().unwrap();
    assert!(
        listed
            .iter()
            .any(|entity| entity["@id"] == "croissant.json")
    );
    let environment = |entity: &&Value| {
        let id = entity["@id"].as_str().unwrap_or_default();
        id.starts_with("record/modules/")
    };
    let environment = listed.iter().find(environment).unwrap();
    assert_eq!(environment["encodingFormat"], "application/wasm");
    assert_eq!(
        environment["description"],
        "An environment as a WebAssembly module."
    );
    let files = contents::list_files(&out).unwrap();
    assert!(
        files
            .iter()
            .all(|file| !file.path.contains("sqlite") && !file.path.contains("secret"))
    );
}

#[test]
fn each_person_gets_their_episodes_in_their_order_however_the_table_mixes_people() {
    let folder = tempfile::tempdir().unwrap();
    let (root, facts) = (folder.path(), CrateFacts::read(EXAMPLE).unwrap());
    let described = Described {
        facts: &facts,
        study: "dyad".to_owned(),
        version: "1".to_owned(),
        title: "Dyad".to_owned(),
        protocol: None,
        days: None,
        people: 3,
        tables: Vec::new(),
    };
    fs::create_dir(root.join(DATA)).unwrap();
    let write = |table, text: &str| {
        let path = psych_ds::table_path(&root.join(DATA), "dyad", table);
        fs::write(path, text).unwrap();
    };
    let sessions = "P-A,completed,warm\nP-B,completed,cool\nP-C,timed_out,\n";
    write(
        "sessions",
        &format!("participant_id,outcome,treatment\n{sessions}"),
    );
    // Two people in each episode, and an AI partner; one of the people has no session any more.
    let rows = (0..200).map(|at| {
        let other = ["P-B", "P-GONE", ""][at % 3];
        format!("dyad,1,e-{at},P-A,0\ndyad,1,e-{at},{other},1\n")
    });
    let rows: String = rows.collect();
    write(
        "seats",
        &format!("study_id,version,episode_id,participant_id,seat\n{rows}"),
    );
    bids::write_files(root, &described).unwrap();
    let behaviour = |subject: &str| {
        let file = format!("{subject}/beh/{subject}_task-dyad_beh.tsv");
        let text = fs::read_to_string(root.join(file)).unwrap();
        let lines = text.lines().map(str::to_owned);
        lines.collect::<Vec<_>>()
    };
    let first = behaviour("sub-PA");
    assert_eq!(first[..2], ["episode_id\tseat", "e-0\t0"]);
    assert_eq!((first.len(), first[200].as_str()), (201, "e-199\t0"));
    assert_eq!(behaviour("sub-PB").len(), 68);
    assert_eq!(behaviour("sub-PC"), ["episode_id\tseat"]);
    assert!(!root.join("sub-PGONE").exists());
}

#[test]
fn facts_that_are_missing_or_unknown_are_named() {
    for (text, part) in [
        ("{}", "description"),
        (r#"{"descriptoin": "x"}"#, "descriptoin"),
        (
            r#"{"description": "x", "authors": [], "license": "CC0-1.0", "url": "x"}"#,
            "authors",
        ),
        ("no json", "write for example"),
    ] {
        let error = CrateFacts::read(text).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}
