//! Formats, and what an export is asked to write.

use std::collections::BTreeSet;

use arrow_array::{Array as _, BinaryArray, Int64Array};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use server_core::arbiter::Identity;

use super::*;

/// The values of the column of bytes of a Parquet file.
fn read_bytes(report: &ExportReport, table: &str) -> Vec<Vec<u8>> {
    let file = fs::File::open(path(report, table)).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let batches = reader.build().unwrap().map(Result::unwrap);
    let values = batches.flat_map(|batch| {
        let column = batch.column_by_name("pixels").unwrap().clone();
        let bytes = column.as_any().downcast_ref::<BinaryArray>().unwrap();
        bytes
            .iter()
            .map(|value| value.unwrap().to_vec())
            .collect::<Vec<_>>()
    });
    values.collect()
}

#[tokio::test]
async fn pictures_are_drawn_again_for_every_state_and_seat() {
    let data = folder().await;
    let options = ExportOptions {
        format: TableFormat::Parquet,
        observations: BTreeSet::from([
            ObservationKind::Grid,
            ObservationKind::Pixels,
            ObservationKind::Atari,
        ]),
        ..ExportOptions::default()
    };
    let out = data.path().join("out");
    let report = export(data.path(), &out, &options).await.unwrap();
    assert_eq!(report.count_rows("observations"), None);
    assert_eq!(report.count_rows("grids"), Some(26), "masks of kinds");
    let pixels = read_bytes(&report, "pixels");
    assert_eq!(pixels.len(), 13 * 2);
    // Five by four cells at eight pixels a cell.
    assert!(pixels.iter().all(|picture| picture.len() == 40 * 32 * 3));
    // The states after 0, 4, 8 and 12 ticks.
    let atari = read_bytes(&report, "atari_pixels");
    assert_eq!(atari.len(), 4 * 2);
    assert!(atari.iter().all(|stack| stack.len() == 4 * 84 * 84));
    let pictures = |stack: &[u8]| {
        stack
            .chunks(84 * 84)
            .map(<[u8]>::to_vec)
            .collect::<Vec<_>>()
    };
    let (first, second) = (pictures(&atari[0]), pictures(&atari[2]));
    assert!(first.iter().all(|picture| *picture == first[0]));
    assert_eq!(first[1..], second[..3], "the stack moves on by one picture");
    assert!(
        first[0].iter().max() > first[0].iter().min(),
        "something is drawn"
    );
}

/// A data folder with one episode of 12 ticks, which the database knows, and a session of its first person.
async fn folder() -> tempfile::TempDir {
    // The person is invented.
    store::identifier_key::choose_place(store::identifier_key::KeyPlace::Trial);
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir(&dir).unwrap();
    let header = header([PERSON, ai_controller("idle")], 12);
    let mut episode = archive::Episode::create(&dir, header.clone()).unwrap();
    say(&mut episode, 0, 12);
    episode.end(EndReason::Played).unwrap();
    let store = StudyStore::open(data.path()).await.unwrap();
    let session = NewSession {
        number: 0,
        participant: "P-A".into(),
        token: "secret".into(),
        link: None,
        study: "dyad".into(),
        study_version: "2".into(),
        study_hash: "ab".into(),
        identity: Some(Identity {
            provider: "prolific".into(),
            participant: "5f1c0a2b3c4d5e6f7a8b9c0d".into(),
            parameters: BTreeMap::from([("SESSION_ID".into(), "submission".into())]),
        }),
        place: place(),
    };
    store.create_session(&session).await.unwrap();
    let new = NewEpisode {
        id: header.episode.clone(),
        era: protocol::Era(0),
        group: header.group.clone(),
        stage: header.stage.clone(),
        path: "episodes/e-1.coplay".into(),
        participants: vec!["P-A".into()],
        visits: vec![3],
        draw: "{}".into(),
        bindings: "{}".into(),
    };
    store.create_episode(&new).await.unwrap();
    let answers = Answers {
        stage: "after".into(),
        stage_index: 4,
        visit: 4,
        answers: [
            ("text", "\"NA\""),
            ("rows", "{\"a\":1,\"b\":[\"x\",2]}"),
            ("none", "null"),
        ]
        .map(|(name, value)| Answer {
            name: name.into(),
            value: value.into(),
        })
        .into(),
        marks: vec![],
        shown: vec![],
        pages_ms: vec![700],
    };
    store
        .save_place("P-A", &place(), Some(&answers))
        .await
        .unwrap();
    store.close().await;
    data
}

