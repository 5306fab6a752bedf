use protocol::change::Presence;
use protocol::control::{Answer, EndReason, KeyEvent, Link, Misprediction, Timing, Upload};
use protocol::log::Record;
use protocol::rules::Course;
use protocol::{Controller, Tick};

use super::responses::{PAGE_COLUMNS, RESPONSE_COLUMNS};
use super::*;
use archive::fixtures::two_pages;
use archive::fixtures::{PERSON, ZERO, ai, header, part, played};
use study::survey::{Mark, Shown};

use store::{Answers, NewEpisode, NewSession, Place, SqliteStore};

fn place() -> Place {
    Place {
        position: "{}".into(),
        ..Place::default()
    }
}

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

    let summary = export(data.path(), &data.path().join("out"), false)
        .await
        .unwrap();
    assert_eq!(
        (summary.episodes, summary.running, summary.steps),
        (2, 1, 34)
    );
    assert_eq!(summary.skipped.len(), 1);
    assert!(summary.skipped[0].path.ends_with("e-3.coplay"));
    let rows = table(&summary.steps_path);
    assert_eq!(rows[0], [&KEYS[..], &STEP_COLUMNS].concat());
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
async fn an_end_that_the_file_could_not_take_is_that_of_the_database() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir(&dir).unwrap();
    let header = header([PERSON, PERSON], 12);
    let mut episode = archive::Episode::create(&dir, header.clone()).unwrap();
    episode.absorb(ZERO, &part(&played(&header), 0, 5)).unwrap();
    let store = SqliteStore::open(data.path()).await.unwrap();
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
    let summary = export(data.path(), &out, false).await.unwrap();
    assert_eq!((summary.episodes, summary.running), (1, 1));
    let ended = store.end_episode("e-1", EndReason::Technical, None).await;
    ended.unwrap();
    let summary = export(data.path(), &out, false).await.unwrap();
    assert_eq!((summary.episodes, summary.running), (1, 0));
    let rows = table(&summary.steps_path);
    assert!(rows[1..].iter().all(|row| row[16] == "technical"));
    assert_eq!(rows.len(), 11);
}

/// The columns of a row after the ones that it begins with.
fn rest(row: &[String]) -> Vec<&str> {
    row[KEYS.len()..].iter().map(String::as_str).collect()
}

#[tokio::test]
async fn the_controller_flips_at_the_tick_of_its_change() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir(&dir).unwrap();
    let header = header([PERSON, PERSON], 40);
    let mut episode = archive::Episode::create(&dir, header.clone()).unwrap();
    episode.absorb(ZERO, &part(&played(&header), 0, 3)).unwrap();
    episode.take(Seat(1), Controller::Vacant, &[]).unwrap();
    // At 4 Hz the lease ends at tick 12.
    episode.give(Seat(1), ai("idle")).unwrap();
    let idle = archive::Replica::open(
        &Header {
            controllers: vec![PERSON, ai("idle")],
            ..header.clone()
        },
        |_| unreachable!("the environment comes with the program"),
    );
    let idle = idle.unwrap().chosen(Seat(1)).unwrap();
    let upload = Upload {
        rows: [0, idle].repeat(12),
        digests: vec![],
        ..part(&played(&header), 3, 3)
    };
    let absorbed = episode.absorb(ZERO, &upload).unwrap();
    assert_eq!((absorbed.through, absorbed.diverged), (Tick(15), false));

    let summary = export(data.path(), &data.path().join("out"), false)
        .await
        .unwrap();
    let rows = table(&summary.steps_path);
    let second = rows[1..].iter().skip(1).step_by(2);
    let controllers: Vec<_> = second
        .map(|row| (row[7].as_str(), row[8].as_str()))
        .collect();
    assert_eq!(controllers[..3], [("human", "false"); 3]);
    assert_eq!(controllers[3..12], [("vacant", "false"); 9]);
    assert_eq!(controllers[12..], [("idle", "true"); 3]);
    let first = rows[1..].iter().step_by(2);
    assert!(first.into_iter().all(|row| row[7] == "human"));
    let events = table(&summary.events_path);
    assert_eq!(events.len(), 3);
    assert_eq!(events[1][4..7], ["e-1", "P-B", "1"]);
    assert_eq!(
        rest(&events[1]),
        ["1", "change", "3", "", "", "", "", "", "vacant"]
    );
    assert_eq!(
        rest(&events[2]),
        ["2", "change", "12", "", "", "", "", "", "idle"]
    );
}

