//! The store in one SQLite file, with a write-ahead log that is synchronised on every commit.

mod erasure;
mod messages;
mod rows;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use protocol::Era;
use protocol::control::EndReason;
use protocol::log::Ending;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteRow,
    SqliteSynchronous,
};
use sqlx::{Row as _, Sqlite, SqliteConnection, Transaction, raw_sql};

use crate::hub::Identity;

use super::{
    Answers, Episode, GONE, Group, Identifier, Link, Member, Message, NewEpisode, NewSession,
    PageTime, PayState, Payment, Place, Response, Said, Session, Store, StoreError, Wait,
    Withdrawn, gone_name, reason_name, token_hash,
};

use rows::{episode, identifier, json, page_time, payment, response, session, wait};

/// The file of [`SqliteStore`] in a data folder.
pub const FILE: &str = "coplay.sqlite";

/// What brings a data folder from the version of its index to the next.
const MIGRATIONS: [&str; 9] = [
    include_str!("1_tables.sql"),
    include_str!("2_visits.sql"),
    include_str!("3_groups.sql"),
    include_str!("4_visit.sql"),
    include_str!("5_pages.sql"),
    include_str!("6_waits.sql"),
    include_str!("7_withdrawals.sql"),
    include_str!("8_erased.sql"),
    include_str!("9_messages.sql"),
];

/// Episodes with what was drawn for their group, and the visits of their seats as JSON.
const EPISODES: &str = "SELECT episodes.*, draw, (SELECT study FROM members JOIN sessions USING (participant) \
                        WHERE members.group_id = groups.id ORDER BY seat LIMIT 1) AS study, (SELECT study_version FROM members \
                        JOIN sessions USING (participant) WHERE members.group_id = groups.id ORDER BY seat LIMIT 1) AS study_version, (SELECT json_group_object(seat, visit) FROM players \
                        WHERE players.episode = episodes.id) AS visits FROM episodes JOIN groups ON groups.id = group_id";

/// The store in one SQLite file.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    pool: SqlitePool,
}

impl SqliteStore {
    /// Opens the store of a data folder, and makes it if it is not there.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn open(data: &Path) -> Result<Self, StoreError> {
        let options = options(data)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full);
        let store = Self {
            pool: connect(options).await?,
        };
        store.migrate().await?;
        Ok(store)
    }

    /// Opens the store of a data folder for reading, also while a server writes to it.
    ///
    /// # Errors
    /// [`StoreError`], also if there is none.
    pub async fn read(data: &Path) -> Result<Self, StoreError> {
        let store = Self {
            pool: connect(options(data).read_only(true)).await?,
        };
        store.version().await?;
        Ok(store)
    }

    /// Closes the file.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// How many migrations the file has.
    async fn version(&self) -> Result<usize, StoreError> {
        let found: i64 = sqlx::query("PRAGMA user_version")
            .fetch_one(&self.pool)
            .await?
            .try_get(0)?;
        let known = MIGRATIONS.len();
        let version = usize::try_from(found)
            .ok()
            .filter(|version| *version <= known);
        version.ok_or(StoreError::Newer { found, known })
    }

    async fn migrate(&self) -> Result<(), StoreError> {
        for (done, migration) in MIGRATIONS.iter().enumerate().skip(self.version().await?) {
            let mut transaction = self.pool.begin().await?;
            raw_sql(*migration).execute(&mut *transaction).await?;
            // A pragma takes no parameters; the number is ours.
            let version = sqlx::AssertSqlSafe(format!("PRAGMA user_version = {}", done + 1));
            raw_sql(version).execute(&mut *transaction).await?;
            transaction.commit().await?;
        }
        Ok(())
    }
}

fn options(data: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(data.join(FILE))
        .foreign_keys(true)
        // What is erased is overwritten.
        .pragma("secure_delete", "ON")
        .busy_timeout(Duration::from_secs(10))
}

/// One connection: SQLite has one writer, and its own queue is fairer than a busy file.
async fn connect(options: SqliteConnectOptions) -> Result<SqlitePool, StoreError> {
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .idle_timeout(None)
        .max_lifetime(None);
    Ok(pool.connect_with(options).await?)
}