#[tokio::test]
async fn answers_name_the_episode_before_them_and_nested_ones_have_a_row_for_each_part() {
    let data = folder().await;
    let out = data.path().join("out");
    let report = export(data.path(), &out, &ExportOptions::default())
        .await
        .unwrap();
    let responses = Cells::read(path(&report, "responses"));
    assert_eq!(
        responses.cells(0, "copy episode_id group_id round"),
        ["0", "e-1", "G-1", "0"]
    );
    assert_eq!(
        responses.column("value"),
        ["'NA", "{\"a\":1,\"b\":[\"x\",2]}", ""]
    );
    let parts = Cells::read(path(&report, "response_parts"));
    assert_eq!(parts.column("path"), ["a", "b.0", "b.1"]);
    assert_eq!(parts.column("part"), ["0", "1", "2"]);
    assert_eq!(parts.column("value"), ["1", "x", "2"]);
    let steps = Cells::read(path(&report, "steps"));
    assert_eq!(steps.column("round"), ["0"; 24]);
}

#[tokio::test]
async fn parquet_files_have_types_and_descriptions() {
    let data = folder().await;
    let options = ExportOptions {
        format: TableFormat::Parquet,
        states: true,
        observations: BTreeSet::from([ObservationKind::Features]),
        ..ExportOptions::default()
    };
    let report = export(data.path(), &data.path().join("out"), &options)
        .await
        .unwrap();
    assert_eq!(report.count_rows("states"), Some(13));
    assert_eq!(report.count_rows("observations"), Some(26));
    for table in &report.tables {
        let file = fs::File::open(&table.path).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let schema = reader.schema().clone();
        assert_eq!(
            schema.metadata()["description"],
            table.about,
            "{}",
            table.name
        );
        let described = schema
            .fields()
            .iter()
            .map(|field| field.metadata()["description"].as_str());
        let known = table
            .columns
            .iter()
            .map(|column| column.description.as_str());
        assert!(described.eq(known));
        assert!(
            table
                .columns
                .iter()
                .all(|column| column.description.len() > 3),
            "{}",
            table.name
        );
        let rows: usize = reader
            .build()
            .unwrap()
            .map(|batch| batch.unwrap().num_rows())
            .sum();
        assert_eq!(rows as u64, table.rows, "{}", table.name);
    }
}

#[tokio::test]
async fn lines_of_json_have_the_names_of_the_columns() {
    let data = folder().await;
    let options = ExportOptions {
        format: TableFormat::Jsonl,
        ..ExportOptions::default()
    };
    let report = export(data.path(), &data.path().join("out"), &options)
        .await
        .unwrap();
    let lines = fs::read_to_string(path(&report, "responses")).unwrap();
    let rows: Vec<serde_json::Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        (rows.len(), &rows[0]["value"]),
        (3, &serde_json::json!("NA"))
    );
    assert!(rows[2]["value"].is_null() && rows[0]["round"] == 0);
}

#[tokio::test]
async fn an_export_that_is_stopped_leaves_the_earlier_one_as_it_is() {
    let data = folder().await;
    let out = data.path().join("out");
    let options = ExportOptions::default();
    export(data.path(), &out, &options).await.unwrap();
    fs::write(out.join("notes.txt"), "mine").unwrap();
    let before = fs::read(out.join("steps.csv")).unwrap();
    options.stop.stop();
    let stopped = export(data.path(), &out, &options).await.unwrap_err();
    assert!(
        stopped.to_string().contains("nothing was written"),
        "{stopped}"
    );
    assert_eq!(fs::read(out.join("steps.csv")).unwrap(), before);
    let names = || -> Vec<String> {
        let entries = fs::read_dir(data.path()).unwrap().map(Result::unwrap);
        entries
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect()
    };
    assert!(
        !names().iter().any(|name| name.ends_with(".part")),
        "{:?}",
        names()
    );
    // Another format takes the place of the earlier tables, and nothing else.
    let other = ExportOptions {
        format: TableFormat::Jsonl,
        ..ExportOptions::default()
    };
    export(data.path(), &out, &other).await.unwrap();
    assert!(!out.join("steps.csv").exists() && out.join("steps.jsonl").exists());
    assert_eq!(fs::read_to_string(out.join("notes.txt")).unwrap(), "mine");
    assert!(
        !names().iter().any(|name| name.ends_with(".part")),
        "{:?}",
        names()
    );
}

#[tokio::test]
async fn only_what_is_new_is_exported_if_that_is_asked_for() {
    let data = folder().await;
    let store = StudyStore::open(data.path()).await.unwrap();
    store
        .end_episode("e-1", EndReason::Technical, None, None)
        .await
        .unwrap();
    store.close().await;
    let options = |since_us| ExportOptions {
        since_us: Some(since_us),
        ..ExportOptions::default()
    };
    let counts = |report: &ExportReport| {
        ["episodes", "steps", "responses"].map(|table| report.count_rows(table).unwrap())
    };
    let out = data.path().join("out");
    let all = export(data.path(), &out, &options(0)).await.unwrap();
    assert_eq!(counts(&all), [1, 24, 3]);
    let none = export(data.path(), &out, &options(u64::MAX)).await.unwrap();
    assert_eq!(counts(&none), [0, 0, 0]);
}

