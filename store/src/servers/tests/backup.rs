//! Backups of a study that several servers share, restored into a folder and into a new database.

use std::path::PathBuf;

use super::objects::{begin, log_of, mover_of, play, two_with_objects};
use super::*;
use crate::backup::restore::restore_backup;
use crate::backup::write_backup;
use crate::erasure::withdraw_files;

/// Everything that tables are made of, in the store's order.
async fn rows_of(data: &Path) -> String {
    let store = StudyStore::read(data).await.unwrap();
    let rows = (
        store.sessions().await.unwrap(),
        store.episodes().await.unwrap(),
        store.list_links().await.unwrap(),
        store.read_ledger().await.unwrap(),
        store.audit().await.unwrap(),
    );
    store.close().await;
    format!("{rows:#?}")
}

/// Writes a backup and restores it into a folder beside it.
async fn restored(data: &DataDir, dir: &Path, name: &str) -> PathBuf {
    let (file, folder) = (dir.join(format!("{name}.tar")), dir.join(name));
    write_backup(data.path(), &file).await.unwrap();
    restore_backup(&file, &folder, None).await.unwrap();
    folder
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_of_a_running_study_is_a_folder_with_all_rows_and_logs_of_one_time() {
    let Some((dir, [one, two])) = two_folders().await else {
        return;
    };
    let (one, store) = begin(one).await;
    store.issue_link("a link").await.unwrap();
    store.append_audit("who", "looked").await.unwrap();
    play(&one, &store, "e-1", true).await;
    play(&one, &store, "e-2", false).await;
    std::fs::write(one.modules_folder().join("ab.wasm"), "module").unwrap();
    share_new_files(&one).await.unwrap();
    let before = rows_of(one.path()).await;
    // The folder of a server that waits names the database, and has nothing else.
    let folder = restored(&two, dir.path(), "restored").await;
    store.create_session(&session("P-C", 2)).await.unwrap();

    assert_eq!(rows_of(&folder).await, before);
    let read = |path: &str| std::fs::read(folder.join(path)).unwrap();
    for id in ["e-1", "e-2"] {
        assert_eq!(read(&format!("episodes/{id}.coplay")), log_of(&one, id));
    }
    assert_eq!(read("modules/ab.wasm"), b"module");
    assert_eq!(
        read("links.key"),
        read_secret(one.path(), "links.key").unwrap()
    );
    for name in ["replay.key", "turn.secret", FILE] {
        assert!(!folder.join(name).exists(), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_goes_on_in_a_new_database_and_never_over_a_study() {
    let Some((dir, [one, _two])) = two_folders().await else {
        return;
    };
    let (one, store) = begin(one).await;
    store.append_audit("who", "looked").await.unwrap();
    play(&one, &store, "e-1", true).await;
    let file = dir.path().join("backup.tar");
    write_backup(one.path(), &file).await.unwrap();
    let address = trial::make_database(&trial::server().unwrap()).await;
    let data = dir.path().join("new");
    let done = restore_backup(&file, &data, Some(&address)).await.unwrap();
    assert!(done.is_shared && done.sessions == 2, "{done:?}");
    assert!(!data.join(SQLITE_FILE).exists());
    assert_eq!(rows_of(&data).await, rows_of(one.path()).await);

    let other = dir.path().join("other");
    let refused = restore_backup(&file, &other, Some(&address)).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("has a study already"), "{refused}");
    assert!(!other.exists());

    // A server of another folder gets everything from the database, and numbers continue.
    let third = DataDir::open(&dir.path().join("three")).unwrap();
    choose_database(&third, &address).unwrap();
    let third = join_alone(third).await.unwrap();
    assert_eq!(log_of(&third, "e-1"), log_of(&one, "e-1"));
    let key = |data: &DataDir| read_secret(data.path(), "links.key").unwrap();
    assert_eq!(key(&third), key(&one));
    let taken = StudyStore::open_for_server(&third).await.unwrap();
    taken.create_session(&session("P-C", 2)).await.unwrap();
    taken.append_audit("who", "looked again").await.unwrap();
    taken.issue_link("a link").await.unwrap();
    play(&third, &taken, "e-2", true).await;
    assert_eq!(taken.sessions().await.unwrap().len(), 3);
    assert_eq!(taken.audit().await.unwrap().len(), 2);
    assert_eq!(store.sessions().await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_withdrawn_is_in_no_later_backup() {
    let Some((dir, [one, _two])) = two_folders().await else {
        return;
    };
    let (one, store) = begin(one).await;
    play(&one, &store, "e-1", true).await;
    let before = restored(&one, dir.path(), "before").await;
    store.record_withdrawal("P-A", "W-1", false).await.unwrap();
    assert!(withdraw_files(&store, one.path(), false).await.unwrap());
    let after = restored(&one, dir.path(), "after").await;
    let log = |folder: &Path| std::fs::read(folder.join("episodes/e-1.coplay")).unwrap();
    assert_eq!(log(&after), log_of(&one, "e-1"));
    let names = |bytes: &[u8]| bytes.windows(3).any(|word| word == b"P-A");
    assert!(names(&log(&before)) && !names(&log(&after)));
}

mod objects {
    //! With logs in an object store.

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_backup_has_logs_that_lie_in_objects_and_what_came_after_them() {
        let Some((dir, [one, _two])) = two_with_objects().await else {
            return;
        };
        let (one, store) = begin(one).await;
        for (id, ends) in [("e-1", true), ("e-2", true), ("e-3", false)] {
            play(&one, &store, id, ends).await;
        }
        mover_of(&one).await.remove_moved().await.unwrap();
        let mut log = log_of(&one, "e-1");
        let logs = one.lease().unwrap().logs();
        logs.append("episodes/e-1.coplay", log.len(), b"more")
            .await
            .unwrap();
        log.extend(b"more");
        let folder = restored(&one, dir.path(), "restored").await;
        let read = |id: &str| std::fs::read(folder.join(format!("episodes/{id}.coplay"))).unwrap();
        assert_eq!(read("e-1"), log);
        for id in ["e-2", "e-3"] {
            assert_eq!(read(id), log_of(&one, id));
        }
    }
}
