//! Data folders that somebody changed outside of the program: verification, exports and payments report it.

use std::fs;
use std::path::{Path, PathBuf};

use archive::Fingerprint;
use dataset::export::{ExportOptions, ExportReport, StopFlag, export};
use dataset::lerobot::export_lerobot;
use dataset::minari::export_minari;
use dataset::pay::{PaymentFormat, PaymentOrder, pay};
use dataset::verify::{VerifyReport, verify_data};
use protocol::chain::{Chain, SigningKey};
use protocol::log::{self, Log, Record};
use protocol::{Controller, Life, Seat, Tick};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};
use store::StudyStore;
use store::data_folder::DataDir;
use store::erasure::erase_participant;

use super::{copy_folder, use_trial_key};

/// A copy of a data folder of an earlier program.
fn folder(name: &str) -> tempfile::TempDir {
    use_trial_key();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data-folders");
    let dir = tempfile::tempdir().unwrap();
    copy_folder(&root.join(name).join("data"), dir.path());
    dir
}

/// The file of the first episode, and its log.
fn first_log(data: &Path) -> (PathBuf, Log) {
    let path = archive::list_logs(data).unwrap().remove(0);
    let log = log::read_log(&fs::read(&path).unwrap()).unwrap();
    (path, log)
}

/// Changes rows of the database as another program would.
async fn change_rows(data: &Path, sql: &'static str) {
    let options = SqliteConnectOptions::new().filename(data.join(store::FILE));
    let pool = SqlitePool::connect_with(options.foreign_keys(false)).await;
    let pool = pool.unwrap();
    sqlx::raw_sql(sql).execute(&pool).await.unwrap();
    pool.close().await;
}

/// Has today's program end every episode, which enters the logs into the ledger.
async fn end_anew(data: &Path) {
    StudyStore::open(data).await.unwrap().close().await;
    change_rows(
        data,
        "UPDATE episodes SET state = 'running' WHERE ticks IS NOT NULL",
    )
    .await;
    let store = StudyStore::open(data).await.unwrap();
    for path in archive::list_logs(data).unwrap() {
        let bytes = fs::read(path).unwrap();
        let log = log::read_log(&bytes).unwrap();
        let Some(ending) = log.ending else { continue };
        let (id, fingerprint) = (&log.header.episode, Fingerprint::of(&bytes));
        let ended = store.end_episode(id, ending.reason, Some(ending), fingerprint);
        ended.await.unwrap();
    }
    store.close().await;
}

async fn export_tables(data: &Path) -> ExportReport {
    let out = tempfile::tempdir().unwrap();
    let options = ExportOptions::default();
    export(data, &out.path().join("tables"), &options)
        .await
        .unwrap()
}

/// The first fault of the first episode.
fn fault(report: &VerifyReport) -> String {
    assert!(!report.is_fine(), "{report}");
    report.episodes[0].to_string()
}

/// The episode is left out of every kind of export, for the same reason.
async fn assert_left_out(data: &Path, reason: &str) {
    let out = tempfile::tempdir().unwrap();
    let stop = StopFlag::default();
    let tables = export_tables(data).await.skipped;
    let minari = export_minari(data, &out.path().join("minari"), &stop).await;
    let lerobot = export_lerobot(data, &out.path().join("lerobot"), &stop).await;
    for skipped in [tables, minari.unwrap().skipped, lerobot.unwrap().skipped] {
        let reasons: Vec<_> = skipped.iter().map(|left| left.reason.as_str()).collect();
        assert!(
            reasons.iter().any(|said| said.contains(reason)),
            "{reasons:?}"
        );
    }
}