#[async_trait]
impl Store for SqliteStore {
    async fn issue_link(&self, token: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO links (token_hash) VALUES (?) ON CONFLICT DO NOTHING";
        sqlx::query(sql)
            .bind(token_hash(token))
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    async fn links(&self) -> Result<Vec<Link>, StoreError> {
        let sql = "SELECT links.token_hash, participant, links.created_at FROM links \
                   LEFT JOIN sessions ON link_hash = links.token_hash ORDER BY links.rowid";
        let rows = sqlx::query(sql).fetch_all(&self.pool).await?;
        let link = |row: &SqliteRow| {
            Ok(Link {
                token_hash: row.try_get(0)?,
                participant: row.try_get(1)?,
                created_at: row.try_get(2)?,
            })
        };
        Ok(rows.iter().map(link).collect::<Result<_, sqlx::Error>>()?)
    }

    async fn create_session(&self, new: &NewSession) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin().await?;
        let sql = "INSERT INTO participants (pseudonym) VALUES (?)";
        sqlx::query(sql)
            .bind(&new.participant)
            .execute(&mut *transaction)
            .await?;
        let sql = "INSERT INTO sessions \
                   (id, participant, token_hash, link_hash, study, study_version, study_hash, position) \
                   VALUES ('S-' || hex(randomblob(8)), ?, ?, ?, ?, ?, ?, '{}')";
        sqlx::query(sql)
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
            keep_identity(&mut transaction, &new.participant, identity).await?;
        }
        Ok(transaction.commit().await?)
    }

    async fn set_token(&self, participant: &str, token: &str) -> Result<(), StoreError> {
        let sql = "UPDATE sessions SET token_hash = ? WHERE participant = ?";
        let changed = sqlx::query(sql)
            .bind(token_hash(token))
            .bind(participant)
            .execute(&self.pool)
            .await?;
        match changed.rows_affected() {
            0 => Err(StoreError::Unknown("session")),
            _ => Ok(()),
        }
    }

    async fn sessions(&self) -> Result<Vec<Session>, StoreError> {
        let rows = sqlx::query("SELECT * FROM sessions ORDER BY rowid")
            .fetch_all(&self.pool)
            .await?;
        Ok(rows.iter().map(session).collect::<Result<_, _>>()?)
    }

    async fn save_place(
        &self,
        participant: &str,
        place: &Place,
        answers: Option<&Answers>,
    ) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin().await?;
        keep_place(&mut transaction, participant, place).await?;
        if let Some(of) = answers {
            save_answers(&mut transaction, participant, of).await?;
        }
        Ok(transaction.commit().await?)
    }

    async fn payments(&self) -> Result<Vec<Payment>, StoreError> {
        let sql = "SELECT payments.*, participant FROM payments JOIN sessions ON sessions.id = session \
                   ORDER BY sessions.rowid";
        let rows = sqlx::query(sql).fetch_all(&self.pool).await?;
        Ok(rows.iter().map(payment).collect::<Result<_, _>>()?)
    }

    async fn mark_paid(&self, sessions: &[String]) -> Result<usize, StoreError> {
        let mut transaction = self.pool.begin().await?;
        for session in sessions {
            let sql = "UPDATE payments SET state = 'paid', paid_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') \
                       WHERE session = ? AND state = 'due'";
            let marked = sqlx::query(sql)
                .bind(session)
                .execute(&mut *transaction)
                .await?;
            if marked.rows_affected() != 1 {
                return Err(StoreError::Marked);
            }
        }
        transaction.commit().await?;
        Ok(sessions.len())
    }

    async fn set_identity(&self, participant: &str, identity: &Identity) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin().await?;
        keep_identity(&mut transaction, participant, identity).await?;
        Ok(transaction.commit().await?)
    }

    async fn identifiers(&self) -> Result<Vec<Identifier>, StoreError> {
        let sql = "SELECT identifiers.*, sessions.participant AS pseudonym FROM identifiers \
                   JOIN sessions ON sessions.id = session ORDER BY sessions.rowid";
        let rows = sqlx::query(sql).fetch_all(&self.pool).await?;
        Ok(rows.iter().map(identifier).collect::<Result<_, _>>()?)
    }

    async fn groups_of_participants(&self) -> Result<BTreeMap<String, Vec<String>>, StoreError> {
        let sql = "SELECT participant, group_id FROM members JOIN groups ON groups.id = group_id ORDER BY groups.rowid";
        let rows = sqlx::query(sql).fetch_all(&self.pool).await?;
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in &rows {
            let group = row.try_get(1)?;
            groups.entry(row.try_get(0)?).or_default().push(group);
        }
        Ok(groups)
    }

    async fn keep_study(&self, hash: &str, canonical: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO studies (hash, canonical) VALUES (?, ?) ON CONFLICT DO UPDATE \
                   SET at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";
        sqlx::query(sql)
            .bind(hash)
            .bind(canonical)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    async fn studies(&self) -> Result<Vec<String>, StoreError> {
        let rows = sqlx::query("SELECT canonical FROM studies ORDER BY at, rowid")
            .fetch_all(&self.pool)
            .await?;
        Ok(rows
            .iter()
            .map(|row| row.try_get(0))
            .collect::<Result<_, _>>()?)
    }

    async fn save_group(&self, group: &Group) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin().await?;
        let sql = "INSERT INTO groups (id, stage, draw, size, has_ai, talk) VALUES (?, ?, ?, ?, ?, ?) \
                   ON CONFLICT DO UPDATE SET has_ai = max(has_ai, excluded.has_ai), talk = excluded.talk";
        let talk = group
            .talk
            .map(|(round, since_us)| format!("[{round},{since_us}]"));
        sqlx::query(sql)
            .bind(&group.id)
            .bind(&group.stage)
            .bind(&group.draw)
            .bind(group.size)
            .bind(group.has_ai)
            .bind(talk)
            .execute(&mut *transaction)
            .await?;
        for member in &group.members {
            let sql = "INSERT INTO members (group_id, seat, participant, gone, gone_at) VALUES (?1, ?2, ?3, ?4, \
                       iif(?4 IS NULL, NULL, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))) ON CONFLICT DO UPDATE SET \
                       gone = coalesce(gone, excluded.gone), gone_at = coalesce(gone_at, excluded.gone_at)";
            sqlx::query(sql)
                .bind(&group.id)
                .bind(member.place)
                .bind(&member.participant)
                .bind(member.gone.map(gone_name))
                .execute(&mut *transaction)
                .await?;
        }
        Ok(transaction.commit().await?)
    }

    async fn save_wait(&self, wait: &Wait) -> Result<(), StoreError> {
        let sql = "INSERT INTO waits (participant, stage, visit, joined_us, left_us, why, group_id) \
                   VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET left_us = excluded.left_us, \
                   why = excluded.why, group_id = excluded.group_id";
        sqlx::query(sql)
            .bind(&wait.participant)
            .bind(&wait.stage)
            .bind(wait.visit)
            .bind(wait.joined_us.cast_signed())
            .bind(wait.left_us.map(u64::cast_signed))
            .bind(&wait.why)
            .bind(&wait.group)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    async fn interrupt_waits(&self) -> Result<(), StoreError> {
        let sql = "UPDATE waits SET why = 'restart' WHERE why IS NULL";
        sqlx::query(sql).execute(&self.pool).await?;
        Ok(())
    }

    async fn waits(&self) -> Result<Vec<Wait>, StoreError> {
        let sql = "SELECT * FROM waits ORDER BY joined_us, participant";
        let rows = sqlx::query(sql).fetch_all(&self.pool).await?;
        Ok(rows.iter().map(wait).collect::<Result<_, _>>()?)
    }

    async fn save_message(&self, message: &Message) -> Result<(), StoreError> {
        messages::save(&self.pool, message).await
    }

    async fn messages(&self) -> Result<Vec<Said>, StoreError> {
        match self.version().await? {
            // A folder that is only read may be older than the table.
            0..9 => Ok(Vec::new()),
            _ => messages::all(&self.pool).await,
        }
    }

    async fn groups(&self) -> Result<Vec<Group>, StoreError> {
        // A folder that is only read may be older than the column.
        let talk = match self.version().await? {
            0..9 => "NULL AS talk",
            _ => "talk",
        };
        let sql = sqlx::AssertSqlSafe(format!(
            "SELECT id, stage, draw, size, has_ai, {talk}, seat, participant, gone FROM groups \
             LEFT JOIN members ON group_id = id ORDER BY groups.rowid, seat"
        ));
        let rows = sqlx::query(sql).fetch_all(&self.pool).await?;
        let mut groups: Vec<Group> = Vec::new();
        for row in &rows {
            let id: String = row.try_get("id")?;
            if groups.last().is_none_or(|group| group.id != id) {
                let talk: Option<&str> = row.try_get("talk")?;
                groups.push(Group {
                    id,
                    talk: talk.map(json).transpose()?,
                    stage: row.try_get("stage")?,
                    draw: row.try_get("draw")?,
                    size: row.try_get("size")?,
                    has_ai: row.try_get("has_ai")?,
                    members: Vec::new(),
                });
            }
            let participant: Option<String> = row.try_get("participant")?;
            if let (Some(group), Some(participant)) = (groups.last_mut(), participant) {
                let gone: Option<&str> = row.try_get("gone")?;
                let known = gone.and_then(|name| GONE.iter().find(|(_, known)| *known == name));
                group.members.push(Member {
                    place: row.try_get("seat")?,
                    participant,
                    gone: known.map(|(gone, _)| *gone),
                });
            }
        }
        Ok(groups)
    }

    async fn create_episode(&self, new: &NewEpisode) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin().await?;
        let people = || {
            let seats = (0_u8..).zip(&new.participants);
            seats.filter(|(_, participant)| !participant.is_empty())
        };
        // Of a group that a lobby made, everything is there already.
        let sql =
            "INSERT INTO groups (id, stage, draw, size) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING";
        let made = sqlx::query(sql)
            .bind(&new.group)
            .bind(&new.stage)
            .bind(&new.draw)
            .bind(people().count() as u8)
            .execute(&mut *transaction)
            .await?;
        if made.rows_affected() > 0 {
            for (place, (_, participant)) in (0_u8..).zip(people()) {
                let sql = "INSERT INTO members (group_id, seat, participant) VALUES (?, ?, ?)";
                sqlx::query(sql)
                    .bind(&new.group)
                    .bind(place)
                    .bind(participant)
                    .execute(&mut *transaction)
                    .await?;
            }
        }
        let sql = "INSERT INTO episodes (id, era, group_id, stage, path, bindings) VALUES (?, ?, ?, ?, ?, ?)";
        sqlx::query(sql)
            .bind(&new.id)
            .bind(new.era.0)
            .bind(&new.group)
            .bind(&new.stage)
            .bind(&new.path)
            .bind(&new.bindings)
            .execute(&mut *transaction)
            .await?;
        for (seat, participant) in people() {
            let Some(visit) = new.visits.get(usize::from(seat)) else {
                continue;
            };
            let sql = "INSERT INTO players (episode, seat, participant, visit) VALUES (?, ?, ?, ?)";
            sqlx::query(sql)
                .bind(&new.id)
                .bind(seat)
                .bind(participant)
                .bind(visit)
                .execute(&mut *transaction)
                .await?;
        }
        Ok(transaction.commit().await?)
    }

    async fn end_episode(
        &self,
        id: &str,
        reason: EndReason,
        ending: Option<Ending>,
    ) -> Result<(), StoreError> {
        // A second end changes nothing, and is no error.
        let sql = "UPDATE episodes SET state = 'ended', \
                   ended_at = coalesce(ended_at, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')), \
                   reason = iif(state = 'ended', reason, ?), ticks = iif(state = 'ended', ticks, ?), \
                   score = iif(state = 'ended', score, ?), digest = iif(state = 'ended', digest, ?) WHERE id = ?";
        let ended = sqlx::query(sql)
            .bind(reason_name(reason))
            .bind(ending.map(|ending| ending.ticks.0))
            .bind(ending.map(|ending| ending.score))
            .bind(ending.map(|ending| ending.digest.cast_signed()))
            .bind(id)
            .execute(&self.pool)
            .await?;
        if ended.rows_affected() == 0 {
            Err(StoreError::Unknown("episode"))
        } else {
            Ok(())
        }
    }

    async fn episodes(&self) -> Result<Vec<Episode>, StoreError> {
        let sql = format!("{EPISODES} ORDER BY episodes.rowid");
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .fetch_all(&self.pool)
            .await?;
        Ok(rows.iter().map(episode).collect::<Result<_, _>>()?)
    }

    async fn running_episodes(&self) -> Result<Vec<Episode>, StoreError> {
        let sql = format!("{EPISODES} WHERE state = 'running' ORDER BY episodes.rowid");
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .fetch_all(&self.pool)
            .await?;
        Ok(rows.iter().map(episode).collect::<Result<_, _>>()?)
    }

    async fn responses(&self) -> Result<Vec<Response>, StoreError> {
        // A folder that is only read may be older than the marks.
        let marks = match self.version().await? {
            0..3 => "NULL AS correct, 0 AS flag",
            _ => "correct, flag",
        };
        let sql = sqlx::AssertSqlSafe(format!(
            "SELECT study, study_version, participant, sessions.id AS session, stage, stage_index, visit, item, value, \
             {marks}, elapsed_ms, at FROM answers JOIN sessions ON sessions.id = answers.session \
             ORDER BY sessions.rowid, visit, answers.rowid"
        ));
        let rows = sqlx::query(sql).fetch_all(&self.pool).await?;
        Ok(rows.iter().map(response).collect::<Result<_, _>>()?)
    }

    async fn withdraw(
        &self,
        participant: &str,
        receipt: &str,
        group: bool,
    ) -> Result<(), StoreError> {
        erasure::withdraw(&self.pool, participant, receipt, group).await
    }

    async fn last_of(&self, participant: &str) -> Result<Vec<String>, StoreError> {
        erasure::last_of(&self.pool, participant).await
    }

    async fn erase(&self, participant: &str, episodes: &[String]) -> Result<(), StoreError> {
        erasure::erase(&self.pool, participant, episodes).await
    }

    async fn withdrawn(&self) -> Result<Withdrawn, StoreError> {
        // A folder that is only read may be older than the tables.
        erasure::withdrawn(&self.pool, self.version().await?).await
    }

    async fn page_times(&self) -> Result<Vec<PageTime>, StoreError> {
        // A folder that is only read may be older than the table.
        if self.version().await? < 5 {
            return Ok(Vec::new());
        }
        let sql = "SELECT study, study_version, participant, sessions.id AS session, stage, stage_index, visit, page, ms \
                   FROM pages JOIN sessions ON sessions.id = pages.session ORDER BY sessions.rowid, visit, page";
        let rows = sqlx::query(sql).fetch_all(&self.pool).await?;
        Ok(rows.iter().map(page_time).collect::<Result<_, _>>()?)
    }

    async fn next_era(&self) -> Result<Era, StoreError> {
        let sql = "SELECT value FROM counters WHERE name = 'next_era'";
        let row = sqlx::query(sql).fetch_optional(&self.pool).await?;
        Ok(Era(row.map_or(Ok(0), |row| row.try_get(0))?))
    }

    async fn set_next_era(&self, era: Era) -> Result<(), StoreError> {
        let sql = "INSERT INTO counters (name, value) VALUES ('next_era', ?) \
                   ON CONFLICT DO UPDATE SET value = excluded.value";
        sqlx::query(sql).bind(era.0).execute(&self.pool).await?;
        Ok(())
    }

    async fn seed(&self) -> Result<Option<u64>, StoreError> {
        let sql = "SELECT value FROM counters WHERE name = 'seed'";
        let row = sqlx::query(sql).fetch_optional(&self.pool).await?;
        let seed: Option<i64> = row.map(|row| row.try_get(0)).transpose()?;
        Ok(seed.map(i64::cast_unsigned))
    }

    async fn set_seed(&self, seed: u64) -> Result<(), StoreError> {
        let sql = "INSERT INTO counters (name, value) VALUES ('seed', ?) ON CONFLICT DO NOTHING";
        sqlx::query(sql)
            .bind(seed.cast_signed())
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}

