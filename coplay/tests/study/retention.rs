//! The data that are left of a study after its retention period.

use std::process::Command;

use clock::{Clock, Pace};
use coplay::retain::{Due, delete_old_data};
use protocol::control::{Answer, Draft, Entry};
use signaling_server::assets::Assets;
use signaling_server::server::ServerOptions;
use sqlx::Connection as _;
use store::StudyStore;

use super::drafts::{kept, tell};
use super::entry::sent;
use super::game::meet;
use super::gates::count_in_files;
use super::host::{HORIZON, Host};
use super::page::Page;

const DAY_US: u64 = 24 * 3_600 * 1_000_000;

/// A clock that is this many days ahead.
fn ahead(days: u64) -> Clock {
    let pace = Pace {
        shows_us: days * DAY_US,
        ..Pace::REAL
    };
    Clock::paced(pace).1
}

fn logs(host: &Host) -> usize {
    std::fs::read_dir(host.data().join("episodes"))
        .unwrap()
        .count()
}

/// The items that people have answered, as the database has them.
async fn items(host: &Host) -> Vec<String> {
    let store = StudyStore::read(&host.data()).await.unwrap();
    let responses = store.list_responses().await.unwrap();
    responses
        .into_iter()
        .map(|response| response.item)
        .collect()
}

/// The recruiters' identifiers that the database has.
async fn names(host: &Host) -> Vec<String> {
    let store = StudyStore::read(&host.data()).await.unwrap();
    let known = store.list_identifiers().await.unwrap().into_iter();
    known.map(|known| known.identity.participant).collect()
}

