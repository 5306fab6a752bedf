//! The table of what participants and researchers wrote to each other.

use std::path::Path;

use store::{StudyStore, Withdrawn};

use super::column::{Typed, row};
use super::known::KnownData;
use super::options::ExportOptions;
use super::output::Output;
use super::report::ExportReport;
use super::table::Table;

row! {
    /// One row per message between a participant and the researchers, and for each reader of a message to several. It does
    /// not name the researchers: the database does.
    struct DeskMessageCells<'a> {
        /// The study, as in the study file.
        study_id: &'a str,
        /// The version of the study, as in the study file.
        version: &'a str,
        /// Pseudonym of the participant.
        participant_id: &'a str,
        /// The number of the message between this participant and the researchers, from 0.
        number: u32,
        /// `participant` or `researcher`: who wrote it.
        sender: &'a str,
        /// For whom it was written: `participant`, `group`, `everybody` or `researchers`.
        audience: &'a str,
        /// The stage at which the participant was.
        stage_id: &'a str,
        /// The visit on the participant's route, as in `responses`.
        visit: u16,
        /// The episode in which the participant was.
        episode_id: &'a str,
        /// The time at which it came, microseconds since the Unix epoch.
        at_unix_us: u64,
        /// The time at which the other side first read it, microseconds since the Unix epoch.
        read_unix_us: Option<u64>,
        /// The text.
        text: Typed<'a>,
        /// The time for an answer, if the message is an attention check, seconds.
        answer_within_s: Option<u16>,
        /// The answers to choose from, a JSON list; missing for a written answer.
        choices: &'a str,
        /// The right answer; missing if there is none.
        expected: &'a str,
        /// The answer that came in time.
        answer: &'a str,
        /// The time from the question to its answer, as the server saw them, milliseconds.
        answer_ms: Option<u64>,
        /// True if the answer is the right one; missing without a right answer. No answer in time is not right.
        correct: Option<bool>,
    }
}

/// Writes the table; people who withdrew their data are left out.
///
/// # Errors
/// The error of the disk or of the database.
pub(super) async fn write_table(
    data: &Path,
    output: &Output,
    options: &ExportOptions,
    (_, withdrawn): (&KnownData, &Withdrawn),
    report: &mut ExportReport,
) -> anyhow::Result<()> {
    let mut table = Table::create::<DeskMessageCells<'_>>(output, "desk_messages")?;
    let mut all = Vec::new();
    if let Some(store) = StudyStore::find(data).await? {
        all = store.desk_messages(None).await?;
        store.close().await;
    }
    for message in &all {
        let row = &message.row;
        if withdrawn.participants.contains(&row.participant) || !options.is_within(row.at_us) {
            continue;
        }
        let check = row.check.as_ref();
        let answer = check.and_then(|check| check.answer.as_ref());
        let choices = check.filter(|check| !check.choices.is_empty());
        let choices = choices.map(|check| serde_json::json!(check.choices).to_string());
        let expected = check.map_or("", |check| &check.expected);
        table.add(&DeskMessageCells {
            study_id: &message.study,
            version: &message.study_version,
            participant_id: &row.participant,
            number: row.number,
            sender: if row.is_own() {
                "participant"
            } else {
                "researcher"
            },
            audience: &row.audience,
            stage_id: &message.stage,
            visit: row.visit,
            episode_id: row.episode.as_deref().unwrap_or_default(),
            at_unix_us: row.at_us,
            read_unix_us: row.read_us,
            text: Typed(&row.text),
            answer_within_s: check.map(|check| check.within_s),
            choices: choices.as_deref().unwrap_or_default(),
            expected,
            answer: answer.map_or("", |(answer, _)| answer),
            answer_ms: answer.map(|(_, at_us)| at_us.saturating_sub(row.at_us) / 1_000),
            correct: check.and_then(|check| check.is_right()),
        })?;
    }
    report.tables.push(table.finish()?);
    Ok(())
}