#[tokio::test]
async fn a_seat_has_its_place_in_the_study() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir(&dir).unwrap();
    let mut header = header([PERSON, ai("idle")], 40);
    header.participants[1].clear();
    header.rules.turns = true;
    header.course = Some(Course {
        visits: vec![5, 0],
        episode: 2,
        episodes: 3,
        names: vec![("layout".into(), "\"ring\"".into())],
    });
    let mut episode = archive::Episode::create(&dir, header.clone()).unwrap();
    let upload = part(&played(&header), 0, 3);
    episode.absorb(ZERO, &upload).unwrap();
    let summary = export(data.path(), &data.path().join("out"), false)
        .await
        .unwrap();
    assert_eq!(summary.seats, 2);
    let seats = table(&summary.seats_path);
    assert_eq!(seats[0], [&KEYS[..], &SEAT_COLUMNS].concat());
    let row = rest(&seats[1]);
    assert_eq!(row[..3], ["5", "2", "3"]);
    assert_eq!(row[7..10], ["turns", "4", "human"]);
    assert_eq!(row[11..], ["3", "0", "false"]);
    assert_eq!(rest(&seats[2])[0], "", "an AI partner makes no visit");
}

#[tokio::test]
async fn what_pages_and_the_server_noted_has_a_row_each() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir(&dir).unwrap();
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
        delays: vec![(Tick(6), 75)],
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
    let upload = Upload {
        timing: Some(timing),
        digests: vec![(Tick(8), 7)],
        ..part(&played(&header), 0, 8)
    };
    assert!(episode.absorb(Seat(1), &upload).unwrap().diverged);
    let mut told = part(&played(&header), 0, 8);
    let played = std::mem::replace(&mut told.rows[7], 0);
    assert_ne!(played, 0);
    assert!(episode.absorb(Seat(0), &told).unwrap().diverged);
    for (at_us, presence) in [(1_500, Presence::Gone), (2_501_000, Presence::Returning)] {
        let at_us = header.t0_us + at_us;
        let seat = Seat(1);
        let record = Record::Presence {
            seat,
            at_us,
            presence,
        };
        episode.note(record).unwrap();
    }
    for (at_us, link) in [(3_500, Link::Relay), (1_500_000, Link::Direct)] {
        let record = Record::Route {
            seat: Seat(1),
            other: Seat(0),
            at_us: header.t0_us - 5_000 + at_us,
            link,
        };
        episode.note(record).unwrap();
    }
    let nobody = Record::Route {
        seat: Seat(1),
        other: Seat(2),
        at_us: 0,
        link: Link::Relay,
    };
    assert!(episode.note(nobody).is_err());

    let summary = export(data.path(), &data.path().join("out"), false)
        .await
        .unwrap();
    let keys = table(&summary.keys_path);
    assert_eq!(keys[0][..7], KEYS);
    assert_eq!(summary.keys, 2);
    let action = keys[1][10].as_str();
    assert!(!action.is_empty());
    assert_eq!(
        rest(&keys[1]),
        ["0", "2", "1", action, "true", "480000", "510000", "310000"]
    );
    assert_eq!(
        rest(&keys[2]),
        ["0", "2", "1", action, "false", "480000", "", ""]
    );
    let events = table(&summary.events_path);
    let found: Vec<Vec<&str>> = events[1..].iter().map(|row| rest(row)).collect();
    let names = |action: usize| {
        let world = env_core::envs::open(&header.env, &header.params).unwrap();
        world.spec().actions[action].name.clone()
    };
    let (predicted, actual) = (names(0), names(2));
    assert_eq!(
        found,
        [
            ["0", "diverged", "8", "", "", "", "", "", ""],
            ["0", "rollback", "3", "2", "", "", "", "", ""],
            [
                "0",
                "misprediction",
                "1",
                "",
                "33",
                "0",
                &predicted,
                &actual,
                ""
            ],
            ["0", "hold", "4", "", "120", "", "", "", ""],
            ["0", "delay", "6", "", "75", "", "", "", ""],
            ["0", "hidden", "5", "4", "", "", "", "", ""],
            ["0", "windowed", "0", "", "", "", "", "", ""],
            ["0", "fullscreen", "3", "", "", "", "", "", ""],
            ["0", "round_trip", "", "", "31", "0", "", "", ""],
            ["0", "refused", "", "4", "", "", "", "", ""],
            ["0", "equivocation", "", "1", "", "", "", "", ""],
            [
                "0",
                "equivocation",
                "3",
                "",
                "",
                "0",
                &predicted,
                &names(played.into()),
                ""
            ],
        ]
    );
    assert_eq!(events[12][6], "1");
    assert_eq!(summary.events, 12);
    let presence = table(&summary.presence_path);
    assert_eq!(presence.len(), 3);
    assert_eq!(presence[1][4..7], ["e-1", "P-B", "1"]);
    assert_eq!(rest(&presence[1]), ["1700000000001500", "1", "gone"]);
    assert_eq!(
        rest(&presence[2]),
        ["1700000002501000", "2501", "returning"]
    );
    let routes = table(&summary.routes_path);
    assert_eq!((summary.routes, routes.len()), (2, 3));
    assert_eq!(routes[0][7..], ["other_seat", "at_us", "at_ms", "link"]);
    assert_eq!(routes[1][4..7], ["e-1", "P-B", "1"]);
    assert_eq!(rest(&routes[1]), ["0", "1699999999998500", "-2", "relay"]);
    assert_eq!(
        rest(&routes[2]),
        ["0", "1700000001495000", "1495", "direct"]
    );
    assert!(summary.to_string().contains("routes.csv: 2 rows"));
}

