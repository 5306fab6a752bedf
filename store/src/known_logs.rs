//! The logs of episodes as the ledger of the database has them.

use std::collections::{BTreeMap, BTreeSet};

use archive::Fingerprint;

/// The beginning of an entry of a log in the ledger.
pub(crate) const LOG: &str = "log ";
/// The entry of a log that was erased with its episode.
pub(crate) const ERASED: &str = "log erased";

/// An entry of the log of an episode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LogEntry {
    /// It was this one.
    Log(Fingerprint),
    /// It was erased.
    Erased,
}

impl LogEntry {
    pub(crate) fn write(&self) -> String {
        match self {
            Self::Log(Fingerprint { len, sha256 }) => format!("{LOG}{len} {sha256}"),
            Self::Erased => ERASED.to_owned(),
        }
    }

    /// Reads an entry that begins with [`LOG`]; `None` if nobody can have written it here.
    pub(crate) fn read(entry: &str) -> Option<Self> {
        if entry == ERASED {
            return Some(Self::Erased);
        }
        let (len, sha256) = entry.strip_prefix(LOG)?.split_once(' ')?;
        Some(Self::Log(Fingerprint {
            len: len.parse().ok()?,
            sha256: sha256.to_owned(),
        }))
    }
}

/// The logs of episodes, as far as the database knows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownLogs {
    /// The entries of each in the ledger, in their order.
    entries: BTreeMap<String, Vec<LogEntry>>,
    /// Logs from which a withdrawal may still have to remove something: they may be in the state before or after it.
    rewritten: BTreeSet<String>,
    /// Logs that may be older than the ledger; `None` without a ledger.
    older: Option<BTreeSet<String>>,
}

/// A log against the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogState {
    /// The ledger does not have it: it has no end yet, or an older program wrote its end.
    Unentered,
    /// It is the one that was entered.
    Same,
    /// It is another one.
    Altered,
}

impl KnownLogs {
    pub(crate) fn set_entries(
        &mut self,
        entries: BTreeMap<String, Vec<LogEntry>>,
        rewritten: BTreeSet<String>,
    ) {
        (self.entries, self.rewritten) = (entries, rewritten);
    }

    pub(crate) fn set_older(&mut self, older: BTreeSet<String>) {
        self.older = Some(older);
    }

    /// Compares the log of an episode with the ledger.
    pub fn compare(&self, episode: &str, log: &[u8]) -> LogState {
        let Some(entries) = self.entries.get(episode) else {
            return LogState::Unentered;
        };
        match fits_last(entries, log, self.rewritten.contains(episode)) {
            true => LogState::Same,
            false => LogState::Altered,
        }
    }

    /// Tells whether the log of an episode may be from a time at which pages signed nothing. The program that made the
    /// ledger was also the first one to write signatures.
    pub fn may_lack_signatures(&self, episode: &str) -> bool {
        let older = self.older.as_ref();
        older.is_none_or(|older| older.contains(episode))
    }
}

/// True if a log is the last one that was entered; or also the one before, while it is being rewritten.
pub(crate) fn fits_last(entries: &[LogEntry], log: &[u8], is_rewritten: bool) -> bool {
    let count = if is_rewritten { 2 } else { 1 };
    let mut last = entries.iter().rev().take(count);
    last.any(|entry| match entry {
        LogEntry::Log(fingerprint) => fingerprint.fits(log),
        LogEntry::Erased => false,
    })
}
