//! A separate database for every data folder of a test, if a PostgreSQL server for tests is named.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::database::FILE as SQLITE_FILE;

/// The environment variable with the address of a PostgreSQL server, without a database: `postgres://postgres@127.0.0.1:5433`.
/// Then the tests of the store are of PostgreSQL.
pub(crate) const VARIABLE: &str = "COPLAY_TEST_POSTGRES";

/// The environment variable with the address of a bucket for tests, whose credentials are in the environment too.
pub(crate) const OBJECTS_VARIABLE: &str = "COPLAY_TEST_OBJECT_STORE";

/// The address of that bucket, if there is one.
pub(crate) fn object_store() -> Option<String> {
    std::env::var(OBJECTS_VARIABLE)
        .ok()
        .filter(|it| !it.is_empty())
}

/// The address of the server for tests, if there is one.
pub(crate) fn server() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|it| !it.is_empty())
}

/// Makes a new database; returns its address.
pub(crate) async fn make_database(server: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("t{}_{number}", std::process::id());
    let admin = format!("{server}/postgres");
    let admin = sqlx::PgPool::connect(&admin).await;
    let admin = admin.expect("the server for tests answers");
    let made = sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"));
    let made = sqlx::raw_sql(made).execute(&admin).await;
    made.expect("a database can be made");
    admin.close().await;
    format!("{server}/{name}")
}

/// Has a data folder that is new name a new database, if the tests are of PostgreSQL.
pub(crate) async fn choose(data: &Path) {
    let Some(server) = server() else { return };
    let file = data.join(super::FILE);
    if file.exists() || data.join(SQLITE_FILE).exists() {
        return;
    }
    let address = make_database(&server).await;
    std::fs::create_dir_all(data).expect("a folder for a test");
    std::fs::write(file, address).expect("a file for a test");
}
