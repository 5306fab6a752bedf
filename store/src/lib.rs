//! The data folder of a server. Beside episode files it has links, sessions and their place in the study, groups,
//! episodes, answers. Everything that a method has returned from survives the loss of the process and of power.
//!
//! Sessions are named by the pseudonym of their participant. Tokens are stored as [`server_core::token::token_hash`] only.
//! The store must not know what a position in a study means, nor of sockets and episode files.

#![forbid(unsafe_code)]

pub mod backup;
pub mod beside;
pub mod data_folder;
pub mod desk_keys;
pub mod erasure;
pub mod identifier_key;
pub mod participant_links;
pub mod persistence;
mod records;
mod sqlite;
pub mod study_version;

use std::path::Path;

use protocol::control::EndReason;
use protocol::log::WITHDRAWN;
use server_core::arbiter::{DepartureReason, WaitedFor};

pub use identifier_key::KeyError;
pub use records::{
    Answers, AuditEntry, DeskMessage, Episode, Group, Identifier, Intervention, LedgerState,
    Member, Message, ModelCall, NewEpisode, NewSession, PageTime, ParticipantLink, PayState,
    Payment, Response, Said, Session, StoredPosition, Wait, Withdrawn, WithdrawnSeat,
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
    /// An older program made the database, and a server may use it.
    #[error(
        "the database is of an older version of Coplay, and another coplay uses the data folder; stop that one, and run this \
         again, which brings the database up to date"
    )]
    Older,
    /// The disk is full.
    #[error("the disk is full")]
    NoRoom,
    /// Recruiters' identifiers cannot be read or stored without their key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Somebody else has marked or corrected a payment meanwhile.
    #[error("a payment was marked by another run, or corrected at the dashboard, meanwhile")]
    Marked,
}

impl StoreError {
    /// True if another program had the database for too long. It may be free the next time.
    pub fn is_busy(&self) -> bool {
        let Self::Database(error) = self else {
            return false;
        };
        let code = error.as_database_error().and_then(|error| error.code());
        let code: Option<u32> = code.and_then(|code| code.parse().ok());
        // `SQLITE_BUSY`, in the lowest byte of extended result codes.
        code.is_some_and(|code| code & 0xff == 5)
    }

    /// Why the disk did not take what was written; `None` if something else failed, which no waiting helps.
    pub fn disk_fault(&self) -> Option<DiskFault> {
        match self {
            Self::NoRoom => Some(DiskFault::Full),
            Self::Database(sqlx::Error::Io(error)) => Some(DiskFault::of_io(error)),
            Self::Database(error) => {
                let error = error.as_database_error()?;
                let code = error.code()?.parse().ok()?;
                DiskFault::of_code(code, error.message())
            }
            _ => None,
        }
    }
}

/// Why a disk does not take what is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// It is full, or a quota is used up.
    Full,
    /// Something else is wrong, as the system or the database names it.
    Failing(String),
}

impl DiskFault {
    /// The fault behind an error of the system.
    pub fn of_io(error: &std::io::Error) -> Self {
        use std::io::ErrorKind::{QuotaExceeded, StorageFull};
        match error.kind() {
            StorageFull | QuotaExceeded => Self::Full,
            _ => Self::Failing(error.to_string()),
        }
    }

    /// The fault behind a result code of SQLite, which says so.
    ///
    /// Source: result codes of SQLite, 10 (`SQLITE_IOERR`) and 13 (`SQLITE_FULL`), in the lowest byte of extended ones.
    fn of_code(code: u32, said: &str) -> Option<Self> {
        match code & 0xff {
            13 => Some(Self::Full),
            10 => Some(Self::Failing(format!("{said} (SQLite {code})"))),
            _ => None,
        }
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
    // The files name them no more.
    known.map(|mut known| {
        known.participants.insert(WITHDRAWN.into());
        known
    })
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

/// The ledger of payments of a data folder, read also while a server writes to it; empty without a database.
///
/// # Errors
/// [`StoreError`]
pub async fn ledger(data: &Path) -> Result<LedgerState, StoreError> {
    let Some(store) = SqliteStore::find(data).await? else {
        return Ok(LedgerState::default());
    };
    let state = store.ledger().await;
    store.close().await;
    state
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

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::*;

    #[test]
    fn a_full_disk_and_a_failing_one_are_told_apart() {
        let full = Some(DiskFault::Full);
        for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded] {
            let error = StoreError::Database(sqlx::Error::Io(kind.into()));
            assert_eq!(error.disk_fault(), full);
        }
        assert_eq!(StoreError::NoRoom.disk_fault(), full);
        assert_eq!(DiskFault::of_code(13, "database or disk is full"), full);
        // `SQLITE_IOERR_FSYNC`
        let failing = DiskFault::of_code(1034, "disk I/O error");
        let named = DiskFault::Failing("disk I/O error (SQLite 1034)".into());
        assert_eq!(failing, Some(named));
        let broken = StoreError::Database(sqlx::Error::Io(Error::other("a broken cable")));
        let named = DiskFault::Failing("a broken cable".into());
        assert_eq!(broken.disk_fault(), Some(named));
        assert_eq!(DiskFault::of_code(11, "malformed"), None);
        assert_eq!(StoreError::Marked.disk_fault(), None);
    }
}
