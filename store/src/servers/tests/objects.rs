//! Logs in an object store. `cargo xtask postgres` runs these tests with a server of Garage.

use archive::fixtures::{pages, play_episode};
use protocol::Seat;
use protocol::log::Header;

use super::super::moving::{LogMover, MovingLogs};
use super::super::shared_log::read_log;
use super::*;
use crate::NewEpisode;
use crate::erasure::{erase_participant, withdraw_files};

/// The path of the log of an episode in a data folder.
fn path_of(id: &str) -> String {
    format!("episodes/{id}.coplay")
}

pub(super) fn log_of(data: &DataDir, id: &str) -> Vec<u8> {
    std::fs::read(data.path().join(path_of(id))).unwrap()
}

/// The data folders of two servers that share a new database and a new place in an object store.
pub(super) async fn two_with_objects() -> Option<(tempfile::TempDir, [DataDir; 2])> {
    let Some(bucket) = trial::object_store() else {
        eprintln!("not checked: {} names no bucket", trial::OBJECTS_VARIABLE);
        return None;
    };
    let (dir, folders) = two_folders().await?;
    let name = dir.path().file_name().unwrap().to_string_lossy();
    let address = format!("{bucket}/{}", name.trim_start_matches('.'));
    choose_object_store(&folders[0], &address).unwrap();
    Some((dir, folders))
}

/// A server with a session of each of two people.
pub(super) async fn begin(data: DataDir) -> (DataDir, StudyStore) {
    let data = join(data).await.unwrap();
    let store = StudyStore::open_for_server(&data).await.unwrap();
    for (number, participant) in ["P-A", "P-B"].into_iter().enumerate() {
        store
            .create_session(&session(participant, number))
            .await
            .unwrap();
    }
    (data, store)
}

/// Plays an episode of two people; to its end if it `ends`.
pub(super) async fn play(data: &DataDir, store: &StudyStore, id: &str, ends: bool) {
    let number = id.trim_start_matches("e-").parse().unwrap();
    let new = NewEpisode {
        id: id.into(),
        era: protocol::Era(number),
        group: "G-1".into(),
        stage: "play".into(),
        path: path_of(id),
        participants: vec!["P-A".into(), "P-B".into()],
        visits: vec![0, 0],
        draw: "{}".into(),
        bindings: "{}".into(),
    };
    store.create_episode(&new).await.unwrap();
    let header = Header {
        episode: id.into(),
        ..header([PERSON, PERSON], 12)
    };
    let (files, runtime) = (data.episode_files(), Handle::current());
    let write = move || {
        let mut file = files.create(header.clone(), &runtime).unwrap();
        for (seat, page) in (0..).map(Seat).zip(&mut pages(&header)) {
            let upload = page.upload_part(&play_episode(&header), 0, 12);
            file.append_upload(seat, &upload).unwrap();
        }
        if ends {
            file.end(EndReason::Played).unwrap();
        }
    };
    tokio::task::spawn_blocking(write).await.unwrap();
    if ends {
        let ended = store.end_episode(id, EndReason::Played, None, None);
        ended.await.unwrap();
    }
}

fn objects_of(data: &DataDir) -> Objects {
    data.lease().unwrap().objects.clone().unwrap()
}

pub(super) async fn mover_of(data: &DataDir) -> LogMover {
    let lease = data.lease().unwrap();
    let mover = LogMover::new(lease.pool(), objects_of(data), lease.generation);
    mover.await.unwrap()
}

/// The names of the objects of a study.
async fn names(data: &DataDir, mover: &LogMover) -> Vec<String> {
    objects_of(data).list(mover.folder()).await.unwrap()
}

/// The logs of which something is in the database.
async fn logs_in_rows(data: &DataDir) -> Vec<String> {
    let sql = "SELECT DISTINCT path FROM episode_parts ORDER BY path";
    let pool = data.lease().unwrap().pool();
    let rows = query(sql).fetch_all(&pool).await.unwrap();
    rows.iter()
        .map(|row| row.try_get("path").unwrap())
        .collect()
}

