//! Journals and bundles: the same data from the same journal, however it is run, and damage that is found.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::path::{Path, PathBuf};

use protocol::control::{self, Answer, ClientMessage, Entry, ServerMessage, StageView};
use server_core::arbiter::{EnvStage, Write};

use offline::bundle::{BundleError, RunnableStudy, StudyBundle};
use offline::journal::{
    ConnNews, Journal, JournalEntry, JournalError, JournalStart, read_file, read_records, seal,
};
use offline::{ConnEffect, OfflineServer, begins_anew, comes_back, name_person};

/// 14 November 2023, 22:13:20, microseconds since the Unix epoch.
const BEGUN_US: u64 = 1_700_000_000_000_000;

const MINUTE_US: u64 = 60_000_000;

const HOUR_US: u64 = 60 * MINUTE_US;

/// A study whose sessions end if nobody comes back.
const EXPIRES: &str = "contact: lab@example.edu\n  expires_h: 1";

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../examples")
        .join(name)
}

fn bundle(folder: &Path) -> (StudyBundle, String) {
    let (study, facts, record) = catalog::record_study(folder).unwrap();
    let modules = facts.into_keys();
    let modules = modules.map(|(stage, params)| (stage, params, "ab".repeat(32)));
    let bundle = StudyBundle {
        program: "test".to_owned(),
        files: record.files,
        facts: record.facts,
        modules: modules.collect(),
    };
    (bundle, study.hash)
}

fn mazes() -> RunnableStudy {
    bundle(&example("mazes")).0.read_study().unwrap()
}

/// The mazes with some of the text of their study changed.
fn changed_mazes(from: &str, to: &str) -> RunnableStudy {
    let (mut bundle, _) = bundle(&example("mazes"));
    let file = bundle.files.get_mut("study.yaml").unwrap();
    let text = String::from_utf8(file.clone()).unwrap();
    assert!(text.contains(from), "{text}");
    *file = text.replacen(from, to, 1).into_bytes();
    bundle.read_study().unwrap()
}

/// The mazes, whose participants come in this way.
fn recruiting(recruitment: &str) -> RunnableStudy {
    changed_mazes(
        "timeline:",
        &format!("recruitment: {recruitment}\ntimeline:"),
    )
}

const LINKS: &str = "{provider: parameters, parameters: {participant: pid}}";

fn start(study_hash: &str) -> JournalStart {
    JournalStart {
        program: "test".to_owned(),
        study: "mazes".to_owned(),
        study_version: "1.0.0".to_owned(),
        study_hash: study_hash.to_owned(),
        secret: [7; 32],
        begun_us: BEGUN_US,
    }
}

fn hello(entry: Entry) -> Vec<u8> {
    control::encode(&ClientMessage::Hello {
        entry,
        language: None,
        reads: Vec::new(),
        key: [3; 32],
    })
}

fn entry(after_us: u64, conn: u64, news: ConnNews) -> JournalEntry {
    JournalEntry {
        at_us: BEGUN_US + after_us,
        conn,
        news,
    }
}

/// The journal of somebody who opens the page, agrees, and closes it.
fn agreed() -> Journal {
    let runnable = mazes();
    let mut entries = vec![
        entry(1_000, 1, ConnNews::Opened),
        entry(2_000, 1, ConnNews::Bytes(hello(Entry::Open))),
    ];
    let start = start(&runnable.study.hash);
    let mut server = OfflineServer::new(runnable, &start, false);
    entries.iter().for_each(|entry| server.handle_entry(entry));
    let shown = messages(&mut server).into_iter();
    let mut consent = shown.filter_map(|message| match message {
        ServerMessage::Stage {
            index,
            view: StageView::Consent { sha256, .. },
            ..
        } => Some((index, sha256)),
        _ => None,
    });
    let (stage, value) = consent.next().expect("the consent is shown");
    let (name, value) = ("agreed".to_owned(), format!("\"{value}\""));
    let done = ClientMessage::StageDone {
        stage,
        answers: vec![Answer { name, value }],
        pages_ms: vec![900],
    };
    entries.push(entry(9_000_000, 1, ConnNews::Bytes(control::encode(&done))));
    entries.push(entry(9_500_000, 1, ConnNews::Closed));
    Journal { start, entries }
}

fn messages(server: &mut OfflineServer) -> Vec<ServerMessage> {
    let all = std::iter::from_fn(|| server.poll_outgoing());
    let sent = all.filter_map(|outgoing| match outgoing {
        ConnEffect::Send(_, message) => Some(message),
        ConnEffect::Close(_) => None,
    });
    sent.collect()
}

/// The token of the session that the server has welcomed.
fn find_token(server: &mut OfflineServer) -> String {
    let token = messages(server)
        .into_iter()
        .find_map(|message| match message {
            ServerMessage::Welcome { session, .. } => Some(session),
            _ => None,
        });
    token.expect("the page is welcome")
}

