//! Requests to language models.

use protocol::{Seat, Tick};
use server_core::arbiter::{ModelCallCost, ModelCallRow};

use super::StudyStore;
use crate::database::query;
use crate::database::value::Row;
use crate::{ModelCall, StoreError};

/// The first version of the database that has them.
pub(super) const FIRST: usize = 18;

impl StudyStore {
    /// Stores a request, or its result.
    pub async fn save_model_call(&self, stage: &str, row: &ModelCallRow) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin_write().await?;
        query("DELETE FROM model_calls WHERE episode = ? AND number = ?")
            .bind(&row.episode)
            .bind(row.number)
            .execute(&mut *transaction)
            .await?;
        let sql = "INSERT INTO model_calls (episode, number, participant, stage, visit, partner, seat, \
                   provider, model, parameters, asked_for, prompt, answer, outcome, input_tokens, output_tokens, \
                   cost_micro, asked_us, latency_us, retries, tick_asked, message, directive, refusal, tick_applied) \
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        query(sql)
            .bind(&row.episode)
            .bind(row.number)
            .bind(&row.participant)
            .bind(stage)
            .bind(row.visit)
            .bind(&row.partner)
            .bind(row.seat.map(|seat| seat.0))
            .bind(&row.provider)
            .bind(&row.model)
            .bind(&row.parameters)
            .bind(&row.asked_for)
            .bind(&row.prompt)
            .bind(&row.answer)
            .bind(&row.outcome)
            .bind(row.input_tokens)
            .bind(row.output_tokens)
            .bind(row.cost_micro.cast_signed())
            .bind(row.asked_us.cast_signed())
            .bind(row.latency_us.map(u64::cast_signed))
            .bind(row.retries)
            .bind(row.tick_asked.map(|tick| tick.0))
            .bind(row.message)
            .bind(&row.directive)
            .bind(&row.refusal)
            .bind(row.tick_applied.map(|tick| tick.0))
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await
    }

    /// Returns all requests, in their order.
    pub async fn model_calls(&self) -> Result<Vec<ModelCall>, StoreError> {
        // A folder that is only read may be older than the table.
        if self.version().await? < FIRST {
            return Ok(Vec::new());
        }
        let sql = "SELECT model_calls.*, sessions.study AS study, study_version, group_id FROM model_calls \
                   JOIN sessions ON sessions.participant = model_calls.participant \
                   LEFT JOIN episodes ON episodes.id = episode ORDER BY model_calls.rowid";
        let rows = query(sql).fetch_all(&self.pool).await?;
        Ok(rows.iter().map(model_call).collect::<Result<_, _>>()?)
    }

    /// The costs of all requests.
    pub async fn model_costs(&self) -> Result<Vec<ModelCallCost>, StoreError> {
        let sql = "SELECT episode, number, participant, partner, cost_micro, asked_us, asked_for FROM model_calls ORDER BY rowid";
        let rows = query(sql).fetch_all(&self.pool).await?;
        let cost = |row: &Row| {
            Ok(ModelCallCost {
                episode: row.try_get("episode")?,
                number: row.try_get("number")?,
                participant: row.try_get("participant")?,
                partner: row.try_get("partner")?,
                cost_micro: row.try_get::<i64, _>("cost_micro")?.cast_unsigned(),
                asked_us: row.try_get::<i64, _>("asked_us")?.cast_unsigned(),
                is_press: ModelCallCost::is_press(&row.try_get::<String, _>("asked_for")?),
            })
        };
        Ok(rows.iter().map(cost).collect::<Result<_, sqlx::Error>>()?)
    }
}

fn model_call(row: &Row) -> Result<ModelCall, sqlx::Error> {
    let us = |name: &str| row.try_get::<i64, _>(name).map(i64::cast_unsigned);
    let latency_us: Option<i64> = row.try_get("latency_us")?;
    let tick = |name: &str| {
        row.try_get::<Option<u32>, _>(name)
            .map(|tick| tick.map(Tick))
    };
    Ok(ModelCall {
        study: row.try_get("study")?,
        study_version: row.try_get("study_version")?,
        stage: row.try_get("stage")?,
        group: row.try_get("group_id")?,
        row: ModelCallRow {
            episode: row.try_get("episode")?,
            number: row.try_get("number")?,
            participant: row.try_get("participant")?,
            stage: 0,
            visit: row.try_get("visit")?,
            partner: row.try_get("partner")?,
            seat: row.try_get::<Option<u8>, _>("seat")?.map(Seat),
            provider: row.try_get("provider")?,
            model: row.try_get("model")?,
            parameters: row.try_get("parameters")?,
            asked_for: row.try_get("asked_for")?,
            prompt: row.try_get("prompt")?,
            answer: row.try_get("answer")?,
            outcome: row.try_get("outcome")?,
            input_tokens: row.try_get("input_tokens")?,
            output_tokens: row.try_get("output_tokens")?,
            cost_micro: us("cost_micro")?,
            asked_us: us("asked_us")?,
            latency_us: latency_us.map(i64::cast_unsigned),
            retries: row.try_get("retries")?,
            tick_asked: tick("tick_asked")?,
            message: row.try_get("message")?,
            directive: row.try_get("directive")?,
            refusal: row.try_get("refusal")?,
            tick_applied: tick("tick_applied")?,
        },
    })
}
