//! Chat messages of groups.

use super::{StudyStore, model_calls};
use crate::Message;
use crate::StoreError;
use crate::StoredChatMessage;
use crate::database::query;
use crate::database::value::Row;

impl StudyStore {
    /// Keeps a message.
    pub async fn save_message(&self, message: &Message) -> Result<(), StoreError> {
        let sql = "INSERT INTO messages (group_id, number, participant, place, stage, visit, round, turn, episode, tick, \
                   sent_us, at_us, text, partner) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        query(sql)
            .bind(&message.group)
            .bind(message.number)
            .bind(&message.participant)
            .bind(message.place)
            .bind(&message.stage)
            .bind(message.visit)
            .bind(message.group_visit)
            .bind(message.turn)
            .bind(&message.episode)
            .bind(message.tick)
            .bind(message.sent_us.cast_signed())
            .bind(message.at_us.cast_signed())
            .bind(&message.text)
            .bind(&message.partner)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Returns all messages, those of the oldest group first, in the order of the group.
    pub async fn messages(&self) -> Result<Vec<StoredChatMessage>, StoreError> {
        // A folder that is only read may be older than the table.
        let version = self.version().await?;
        if version < 9 {
            return Ok(Vec::new());
        }
        let sql = "SELECT messages.*, sessions.study AS study, study_version, (SELECT seat FROM players WHERE \
                   players.episode = messages.episode AND players.participant = messages.participant) AS seat \
                   FROM messages JOIN groups ON groups.id = group_id JOIN sessions ON sessions.participant = \
                   messages.participant ORDER BY groups.rowid, number";
        let rows = query(sql).fetch_all(&self.pool).await?;
        Ok(rows
            .iter()
            .map(|row| read_message(row, version))
            .collect::<Result<_, _>>()?)
    }
}

fn read_message(row: &Row, version: usize) -> Result<StoredChatMessage, sqlx::Error> {
    let us = |name: &str| row.try_get::<i64, _>(name).map(i64::cast_unsigned);
    Ok(StoredChatMessage {
        study: row.try_get("study")?,
        study_version: row.try_get("study_version")?,
        seat: row.try_get("seat")?,
        message: Message {
            group: row.try_get("group_id")?,
            number: row.try_get("number")?,
            participant: row.try_get("participant")?,
            place: row.try_get("place")?,
            stage: row.try_get("stage")?,
            visit: row.try_get("visit")?,
            group_visit: row.try_get("round")?,
            turn: row.try_get("turn")?,
            episode: row.try_get("episode")?,
            tick: row.try_get("tick")?,
            sent_us: us("sent_us")?,
            at_us: us("at_us")?,
            text: row.try_get("text")?,
            partner: match version < model_calls::FIRST {
                true => String::new(),
                false => row.try_get("partner")?,
            },
        },
    })
}
