//! Two servers of one study. Those with a real PostgreSQL server are run by `cargo xtask postgres`.

mod backup;
mod objects;

use std::time::Instant;

use archive::fixtures::{PERSON, header};
use protocol::control::EndReason;
use tokio::runtime::Handle;

use super::*;
use crate::data_folder::read_secret;
use crate::{NewSession, StoredPosition, StudyStore};

/// A new database and the data folders of two servers that share it.
async fn two_folders() -> Option<(tempfile::TempDir, [DataDir; 2])> {
    let Some(server) = trial::server() else {
        eprintln!(
            "not checked: {} names no PostgreSQL server",
            trial::VARIABLE
        );
        return None;
    };
    let address = trial::make_database(&server).await;
    let dir = tempfile::tempdir().unwrap();
    let folders = ["one", "two"].map(|name| {
        let data = DataDir::open(&dir.path().join(name)).unwrap();
        choose_database(&data, &address).unwrap();
        data
    });
    Some((dir, folders))
}

fn session(participant: &str, number: usize) -> NewSession {
    NewSession {
        number,
        participant: participant.into(),
        token: format!("token of {participant}"),
        link: None,
        study: "s".into(),
        study_version: "1".into(),
        study_hash: "ab".into(),
        identity: None,
        place: StoredPosition {
            position: "{}".into(),
            spent_us: 0,
            seen_us: 0,
            acted_us: 0,
            payment: None,
        },
    }
}