#[tokio::test]
async fn what_was_shown_has_a_row_for_each_frame_if_asked_for() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir(&dir).unwrap();
    let header = header([PERSON, PERSON], 12);
    let mut episode = archive::Episode::create(&dir, header.clone()).unwrap();
    let pages = two_pages(&header);
    for (seat, page) in (0..).map(Seat).zip(&pages) {
        episode.absorb(seat, &page.upload).unwrap();
    }
    let out = data.path().join("out");
    let summary = export(data.path(), &out, false).await.unwrap();
    assert_eq!((summary.seen, summary.seen_path), (None, None));
    assert!(!out.join("seen.csv").exists());
    let summary = export(data.path(), &out, true).await.unwrap();
    let rows = table(&summary.seen_path.clone().unwrap());
    assert_eq!(rows[0], [&KEYS[..], &SEEN_COLUMNS].concat());
    assert_eq!(summary.seen, Some(rows.len() as u64 - 1));
    assert!(summary.to_string().contains("seen.csv"));
    let first = rows[1..].iter().filter(|row| row[6] == "0");
    let digests: Vec<_> = first.map(|row| row[15].clone()).collect();
    let shown = pages[0].shown.iter().map(|digest| format!("{digest:016x}"));
    assert_eq!(digests, shown.collect::<Vec<_>>());
    // 50 ms apart; at first nobody has anything of the other.
    assert_eq!(rest(&rows[1])[..5], ["0", "0", "1", "0", "1 0"]);
    assert_eq!(rows[2][8], "50");
    let names: Vec<_> = rows[1..].iter().map(|row| (&row[12], &row[13])).collect();
    assert!(
        names
            .iter()
            .all(|(ahead, wish)| (*ahead == "0") == wish.is_empty())
    );
}

#[tokio::test]
async fn a_page_whose_frames_cannot_be_so_is_left_out_and_named() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir(&dir).unwrap();
    let header = header([PERSON, PERSON], 12);
    let mut episode = archive::Episode::create(&dir, header.clone()).unwrap();
    let [mut one, other] = two_pages(&header);
    one.upload.timing.as_mut().unwrap().seen.truncate(5);
    for (seat, page) in [(Seat(0), &one), (Seat(1), &other)] {
        episode.absorb(seat, &page.upload).unwrap();
    }
    let out = data.path().join("out");
    let summary = export(data.path(), &out, true).await.unwrap();
    assert_eq!(summary.seen, Some(other.shown.len() as u64));
    let reasons: Vec<_> = summary.skipped.iter().map(|left| &*left.reason).collect();
    assert_eq!(
        reasons,
        ["what seat 0 showed in life 0: malformed seen-log"]
    );
    // It is left out of this table alone.
    assert_eq!((summary.episodes, summary.steps), (1, 24));
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
        shown: vec![Shown {
            item: "q2".into(),
            order: "[\"b\",\"a\"]".into(),
        }],
        pages_ms: vec![1_000, 500],
    };
    store
        .save_place("P-A", &place(), Some(&answers))
        .await
        .unwrap();

    let summary = export(data.path(), &data.path().join("out"), false)
        .await
        .unwrap();
    let rows = table(&summary.responses_path);
    assert_eq!((summary.responses, rows.len()), (4, 5));
    assert_eq!(rows[0], RESPONSE_COLUMNS);
    let values: Vec<_> = rows[1..].iter().map(|row| row[8].as_str()).collect();
    assert_eq!(
        values,
        [
            "with, comma and \"quote\"\nand line",
            "4",
            "[\"a\",\"b\"]",
            "not json"
        ]
    );
    assert_eq!((&rows[1][9][..], &rows[1][10][..]), ("", ""));
    assert_eq!((&rows[2][9][..], &rows[2][10][..]), ("false", "attention"));
    assert_eq!(rows[1][..3], ["dyad", "2", "P-A"]);
    assert!(rows[1][3].starts_with("S-") && rows[1][13].ends_with('Z') && rows[1][6] == "7");
    assert_eq!(
        [&rows[1][11], &rows[3][11]],
        ["", "[\"b\",\"a\"]"],
        "the order that was drawn"
    );
    assert_eq!(rows[1][12], "1500", "the time on all pages");
    let pages = table(&summary.pages_path);
    assert_eq!(
        (summary.pages, &pages[0][..]),
        (2, &PAGE_COLUMNS.map(str::to_owned)[..])
    );
    let times: Vec<_> = pages[1..]
        .iter()
        .map(|row| (&row[7][..], &row[8][..]))
        .collect();
    assert_eq!(times, [("0", "1000"), ("1", "500")]);
    let bytes = fs::read_to_string(&summary.responses_path).unwrap();
    assert!(!bytes.contains("secret"));
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_named() {
    let error = export(Path::new("/nowhere/at all"), Path::new("/tmp"), false)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("/nowhere/at all"));
}
