//! The tables of responses and of times on pages.

use std::path::Path;

use serde::Serialize;
use store::SqliteStore;

use super::report::ExportReport;
use super::table::Table;

/// One answer.
#[derive(Default, Serialize)]
struct ResponseRow<'a> {
    study_id: &'a str,
    version: &'a str,
    participant_id: &'a str,
    session_id: &'a str,
    stage_id: &'a str,
    stage_index: u16,
    visit: u16,
    item: &'a str,
    /// Text as it is; anything else as JSON.
    value: &'a str,
    correct: Option<bool>,
    flag: &'a str,
    shown: &'a str,
    elapsed_ms: u32,
    at: &'a str,
}

/// Time on one page of a stage.
#[derive(Default, Serialize)]
struct PageRow<'a> {
    study_id: &'a str,
    version: &'a str,
    participant_id: &'a str,
    session_id: &'a str,
    stage_id: &'a str,
    stage_index: u16,
    visit: u16,
    page: u16,
    elapsed_ms: u32,
}

/// Writes the tables of answers and of times.
pub(super) async fn write_tables(
    data: &Path,
    out: &Path,
    report: &mut ExportReport,
) -> anyhow::Result<()> {
    let mut responses = Table::create::<ResponseRow<'_>>(out, "responses")?;
    let mut pages = Table::create::<PageRow<'_>>(out, "pages")?;
    if let Some(store) = SqliteStore::find(data).await? {
        add_responses(&store, &mut responses).await?;
        add_pages(&store, &mut pages).await?;
        store.close().await;
    }
    report.tables.push(responses.finish()?);
    report.tables.push(pages.finish()?);
    Ok(())
}

async fn add_responses(store: &SqliteStore, table: &mut Table) -> anyhow::Result<()> {
    for response in store.responses().await? {
        let text = serde_json::from_str::<String>(&response.value);
        table.add(&ResponseRow {
            study_id: &response.study,
            version: &response.study_version,
            participant_id: &response.participant,
            session_id: &response.session,
            stage_id: &response.stage,
            stage_index: response.stage_index,
            visit: response.visit,
            item: &response.item,
            value: text.as_ref().unwrap_or(&response.value),
            correct: response.correct,
            flag: if response.flag { "attention" } else { "" },
            shown: response.shown.as_deref().unwrap_or_default(),
            elapsed_ms: response.elapsed_ms,
            at: &response.at,
        })?;
    }
    Ok(())
}

async fn add_pages(store: &SqliteStore, table: &mut Table) -> anyhow::Result<()> {
    for time in store.page_times().await? {
        table.add(&PageRow {
            study_id: &time.study,
            version: &time.study_version,
            participant_id: &time.participant,
            session_id: &time.session,
            stage_id: &time.stage,
            stage_index: time.stage_index,
            visit: time.visit,
            page: time.page,
            elapsed_ms: time.ms,
        })?;
    }
    Ok(())
}