#[tokio::test]
async fn what_the_recruiter_knows_is_joined_and_audited_only_if_it_is_asked_for() {
    let data = folder().await;
    let file = data.path().join("prolific.csv");
    fs::write(&file, "Submission id,Participant id,Age,Ethnicity simplified\ns-1,5f1c0a2b3c4d5e6f7a8b9c0d,31,Mixed\n").unwrap();
    let out = data.path().join("out");
    let with = |identifiers, demographics: Option<&Path>| ExportOptions {
        identifiers,
        demographics: demographics.map(Path::to_owned),
        ..ExportOptions::default()
    };
    let text = |report: &ExportReport| fs::read_to_string(path(report, "sessions")).unwrap();
    let plain = export(data.path(), &out, &with(false, None)).await.unwrap();
    assert!(!text(&plain).contains("5f1c0a2b3c4d5e6f7a8b9c0d"));
    let joined = export(data.path(), &out, &with(false, Some(&file)))
        .await
        .unwrap();
    assert!(!text(&joined).contains("5f1c0a2b3c4d5e6f7a8b9c0d") && !text(&joined).contains("s-1"));
    let sessions = Cells::read(path(&joined, "sessions"));
    assert_eq!(
        sessions.cells(0, "demographic_age demographic_ethnicity_simplified"),
        ["31", "Mixed"]
    );
    let named = export(data.path(), &out, &with(true, None)).await.unwrap();
    let sessions = Cells::read(path(&named, "sessions"));
    assert_eq!(
        sessions.cells(0, "recruiter_name recruiter_participant"),
        ["prolific", "5f1c0a2b3c4d5e6f7a8b9c0d"]
    );
    let found = crate::who::find_people(data.path(), "SUBMISSION")
        .await
        .unwrap();
    assert_eq!(found.people[0].participant, "P-A");
    assert_eq!(found.people[0].episodes[0].episode, "e-1");
    let store = StudyStore::read(data.path()).await.unwrap();
    let audit = store.audit().await.unwrap();
    store.close().await;
    let actions: Vec<_> = audit
        .iter()
        .map(|entry| (&*entry.command, &*entry.action))
        .collect();
    assert_eq!(
        actions,
        [
            ("export", "demographics of 1 sessions"),
            ("export", "identifiers of 1 sessions"),
            ("who", "looked up P-A")
        ]
    );
    fs::write(&file, "Age\n31\n").unwrap();
    let error = export(data.path(), &out, &with(false, Some(&file)))
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("no column names a participant"),
        "{error}"
    );
}

#[tokio::test]
async fn data_sets_of_minari_have_one_folder_per_episode_and_seat() {
    let data = folder().await;
    let out = data.path().join("datasets");
    let stop = StopFlag::default();
    let report = crate::minari::export_minari(data.path(), &out, &stop)
        .await
        .unwrap();
    let ids: Vec<_> = report
        .datasets
        .iter()
        .map(|of| (&*of.id, of.episodes, of.steps))
        .collect();
    let [joint, first, second] = &ids[..] else {
        panic!("{report}")
    };
    assert!(
        joint.0.ends_with("-joint-v0") && first.0.ends_with("-seat0-v0"),
        "{ids:?}"
    );
    assert_eq!((first.1, first.2, second.2, joint.2), (1, 12, 12, 12));
    let folder = out.join(first.0).join("data");
    let file = fs::File::open(folder.join("0/part-0.parquet")).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    assert_eq!(reader.metadata().num_row_groups(), 1);
    assert_eq!(
        reader.metadata().file_metadata().num_rows(),
        13,
        "one more than steps"
    );
    let metadata = fs::read_to_string(folder.join("metadata.json")).unwrap();
    let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap();
    assert_eq!(
        (&metadata["total_steps"], &metadata["jpeg_encoding"]),
        (&12.into(), &false.into())
    );
    let again = crate::minari::export_minari(data.path(), &out, &stop)
        .await
        .unwrap_err();
    assert!(again.to_string().contains("is there already"), "{again}");
}

/// A column of numbers of a Parquet file.
fn numbers(file: &Path, column: &str) -> Vec<i64> {
    let file = fs::File::open(file).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let batches = reader.build().unwrap().map(Result::unwrap);
    let all = batches.flat_map(|batch| {
        let array = batch.column_by_name(column).unwrap();
        let array = array.as_any().downcast_ref::<Int64Array>().unwrap();
        array.values().to_vec()
    });
    all.collect()
}

