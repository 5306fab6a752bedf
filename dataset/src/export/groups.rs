//! The tables of groups and of waiting: who was put together, who left, and every wait in a lobby.

use std::path::Path;

use serde::Serialize;
use store::{SqliteStore, gone_name};

use super::report::ExportReport;
use super::table::Table;

/// One place of a group.
#[derive(Default, Serialize)]
struct GroupRow<'a> {
    group_id: &'a str,
    stage_id: &'a str,
    place: u8,
    participant_id: &'a str,
    planned: &'a str,
    gone: &'a str,
    has_ai: bool,
}

/// One wait.
#[derive(Default, Serialize)]
struct WaitRow<'a> {
    participant_id: &'a str,
    stage_id: &'a str,
    visit: u16,
    joined_us: u64,
    left_us: Option<u64>,
    seconds: Option<f64>,
    why: &'a str,
    group_id: &'a str,
    rtt_ms: Option<u32>,
    loss: Option<f64>,
}

/// Writes both tables.
///
/// # Errors
/// The error of the disk or of the database.
pub(super) async fn write_tables(
    data: &Path,
    out: &Path,
    report: &mut ExportReport,
) -> anyhow::Result<()> {
    let (mut groups, mut waits) = (Vec::new(), Vec::new());
    if let Some(store) = SqliteStore::find(data).await? {
        (groups, waits) = (store.groups().await?, store.waits().await?);
        store.close().await;
    }
    let mut table = Table::create::<GroupRow<'_>>(out, "groups")?;
    for group in &groups {
        for place in 0..group.size {
            let mut members = group.members.iter();
            let member = members.find(|member| member.place == place);
            table.add(&GroupRow {
                group_id: &group.id,
                stage_id: &group.stage,
                place,
                participant_id: member.map_or("", |member| &member.participant),
                planned: if member.is_some() { "person" } else { "ai" },
                gone: member.and_then(|member| member.gone).map_or("", gone_name),
                has_ai: group.has_ai,
            })?;
        }
    }
    report.tables.push(table.finish()?);
    let mut table = Table::create::<WaitRow<'_>>(out, "lobby")?;
    for wait in &waits {
        let waited_us = wait
            .left_us
            .map(|left_us| left_us.saturating_sub(wait.joined_us));
        // To the millisecond.
        let seconds = waited_us.map(|us| (us / 1_000) as f64 / 1_000.0);
        table.add(&WaitRow {
            participant_id: &wait.participant,
            stage_id: &wait.stage,
            visit: wait.visit,
            joined_us: wait.joined_us,
            left_us: wait.left_us,
            seconds,
            why: wait.why.as_deref().unwrap_or(""),
            group_id: wait.group.as_deref().unwrap_or(""),
            rtt_ms: wait.rtt_us.map(|rtt_us| rtt_us.div_ceil(1_000)),
            loss: wait.loss_permille.map(|loss| f64::from(loss) / 1_000.0),
        })?;
    }
    report.tables.push(table.finish()?);
    Ok(())
}
