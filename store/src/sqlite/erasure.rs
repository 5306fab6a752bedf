//! Withdrawal and erasure, and the list of participants and groups that exports leave out.

use sqlx::{Row as _, Sqlite, Transaction, raw_sql};

use super::SqliteStore;
use crate::StoreError;
use crate::Withdrawn;

/// Forgets what a language model was told of a participant, and what it said. What that cost still counts.
const FORGET_WORDS: &str =
    "UPDATE model_calls SET prompt = '', answer = '', directive = '' WHERE participant = ?";

impl SqliteStore {
    /// Withdraws what was recorded of a participant: their answers and messages are gone, or all messages of their
    /// groups, and their episodes, or those of their groups, are marked. The first receipt stands.
    pub async fn withdraw(
        &self,
        participant: &str,
        receipt: &str,
        group: bool,
    ) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin().await?;
        let sql = "INSERT INTO withdrawals (session, receipt, scope) SELECT id, ?, ? FROM sessions WHERE participant = ? \
                   ON CONFLICT DO NOTHING";
        sqlx::query(sql)
            .bind(receipt)
            .bind(if group { "group" } else { "own" })
            .bind(participant)
            .execute(&mut *transaction)
            .await?;
        for sql in [
            "DELETE FROM answers WHERE session IN (SELECT id FROM sessions WHERE participant = ?)",
            "DELETE FROM pages WHERE session IN (SELECT id FROM sessions WHERE participant = ?)",
            match group {
                true => {
                    "DELETE FROM messages WHERE group_id IN (SELECT group_id FROM members WHERE participant = ?)"
                }
                false => "DELETE FROM messages WHERE participant = ?",
            },
            FORGET_WORDS,
        ] {
            sqlx::query(sql)
                .bind(participant)
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        self.empty_log().await
    }

    /// Empties the database's log, in which everything that was written since it was last emptied can still be read.
    pub(crate) async fn empty_log(&self) -> Result<(), StoreError> {
        raw_sql("PRAGMA wal_checkpoint(TRUNCATE)")
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// The files of those episodes of which everybody but this participant is erased already, relative to the data
    /// folder.
    pub async fn last_of(&self, participant: &str) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT path FROM episodes WHERE group_id IN (SELECT group_id FROM members WHERE participant = ?1) \
                   AND NOT EXISTS (SELECT 1 FROM members JOIN sessions USING (participant) WHERE \
                   members.group_id = episodes.group_id AND erased_at IS NULL AND participant <> ?1)";
        let rows = sqlx::query(sql)
            .bind(participant)
            .fetch_all(&self.pool)
            .await?;
        Ok(rows
            .iter()
            .map(|row| row.try_get("path"))
            .collect::<Result<_, _>>()?)
    }

    /// The files of the ended episodes of which nothing is left that nobody has withdrawn, relative to the data folder:
    /// everybody who played in them has withdrawn or is erased, or somebody has withdrawn the episodes of their groups.
    pub async fn list_withdrawn_episodes(&self) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT path FROM episodes WHERE state = 'ended' AND group_id IN \
                   (SELECT group_id FROM members JOIN sessions USING (participant) JOIN withdrawals ON session = sessions.id) \
                   AND (group_id IN (SELECT group_id FROM members JOIN sessions USING (participant) \
                   JOIN withdrawals ON session = sessions.id WHERE scope = 'group') \
                   OR NOT EXISTS (SELECT 1 FROM members JOIN sessions USING (participant) WHERE \
                   members.group_id = episodes.group_id AND erased_at IS NULL AND sessions.id NOT IN \
                   (SELECT session FROM withdrawals)))";
        let rows = sqlx::query(sql).fetch_all(&self.pool).await?;
        Ok(rows
            .iter()
            .map(|row| row.try_get("path"))
            .collect::<Result<_, _>>()?)
    }

    /// Forgets episodes, whose files are gone.
    pub async fn forget_episodes(&self, paths: &[String]) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin().await?;
        delete_episodes(&mut transaction, paths).await?;
        transaction.commit().await?;
        self.empty_log().await
    }

    /// Erases what was recorded of a participant: the recruiter's identifier, answers, times and waits, and these
    /// episodes, whose files are gone. Their session stays with its outcome and payment.
    pub async fn erase(&self, participant: &str, episodes: &[String]) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin().await?;
        delete_episodes(&mut transaction, episodes).await?;
        for sql in [
            "DELETE FROM identifiers WHERE session IN (SELECT id FROM sessions WHERE participant = ?)",
            "DELETE FROM answers WHERE session IN (SELECT id FROM sessions WHERE participant = ?)",
            "DELETE FROM pages WHERE session IN (SELECT id FROM sessions WHERE participant = ?)",
            "DELETE FROM waits WHERE participant = ?",
            "DELETE FROM messages WHERE participant = ?",
            FORGET_WORDS,
            "UPDATE sessions SET erased_at = coalesce(erased_at, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) WHERE participant = ?",
        ] {
            sqlx::query(sql)
                .bind(participant)
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        self.empty_log().await
    }

    /// The participants and groups that exports leave out: those who withdrew, and those who are erased.
    pub async fn withdrawn(&self) -> Result<Withdrawn, StoreError> {
        let mut withdrawn = Withdrawn::default();
        // A folder that is only read may be older than the tables.
        let version = self.version().await?;
        if version < 7 {
            return Ok(withdrawn);
        }
        let sql = "SELECT sessions.participant, scope, group_id FROM withdrawals JOIN sessions ON id = session \
                   LEFT JOIN members ON members.participant = sessions.participant";
        for row in sqlx::query(sql).fetch_all(&self.pool).await? {
            withdrawn.participants.insert(row.try_get("participant")?);
            let group: Option<String> = row.try_get("group_id")?;
            let scope: &str = row.try_get("scope")?;
            withdrawn.groups.extend(group.filter(|_| scope == "group"));
        }
        if version >= 8 {
            let sql = "SELECT participant FROM sessions WHERE erased_at IS NOT NULL";
            for row in sqlx::query(sql).fetch_all(&self.pool).await? {
                withdrawn.participants.insert(row.try_get("participant")?);
            }
        }
        Ok(withdrawn)
    }
}

/// Deletes the rows of episodes.
async fn delete_episodes(
    transaction: &mut Transaction<'_, Sqlite>,
    paths: &[String],
) -> Result<(), StoreError> {
    for path in paths {
        for sql in [
            "DELETE FROM players WHERE episode IN (SELECT id FROM episodes WHERE path = ?)",
            "DELETE FROM episodes WHERE path = ?",
        ] {
            sqlx::query(sql)
                .bind(path)
                .execute(&mut **transaction)
                .await?;
        }
    }
    Ok(())
}
