//! Payments of sessions.

use super::StudyStore;
use super::ledger::{append_mark, append_payment};
use super::rows::read_payment;
use crate::PayState;
use crate::Payment;
use crate::StoreError;
use crate::database::{Transaction, query};

/// Deletes the identifiers of those who withdrew and have no payment due any more.
pub(super) const PAID_AND_WITHDRAWN: &str = "DELETE FROM identifiers WHERE session IN (SELECT session FROM withdrawals) \
                                             AND session NOT IN (SELECT session FROM payments WHERE state = 'due')";

impl StudyStore {
    /// All payments, oldest session first.
    pub async fn list_payments(&self) -> Result<Vec<Payment>, StoreError> {
        let sql = "SELECT payments.*, participant FROM payments JOIN sessions ON sessions.id = session \
                   ORDER BY sessions.rowid";
        let rows = query(sql).fetch_all(&self.pool).await?;
        Ok(rows.iter().map(read_payment).collect::<Result<_, _>>()?)
    }

    /// Marks the payments of these sessions as made. If one of them is not due, or has another total, marks none.
    /// Returns their number.
    pub async fn mark_paid(&self, made: &[(String, u64)]) -> Result<usize, StoreError> {
        let mut transaction = self.pool.begin_write().await?;
        for (session, total) in made {
            let sql = "UPDATE payments SET state = 'paid', paid_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') \
                       WHERE session = ? AND state = 'due' AND total = ?";
            let marked = query(sql)
                .bind(session)
                .bind(total.cast_signed())
                .execute(&mut *transaction)
                .await?;
            if marked.rows_affected() != 1 {
                return Err(StoreError::Marked);
            }
            append_mark(&mut transaction, session).await?;
        }
        // The identifiers of people who withdrew stayed only for the payment.
        let forgotten = query(PAID_AND_WITHDRAWN).execute(&mut *transaction).await?;
        transaction.commit().await?;
        if forgotten.rows_affected() > 0 {
            self.empty_log().await?;
        }
        Ok(made.len())
    }
}

/// Writes the payment of a session; the first payment stays.
pub(super) async fn keep_payment(
    transaction: &mut Transaction,
    participant: &str,
    payment: &study::Payment,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO payments (session, outcome, deed, code, receipt, currency, time_ms, base, bonus, time, total, \
               extra, note, state) SELECT id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM sessions WHERE participant = ? \
               ON CONFLICT DO NOTHING";
    let state = match payment.total {
        0 => PayState::Skipped,
        _ => PayState::Due,
    };
    let stored = query(sql)
        .bind(payment.outcome.name())
        .bind(payment.deed.name())
        .bind(&payment.code)
        .bind(&payment.receipt)
        .bind(&payment.currency)
        .bind(payment.time_ms.cast_signed())
        .bind(payment.base.cast_signed())
        .bind(payment.bonus.cast_signed())
        .bind(payment.time.cast_signed())
        .bind(payment.total.cast_signed())
        .bind(payment.extra.cast_signed())
        .bind(&payment.note)
        .bind(state.name())
        .bind(participant)
        .execute(&mut **transaction)
        .await?;
    match stored.rows_affected() {
        0 => Ok(()),
        _ => append_payment(transaction, participant, Some(payment)).await,
    }
}
