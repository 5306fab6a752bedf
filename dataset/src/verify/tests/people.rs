//! Episode files against the people and episodes that the database has.

use protocol::chain::leaf_of;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};
use study::recruitment::RecruiterAction;

use super::*;

/// Changes rows of the database as another program would.
async fn change(data: &Path, sql: &'static str) {
    let options = SqliteConnectOptions::new().filename(data.join(store::FILE));
    let pool = SqlitePool::connect_with(options.foreign_keys(false)).await;
    let pool = pool.unwrap();
    sqlx::raw_sql(sql).execute(&pool).await.unwrap();
    pool.close().await;
}

async fn because(data: &Path) -> String {
    let report = verify_data(data).await.unwrap();
    match &report.episodes[0].verdict {
        EpisodeVerdict::Differs(because) if !report.is_fine() => because.clone(),
        _ => report.to_string(),
    }
}

#[tokio::test]
async fn the_database_is_held_against_the_files() {
    let (data, path, header) = folder().await;
    let ending = log::read_log(&fs::read(&path).unwrap())
        .unwrap()
        .ending
        .unwrap();
    let store = StudyStore::open(data.path()).await.unwrap();
    for (id, ending) in [("e-1", ending), ("e-9", ending)] {
        let header = Header {
            episode: id.into(),
            ..header.clone()
        };
        if id == "e-9" {
            known(&store, &header).await;
        }
        store
            .end_episode(id, ending.reason, Some(ending), None)
            .await
            .unwrap();
    }
    let report = verify_data(data.path()).await.unwrap();
    assert_eq!(
        (report.episodes[0].verdict.clone(), report.missing.clone()),
        (EpisodeVerdict::Equal, vec!["e-9".to_owned()])
    );
    assert!(!report.is_fine());
    fs::write(&path, encode(&header, &[])).unwrap();
    let report = verify_data(data.path()).await.unwrap();
    assert!(
        matches!(&report.episodes[0].verdict, EpisodeVerdict::Differs(because) if because.contains("database"))
    );
}

#[tokio::test]
async fn changed_people_of_an_episode_are_noticed() {
    for (sql, words) in [
        (
            "UPDATE players SET participant = 'P-B' WHERE seat = 0",
            "the database has P-B in seat 0; the file has P-A",
        ),
        (
            "DELETE FROM players WHERE seat = 1",
            "the database has nobody in seat 1; the file has P-B",
        ),
        (
            "DELETE FROM players",
            "the database has nobody in seat 0; the file has P-A",
        ),
        (
            "INSERT INTO players VALUES ('e-1', 2, 'P-B', 1)",
            "the database has P-B in seat 2; the file has nobody",
        ),
        (
            "DELETE FROM players; DELETE FROM episodes",
            "the database does not know this episode",
        ),
    ] {
        let (data, ..) = folder().await;
        change(data.path(), sql).await;
        assert_eq!(because(data.path()).await, words, "{sql}");
    }
}

#[tokio::test]
async fn a_played_file_beside_a_new_database_is_a_fault() {
    let (data, path, header) = folder().await;
    fs::remove_file(data.path().join(store::FILE)).unwrap();
    StudyStore::open(data.path()).await.unwrap().close().await;
    let unknown = "the database does not know this episode";
    assert_eq!(because(data.path()).await, unknown);
    // The database need not know an episode that never began.
    fs::write(&path, encode(&header, &[])).unwrap();
    assert!(verify_data(data.path()).await.unwrap().is_fine());
}

#[tokio::test]
async fn inputs_may_be_erased_only_of_those_who_withdrew() {
    let (data, path, header) = folder().await;
    let mut records = log::read_log(&fs::read(&path).unwrap()).unwrap().records;
    let erased = records.iter_mut().find_map(|record| match record {
        Record::Inputs {
            seat: Seat(1),
            life,
            block,
        } => {
            *record = Record::Erased {
                seat: Seat(1),
                life: *life,
                first: block.first,
                len: block.inputs.len() as u32,
                leaf: leaf_of(block),
                signature: block.signature,
            };
            Some(())
        }
        _ => None,
    });
    assert!(erased.is_some());
    fs::write(&path, encode(&header, &records)).unwrap();
    let words = "inputs of seat 1 were erased, and its person has not withdrawn";
    assert_eq!(because(data.path()).await, words);
    let store = StudyStore::open(data.path()).await.unwrap();
    store.record_withdrawal("P-A", "W-1", false).await.unwrap();
    assert_eq!(because(data.path()).await, words);
    store.record_withdrawal("P-B", "W-2", false).await.unwrap();
    assert!(verify_data(data.path()).await.unwrap().is_fine());
}

#[tokio::test]
async fn a_noted_hash_shows_that_the_end_of_the_ledger_was_cut_off() {
    let (data, ..) = folder().await;
    let store = StudyStore::open(data.path()).await.unwrap();
    let payment = study::Payment {
        outcome: study::Outcome::Completed,
        deed: RecruiterAction::Approve,
        code: None,
        receipt: "R1".into(),
        currency: Some("GBP".into()),
        time_ms: 0,
        base: 450,
        bonus: 0,
        time: 0,
        total: 450,
        extra: 0,
        note: None,
    };
    let end = StoredPosition {
        payment: Some(payment),
        ..StoredPosition::default()
    };
    store.save_place("P-A", &end, None).await.unwrap();
    let due = store.list_payments().await.unwrap().remove(0);
    store
        .mark_paid(&[(due.session, due.what.total)])
        .await
        .unwrap();
    let mut report = verify_data(data.path()).await.unwrap();
    let noted = report.ledger.clone().unwrap();
    let line = format!("ledger of payments: entry 2, hash {}", noted.hash);
    assert!(report.to_string().contains(&line), "{report}");
    report.require_hash(&noted.hash.to_uppercase());
    assert!(report.is_fine());
    let cut =
        "DELETE FROM ledger WHERE number = 2; UPDATE payments SET state = 'due', paid_at = NULL";
    change(data.path(), cut).await;
    let mut report = verify_data(data.path()).await.unwrap();
    assert!(report.is_fine(), "nothing inside shows it: {report}");
    report.require_hash(&noted.hash);
    assert!(!report.is_fine());
    assert!(report.to_string().contains("its end was cut off"));
}