async fn keep_identity(
    transaction: &mut Transaction<'_, Sqlite>,
    participant: &str,
    identity: &Identity,
) -> Result<(), StoreError> {
    let parameters =
        serde_json::to_string(&identity.parameters).expect("names and values are text");
    let sql = "INSERT INTO identifiers (session, provider, participant, parameters) \
               SELECT id, ?, ?, ? FROM sessions WHERE participant = ? ON CONFLICT (session) DO UPDATE SET \
               provider = excluded.provider, participant = excluded.participant, parameters = excluded.parameters";
    sqlx::query(sql)
        .bind(&identity.provider)
        .bind(&identity.participant)
        .bind(parameters)
        .bind(participant)
        .execute(&mut **transaction)
        .await?;
    Ok(())
}

/// Writes where a session stands, and what it is paid if it is over.
async fn keep_place(
    transaction: &mut Transaction<'_, Sqlite>,
    participant: &str,
    place: &Place,
) -> Result<(), StoreError> {
    let payment = place.payment.as_ref();
    let sql = "UPDATE sessions SET position = ?1, outcome = coalesce(outcome, ?2), ended_at = coalesce(ended_at, \
               iif(?2 IS NULL, NULL, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))), spent_us = ?3, seen_us = ?4 \
               WHERE participant = ?5";
    let moved = sqlx::query(sql)
        .bind(&place.position)
        .bind(payment.map(|payment| payment.outcome.name()))
        .bind(place.spent_us.cast_signed())
        .bind(place.seen_us.cast_signed())
        .bind(participant)
        .execute(&mut **transaction)
        .await?;
    if moved.rows_affected() == 0 {
        return Err(StoreError::Unknown("session"));
    }
    let Some(payment) = payment else {
        return Ok(());
    };
    let sql = "INSERT INTO payments (session, outcome, deed, code, receipt, currency, time_ms, base, bonus, time, total, \
               extra, note, state) SELECT id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM sessions WHERE participant = ? \
               ON CONFLICT DO NOTHING";
    let state = match payment.total {
        0 => PayState::Skipped,
        _ => PayState::Due,
    };
    sqlx::query(sql)
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
    Ok(())
}

