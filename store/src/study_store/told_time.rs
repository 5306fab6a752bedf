//! Times of rows by a given clock, not by the machine's: for rehearsals, whose time is virtual.
//!
//! The tables give their rows the time themselves. Triggers that exist only in the connection replace it with the given
//! time, so nothing of it is in the file.

use sqlx::{AssertSqlSafe, Row as _, raw_sql};

use crate::StoreError;
use crate::database::Pool;

/// The table of the connection that has the time.
const CLOCK: &str =
    "CREATE TEMP TABLE told_time (at TEXT NOT NULL); INSERT INTO told_time VALUES ('');";

/// The columns of the file that have a time.
const COLUMNS: &str = "SELECT m.name, c.name FROM main.sqlite_schema AS m, pragma_table_info(m.name) AS c \
                       WHERE m.type = 'table' AND c.type = 'TEXT' AND (c.name = 'at' OR c.name LIKE '%\\_at' ESCAPE '\\')";

/// Makes the connection write given times from now on.
pub(super) async fn follow(pool: &Pool) -> Result<(), StoreError> {
    let pool = pool.sqlite().ok_or(StoreError::NeedsFile)?;
    raw_sql(CLOCK).execute(pool).await?;
    for row in sqlx::query(COLUMNS).fetch_all(pool).await? {
        let (table, column): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        // Names of our own tables.
        let trigger = |when: &str, event: &str, is_news: &str| {
            format!(
                "CREATE TEMP TRIGGER told_{when}_{table}_{column} AFTER {event} ON main.{table} WHEN {is_news} BEGIN \
                 UPDATE {table} SET {column} = (SELECT at FROM temp.told_time) WHERE rowid = NEW.rowid; END;"
            )
        };
        let is_there = format!("NEW.{column} IS NOT NULL");
        let is_changed = format!("NEW.{column} IS NOT NULL AND NEW.{column} IS NOT OLD.{column}");
        let triggers = [
            trigger("insert", "INSERT", &is_there),
            trigger("update", &format!("UPDATE OF {column}"), &is_changed),
        ];
        raw_sql(AssertSqlSafe(triggers.concat()))
            .execute(pool)
            .await?;
    }
    Ok(())
}

/// Tells the time, microseconds since the Unix epoch.
pub(super) async fn record_time(pool: &Pool, now_us: u64) -> Result<(), StoreError> {
    let pool = pool.sqlite().ok_or(StoreError::NeedsFile)?;
    let sql = "UPDATE temp.told_time SET at = strftime('%Y-%m-%dT%H:%M:%fZ', ? / 1e6, 'unixepoch')";
    sqlx::query(sql)
        .bind(now_us.cast_signed())
        .execute(pool)
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::StudyStore;
    use crate::identifier_key::KeyPlace;

    /// 14 November 2023, 22:13:20, microseconds.
    const NOW_US: u64 = 1_700_000_000_000_000;

    #[tokio::test]
    async fn rows_have_the_time_that_was_told_and_a_store_of_a_server_has_none_to_be_told() {
        let dir = tempfile::tempdir().unwrap();
        let store = StudyStore::open_rehearsed(dir.path()).await.unwrap();
        for (token, after_us) in [("one", 0), ("two", 1_250_000)] {
            store.tell_time(NOW_US + after_us).await.unwrap();
            store.issue_link(token).await.unwrap();
        }
        store.keep_study("hash", "{}").await.unwrap();
        store.close().await;
        // The file is like a server's.
        let store = StudyStore::open(dir.path()).await.unwrap();
        let links = store.list_links().await.unwrap().into_iter();
        let at: Vec<String> = links.map(|link| link.created_at).collect();
        assert_eq!(at, ["2023-11-14T22:13:20.000Z", "2023-11-14T22:13:21.250Z"]);
        assert!(store.tell_time(NOW_US).await.is_err());
        store.issue_link("three").await.unwrap();
        let links = store.list_links().await.unwrap();
        assert!(links[2].created_at > links[1].created_at, "{links:?}");
    }

    #[tokio::test]
    async fn a_server_does_not_protect_people_by_the_key_of_rehearsals() {
        let dir = tempfile::tempdir().unwrap();
        let store = StudyStore::open_rehearsed(dir.path()).await.unwrap();
        store.ensure_key().await.unwrap();
        store.close().await;
        let mut store = StudyStore::open(dir.path()).await.unwrap();
        store.place = KeyPlace::User;
        let refused = store.ensure_key().await.unwrap_err();
        let because = "has data of a rehearsal or a trial";
        assert!(refused.to_string().contains(because), "{refused}");
    }
}