fn records(journal: &Journal) -> Vec<u8> {
    let entries = journal.entries.iter().map(JournalEntry::encode);
    [journal.start.encode()]
        .into_iter()
        .chain(entries)
        .flatten()
        .collect()
}

#[test]
fn a_bundle_gives_the_same_study_without_a_disk_and_a_host() {
    for name in ["mazes", "seven-partners"] {
        let (bundle, hash) = bundle(&example(name));
        let read = StudyBundle::decode(&bundle.encode()).unwrap();
        let RunnableStudy { study, stages } = read.read_study().unwrap();
        assert_eq!(study.hash, hash, "{name}");
        let is_named = |stage: &EnvStage| stage.module.len() == 64;
        assert!(
            !stages.is_empty() && stages.values().all(is_named),
            "{name}"
        );
    }
}

#[test]
fn a_damaged_bundle_is_refused() {
    let bytes = bundle(&example("mazes")).0.encode();
    for bad in [&bytes[..0], &bytes[..bytes.len() / 2], &[9, 9, 9][..]] {
        assert!(matches!(
            StudyBundle::decode(bad),
            Err(BundleError::Malformed)
        ));
    }
}

#[test]
fn a_file_of_journals_is_read_as_it_was_written_and_damage_is_found() {
    let journal = agreed();
    let twice = [records(&journal), records(&journal)].concat();
    let file = seal(&twice);
    assert_eq!(read_file(&file), Ok(vec![journal.clone(), journal]));
    assert_eq!(read_file(b"PK\x03\x04"), Err(JournalError::Foreign));
    assert_eq!(read_file(&file[..10]), Err(JournalError::Damaged));
    assert_eq!(
        read_file(&file[..file.len() - 1]),
        Err(JournalError::Damaged)
    );
    let mut bent = file;
    bent[40] ^= 1;
    assert_eq!(read_file(&bent), Err(JournalError::Damaged));
    assert_eq!(
        read_records(&[255, 255, 255, 255, 1]),
        Err(JournalError::Record(0))
    );
}

#[test]
fn the_same_journal_gives_the_same_data_however_often_it_is_looked_at() {
    let study = || changed_mazes("contact: lab@example.edu", EXPIRES);
    let mut journal = agreed();
    // Nobody comes back for an hour, which ends the session; then a page is opened again.
    journal
        .entries
        .push(entry(3 * HOUR_US, 2, ConnNews::Opened));
    let once = OfflineServer::run(study(), &journal, true);
    let mut often = OfflineServer::new(study(), &journal.start, true);
    let mut looks = 0;
    for entry in &journal.entries {
        while often.now_us() + MINUTE_US < entry.at_us {
            often.advance(often.now_us() + MINUTE_US);
            looks += 1;
        }
        often.handle_entry(entry);
    }
    assert!(looks > 100, "it is looked at {looks} times");
    let (once, often) = (once.into_kept(), often.into_kept());
    assert_eq!(once.writes, often.writes);
    let has_session = |write: &(u64, Write)| matches!(write.1, Write::NewSession { .. });
    assert_eq!(once.writes.iter().filter(|it| has_session(it)).count(), 1);
    let has_end = |write: &&(u64, Write)| {
        matches!(
            write.1,
            Write::Place {
                payment: Some(_),
                ..
            }
        )
    };
    let ends = once.writes.iter().filter(has_end).map(|(at_us, _)| *at_us);
    // Not when somebody looked at it, but when it was due.
    let ends: Vec<u64> = ends.map(|at_us| at_us - BEGUN_US).collect();
    assert!(
        matches!(ends[..], [end] if (HOUR_US..HOUR_US + MINUTE_US).contains(&end)),
        "{ends:?}"
    );
}

#[test]
fn a_reload_or_an_open_page_is_no_deed_and_an_answer_is() {
    let kept = |journal: &Journal| {
        let mut server = OfflineServer::run(mazes(), journal, true);
        server.advance(BEGUN_US + 10 * MINUTE_US);
        server.into_kept()
    };
    let before = agreed();
    let mut server = OfflineServer::run(mazes(), &before, false);
    let token = find_token(&mut server);
    let said = |message: &ClientMessage| ConnNews::Bytes(control::encode(message));
    let mut after = before.clone();
    let again = hello(Entry::Resume {
        token,
        playing: None,
    });
    after.entries.extend([
        entry(MINUTE_US, 2, ConnNews::Opened),
        entry(MINUTE_US, 2, ConnNews::Bytes(again)),
        entry(2 * MINUTE_US, 2, said(&ClientMessage::Clock { sent_us: 5 })),
        entry(3 * MINUTE_US, 2, said(&ClientMessage::Here)),
        entry(4 * MINUTE_US, 2, said(&ClientMessage::Unloading)),
        entry(4 * MINUTE_US, 2, ConnNews::Closed),
    ]);
    assert_ne!(kept(&before).writes, kept(&after).writes, "times differ");
    assert!(kept(&before).has_same_deeds(&kept(&after)));
    let mut less = before.clone();
    less.entries.truncate(2);
    assert!(!kept(&less).has_same_deeds(&kept(&before)));
}

