//! The table of what people wrote to each other.

use std::path::Path;

use serde::Serialize;
use store::{SqliteStore, Withdrawn};

use super::report::ExportReport;
use super::table::Table;

/// One message. Its first columns are those of every table of episodes, but those of the episode may be empty.
#[derive(Default, Serialize)]
struct ChatRow<'a> {
    study_id: &'a str,
    version: &'a str,
    stage_id: &'a str,
    group_id: &'a str,
    episode_id: &'a str,
    participant_id: &'a str,
    seat: Option<u8>,
    place: u8,
    visit: u16,
    number: u32,
    tick: Option<u32>,
    sent_us: u64,
    at_us: u64,
    text: &'a str,
}

/// Writes the table; those who withdrew what was recorded of them, or their groups, are left out.
///
/// # Errors
/// The error of the disk or of the database.
pub(super) async fn write_table(
    data: &Path,
    out: &Path,
    withdrawn: &Withdrawn,
    report: &mut ExportReport,
) -> anyhow::Result<()> {
    let mut table = Table::create::<ChatRow<'_>>(out, "chat")?;
    let mut all = Vec::new();
    if let Some(store) = SqliteStore::find(data).await? {
        all = store.messages().await?;
        store.close().await;
    }
    for said in &all {
        let message = &said.message;
        if withdrawn.participants.contains(&message.participant)
            || withdrawn.groups.contains(&message.group)
        {
            continue;
        }
        table.add(&ChatRow {
            study_id: &said.study,
            version: &said.study_version,
            stage_id: &message.stage,
            group_id: &message.group,
            episode_id: message.episode.as_deref().unwrap_or_default(),
            participant_id: &message.participant,
            seat: said.seat,
            place: message.place,
            visit: message.visit,
            number: message.number,
            tick: message.tick,
            sent_us: message.sent_us,
            at_us: message.at_us,
            text: &message.text,
        })?;
    }
    report.tables.push(table.finish()?);
    Ok(())
}
