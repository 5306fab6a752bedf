//! Withdrawal and erasure, and the list of participants and groups that exports leave out.

use std::sync::atomic::Ordering;

use sqlx::{Row as _, SqliteConnection, raw_sql};

use super::ledger_logs::{WITHDRAWN_SEATS, append_erased};
use super::payments::PAID_AND_WITHDRAWN;
use super::rows::json;
use super::{BUSY_MS, StudyStore};
use crate::StoreError;
use crate::Withdrawn;
use crate::WithdrawnSeat;
use crate::database::{Transaction, query};

/// Forgets the prompts and answers of language models for a participant. Their cost still counts.
const FORGET_WORDS: &str = "UPDATE model_calls SET prompt = '', answer = '', directive = '', refusal = '' WHERE participant = ?";

impl StudyStore {
    /// Withdraws the recorded data of a participant. Their answers, times, waits and messages are deleted, or all
    /// messages of their groups, and their episodes, or those of their groups, are marked. The recruiter's identifier
    /// is deleted as soon as no payment is due. The first receipt stays.
    pub async fn record_withdrawal(
        &self,
        participant: &str,
        receipt: &str,
        group: bool,
    ) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin_write().await?;
        let sql = "INSERT INTO withdrawals (session, receipt, scope) SELECT id, ?, ? FROM sessions WHERE participant = ? \
                   ON CONFLICT DO NOTHING";
        query(sql)
            .bind(receipt)
            .bind(if group { "group" } else { "own" })
            .bind(participant)
            .execute(&mut *transaction)
            .await?;
        for sql in [
            "DELETE FROM answers WHERE session IN (SELECT id FROM sessions WHERE participant = ?)",
            "DELETE FROM pages WHERE session IN (SELECT id FROM sessions WHERE participant = ?)",
            "DELETE FROM waits WHERE participant = ?",
            match group {
                true => {
                    "DELETE FROM messages WHERE group_id IN (SELECT group_id FROM members WHERE participant = ?)"
                }
                false => "DELETE FROM messages WHERE participant = ?",
            },
            "DELETE FROM desk_messages WHERE participant = ?",
            FORGET_WORDS,
        ] {
            query(sql)
                .bind(participant)
                .execute(&mut *transaction)
                .await?;
        }
        query(PAID_AND_WITHDRAWN).execute(&mut *transaction).await?;
        transaction.commit().await?;
        self.empty_log().await
    }

    /// Empties the database's log, in which everything that was written since it was last emptied can still be read. It
    /// waits for nobody: while another program reads the database, [`Self::has_erased_log`] says that this must still
    /// be done. A PostgreSQL server has its own log, for which its administrator is responsible.
    pub(crate) async fn empty_log(&self) -> Result<(), StoreError> {
        let Some(pool) = self.pool.sqlite() else {
            return Ok(());
        };
        let mut connection = pool.acquire().await?;
        set_patience(&mut connection, 0).await?;
        let is_emptied = checkpoint(&mut connection).await;
        set_patience(&mut connection, BUSY_MS).await?;
        self.has_erased_log.store(!is_emptied?, Ordering::Relaxed);
        Ok(())
    }

    /// The same, but it waits for a while for another program that reads the database.
    pub(crate) async fn wait_to_empty_log(&self) -> Result<(), StoreError> {
        let Some(pool) = self.pool.sqlite() else {
            return Ok(());
        };
        let mut connection = pool.acquire().await?;
        let is_emptied = checkpoint(&mut connection).await?;
        self.has_erased_log.store(!is_emptied, Ordering::Relaxed);
        Ok(())
    }

    /// True if the database's log still has erased data, because another program read the database.
    pub(crate) fn has_erased_log(&self) -> bool {
        self.has_erased_log.load(Ordering::Relaxed)
    }

    /// The files of those episodes of which everybody but this participant is erased already, relative to the data
    /// folder.
    pub async fn last_of(&self, participant: &str) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT path FROM episodes WHERE group_id IN (SELECT group_id FROM members WHERE participant = ?1) \
                   AND NOT EXISTS (SELECT 1 FROM members JOIN sessions USING (participant) WHERE \
                   members.group_id = episodes.group_id AND erased_at IS NULL AND participant <> ?1)";
        let rows = query(sql).bind(participant).fetch_all(&self.pool).await?;
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
        let rows = query(sql).fetch_all(&self.pool).await?;
        Ok(rows
            .iter()
            .map(|row| row.try_get("path"))
            .collect::<Result<_, _>>()?)
    }

    /// Lists the seats of people who withdrew in ended episodes whose files still have data from their pages.
    pub async fn list_withdrawn_seats(&self) -> Result<Vec<WithdrawnSeat>, StoreError> {
        let rows = query(WITHDRAWN_SEATS).fetch_all(&self.pool).await?;
        let seats = rows.iter().map(|row| {
            Ok(WithdrawnSeat {
                episode: row.try_get("episode")?,
                path: row.try_get("path")?,
                participant: row.try_get("participant")?,
            })
        });
        Ok(seats.collect::<Result<_, sqlx::Error>>()?)
    }

    /// Notes that the file of an episode has nothing of a participant's page any more.
    pub async fn mark_withdrawn_seat(&self, seat: &WithdrawnSeat) -> Result<(), StoreError> {
        let sql = "INSERT INTO withdrawn_seats (episode, participant) VALUES (?, ?) ON CONFLICT DO NOTHING";
        query(sql)
            .bind(&seat.episode)
            .bind(&seat.participant)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Forgets episodes, whose files are gone.
    pub async fn forget_episodes(&self, paths: &[String]) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin_write().await?;
        delete_episodes(&mut transaction, paths).await?;
        transaction.commit().await?;
        self.empty_log().await
    }

    /// Erases the recorded data of a participant: the recruiter's identifier, answers, times and waits, and these
    /// episodes, whose files are gone. Their session stays with its outcome and payment.
    pub async fn erase(&self, participant: &str, episodes: &[String]) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin_write().await?;
        delete_episodes(&mut transaction, episodes).await?;
        for sql in [
            "DELETE FROM identifiers WHERE session IN (SELECT id FROM sessions WHERE participant = ?)",
            "DELETE FROM answers WHERE session IN (SELECT id FROM sessions WHERE participant = ?)",
            "DELETE FROM pages WHERE session IN (SELECT id FROM sessions WHERE participant = ?)",
            "DELETE FROM waits WHERE participant = ?",
            "DELETE FROM messages WHERE participant = ?",
            "DELETE FROM desk_messages WHERE participant = ?",
            FORGET_WORDS,
            "UPDATE sessions SET erased_at = coalesce(erased_at, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) WHERE participant = ?",
        ] {
            query(sql)
                .bind(participant)
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        self.empty_log().await
    }

    /// Counts withdrawals, erased sessions and rewritten files of episodes: the counts grow with every erasure.
    pub(crate) async fn count_erasures(&self) -> Result<[i64; 3], StoreError> {
        let version = self.version().await?;
        let mut counts = [0; 3];
        let counted = [
            (7, "SELECT count(*) FROM withdrawals"),
            (
                8,
                "SELECT count(*) FROM sessions WHERE erased_at IS NOT NULL",
            ),
            (17, "SELECT count(*) FROM withdrawn_seats"),
        ];
        for (count, (since, sql)) in counts.iter_mut().zip(counted) {
            // A folder that is only read may be older than the table.
            if version >= since {
                *count = query(sql).fetch_one(&self.pool).await?.try_get(0)?;
            }
        }
        Ok(counts)
    }

    /// Stores where an erased session stands.
    pub(crate) async fn set_position(
        &self,
        participant: &str,
        position: &str,
    ) -> Result<(), StoreError> {
        query("UPDATE sessions SET position = ? WHERE participant = ?")
            .bind(position)
            .bind(participant)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Returns whether the last study erases the episodes of whole groups if somebody withdraws.
    pub(crate) async fn erases_groups(&self) -> Result<bool, StoreError> {
        let sql = "SELECT canonical FROM studies ORDER BY at DESC, rowid DESC LIMIT 1";
        let row = query(sql).fetch_optional(&self.pool).await?;
        let Some(row) = row else { return Ok(false) };
        let canonical: serde_json::Value = json(row.try_get("canonical")?)?;
        Ok(canonical["study"]["on_withdraw"] == "erase_group")
    }

    /// The participants and groups that exports leave out: those who withdrew, and those who are erased.
    pub async fn list_withdrawn(&self) -> Result<Withdrawn, StoreError> {
        let mut withdrawn = Withdrawn::default();
        // A folder that is only read may be older than the tables.
        let version = self.version().await?;
        if version < 7 {
            return Ok(withdrawn);
        }
        let sql = "SELECT sessions.participant, scope, group_id FROM withdrawals JOIN sessions ON id = session \
                   LEFT JOIN members ON members.participant = sessions.participant";
        for row in query(sql).fetch_all(&self.pool).await? {
            withdrawn.participants.insert(row.try_get("participant")?);
            let group: Option<String> = row.try_get("group_id")?;
            let scope: &str = row.try_get("scope")?;
            withdrawn.groups.extend(group.filter(|_| scope == "group"));
        }
        if version >= 8 {
            let sql = "SELECT participant FROM sessions WHERE erased_at IS NOT NULL";
            for row in query(sql).fetch_all(&self.pool).await? {
                withdrawn.participants.insert(row.try_get("participant")?);
            }
        }
        Ok(withdrawn)
    }
}

