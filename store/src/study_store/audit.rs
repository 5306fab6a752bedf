//! The audit trail: uses of data that are not for everybody.

use super::StudyStore;
use crate::database::query;
use crate::{AuditEntry, StoreError};

/// The first version of the database that has it.
const FIRST: usize = 16;

impl StudyStore {
    /// Records what a command will show or write; the command may do so once this has returned.
    pub async fn append_audit(&self, command: &str, action: &str) -> Result<(), StoreError> {
        query("INSERT INTO audit (command, action) VALUES (?, ?)")
            .bind(command)
            .bind(action)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// The audit trail, oldest entry first.
    pub async fn audit(&self) -> Result<Vec<AuditEntry>, StoreError> {
        // A folder that is only read may be older than the table.
        if self.version().await? < FIRST {
            return Ok(Vec::new());
        }
        let rows = query("SELECT at, command, action FROM audit ORDER BY number")
            .fetch_all(&self.pool)
            .await?;
        let entries = rows.iter().map(|row| {
            Ok(AuditEntry {
                at: row.try_get(0)?,
                command: row.try_get(1)?,
                action: row.try_get(2)?,
            })
        });
        Ok(entries.collect::<Result<_, sqlx::Error>>()?)
    }
}
