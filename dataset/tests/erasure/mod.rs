//! The bytes of a data folder before and after somebody is erased from it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use dataset::export::{ExportOptions, export};
use dataset::verify::verify_data;
use protocol::Seat;
use protocol::control::Answer;
use protocol::log::{self, Header, LogWriter, Record};
use store::data_folder::DataDir;
use store::erasure::{Erasure, erase_participant};
use store::{Answers, Message, StoredPosition, StudyStore};

use super::{copy_folder, use_trial_key};

/// Bytes that a participant left, by their meaning.
type Traces = BTreeMap<String, Vec<u8>>;

fn folder(name: &str) -> tempfile::TempDir {
    use_trial_key();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data-folders");
    let dir = tempfile::tempdir().unwrap();
    copy_folder(&root.join(name).join("data"), dir.path());
    dir
}

fn list_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let below = entries.map(|entry| match entry.file_type().unwrap().is_dir() {
        true => list_files(&entry.path()),
        false => vec![entry.path()],
    });
    below.flatten().collect()
}

/// Bytes at the beginning of a trace by which it is looked for; every trace has more.
const PREFIX: usize = 12;

/// The names of the traces that are in some file of a folder.
fn found_in(folder: &Path, traces: &Traces) -> Vec<String> {
    let mut by_prefix: HashMap<&[u8], Vec<(&String, &[u8])>> = HashMap::new();
    for (name, bytes) in traces {
        let of_prefix = by_prefix.entry(&bytes[..PREFIX]).or_default();
        of_prefix.push((name, bytes));
    }
    let mut found = BTreeSet::new();
    for path in list_files(folder) {
        let file = fs::read(path).unwrap();
        for (at, window) in file.windows(PREFIX).enumerate() {
            let here = by_prefix.get(window).into_iter().flatten();
            let here = here.filter(|(_, bytes)| file[at..].starts_with(bytes));
            found.extend(here.map(|(name, _)| (*name).clone()));
        }
    }
    found.into_iter().collect()
}

/// The traces of a participant's page in a log: each record as its bytes are in the file, and the keys.
fn traces_of_log(path: &Path, participant: &str) -> Traces {
    let log = log::read_log(&fs::read(path).unwrap()).unwrap();
    let Header {
        participants,
        episode,
        ..
    } = &log.header;
    let mut traces = Traces::new();
    let Some(at) = participants.iter().position(|name| name == participant) else {
        return traces;
    };
    let own = Seat(at as u8);
    if let Some(key) = log.header.keys.get(at) {
        traces.insert(format!("{episode}: key"), key.to_vec());
    }
    for (number, record) in log.records.iter().enumerate() {
        let kind = match record {
            Record::Inputs { seat, .. } if *seat == own => "inputs",
            Record::Timing { seat, .. } if *seat == own => "notes",
            Record::Presence { seat, .. } if *seat == own => "presence",
            Record::Route { seat, .. } if *seat == own => "route",
            _ => continue,
        };
        let mut frame = Vec::new();
        LogWriter::default().append(record, &mut frame).unwrap();
        // The body behind length and checksum, without fields that came later. Short ones are in a file by chance.
        let mut body = frame.split_off(8);
        while body.last() == Some(&0) {
            body.pop();
        }
        if body.len() >= PREFIX {
            traces.insert(format!("{episode}: {kind} {number}"), body);
        }
    }
    traces
}

fn traces_of_logs(data: &Path, participant: &str) -> Traces {
    let files = archive::list_logs(data).unwrap();
    let all = files.iter().map(|path| traces_of_log(path, participant));
    all.flatten().collect()
}

