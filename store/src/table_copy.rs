//! Copies the rows of a study from a PostgreSQL database into a SQLite file, for a backup, and back from there.

use sqlx::AssertSqlSafe;

use crate::database::value::Value;
use crate::database::{Transaction, query};
use crate::error::StoreError;

/// The tables that both databases have. A table comes after the tables to which its rows refer.
const TABLES: [&str; 22] = [
    "participants",
    "links",
    "sessions",
    "groups",
    "members",
    "episodes",
    "players",
    "answers",
    "pages",
    "counters",
    "payments",
    "studies",
    "identifiers",
    "identifier_key",
    "withdrawn_seats",
    "waits",
    "withdrawals",
    "messages",
    "ledger",
    "audit",
    "model_calls",
    "desk_messages",
];

/// A column of a table in PostgreSQL. SQLite has the same ones; `rowid` is there without being declared.
struct TableColumn {
    name: String,
    /// Its type, as PostgreSQL names it.
    kind: String,
    /// True if PostgreSQL counts it by itself.
    is_counted: bool,
}

/// Copies every row of every table. One of the two databases is PostgreSQL, and the target has no rows.
///
/// # Errors
/// [`StoreError`]; the target is then to be rolled back.
pub(crate) async fn copy_rows(
    from: &mut Transaction,
    to: &mut Transaction,
) -> Result<(), StoreError> {
    for table in TABLES {
        let columns = match from.is_shared() {
            true => list_columns(from, table).await?,
            false => list_columns(to, table).await?,
        };
        copy_table(from, to, table, &columns).await?;
        if to.is_shared() {
            continue_counting(to, table, &columns).await?;
        }
    }
    Ok(())
}

/// The first table that has rows; `None` if the study is empty.
///
/// # Errors
/// [`StoreError`]
pub(crate) async fn find_rows(of: &mut Transaction) -> Result<Option<&'static str>, StoreError> {
    for table in TABLES {
        let sql = AssertSqlSafe(format!("SELECT 1 FROM {table} LIMIT 1"));
        if query(sql).fetch_optional(&mut **of).await?.is_some() {
            return Ok(Some(table));
        }
    }
    Ok(None)
}

async fn list_columns(of: &mut Transaction, table: &str) -> Result<Vec<TableColumn>, StoreError> {
    let sql = "SELECT column_name::TEXT AS name, data_type::TEXT AS kind, is_identity = 'YES' AS is_counted \
               FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = ? \
               ORDER BY ordinal_position";
    let rows = query(sql).bind(table).fetch_all(&mut **of).await?;
    let columns = rows.iter().map(|row| {
        Ok(TableColumn {
            name: row.try_get("name")?,
            kind: row.try_get("kind")?,
            is_counted: row.try_get("is_counted")?,
        })
    });
    Ok(columns.collect::<Result<_, sqlx::Error>>()?)
}

async fn copy_table(
    from: &mut Transaction,
    to: &mut Transaction,
    table: &str,
    columns: &[TableColumn],
) -> Result<(), StoreError> {
    let names: Vec<String> = columns
        .iter()
        .map(|column| format!("\"{}\"", column.name))
        .collect();
    let (names, places) = (names.join(", "), vec!["?"; columns.len()].join(", "));
    let select = format!("SELECT {names} FROM {table}");
    let insert = format!("INSERT INTO {table} ({names}) VALUES ({places})");
    for row in query(AssertSqlSafe(select)).fetch_all(&mut **from).await? {
        let mut statement = query(AssertSqlSafe(insert.clone()));
        for (value, column) in row.values().iter().zip(columns) {
            statement = statement.bind(type_value(value, &column.kind));
        }
        statement.execute(&mut **to).await?;
    }
    Ok(())
}

/// Converts a value for a column. PostgreSQL needs the type of the column also for a missing value, which SQLite does
/// not say.
fn type_value(value: &Value, kind: &str) -> Value {
    match kind {
        "bigint" if value.is_null() => Value::Int(None),
        "bytea" if value.is_null() => Value::Bytes(None),
        _ => value.clone(),
    }
}

/// Makes PostgreSQL continue with the number after the last one.
async fn continue_counting(
    to: &mut Transaction,
    table: &str,
    columns: &[TableColumn],
) -> Result<(), StoreError> {
    for TableColumn { name, .. } in columns.iter().filter(|column| column.is_counted) {
        let last = format!(
            "SELECT setval(pg_get_serial_sequence(?, ?)::REGCLASS, (SELECT max({name}) FROM {table}))"
        );
        query(AssertSqlSafe(last))
            .bind(table)
            .bind(name)
            .execute(&mut **to)
            .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::StudyStore;

    #[tokio::test]
    async fn every_table_is_copied_and_none_before_one_that_it_refers_to() {
        let dir = tempfile::tempdir().unwrap();
        let store = StudyStore::create_copy(dir.path()).await.unwrap();
        let sql =
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
        let rows = query(sql).fetch_all(store.pool()).await.unwrap();
        let found: BTreeSet<&str> = rows.iter().map(|row| row.try_get(0).unwrap()).collect();
        assert_eq!(found, TABLES.into_iter().collect());
        for (index, table) in TABLES.iter().enumerate() {
            let sql = AssertSqlSafe(format!(
                "SELECT \"table\" FROM pragma_foreign_key_list('{table}')"
            ));
            for row in query(sql).fetch_all(store.pool()).await.unwrap() {
                let other: &str = row.try_get(0).unwrap();
                let place = TABLES.iter().position(|table| *table == other).unwrap();
                assert!(place < index, "{table} refers to {other}");
            }
        }
    }
}
