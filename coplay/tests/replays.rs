//! Replays and branches of an episode, as a script and a browser with a link see them.

use std::path::Path;
use std::process::{Command, Output};

use archive::fixtures::{ai_controller, header, play_episode};
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use clock::Clock;
use protocol::Tick;
use protocol::control::EndReason;
use protocol::log::{Ending, Header, LogWriter, Record, read_log};
use serde_json::Value;
use signaling_server::replays::{ReplayKey, ReplayOrder, SharedReplays, compute_replay, router};
use store::{Message, StudyStore};
use tower::ServiceExt as _;

use crate::records::write_rows;

fn coplay(args: &[&str], data: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_coplay"))
        .args(args)
        .arg("--data")
        .arg(data)
        .output()
        .unwrap()
}

fn recorded() -> Header {
    header([ai_controller("random"), ai_controller("cook")], 200)
}

/// A data folder with the episode `e-1` of two AI partners, and `e-2`, which has no end.
fn data_folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join(archive::FOLDER);
    std::fs::create_dir_all(&folder).unwrap();
    let header = recorded();
    let rows = play_episode(&header).rows;
    let (mut writer, mut bytes) = LogWriter::begin(&header).unwrap();
    let first = Tick(0);
    let actions = Record::Actions { first, rows };
    writer.append(&actions, &mut bytes).unwrap();
    std::fs::write(folder.join("e-2.coplay"), &bytes).unwrap();
    let log = read_log(&bytes).unwrap();
    let unused = |_: &str| Err(std::io::Error::other("no file is needed"));
    let replica = archive::replay(&log, unused, |_, _| {}).unwrap();
    let ending: Ending = replica.read_ending(EndReason::Played);
    writer.append(&Record::End(ending), &mut bytes).unwrap();
    std::fs::write(folder.join("e-1.coplay"), &bytes).unwrap();
    dir
}

fn json(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_episode_becomes_one_file_that_does_not_name_it() {
    let dir = data_folder();
    let file = dir.path().join("replay.html");
    let html = file.to_str().unwrap();
    let found = json(&coplay(
        &["replay", "e-1", "--html", html, "--json"],
        dir.path(),
    ));
    let page = std::fs::read_to_string(&file).unwrap();
    assert_eq!(found["bytes"], page.len());
    assert_eq!(found["ticks"], serde_json::json!([200]));
    assert!(page.contains("<title>Overcooked</title>") && !page.contains("e-1"));
    assert!(!page.contains("{{"), "every place is filled");
}

#[test]
fn what_is_not_there_is_told_with_the_way_to_find_it() {
    let dir = data_folder();
    let told = refused(&coplay(&["replay", "e-3", "--html", "x"], dir.path()));
    assert!(
        told.contains("no episode e-3") && told.contains("episode_id"),
        "{told}"
    );
    let told = refused(&coplay(&["replay", "../e", "--html", "x"], dir.path()));
    assert!(told.contains("not the id of an episode"), "{told}");
    let order = [
        "branch", "e-1", "--seat", "0", "--with", "cook", "--tick", "200",
    ];
    let told = refused(&coplay(&order, dir.path()));
    assert!(told.contains("name a tick from 0 to 199"), "{told}");
    let folder = tempfile::tempdir().unwrap();
    let told = refused(&coplay(&["replay", "e-1", "--html", "x"], folder.path()));
    assert!(told.contains("no data folder"), "{told}");
}

#[test]
fn a_branch_with_the_same_controller_from_the_start_repeats_the_record() {
    let dir = data_folder();
    let branch = |with: &str, runs: &str| {
        let order = ["branch", "e-1", "--tick", "0", "--seat", "0", "--json"];
        let order = [&order[..], &["--with", with, "--runs", runs]].concat();
        json(&coplay(&order, dir.path()))
    };
    let same = branch("random", "1");
    assert_eq!(same["recorded"]["ticks"], 200);
    assert_eq!(same["runs"][0]["score"], same["recorded"]["score"]);
    assert_eq!(same["outcomes"], serde_json::json!({ "truncated": 1 }));
    let many = branch("random", "30");
    assert_eq!(many["runs"].as_array().unwrap().len(), 30);
    assert_eq!(many["runs"][0], same["runs"][0]);
    assert!(many["distinct"].as_u64().unwrap() > 1);
    let cook = branch("cook", "3");
    assert_eq!(cook["distinct"], 1);
    assert!(cook["score"]["mean"].as_f64() > many["score"]["mean"].as_f64());
}

#[tokio::test]
async fn a_link_shows_its_episode_until_it_expires_and_nothing_else() {
    let dir = data_folder();
    let clock = Clock::start();
    let now_s = clock.now_us() / 1_000_000;
    let routes = router(SharedReplays::open(dir.path(), clock).unwrap());
    let key = ReplayKey::open(dir.path()).unwrap();
    let ask = async |link: String| {
        let request = Request::get(link).body(Body::empty()).unwrap();
        let response = routes.clone().oneshot(request).await.unwrap();
        let (status, policy) = (
            response.status(),
            response.headers()["content-security-policy"].clone(),
        );
        let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, policy, String::from_utf8(body.into()).unwrap())
    };
    let link = key.link("e-1", now_s + 3_600, false);
    let (status, policy, page) = ask(link.clone()).await;
    assert_eq!(status, StatusCode::OK);
    assert!(policy.to_str().unwrap().starts_with("default-src 'none'"));
    assert!(page.contains("<title>Overcooked</title>") && !page.contains("e-1"));
    let status = async |link: String| ask(link).await.0;
    assert_eq!(
        status(link.replace("e-1", "e-2")).await,
        StatusCode::NOT_FOUND
    );
    assert_eq!(
        status(link.replace("false", "true")).await,
        StatusCode::NOT_FOUND
    );
    assert_eq!(status("/replay/e-1".into()).await, StatusCode::NOT_FOUND);
    let expired = key.link("e-1", now_s - 1, false);
    assert_eq!(status(expired).await, StatusCode::GONE);
    let running = key.link("e-2", now_s + 3_600, false);
    assert_eq!(status(running).await, StatusCode::CONFLICT);
}

