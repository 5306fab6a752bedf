//! One row a session that was screened: what the page measured, if that may be known, or what was lacking.

use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;
use serde_json::Value;
use store::SqliteStore;
use study::Progress;
use study::screening::Measured;

use super::report::ExportReport;
use super::table::Table;

/// One session. A column for each measure follows.
#[derive(Default, Serialize)]
struct ScreeningRow {
    study_id: String,
    version: String,
    participant_id: String,
    session_id: String,
    lacks: String,
}

/// Writes `screening.csv`.
///
/// # Errors
/// The error of the disk or of the database.
pub(super) async fn write_table(
    data: &Path,
    out: &Path,
    report: &mut ExportReport,
) -> anyhow::Result<()> {
    let mut table = Table::create_with::<ScreeningRow>(out, "screening", &Measured::NAMES)?;
    let mut sessions = Vec::new();
    if let Some(store) = SqliteStore::find(data).await? {
        sessions = store.sessions().await?;
        store.close().await;
    }
    for session in sessions {
        let damaged = || format!("the place of {} is damaged", session.participant);
        let progress: Progress = serde_json::from_str(&session.position).with_context(damaged)?;
        let measured = progress.facts().screening.as_deref();
        if measured.is_none() && progress.lacks().is_empty() {
            continue;
        }
        let lacks: Vec<&str> = progress.lacks().iter().map(|lack| lack.name()).collect();
        let row = ScreeningRow {
            study_id: session.study,
            version: session.study_version,
            participant_id: session.participant,
            session_id: session.id,
            lacks: lacks.join(" "),
        };
        let measured = measured.map(serde_json::to_value).transpose()?;
        let cells = Measured::NAMES.map(|name| match measured.as_ref().map(|all| &all[name]) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        });
        table.add(&(row, cells))?;
    }
    report.tables.push(table.finish()?);
    Ok(())
}