/// Signs all inputs of a person with another key.
fn sign_anew(log: &mut Log) {
    let person = |controller: &Controller| *controller == Controller::Human;
    let seat = log.header.controllers.iter().position(person).unwrap();
    let (key, own) = (SigningKey::from_bytes(&[7; 32]), Seat(seat as u8));
    log.header.keys[seat] = key.verifying_key().to_bytes();
    let mut chain = Chain::new(&log.header.episode, own, Life(0), Tick(0));
    for record in &mut log.records {
        if let Record::Inputs {
            seat,
            life: Life(0),
            block,
        } = record
            && *seat == own
        {
            *block = chain.sign(&key, block.inputs.clone(), block.salt);
        }
    }
}

/// Takes away a kind of record; the others have the numbers of their places.
fn remove(log: &mut Log, is_gone: impl Fn(&Record) -> bool) {
    let before = log.records.len();
    log.records.retain(|record| !is_gone(record));
    assert!(log.records.len() < before, "there was none");
}

/// Makes a log look as if pages had signed nothing yet, and changes an action of a person.
fn downgrade(log: &mut Log, with_keys: bool) {
    remove(log, |record| {
        matches!(
            record,
            Record::Inputs { .. } | Record::Digest { .. } | Record::Timing { .. }
        )
    });
    let action = log.records.iter_mut().find_map(|record| match record {
        Record::Actions { rows, .. } => rows.last_mut(),
        _ => None,
    });
    let action = action.unwrap();
    *action = (*action + 1) % 6;
    if !with_keys {
        log.header.keys.clear();
    }
    log.version = 4;
}

#[tokio::test]
async fn a_log_that_claims_to_be_older_than_signatures_is_a_fault_and_in_no_export() {
    for with_keys in [true, false] {
        let dir = folder("v5/overcooked-coord");
        let (path, mut log) = first_log(dir.path());
        downgrade(&mut log, with_keys);
        fs::write(&path, log.to_bytes().unwrap()).unwrap();
        let words = "of version 4, in which nothing is signed";
        for _ in 0..2 {
            let said = fault(&verify_data(dir.path()).await.unwrap());
            assert!(said.contains(words), "{said}");
            assert_left_out(dir.path(), words).await;
            // The same once a server of today has opened it.
            StudyStore::open(dir.path()).await.unwrap().close().await;
        }
    }
}

#[tokio::test]
async fn inputs_that_contradict_the_actions_are_in_no_export() {
    let dir = folder("v5/overcooked-coord");
    let (path, mut log) = first_log(dir.path());
    remove(&mut log, |record| matches!(record, Record::Inputs { .. }));
    fs::write(&path, log.to_bytes().unwrap()).unwrap();
    assert_left_out(dir.path(), "its own page has said nothing").await;
}

/// A change of a log by somebody who has the data folder.
type Forge = fn(&mut Log);

#[tokio::test]
async fn a_log_that_the_ledger_has_cannot_be_signed_anew_nor_lose_what_pages_noted() {
    let changes: [(&str, Forge); 4] = [
        ("keys", sign_anew),
        ("notes", |log| {
            remove(log, |record| matches!(record, Record::Timing { .. }))
        }),
        ("digests", |log| {
            remove(log, |record| matches!(record, Record::Digest { .. }))
        }),
        ("version", |log| downgrade(log, false)),
    ];
    for (name, forge) in changes {
        let dir = folder("v5/overcooked-coord");
        let (path, mut log) = first_log(dir.path());
        forge(&mut log);
        let forged = log.to_bytes().unwrap();
        end_anew(dir.path()).await;
        let report = verify_data(dir.path()).await.unwrap();
        assert!(
            report.is_fine() && report.episodes[0].in_ledger,
            "{name}: {report}"
        );
        let noted = report.ledger.unwrap().hash;
        fs::write(&path, &forged).unwrap();
        fault(&verify_data(dir.path()).await.unwrap());
        assert_left_out(dir.path(), "the log").await;
        // It does not help either to remove the end of the ledger, if somebody has noted its hash.
        change_rows(dir.path(), "DELETE FROM ledger WHERE entry LIKE 'log %'").await;
        let mut report = verify_data(dir.path()).await.unwrap();
        report.require_hash(&noted);
        assert!(!report.is_fine(), "{name}");
    }
}