#[test]
fn a_link_is_printed_for_an_episode_that_is_over() {
    let dir = data_folder();
    let link = |episode: &str| {
        let server = ["--link", "--server", "https://study.example.edu", "--json"];
        coplay(&[&["replay", episode], &server[..]].concat(), dir.path())
    };
    let found = json(&link("e-1"));
    let text = found["link"].as_str().unwrap();
    assert!(
        text.starts_with("https://study.example.edu/replay/e-1?until="),
        "{text}"
    );
    let told = refused(&link("e-2"));
    assert!(told.contains("has no end yet"), "{told}");
}

/// The replay of the episode `e-1` as its page reads it.
async fn shown(data: &Path, with_chat: bool) -> Result<Value, String> {
    let order = ReplayOrder {
        with_chat,
        ..ReplayOrder::default()
    };
    let replay = compute_replay(data, "e-1", order).await;
    let replay = replay.map_err(|error| error.to_string())?;
    Ok(serde_json::to_value(replay).unwrap())
}

#[tokio::test]
async fn chat_is_shown_if_it_is_asked_for_and_nothing_that_was_withdrawn() {
    let dir = data_folder();
    write_rows(dir.path(), &recorded()).await;
    let store = StudyStore::open(dir.path()).await.unwrap();
    let message = |participant: &str, number, episode: Option<&str>| Message {
        partner: String::new(),
        group: "G-1".into(),
        number,
        participant: participant.into(),
        place: 0,
        stage: "play".into(),
        visit: 1,
        group_visit: 1,
        turn: number,
        episode: episode.map(str::to_owned),
        tick: Some(40 + number),
        sent_us: 5,
        at_us: 6,
        text: format!("message {number}"),
    };
    for message in [
        message("P-A", 0, None),
        message("P-A", 1, Some("e-1")),
        message("P-B", 2, Some("e-1")),
    ] {
        store.save_message(&message).await.unwrap();
    }
    let line = |number: u32, seat: u8| {
        let text = format!("message {number}");
        serde_json::json!({ "tick": 40 + number, "seat": seat, "text": text })
    };
    let found = shown(dir.path(), true).await.unwrap();
    assert_eq!(found["chat"], Value::Array(vec![line(1, 0), line(2, 1)]));
    let found = shown(dir.path(), false).await.unwrap();
    assert_eq!(found["chat"], Value::Array(Vec::new()));
    assert_eq!(found["seats"][0]["is_withdrawn"], false);

    store.record_withdrawal("P-A", "W-1", false).await.unwrap();
    let found = shown(dir.path(), true).await.unwrap();
    assert_eq!(found["chat"], Value::Array(vec![line(2, 1)]));
    let gone = [0, 1].map(|seat| found["seats"][seat]["is_withdrawn"].clone());
    assert_eq!(gone, [Value::Bool(true), Value::Bool(false)]);
    store.close().await;
}

