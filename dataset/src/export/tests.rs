use std::collections::BTreeMap;
use std::fs;

use archive::fixtures::{
    PERSON, PageScript, ZERO, ai_controller, header, log_of, pages, play_episode, two_pages,
};
use protocol::change::Presence;
use protocol::control::{Answer, EndReason, KeyEvent, Link, Misprediction, Timing, Upload};
use protocol::log::{Header, Record};
use protocol::rules::Course;
use protocol::{Controller, Seat, Tick};
use store::{Answers, NewEpisode, NewSession, StoredPosition, StudyStore};
use study::survey::{Mark, ShownOrder};

use super::*;
use crate::fixtures::{encode, say, sign_rows};

mod adherence;
mod annotations;
mod cells;
mod decisions;
mod folders;
mod formats;
mod infos;
mod recorded;
mod responses;
mod seats;
mod shared;

use cells::Cells;

/// The columns that every table of episodes begins with.
const KEYS: &str = "study_id version stage_id group_id round episode_id participant_id seat";

fn with_frames() -> ExportOptions {
    ExportOptions {
        seen: true,
        ..ExportOptions::default()
    }
}

fn place() -> StoredPosition {
    StoredPosition {
        position: "{}".into(),
        ..StoredPosition::default()
    }
}

/// The file of a table.
fn path<'a>(report: &'a ExportReport, table: &str) -> &'a Path {
    &report.find_table(table).unwrap().path
}

#[tokio::test]
async fn steps_have_a_row_for_each_tick_and_seat() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir(&dir).unwrap();
    StudyStore::open(data.path()).await.unwrap().close().await;
    let mut header = header([PERSON, ai_controller("idle")], 12);
    header.participants[1].clear();
    let all = play_episode(&header);
    let mut episode = archive::Episode::create(&dir, header.clone()).unwrap();
    say(&mut episode, 0, 12);
    episode.end(EndReason::Played).unwrap();
    let mut other = archive::Episode::create(
        &dir,
        Header {
            episode: "e-2".into(),
            ..header
        },
    )
    .unwrap();
    say(&mut other, 0, 5);
    fs::write(dir.join("e-3.coplay"), b"\x01COPLAY\nnothing of ours").unwrap();

    let summary = export(
        data.path(),
        &data.path().join("out"),
        &ExportOptions::default(),
    )
    .await
    .unwrap();
    assert_eq!(
        (
            summary.episodes,
            summary.running,
            summary.count_rows("steps")
        ),
        (2, 1, Some(34))
    );
    assert_eq!(summary.skipped.len(), 1);
    assert!(summary.skipped[0].path.ends_with("e-3.coplay"));
    let steps = Cells::read(path(&summary, "steps"));
    let own = "controller is_bot tick action action_name reward score seat_score terminated truncated ended_on";
    assert_eq!(steps.names.join(" "), format!("{KEYS} {own}"));
    assert_eq!(steps.rows.len(), 34);
    assert_eq!(
        steps.cells(0, KEYS),
        ["overcooked-dyad", "1", "play", "G-1", "", "e-1", "P-A", "0"]
    );
    assert_eq!(
        steps.cells(0, "controller is_bot tick"),
        ["human", "false", "0"]
    );
    assert_eq!(
        steps.cells(1, "participant_id seat controller is_bot tick"),
        ["", "1", "idle", "true", "0"]
    );
    let actions = steps.column("action").into_iter().take(24);
    let actions: Vec<u16> = actions.map(|action| action.parse().unwrap()).collect();
    assert_eq!(actions, all.rows);
    // The second episode still runs.
    let ended_on = steps.column("ended_on");
    assert_eq!((ended_on[0], ended_on[24]), ("played", ""));
    // The horizon cuts both seats off, on the last tick alone.
    let truncated = steps.rows.iter().filter(|row| row["truncated"] == "true");
    let truncated: Vec<_> = truncated.map(|row| row["tick"].as_str()).collect();
    assert_eq!(truncated, ["11", "11"]);
}

