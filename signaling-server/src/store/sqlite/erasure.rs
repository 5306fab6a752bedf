//! What is erased of people, and whose part is left out of what is exported.

use sqlx::{Row as _, SqlitePool, raw_sql};

use crate::store::{StoreError, Withdrawn};

/// As [`crate::store::Store::withdraw`].
pub(super) async fn withdraw(
    pool: &SqlitePool,
    participant: &str,
    receipt: &str,
    group: bool,
) -> Result<(), StoreError> {
    let mut transaction = pool.begin().await?;
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
    ] {
        sqlx::query(sql)
            .bind(participant)
            .execute(&mut *transaction)
            .await?;
    }
    Ok(transaction.commit().await?)
}

/// As [`crate::store::Store::last_of`].
pub(super) async fn last_of(
    pool: &SqlitePool,
    participant: &str,
) -> Result<Vec<String>, StoreError> {
    let sql = "SELECT path FROM episodes WHERE group_id IN (SELECT group_id FROM members WHERE participant = ?1) \
               AND NOT EXISTS (SELECT 1 FROM members JOIN sessions USING (participant) WHERE \
               members.group_id = episodes.group_id AND erased_at IS NULL AND participant <> ?1)";
    let rows = sqlx::query(sql).bind(participant).fetch_all(pool).await?;
    Ok(rows
        .iter()
        .map(|row| row.try_get("path"))
        .collect::<Result<_, _>>()?)
}

/// As [`crate::store::Store::erase`].
pub(super) async fn erase(
    pool: &SqlitePool,
    participant: &str,
    episodes: &[String],
) -> Result<(), StoreError> {
    let mut transaction = pool.begin().await?;
    for path in episodes {
        for sql in [
            "DELETE FROM players WHERE episode IN (SELECT id FROM episodes WHERE path = ?)",
            "DELETE FROM episodes WHERE path = ?",
        ] {
            sqlx::query(sql)
                .bind(path)
                .execute(&mut *transaction)
                .await?;
        }
    }
    for sql in [
        "DELETE FROM identifiers WHERE session IN (SELECT id FROM sessions WHERE participant = ?)",
        "DELETE FROM answers WHERE session IN (SELECT id FROM sessions WHERE participant = ?)",
        "DELETE FROM pages WHERE session IN (SELECT id FROM sessions WHERE participant = ?)",
        "DELETE FROM waits WHERE participant = ?",
        "DELETE FROM messages WHERE participant = ?",
        "UPDATE sessions SET erased_at = coalesce(erased_at, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) WHERE participant = ?",
    ] {
        sqlx::query(sql)
            .bind(participant)
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await?;
    // What was there before is in the log of the database until that is emptied.
    raw_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        .execute(pool)
        .await?;
    Ok(())
}

/// As [`crate::store::Store::withdrawn`], of a file with so many migrations.
pub(super) async fn withdrawn(pool: &SqlitePool, version: usize) -> Result<Withdrawn, StoreError> {
    let mut withdrawn = Withdrawn::default();
    if version < 7 {
        return Ok(withdrawn);
    }
    let sql = "SELECT sessions.participant, scope, group_id FROM withdrawals JOIN sessions ON id = session \
               LEFT JOIN members ON members.participant = sessions.participant";
    for row in sqlx::query(sql).fetch_all(pool).await? {
        withdrawn.participants.insert(row.try_get("participant")?);
        let group: Option<String> = row.try_get("group_id")?;
        let scope: &str = row.try_get("scope")?;
        withdrawn.groups.extend(group.filter(|_| scope == "group"));
    }
    if version >= 8 {
        let sql = "SELECT participant FROM sessions WHERE erased_at IS NOT NULL";
        for row in sqlx::query(sql).fetch_all(pool).await? {
            withdrawn.participants.insert(row.try_get("participant")?);
        }
    }
    Ok(withdrawn)
}