/// Adds an answer, a message and a wait of a participant that nobody else has, and returns their bytes.
async fn leave_words(data: &Path, participant: &str) -> Traces {
    let store = StudyStore::open(data).await.unwrap();
    let sessions = store.sessions().await.unwrap();
    let session = sessions.iter().find(|it| it.participant == participant);
    let session = session.unwrap();
    let (answer, message, code) = (
        format!("an answer of {participant} that nobody else would give"),
        format!("a message of {participant} that nobody else would write"),
        format!("draft of {participant}"),
    );
    let mut position: serde_json::Value = serde_json::from_str(&session.position).unwrap();
    position["ticket"] = serde_json::json!([0, code]);
    let place = StoredPosition {
        position: position.to_string(),
        ..StoredPosition::default()
    };
    let answers = Answers {
        stage: "after".into(),
        stage_index: 90,
        visit: 90,
        answers: vec![Answer {
            name: "words".into(),
            value: serde_json::json!(answer).to_string(),
        }],
        marks: Vec::new(),
        shown: Vec::new(),
        pages_ms: vec![1_000],
    };
    store
        .save_place(participant, &place, Some(&answers))
        .await
        .unwrap();
    let group = store.groups_of_participants().await.unwrap()[participant][0].clone();
    let written = Message {
        partner: String::new(),
        group,
        number: 0,
        participant: participant.into(),
        place: 0,
        stage: "talk".into(),
        visit: 90,
        group_visit: 0,
        turn: 0,
        episode: None,
        tick: None,
        sent_us: 1,
        at_us: 1,
        text: message.clone(),
    };
    store.save_message(&written).await.unwrap();
    store.close().await;
    let words = [("answer", answer), ("message", message), ("ticket", code)];
    let words = words.map(|(name, text)| (name.to_owned(), text.into_bytes()));
    words.into()
}

async fn erase(data: &Path, participant: &str, unpaid: bool) -> anyhow::Result<Erasure> {
    let folder = DataDir::open(data).unwrap();
    erase_participant(&folder, participant, unpaid).await
}

/// The people who played with each other in the folder of version 1, and an episode of theirs.
const PAIR: [&str; 2] = ["P-9B5640JN", "P-5J2F1B7Z"];
const TOGETHER: &str = "E-FZ5WFX9V4B";

#[tokio::test]
async fn of_who_is_erased_no_byte_is_left_and_of_the_others_every_byte() {
    let dir = folder("v1/overcooked-coord");
    let data = dir.path();
    let [own, other] = PAIR;
    let names: Traces = [("identifier".to_owned(), b"PROLIFIC_PID-0000".to_vec())].into();
    assert_eq!(found_in(data, &names), ["identifier"], "as it was before");
    let mut traces = leave_words(data, own).await;
    assert_eq!(found_in(data, &names), [""; 0], "it is encrypted now");
    traces.extend(traces_of_logs(data, own));
    let mut theirs = leave_words_of_partner(data, other).await;
    theirs.extend(traces_of_logs(data, other));
    assert!(traces.len() > 20, "{}", traces.len());
    for left in [&traces, &theirs] {
        let all: Vec<String> = left.keys().cloned().collect();
        assert_eq!(found_in(data, left), all, "all is there before");
    }

    let error = erase(data, own, false).await.unwrap_err().to_string();
    assert!(
        error.contains("the payment of P-9B5640JN is due"),
        "{error}"
    );
    let all: Vec<String> = traces.keys().cloned().collect();
    assert_eq!(found_in(data, &traces), all, "nothing is erased yet");
    let erased = erase(data, own, true).await.unwrap();
    assert_eq!(erased.deleted_episodes, ["E-463Q102G6G"], "played alone");
    assert!(erased.withdrawn_seats.contains(&TOGETHER.to_owned()));
    assert!(erased.lost_payment && !erased.is_open);
    assert_eq!(found_in(data, &traces), [""; 0], "no byte is left");
    // All data of the partner are there, except the data in the solo episodes of others.
    let all: Vec<String> = theirs.keys().cloned().collect();
    assert_eq!(found_in(data, &theirs), all, "the partner keeps all");

    let report = verify_data(data).await.unwrap();
    assert!(report.is_fine(), "{report}");
    let mut episodes = report.episodes.iter();
    let shared = episodes.find(|found| found.episode == TOGETHER).unwrap();
    assert_eq!(shared.withdrawn, [0]);
    assert!(shared.frames > 0, "those of the partner are rebuilt");
    assert!(
        shared.to_string().contains(", seat 0 withdrawn"),
        "{shared}"
    );
    let out = dir.path().join("tables");
    let tables = export(data, &out, &ExportOptions::default()).await.unwrap();
    assert_eq!(tables.skipped, []);
    assert_eq!(found_in(&out, &traces), [""; 0]);
    fs::remove_dir_all(out).unwrap();

    // A second run finds nothing more to do.
    let again = erase(data, own, true).await.unwrap();
    assert_eq!(
        (again.deleted_episodes.len(), again.withdrawn_seats.len()),
        (0, 0)
    );
    // Once the partner is erased, too, nobody needs their episodes.
    let erased = erase(data, other, true).await.unwrap();
    assert!(erased.deleted_episodes.contains(&TOGETHER.to_owned()));
    assert_eq!(found_in(data, &theirs), [""; 0]);
    let report = verify_data(data).await.unwrap();
    assert!(report.is_fine(), "{report}");
    let ids: Vec<&str> = report
        .episodes
        .iter()
        .map(|it| it.episode.as_str())
        .collect();
    assert!(!ids.contains(&TOGETHER), "{ids:?}");
}

