//! Annotations of replays.

use super::*;

const STUDY: &str = r#"{"study":{"language":"en"},"timeline":[{"clips":[{"stage":"play"},{"episode":1,"stage":"play"}],"id":"look","type":"watch"}]}"#;

/// A data folder with two episodes of one visit, which a person watched again.
async fn folder(answers: &[(&str, &str)]) -> tempfile::TempDir {
    let data = tempfile::tempdir().unwrap();
    let store = StudyStore::open(data.path()).await.unwrap();
    let hash = protocol::hash::sha256_hex(STUDY.as_bytes());
    store.keep_study(&hash, STUDY).await.unwrap();
    let session = NewSession {
        number: 0,
        participant: "P-A".into(),
        token: "secret".into(),
        link: None,
        study: "dyad".into(),
        study_version: "2".into(),
        study_hash: hash,
        identity: None,
        place: place(),
    };
    store.create_session(&session).await.unwrap();
    for (id, visit) in [("e-0", 1), ("e-1", 3), ("e-2", 3), ("e-3", 9)] {
        let new = NewEpisode {
            id: id.into(),
            era: protocol::Era(0),
            group: "G-1".into(),
            stage: "play".into(),
            path: format!("episodes/{id}.coplay"),
            participants: vec![String::new(), "P-A".into()],
            visits: vec![0, visit],
            draw: "{}".into(),
            bindings: "{}".into(),
        };
        store.create_episode(&new).await.unwrap();
        store
            .end_episode(id, EndReason::Played, None, None)
            .await
            .unwrap();
    }
    let answer = |(name, value): &(&str, &str)| Answer {
        name: (*name).into(),
        value: (*value).into(),
    };
    let answers = Answers {
        stage: "look".into(),
        stage_index: 2,
        visit: 4,
        answers: answers.iter().map(answer).collect(),
        marks: Vec::new(),
        shown: Vec::new(),
        pages_ms: vec![1_000],
    };
    store
        .save_place("P-A", &place(), Some(&answers))
        .await
        .unwrap();
    assert_eq!(
        store
            .list_last_episodes(&server_core::token::token_hash("secret"), "play")
            .await
            .unwrap(),
        [("e-3".to_owned(), 1)]
    );
    store.close().await;
    data
}

async fn annotations(answers: &[(&str, &str)]) -> (Cells, usize) {
    let data = folder(answers).await;
    let out = data.path().join("out");
    let report = export(data.path(), &out, &ExportOptions::default())
        .await
        .unwrap();
    let parts = Cells::read(path(&report, "response_parts"));
    (Cells::read(path(&report, "annotations")), parts.rows.len())
}

#[tokio::test]
async fn samples_and_spans_have_a_row_each_with_their_ticks_and_episode() {
    let rating = r#"{"first":20,"every_ticks":5,"values":[null,50,0]}"#;
    let marks = r#"[{"first":21,"end":30,"label":"idea","text":"NA"}]"#;
    let (table, parts) = annotations(&[("rating", rating), ("marks", marks)]).await;
    assert_eq!(parts, 0, "no number of a rating is an answer of its own");
    assert_eq!(table.column("kind"), ["rating", "rating", "mark"]);
    assert_eq!(table.column("clip_episode_id"), ["e-2"; 3]);
    assert_eq!(table.column("clip_seat"), ["1"; 3]);
    assert_eq!(
        table.cells(2, "clip first_tick end_tick value label text"),
        ["1", "21", "30", "", "idea", "'NA"]
    );
    assert_eq!(
        table.cells(1, "first_tick end_tick value label"),
        ["30", "34", "0", ""]
    );
}

#[tokio::test]
async fn a_choice_names_its_clip_and_its_side_and_a_missing_replay_is_told() {
    let (table, _) = annotations(&[("choice", "2"), ("left", "2")]).await;
    assert_eq!(
        table.cells(0, "kind clip clip_episode_id left"),
        ["choice", "2", "e-1", "2"]
    );
    let (table, _) = annotations(&[("choice", "\"same\""), ("left", "1")]).await;
    assert_eq!(
        table.cells(0, "kind clip clip_episode_id left"),
        ["choice", "", "", "1"]
    );
    let (table, _) = annotations(&[("missing", "true")]).await;
    assert_eq!(table.column("kind"), ["missing"]);
}