#[tokio::test]
async fn an_end_that_the_file_could_not_take_is_that_of_the_database() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir(&dir).unwrap();
    StudyStore::open(data.path()).await.unwrap().close().await;
    let header = header([PERSON, PERSON], 12);
    let mut episode = archive::Episode::create(&dir, header.clone()).unwrap();
    say(&mut episode, 0, 5);
    let store = StudyStore::open(data.path()).await.unwrap();
    let new = NewEpisode {
        id: header.episode.clone(),
        era: protocol::Era(0),
        group: header.group.clone(),
        stage: header.stage.clone(),
        path: "episodes/e-1.coplay".into(),
        participants: vec![],
        visits: Vec::new(),
        draw: "{}".into(),
        bindings: "{}".into(),
    };
    store.create_episode(&new).await.unwrap();
    let out = data.path().join("out");
    let summary = export(data.path(), &out, &ExportOptions::default())
        .await
        .unwrap();
    assert_eq!((summary.episodes, summary.running), (1, 1));
    let ended = store
        .end_episode("e-1", EndReason::Technical, None, None)
        .await;
    ended.unwrap();
    let summary = export(data.path(), &out, &ExportOptions::default())
        .await
        .unwrap();
    assert_eq!((summary.episodes, summary.running), (1, 0));
    let steps = Cells::read(path(&summary, "steps"));
    assert_eq!(steps.column("ended_on"), ["technical"; 10]);
}

#[tokio::test]
async fn the_controller_flips_at_the_tick_of_its_change() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir(&dir).unwrap();
    StudyStore::open(data.path()).await.unwrap().close().await;
    let header = header([PERSON, PERSON], 40);
    let mut episode = archive::Episode::create(&dir, header.clone()).unwrap();
    say(&mut episode, 0, 3);
    episode.take_seat(Seat(1), Controller::Vacant).unwrap();
    // At 4 Hz a second has four ticks.
    episode
        .give_seat(Seat(1), ai_controller("idle"), None, Some(Tick(8)))
        .unwrap();
    let mut page = PageScript::resume(&mut episode, ZERO);
    let upload = Upload {
        digests: vec![],
        ..page.upload_part(&play_episode(&header), 3, 15)
    };
    let appended = episode.append_upload(ZERO, &upload).unwrap();
    assert_eq!((appended.through, appended.diverged), (Tick(15), false));

    let summary = export(
        data.path(),
        &data.path().join("out"),
        &ExportOptions::default(),
    )
    .await
    .unwrap();
    let steps = Cells::read(path(&summary, "steps"));
    let of = |seat: &'static str| {
        let rows = steps.rows.iter().filter(move |row| row["seat"] == seat);
        rows.map(|row| (row["controller"].as_str(), row["is_bot"].as_str()))
            .collect::<Vec<_>>()
    };
    let second = of("1");
    assert_eq!(second[..3], [("human", "false"); 3]);
    assert_eq!(second[3..12], [("vacant", "false"); 9]);
    assert_eq!(second[12..], [("idle", "true"); 3]);
    assert_eq!(of("0"), [("human", "false"); 15]);
    let seats = Cells::read(path(&summary, "seats"));
    assert_eq!(seats.column("confirmed_ticks"), ["15", "3"]);
    let events = Cells::read(path(&summary, "events"));
    assert_eq!(events.rows.len(), 2);
    assert_eq!(
        events.cells(0, "episode_id participant_id seat"),
        ["e-1", "P-B", "1"]
    );
    assert_eq!(
        events.filled(0),
        "life=1 kind=change tick=3 controller=vacant"
    );
    assert_eq!(
        events.filled(1),
        "life=2 kind=change tick=12 controller=idle"
    );
}

