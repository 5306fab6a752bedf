//! The keys of the dashboard: one-time links, the sessions of browsers, and tokens of programs. They are in a separate
//! file of the data folder, so that no copy of the study's data lets anybody in, and so that they stay when the data
//! begin again.
//!
//! Secrets have 128 bits and are stored only as [`token_hash`]. Every request looks its secret up, so a revoked one is
//! void immediately, even if another process revoked it.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use server_core::token::token_hash;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions, SqliteRow};
use sqlx::{Row as _, raw_sql};

use crate::StoreError;

/// The file of [`DeskKeys`] in a data folder.
pub const FILE: &str = "desk.sqlite";

/// For how long a one-time link opens, seconds.
pub const LINK_S: u64 = 24 * 3_600;

/// For how long a browser stays signed in, seconds.
pub const SESSION_S: u64 = 30 * 24 * 3_600;

/// The most letters of a name.
const LONGEST_NAME: usize = 60;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS keys (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('link', 'session', 'token')),
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('look', 'act', 'administer')),
    hash TEXT NOT NULL UNIQUE,
    created_s INTEGER NOT NULL,
    expires_s INTEGER,
    void_s INTEGER
) STRICT";

/// The rights of a researcher at the dashboard; each role has those of the roles before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeskRole {
    /// See everything.
    Look,
    /// Also change recruitment, places, waits, sessions and bonuses.
    Act,
    /// Also let others in, and revoke.
    Administer,
}

impl DeskRole {
    /// Every role and its name.
    pub const ALL: [(&'static str, Self); 3] = [
        ("look", Self::Look),
        ("act", Self::Act),
        ("administer", Self::Administer),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }

    fn of_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|(known, _)| *known == name).map(|(_, role)| role)
    }
}

/// The use of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyKind {
    /// A link that signs a browser in once.
    Link,
    /// A browser that is signed in.
    Session,
    /// A program.
    Token,
}

impl KeyKind {
    const ALL: [(&'static str, Self); 3] = [
        ("link", Self::Link),
        ("session", Self::Session),
        ("token", Self::Token),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }

    fn of_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|(known, _)| *known == name).map(|(_, kind)| kind)
    }
}

/// A key without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeskKey {
    /// Its number.
    pub id: i64,
    /// Its use.
    pub kind: KeyKind,
    /// The name of the researcher or program; empty for a link whose user enters it.
    pub name: String,
    /// The rights of its holder.
    pub role: DeskRole,
    /// The time at which it was made, seconds since the Unix epoch.
    pub created_s: u64,
    /// The time at which it expires; `None` for never.
    pub expires_s: Option<u64>,
}

/// The reason why a key is not made.
#[derive(Debug, thiserror::Error)]
pub enum KeyRefused {
    /// The name is missing, too long, or has characters that no name has.
    #[error(
        "`name` is empty, longer than {LONGEST_NAME} letters, or has control characters; write the name of a person or program"
    )]
    Name,
    /// The link is unknown, used, void or expired.
    #[error(
        "this link is not valid: it opens once, for 24 hours; make a new one with `coplay desk link --data DIR`, or ask \
         somebody who administers the dashboard"
    )]
    Link,
    /// The file failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system gave no random numbers.
    #[error("the system gives no random numbers: {0}")]
    Random(getrandom::Error),
}

impl From<sqlx::Error> for KeyRefused {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

/// The keys of the dashboard of a data folder.
#[derive(Clone, Debug)]
pub struct DeskKeys {
    pool: SqlitePool,
}

impl DeskKeys {
    /// Opens the keys of a data folder, and makes the file if it is not there.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn open(data: &Path) -> Result<Self, StoreError> {
        let options = SqliteConnectOptions::new()
            .filename(data.join(FILE))
            .create_if_missing(true)
            .pragma("secure_delete", "ON")
            .busy_timeout(Duration::from_secs(10));
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            .idle_timeout(None)
            .max_lifetime(None);
        let pool = pool.connect_with(options).await?;
        raw_sql(TABLE).execute(&pool).await?;
        Ok(Self { pool })
    }

