//! The ledger of payments: it shows if somebody changes, adds or removes a row that decides a payment. It has the
//! payments, the marks that they were made, a hash of each recruiter's identifier, and one of the log of each episode.
//!
//! Every entry has a hash over itself and the entry before. That shows a row that was changed by hand or by another
//! program. It cannot stop somebody who writes the whole ledger again, or cuts off its end: to notice that, a
//! researcher notes its last hash.

use std::collections::{BTreeMap, BTreeSet};

use protocol::hash::sha256_hex;
use serde_json::json;

use super::ledger_logs;
use super::rows::read_payment;
use super::{StudyStore, identifiers};
use crate::database::value::Row;
use crate::database::{Transaction, query};
use crate::known_logs::{LOG, LogEntry};
use crate::{LedgerState, PayState, StoreError};

/// The first version of the database that has it.
const FIRST: usize = 14;
/// The first version whose ledger has the marks of payments, and recruiters' identifiers.
pub(super) const WHOLE: usize = 15;
/// The entry of a payment that is older than the ledger.
const EARLIER: &str = "earlier";
/// The entry of a session whose payment was taken back because it continues.
const REOPENED: &str = "reopened";
/// The entry of a payment that was made.
const PAID: &str = "paid";
/// The beginning of the entry of a recruiter's identifier; a hash follows.
const IDENTIFIER: &str = "identifier ";

/// The identifiers with what their hashes are over, in a database that is older than their encryption.
const PLAIN_IDENTIFIERS: &str = "SELECT sessions.participant AS pseudonym, erased_at IS NOT NULL AS is_gone, salt, \
                                 provider, identifiers.participant AS identifier, parameters FROM sessions \
                                 LEFT JOIN identifiers ON session = sessions.id ORDER BY sessions.rowid";

/// The encrypted identifiers.
const IDENTIFIERS: &str = "SELECT sessions.participant AS pseudonym, (erased_at IS NOT NULL OR sessions.id IN \
                           (SELECT session FROM withdrawals)) AS is_gone, lookup, sealed FROM sessions \
                           LEFT JOIN identifiers ON session = sessions.id ORDER BY sessions.rowid";

/// The entry of a payment.
fn entry(payment: &study::Payment) -> String {
    let amounts = [
        payment.time_ms,
        payment.base,
        payment.bonus,
        payment.time,
        payment.total,
        payment.extra,
    ];
    let whole = json!([
        payment.outcome.name(),
        payment.deed.name(),
        payment.code,
        payment.receipt,
        payment.currency,
        amounts,
        payment.note,
    ]);
    whole.to_string()
}

fn link(before: &str, number: i64, participant: &str, entry: &str) -> String {
    sha256_hex(
        json!([before, number, participant, entry])
            .to_string()
            .as_bytes(),
    )
}

/// The entry of a plain identifier; `None` of a session that has none.
fn plain_entry(row: &Row) -> Result<Option<String>, sqlx::Error> {
    let Some(salt) = row.try_get::<Option<&str>, _>("salt")? else {
        return Ok(None);
    };
    let (provider, identifier): (&str, &str) =
        (row.try_get("provider")?, row.try_get("identifier")?);
    let parameters: &str = row.try_get("parameters")?;
    let whole = json!([salt, provider, identifier, parameters]).to_string();
    Ok(Some(format!(
        "{IDENTIFIER}{}",
        sha256_hex(whole.as_bytes())
    )))
}

/// The entry of an encrypted identifier; `None` of a session that has none.
fn sealed_entry(row: &Row) -> Result<Option<String>, sqlx::Error> {
    let Some(lookup) = row.try_get::<Option<&str>, _>("lookup")? else {
        return Ok(None);
    };
    let sealed: &[u8] = row.try_get("sealed")?;
    let whole = [lookup.as_bytes(), sealed].concat();
    Ok(Some(format!("{IDENTIFIER}{}", sha256_hex(&whole))))
}

/// Enters the payment of a participant, or that it was taken back.
pub(super) async fn append_payment(
    transaction: &mut Transaction,
    participant: &str,
    payment: Option<&study::Payment>,
) -> Result<(), StoreError> {
    let entry = payment.map_or(REOPENED.to_owned(), entry);
    append_entry(transaction, participant, &entry).await
}

