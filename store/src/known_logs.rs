//! The facts that the database has of the logs of episodes, beside their ends and their people.

use std::collections::{BTreeMap, BTreeSet};

use crate::study_store::{LogEntry, fits_last};

/// The facts that the database has of the logs of episodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownLogs {
    /// The entries of each in the ledger, in their order.
    entries: BTreeMap<String, Vec<LogEntry>>,
    /// Those from which a withdrawal may still have to remove something: they may be as before or after it.
    rewritten: BTreeSet<String>,
    /// Those that may be older than the ledger; `None` if there is no ledger to tell.
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