/// As [`leave_words`], but as the second message of the group.
async fn leave_words_of_partner(data: &Path, participant: &str) -> Traces {
    let mut words = leave_words(data, participant).await;
    words.retain(|name, _| name != "ticket");
    let words = words.into_iter();
    words
        .map(|(name, bytes)| (format!("{name} of the partner"), bytes))
        .collect()
}

#[tokio::test]
async fn somebody_whom_nobody_knows_is_not_erased() {
    let dir = folder("v5/overcooked-coord");
    let error = erase(dir.path(), "P-NOBODY", true).await.unwrap_err();
    assert!(
        error.to_string().contains("nobody is called `P-NOBODY`"),
        "{error}"
    );
    assert!(verify_data(dir.path()).await.unwrap().is_fine());
}

#[tokio::test]
async fn a_seat_may_be_withdrawn_only_of_those_who_withdrew() {
    let dir = folder("v1/overcooked-coord");
    let path = dir
        .path()
        .join("episodes")
        .join(format!("{TOGETHER}.coplay"));
    archive::withdraw_seats(&path, PAIR[0], true).unwrap();
    let report = verify_data(dir.path()).await.unwrap();
    assert!(!report.is_fine());
    let said = report.to_string();
    let why = "the file says that the person of seat 0 withdrew; the database does not";
    assert!(said.contains(why), "{said}");
}

#[tokio::test]
async fn the_bytes_of_a_name_are_in_no_file_of_any_version_once_it_is_opened() {
    for (name, identifier) in [
        ("v1/overcooked-coord", "PROLIFIC_PID-00003"),
        ("v4/overcooked-coord", "5e0000000000000000000000"),
        ("v5/overcooked-coord", "5e0000000000000000000000"),
    ] {
        let dir = folder(name);
        let names: Traces = [("name".to_owned(), identifier.as_bytes().to_vec())].into();
        assert_eq!(found_in(dir.path(), &names), ["name"], "{name}");
        let store = StudyStore::read(dir.path()).await.unwrap();
        let before = store.list_identifiers().await.unwrap();
        store.close().await;
        StudyStore::open(dir.path()).await.unwrap().close().await;
        assert_eq!(found_in(dir.path(), &names), [""; 0], "{name}");
        // A person with the key still finds everybody.
        let store = StudyStore::read(dir.path()).await.unwrap();
        let after = store.list_identifiers().await.unwrap();
        store.close().await;
        assert!(after == before, "{name}");
        assert!(!after.is_empty(), "{name}");
    }
}