/// Enters that the payment of a session was made.
pub(super) async fn append_mark(
    transaction: &mut Transaction,
    session: &str,
) -> Result<(), StoreError> {
    let row = query("SELECT participant FROM sessions WHERE id = ?")
        .bind(session)
        .fetch_one(&mut **transaction)
        .await?;
    append_entry(transaction, row.try_get("participant")?, PAID).await
}

/// Enters the recruiter's identifier of a participant as it is stored now.
pub(super) async fn append_identifier(
    transaction: &mut Transaction,
    participant: &str,
) -> Result<(), StoreError> {
    let sql = sqlx::AssertSqlSafe(format!(
        "SELECT * FROM ({IDENTIFIERS}) AS known WHERE pseudonym = ?"
    ));
    let row = query(sql)
        .bind(participant)
        .fetch_optional(&mut **transaction)
        .await?;
    match row.as_ref().map(sealed_entry).transpose()?.flatten() {
        Some(entry) => append_entry(transaction, participant, &entry).await,
        None => Ok(()),
    }
}

/// Enters the marks and identifiers of a database that is older than [`WHOLE`].
pub(super) async fn adopt_rows(transaction: &mut Transaction) -> Result<(), StoreError> {
    let paid = "SELECT session FROM payments WHERE state = 'paid' ORDER BY rowid";
    for row in query(paid).fetch_all(&mut **transaction).await? {
        append_mark(transaction, row.try_get("session")?).await?;
    }
    for row in query(PLAIN_IDENTIFIERS)
        .fetch_all(&mut **transaction)
        .await?
    {
        if let Some(entry) = plain_entry(&row)? {
            append_entry(transaction, row.try_get("pseudonym")?, &entry).await?;
        }
    }
    Ok(())
}

/// Enters something of a participant, or of an episode.
pub(super) async fn append_entry(
    transaction: &mut Transaction,
    participant: &str,
    entry: &str,
) -> Result<(), StoreError> {
    let last = query("SELECT number, chain FROM ledger ORDER BY number DESC LIMIT 1")
        .fetch_optional(&mut **transaction)
        .await?;
    let (number, before): (i64, String) = match last {
        Some(last) => (last.try_get("number")?, last.try_get("chain")?),
        None => (0, String::new()),
    };
    let number = number + 1;
    let chain = link(&before, number, participant, entry);
    query("INSERT INTO ledger (number, participant, entry, chain) VALUES (?, ?, ?, ?)")
        .bind(number)
        .bind(participant)
        .bind(entry)
        .bind(chain)
        .execute(&mut **transaction)
        .await?;
    Ok(())
}

/// The entries that count, by participant.
#[derive(Default)]
struct Entries {
    /// The last entry of a payment.
    payments: BTreeMap<String, String>,
    /// Those whose payment was made.
    paid: BTreeSet<String>,
    /// The last entry of a recruiter's identifier.
    identifiers: BTreeMap<String, String>,
    /// Those whose payment is older than the ledger.
    earlier: BTreeSet<String>,
    /// The entries of the log of each episode, in their order.
    logs: BTreeMap<String, Vec<LogEntry>>,
}

impl StudyStore {
    /// Returns the ledger, and the rows that were changed after they were stored. Empty for databases that are older
    /// than the ledger.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn read_ledger(&self) -> Result<LedgerState, StoreError> {
        let version = self.version().await?;
        if version < FIRST {
            return Ok(LedgerState::default());
        }
        // Reads all rows as they were at one time, also while a server writes.
        let mut transaction = self.pool.begin_read().await?;
        let mut state = LedgerState::default();
        let mut entries = read_entries(&mut transaction, &mut state).await?;
        let altered = &mut state.altered;
        check_payments(&mut transaction, version, &mut entries, altered).await?;
        if version >= WHOLE {
            check_identifiers(&mut transaction, version, &entries, altered).await?;
        }
        let older = ledger_logs::list_older_episodes(&mut transaction, &entries.earlier).await?;
        state.logs.set_older(older);
        if version >= ledger_logs::FIRST {
            ledger_logs::check_rows(&mut transaction, &entries.logs, altered).await?;
            let rewritten = ledger_logs::list_rewritten(&mut transaction).await?;
            state.logs.set_entries(entries.logs, rewritten);
        }
        Ok(state)
    }
}

