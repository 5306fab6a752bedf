//! Answers of people.

use super::*;

#[tokio::test]
async fn responses_have_a_row_for_each_item() {
    let data = tempfile::tempdir().unwrap();
    let store = StudyStore::open(data.path()).await.unwrap();
    let session = NewSession {
        number: 0,
        participant: "P-A".into(),
        token: "secret".into(),
        link: None,
        study: "dyad".into(),
        study_version: "2".into(),
        study_hash: "ab".into(),
        identity: None,
        place: place(),
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
        visit: 7,
        answers,
        marks: vec![Mark {
            item: "q1".into(),
            correct: false,
            flag: true,
        }],
        shown: vec![ShownOrder {
            item: "q2".into(),
            order: "[\"b\",\"a\"]".into(),
        }],
        pages_ms: vec![1_000, 500],
    };
    store
        .save_place("P-A", &place(), Some(&answers))
        .await
        .unwrap();

    let summary = export(
        data.path(),
        &data.path().join("out"),
        &ExportOptions::default(),
    )
    .await
    .unwrap();
    let responses = Cells::read(path(&summary, "responses"));
    assert_eq!(
        (summary.count_rows("responses"), responses.rows.len()),
        (Some(4), 4)
    );
    let names = "study_id version participant_id session_id stage_id stage_index visit copy episode_id group_id round item question value value_text correct flag shown page elapsed_ms at_unix_us";
    assert_eq!(responses.names.join(" "), names);
    assert_eq!(
        responses.column("value"),
        [
            "with, comma and \"quote\"\nand line",
            "4",
            "[\"a\",\"b\"]",
            "not json"
        ]
    );
    assert_eq!(responses.cells(0, "correct flag"), ["", ""]);
    assert_eq!(responses.cells(1, "correct flag"), ["false", "attention"]);
    assert_eq!(
        responses.cells(0, "study_id version participant_id visit"),
        ["dyad", "2", "P-A", "7"]
    );
    let first = &responses.rows[0];
    assert!(first["session_id"].starts_with("S-") && first["at_unix_us"].len() == 16);
    let shown = responses.column("shown");
    assert_eq!(
        [shown[0], shown[2]],
        ["", "[\"b\",\"a\"]"],
        "the order that was drawn"
    );
    assert_eq!(first["elapsed_ms"], "1500", "the time on all pages");
    let pages = Cells::read(path(&summary, "pages"));
    let names = "study_id version participant_id session_id stage_id stage_index visit copy episode_id group_id round page elapsed_ms";
    assert_eq!(pages.names.join(" "), names);
    assert_eq!(
        (summary.count_rows("pages"), pages.rows.len()),
        (Some(2), 2)
    );
    assert_eq!(pages.cells(0, "page elapsed_ms"), ["0", "1000"]);
    assert_eq!(pages.cells(1, "page elapsed_ms"), ["1", "500"]);
    let bytes = fs::read_to_string(path(&summary, "responses")).unwrap();
    assert!(!bytes.contains("secret"));
}