#[tokio::test]
async fn a_seat_has_its_place_in_the_study() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir(&dir).unwrap();
    StudyStore::open(data.path()).await.unwrap().close().await;
    let mut header = header([PERSON, ai_controller("idle")], 40);
    header.participants[1].clear();
    header.rules.turns = true;
    header.course = Some(Course {
        visits: vec![5, 0],
        episode: 2,
        episodes: 3,
        names: vec![
            ("layout".into(), "\"ring\"".into()),
            (
                "partner@1".into(),
                r#"{"name": "sp_2", "policy": "sp.onnx", "algorithm": "SP", "training_seed": 7, "training_rules": "jaxmarl-0.2.0"}"#
                    .into(),
            ),
        ],
    });
    let mut episode = archive::Episode::create(&dir, header.clone()).unwrap();
    say(&mut episode, 0, 3);
    let summary = export(
        data.path(),
        &data.path().join("out"),
        &ExportOptions::default(),
    )
    .await
    .unwrap();
    assert_eq!(summary.count_rows("seats"), Some(2));
    let seats = Cells::read(path(&summary, "seats"));
    let own = "visit episode_index episodes seats env env_version module params seed mode tick_hz controller t0_unix_us ticks confirmed_ticks notes_fault score seat_score success partner algorithm training_seed checkpoint training_rules model_sha256 demonstration";
    assert_eq!(seats.names.join(" "), format!("{KEYS} {own}"));
    assert_eq!(
        seats.cells(0, "visit episode_index episodes mode tick_hz controller"),
        ["5", "2", "3", "turns", "4", "human"]
    );
    assert_eq!(
        seats.cells(0, "ticks confirmed_ticks notes_fault score success"),
        ["3", "3", "", "0", "false"]
    );
    assert_eq!(seats.cells(1, "ticks confirmed_ticks"), ["3", ""]);
    let drawn = "seat partner algorithm training_seed checkpoint training_rules";
    assert_eq!(seats.cells(0, drawn), ["0", "", "", "", "", ""]);
    assert_eq!(
        seats.cells(1, drawn),
        ["1", "sp_2", "SP", "7", "", "jaxmarl-0.2.0"]
    );
    assert_eq!(
        seats.column("visit"),
        ["5", ""],
        "an AI partner makes no visit"
    );
}

