//! Withdrawals from episodes with others, addresses and identifiers that are stored nowhere, and backups.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use futures_util::SinkExt as _;
use protocol::Seat;
use protocol::control::{
    Answer, ClientMessage, EndReason, Entry, ServerMessage, StageView, encode,
};
use protocol::log::{self, Record};
use store::StudyStore;
use store::backup::restore::restore_backup;
use tokio::sync::oneshot;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use super::entry::sent;
use super::game::{Match, meet};
use super::gates::count_in_files;
use super::host::{HORIZON, Host, Running};
use super::page::{Page, page_key};
use super::verified;
use super::visits::host;

/// A study whose debriefing lets people withdraw.
fn host_with_debriefing() -> Host {
    let host = Host::new();
    let file = host.dir.path().join("study/study.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let debrief =
        "  - {id: debrief, type: debrief, file: how.md, allow_withdraw: true}\n\n  - id: thanks\n";
    let changed = text.replace("  - id: thanks\n", debrief);
    assert_ne!(text, changed);
    std::fs::write(file, changed).unwrap();
    host
}

/// Ends the episode, and brings both to the debriefing with an answer that nobody else gives.
async fn finish(game: &mut Match) {
    game.archive_both().await;
    for (seat, page) in game.pages.iter_mut().enumerate() {
        let ended = |message| match message {
            ServerMessage::Ended { reason, .. } => Some(reason),
            _ => None,
        };
        assert_eq!(page.until(ended).await, EndReason::Played);
        assert!(matches!(page.stage().await, StageView::Survey { .. }));
        let answer = |name: &str, value: String| Answer {
            name: name.into(),
            value,
        };
        let plan = serde_json::json!(words(seat)).to_string();
        let answers = vec![answer("fluency", "5".into()), answer("plan", plan)];
        page.done(3, answers).await;
        assert!(matches!(page.stage().await, StageView::Debrief { .. }));
    }
}

fn words(seat: usize) -> String {
    format!("the plan of seat {seat}, which nobody else had")
}

/// The file of the one episode of a data folder.
fn log_file(data: &Path) -> PathBuf {
    archive::list_logs(data).unwrap().remove(0)
}

fn read_log(data: &Path) -> log::Log {
    log::read_log(&std::fs::read(log_file(data)).unwrap()).unwrap()
}

/// The signatures of the page of a seat, each in two halves.
fn signatures(log: &log::Log, of: Seat) -> Vec<[u8; 32]> {
    let signatures = log.records.iter().filter_map(|record| match record {
        Record::Inputs { seat, block, .. } if *seat == of => Some(block.signature),
        _ => None,
    });
    signatures.flatten().collect()
}

fn count_bytes(data: &Path, part: &[u8]) -> usize {
    let bytes = std::fs::read(log_file(data)).unwrap();
    bytes
        .windows(part.len())
        .filter(|found| *found == part)
        .count()
}

#[tokio::test]
async fn who_withdraws_from_an_episode_with_others_leaves_the_actions_alone() {
    let host = host_with_debriefing();
    let server = host.start().await;
    let mut game = meet(&server).await;
    game.play(HORIZON).await;
    finish(&mut game).await;
    let before = read_log(&host.data());
    let [theirs, own] = [0, 1].map(|seat| signatures(&before, Seat(seat)));
    assert!(!theirs.is_empty() && !own.is_empty());
    let name = before.header.participants[1].clone();
    assert_eq!(count_in_files(&host.data().join("episodes"), &name), 1);
    // The pages of these scripts have one key.
    let key = page_key().verifying_key().to_bytes();
    assert_eq!(count_bytes(&host.data(), &key), 2);
    assert_ne!(count_in_files(&host.data(), &words(1)), 0);

    let withdraw = Answer {
        name: "withdraw".into(),
        value: "true".into(),
    };
    for (page, answers) in game.pages.iter_mut().zip([Vec::new(), vec![withdraw]]) {
        page.done(4, answers).await;
        assert!(matches!(page.stage().await, StageView::End { .. }));
    }
    // Its last page is shown once everything is erased, while the server runs.
    let after = read_log(&host.data());
    assert_eq!((after.rows(), after.ending), (before.rows(), before.ending));
    assert_eq!(signatures(&after, Seat(0)), theirs);
    for half in &own {
        assert_eq!(count_bytes(&host.data(), half), 0);
    }
    assert_eq!(count_bytes(&host.data(), &key), 1, "that of the other");
    assert_eq!(count_in_files(&host.data().join("episodes"), &name), 0);
    assert_eq!(count_in_files(&host.data(), &words(1)), 0);
    assert_ne!(count_in_files(&host.data(), &words(0)), 0);
    server.stop().await;
    host.start().await.stop().await;

    let episode = verified(&host.data()).await;
    assert_eq!((episode.ticks, episode.withdrawn), (HORIZON, vec![1]));
    let out = host.dir.path().join("out");
    let options = dataset::export::ExportOptions::default();
    let tables = dataset::export::export(&host.data(), &out, &options)
        .await
        .unwrap();
    assert_eq!(tables.count_rows("steps"), Some(u64::from(HORIZON)));
}

/// A server that is its own process, and can be killed.
struct Process {
    child: Child,
    running: Running,
    log: Option<JoinHandle<String>>,
}

impl Process {
    /// Starts the program on a study and a data folder.
    fn start(host: &Host, data: &Path, more: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_coplay"))
            .arg("serve")
            .arg(host.dir.path().join("study"))
            .arg("--data")
            .arg(data)
            .arg("--dist")
            .arg(host.dir.path().join("dist"))
            .args(["--listen", "127.0.0.1:0", "--no-turn", "--json"])
            .args(more)
            .env("COPLAY_KEY_FILE", host.dir.path().join("keys/own.key"))
            .env("RUST_LOG", "debug")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut errors = child.stderr.take().unwrap();
        let log = std::thread::spawn(move || {
            let mut text = String::new();
            errors.read_to_string(&mut text).unwrap();
            text
        });
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let told: serde_json::Value = serde_json::from_str(&line).unwrap();
        let url = told["url"].as_str().unwrap();
        let links = told["links"].as_array().unwrap().iter();
        let token = |link: &serde_json::Value| {
            let link = link.as_str().unwrap();
            link.split_once("?s=").unwrap().1.to_owned()
        };
        let (stop, _) = oneshot::channel();
        let running = Running {
            address: url
                .trim_start_matches("http://")
                .trim_end_matches('/')
                .into(),
            links: links.map(token).collect(),
            stop,
            serving: tokio::spawn(async { Ok(()) }),
        };
        Self {
            child,
            running,
            log: Some(log),
        }
    }

    /// Kills it with `kill -9`; returns what it has logged.
    fn kill(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.log.take().unwrap().join().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn coplay(host: &Host, args: &[&str]) -> (bool, String, String) {
    let done = Command::new(env!("CARGO_BIN_EXE_coplay"))
        .args(args)
        .env("COPLAY_KEY_FILE", host.dir.path().join("keys/own.key"))
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (done.status.success(), text(done.stdout), text(done.stderr))
}

const QUESTIONS: &str = "format: 1
study: {id: questions, version: 1.0.0, title: Questions, contact: lab@example.edu}
recruitment: {provider: prolific, currency: GBP, base: 1.00, outcomes: {completed: {do: approve, pay: base, code: CDONE}}}
timeline:
  - {id: ask, type: survey, surveyjs: {elements: [{type: comment, name: words, title: Words}]}}
  - {id: more, type: survey, surveyjs: {elements: [{type: comment, name: words, title: More}]}}
  - {id: thanks, type: end, file: thanks.md}
";

const PID: &str = "5f0c8a1b2c3d4e5f60718293";

fn written(text: &str) -> Vec<Answer> {
    vec![Answer {
        name: "words".into(),
        value: serde_json::json!(text).to_string(),
    }]
}

/// The parameters of Prolific.
fn from_prolific() -> Entry {
    sent(&[
        ("PROLIFIC_PID", PID),
        ("STUDY_ID", "60d9aadeb86739de712faee0"),
        ("SESSION_ID", "60aca280709ee40ec37d4885"),
    ])
}

#[tokio::test]
async fn no_file_table_or_log_has_an_address_a_browser_or_a_recruiters_identifier() {
    const ADDRESS: &str = "203.0.113.77";
    const BROWSER: &str = "Curious/7.25 (a browser that nobody else has)";
    let host = host(QUESTIONS);
    let process = Process::start(&host, &host.data(), &["--trusted-proxy", "127.0.0.1"]);
    let address = &process.running.address;
    let mut request = format!("ws://{address}/session")
        .into_client_request()
        .unwrap();
    let headers = request.headers_mut();
    headers.insert("x-forwarded-for", ADDRESS.parse().unwrap());
    headers.insert("user-agent", BROWSER.parse().unwrap());
    let (mut socket, _) = connect_async(request).await.unwrap();
    let mut hello = ClientMessage::make_hello(from_prolific());
    if let ClientMessage::Hello { key, .. } = &mut hello {
        *key = page_key().verifying_key().to_bytes();
    }
    let hello = Message::Binary(encode(&hello).into());
    socket.send(hello).await.unwrap();
    let mut page = Page {
        socket,
        token: String::new(),
    };
    for stage in [0, 1] {
        assert!(matches!(page.stage().await, StageView::Survey { .. }));
        page.done(stage, written("what they wrote")).await;
    }
    assert!(matches!(page.stage().await, StageView::End { .. }));
    // A refused request is the most likely to be logged.
    let mut request = format!("ws://{address}/session")
        .into_client_request()
        .unwrap();
    let headers = request.headers_mut();
    headers.insert("x-forwarded-for", ADDRESS.parse().unwrap());
    headers.insert("user-agent", BROWSER.parse().unwrap());
    let (mut refused, _) = connect_async(request).await.unwrap();
    let junk = Message::Binary(vec![protocol::VERSION, 200, 1].into());
    refused.send(junk).await.unwrap();
    let mut refused = Page {
        socket: refused,
        token: String::new(),
    };
    refused.refusal().await;

    let out = host.dir.path().join("tables");
    let (data, folder) = (host.data(), out.display().to_string());
    let data_name = data.display().to_string();
    let (good, _, said) = coplay(&host, &["export", "--data", &data_name, "--out", &folder]);
    assert!(good, "{said}");
    // While it runs, with the database's log, and after it was killed.
    let running = count_in_files(&data, "what they wrote");
    assert_ne!(running, 0, "the search finds what is there");
    for word in [
        ADDRESS,
        BROWSER,
        "Curious/7.25",
        PID,
        "60aca280709ee40ec37d4885",
    ] {
        assert_eq!(
            count_in_files(&data, word),
            0,
            "{word} is in the data folder"
        );
        assert_eq!(count_in_files(&out, word), 0, "{word} is in the tables");
    }
    let text = process.kill();
    assert!(
        text.contains("own.key; keep that file"),
        "the log is read: {text}"
    );
    for word in [ADDRESS, "Curious/7.25", PID, "60aca280709ee40ec37d4885"] {
        assert!(!text.contains(word), "{word} is in the log");
        assert_eq!(
            count_in_files(&data, word),
            0,
            "{word} is in the data folder"
        );
    }

    // With the key, the researcher still finds the person; without it, the command says that it is missing.
    let (good, found, _) = coplay(&host, &["who", PID, "--data", &data_name]);
    assert!(good && found.contains(PID), "{found}");
    let bonus = host.dir.path().join("bonus.csv").display().to_string();
    let pay = [
        "pay", "--data", &data_name, "--csv", "prolific", "--out", &bonus,
    ];
    std::fs::rename(
        host.dir.path().join("keys/own.key"),
        host.dir.path().join("keys/away.key"),
    )
    .unwrap();
    let (good, said, _) = coplay(&host, &["who", PID, "--data", &data_name]);
    assert!(!good && said.contains("their key is missing"), "{said}");
    let (good, _, said) = coplay(&host, &pay);
    assert!(
        !good && said.contains("own.key") && said.contains("--key"),
        "{said}"
    );
    let away = host.dir.path().join("keys/away.key").display().to_string();
    let (good, _, said) = coplay(&host, &[&pay[..], &["--key", &away]].concat());
    assert!(good, "{said}");
    let (good, said, _) = coplay(&host, &["pay", "--data", &data_name]);
    assert!(good, "amounts need no key: {said}");
}

#[tokio::test]
async fn a_backup_of_a_running_server_is_restored_after_that_server_was_killed() {
    let host = host(QUESTIONS);
    let process = Process::start(&host, &host.data(), &[]);
    let mut page = Page::enter(&process.running, from_prolific()).await;
    page.stage().await;
    page.done(0, written("before the backup")).await;
    page.stage().await;
    let token = page.token.clone();

    for name in ["replay.key", "turn.secret"] {
        std::fs::write(host.data().join(name), [7; 32]).unwrap();
    }
    let archive = host.dir.path().join("backup.tar");
    let (data, file) = (
        host.data().display().to_string(),
        archive.display().to_string(),
    );
    let args = ["backup", "--data", &data, "--out", &file, "--json"];
    let (good, said, errors) = coplay(&host, &args);
    assert!(good, "{errors}");
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["key"].as_str().unwrap().len(), 16);
    assert_eq!(said["has_links_key"], true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&archive).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let (good, _, errors) = coplay(&host, &args);
    assert!(!good && errors.contains("is there already"), "{errors}");

    page.done(1, written("after the backup")).await;
    page.stage().await;
    process.kill();
    std::fs::remove_dir_all(host.data()).unwrap();

    let restored = host.dir.path().join("restored");
    let new = restored.display().to_string();
    let args = ["restore", &file, "--data", &new, "--json"];
    let (good, said, errors) = coplay(&host, &args);
    assert!(good, "{errors}");
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        (&said["sessions"], &said["is_shared"]),
        (&1.into(), &false.into())
    );
    let (good, _, errors) = coplay(&host, &args);
    assert!(!good && errors.contains("is there already"), "{errors}");
    let (good, said, _) = coplay(&host, &["verify", "--data", &new]);
    assert!(good, "{said}");
    let has = ["links.key", "replay.key", "turn.secret"].map(|name| restored.join(name).exists());
    assert_eq!(has, [true, false, false], "two are made anew");
    assert_ne!(count_in_files(&restored, "before the backup"), 0);
    assert_eq!(count_in_files(&restored, "after the backup"), 0);
    let process = Process::start(&host, &restored, &[]);
    let entry = Entry::Resume {
        token,
        playing: None,
    };
    let mut page = Page::enter(&process.running, entry).await;
    assert!(matches!(page.stage().await, StageView::Survey { .. }));
    page.done(1, written("once more")).await;
    assert!(matches!(page.stage().await, StageView::End { .. }));
    // The recruiter's link leads to the same session, so the key opens what was restored.
    let mut again = Page::enter(&process.running, from_prolific()).await;
    assert!(matches!(again.stage().await, StageView::End { .. }));
    process.kill();
    let store = StudyStore::read(&restored).await.unwrap();
    assert_eq!(store.sessions().await.unwrap().len(), 1);
    let values = store.list_responses().await.unwrap().into_iter();
    let values: Vec<String> = values.map(|response| response.value).collect();
    assert_eq!(values, ["\"before the backup\"", "\"once more\""]);
}

#[tokio::test]
async fn an_episode_goes_on_from_a_backup_that_was_made_in_its_middle() {
    let host = Host::new();
    let server = host.start().await;
    let mut game = meet(&server).await;
    game.play(20).await;
    let through = game.archive_both().await;
    let archive = host.dir.path().join("backup.tar");
    let backup = store::backup::write_backup(&host.data(), &archive)
        .await
        .unwrap();
    assert_eq!((backup.episodes, backup.missing), (1, Vec::<String>::new()));
    server.stop().await;
    std::fs::remove_dir_all(host.data()).unwrap();
    let restored = restore_backup(&archive, &host.data(), None).await.unwrap();
    assert!(!restored.is_shared);

    let server = host.start().await;
    for seat in 0..2 {
        let entry = Entry::Resume {
            token: game.pages[seat].token.clone(),
            playing: Some((game.era, protocol::Life(0))),
        };
        let mut page = Page::enter(&server, entry).await;
        let running = |message| match message {
            ServerMessage::Running { through, .. } => Some(through),
            _ => None,
        };
        assert_eq!(page.until(running).await, through);
        game.pages[seat] = page;
    }
    game.play(HORIZON).await;
    game.finish().await;
    server.stop().await;
    assert_eq!(verified(&host.data()).await.ticks, HORIZON);
}

#[tokio::test]
async fn a_later_backup_has_nothing_of_who_was_erased() {
    let host = host_with_debriefing();
    let server = host.start().await;
    let mut game = meet(&server).await;
    game.play(HORIZON).await;
    finish(&mut game).await;
    for page in &mut game.pages {
        page.done(4, Vec::new()).await;
        assert!(matches!(page.stage().await, StageView::End { .. }));
    }
    server.stop().await;
    let log = read_log(&host.data());
    let (name, own) = (&log.header.participants[1], signatures(&log, Seat(1)));
    let data = host.data().display().to_string();
    let files = ["before.tar", "after.tar"].map(|name| host.dir.path().join(name));
    let backup = |file: &Path| {
        let file = file.display().to_string();
        let (good, _, said) = coplay(&host, &["backup", "--data", &data, "--out", &file]);
        assert!(good, "{said}");
    };
    backup(&files[0]);
    let (good, said, errors) = coplay(&host, &["erase", name, "--data", &data, "--json"]);
    assert!(good, "{errors}");
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        said["withdrawn_seats"][0].as_str(),
        Some(log.header.episode.as_str())
    );
    backup(&files[1]);
    let [before, after] = files.map(|file| std::fs::read(file).unwrap());
    let has = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|found| found == part);
    for part in own
        .iter()
        .map(|half| &half[..])
        .chain([words(1).as_bytes()])
    {
        assert!(has(&before, part) && !has(&after, part));
    }
    assert!(has(&after, words(0).as_bytes()), "the other person stays");
    // The server continues with the folder, and the person's page still learns that the session is over.
    let server = host.start().await;
    let entry = Entry::Resume {
        token: game.pages[1].token.clone(),
        playing: None,
    };
    let mut page = Page::enter(&server, entry).await;
    assert!(matches!(page.stage().await, StageView::End { .. }));
    server.stop().await;
    assert_eq!(verified(&host.data()).await.withdrawn, [1]);
}