/// Has the study of a host keep its data for thirty days.
fn keep_for_a_month(host: &Host) {
    let file = host.dir.path().join("study/study.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replacen("  version:", "  retention_days: 30\n  version:", 1);
    std::fs::write(&file, text).unwrap();
}

/// Those who were in a group were there last a month earlier than they were.
async fn let_a_month_pass_for_groups(host: &Host) {
    let file = host.data().join("coplay.sqlite");
    let mut database = sqlx::SqliteConnection::connect(&format!("sqlite://{}", file.display()))
        .await
        .unwrap();
    let month_us = i64::try_from(31 * DAY_US).unwrap();
    let aged = sqlx::query(
        "UPDATE sessions SET seen_us = seen_us - ? WHERE participant IN (SELECT participant FROM members)",
    );
    let aged = aged.bind(month_us).execute(&mut database).await.unwrap();
    assert_eq!(aged.rows_affected(), 2);
    database.close().await.unwrap();
}

/// Runs `coplay retain` on the study of a host; returns whether it succeeded, and its outputs.
fn command(host: &Host, more: &[&str]) -> (bool, String, String) {
    let done = Command::new(env!("CARGO_BIN_EXE_coplay"))
        .arg("retain")
        .arg(host.dir.path().join("study"))
        .arg("--data")
        .arg(host.data())
        .args(more)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (done.status.success(), text(done.stdout), text(done.stderr))
}

/// The output of `coplay retain --json`.
fn due(host: &Host, more: &[&str]) -> serde_json::Value {
    let (good, out, err) = command(host, &[&["--json"], more].concat());
    assert!(good, "{out}{err}");
    serde_json::from_str(&out).unwrap()
}

#[tokio::test]
async fn the_command_says_what_is_due_and_erases_that_and_no_more() {
    let host = Host::new();
    keep_for_a_month(&host);
    // The same front end as the program has.
    let options = ServerOptions {
        links: 3,
        assets: Assets::Embedded,
        ..host.options()
    };
    let server = host.start_with(options).await;
    let mut game = meet(&server).await;
    game.play(HORIZON).await;
    game.finish().await;
    let mut third = Page::enter(&server, Entry::Invite(server.links[2].clone())).await;
    third.stage().await;
    server.stop().await;
    let nothing = due(&host, &["--dry-run"]);
    assert_eq!(
        (&nothing["sessions"], &nothing["episodes"]),
        (&0.into(), &0.into())
    );

    let_a_month_pass_for_groups(&host).await;
    let would = serde_json::json!({
        "retention_days": 30, "sessions": 2, "unpaid": 0, "episodes": 1, "erased": false,
    });
    assert_eq!(due(&host, &["--dry-run"]), would);
    let (good, said, _) = command(&host, &["--dry-run"]);
    assert!(good);
    assert_eq!(
        said.trim(),
        "to be erased, because they were inactive for 30 days: 2 sessions, 1 episode"
    );
    assert_eq!(logs(&host), 1, "so far nothing but words");
    let done = due(&host, &[]);
    assert_eq!(
        (&done["sessions"], &done["erased"]),
        (&2.into(), &true.into())
    );
    assert_eq!(logs(&host), 0);
    assert_eq!(due(&host, &["--dry-run"])["sessions"], 0);

    let out = host.dir.path().join("out");
    dataset::export::export(
        &host.data(),
        &out,
        &dataset::export::ExportOptions::default(),
    )
    .await
    .unwrap();
    let mut sessions = csv::Reader::from_path(out.join("sessions.csv")).unwrap();
    let names = sessions.headers().unwrap().clone();
    let at = names
        .iter()
        .position(|name| name == "erased_unix_us")
        .unwrap();
    let rows = sessions.records().map(Result::unwrap);
    let kept = rows.map(|row| row[at].is_empty()).collect::<Vec<_>>();
    assert_eq!(kept, [false, false, true], "who is not due stays");
}

#[tokio::test]
async fn the_command_tells_a_study_that_keeps_its_data_for_ever_what_to_write() {
    let host = Host::new();
    host.start().await.stop().await;
    let (good, _, said) = command(&host, &["--dry-run"]);
    assert!(!good);
    assert!(
        said.contains("write for example `retention_days: 3650`"),
        "{said}"
    );
}

#[tokio::test]
async fn answers_and_episodes_are_gone_after_their_days_and_that_people_were_there_is_not() {
    let host = Host::new();
    keep_for_a_month(&host);
    let server = host.start().await;
    let mut game = meet(&server).await;
    game.play(HORIZON).await;
    game.finish().await;
    server.stop().await;
    assert_eq!(logs(&host), 1);
    assert_eq!(items(&host).await, ["fluency", "fluency"]);

    let nothing = delete_old_data(host.options(), ahead(29), false)
        .await
        .unwrap();
    assert_eq!((nothing.sessions, nothing.episodes), (0, 0));
    let would = delete_old_data(host.options(), ahead(31), true)
        .await
        .unwrap();
    assert_eq!(
        (would.sessions, would.episodes, would.erased),
        (2, 1, false)
    );
    assert_eq!(logs(&host), 1);
    let done = delete_old_data(host.options(), ahead(31), false)
        .await
        .unwrap();
    let all = Due {
        erased: true,
        ..would
    };
    assert_eq!(done, all);
    assert_eq!(logs(&host), 0);
    assert_eq!(items(&host).await, [""; 0], "what is answered is erased");
    let again = delete_old_data(host.options(), ahead(32), true)
        .await
        .unwrap();
    assert_eq!((again.sessions, again.episodes), (0, 0));

    let out = host.dir.path().join("out");
    let tables = dataset::export::export(
        &host.data(),
        &out,
        &dataset::export::ExportOptions::default(),
    )
    .await
    .unwrap();
    let rows = ["sessions", "responses", "steps"].map(|table| tables.count_rows(table));
    assert_eq!(rows, [Some(2), Some(0), Some(0)]);
    let mut sessions = csv::Reader::from_path(out.join("sessions.csv")).unwrap();
    let names = sessions.headers().unwrap().clone();
    let at = |name: &str| names.iter().position(|known| known == name).unwrap();
    for row in sessions.records().map(Result::unwrap) {
        assert_eq!(&row[at("outcome")], "completed");
        assert!(!row[at("erased_unix_us")].is_empty());
    }
}

const WORDS: &str = "format: 1
study: {id: words, version: 1.0.0, title: Words, contact: lab@example.edu, retention_days: 30}
recruitment: {provider: prolific, currency: GBP, base: 1.00}
timeline:
  - {id: ask, type: survey, surveyjs: {elements: [{type: comment, name: words, title: Words}]}}
  - {id: more, type: survey, surveyjs: {elements: [{type: comment, name: more, title: More}]}}
  - {id: thanks, type: end, file: thanks.md}
";

fn quoted(name: &str, text: &str) -> Answer {
    Answer {
        name: name.to_owned(),
        value: format!("\"{text}\""),
    }
}

#[tokio::test]
async fn neither_words_nor_names_of_people_are_in_any_file_after_their_days() {
    let host = Host::new();
    std::fs::write(host.dir.path().join("study/study.yaml"), WORDS).unwrap();
    let server = host.start().await;
    // An answer, a text that is not sent yet, and the recruiter's identifier.
    let (answer, draft, name) = (
        "the onions were cold",
        "and so was the soup",
        "5f0c8a1b2c3d4e5f60718293",
    );
    let entry = sent(&[
        ("PROLIFIC_PID", name),
        ("STUDY_ID", "60a1b2c3d4e5f60718293a4b"),
        ("SESSION_ID", "70b1c2d3e4f5061728394a5c"),
    ]);
    let mut page = Page::enter(&server, entry).await;
    page.stage().await;
    page.done(0, vec![quoted("words", answer)]).await;
    page.stage().await;
    let draft_of_page = Draft {
        answers: vec![quoted("more", draft)],
        ..Draft::default()
    };
    tell(&mut page, 0, 1, &draft_of_page).await;
    kept(&mut page).await;
    for text in [answer, draft] {
        assert_ne!(count_in_files(&host.data(), text), 0, "`{text}` is stored");
    }
    // It is encrypted.
    assert_eq!(count_in_files(&host.data(), name), 0);
    server.stop().await;
    assert_eq!(names(&host).await, [name]);

    let early = delete_old_data(host.options(), ahead(29), false)
        .await
        .unwrap();
    assert_eq!(early.sessions, 0);
    assert_eq!(names(&host).await, [name]);
    for text in [answer, draft] {
        assert_ne!(
            count_in_files(&host.data(), text),
            0,
            "`{text}` is kept for its days"
        );
    }
    let done = delete_old_data(host.options(), ahead(31), false)
        .await
        .unwrap();
    assert_eq!((done.sessions, done.erased), (1, true));
    assert_eq!(names(&host).await, [""; 0]);
    for text in [answer, draft, name] {
        assert_eq!(count_in_files(&host.data(), text), 0, "`{text}` is erased");
    }
}
