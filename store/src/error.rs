//! Errors of the store, and those behind which the disk is.

use crate::identifier_key::KeyError;

/// The reason why the store did not do something. Nothing of it is then stored.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database failed.
    #[error("database: {0}")]
    Database(#[from] sqlx::Error),
    /// The PostgreSQL server failed, or does not answer. Whether the last write is stored is then not known.
    #[error("the PostgreSQL server: {0}")]
    Server(sqlx::Error),
    /// Nobody answers where the PostgreSQL server should be.
    #[error(
        "the PostgreSQL server at {place} does not answer: {cause}. Check that it runs, that this machine may reach it, and the \
         address in --database"
    )]
    Unreachable {
        /// Its host and port, or its socket.
        place: String,
        /// The reason.
        cause: sqlx::Error,
    },
    /// That is no address of a PostgreSQL database.
    #[error(
        "this is no address of a PostgreSQL database, such as postgres://coplay@db.example.edu/study: {0}"
    )]
    Address(sqlx::Error),
    /// The PostgreSQL server acknowledges what may still be lost.
    #[error(
        "the PostgreSQL server runs with `fsync = off`, so it can lose answers that were acknowledged; set `fsync = on`"
    )]
    NoSync,
    /// Another server has the study.
    #[error(
        "another server has taken this study over, so this one stops; nothing that was acknowledged is lost. Start it again if \
         it is to wait until it is needed"
    )]
    Fenced,
    /// The PostgreSQL server is silent for longer than the lease of the study, in seconds.
    #[error(
        "the PostgreSQL server has not answered for {0} s, so another server may have the study, and this one stops; it \
         continues when it is started again and the PostgreSQL server answers"
    )]
    Silent(u64),
    /// Only a database in a file of the data folder can do that.
    #[error(
        "this needs a database in the data folder, and the one of this folder is in PostgreSQL"
    )]
    NeedsFile,
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

    /// Returns why the disk did not take the data; `None` if something else failed, for which waiting does not help.
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

/// The reason why a disk does not take data.
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

    /// Returns the disk's fault behind a result code of SQLite, if it is one.
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
