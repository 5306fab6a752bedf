//! The database of a data folder for commands that may run beside a server.

use std::path::Path;

use anyhow::Context as _;

use crate::data_folder::{DataDir, DataError};
use crate::{StoreError, StudyStore, has_database};

/// Opens the database of a data folder for writing, also while a server writes to it. A missing or older database is
/// made or updated only if no server uses the folder.
///
/// # Errors
/// A server uses a database of an older version; or the database or the disk fails.
pub async fn open_beside_server(data: &Path) -> anyhow::Result<StudyStore> {
    let is_there = has_database(data)?;
    let opened = match is_there {
        true => StudyStore::open_as_it_is(data).await,
        false => Err(StoreError::Older),
    };
    match opened {
        Err(StoreError::Older) => {}
        opened => return opened.context("the database cannot be opened"),
    }
    // Held until the database has its new version.
    let _lock = match DataDir::open(data) {
        Err(DataError::Locked(_)) if is_there => return Err(StoreError::Older.into()),
        lock => lock?,
    };
    let opened = StudyStore::open(data).await;
    opened.context("the database cannot be opened")
}