    /// Closes the file.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Makes a key; returns it with its secret, which nobody can read again. A link may have no name; a token never
    /// expires by itself.
    ///
    /// # Errors
    /// [`KeyRefused`]
    pub async fn issue(
        &self,
        kind: KeyKind,
        name: &str,
        role: DeskRole,
        now_s: u64,
    ) -> Result<(DeskKey, String), KeyRefused> {
        let may_lack_name = kind == KeyKind::Link && name.is_empty();
        let name = match may_lack_name {
            true => String::new(),
            false => check_name(name)?,
        };
        let secret = random_secret()?;
        let expires_s = match kind {
            KeyKind::Link => Some(now_s + LINK_S),
            KeyKind::Session => Some(now_s + SESSION_S),
            KeyKind::Token => None,
        };
        let sql = "INSERT INTO keys (kind, name, role, hash, created_s, expires_s) VALUES (?, ?, ?, ?, ?, ?)";
        let made = sqlx::query(sql)
            .bind(kind.name())
            .bind(&name)
            .bind(role.name())
            .bind(token_hash(&secret))
            .bind(now_s.cast_signed())
            .bind(expires_s.map(u64::cast_signed))
            .execute(&self.pool)
            .await?;
        let key = DeskKey {
            id: made.last_insert_rowid(),
            kind,
            name,
            role,
            created_s: now_s,
            expires_s,
        };
        Ok((key, secret))
    }

    /// Signs a browser in by the secret of a link, which is void from then on. The name counts if the link has none.
    ///
    /// # Errors
    /// [`KeyRefused`]; the link stays good if only the name was wrong.
    pub async fn sign_in(
        &self,
        link: &str,
        name: &str,
        now_s: u64,
    ) -> Result<(DeskKey, String), KeyRefused> {
        let found = self.find(link, KeyKind::Link, now_s).await?;
        let found = found.ok_or(KeyRefused::Link)?;
        let name = match found.name.as_str() {
            "" => check_name(name)?,
            known => known.to_owned(),
        };
        // If two browsers come at the same time, one is first.
        if !self.revoke(found.id, now_s).await? {
            return Err(KeyRefused::Link);
        }
        self.issue(KeyKind::Session, &name, found.role, now_s).await
    }

    /// The key with a secret, if it is of this kind and good.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn find(
        &self,
        secret: &str,
        kind: KeyKind,
        now_s: u64,
    ) -> Result<Option<DeskKey>, StoreError> {
        let sql = "SELECT * FROM keys WHERE hash = ? AND kind = ? AND void_s IS NULL \
                   AND (expires_s IS NULL OR expires_s > ?)";
        let row = sqlx::query(sql)
            .bind(token_hash(secret))
            .bind(kind.name())
            .bind(now_s.cast_signed())
            .fetch_optional(&self.pool)
            .await?;
        Ok(row.as_ref().map(read_key).transpose()?)
    }

    /// The keys that are good, oldest first.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn list(&self, now_s: u64) -> Result<Vec<DeskKey>, StoreError> {
        let sql = "SELECT * FROM keys WHERE void_s IS NULL AND (expires_s IS NULL OR expires_s > ?) ORDER BY id";
        let rows = sqlx::query(sql)
            .bind(now_s.cast_signed())
            .fetch_all(&self.pool)
            .await?;
        Ok(rows.iter().map(read_key).collect::<Result<_, _>>()?)
    }

    /// Makes a key void; false if there was no good one of this number.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn revoke(&self, id: i64, now_s: u64) -> Result<bool, StoreError> {
        let sql = "UPDATE keys SET void_s = ?2 WHERE id = ?1 AND void_s IS NULL \
                   AND (expires_s IS NULL OR expires_s > ?2)";
        let changed = sqlx::query(sql)
            .bind(id)
            .bind(now_s.cast_signed())
            .execute(&self.pool)
            .await?;
        Ok(changed.rows_affected() == 1)
    }
}