/// Ends the lease as time does when its server is stopped.
async fn let_time_pass(data: &DataDir) {
    let lease = data.lease().unwrap();
    lease.renewing.abort();
    query("UPDATE servers SET until = clock_timestamp() - INTERVAL '1 second'")
        .execute(&Pool::Postgres(lease.pool.clone(), Writer::Command))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_first_server_acknowledged_is_at_the_second_and_the_first_writes_no_more() {
    let Some((_dir, [one, two])) = two_folders().await else {
        return;
    };
    let one = join(one).await.unwrap();
    let store = StudyStore::open_for_server(&one).await.unwrap();
    store.create_session(&session("P-A", 0)).await.unwrap();
    let (files, runtime) = (one.episode_files(), Handle::current());
    let created = move || {
        files
            .create(header([PERSON, PERSON], 12), &runtime)
            .unwrap()
    };
    let mut episode = tokio::task::spawn_blocking(created).await.unwrap();
    std::fs::write(one.modules_folder().join("ab.wasm"), "module").unwrap();
    share_new_files(&one).await.unwrap();
    let_time_pass(&one).await;

    // What an earlier time of this server has left there was erased meanwhile.
    let stale = two.episodes().join("e-0.coplay");
    std::fs::write(&stale, "erased").unwrap();
    let two = join(two).await.unwrap();
    assert_eq!(two.lease().unwrap().generation(), 2);
    assert!(!stale.exists());
    let taken = StudyStore::open_for_server(&two).await.unwrap();
    assert_eq!(taken.sessions().await.unwrap()[0].participant, "P-A");
    let log = |data: &DataDir| std::fs::read(data.episodes().join("e-1.coplay")).unwrap();
    assert_eq!(log(&one), log(&two));
    assert_eq!(
        std::fs::read(two.modules_folder().join("ab.wasm")).unwrap(),
        b"module"
    );
    for name in ["links.key", "replay.key", "turn.secret"] {
        assert_eq!(
            read_secret(one.path(), name).unwrap(),
            read_secret(two.path(), name).unwrap()
        );
    }

    let refused = store.create_session(&session("P-B", 1)).await;
    assert!(matches!(refused, Err(StoreError::Fenced)), "{refused:?}");
    let refused = store.append_audit("desk", "made a key").await;
    assert!(matches!(refused, Err(StoreError::Fenced)), "{refused:?}");
    let refused = store.set_token("P-A", "another").await;
    assert!(matches!(refused, Err(StoreError::Fenced)), "{refused:?}");
    let ended = move || episode.end(EndReason::PartnerLeft);
    let refused = tokio::task::spawn_blocking(ended).await.unwrap();
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("another server has taken"), "{refused}");
    assert_eq!(taken.sessions().await.unwrap().len(), 1);

    // The second one continues the log.
    let (files, runtime) = (two.episode_files(), Handle::current());
    let path = two.episodes().join("e-1.coplay");
    let resumed = move || {
        let mut episode = files.recover(&path, &runtime).unwrap();
        episode.end(EndReason::PartnerLeft).unwrap();
    };
    tokio::task::spawn_blocking(resumed).await.unwrap();
    let pool = two.lease().unwrap().pool();
    let shared = shared_log::read_log(&pool, None, "episodes/e-1.coplay").await;
    assert_eq!(shared.unwrap(), Some(log(&two)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_comes_later_waits_until_the_first_stops_or_is_silent() {
    let Some((_dir, [one, two])) = two_folders().await else {
        return;
    };
    let one = join(one).await.unwrap();
    let refused = ensure_free(one.path()).await.unwrap_err().to_string();
    assert!(
        refused.contains("has the study; stop every server"),
        "{refused}"
    );
    let waiting = tokio::spawn(join(two));
    // It is renewed meanwhile.
    sleep(LEASE + LOOKS_EACH).await;
    assert!(!waiting.is_finished());
    let began = Instant::now();
    one.lease().unwrap().give_up().await.unwrap();
    let two = waiting.await.unwrap().unwrap();
    assert!(began.elapsed() < LEASE, "{:?}", began.elapsed());
    assert_eq!(two.lease().unwrap().generation(), 2);

    let third = DataDir::open(&one.path().with_file_name("three")).unwrap();
    choose_database(&third, two.lease().unwrap().address()).unwrap();
    let refused = join_alone(third).await.unwrap_err().to_string();
    assert!(refused.contains("has the study"), "{refused}");
    // Tables are not changed under a server that knows their earlier form.
    let pool = Pool::Postgres(two.lease().unwrap().pool.clone(), Writer::Command);
    let older = query("UPDATE schema_version SET version = version - 1");
    older.execute(&pool).await.unwrap();
    let refused = StudyStore::open(two.path()).await.map(drop);
    assert!(matches!(refused, Err(StoreError::Older)), "{refused:?}");
    // Nobody informs a server that was stopped in the middle that it has lost the study: it finds out.
    query("UPDATE servers SET generation = generation + 1")
        .execute(&pool)
        .await
        .unwrap();
    let lost = two.lease().unwrap().wait_for_loss().await;
    assert!(matches!(lost, StoreError::Fenced), "{lost}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_from_before_object_stores_is_brought_up_to_date_once_no_server_has_it() {
    let Some((_dir, [one, _two])) = two_folders().await else {
        return;
    };
    let one = join(one).await.unwrap();
    let store = StudyStore::open_for_server(&one).await.unwrap();
    store.create_session(&session("P-A", 0)).await.unwrap();
    let lease = one.lease().unwrap();
    let logs = lease.logs();
    let path = "episodes/e-1.coplay";
    logs.append(path, 0, b"log").await.unwrap();
    let older = [
        "DROP TABLE object_store, object_leftovers, episode_objects",
        "DROP FUNCTION move_log, note_leftover, parts_hash",
        "UPDATE schema_version SET version = 19",
    ];
    for sql in older {
        query(sql).execute(&lease.pool()).await.unwrap();
    }
    let refused = StudyStore::open(one.path()).await.map(drop);
    assert!(matches!(refused, Err(StoreError::Older)), "{refused:?}");
    let reading = StudyStore::read(one.path()).await.unwrap();
    assert_eq!(reading.sessions().await.unwrap().len(), 1);

    lease.give_up().await.unwrap();
    let migrated = StudyStore::open(one.path()).await.unwrap();
    assert_eq!(migrated.sessions().await.unwrap().len(), 1);
    let pool = Pool::Postgres(lease.pool.clone(), Writer::Command);
    let whole = shared_log::read_log(&pool, None, path).await.unwrap();
    assert_eq!(whole.as_deref(), Some(&b"log"[..]));
    logs.append(path, 3, b" and more").await.unwrap();
    logs.replace(path, b"another").await.unwrap();
}

#[test]
fn an_object_store_needs_a_database_of_servers() {
    let dir = tempfile::tempdir().unwrap();
    let data = DataDir::open(dir.path()).unwrap();
    let refused = |address: &str| choose_object_store(&data, address).unwrap_err().to_string();
    assert!(refused("s3://lab/study").contains("name that with --database"));
    choose_database(&data, "postgres://one/study").unwrap();
    assert!(refused("s3:/lab").contains("must be an address such as s3://my-bucket/my-study"));
    choose_object_store(&data, "s3://lab/study").unwrap();
    choose_object_store(&data, "s3://lab/study/").unwrap();
    let other = refused("s3://lab/other");
    assert!(
        other.contains(
            "is of the object store s3://lab/study, and --object-store names s3://lab/other"
        ),
        "{other}"
    );
}

#[test]
fn a_folder_stays_with_its_database_and_no_password_is_shown() {
    let dir = tempfile::tempdir().unwrap();
    let data = DataDir::open(dir.path()).unwrap();
    let refused = |address: &str| choose_database(&data, address).unwrap_err().to_string();
    assert!(refused("sqlite://file").contains("must be the address of a PostgreSQL database"));
    choose_database(&data, "postgres://ana:secret@one/study").unwrap();
    choose_database(&data, "postgres://ana:secret@one/study").unwrap();
    let other = refused("postgres://ana:secret@two/study");
    assert!(
        other.contains("is of the database postgres://ana@one/study"),
        "{other}"
    );
    assert!(!other.contains("secret"), "{other}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let about = std::fs::metadata(dir.path().join(FILE)).unwrap();
        assert_eq!(about.permissions().mode() & 0o777, 0o600);
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(SQLITE_FILE), "").unwrap();
    let data = DataDir::open(dir.path()).unwrap();
    let own = choose_database(&data, "postgres://one/study").unwrap_err();
    assert!(
        own.to_string().contains("has a database of its own"),
        "{own}"
    );
}
