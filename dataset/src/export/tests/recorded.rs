//! Episodes on a host whose world does not repeat itself: their tables come from the log.

use archive::fixtures::{no_modules, observation_record};
use archive::{Replica, hash_observation};
use env_core::view::SeatViewer;
use protocol::log::Ending;
use protocol::{EnvWay, Life};
use std::collections::BTreeSet;

use super::*;

fn hosted_header(id: &str) -> Header {
    Header {
        episode: id.into(),
        way: EnvWay::Host,
        ..header([PERSON, PERSON], 12)
    }
}

/// Two ticks of two people, with their choices, in a world that comes out otherwise when it is run again.
fn recorded_ticks(id: &str) -> Vec<Record> {
    let header = hosted_header(id);
    let mut pages = [0, 1].map(|seat| PageScript::new(&header, Seat(seat)));
    let mut choose = |seat: u8, number, action| Record::Inputs {
        seat: Seat(seat),
        life: Life(0),
        block: pages[usize::from(seat)]
            .sign_block(number, vec![action])
            .unwrap(),
    };
    let act = |tick, row: [u16; 2]| Record::Actions {
        first: Tick(tick),
        rows: row.to_vec(),
    };
    vec![
        choose(1, 0, 1),
        act(0, [6, 1]),
        choose(0, 0, 2),
        choose(1, 1, 6),
        act(1, [2, 6]),
        Record::Observed {
            first: Tick(0),
            hashes: vec![1, 2, 3, 4],
            rewards: [0.0, 1.5, -2.0, 0.0].map(f32::to_bits).into(),
        },
        Record::Infos {
            tick: Tick(1),
            json: r#"[[1,"lives",3]]"#.into(),
        },
    ]
}

fn end_and_repetition(ticks: u32, differs: Option<u32>) -> [Record; 2] {
    let ending = Ending {
        ticks: Tick(ticks),
        reason: EndReason::Technical,
        score: 31,
        digest: 5,
    };
    let differs = differs.map(Tick);
    [Record::End(ending), Record::Repeated { differs }]
}

/// A data folder with the files of these episodes.
async fn folder(episodes: &[(&str, Vec<Record>)]) -> tempfile::TempDir {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir(&dir).unwrap();
    let store = StudyStore::open(data.path()).await.unwrap();
    for (era, (id, records)) in (0..).zip(episodes) {
        let header = hosted_header(id);
        let file = dir.join(id).with_extension(archive::EXTENSION);
        fs::write(file, encode(&header, records)).unwrap();
        let new = NewEpisode {
            id: (*id).into(),
            era: protocol::Era(era),
            group: header.group.clone(),
            stage: header.stage.clone(),
            path: format!("episodes/{id}.coplay"),
            participants: vec![],
            visits: Vec::new(),
            draw: "{}".into(),
            bindings: "{}".into(),
        };
        store.create_episode(&new).await.unwrap();
    }
    store.close().await;
    data
}

#[tokio::test]
async fn a_world_that_does_not_repeat_itself_has_the_rows_of_its_log() {
    let ended = [
        recorded_ticks("e-1"),
        end_and_repetition(2, Some(1)).to_vec(),
    ];
    let data = folder(&[("e-1", ended.concat()), ("e-2", recorded_ticks("e-2"))]).await;
    let out = data.path().join("out");
    let options = ExportOptions {
        states: true,
        ..ExportOptions::default()
    };
    let summary = export(data.path(), &out, &options).await.unwrap();
    assert_eq!((summary.episodes, summary.running), (2, 1));
    let steps = Cells::read(path(&summary, "steps"));
    let rows: Vec<_> = (0..steps.rows.len())
        .map(|row| steps.cells(row, "episode_id seat tick action reward score terminated"))
        .collect();
    let expected = |episode, score| {
        [
            [episode, "0", "0", "6", "0.0", "", ""],
            [episode, "1", "0", "1", "1.5", "", ""],
            [episode, "0", "1", "2", "-2.0", score, ""],
            [episode, "1", "1", "6", "0.0", score, ""],
        ]
    };
    assert_eq!(rows, [expected("e-1", "31"), expected("e-2", "")].concat());
    let seats = Cells::read(path(&summary, "seats"));
    assert_eq!(seats.column("score"), ["31", "31", "", ""]);
    assert_eq!(seats.column("seat_score"), [""; 4]);
    let infos = Cells::read(path(&summary, "step_infos"));
    assert_eq!(infos.column("name"), ["lives", "lives"]);
    let claims = Cells::read(path(&summary, "episodes"));
    assert_eq!(claims.column("claim"), ["recorded", "recorded"]);
    // Data that only the world has are left out, with the reason.
    assert_eq!(summary.count_rows("states"), Some(0));
    let reasons: Vec<_> = summary.skipped.iter().map(|left| &left.reason).collect();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert!(reasons[0].starts_with("states: the world"), "{reasons:?}");
}