#[tokio::test]
async fn data_sets_of_lerobot_have_the_schema_and_the_statistics_of_its_format() {
    let data = folder().await;
    let out = data.path().join("datasets");
    let stop = StopFlag::default();
    let report = crate::lerobot::export_lerobot(data.path(), &out, &stop)
        .await
        .unwrap();
    let [first, second] = &report.datasets[..] else {
        panic!("{report}")
    };
    assert!(first.id.ends_with("hz-seat0") && second.id.ends_with("hz-seat1"));
    assert_eq!((first.episodes, first.steps), (1, 12));
    let root = out.join(&first.id);
    let json = |path: &str| -> serde_json::Value {
        serde_json::from_str(&fs::read_to_string(root.join(path)).unwrap()).unwrap()
    };
    let info = json("meta/info.json");
    assert_eq!(info["codebase_version"], "v3.0");
    assert_eq!(
        (&info["total_frames"], &info["splits"]["train"]),
        (&12.into(), &"0:1".into())
    );
    let file = root.join("data/chunk-000/file-000.parquet");
    let reader = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(&file).unwrap()).unwrap();
    let fields: Vec<String> = reader
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    let features = info["features"].as_object().unwrap();
    assert!(fields.iter().eq(features.keys()), "{fields:?}");
    for needed in [
        "timestamp",
        "frame_index",
        "episode_index",
        "index",
        "task_index",
        "action",
        "observation.state",
    ] {
        assert!(features.contains_key(needed), "{needed}");
    }
    let names = features["observation.state"]["names"].as_array().unwrap();
    assert_eq!(
        features["observation.state"]["shape"],
        serde_json::json!([names.len()])
    );
    assert_eq!(numbers(&file, "frame_index"), (0..12).collect::<Vec<_>>());
    let actions = numbers(&file, "action");
    let stats = json("meta/stats.json");
    assert!(features.keys().all(|name| stats.get(name).is_some()));
    let mean = actions.iter().sum::<i64>() as f64 / 12.0;
    let found = stats["action"]["mean"][0].as_f64().unwrap();
    assert!((found - mean).abs() < 1e-9, "{found} is not {mean}");
    assert_eq!(
        stats["action"]["max"][0].as_f64(),
        actions.iter().max().map(|most| *most as f64)
    );
    assert_eq!(
        stats["observation.state"]["std"].as_array().unwrap().len(),
        names.len()
    );
    let episodes = root.join("meta/episodes/chunk-000/file-000.parquet");
    assert_eq!(numbers(&episodes, "dataset_to_index"), [12]);
    assert_eq!(numbers(&root.join("meta/tasks.parquet"), "task_index"), [0]);
}

#[tokio::test]
async fn rules_mark_sessions_by_their_quality_and_give_a_reason() {
    let data = folder().await;
    let rules = "exclusions:\n- {name: short, when: episodes < 3, reason: too few}\n\
                 - {name: lost, when: lost_share > 0.5, reason: away}\n\
                 - {name: inattentive, when: attention_failed > 0, reason: asleep}\n";
    let options = ExportOptions {
        exclusions: Some(study::exclusion::read_exclusions("rules.yaml", rules).unwrap()),
        ..ExportOptions::default()
    };
    let out = data.path().join("out");
    let report = export(data.path(), &out, &options).await.unwrap();
    let marked = Cells::read(path(&report, "exclusions"));
    assert_eq!(marked.column("rule"), ["short", "lost", "inattentive"]);
    assert_eq!(marked.column("excluded"), ["true", "false", "false"]);
    assert_eq!(marked.column("reason"), ["too few", "", ""]);
    assert_eq!(marked.column("when")[1], "lost_share > 0.5");
    let quality = Cells::read(path(&report, "quality"));
    let steps = Cells::read(path(&report, "steps"));
    let own = steps
        .column("controller")
        .iter()
        .filter(|name| **name == "human")
        .count();
    let own = own.to_string();
    assert_eq!(quality.cells(0, "own_ticks lost_ticks"), [&*own, "0"]);
    let session = Cells::read(path(&report, "session_quality"));
    assert_eq!(
        session.cells(0, "episodes attention_failed completed"),
        ["1", "0", "false"]
    );
    let share = quality.cells(0, "noop_share");
    assert_eq!(session.cells(0, "noop_share"), share);
    assert!(
        share[0]
            .parse::<f64>()
            .is_ok_and(|share| (0.0..=1.0).contains(&share))
    );
    // A study without rules marks nobody.
    let report = export(data.path(), &out, &ExportOptions::default())
        .await
        .unwrap();
    assert_eq!(report.count_rows("exclusions"), Some(0));
}
