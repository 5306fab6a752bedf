//! The table of what researchers did at the dashboard while the study ran.

use std::path::Path;

use store::StudyStore;

use super::column::{Typed, row};
use super::options::ExportOptions;
use super::output::Output;
use super::report::ExportReport;
use super::table::Table;
use crate::time::parse_unix_us;

row! {
    /// One row per order that a researcher gave at the dashboard, or a program in their name. It does not name them: the
    /// audit trail of the database does.
    struct InterventionRow<'a> {
        /// The time of the order, microseconds since the Unix epoch.
        at_unix_us: u64,
        /// `set_recruitment`, `set_places`, `wait_longer`, `continue_alone`, `move_to_room`, `end_session`, `give_seat`,
        /// `correct_bonus`, `write_message` or `check_attention`.
        intervention: &'a str,
        /// Pseudonym of the person that it was about; missing if it was about the study.
        participant_id: &'a str,
        /// The new value: the state of recruitment, the places, the rooms (`warm to cool`), the outcome, the new bonus in
        /// the smallest unit of the currency with the reason, or the readers of a message to several; missing if there is
        /// none.
        detail: Option<Typed<'a>>,
    }
}

/// Writes the table.
///
/// # Errors
/// The error of the disk or of the database.
pub(super) async fn write_table(
    data: &Path,
    output: &Output,
    options: &ExportOptions,
    report: &mut ExportReport,
) -> anyhow::Result<()> {
    let mut table = Table::create::<InterventionRow<'_>>(output, "interventions")?;
    let mut all = Vec::new();
    if let Some(store) = StudyStore::find(data).await? {
        all = store.list_interventions().await?;
        store.close().await;
    }
    for done in &all {
        let at_us = parse_unix_us(&done.at).unwrap_or(0);
        if !options.is_within(at_us) {
            continue;
        }
        table.add(&InterventionRow {
            at_unix_us: at_us,
            intervention: &done.order,
            participant_id: done.participant.as_deref().unwrap_or(""),
            detail: Some(&*done.detail).filter(|it| !it.is_empty()).map(Typed),
        })?;
    }
    report.tables.push(table.finish()?);
    Ok(())
}
