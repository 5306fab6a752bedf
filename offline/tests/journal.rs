//! Journals and bundles: the same data from the same journal, however it is run, and damage that is found.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::path::{Path, PathBuf};

use protocol::control::{self, Answer, ClientMessage, Entry, ServerMessage, StageView};
use server_core::arbiter::{EnvStage, Write};

use offline::bundle::{BundleError, RunnableStudy, StudyBundle};
use offline::journal::{
    ConnNews, Journal, JournalEntry, JournalError, JournalStart, read_file, read_records, seal,
};
use offline::{ConnEffect, OfflineServer, begins_anew, comes_back};

/// 14 November 2023, 22:13:20, microseconds since the Unix epoch.
const BEGUN_US: u64 = 1_700_000_000_000_000;

const MINUTE_US: u64 = 60_000_000;

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
    let journal = agreed();
    let mut once = OfflineServer::run(mazes(), &journal, true);
    once.advance(BEGUN_US + 10 * MINUTE_US);
    let mut often = OfflineServer::new(mazes(), &journal.start, true);
    for entry in &journal.entries {
        let from_us = often.now_us();
        (from_us..entry.at_us)
            .step_by(250_000)
            .for_each(|at_us| often.advance(at_us));
        often.handle_entry(entry);
    }
    for minute in 0..=10 {
        often.advance(BEGUN_US + minute * MINUTE_US);
    }
    let (once, often) = (once.into_kept(), often.into_kept());
    assert_eq!(once.writes, often.writes);
    let has_session = |write: &(u64, Write)| matches!(write.1, Write::NewSession { .. });
    assert_eq!(once.writes.iter().filter(|it| has_session(it)).count(), 1);
}

#[test]
fn a_page_that_comes_back_finds_its_place() {
    let journal = agreed();
    let mut server = OfflineServer::run(mazes(), &journal, false);
    let token = messages(&mut server)
        .into_iter()
        .find_map(|message| match message {
            ServerMessage::Welcome { session, .. } => Some(session),
            _ => None,
        });
    let again = hello(Entry::Resume {
        token: token.expect("the page is welcome"),
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
fn a_first_message_tells_newcomers_from_those_who_return() {
    let back = hello(Entry::Resume {
        token: "a".to_owned(),
        playing: None,
    });
    assert!(begins_anew(&hello(Entry::Open)) && !begins_anew(&back));
    assert!(comes_back(&back) && !comes_back(&hello(Entry::Open)));
    let sent = hello(Entry::Sent(Vec::new()));
    assert!(!begins_anew(&sent) && !comes_back(&sent) && !comes_back(b"x"));
}
