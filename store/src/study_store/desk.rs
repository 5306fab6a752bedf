//! The work of researchers at the dashboard: the state of recruitment, places, corrected payments, and the entries
//! of the audit trail about it.

use server_core::desk::RecruitmentState;

use super::StudyStore;
use super::ledger::append_payment;
use super::payments::PAID_AND_WITHDRAWN;
use crate::database::query;
use crate::{Intervention, PayState, StoreError};

/// The command that the audit trail names for interventions at the dashboard.
const COMMAND: &str = "desk";

/// The counter with the state of recruitment.
const RECRUITMENT: &str = "recruitment";

/// The beginning of the names of counters with places; the number of the treatment follows.
const PLACES: &str = "places ";

impl StudyStore {
    /// The state of recruitment.
    pub async fn read_recruitment(&self) -> Result<RecruitmentState, StoreError> {
        let number = self.counter(RECRUITMENT).await?.unwrap_or(0);
        let number = u8::try_from(number).unwrap_or(0);
        Ok(RecruitmentState::of_number(number))
    }

    /// Sets whether new people are let in.
    pub async fn set_recruitment(&self, state: RecruitmentState) -> Result<(), StoreError> {
        self.set_counter(RECRUITMENT, state.number().into()).await
    }

    /// The places that a researcher set; empty if none did.
    pub async fn places(&self) -> Result<Vec<u32>, StoreError> {
        let mut places = Vec::new();
        while let Some(value) = self.counter(&format!("{PLACES}{}", places.len())).await? {
            places.push(u32::try_from(value).unwrap_or(u32::MAX));
        }
        Ok(places)
    }

    /// Sets the places, all of them or none: one total number, or one for each treatment. They replace all earlier
    /// ones.
    pub async fn set_places(&self, places: &[u32]) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin_write().await?;
        query("DELETE FROM counters WHERE name LIKE ? || '%'")
            .bind(PLACES)
            .execute(&mut *transaction)
            .await?;
        for (number, value) in places.iter().enumerate() {
            query("INSERT INTO counters (name, value) VALUES (?, ?)")
                .bind(format!("{PLACES}{number}"))
                .bind(value)
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await
    }

    /// Enters a researcher's intervention into the audit trail.
    pub async fn append_intervention(&self, done: &Intervention) -> Result<(), StoreError> {
        let entry = serde_json::to_string(done).expect("it is plain data");
        self.append_audit(COMMAND, &entry).await
    }

    /// The interventions of researchers, oldest first.
    pub async fn list_interventions(&self) -> Result<Vec<Intervention>, StoreError> {
        let entries = self.audit().await?.into_iter();
        let own = entries.filter(|entry| entry.command == COMMAND);
        let read = own.filter_map(|entry| {
            let done: Intervention = serde_json::from_str(&entry.action).ok()?;
            Some(Intervention {
                at: entry.at,
                ..done
            })
        });
        Ok(read.collect())
    }

    /// Changes a payment, and enters it into the ledger. Returns false if it is marked as paid: it then does not
    /// change, because the money was paid.
    pub async fn correct_payment(
        &self,
        participant: &str,
        payment: &study::Payment,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.pool.begin_write().await?;
        let state = match payment.total {
            0 => PayState::Skipped,
            _ => PayState::Due,
        };
        let sql = "UPDATE payments SET currency = ?, bonus = ?, total = ?, extra = ?, note = ?, state = ? \
                   WHERE session = (SELECT id FROM sessions WHERE participant = ?) AND state <> 'paid'";
        let changed = query(sql)
            .bind(&payment.currency)
            .bind(payment.bonus.cast_signed())
            .bind(payment.total.cast_signed())
            .bind(payment.extra.cast_signed())
            .bind(&payment.note)
            .bind(state.name())
            .bind(participant)
            .execute(&mut *transaction)
            .await?;
        let is_changed = changed.rows_affected() == 1;
        if is_changed {
            append_payment(&mut transaction, participant, Some(payment)).await?;
        }
        // Nothing may be due any more to somebody who withdrew.
        let forgotten = query(PAID_AND_WITHDRAWN).execute(&mut *transaction).await?;
        transaction.commit().await?;
        if forgotten.rows_affected() > 0 {
            self.empty_log().await?;
        }
        Ok(is_changed)
    }

    async fn counter(&self, name: &str) -> Result<Option<i64>, StoreError> {
        let row = query("SELECT value FROM counters WHERE name = ?")
            .bind(name)
            .fetch_optional(&self.pool)
            .await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?)
    }

    async fn set_counter(&self, name: &str, value: i64) -> Result<(), StoreError> {
        let sql = "INSERT INTO counters (name, value) VALUES (?, ?) \
                   ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        query(sql)
            .bind(name)
            .bind(value)
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}