#[tokio::test]
async fn what_pages_and_the_server_noted_has_a_row_each() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir(&dir).unwrap();
    StudyStore::open(data.path()).await.unwrap().close().await;
    let header = header([PERSON, PERSON], 40);
    let mut episode = archive::Episode::create(&dir, header.clone()).unwrap();
    let key = |down, shown_us| KeyEvent {
        tick: Some(Tick(2)),
        action: 1,
        down,
        at_us: 480_000,
        shown_us,
    };
    let timing = Timing {
        keys: vec![key(true, 510_000), key(false, 0)],
        frames_us: vec![Some(310_000)],
        rollbacks: vec![(Tick(3), 2)],
        holds: vec![(Tick(4), 120)],
        hidden: vec![(Tick(5), Tick(9))],
        rtt_us: vec![30_100, 0],
        delays: vec![(Tick(6), 4_075)],
        mispredictions: vec![Misprediction {
            seat: Seat(0),
            tick: Tick(1),
            predicted: 0,
            actual: 2,
            shown_ms: 33,
        }],
        refused: 4,
        equivocations: 1,
        screens: vec![(Tick(0), false), (Tick(3), true)],
        ..Timing::default()
    };
    let [mut one, mut two] = pages(&header);
    let all = play_episode(&header);
    episode
        .append_upload(ZERO, &one.upload_part(&all, 0, 8))
        .unwrap();
    let mut upload = Upload {
        timing: Some(timing),
        digests: vec![(Tick(8), 7)],
        ..two.upload_part(&all, 0, 8)
    };
    assert!(!episode.append_upload(Seat(1), &upload).unwrap().diverged);
    // It sends the same again after it was asked.
    episode.recheck(Seat(1));
    upload.recheck = 1;
    assert!(episode.append_upload(Seat(1), &upload).unwrap().diverged);
    for (at_us, presence) in [(1_500, Presence::Gone), (2_501_000, Presence::Returning)] {
        let at_us = header.t0_us + at_us;
        let seat = Seat(1);
        let record = Record::Presence {
            seat,
            at_us,
            presence,
        };
        episode.append_note(record).unwrap();
    }
    for (at_us, link) in [(3_500, Link::Relay), (1_500_000, Link::Direct)] {
        let record = Record::Route {
            seat: Seat(1),
            other: Seat(0),
            at_us: header.t0_us - 5_000 + at_us,
            link,
        };
        episode.append_note(record).unwrap();
    }
    let nobody = Record::Route {
        seat: Seat(1),
        other: Seat(2),
        at_us: 0,
        link: Link::Relay,
    };
    assert!(episode.append_note(nobody).is_err());
    let durable = all.rows[2 * 3 + 1];
    assert_ne!(durable, 0);
    let mut records = log_of(&mut episode).records;
    records.push(Record::Equivocation {
        seat: Seat(1),
        tick: Tick(3),
        by: ZERO,
        durable,
        told: 0,
    });
    fs::write(dir.join("e-1.coplay"), encode(&header, &records)).unwrap();

    let summary = export(
        data.path(),
        &data.path().join("out"),
        &ExportOptions::default(),
    )
    .await
    .unwrap();
    let keys = Cells::read(path(&summary, "keys"));
    let own = "life tick action action_name down at_unix_us shown_unix_us frame_unix_us";
    assert_eq!(keys.names.join(" "), format!("{KEYS} {own}"));
    assert_eq!((summary.count_rows("keys"), keys.rows.len()), (Some(2), 2));
    let action = keys.column("action_name")[0];
    assert!(!action.is_empty());
    let key = format!("life=0 tick=2 action=1 action_name={action}");
    assert_eq!(
        keys.filled(0),
        format!(
            "{key} down=true at_unix_us=1700000000480000 shown_unix_us=1700000000510000 frame_unix_us=1700000000310000"
        )
    );
    assert_eq!(
        keys.filled(1),
        format!("{key} down=false at_unix_us=1700000000480000")
    );
    let events = Cells::read(path(&summary, "events"));
    let found: Vec<String> = (0..events.rows.len())
        .map(|row| events.filled(row))
        .collect();
    let names = |action: usize| {
        let world = env_core::envs::open(&header.env, &header.params).unwrap();
        world.spec().actions[action].name.clone()
    };
    let (predicted, actual, told) = (names(0), names(2), names(durable.into()));
    assert_eq!(
        found,
        [
            "life=0 kind=rollback tick=3 count=2",
            &format!(
                "life=0 kind=misprediction tick=1 ms=33 other_seat=0 predicted={predicted} actual={actual}"
            ),
            "life=0 kind=hold tick=4 ms=120",
            "life=0 kind=delay tick=6 ms=4075",
            "life=0 kind=hidden tick=5 count=4",
            "life=0 kind=windowed tick=0",
            "life=0 kind=fullscreen tick=3",
            "life=0 kind=round_trip ms=31 other_seat=0",
            "life=0 kind=refused count=4",
            "life=0 kind=equivocation count=1",
            "life=0 kind=diverged tick=8",
            &format!(
                "life=0 kind=equivocation tick=3 other_seat=0 predicted={predicted} actual={told}"
            ),
        ]
    );
    assert_eq!(events.column("seat")[11], "1");
    assert_eq!(summary.count_rows("events"), Some(12));
    let quality = Cells::read(path(&summary, "quality"));
    assert_eq!(quality.column("duration_s"), ["2.501"; 2]);
    let presence = Cells::read(path(&summary, "presence"));
    let whose = "episode_id participant_id seat";
    assert_eq!(presence.cells(0, whose), ["e-1", "P-B", "1"]);
    assert_eq!(
        [presence.filled(0), presence.filled(1)],
        [
            "at_unix_us=1700000000001500 presence=gone",
            "at_unix_us=1700000002501000 presence=returning"
        ]
    );
    assert_eq!(presence.rows.len(), 2);
    let routes = Cells::read(path(&summary, "routes"));
    assert_eq!(
        (summary.count_rows("routes"), routes.rows.len()),
        (Some(2), 2)
    );
    assert_eq!(routes.cells(0, whose), ["e-1", "P-B", "1"]);
    assert_eq!(
        [routes.filled(0), routes.filled(1)],
        [
            "other_seat=0 at_unix_us=1699999999998500 link=relay",
            "other_seat=0 at_unix_us=1700000001495000 link=direct"
        ]
    );
    assert!(summary.to_string().contains("routes.csv: 2 rows"));
}

