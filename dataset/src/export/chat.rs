//! The table of what people wrote to each other.

use std::path::Path;

use store::{StudyStore, Withdrawn};

use super::column::{Typed, row};
use super::known::KnownData;
use super::options::ExportOptions;
use super::output::Output;
use super::report::ExportReport;
use super::table::Table;

row! {
    /// One row per chat message. Its first columns are those of every table of episodes; those of the episode are missing
    /// for a chat stage.
    struct ChatRow<'a> {
        /// The study, as in the study file.
        study_id: &'a str,
        /// The version of the study, as in the study file.
        version: &'a str,
        /// The stage.
        stage_id: &'a str,
        /// The group.
        group_id: &'a str,
        /// The number of the episode among those of the group, from 0.
        round: Option<u32>,
        /// The episode that ran.
        episode_id: &'a str,
        /// Pseudonym of the sender; missing for a language model.
        participant_id: &'a str,
        /// The sender's seat in the episode.
        seat: Option<u8>,
        /// The name of the partner in the study file whose language model wrote the message; missing for a participant.
        partner: &'a str,
        /// The sender's place in the group, as in `groups`; a language model has the one after the participant.
        place: u8,
        /// The visit on the sender's route, as in `responses`.
        visit: u16,
        /// The number of the message in the group, from 0; erased messages leave gaps.
        number: u32,
        /// The tick that the page showed when the message was sent, if an episode was running.
        tick: Option<u32>,
        /// The time of sending, microseconds since the Unix epoch: the page's estimate of the server's clock.
        sent_unix_us: u64,
        /// The time of arrival at the server, microseconds since the Unix epoch.
        at_unix_us: u64,
        /// The text.
        text: Typed<'a>,
    }
}

/// Writes the table; people who withdrew their data, or their groups, are left out.
///
/// # Errors
/// The error of the disk or of the database.
pub(super) async fn write_table(
    data: &Path,
    output: &Output,
    options: &ExportOptions,
    (known, withdrawn): (&KnownData, &Withdrawn),
    report: &mut ExportReport,
) -> anyhow::Result<()> {
    let mut table = Table::create::<ChatRow<'_>>(output, "chat")?;
    let mut all = Vec::new();
    if let Some(store) = StudyStore::find(data).await? {
        all = store.messages().await?;
        store.close().await;
    }
    for said in &all {
        let message = &said.message;
        if withdrawn.participants.contains(&message.participant)
            || withdrawn.groups.contains(&message.group)
            || !options.is_within(message.at_us)
        {
            continue;
        }
        let is_person = message.partner.is_empty();
        table.add(&ChatRow {
            study_id: &said.study,
            version: &said.study_version,
            stage_id: &message.stage,
            group_id: &message.group,
            round: message.episode.as_ref().and_then(|id| known.round_of(id)),
            episode_id: message.episode.as_deref().unwrap_or_default(),
            participant_id: if is_person { &message.participant } else { "" },
            seat: said.seat.filter(|_| is_person),
            partner: &message.partner,
            place: message.place,
            visit: message.visit,
            number: message.number,
            tick: message.tick,
            sent_unix_us: message.sent_us,
            at_unix_us: message.at_us,
            text: Typed(&message.text),
        })?;
    }
    report.tables.push(table.finish()?);
    Ok(())
}