async fn whole_log(data: &DataDir, id: &str) -> Vec<u8> {
    let pool = data.lease().unwrap().pool();
    let log = read_log(&pool, Some(&objects_of(data)), &path_of(id)).await;
    log.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_moves_once_its_episode_has_ended_and_every_other_folder_gets_it() {
    let Some((dir, [one, two])) = two_with_objects().await else {
        return;
    };
    let (one, store) = begin(one).await;
    play(&one, &store, "e-1", true).await;
    play(&one, &store, "e-2", false).await;
    let mut mover = mover_of(&one).await;
    mover.remove_moved().await.unwrap();
    assert_eq!(logs_in_rows(&one).await, [path_of("e-2")]);
    assert_eq!(names(&one, &mover).await.len(), 1);
    assert_eq!(whole_log(&one, "e-1").await, log_of(&one, "e-1"));
    mover.remove_moved().await.unwrap();
    assert_eq!(names(&one, &mover).await.len(), 1, "nothing is done twice");

    // The database names the object store, so this folder need not.
    let_time_pass(&one).await;
    let two = join(two).await.unwrap();
    for id in ["e-1", "e-2"] {
        assert_eq!(log_of(&two, id), log_of(&one, id));
    }

    // A command fetches what its folder lacks.
    let third = dir.path().join("three");
    let folder = DataDir::open(&third).unwrap();
    choose_database(&folder, two.lease().unwrap().address()).unwrap();
    fetch_for_reading(&third).await.unwrap();
    assert!(!third.join(path_of("e-1")).exists(), "a server has it");
    drop(folder);
    fetch_for_reading(&third).await.unwrap();
    let fetched = std::fs::read(third.join(path_of("e-1"))).unwrap();
    assert_eq!(fetched, log_of(&two, "e-1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_moves_logs_by_itself_while_it_has_the_study() {
    let Some((_dir, [one, _two])) = two_with_objects().await else {
        return;
    };
    let (one, store) = begin(one).await;
    let _moving: MovingLogs = one.lease().unwrap().move_logs().await.unwrap().unwrap();
    play(&one, &store, "e-1", true).await;
    while !logs_in_rows(&one).await.is_empty() {
        sleep(LOOKS_EACH).await;
    }
    assert_eq!(whole_log(&one, "e-1").await, log_of(&one, "e-1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_crash_and_beside_a_lost_server_each_log_is_in_the_object_that_the_database_names()
{
    let Some((_dir, [one, two])) = two_with_objects().await else {
        return;
    };
    let (one, store) = begin(one).await;
    for id in ["e-1", "e-2"] {
        play(&one, &store, id, true).await;
    }
    // A crash came between an object and its row, and another server took over meanwhile.
    let mut lost = mover_of(&one).await;
    let stray = format!("{}/e-1.1-7.coplay", lost.folder());
    let written = objects_of(&one).write(&stray, log_of(&one, "e-1")).await;
    written.unwrap();
    let_time_pass(&one).await;
    let two = join(two).await.unwrap();
    assert_eq!(logs_in_rows(&two).await, ["e-1", "e-2"].map(path_of));

    // The first one was in the middle of a move: it may still write its object, and nothing else.
    let refused = lost.move_log(&path_of("e-2")).await.unwrap_err();
    assert!(
        format!("{refused:#}").contains("another server has taken"),
        "{refused:#}"
    );
    assert_eq!(names(&two, &lost).await.len(), 2);
    let mut mover = mover_of(&two).await;
    mover.remove_moved().await.unwrap();
    let found = names(&two, &mover).await;
    let is_own = |name: &String| name.contains(".2-");
    assert!(found.len() == 2 && found.iter().all(is_own), "{found:?}");

    // It cannot delete objects that it does not know.
    let refused = lost.remove_moved().await.unwrap_err();
    assert!(
        format!("{refused:#}").contains("another server has taken"),
        "{refused:#}"
    );
    assert_eq!(names(&two, &mover).await, found);
    for id in ["e-1", "e-2"] {
        assert_eq!(whole_log(&two, id).await, log_of(&one, id));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_appended_after_a_move_follows_the_object_until_the_next_one() {
    let Some((_dir, [one, _two])) = two_with_objects().await else {
        return;
    };
    let (one, store) = begin(one).await;
    play(&one, &store, "e-1", true).await;
    let mut mover = mover_of(&one).await;
    mover.remove_moved().await.unwrap();
    let (logs, path, mut log) = (
        one.lease().unwrap().logs(),
        path_of("e-1"),
        log_of(&one, "e-1"),
    );
    // The server does not know whether it was stored, and repeats it.
    logs.append(&path, 5, b"known").await.unwrap();
    for _ in 0..2 {
        logs.append(&path, log.len(), b"more").await.unwrap();
    }
    let refused = logs.append(&path, 0, b"another log").await.unwrap_err();
    assert!(
        refused.to_string().contains("is there already"),
        "{refused}"
    );
    log.extend(b"more");
    assert_eq!(whole_log(&one, "e-1").await, log);
    let before = names(&one, &mover).await;
    mover.remove_moved().await.unwrap();
    mover.remove_moved().await.unwrap();
    let after = names(&one, &mover).await;
    assert!(after.len() == 1 && after != before, "{before:?} {after:?}");
    assert_eq!(whole_log(&one, "e-1").await, log);
    assert!(logs_in_rows(&one).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_withdrawn_or_erased_is_in_no_object() {
    let Some((_dir, [one, two])) = two_with_objects().await else {
        return;
    };
    let (one, store) = begin(one).await;
    play(&one, &store, "e-1", true).await;
    let mut mover = mover_of(&one).await;
    mover.remove_moved().await.unwrap();
    let whole = log_of(&one, "e-1");
    store.record_withdrawal("P-A", "W-1", false).await.unwrap();
    assert!(withdraw_files(&store, one.path(), false).await.unwrap());
    let left = log_of(&one, "e-1");
    assert_ne!(left, whole);
    assert_eq!(whole_log(&one, "e-1").await, left);
    mover.remove_moved().await.unwrap();
    assert_eq!(names(&one, &mover).await.len(), 1);
    assert_eq!(whole_log(&one, "e-1").await, left);
    assert!(logs_in_rows(&one).await.is_empty());

    // The command deletes the object before it reports success, and also the leftovers of a crash.
    let stray = format!("{}/e-1.1-7.coplay", mover.folder());
    objects_of(&one).write(&stray, whole).await.unwrap();
    one.lease().unwrap().give_up().await.unwrap();
    let two = join_alone(two).await.unwrap();
    let erased = erase_participant(&two, "P-B", true).await.unwrap();
    assert_eq!(erased.deleted_episodes, ["e-1"]);
    assert!(names(&two, &mover).await.is_empty());
    let pool = two.lease().unwrap().pool();
    let rows =
        query("SELECT object FROM episode_objects UNION SELECT object FROM object_leftovers");
    assert!(rows.fetch_all(&pool).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_damaged_or_gone_is_named_and_stops_only_a_server_that_needs_it() {
    let Some((_dir, [one, two])) = two_with_objects().await else {
        return;
    };
    let (one, store) = begin(one).await;
    play(&one, &store, "e-1", true).await;
    let mut mover = mover_of(&one).await;
    mover.remove_moved().await.unwrap();
    let objects = objects_of(&one);
    let name = names(&one, &mover).await.remove(0);
    let (lease, address) = (one.lease().unwrap(), objects.address().to_owned());
    let refused = async |data: DataDir| format!("{:#}", join(data).await.unwrap_err());
    let again = |data: &Path| DataDir::open(data).unwrap();
    let folder = two.path().to_owned();

    objects.write(&name, b"other".to_vec()).await.unwrap();
    lease.give_up().await.unwrap();
    let said = refused(two).await;
    let words = format!("{name} in {address} has other bytes than were written");
    assert!(said.contains(&words), "{said}");
    objects.delete(&name).await.unwrap();
    let said = refused(again(&folder)).await;
    assert!(said.contains(&format!("{address} has no {name}")), "{said}");

    // This one has its copy.
    let folder = one.path().to_owned();
    drop((store, one));
    join(again(&folder)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn another_object_store_is_refused_and_so_is_one_that_cannot_be_written() {
    let Some((_dir, [one, two])) = two_with_objects().await else {
        return;
    };
    choose_object_store(&two, "s3://coplay-has-no-such-bucket/study").unwrap();
    let folder = two.path().to_owned();
    let said = format!("{:#}", join(two).await.unwrap_err());
    assert!(
        said.contains("cannot be written to s3://coplay-has-no-such-bucket/study"),
        "{said}"
    );

    let (one, _store) = begin(one).await;
    let two = DataDir::open(&folder).unwrap();
    let said = format!("{:#}", join(two).await.unwrap_err());
    let address = objects_of(&one).address().to_owned();
    let words = format!(
        "the logs of this study lie in {address}, and --object-store names s3://coplay-has-no-such-bucket/study"
    );
    assert!(said.contains(&words), "{said}");
}
