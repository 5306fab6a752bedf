//! The tables of groups and of waiting: the people of each group, those who left, and every wait in a lobby.

use std::path::Path;

use store::{StudyStore, gone_name};

use super::column::row;
use super::known::KnownData;
use super::options::ExportOptions;
use super::output::Output;
use super::report::ExportReport;
use super::table::Table;

row! {
    /// One row per place of a group.
    struct GroupRow<'a> {
        /// The group.
        group_id: &'a str,
        /// The lobby that made it; for a person who plays without other people, the env stage.
        stage_id: &'a str,
        /// The place in the group, from 0: the position among the human seats, the same in every stage that the group
        /// plays.
        place: u8,
        /// Pseudonym of the person; missing for an AI partner of the lobby.
        participant_id: &'a str,
        /// `person` or `ai`: who had the place when the group was made.
        planned: &'a str,
        /// Why the person no longer plays with the group: `left`, `away` or `late`; otherwise missing.
        gone: &'a str,
        /// True if an AI partner played for a missing person in this group.
        has_ai: bool,
    }
}

row! {
    /// One row per wait in a lobby.
    struct WaitRow<'a> {
        /// Pseudonym of the person.
        participant_id: &'a str,
        /// The lobby.
        stage_id: &'a str,
        /// The visit on the person's route.
        visit: u16,
        /// The start of the wait, microseconds since the Unix epoch.
        joined_unix_us: u64,
        /// The end of the wait; missing while the wait lasts, and if the server stopped during it.
        left_unix_us: Option<u64>,
        /// Duration, seconds; a wait that ends with a group lasts until its first episode starts.
        seconds: Option<f64>,
        /// How it ended: `matched`, `ai`, `timed_out`, `gave_up`, `closed`, `left`, `not_ready` or `restart`.
        why: &'a str,
        /// The group, if there is one.
        group_id: &'a str,
        /// The longest round trip between the person's page and another page of the group, milliseconds, rounded up, as
        /// last measured before an episode.
        rtt_ms: Option<u32>,
        /// The greatest share of lost packets between these pages, 0 to 1.
        loss: Option<f64>,
    }
}

/// Writes both tables.
///
/// # Errors
/// The error of the disk or of the database.
pub(super) async fn write_tables(
    data: &Path,
    output: &Output,
    options: &ExportOptions,
    known: &KnownData,
    report: &mut ExportReport,
) -> anyhow::Result<()> {
    let (mut groups, mut waits) = (Vec::new(), Vec::new());
    if let Some(store) = StudyStore::find(data).await? {
        (groups, waits) = (store.list_groups().await?, store.list_waits().await?);
        store.close().await;
    }
    let mut table = Table::create::<GroupRow<'_>>(output, "groups")?;
    for group in groups.iter().filter(|group| known.has_group(&group.id)) {
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
    let mut table = Table::create::<WaitRow<'_>>(output, "lobby")?;
    for wait in waits {
        if wait
            .left_us
            .is_some_and(|left_us| !options.is_within(left_us))
        {
            continue;
        }
        let waited_us = wait
            .left_us
            .map(|left_us| left_us.saturating_sub(wait.joined_us));
        // To the millisecond.
        let seconds = waited_us.map(|us| (us / 1_000) as f64 / 1_000.0);
        table.add(&WaitRow {
            participant_id: &wait.participant,
            stage_id: &wait.stage,
            visit: wait.visit,
            joined_unix_us: wait.joined_us,
            left_unix_us: wait.left_us,
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
