//! What the server remembers beside episode files: links, sessions and their place in the study, groups,
//! episodes, answers. Everything that a method has returned from survives the loss of the process and of power.
//!
//! Sessions are named by the pseudonym of their participant. Tokens are stored as [`token_hash`] only.
//! The store must not know what a position in a study means, nor of sockets and episode files.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use protocol::control::{Answer, EndReason};
use protocol::log::Ending;
use protocol::{Era, Seat, Tick};
use sha2::{Digest as _, Sha256};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteRow,
    SqliteSynchronous,
};
use sqlx::{Row as _, raw_sql};

/// The file of [`SqliteStore`] in a data folder.
pub const FILE: &str = "coplay.sqlite";

/// What brings a data folder from the version of its index to the next.
const MIGRATIONS: [&str; 1] = [include_str!("store/1_tables.sql")];

/// What is stored of a token: its SHA-256, lower-case hex.
pub fn token_hash(token: &str) -> String {
    Sha256::digest(token)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A participant link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// [`token_hash`] of its token.
    pub token_hash: String,
    /// The participant who came by it.
    pub participant: Option<String>,
    /// When it was issued, ISO-8601 UTC.
    pub created_at: String,
}

/// A session to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// Pseudonym, such as `P-7K3Q`.
    pub participant: String,
    /// Secret that brings a page back to it.
    pub token: String,
    /// Token of the participant link through which it came.
    pub link: Option<String>,
    /// Study id.
    pub study: String,
    /// Version that the study file gives itself.
    pub study_version: String,
    /// SHA-256 of the canonical study, lower-case hex.
    pub study_hash: String,
    /// Its place in the study, JSON.
    pub position: String,
}

/// A session as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its own pseudonym, for exports: `S-` and 16 hex digits.
    pub id: String,
    /// Pseudonym of the participant.
    pub participant: String,
    /// [`token_hash`] of its token.
    pub token_hash: String,
    /// [`token_hash`] of the link through which it came.
    pub link_hash: Option<String>,
    /// SHA-256 of the canonical study that its position belongs to.
    pub study_hash: String,
    /// Its place in the study, JSON.
    pub position: String,
    /// The declared outcome, once it is over.
    pub outcome: Option<String>,
    /// ISO-8601 UTC.
    pub created_at: String,
    /// ISO-8601 UTC.
    pub ended_at: Option<String>,
}

/// The answers of a survey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answers {
    /// Id of the stage.
    pub stage: String,
    /// Its index in the timeline.
    pub stage_index: u16,
    /// The answers.
    pub answers: Vec<Answer>,
    /// Time on the stage.
    pub elapsed_ms: u32,
}

/// An episode to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEpisode {
    /// Id.
    pub id: String,
    /// Era.
    pub era: Era,
    /// Id of the group.
    pub group: String,
    /// Id of the stage.
    pub stage: String,
    /// Its file, relative to the data folder.
    pub path: String,
    /// Pseudonym of the participant of each seat; empty for an AI partner.
    pub participants: Vec<String>,
}

/// An episode as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Episode {
    /// Id.
    pub id: String,
    /// Era.
    pub era: Era,
    /// Id of the group.
    pub group: String,
    /// Id of the stage.
    pub stage: String,
    /// Its file, relative to the data folder.
    pub path: String,
    /// Why it ended; none while it runs.
    pub reason: Option<EndReason>,
    /// How it ended; none while it runs, or if its replica could not say.
    pub ending: Option<Ending>,
}

/// An answer with where it belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Study id.
    pub study: String,
    /// Version that the study file gives itself.
    pub study_version: String,
    /// Pseudonym of the participant.
    pub participant: String,
    /// Pseudonym of the session.
    pub session: String,
    /// Id of the stage.
    pub stage: String,
    /// Its index in the timeline.
    pub stage_index: u16,
    /// Name of the item.
    pub item: String,
    /// The value, JSON.
    pub value: String,
    /// Time on the stage.
    pub elapsed_ms: u32,
    /// When it was stored, ISO-8601 UTC.
    pub at: String,
}

