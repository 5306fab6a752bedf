//! The logs of episodes in the ledger: what each was at its end, after each withdrawal, and that it was erased.

use std::collections::{BTreeMap, BTreeSet};

use archive::Fingerprint;

use super::StudyStore;
use super::ledger::append_entry;
use crate::StoreError;
use crate::WithdrawnSeat;
use crate::database::{Transaction, query};
use crate::known_logs::{ERASED, LogEntry, fits_last};

/// The first version of the database whose ledger has them.
pub(super) const FIRST: usize = 20;

/// The seats of people who withdrew from ended episodes whose files may still have data from their pages.
pub(super) const WITHDRAWN_SEATS: &str = "SELECT episodes.id AS episode, path, sessions.participant AS participant FROM withdrawals \
                                          JOIN sessions ON sessions.id = session JOIN members USING (participant) \
                                          JOIN episodes USING (group_id) WHERE state = 'ended' AND NOT EXISTS (SELECT 1 FROM \
                                          withdrawn_seats WHERE episode = episodes.id AND withdrawn_seats.participant = \
                                          sessions.participant) ORDER BY episodes.rowid, sessions.rowid";

/// Enters the log of an episode, unless it is the last one that was entered.
pub(super) async fn append_log(
    transaction: &mut Transaction,
    episode: &str,
    entry: &LogEntry,
) -> Result<(), StoreError> {
    let written = entry.write();
    match last_entry(transaction, episode).await? {
        Some(last) if last == written => Ok(()),
        _ => append_entry(transaction, episode, &written).await,
    }
}

/// Enters that the log of an episode was erased, if the ledger has it.
pub(super) async fn append_erased(
    transaction: &mut Transaction,
    episode: &str,
) -> Result<(), StoreError> {
    match last_entry(transaction, episode).await? {
        Some(last) if last != ERASED => append_entry(transaction, episode, ERASED).await,
        _ => Ok(()),
    }
}

async fn last_entry(
    transaction: &mut Transaction,
    episode: &str,
) -> Result<Option<String>, StoreError> {
    let sql = "SELECT entry FROM ledger WHERE participant = ? AND entry LIKE 'log %' \
               ORDER BY number DESC LIMIT 1";
    let row = query(sql)
        .bind(episode)
        .fetch_optional(&mut **transaction)
        .await?;
    let entry = row.map(|row| row.try_get("entry")).transpose();
    Ok(entry?)
}

impl StudyStore {
    /// Enters the log that an episode will have after a withdrawal, if the ledger has the one before. A log that is not the
    /// one that was entered stays unlike its entry.
    pub(crate) async fn enter_rewritten_log(
        &self,
        seat: &WithdrawnSeat,
        before: &[u8],
        after: &[u8],
    ) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin_write().await?;
        let sql =
            "SELECT entry FROM ledger WHERE participant = ? AND entry LIKE 'log %' ORDER BY number";
        let rows = query(sql)
            .bind(&seat.episode)
            .fetch_all(&mut *transaction)
            .await?;
        let mut entries = Vec::new();
        for row in &rows {
            entries.extend(LogEntry::read(row.try_get("entry")?));
        }
        let after = Fingerprint::of(after).filter(|_| fits_last(&entries, before, true));
        if let Some(after) = after {
            append_log(&mut transaction, &seat.episode, &LogEntry::Log(after)).await?;
        }
        transaction.commit().await
    }
}

/// The episodes from whose logs something is still to be removed.
pub(super) async fn list_rewritten(
    transaction: &mut Transaction,
) -> Result<BTreeSet<String>, StoreError> {
    let rows = query(WITHDRAWN_SEATS).fetch_all(&mut **transaction).await?;
    let episodes = rows.iter().map(|row| row.try_get("episode"));
    Ok(episodes.collect::<Result<_, sqlx::Error>>()?)
}

/// The episodes that may be older than the ledger: they began before anything was entered into it but the payments that
/// it found. `earlier` has the participants of these.
pub(super) async fn list_older_episodes(
    transaction: &mut Transaction,
    earlier: &BTreeSet<String>,
) -> Result<BTreeSet<String>, StoreError> {
    if earlier.is_empty() {
        return Ok(BTreeSet::new());
    }
    let sql = "SELECT participant, payments.at AS at FROM payments JOIN sessions ON sessions.id = session";
    let mut entered_at: Option<String> = None;
    for row in query(sql).fetch_all(&mut **transaction).await? {
        let (participant, at): (String, String) = (row.try_get("participant")?, row.try_get("at")?);
        if !earlier.contains(&participant) && entered_at.as_ref().is_none_or(|first| at < *first) {
            entered_at = Some(at);
        }
    }
    let mut older = BTreeSet::new();
    let sql = "SELECT id, created_at FROM episodes";
    for row in query(sql).fetch_all(&mut **transaction).await? {
        let began_at: String = row.try_get("created_at")?;
        if entered_at.as_ref().is_none_or(|first| began_at < *first) {
            older.insert(row.try_get("id")?);
        }
    }
    Ok(older)
}

/// Adds the episodes whose log the ledger has, and whose row is missing or has no end.
pub(super) async fn check_rows(
    transaction: &mut Transaction,
    entries: &BTreeMap<String, Vec<LogEntry>>,
    altered: &mut Vec<String>,
) -> Result<(), StoreError> {
    let mut ended = BTreeMap::new();
    let sql = "SELECT id, state FROM episodes";
    for row in query(sql).fetch_all(&mut **transaction).await? {
        let (id, state): (String, String) = (row.try_get("id")?, row.try_get("state")?);
        ended.insert(id, state == "ended");
    }
    for (episode, entries) in entries {
        let is_erased = entries.last() == Some(&LogEntry::Erased);
        match (ended.get(episode), is_erased) {
            (None, false) => altered.push(format!(
                "the ledger has the log of the episode {episode}, and the database has no such episode"
            )),
            (Some(false), false) => altered.push(format!(
                "the ledger has the log of the episode {episode}, whose end the database does not have"
            )),
            (Some(_), true) => altered.push(format!(
                "the episode {episode} was erased, and the database has it"
            )),
            (Some(true), false) | (None, true) => {}
        }
    }
    Ok(())
}