#[test]
fn a_message_that_is_too_long_is_cut_and_its_record_is_read() {
    let mut journal = agreed();
    journal.entries.pop();
    let long = ConnNews::of_message(vec![1; 3 * control::MAX_MESSAGE]);
    journal.entries.push(entry(MINUTE_US, 1, long));
    let read = read_file(&seal(&records(&journal)));
    assert_eq!(read, Ok(vec![journal.clone()]));
    let mut server = OfflineServer::run(mazes(), &journal, false);
    let closed = std::iter::from_fn(|| server.poll_outgoing());
    let is_closed = |it: &ConnEffect| matches!(it, ConnEffect::Close(conn) if conn.0 == 1);
    assert!(closed.into_iter().any(|it| is_closed(&it)));
    // The longest message is whole.
    let longest = vec![1; control::MAX_MESSAGE];
    assert_eq!(
        ConnNews::of_message(longest.clone()),
        ConnNews::Bytes(longest)
    );
}

#[test]
fn who_has_no_identifier_of_a_recruiter_comes_in_only_where_none_is_needed() {
    let sent = |name: &str| Entry::Sent(vec![(name.to_owned(), "ada".to_owned())]);
    for (study, entry_way, comes_in) in [
        (recruiting(LINKS), Entry::Open, false),
        (recruiting(LINKS), sent("other"), false),
        (recruiting(LINKS), sent("pid"), true),
        (recruiting("{provider: kiosk}"), Entry::Open, true),
        (mazes(), Entry::Open, true),
        (mazes(), sent("label"), true),
    ] {
        let provider = study.study.recruitment.provider;
        let mut server = OfflineServer::new(study, &start(""), false);
        server.handle_entry(&entry(1, 1, ConnNews::Opened));
        server.handle_entry(&entry(2, 1, ConnNews::Bytes(hello(entry_way.clone()))));
        let is_welcome = |message: &ServerMessage| matches!(message, ServerMessage::Welcome { .. });
        let all = messages(&mut server);
        assert_eq!(
            all.iter().any(is_welcome),
            comes_in,
            "{provider:?} {entry_way:?}"
        );
    }
}

#[test]
fn a_page_that_comes_back_finds_its_place() {
    let journal = agreed();
    let mut server = OfflineServer::run(mazes(), &journal, false);
    let again = hello(Entry::Resume {
        token: find_token(&mut server),
        playing: None,
    });
    server.handle_entry(&entry(MINUTE_US, 2, ConnNews::Opened));
    server.handle_entry(&entry(MINUTE_US, 2, ConnNews::Bytes(again)));
    let views = messages(&mut server)
        .into_iter()
        .filter_map(|message| match message {
            ServerMessage::Stage { view, .. } => Some(view),
            _ => None,
        });
    let views: Vec<StageView> = views.collect();
    assert!(matches!(views[..], [StageView::Survey { .. }]), "{views:?}");
}

#[test]
fn bytes_that_are_no_message_close_the_connection_and_nothing_else() {
    let journal = agreed();
    let mut server = OfflineServer::run(mazes(), &journal, false);
    messages(&mut server);
    server.handle_entry(&entry(MINUTE_US, 2, ConnNews::Opened));
    server.handle_entry(&entry(MINUTE_US, 2, ConnNews::Bytes(vec![1, 2, 3])));
    let closed = std::iter::from_fn(|| server.poll_outgoing());
    assert!(
        closed
            .into_iter()
            .any(|it| matches!(it, ConnEffect::Close(conn) if conn.0 == 2))
    );
}

#[test]
fn a_first_message_tells_whose_journal_it_is() {
    let back = hello(Entry::Resume {
        token: "a".to_owned(),
        playing: None,
    });
    let RunnableStudy { study, .. } = recruiting(LINKS);
    assert!(begins_anew(&study, &hello(Entry::Open)) && !begins_anew(&study, &back));
    assert!(comes_back(&back) && !comes_back(&hello(Entry::Open)));
    assert!(!begins_anew(&study, b"x") && !comes_back(b"x"));
    let sent = |name: &str, value: &str| {
        let other = ("visit".to_owned(), value.to_owned());
        hello(Entry::Sent(vec![
            other,
            (name.to_owned(), value.to_owned()),
        ]))
    };
    let ada = name_person(&study, &sent("pid", "ada"));
    assert!(ada.is_some() && !begins_anew(&study, &sent("pid", "ada")));
    assert_eq!(ada, name_person(&study, &sent("pid", " ada ")));
    assert_ne!(ada, name_person(&study, &sent("pid", "ben")));
    for nobody in [sent("pid", " "), sent("other", "ada")] {
        assert!(begins_anew(&study, &nobody) && !comes_back(&nobody));
        assert_eq!(name_person(&study, &nobody), None);
    }
    let RunnableStudy { study, .. } = mazes();
    assert!(name_person(&study, &sent("label", "ada")).is_some());
    assert!(begins_anew(&study, &sent("pid", "ada")));
}