/// Adds the payments that were changed after they were stored.
async fn check_payments(
    transaction: &mut Transaction,
    version: usize,
    entries: &mut Entries,
    altered: &mut Vec<String>,
) -> Result<(), StoreError> {
    let sql = "SELECT payments.*, participant, sessions.outcome AS ended_as FROM payments \
               JOIN sessions ON sessions.id = session ORDER BY sessions.rowid";
    for row in query(sql).fetch_all(&mut **transaction).await? {
        let stored = read_payment(&row)?;
        let ended_as: Option<&str> = row.try_get("ended_as")?;
        let participant = &stored.participant;
        let entered = entries.payments.remove(participant);
        let is_known =
            entered.is_some_and(|known| known == EARLIER || known == entry(&stored.what));
        if !is_known {
            altered.push(format!(
                "the payment of {participant} is not the one that was stored when the session ended"
            ));
        }
        if ended_as != Some(stored.what.outcome.name()) {
            altered.push(format!(
                "the outcome of {participant} is not the one that the payment is for"
            ));
        }
        let state = match (entries.paid.contains(participant), stored.what.total) {
            (true, _) => PayState::Paid,
            (false, 0) => PayState::Skipped,
            (false, _) => PayState::Due,
        };
        if version >= WHOLE && stored.state != state {
            altered.push(format!(
                "the payment of {participant} is `{}`, and was stored as `{}`",
                stored.state.name(),
                state.name()
            ));
        }
    }
    entries.payments.retain(|_, entry| entry != REOPENED);
    let missing = entries.payments.keys();
    altered.extend(missing.map(|participant| format!("the payment of {participant} is missing")));
    Ok(())
}

/// Adds the recruiters' identifiers that were changed after they were stored. People who withdrew or are erased have
/// none left.
async fn check_identifiers(
    transaction: &mut Transaction,
    version: usize,
    entries: &Entries,
    altered: &mut Vec<String>,
) -> Result<(), StoreError> {
    let is_sealed = version >= identifiers::FIRST;
    let sql = match is_sealed {
        true => IDENTIFIERS,
        false => PLAIN_IDENTIFIERS,
    };
    for row in query(sql).fetch_all(&mut **transaction).await? {
        let participant: &str = row.try_get("pseudonym")?;
        let is_gone: bool = row.try_get("is_gone")?;
        let stored = match is_sealed {
            true => sealed_entry(&row)?,
            false => plain_entry(&row)?,
        };
        let what = match (stored, entries.identifiers.get(participant)) {
            (None, Some(_)) if !is_gone => "missing",
            (Some(stored), known) if known != Some(&stored) => "not the one that was stored",
            _ => continue,
        };
        altered.push(format!(
            "the recruiter's identifier of {participant} is {what}"
        ));
    }
    Ok(())
}

/// Reads all entries; adds the first one that does not follow from the one before.
async fn read_entries(
    transaction: &mut Transaction,
    state: &mut LedgerState,
) -> Result<Entries, StoreError> {
    let rows = query("SELECT number, participant, entry, chain FROM ledger ORDER BY number")
        .fetch_all(&mut **transaction)
        .await?;
    let (mut entries, mut before) = (Entries::default(), String::new());
    let mut is_sound = true;
    for (number, row) in (1..).zip(rows) {
        let (participant, entry): (String, String) =
            (row.try_get("participant")?, row.try_get("entry")?);
        let found: i64 = row.try_get("number")?;
        let chain: String = row.try_get("chain")?;
        let is_earlier = entry == EARLIER && before.is_empty();
        let expected = match is_earlier {
            true => String::new(),
            false => link(&before, number, &participant, &entry),
        };
        if is_sound && (found, &chain) != (number, &expected) {
            is_sound = false;
            state.altered.push(format!(
                "entry {number} of the ledger of payments was changed or removed"
            ));
        }
        before.clone_from(&chain);
        state.hashes.push(chain);
        if is_earlier {
            entries.earlier.insert(participant.clone());
        }
        match entry.as_str() {
            PAID => drop(entries.paid.insert(participant)),
            it if it.starts_with(LOG) => {
                let log = LogEntry::read(it);
                entries.logs.entry(participant).or_default().extend(log);
            }
            it if it.starts_with(IDENTIFIER) => {
                entries.identifiers.insert(participant, entry);
            }
            _ => drop(entries.payments.insert(participant, entry)),
        }
    }
    Ok(entries)
}