/// Sets how long the statements of a connection wait for another program, milliseconds.
async fn set_patience(connection: &mut SqliteConnection, ms: u64) -> Result<(), StoreError> {
    // A pragma takes no parameters; the number is ours.
    let sql = sqlx::AssertSqlSafe(format!("PRAGMA busy_timeout = {ms}"));
    raw_sql(sql).execute(connection).await?;
    Ok(())
}

/// Writes the log into the database and empties it; false if another program had one of the two.
async fn checkpoint(connection: &mut SqliteConnection) -> Result<bool, StoreError> {
    let done = raw_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        .fetch_one(connection)
        .await?;
    Ok(done.try_get::<i64, _>("busy")? == 0)
}

/// Deletes the rows of episodes.
async fn delete_episodes(
    transaction: &mut Transaction,
    paths: &[String],
) -> Result<(), StoreError> {
    for path in paths {
        if transaction.is_shared() {
            for sql in [
                "DELETE FROM episode_parts WHERE path = ?",
                "DELETE FROM episode_objects WHERE path = ?",
            ] {
                query(sql).bind(path).execute(&mut **transaction).await?;
            }
        }
        let row = query("SELECT id FROM episodes WHERE path = ?")
            .bind(path)
            .fetch_optional(&mut **transaction)
            .await?;
        if let Some(row) = row {
            append_erased(transaction, row.try_get("id")?).await?;
        }
        for sql in [
            "DELETE FROM players WHERE episode IN (SELECT id FROM episodes WHERE path = ?)",
            "DELETE FROM withdrawn_seats WHERE episode IN (SELECT id FROM episodes WHERE path = ?)",
            "DELETE FROM episodes WHERE path = ?",
        ] {
            query(sql).bind(path).execute(&mut **transaction).await?;
        }
    }
    Ok(())
}