#[tokio::test]
async fn scores_ends_and_events_come_from_the_log_where_they_are_in_it() {
    let mut records = recorded_ticks("e-1");
    let outcome = |tick, scores: &[i64], [terminated, truncated]: [u16; 2]| Record::Outcome {
        tick: Tick(tick),
        scores: scores.into(),
        terminated,
        truncated,
        events: vec![(1, 1, Some(0), 2.5_f32.to_bits())],
        components: Vec::new(),
    };
    records.push(outcome(0, &[20, 5, 15], [0, 0]));
    records.push(outcome(1, &[], [1, 2]));
    records.extend(end_and_repetition(2, Some(1)));
    let data = folder(&[("e-1", records)]).await;
    let out = data.path().join("out");
    let summary = export(data.path(), &out, &ExportOptions::default()).await;
    let summary = summary.unwrap();
    let steps = Cells::read(path(&summary, "steps"));
    let rows: Vec<_> = (0..steps.rows.len())
        .map(|row| steps.cells(row, "seat tick score seat_score terminated truncated"))
        .collect();
    let expected = [
        ["0", "0", "20", "5", "false", "false"],
        ["1", "0", "20", "15", "false", "false"],
        ["0", "1", "31", "5", "true", "false"],
        ["1", "1", "31", "15", "false", "true"],
    ];
    assert_eq!(rows, expected);
    let events = Cells::read(path(&summary, "step_events"));
    assert_eq!(events.column("tick"), ["0", "1"]);
    assert_eq!(events.column("value"), ["2.5", "2.5"]);
}

/// The first state of the world of these episodes: its view from seat 1, and observations that no state of it has.
fn first_view(id: &str) -> (Vec<u8>, Vec<f32>) {
    let mut replica = Replica::open(&hosted_header(id), no_modules).unwrap();
    let view = SeatViewer::default().view(replica.world(), 1, true);
    let mut values = Vec::new();
    replica.observe(Seat(1), &mut values);
    (view, (0..values.len()).map(|at| at as f32 / 4.0).collect())
}

#[tokio::test]
async fn pictures_and_observations_come_from_the_log_where_they_are_in_it() {
    let (view, values) = first_view("e-1");
    let mut records = recorded_ticks("e-1");
    records.insert(
        0,
        Record::Viewed {
            seat: Seat(1),
            tick: Tick(0),
            bytes: view,
        },
    );
    for record in &mut records {
        if let Record::Observed { hashes, .. } = record {
            hashes[1] = hash_observation(&values);
        }
    }
    records.push(observation_record(Seat(1), Tick(1), &values));
    records.extend(end_and_repetition(2, Some(1)));
    let data = folder(&[("e-1", records)]).await;
    let out = data.path().join("out");
    let options = ExportOptions {
        states: true,
        observations: [ObservationKind::Features, ObservationKind::Pixels].into(),
        ..ExportOptions::default()
    };
    let summary = export(data.path(), &out, &options).await.unwrap();
    let left_out: Vec<_> = summary.skipped.iter().map(|left| &left.reason).collect();
    assert_eq!(left_out.len(), 1, "{left_out:?}");
    assert!(left_out[0].starts_with("states"), "{left_out:?}");
    let observations = Cells::read(path(&summary, "observations"));
    let rows: Vec<_> = (0..observations.rows.len())
        .map(|row| observations.cells(row, "seat tick observation"))
        .collect();
    let text: Vec<String> = values.iter().map(f32::to_string).collect();
    let expected = text.join(" ");
    // What is not in the log has no row.
    assert_eq!(rows, [["1", "1", &expected]]);
    // Nothing has changed on the page since the first view; the other seat was shown nothing of its own.
    let pixels = Cells::read(path(&summary, "pixels"));
    assert_eq!(pixels.column("tick"), ["0", "0", "1", "1", "2", "2"]);
    let pictures: BTreeSet<_> = pixels.column("pixels").into_iter().collect();
    assert_eq!(pictures.len(), 1);
}

#[tokio::test]
async fn an_episode_without_a_tick_claims_nothing() {
    let records = end_and_repetition(0, None).to_vec();
    let data = folder(&[("e-1", records)]).await;
    let out = data.path().join("out");
    let summary = export(data.path(), &out, &ExportOptions::default()).await;
    let claims = Cells::read(path(&summary.unwrap(), "episodes"));
    assert_eq!(claims.column("claim"), [""]);
}
