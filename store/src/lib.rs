//! The data folder of a server. Beside episode files it has links, sessions and their place in the study, groups,
//! episodes, answers. Everything that a method has returned from survives the loss of the process and of power.
//!
//! Sessions are named by the pseudonym of their participant. Tokens are stored as [`server_core::token::token_hash`] only.
//! The store must not know what a position in a study means, nor of sockets and episode files.

#![forbid(unsafe_code)]

pub mod data_folder;
pub mod participant_links;
pub mod persistence;
mod records;
mod sqlite;
pub mod study_version;

use std::path::Path;

use protocol::control::EndReason;
use server_core::arbiter::{DepartureReason, WaitedFor};

pub use records::{
    Answers, Episode, Group, Identifier, Member, Message, NewEpisode, NewSession, PageTime,
    ParticipantLink, PayState, Payment, Place, Response, Said, Session, Wait, Withdrawn,
};
pub use sqlite::{FILE, SqliteStore};

/// Why the store did not do something. Nothing of it is then stored.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database failed.
    #[error("database: {0}")]
    Database(#[from] sqlx::Error),
    /// The data folder was written by a newer program.
    #[error("the data folder has version {found}; this program knows versions up to {known}")]
    Newer {
        /// Version found.
        found: i64,
        /// The last known one.
        known: usize,
    },
    /// There is no session or episode of this name.
    #[error("there is no {0} of this name")]
    Unknown(&'static str),
    /// The disk is full.
    #[error("the disk is full")]
    NoRoom,
    /// Somebody else has marked a payment meanwhile.
    #[error("a payment was marked by another run meanwhile")]
    Marked,
}

impl StoreError {
    /// True if the disk did not take what was written: it is full, or failed.
    ///
    /// Source: result codes of SQLite, 10 (`SQLITE_IOERR`) and 13 (`SQLITE_FULL`), in the lowest byte of extended ones.
    pub fn is_lack_of_room(&self) -> bool {
        let code = match self {
            Self::NoRoom => return true,
            Self::Database(error) => error.as_database_error().and_then(|error| error.code()),
            _ => None,
        };
        let code = code.and_then(|code| code.parse().ok());
        code.is_some_and(|code: u32| matches!(code & 0xff, 10 | 13))
    }
}

/// The participants and groups that exports leave out, read also while a server writes to the folder.
///
/// # Errors
/// [`StoreError`]
pub async fn withdrawn(data: &Path) -> Result<Withdrawn, StoreError> {
    let Some(store) = SqliteStore::find(data).await? else {
        return Ok(Withdrawn::default());
    };
    let known = store.withdrawn().await;
    store.close().await;
    known
}

/// The episodes in the database of a data folder, read also while a server writes to it; empty without a database.
/// Its files are to be read after this: an end is in the file of its episode before it is in the database.
///
/// # Errors
/// [`StoreError`]
pub async fn episodes(data: &Path) -> Result<Vec<Episode>, StoreError> {
    let Some(store) = SqliteStore::find(data).await? else {
        return Ok(Vec::new());
    };
    let known = store.episodes().await;
    store.close().await;
    known
}

/// The rows of a data folder that decide who is paid what, and are not as they were stored: a sentence for each. Empty
/// without a database.
///
/// # Errors
/// [`StoreError`]
pub async fn altered_payments(data: &Path) -> Result<Vec<String>, StoreError> {
    let Some(store) = SqliteStore::find(data).await? else {
        return Ok(Vec::new());
    };
    let altered = store.altered_payments().await;
    store.close().await;
    altered
}

const REASONS: [(EndReason, &str); 3] = [
    (EndReason::Played, "played"),
    (EndReason::PartnerLeft, "partner_left"),
    (EndReason::Technical, "technical"),
];

const GONE: [(DepartureReason, &str); 3] = [
    (DepartureReason::Left, "left"),
    (DepartureReason::Away, "away"),
    (DepartureReason::Late, "late"),
];

/// The name of why somebody is gone in tables.
pub fn gone_name(gone: DepartureReason) -> &'static str {
    GONE.iter()
        .find(|(known, _)| *known == gone)
        .map_or("", |(_, name)| name)
}

/// The name of why a wait ended in tables.
pub fn waited_for(why: WaitedFor) -> &'static str {
    match why {
        WaitedFor::Matched => "matched",
        WaitedFor::Ai => "ai",
        WaitedFor::TimedOut => "timed_out",
        WaitedFor::GaveUp => "gave_up",
        WaitedFor::Closed => "closed",
        WaitedFor::Left => "left",
        WaitedFor::NotReady => "not_ready",
    }
}

/// The name of a reason in tables.
pub fn reason_name(reason: EndReason) -> &'static str {
    REASONS
        .iter()
        .find(|(known, _)| *known == reason)
        .map_or("", |(_, name)| name)
}