/// Why the store did not do something. Nothing of it is then stored.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database failed.
    #[error("database: {0}")]
    Database(#[from] sqlx::Error),
    /// The data folder was written by a newer program.
    #[error("the data folder has version {found}; this program knows versions up to {known}")]
    Newer {
        /// Version found.
        found: i64,
        /// The last known one.
        known: usize,
    },
    /// There is no session or episode of this name.
    #[error("there is no {0} of this name")]
    Unknown(&'static str),
}

/// Durable memory. A method returns once what it wrote is on the disk.
#[async_trait]
pub trait Store: Send + Sync {
    /// Makes a participant link; one that is there stays as it is.
    async fn issue_link(&self, token: &str) -> Result<(), StoreError>;
    /// All participant links, oldest first.
    async fn links(&self) -> Result<Vec<Link>, StoreError>;

    /// Makes a session and its participant.
    async fn create_session(&self, new: &NewSession) -> Result<(), StoreError>;
    /// Gives a session another token; the one before is then unknown.
    async fn set_token(&self, participant: &str, token: &str) -> Result<(), StoreError>;
    /// The session with this token.
    async fn session_by_token(&self, token: &str) -> Result<Option<Session>, StoreError>;
    /// The session that came through this link.
    async fn session_by_link(&self, link: &str) -> Result<Option<Session>, StoreError>;
    /// All sessions, oldest first.
    async fn sessions(&self) -> Result<Vec<Session>, StoreError>;
    /// Moves a session to another place in the study.
    async fn save_position(&self, participant: &str, position: &str) -> Result<(), StoreError>;
    /// Keeps answers and moves the session on, both or neither. The first answer to an item stands.
    async fn save_answers(
        &self,
        participant: &str,
        answers: &Answers,
        position: &str,
    ) -> Result<(), StoreError>;
    /// Ends a session; the first outcome stands.
    async fn set_outcome(&self, participant: &str, outcome: &str) -> Result<(), StoreError>;

    /// Makes a running episode, its group and the group's members; a group that is there stays as it is.
    async fn create_episode(&self, new: &NewEpisode) -> Result<(), StoreError>;
    /// Ends an episode; the first end stands.
    async fn end_episode(
        &self,
        id: &str,
        reason: EndReason,
        ending: Option<Ending>,
    ) -> Result<(), StoreError>;
    /// All episodes, oldest first.
    async fn episodes(&self) -> Result<Vec<Episode>, StoreError>;
    /// Episodes without an end, oldest first.
    async fn running_episodes(&self) -> Result<Vec<Episode>, StoreError>;
    /// All answers, oldest session first, in the order of the study.
    async fn responses(&self) -> Result<Vec<Response>, StoreError>;

    /// The era of the next episode; 0 before any was set.
    async fn next_era(&self) -> Result<Era, StoreError>;
    /// Sets the era of the next episode.
    async fn set_next_era(&self, era: Era) -> Result<(), StoreError>;
}

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

    async fn sessions_where(
        &self,
        sql: &'static str,
        value: Option<&str>,
    ) -> Result<Vec<Session>, StoreError> {
        let rows = match value {
            Some(value) => sqlx::query(sql).bind(value).fetch_all(&self.pool).await?,
            None => sqlx::query(sql).fetch_all(&self.pool).await?,
        };
        Ok(rows.iter().map(session).collect::<Result<_, _>>()?)
    }

    /// Runs a statement about one row.
    async fn change(
        &self,
        what: &'static str,
        sql: &'static str,
        values: &[&str],
    ) -> Result<(), StoreError> {
        let query = values
            .iter()
            .fold(sqlx::query(sql), |query, value| query.bind(*value));
        match query.execute(&self.pool).await?.rows_affected() {
            0 => Err(StoreError::Unknown(what)),
            _ => Ok(()),
        }
    }
}