#[tokio::test]
async fn what_was_shown_has_a_row_for_each_frame_if_asked_for() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir(&dir).unwrap();
    StudyStore::open(data.path()).await.unwrap().close().await;
    let header = header([PERSON, PERSON], 12);
    let mut episode = archive::Episode::create(&dir, header.clone()).unwrap();
    let pages = two_pages(&header);
    for (seat, page) in (0..).map(Seat).zip(&pages) {
        episode.append_upload(seat, &page.upload).unwrap();
    }
    let out = data.path().join("out");
    let summary = export(data.path(), &out, &ExportOptions::default())
        .await
        .unwrap();
    assert_eq!(summary.find_table("seen"), None);
    assert!(!out.join("seen.csv").exists());
    let summary = export(data.path(), &out, &with_frames()).await.unwrap();
    let frames = Cells::read(path(&summary, "seen"));
    let own = "life at_unix_us tick changes have ahead wish hidden digest";
    assert_eq!(frames.names.join(" "), format!("{KEYS} {own}"));
    assert_eq!(summary.count_rows("seen"), Some(frames.rows.len() as u64));
    assert!(summary.to_string().contains("seen.csv"));
    let first = frames.rows.iter().filter(|row| row["seat"] == "0");
    let digests: Vec<_> = first.map(|row| row["digest"].clone()).collect();
    let shown = pages[0].shown.iter().map(|digest| format!("{digest:016x}"));
    assert_eq!(digests, shown.collect::<Vec<_>>());
    // 50 ms apart; at first nobody has anything of the other.
    assert_eq!(
        frames.cells(0, "life at_unix_us tick changes have"),
        ["0", "1700000000000000", "1", "0", "1 0"]
    );
    assert_eq!(frames.column("at_unix_us")[1], "1700000000050000");
    assert!(
        frames
            .rows
            .iter()
            .all(|row| (row["ahead"] == "0") == row["wish"].is_empty())
    );
}

#[tokio::test]
async fn a_page_whose_frames_cannot_be_so_is_left_out_and_named() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir(&dir).unwrap();
    StudyStore::open(data.path()).await.unwrap().close().await;
    let header = header([PERSON, PERSON], 12);
    let mut episode = archive::Episode::create(&dir, header.clone()).unwrap();
    let [mut one, other] = two_pages(&header);
    one.upload.timing.as_mut().unwrap().seen.truncate(5);
    for (seat, page) in [(Seat(0), &one), (Seat(1), &other)] {
        episode.append_upload(seat, &page.upload).unwrap();
    }
    let out = data.path().join("out");
    let summary = export(data.path(), &out, &with_frames()).await.unwrap();
    assert_eq!(summary.count_rows("seen"), Some(other.shown.len() as u64));
    let reasons: Vec<_> = summary.skipped.iter().map(|left| &*left.reason).collect();
    assert_eq!(
        reasons,
        ["what seat 0 showed in life 0: malformed seen-log"]
    );
    // It is left out of this table alone.
    assert_eq!(
        (summary.episodes, summary.count_rows("steps")),
        (1, Some(24))
    );
}

#[tokio::test]
async fn a_table_without_rows_has_its_columns() {
    let data = tempfile::tempdir().unwrap();
    StudyStore::open(data.path()).await.unwrap().close().await;
    let out = data.path().join("out");
    let report = export(data.path(), &out, &with_frames()).await.unwrap();
    let names: Vec<&str> = report.tables.iter().map(|table| table.name).collect();
    assert_eq!(
        names.join(" "),
        "episodes steps step_events rewards step_infos seats seat_control proposals keys events presence routes seen quality adherence responses response_parts annotations clips pages sessions screening session_quality exclusions groups lobby chat model_calls desk_messages interventions agents"
    );
    for table in &report.tables {
        assert_eq!(table.rows, 0);
        let columns = Cells::read(&table.path).names;
        assert!(columns.len() > 3, "{}: {columns:?}", table.name);
    }
    let chat = Cells::read(path(&report, "chat"));
    let own = "partner place visit number tick sent_unix_us at_unix_us text";
    assert_eq!(chat.names.join(" "), format!("{KEYS} {own}"));
}
