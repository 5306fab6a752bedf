//! Sessions: their participants, their positions, and their answers.

use server_core::arbiter::Attendance;
use server_core::token::token_hash;

use super::StudyStore;
use super::ledger::append_payment;
use super::payments::keep_payment;
use super::rows::{page_time, read_response, session};
use crate::Answers;
use crate::NewSession;
use crate::PageTime;
use crate::Response;
use crate::Session;
use crate::StoreError;
use crate::StoredPosition;
use crate::database::{Transaction, query};

impl StudyStore {
    /// Makes a session and its participant.
    pub async fn create_session(&self, new: &NewSession) -> Result<(), StoreError> {
        if new.identity.is_some() {
            self.ensure_key().await?;
        }
        let mut transaction = self.pool.begin_write().await?;
        let sql = "INSERT INTO participants (pseudonym) VALUES (?)";
        query(sql)
            .bind(&new.participant)
            .execute(&mut *transaction)
            .await?;
        let sql = "INSERT INTO sessions \
                   (rowid, id, participant, token_hash, link_hash, study, study_version, study_hash, position) \
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, '{}')";
        query(sql)
            .bind(row_of(new.number))
            .bind(make_session_id()?)
            .bind(&new.participant)
            .bind(token_hash(&new.token))
            .bind(new.link.as_deref().map(token_hash))
            .bind(&new.study)
            .bind(&new.study_version)
            .bind(&new.study_hash)
            .execute(&mut *transaction)
            .await?;
        keep_place(&mut transaction, &new.participant, &new.place).await?;
        if let Some(identity) = &new.identity {
            self.keep_identity(&mut transaction, &new.participant, identity)
                .await?;
        }
        transaction.commit().await
    }

    /// Forgets a session that has not begun, with its other data: the recruiter's identifier and waits. If it
    /// nevertheless has an answer, a group or a payment, it stays, without its link and identifier, by which somebody
    /// may begin.
    pub async fn forget_session(&self, participant: &str) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin_write().await?;
        let sql = "SELECT 1 FROM sessions WHERE participant = ?1 AND outcome IS NULL AND erased_at IS NULL \
                   AND NOT EXISTS (SELECT 1 FROM answers WHERE session = id) \
                   AND NOT EXISTS (SELECT 1 FROM pages WHERE session = id) \
                   AND NOT EXISTS (SELECT 1 FROM payments WHERE session = id) \
                   AND NOT EXISTS (SELECT 1 FROM withdrawals WHERE session = id) \
                   AND NOT EXISTS (SELECT 1 FROM members WHERE participant = ?1) \
                   AND NOT EXISTS (SELECT 1 FROM players WHERE participant = ?1) \
                   AND NOT EXISTS (SELECT 1 FROM messages WHERE participant = ?1)";
        let found = query(sql)
            .bind(participant)
            .fetch_optional(&mut *transaction)
            .await?;
        let forget = [
            "DELETE FROM identifiers WHERE session IN (SELECT id FROM sessions WHERE participant = ?)",
            "UPDATE sessions SET link_hash = NULL WHERE participant = ?",
            "DELETE FROM waits WHERE participant = ?",
            "DELETE FROM desk_messages WHERE participant = ?",
            "DELETE FROM sessions WHERE participant = ?",
            "DELETE FROM participants WHERE pseudonym = ?",
        ];
        let steps = match found {
            Some(_) => &forget[..],
            None => &forget[..2],
        };
        for sql in steps {
            query(*sql)
                .bind(participant)
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await
    }

    /// Gives a session another token; the one before is then unknown.
    pub async fn set_token(&self, participant: &str, token: &str) -> Result<(), StoreError> {
        let sql = "UPDATE sessions SET token_hash = ? WHERE participant = ?";
        let changed = query(sql)
            .bind(token_hash(token))
            .bind(participant)
            .execute(&self.pool)
            .await?;
        match changed.rows_affected() {
            0 => Err(StoreError::Unknown("session")),
            _ => Ok(()),
        }
    }

    /// All sessions, oldest first.
    pub async fn sessions(&self) -> Result<Vec<Session>, StoreError> {
        let rows = query("SELECT rowid AS row, * FROM sessions ORDER BY rowid")
            .fetch_all(&self.pool)
            .await?;
        Ok(rows.iter().map(session).collect::<Result<_, _>>()?)
    }

