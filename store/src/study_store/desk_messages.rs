//! Messages between participants and researchers.

use server_core::arbiter::{DeskCheckRow, DeskMessageRow};

use super::StudyStore;
use crate::database::query;
use crate::database::value::Row;
use crate::{DeskMessage, StoreError};

/// The first version of the database that has them.
const FIRST: usize = 19;

impl StudyStore {
    /// Stores a message, written at the stage with this id.
    pub async fn save_desk_message(
        &self,
        stage: &str,
        row: &DeskMessageRow,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO desk_messages (participant, number, by, audience, stage, visit, episode, at_us, text, \
                   within_s, choices, expected) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let check = row.check.as_ref();
        let choices = check.map(|check| serde_json::Value::from(check.choices.clone()).to_string());
        query(sql)
            .bind(&row.participant)
            .bind(row.number)
            .bind(&row.by)
            .bind(&row.audience)
            .bind(stage)
            .bind(row.visit)
            .bind(&row.episode)
            .bind(row.at_us.cast_signed())
            .bind(&row.text)
            .bind(check.map(|check| check.within_s))
            .bind(choices)
            .bind(check.map(|check| check.expected.as_str()))
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Stores the time at which the messages of one side before a number were first read; `own` for messages that the
    /// participant wrote.
    pub async fn mark_desk_messages_read(
        &self,
        participant: &str,
        own: bool,
        before: u32,
        at_us: u64,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE desk_messages SET read_us = ? WHERE participant = ? AND iif(by = '', 1, 0) = ? AND number < ? \
                   AND read_us IS NULL";
        query(sql)
            .bind(at_us.cast_signed())
            .bind(participant)
            .bind(own)
            .bind(before)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Stores the answer to a question.
    pub async fn save_check_answer(
        &self,
        participant: &str,
        number: u32,
        answer: &str,
        at_us: u64,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE desk_messages SET answer = ?, answered_us = ? WHERE participant = ? AND number = ? \
                   AND answer IS NULL";
        query(sql)
            .bind(answer)
            .bind(at_us.cast_signed())
            .bind(participant)
            .bind(number)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Erases the messages of a participant, and of the researchers to them.
    pub async fn forget_desk_messages(&self, participant: &str) -> Result<(), StoreError> {
        query("DELETE FROM desk_messages WHERE participant = ?")
            .bind(participant)
            .execute(&self.pool)
            .await?;
        self.empty_log().await
    }

    /// Returns all messages, by participant in the order of the exchange; only those of one participant if one is
    /// named.
    pub async fn desk_messages(&self, of: Option<&str>) -> Result<Vec<DeskMessage>, StoreError> {
        // A folder that is only read may be older than the table.
        if self.version().await? < FIRST {
            return Ok(Vec::new());
        }
        let sql = "SELECT desk_messages.*, sessions.study AS study, study_version FROM desk_messages \
                   JOIN sessions USING (participant) WHERE ?1 IS NULL OR participant = ?1 \
                   ORDER BY sessions.rowid, desk_messages.number";
        let rows = query(sql).bind(of).fetch_all(&self.pool).await?;
        Ok(rows.iter().map(desk_message).collect::<Result<_, _>>()?)
    }
}

fn desk_message(row: &Row) -> Result<DeskMessage, sqlx::Error> {
    let us = |name: &str| {
        let value: Option<i64> = row.try_get(name)?;
        Ok::<_, sqlx::Error>(value.map(i64::cast_unsigned))
    };
    let within_s: Option<u16> = row.try_get("within_s")?;
    let answer: Option<String> = row.try_get("answer")?;
    let check = match within_s {
        None => None,
        Some(within_s) => Some(DeskCheckRow {
            choices: serde_json::from_str(row.try_get("choices")?)
                .map_err(|error| sqlx::Error::Decode(error.into()))?,
            expected: row.try_get("expected")?,
            within_s,
            answer: answer.zip(us("answered_us")?),
        }),
    };
    Ok(DeskMessage {
        study: row.try_get("study")?,
        study_version: row.try_get("study_version")?,
        stage: row.try_get("stage")?,
        row: DeskMessageRow {
            participant: row.try_get("participant")?,
            number: row.try_get("number")?,
            by: row.try_get("by")?,
            audience: row.try_get("audience")?,
            stage: 0,
            visit: row.try_get("visit")?,
            episode: row.try_get("episode")?,
            at_us: us("at_us")?.unwrap_or(0),
            text: row.try_get("text")?,
            read_us: us("read_us")?,
            check,
        },
    })
}