fn read_key(row: &SqliteRow) -> Result<DeskKey, sqlx::Error> {
    let (kind, role): (&str, &str) = (row.try_get("kind")?, row.try_get("role")?);
    let unknown = |column: &str| sqlx::Error::ColumnNotFound(column.to_owned());
    let expires_s: Option<i64> = row.try_get("expires_s")?;
    Ok(DeskKey {
        id: row.try_get("id")?,
        kind: KeyKind::of_name(kind).ok_or_else(|| unknown("kind"))?,
        name: row.try_get("name")?,
        role: DeskRole::of_name(role).ok_or_else(|| unknown("role"))?,
        created_s: row.try_get::<i64, _>("created_s")?.cast_unsigned(),
        expires_s: expires_s.map(i64::cast_unsigned),
    })
}

fn check_name(name: &str) -> Result<String, KeyRefused> {
    let name = name.trim();
    let is_fit = !name.is_empty()
        && name.chars().count() <= LONGEST_NAME
        && !name.contains(char::is_control);
    is_fit.then(|| name.to_owned()).ok_or(KeyRefused::Name)
}

fn random_secret() -> Result<String, KeyRefused> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(KeyRefused::Random)?;
    Ok(protocol::hash::to_hex(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_S: u64 = 1_000_000;

    async fn keys() -> (tempfile::TempDir, DeskKeys) {
        let data = tempfile::tempdir().unwrap();
        let keys = DeskKeys::open(data.path()).await.unwrap();
        (data, keys)
    }

    #[tokio::test]
    async fn a_link_signs_one_browser_in_and_the_session_ends_when_it_is_revoked() {
        let (data, keys) = keys().await;
        let role = DeskRole::Administer;
        let (_, link) = keys.issue(KeyKind::Link, "", role, NOW_S).await.unwrap();
        let nameless = keys.sign_in(&link, " ", NOW_S).await;
        assert!(matches!(nameless, Err(KeyRefused::Name)), "{nameless:?}");
        let (session, secret) = keys.sign_in(&link, "Ada", NOW_S).await.unwrap();
        assert_eq!((session.name.as_str(), session.role), ("Ada", role));
        let again = keys.sign_in(&link, "Eve", NOW_S).await;
        assert!(matches!(again, Err(KeyRefused::Link)), "{again:?}");
        let find = async |kind, now_s| keys.find(&secret, kind, now_s).await.unwrap();
        assert_eq!(find(KeyKind::Session, NOW_S).await.unwrap(), session);
        assert_eq!(find(KeyKind::Token, NOW_S).await, None, "another kind");
        assert_eq!(find(KeyKind::Session, NOW_S + SESSION_S).await, None);
        // Another process revokes it.
        let other = DeskKeys::open(data.path()).await.unwrap();
        assert!(other.revoke(session.id, NOW_S).await.unwrap());
        assert!(!other.revoke(session.id, NOW_S).await.unwrap());
        assert_eq!(find(KeyKind::Session, NOW_S).await, None);
        let bytes = std::fs::read(data.path().join(FILE)).unwrap();
        for secret in [&link, &secret] {
            let secret = secret.as_bytes();
            assert!(!bytes.windows(secret.len()).any(|part| part == secret));
        }
    }

    #[tokio::test]
    async fn a_link_expires_and_a_token_does_not() {
        let (_data, keys) = keys().await;
        let look = DeskRole::Look;
        let (_, link) = keys.issue(KeyKind::Link, "Bo", look, NOW_S).await.unwrap();
        let (token, _) = keys
            .issue(KeyKind::Token, "script", look, NOW_S)
            .await
            .unwrap();
        let late_s = NOW_S + LINK_S;
        assert!(keys.sign_in(&link, "", late_s).await.is_err());
        assert_eq!(keys.list(late_s).await.unwrap(), [token]);
        for name in ["", "a\nb", &"x".repeat(61)] {
            let refused = keys.issue(KeyKind::Token, name, look, NOW_S).await;
            assert!(matches!(refused, Err(KeyRefused::Name)), "{name:?}");
        }
    }
}