    /// Moves a session to another place in the study, all of it or nothing: with the answers that brought it there, and
    /// with its outcome and payment if that is the last place. The first answer to an item, the first outcome and the
    /// first payment stand.
    pub async fn save_place(
        &self,
        participant: &str,
        place: &StoredPosition,
        answers: Option<&Answers>,
    ) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin_write().await?;
        keep_place(&mut transaction, participant, place).await?;
        if let Some(of) = answers {
            save_answers(&mut transaction, participant, of).await?;
        }
        transaction.commit().await
    }

    /// Stores how long the participant of a session has been there.
    pub async fn save_attendance(
        &self,
        participant: &str,
        attendance: Attendance,
    ) -> Result<(), StoreError> {
        let sql =
            "UPDATE sessions SET spent_us = ?, seen_us = ?, acted_us = ? WHERE participant = ?";
        let changed = query(sql)
            .bind(attendance.spent_us.cast_signed())
            .bind(attendance.seen_us.cast_signed())
            .bind(attendance.acted_us.cast_signed())
            .bind(participant)
            .execute(&self.pool)
            .await?;
        match changed.rows_affected() {
            0 => Err(StoreError::Unknown("session")),
            _ => Ok(()),
        }
    }

    /// Lets a session continue that has ended without pay: its outcome and its payment are forgotten.
    pub async fn reopen_session(
        &self,
        participant: &str,
        place: &StoredPosition,
    ) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin_write().await?;
        let sql = "DELETE FROM payments WHERE total = 0 AND state = 'skipped' \
                   AND session = (SELECT id FROM sessions WHERE participant = ?)";
        let taken_back = query(sql)
            .bind(participant)
            .execute(&mut *transaction)
            .await?;
        if taken_back.rows_affected() > 0 {
            append_payment(&mut transaction, participant, None).await?;
        }
        let sql = "UPDATE sessions SET outcome = NULL, ended_at = NULL WHERE participant = ?";
        query(sql)
            .bind(participant)
            .execute(&mut *transaction)
            .await?;
        keep_place(&mut transaction, participant, place).await?;
        transaction.commit().await
    }

    /// All answers, oldest session first, in the order of the study.
    pub async fn list_responses(&self) -> Result<Vec<Response>, StoreError> {
        // A folder that is only read may be older than the marks, or the orders.
        let marks = match self.version().await? {
            0..3 => "NULL AS correct, 0 AS flag",
            _ => "correct, flag",
        };
        let shown = match self.version().await? {
            0..10 => "NULL AS shown",
            _ => "shown",
        };
        let sql = sqlx::AssertSqlSafe(format!(
            "SELECT study, study_version, participant, sessions.id AS session, stage, stage_index, visit, item, value, \
             {marks}, {shown}, elapsed_ms, at FROM answers JOIN sessions ON sessions.id = answers.session \
             ORDER BY sessions.rowid, visit, answers.rowid"
        ));
        let rows = query(sql).fetch_all(&self.pool).await?;
        Ok(rows.iter().map(read_response).collect::<Result<_, _>>()?)
    }

    /// Times on all pages, in the same order.
    pub async fn page_times(&self) -> Result<Vec<PageTime>, StoreError> {
        // A folder that is only read may be older than the table.
        if self.version().await? < 5 {
            return Ok(Vec::new());
        }
        let sql = "SELECT study, study_version, participant, sessions.id AS session, stage, stage_index, visit, page, ms \
                   FROM pages JOIN sessions ON sessions.id = pages.session ORDER BY sessions.rowid, visit, page";
        let rows = query(sql).fetch_all(&self.pool).await?;
        Ok(rows.iter().map(page_time).collect::<Result<_, _>>()?)
    }
}

/// A new name of a session.
fn make_session_id() -> Result<String, StoreError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| sqlx::Error::Io(std::io::Error::other(error)))?;
    let digits = protocol::hash::to_hex(&bytes).to_ascii_uppercase();
    Ok(format!("S-{digits}"))
}

/// The row of the session with this number.
fn row_of(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX - 1) + 1
}

/// Writes the position of a session, and its payment if it is over.
async fn keep_place(
    transaction: &mut Transaction,
    participant: &str,
    place: &StoredPosition,
) -> Result<(), StoreError> {
    let payment = place.payment.as_ref();
    let sql = "UPDATE sessions SET position = ?1, outcome = coalesce(outcome, ?2), ended_at = coalesce(ended_at, \
               iif(?2 IS NULL, NULL, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))), spent_us = ?3, seen_us = ?4, \
               acted_us = ?5 WHERE participant = ?6";
    let moved = query(sql)
        .bind(&place.position)
        .bind(payment.map(|payment| payment.outcome.name()))
        .bind(place.spent_us.cast_signed())
        .bind(place.seen_us.cast_signed())
        .bind(place.acted_us.cast_signed())
        .bind(participant)
        .execute(&mut **transaction)
        .await?;
    if moved.rows_affected() == 0 {
        return Err(StoreError::Unknown("session"));
    }
    match payment {
        Some(payment) => keep_payment(transaction, participant, payment).await,
        None => Ok(()),
    }
}

/// Adds a participant's answers to a stage.
async fn save_answers(
    transaction: &mut Transaction,
    participant: &str,
    of: &Answers,
) -> Result<(), StoreError> {
    let elapsed_ms = (of.pages_ms.iter()).fold(0_u32, |sum, ms| sum.saturating_add(*ms));
    for (page, ms) in (0_u16..).zip(&of.pages_ms) {
        let sql = "INSERT INTO pages (session, stage, stage_index, visit, page, ms) \
                   SELECT id, ?, ?, ?, ?, ? FROM sessions WHERE participant = ? ON CONFLICT DO NOTHING";
        query(sql)
            .bind(&of.stage)
            .bind(of.stage_index)
            .bind(of.visit)
            .bind(page)
            .bind(ms)
            .bind(participant)
            .execute(&mut **transaction)
            .await?;
    }
    for answer in &of.answers {
        let mark = of.marks.iter().find(|mark| mark.item == answer.name);
        let shown = of.shown.iter().find(|shown| shown.item == answer.name);
        let sql = "INSERT INTO answers (session, stage, stage_index, visit, item, value, elapsed_ms, correct, flag, shown) \
                   SELECT id, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM sessions WHERE participant = ? ON CONFLICT DO NOTHING";
        query(sql)
            .bind(&of.stage)
            .bind(of.stage_index)
            .bind(of.visit)
            .bind(&answer.name)
            .bind(&answer.value)
            .bind(elapsed_ms)
            .bind(mark.map(|mark| mark.correct))
            .bind(mark.is_some_and(|mark| mark.flag))
            .bind(shown.map(|shown| shown.order.as_str()))
            .bind(participant)
            .execute(&mut **transaction)
            .await?;
    }
    Ok(())
}
