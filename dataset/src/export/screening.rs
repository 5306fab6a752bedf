//! One row a session that was screened: what the page measured, if that may be known, or what was lacking.

use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;
use study::Progress;
use study::screening::Measured;

use super::{Summary, Table};
use store::SqliteStore;

const COLUMNS: [&str; 5] = [
    "study_id",
    "version",
    "participant_id",
    "session_id",
    "lacks",
];

/// Writes `screening.csv`.
///
/// # Errors
/// What the disk or the database says.
pub(super) async fn add(data: &Path, summary: &mut Summary) -> anyhow::Result<()> {
    let mut table = Table::create(&summary.screening_path, &COLUMNS, &Measured::NAMES)?;
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
        let mut row = vec![
            session.study,
            session.study_version,
            session.participant,
            session.id,
            lacks.join(" "),
        ];
        let measured = measured.map(serde_json::to_value).transpose()?;
        row.extend(
            Measured::NAMES.map(|name| match measured.as_ref().map(|all| &all[name]) {
                None | Some(Value::Null) => String::new(),
                Some(Value::String(text)) => text.clone(),
                Some(value) => value.to_string(),
            }),
        );
        table.add(&row)?;
    }
    summary.screenings = table.finish()?;
    Ok(())
}
