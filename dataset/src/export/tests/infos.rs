//! Infos that a study names.

use super::*;

#[tokio::test]
async fn an_info_has_a_row_for_its_seat_and_one_of_the_group_for_every_seat() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir(&dir).unwrap();
    StudyStore::open(data.path()).await.unwrap().close().await;
    let header = header([PERSON, PERSON], 12);
    let infos = |tick: u32, json: &str| Record::Infos {
        tick: Tick(tick),
        json: json.into(),
    };
    let records = [
        Record::Actions {
            first: Tick(0),
            rows: vec![6; 6],
        },
        infos(0, r#"[[1,"lives",3]]"#),
        infos(2, r#"[[0,"hint","a, \"b\""],[null,"level",{"x":1.5}]]"#),
    ];
    let records = [&sign_rows(&header, &records)[..], &records].concat();
    fs::write(dir.join("e-1.coplay"), encode(&header, &records)).unwrap();
    let options = ExportOptions::default();
    let summary = export(data.path(), &data.path().join("out"), &options).await;
    let summary = summary.unwrap();
    let skipped = summary.skipped.iter().map(|skipped| &skipped.reason);
    assert_eq!(skipped.count(), 0);
    let table = Cells::read(path(&summary, "step_infos"));
    assert_eq!(table.names.join(" "), format!("{KEYS} tick name value"));
    let rows: Vec<_> = (0..table.rows.len())
        .map(|row| table.cells(row, "participant_id seat tick name value"))
        .collect();
    assert_eq!(
        rows,
        [
            ["P-B", "1", "0", "lives", "3"],
            ["P-A", "0", "2", "hint", r#""a, \"b\"""#],
            ["P-A", "0", "2", "level", r#"{"x":1.5}"#],
            ["P-B", "1", "2", "level", r#"{"x":1.5}"#],
        ]
    );
}