/// Adds what a participant gave to a stage.
async fn save_answers(
    transaction: &mut SqliteConnection,
    participant: &str,
    of: &Answers,
) -> Result<(), sqlx::Error> {
    let elapsed_ms = (of.pages_ms.iter()).fold(0_u32, |sum, ms| sum.saturating_add(*ms));
    for (page, ms) in (0_u16..).zip(&of.pages_ms) {
        let sql = "INSERT INTO pages (session, stage, stage_index, visit, page, ms) \
                   SELECT id, ?, ?, ?, ?, ? FROM sessions WHERE participant = ? ON CONFLICT DO NOTHING";
        sqlx::query(sql)
            .bind(&of.stage)
            .bind(of.stage_index)
            .bind(of.visit)
            .bind(page)
            .bind(ms)
            .bind(participant)
            .execute(&mut *transaction)
            .await?;
    }
    for answer in &of.answers {
        let mark = of.marks.iter().find(|mark| mark.item == answer.name);
        let sql = "INSERT INTO answers (session, stage, stage_index, visit, item, value, elapsed_ms, correct, flag) \
                   SELECT id, ?, ?, ?, ?, ?, ?, ?, ? FROM sessions WHERE participant = ? ON CONFLICT DO NOTHING";
        sqlx::query(sql)
            .bind(&of.stage)
            .bind(of.stage_index)
            .bind(of.visit)
            .bind(&answer.name)
            .bind(&answer.value)
            .bind(elapsed_ms)
            .bind(mark.map(|mark| mark.correct))
            .bind(mark.is_some_and(|mark| mark.flag))
            .bind(participant)
            .execute(&mut *transaction)
            .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
