//! The database of a store: one SQLite file, or a PostgreSQL server. Statements are written once, for SQLite; this module
//! has them run by either.
//!
//! Syntax that they understand differently is avoided in the statements, or given to PostgreSQL as a function of the same name
//! (`database/functions.sql`). Whole numbers are 64 bits wide and truth is a number in both.

pub(crate) mod migrations;
pub(crate) mod postgres;
pub(crate) mod value;

use std::ops::{Deref, DerefMut};

use sqlx::postgres::PgPool;
use sqlx::sqlite::SqlitePool;
use sqlx::{AssertSqlSafe, Postgres, SqlSafeStr, SqlStr, Sqlite};

use crate::error::StoreError;
use value::{Row, Value};

/// The file of a SQLite database in a data folder.
pub const FILE: &str = "coplay.sqlite";

/// The connections to a database.
#[derive(Clone, Debug)]
pub(crate) enum Pool {
    /// A file, with one connection.
    Sqlite(SqlitePool),
    /// A server.
    Postgres(PgPool, Writer),
}

/// The writer of a database that several servers share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    /// The server of this generation: its writes fail once another has taken over.
    Server(i64),
    /// A command beside the servers.
    Command,
}

/// A transaction. What it wrote is gone unless it is committed.
#[derive(Debug)]
pub(crate) struct Transaction(Connection);

/// A connection within a transaction.
#[derive(Debug)]
pub(crate) enum Connection {
    Sqlite(sqlx::Transaction<'static, Sqlite>),
    Postgres(sqlx::Transaction<'static, Postgres>),
}

impl Pool {
    /// The pool of a SQLite file, for what only such a file has.
    pub(crate) fn sqlite(&self) -> Option<&SqlitePool> {
        match self {
            Self::Sqlite(pool) => Some(pool),
            Self::Postgres(..) => None,
        }
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(pool) => pool.close().await,
            Self::Postgres(pool, _) => pool.close().await,
        }
    }

    /// Begins a transaction that writes. Only one does at a time: the others wait for their turn here, as one that gets it
    /// only after it has read would fail if another has written meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] if another server has taken over; the database.
    pub(crate) async fn begin_write(&self) -> Result<Transaction, StoreError> {
        match self {
            Self::Sqlite(pool) => {
                let transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
                Ok(Transaction(Connection::Sqlite(transaction)))
            }
            Self::Postgres(pool, writer) => {
                let mut transaction = pool.begin().await.map_err(postgres::map_error)?;
                let generation = match writer {
                    Writer::Server(generation) => Some(*generation),
                    Writer::Command => None,
                };
                sqlx::query("SELECT begin_write($1)")
                    .bind(generation)
                    .execute(&mut *transaction)
                    .await
                    .map_err(postgres::map_error)?;
                Ok(Transaction(Connection::Postgres(transaction)))
            }
        }
    }

    /// Begins a transaction that reads everything as it is at one time.
    ///
    /// # Errors
    /// [`StoreError`]
    pub(crate) async fn begin_read(&self) -> Result<Transaction, StoreError> {
        Ok(Transaction(match self {
            Self::Sqlite(pool) => Connection::Sqlite(pool.begin().await?),
            Self::Postgres(pool, _) => {
                let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
                let begun = pool.begin_with(begin).await;
                Connection::Postgres(begun.map_err(postgres::map_error)?)
            }
        }))
    }
}

impl Transaction {
    /// True if several servers share the database.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.0, Connection::Postgres(_))
    }

    /// Makes the written rows durable.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is then stored.
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        match self.0 {
            Connection::Sqlite(transaction) => Ok(transaction.commit().await?),
            Connection::Postgres(transaction) => {
                transaction.commit().await.map_err(postgres::map_error)
            }
        }
    }

    /// Drops the written rows.
    ///
    /// # Errors
    /// [`StoreError`]
    pub(crate) async fn rollback(self) -> Result<(), StoreError> {
        match self.0 {
            Connection::Sqlite(transaction) => Ok(transaction.rollback().await?),
            Connection::Postgres(transaction) => {
                transaction.rollback().await.map_err(postgres::map_error)
            }
        }
    }
}

impl Deref for Transaction {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.0
    }
}

impl DerefMut for Transaction {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.0
    }
}

/// The target of a statement.
pub(crate) enum On<'a> {
    /// Its own transaction, if it writes.
    Pool(&'a Pool),
    /// A transaction that was begun.
    Connection(&'a mut Connection),
}

impl<'a> From<&'a Pool> for On<'a> {
    fn from(pool: &'a Pool) -> Self {
        Self::Pool(pool)
    }
}

impl<'a> From<&'a mut Connection> for On<'a> {
    fn from(connection: &'a mut Connection) -> Self {
        Self::Connection(connection)
    }
}

