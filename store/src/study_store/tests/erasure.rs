//! Erasures beside other programs that use the database.

use std::fs;

use protocol::Seat;
use server_core::arbiter::ModelCallRow;

use super::*;
use crate::Intervention;

/// The bytes of the database's log.
fn log_len(data: &Path) -> u64 {
    fs::metadata(data.join(format!("{FILE}-wal"))).map_or(0, |log| log.len())
}

#[tokio::test]
async fn a_log_that_another_program_reads_is_emptied_later_and_nobody_waits() {
    let dir = tempfile::tempdir().unwrap();
    let store = StudyStore::open(dir.path()).await.unwrap();
    store.create_session(&new("P-A", None)).await.unwrap();
    let reader = StudyStore::read(dir.path()).await.unwrap();
    let mut reading = reader.file().begin().await.unwrap();
    let sql = "SELECT * FROM sessions";
    sqlx::query(sql).fetch_all(&mut *reading).await.unwrap();

    store.record_withdrawal("P-A", "W-1", false).await.unwrap();
    assert!(store.has_erased_log() && log_len(dir.path()) > 0);
    store.empty_log().await.unwrap();
    assert!(store.has_erased_log(), "it is still read");
    reading.rollback().await.unwrap();
    store.empty_log().await.unwrap();
    assert_eq!((store.has_erased_log(), log_len(dir.path())), (false, 0));
}

#[tokio::test]
async fn a_log_that_a_crash_left_is_emptied_at_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let store = StudyStore::open(dir.path()).await.unwrap();
    store.create_session(&new("P-A", None)).await.unwrap();
    // As `kill -9` leaves the folder.
    let left = tempfile::tempdir().unwrap();
    for end in ["", "-wal"] {
        let name = format!("{FILE}{end}");
        fs::copy(dir.path().join(&name), left.path().join(&name)).unwrap();
    }
    assert!(log_len(left.path()) > 0);
    let again = StudyStore::open(left.path()).await.unwrap();
    assert_eq!(again.sessions().await.unwrap().len(), 1);
    assert_eq!(log_len(left.path()), 0);
}

#[tokio::test]
async fn no_word_of_a_language_model_is_left_of_who_withdraws() {
    let dir = tempfile::tempdir().unwrap();
    let store = StudyStore::open(dir.path()).await.unwrap();
    store.create_session(&new("P-A", None)).await.unwrap();
    let words = ["prompt", "answer", "directive", "refusal"];
    let [prompt, answer, directive, refusal] = words.map(|word| format!("the {word}"));
    let row = ModelCallRow {
        episode: "e1".into(),
        participant: "P-A".into(),
        seat: Some(Seat(1)),
        cost_micro: 5,
        prompt,
        answer,
        directive,
        refusal,
        ..ModelCallRow::default()
    };
    store.save_model_call("play", &row).await.unwrap();
    store.record_withdrawal("P-A", "W-1", false).await.unwrap();
    let calls = store.model_calls().await.unwrap();
    let expected = ModelCallRow {
        prompt: String::new(),
        answer: String::new(),
        directive: String::new(),
        refusal: String::new(),
        ..row
    };
    assert_eq!(calls[0].row, expected);
}

#[tokio::test]
async fn two_programs_write_at_once_and_a_database_that_is_taken_is_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let stores = [
        StudyStore::open(dir.path()).await.unwrap(),
        StudyStore::open(dir.path()).await.unwrap(),
    ];
    stores[0].create_session(&new("P-A", None)).await.unwrap();
    // Each reads before it writes.
    let work = stores.clone().map(|store| {
        tokio::spawn(async move {
            for number in 0..50 {
                let identity = ledger::identity(&number.to_string());
                store.set_identity("P-A", &identity).await?;
            }
            Ok::<(), StoreError>(())
        })
    });
    for work in work {
        work.await.unwrap().unwrap();
    }
    assert_eq!(stores[0].read_ledger().await.unwrap().altered, [""; 0]);

    let taken = stores[1].pool.begin_write().await.unwrap();
    let hurry = "PRAGMA busy_timeout = 0";
    raw_sql(hurry).execute(stores[0].file()).await.unwrap();
    let done = Intervention {
        at: String::new(),
        by: "Ada".to_owned(),
        order: "set_places".to_owned(),
        participant: None,
        detail: "7".to_owned(),
    };
    let error = stores[0].append_intervention(&done).await.unwrap_err();
    assert!(error.is_busy() && error.disk_fault().is_none(), "{error}");
    taken.rollback().await.unwrap();
    stores[0].append_intervention(&done).await.unwrap();
}
