//! The ledger of payments: whoever changes, adds or removes a row that says who is paid what is found out by it.
//!
//! Every entry has a hash over itself and the entry before. That shows a row that was changed by hand or by another
//! program; it cannot stop somebody who writes the whole ledger anew.

use std::collections::BTreeMap;

use protocol::hash::sha256_hex;
use serde_json::json;
use sqlx::{Row as _, Sqlite, Transaction};

use super::SqliteStore;
use super::rows::payment;
use crate::StoreError;

/// The first version of the database that has it.
const FIRST: usize = 14;
/// The entry of a payment that is older than the ledger.
const EARLIER: &str = "earlier";
/// The entry of a session whose payment was taken back because it goes on.
const REOPENED: &str = "reopened";

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

/// Enters the payment of a participant, or that it was taken back.
pub(super) async fn append_entry(
    transaction: &mut Transaction<'_, Sqlite>,
    participant: &str,
    payment: Option<&study::Payment>,
) -> Result<(), StoreError> {
    let last = sqlx::query("SELECT number, chain FROM ledger ORDER BY number DESC LIMIT 1")
        .fetch_optional(&mut **transaction)
        .await?;
    let (number, before): (i64, String) = match last {
        Some(last) => (last.try_get("number")?, last.try_get("chain")?),
        None => (0, String::new()),
    };
    let number = number + 1;
    let entry = payment.map_or(REOPENED.to_owned(), entry);
    let chain = link(&before, number, participant, &entry);
    sqlx::query("INSERT INTO ledger (number, participant, entry, chain) VALUES (?, ?, ?, ?)")
        .bind(number)
        .bind(participant)
        .bind(entry)
        .bind(chain)
        .execute(&mut **transaction)
        .await?;
    Ok(())
}

impl SqliteStore {
    /// The rows that decide who is paid what, and are not as they were stored: a sentence for each. Empty for databases
    /// that are older than the ledger.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn altered_payments(&self) -> Result<Vec<String>, StoreError> {
        if self.version().await? < FIRST {
            return Ok(Vec::new());
        }
        // All rows as they were at one time, also while a server writes.
        let mut transaction = self.pool.begin().await?;
        let mut altered = Vec::new();
        let mut known = read_entries(&mut transaction, &mut altered).await?;
        let sql = "SELECT payments.*, participant, sessions.outcome AS ended_as FROM payments \
                   JOIN sessions ON sessions.id = session ORDER BY sessions.rowid";
        for row in sqlx::query(sql).fetch_all(&mut *transaction).await? {
            let stored = payment(&row)?;
            let ended_as: Option<&str> = row.try_get("ended_as")?;
            let participant = stored.participant;
            let entered = known.remove(&participant);
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
        }
        known.retain(|_, entry| entry != REOPENED);
        let missing = known.into_keys();
        altered
            .extend(missing.map(|participant| format!("the payment of {participant} is missing")));
        Ok(altered)
    }
}

/// The last entry of each participant; adds the first entry that does not follow from the one before.
async fn read_entries(
    transaction: &mut Transaction<'_, Sqlite>,
    altered: &mut Vec<String>,
) -> Result<BTreeMap<String, String>, StoreError> {
    let rows = sqlx::query("SELECT number, participant, entry, chain FROM ledger ORDER BY number")
        .fetch_all(&mut **transaction)
        .await?;
    let (mut known, mut before) = (BTreeMap::new(), String::new());
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
            altered.push(format!(
                "entry {number} of the ledger of payments was changed or removed"
            ));
        }
        before = chain;
        known.insert(participant, entry);
    }
    Ok(known)
}