fn options(data: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(data.join(FILE))
        .foreign_keys(true)
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
                   VALUES ('S-' || hex(randomblob(8)), ?, ?, ?, ?, ?, ?, ?)";
        sqlx::query(sql)
            .bind(&new.participant)
            .bind(token_hash(&new.token))
            .bind(new.link.as_deref().map(token_hash))
            .bind(&new.study)
            .bind(&new.study_version)
            .bind(&new.study_hash)
            .bind(&new.position)
            .execute(&mut *transaction)
            .await?;
        Ok(transaction.commit().await?)
    }

    async fn set_token(&self, participant: &str, token: &str) -> Result<(), StoreError> {
        let sql = "UPDATE sessions SET token_hash = ? WHERE participant = ?";
        self.change("session", sql, &[&token_hash(token), participant])
            .await
    }

    async fn session_by_token(&self, token: &str) -> Result<Option<Session>, StoreError> {
        let sql = "SELECT * FROM sessions WHERE token_hash = ?";
        Ok(self
            .sessions_where(sql, Some(&token_hash(token)))
            .await?
            .pop())
    }

    async fn session_by_link(&self, link: &str) -> Result<Option<Session>, StoreError> {
        let sql = "SELECT * FROM sessions WHERE link_hash = ?";
        Ok(self
            .sessions_where(sql, Some(&token_hash(link)))
            .await?
            .pop())
    }

    async fn sessions(&self) -> Result<Vec<Session>, StoreError> {
        self.sessions_where("SELECT * FROM sessions ORDER BY rowid", None)
            .await
    }

    async fn save_position(&self, participant: &str, position: &str) -> Result<(), StoreError> {
        let sql = "UPDATE sessions SET position = ? WHERE participant = ?";
        self.change("session", sql, &[position, participant]).await
    }

    async fn save_answers(
        &self,
        participant: &str,
        answers: &Answers,
        position: &str,
    ) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin().await?;
        let sql = "UPDATE sessions SET position = ? WHERE participant = ?";
        let moved = sqlx::query(sql)
            .bind(position)
            .bind(participant)
            .execute(&mut *transaction)
            .await?;
        if moved.rows_affected() == 0 {
            return Err(StoreError::Unknown("session"));
        }
        for answer in &answers.answers {
            let sql = "INSERT INTO answers (session, stage, stage_index, item, value, elapsed_ms) \
                       SELECT id, ?, ?, ?, ?, ? FROM sessions WHERE participant = ? ON CONFLICT DO NOTHING";
            sqlx::query(sql)
                .bind(&answers.stage)
                .bind(answers.stage_index)
                .bind(&answer.name)
                .bind(&answer.value)
                .bind(answers.elapsed_ms)
                .bind(participant)
                .execute(&mut *transaction)
                .await?;
        }
        Ok(transaction.commit().await?)
    }

    async fn set_outcome(&self, participant: &str, outcome: &str) -> Result<(), StoreError> {
        let sql = "UPDATE sessions SET outcome = coalesce(outcome, ?), \
                   ended_at = coalesce(ended_at, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) WHERE participant = ?";
        self.change("session", sql, &[outcome, participant]).await
    }

    async fn create_episode(&self, new: &NewEpisode) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin().await?;
        let sql = "INSERT INTO groups (id, stage) VALUES (?, ?) ON CONFLICT DO NOTHING";
        sqlx::query(sql)
            .bind(&new.group)
            .bind(&new.stage)
            .execute(&mut *transaction)
            .await?;
        let people = (0_u8..)
            .map(Seat)
            .zip(&new.participants)
            .filter(|(_, participant)| !participant.is_empty());
        for (seat, participant) in people {
            let sql = "INSERT INTO members (group_id, seat, participant) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
            sqlx::query(sql)
                .bind(&new.group)
                .bind(seat.0)
                .bind(participant)
                .execute(&mut *transaction)
                .await?;
        }
        let sql = "INSERT INTO episodes (id, era, group_id, stage, path) VALUES (?, ?, ?, ?, ?)";
        sqlx::query(sql)
            .bind(&new.id)
            .bind(new.era.0)
            .bind(&new.group)
            .bind(&new.stage)
            .bind(&new.path)
            .execute(&mut *transaction)
            .await?;
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
        let rows = sqlx::query("SELECT * FROM episodes ORDER BY rowid")
            .fetch_all(&self.pool)
            .await?;
        Ok(rows.iter().map(episode).collect::<Result<_, _>>()?)
    }

    async fn running_episodes(&self) -> Result<Vec<Episode>, StoreError> {
        let sql = "SELECT * FROM episodes WHERE state = 'running' ORDER BY rowid";
        let rows = sqlx::query(sql).fetch_all(&self.pool).await?;
        Ok(rows.iter().map(episode).collect::<Result<_, _>>()?)
    }

    async fn responses(&self) -> Result<Vec<Response>, StoreError> {
        let sql = "SELECT study, study_version, participant, sessions.id AS session, stage, stage_index, item, value, \
                   elapsed_ms, at FROM answers JOIN sessions ON sessions.id = answers.session \
                   ORDER BY sessions.rowid, stage_index, answers.rowid";
        let rows = sqlx::query(sql).fetch_all(&self.pool).await?;
        Ok(rows.iter().map(response).collect::<Result<_, _>>()?)
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
}