#[tokio::test]
async fn a_log_of_an_earlier_program_is_sound_and_said_to_be_in_no_ledger() {
    let dir = folder("v5/overcooked-coord");
    let report = verify_data(dir.path()).await.unwrap();
    assert!(report.is_fine() && !report.episodes[0].in_ledger);
    let said = report.to_string();
    let words = "1 ended episode whose log is not in the ledger";
    assert!(said.contains(words), "{said}");
}

#[tokio::test]
async fn an_episode_that_the_ledger_has_cannot_go_or_begin_again_without_notice() {
    for (sql, words) in [
        (
            "DELETE FROM players; DELETE FROM episodes",
            "and the database has no such episode",
        ),
        (
            "UPDATE episodes SET state = 'running', reason = NULL, ticks = NULL, score = NULL, digest = NULL",
            "whose end the database does not have",
        ),
    ] {
        let dir = folder("v5/overcooked-coord");
        end_anew(dir.path()).await;
        change_rows(dir.path(), sql).await;
        if sql.starts_with("DELETE") {
            fs::remove_file(first_log(dir.path()).0).unwrap();
        }
        let report = verify_data(dir.path()).await.unwrap();
        assert!(!report.is_fine(), "{report}");
        assert!(report.to_string().contains(words), "{report}");
    }
}

#[tokio::test]
async fn a_log_is_entered_again_when_somebody_withdraws_and_a_forged_one_is_not() {
    for is_forged in [false, true] {
        let dir = folder("v1/overcooked-coord");
        let data = dir.path();
        end_anew(data).await;
        let together = data.join("episodes/E-FZ5WFX9V4B.coplay");
        if is_forged {
            let mut log = log::read_log(&fs::read(&together).unwrap()).unwrap();
            remove(&mut log, |record| matches!(record, Record::Digest { .. }));
            fs::write(&together, log.to_bytes().unwrap()).unwrap();
        }
        let locked = DataDir::open(data).unwrap();
        erase_participant(&locked, "P-9B5640JN", true)
            .await
            .unwrap();
        drop(locked);
        let report = verify_data(data).await.unwrap();
        let found = report.episodes.iter();
        let mut found = found.filter(|found| found.path == together);
        let found = found.next().unwrap();
        assert_eq!(
            (report.is_fine(), found.in_ledger),
            (!is_forged, !is_forged),
            "{report}"
        );
        assert_eq!(found.withdrawn.len(), 1);
    }
}

#[tokio::test]
async fn nobody_is_paid_by_a_changed_row() {
    let dir = folder("v6/overcooked-coord");
    let data = dir.path();
    assert!(pay(data, None).await.unwrap().altered.is_empty());
    change_rows(
        data,
        "UPDATE payments SET total = total + 5000, bonus = bonus + 5000, state = 'due', paid_at = NULL",
    )
    .await;
    let shown = pay(data, None).await.unwrap();
    let session = &shown.payments[0].session;
    let sentence = format!(
        "the payment of {} is not the one that was stored when the session ended (session {session})",
        shown.payments[0].participant
    );
    assert!(shown.altered.contains(&sentence), "{:?}", shown.altered);
    assert!(shown.to_string().contains(&format!("ALTERED: {sentence}")));
    let out = data.join("pay.csv");
    for mark in [false, true] {
        // Only a database of today is marked.
        StudyStore::open(data).await.unwrap().close().await;
        let order = PaymentOrder {
            format: PaymentFormat::Plain,
            out: out.clone(),
            mark,
        };
        let refused = pay(data, Some(&order)).await.unwrap_err().to_string();
        assert!(
            refused.contains(&sentence) && refused.contains("backup"),
            "{refused}"
        );
        assert!(!out.exists());
    }
    let exported = export_tables(data).await;
    assert!(!exported.is_fine());
    assert!(
        exported.to_string().contains("altered: the payment of"),
        "{exported}"
    );
}
