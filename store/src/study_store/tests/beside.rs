//! Commands that write into the database beside a server.

use super::*;
use crate::beside::open_beside_server;
use crate::data_folder::DataDir;

#[tokio::test]
async fn an_older_database_is_left_alone_while_a_server_uses_it() {
    let dir = tempfile::tempdir().unwrap();
    let lock = DataDir::open(dir.path()).unwrap();
    let store = StudyStore::open(dir.path()).await.unwrap();
    let older = "DROP TABLE desk_messages; PRAGMA user_version = 18";
    raw_sql(older).execute(store.file()).await.unwrap();
    let refused = open_beside_server(dir.path()).await.unwrap_err();
    assert!(refused.to_string().contains("older version"), "{refused}");
    assert_eq!(store.version().await.unwrap(), 18);
    drop(lock);
    let opened = open_beside_server(dir.path()).await.unwrap();
    opened.append_audit("desk", "a link").await.unwrap();
    assert_eq!(store.version().await.unwrap(), MIGRATIONS.len());
    // It is up to date, and the server runs again.
    let _lock = DataDir::open(dir.path()).unwrap();
    let beside = open_beside_server(dir.path()).await.unwrap();
    beside.append_audit("desk", "another").await.unwrap();
    assert_eq!(store.audit().await.unwrap().len(), 2);
}