const REASONS: [(EndReason, &str); 3] = [
    (EndReason::Played, "played"),
    (EndReason::PartnerLeft, "partner_left"),
    (EndReason::Technical, "technical"),
];

/// The name of a reason in tables.
pub fn reason_name(reason: EndReason) -> &'static str {
    REASONS
        .iter()
        .find(|(known, _)| *known == reason)
        .map_or("", |(_, name)| name)
}

fn session(row: &SqliteRow) -> Result<Session, sqlx::Error> {
    Ok(Session {
        id: row.try_get("id")?,
        participant: row.try_get("participant")?,
        token_hash: row.try_get("token_hash")?,
        link_hash: row.try_get("link_hash")?,
        study_hash: row.try_get("study_hash")?,
        position: row.try_get("position")?,
        outcome: row.try_get("outcome")?,
        created_at: row.try_get("created_at")?,
        ended_at: row.try_get("ended_at")?,
    })
}

fn episode(row: &SqliteRow) -> Result<Episode, sqlx::Error> {
    let reason: Option<&str> = row.try_get("reason")?;
    let reason = reason
        .and_then(|name| REASONS.iter().find(|(_, known)| *known == name))
        .map(|(reason, _)| *reason);
    let ticks: Option<u32> = row.try_get("ticks")?;
    let ending = match (reason, ticks) {
        (Some(reason), Some(ticks)) => {
            let digest: i64 = row.try_get("digest")?;
            let (score, digest) = (row.try_get("score")?, digest.cast_unsigned());
            Some(Ending {
                ticks: Tick(ticks),
                reason,
                score,
                digest,
            })
        }
        _ => None,
    };
    Ok(Episode {
        id: row.try_get("id")?,
        era: Era(row.try_get("era")?),
        group: row.try_get("group_id")?,
        stage: row.try_get("stage")?,
        path: row.try_get("path")?,
        reason,
        ending,
    })
}

fn response(row: &SqliteRow) -> Result<Response, sqlx::Error> {
    Ok(Response {
        study: row.try_get("study")?,
        study_version: row.try_get("study_version")?,
        participant: row.try_get("participant")?,
        session: row.try_get("session")?,
        stage: row.try_get("stage")?,
        stage_index: row.try_get("stage_index")?,
        item: row.try_get("item")?,
        value: row.try_get("value")?,
        elapsed_ms: row.try_get("elapsed_ms")?,
        at: row.try_get("at")?,
    })
}

#[cfg(test)]
mod tests;