/// A statement with its parameters.
#[must_use = "a statement does nothing until it runs"]
pub(crate) struct Query {
    sql: SqlStr,
    values: Vec<Value>,
}

/// A statement, with `?` or `?1` for each parameter.
pub(crate) fn query(sql: impl SqlSafeStr) -> Query {
    Query {
        sql: sql.into_sql_str(),
        values: Vec::new(),
    }
}

/// The result of a statement that writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    rows: u64,
}

impl Done {
    /// The number of rows that it wrote, changed or deleted.
    pub(crate) fn rows_affected(self) -> u64 {
        self.rows
    }
}

/// A statement for a database, with its parameters.
macro_rules! bound {
    ($database:ty, $sql:expr, $values:expr) => {
        $values
            .into_iter()
            .fold(sqlx::query::<$database>($sql), |query, value| match value {
                Value::Int(value) => query.bind(value),
                Value::Text(value) => query.bind(value),
                Value::Bytes(value) => query.bind(value),
            })
    };
}

impl Query {
    /// Adds the next parameter.
    pub(crate) fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(match value.into() {
            // Texts of PostgreSQL cannot have it.
            Value::Text(Some(text)) if text.contains('\0') => {
                Value::Text(Some(text.replace('\0', "\u{fffd}")))
            }
            value => value,
        });
        self
    }

    /// Runs it.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is then written.
    pub(crate) async fn execute<'a>(self, on: impl Into<On<'a>>) -> Result<Done, StoreError> {
        match on.into() {
            On::Pool(Pool::Sqlite(pool)) => {
                let done = bound!(Sqlite, self.sql, self.values).execute(pool).await?;
                let rows = done.rows_affected();
                Ok(Done { rows })
            }
            On::Pool(pool @ Pool::Postgres(..)) => {
                let mut transaction = pool.begin_write().await?;
                let done = self.execute_within(&mut transaction).await?;
                transaction.commit().await?;
                Ok(done)
            }
            On::Connection(connection) => self.execute_within(connection).await,
        }
    }

    async fn execute_within(self, connection: &mut Connection) -> Result<Done, StoreError> {
        let rows = match connection {
            Connection::Sqlite(connection) => bound!(Sqlite, self.sql, self.values)
                .execute(&mut **connection)
                .await?
                .rows_affected(),
            Connection::Postgres(connection) => {
                let sql = AssertSqlSafe(postgres::translate_sql(self.sql.as_str()));
                let done = bound!(Postgres, sql, self.values)
                    .execute(&mut **connection)
                    .await;
                done.map_err(postgres::map_error)?.rows_affected()
            }
        };
        Ok(Done { rows })
    }

    /// Runs it and returns all rows.
    ///
    /// # Errors
    /// [`StoreError`]
    pub(crate) async fn fetch_all<'a>(self, on: impl Into<On<'a>>) -> Result<Vec<Row>, StoreError> {
        let (sql, values) = (self.sql, self.values);
        let translated =
            |sql: &SqlStr| AssertSqlSafe(postgres::translate_sql(sql.as_str())).into_sql_str();
        let rows = match on.into() {
            On::Pool(Pool::Sqlite(pool)) => {
                Row::of_sqlite(&bound!(Sqlite, sql, values).fetch_all(pool).await?)?
            }
            On::Connection(Connection::Sqlite(connection)) => Row::of_sqlite(
                &bound!(Sqlite, sql, values)
                    .fetch_all(&mut **connection)
                    .await?,
            )?,
            On::Pool(Pool::Postgres(pool, _)) => {
                let rows = bound!(Postgres, translated(&sql), values).fetch_all(pool);
                Row::of_postgres(&rows.await.map_err(postgres::map_error)?)?
            }
            On::Connection(Connection::Postgres(connection)) => {
                let rows = bound!(Postgres, translated(&sql), values).fetch_all(&mut **connection);
                Row::of_postgres(&rows.await.map_err(postgres::map_error)?)?
            }
        };
        Ok(rows)
    }

    /// Runs it and returns the first row, if there is one.
    ///
    /// # Errors
    /// [`StoreError`]
    pub(crate) async fn fetch_optional<'a>(
        self,
        on: impl Into<On<'a>>,
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.fetch_all(on).await?.into_iter().next())
    }

    /// Runs it and returns the first row.
    ///
    /// # Errors
    /// [`StoreError`], also if there is none.
    pub(crate) async fn fetch_one<'a>(self, on: impl Into<On<'a>>) -> Result<Row, StoreError> {
        let row = self.fetch_optional(on).await?;
        Ok(row.ok_or(sqlx::Error::RowNotFound)?)
    }
}