/// Writes a video of `e-1`, and returns the command's report on each file.
fn videos(data: &Path, args: &[&str]) -> Vec<Value> {
    let order = [&["replay", "e-1", "--json"], args].concat();
    let found = json(&coplay(&order, data));
    found["videos"].as_array().unwrap().clone()
}

#[test]
fn an_episode_becomes_a_gif_of_its_part_view_size_and_speed() {
    let dir = data_folder();
    let file = dir.path().join("talk.gif");
    let gif = file.to_str().unwrap();
    let whole = &videos(dir.path(), &["--gif", gif, "--width", "240"])[0];
    let bytes = std::fs::read(&file).unwrap();
    assert_eq!(
        (&whole["file"], &whole["bytes"]),
        (&gif.into(), &bytes.len().into())
    );
    assert!(bytes.starts_with(b"GIF89a"));
    // Overcooked has five by four cells here.
    assert_eq!(bytes[6..10], [240_u16, 192].map(u16::to_le_bytes).concat());
    let frames = whole["frames"].as_u64().unwrap();
    assert!((100..=201).contains(&frames), "{frames}");

    let order = [
        "--gif", gif, "--from", "20", "--to", "30", "--width", "100", "--view", "1", "--speed",
        "0.5",
    ];
    let part = &videos(dir.path(), &order)[0];
    let bytes = std::fs::read(&file).unwrap();
    assert_eq!(bytes[6..10], [100_u16, 80].map(u16::to_le_bytes).concat());
    assert!(
        (1..=11).contains(&part["frames"].as_u64().unwrap()),
        "{part}"
    );
}

#[test]
fn a_video_that_cannot_be_is_refused_with_the_reason() {
    let dir = data_folder();
    let refused = |args: &[&str]| {
        let order = [&["replay", "e-1"], args].concat();
        let output = coplay(&order, dir.path());
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let told = refused(&["--gif", "a.gif", "--view", "2"]);
    assert!(told.contains("has seats 0 to 1"), "{told}");
    let told = refused(&["--gif", "a.gif", "--from", "9", "--to", "201"]);
    assert!(told.contains("has states 0 to 200"), "{told}");
    let told = refused(&["--gif", "a.webp"]);
    assert!(
        told.contains("a.webp: name a file that ends in .gif or .mp4"),
        "{told}"
    );
    let told = refused(&["--view", "1"]);
    assert!(told.contains("--gif"), "{told}");
    let told = refused(&["e-2", "--gif", "a.gif"]);
    assert!(told.contains("one episode"), "{told}");
}

/// Runs `coplay replay e-1 --mp4` with another program in place of `ffmpeg`.
fn with_ffmpeg(data: &Path, ffmpeg: &Path, mp4: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coplay"));
    command
        .env("COPLAY_FFMPEG", ffmpeg)
        .args(["replay", "e-1", "--json"]);
    command.args(["--width", "50", "--speed", "0.5", "--to", "20", "--mp4"]);
    command.arg(mp4).arg("--data").arg(data).output().unwrap()
}

#[cfg(unix)]
#[test]
fn an_mp4_has_its_frames_from_ffmpeg_which_is_named_where_it_lacks() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = data_folder();
    let mp4 = dir.path().join("talk.mp4");
    let told = refused(&with_ffmpeg(dir.path(), Path::new("/no/ffmpeg"), &mp4));
    assert!(
        told.contains("/no/ffmpeg cannot be started") && told.contains("apt install ffmpeg"),
        "{told}"
    );

    let program = |name: &str, script: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    // It writes the raw pixels into the file that is named last.
    let copies = program(
        "copies",
        "#!/bin/sh\nfor file; do :; done\ncat > \"$file\"\n",
    );
    let found = json(&with_ffmpeg(dir.path(), &copies, &mp4));
    let raw = std::fs::read(&mp4).unwrap();
    let header = recorded();
    assert_eq!(header.tick_hz, 4, "at half the speed five frames a state");
    let frames = 21 * 5;
    assert_eq!(raw.len(), frames * 50 * 40 * 3);
    assert_eq!(found["videos"][0]["frames"], frames);
    assert!(
        raw[..6_000] == raw[6_000..12_000],
        "the frames of a state are equal"
    );
    let fails = program("fails", "#!/bin/sh\necho 'no such encoder' >&2\nexit 1\n");
    let told = refused(&with_ffmpeg(dir.path(), &fails, &mp4));
    assert!(told.contains("ffmpeg failed: no such encoder"), "{told}");
    assert!(!dir.path().join("talk.mp4.part").exists());
}
