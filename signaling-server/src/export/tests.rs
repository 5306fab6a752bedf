use protocol::control::{Answer, EndReason};

use super::*;
use crate::archive::tests::{PERSON, ZERO, ai, header, part, played};
use crate::store::{Answers, NewSession};

fn table(path: &Path) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_path(path)
        .unwrap();
    reader
        .records()
        .map(|row| row.unwrap().iter().map(str::to_owned).collect())
        .collect()
}

#[tokio::test]
async fn steps_have_a_row_for_each_tick_and_seat() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir(&dir).unwrap();
    let mut header = header([PERSON, ai("idle")], 12);
    header.participants[1].clear();
    let all = played(&header);
    let mut episode = archive::Episode::create(&dir, header.clone()).unwrap();
    episode.absorb(ZERO, &all).unwrap();
    episode.end(EndReason::Played).unwrap();
    let mut other = archive::Episode::create(
        &dir,
        Header {
            episode: "e-2".into(),
            ..header
        },
    )
    .unwrap();
    other.absorb(ZERO, &part(&all, 0, 5)).unwrap();
    fs::write(dir.join("e-3.coplay"), b"\x01COPLAY\nnothing of ours").unwrap();

    let summary = export(data.path(), &data.path().join("out")).await.unwrap();
    assert_eq!(
        (summary.episodes, summary.running, summary.steps),
        (2, 1, 34)
    );
    assert_eq!(summary.skipped.len(), 1);
    assert!(summary.skipped[0].path.ends_with("e-3.coplay"));
    let rows = table(&summary.steps_path);
    assert_eq!(rows[0], STEP_COLUMNS);
    assert_eq!(rows.len(), 35);
    let first: Vec<_> = rows[1].iter().map(String::as_str).collect();
    assert_eq!(
        first[..10],
        [
            "overcooked-dyad",
            "1",
            "play",
            "G-1",
            "e-1",
            "P-A",
            "0",
            "human",
            "false",
            "0"
        ]
    );
    let bot: Vec<_> = rows[2].iter().map(String::as_str).collect();
    assert_eq!(bot[5..10], ["", "1", "idle", "true", "0"]);
    let actions: Vec<u16> = rows[1..25]
        .iter()
        .map(|row| row[10].parse().unwrap())
        .collect();
    assert_eq!(actions, all.rows);
    // The second episode still runs.
    assert_eq!(
        (rows[1][16].as_str(), rows[25][16].as_str()),
        ("played", "")
    );
    // The horizon cuts both seats off, on the last tick alone.
    let truncated: Vec<_> = rows[1..]
        .iter()
        .filter(|row| row[15] == "true")
        .map(|row| row[9].as_str())
        .collect();
    assert_eq!(truncated, ["11", "11"]);
}

#[tokio::test]
async fn responses_have_a_row_for_each_item() {
    let data = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(data.path()).await.unwrap();
    let session = NewSession {
        participant: "P-A".into(),
        token: "secret".into(),
        link: None,
        study: "dyad".into(),
        study_version: "2".into(),
        study_hash: "ab".into(),
        position: "{}".into(),
    };
    store.create_session(&session).await.unwrap();
    let answer = |name: &str, value: &str| Answer {
        name: name.into(),
        value: value.into(),
    };
    let values = [
        "\"with, comma and \\\"quote\\\"\\nand line\"",
        "4",
        "[\"a\",\"b\"]",
        "not json",
    ];
    let answers = values
        .iter()
        .enumerate()
        .map(|(index, value)| answer(&format!("q{index}"), value))
        .collect();
    let answers = Answers {
        stage: "survey".into(),
        stage_index: 3,
        answers,
        elapsed_ms: 1_500,
    };
    store
        .save_place("P-A", "{}", Some(&answers), None)
        .await
        .unwrap();

    let summary = export(data.path(), &data.path().join("out")).await.unwrap();
    let rows = table(&summary.responses_path);
    assert_eq!((summary.responses, rows.len()), (4, 5));
    assert_eq!(rows[0], RESPONSE_COLUMNS);
    let values: Vec<_> = rows[1..].iter().map(|row| row[7].as_str()).collect();
    assert_eq!(
        values,
        [
            "with, comma and \"quote\"\nand line",
            "4",
            "[\"a\",\"b\"]",
            "not json"
        ]
    );
    assert_eq!(rows[1][..3], ["dyad", "2", "P-A"]);
    assert!(rows[1][3].starts_with("S-") && rows[1][9].ends_with('Z'));
    let bytes = fs::read_to_string(&summary.responses_path).unwrap();
    assert!(!bytes.contains("secret"));
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_named() {
    let error = export(Path::new("/nowhere/at all"), Path::new("/tmp"))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("/nowhere/at all"));
}
