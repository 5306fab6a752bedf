//! The table of requests to language models.

use std::path::Path;

use store::{StudyStore, Withdrawn};

use super::column::row;
use super::known::KnownData;
use super::options::ExportOptions;
use super::output::Output;
use super::report::ExportReport;
use super::table::Table;

row! {
    /// One row per request to a language model, and per press of a button that tells an AI partner what to do. Its first columns are those of every table of episodes.
    struct ModelCallCells<'a> {
        /// The study, as in the study file.
        study_id: &'a str,
        /// The version of the study, as in the study file.
        version: &'a str,
        /// The stage.
        stage_id: &'a str,
        /// The group; missing if the episode is erased.
        group_id: &'a str,
        /// The number of the episode among those of the group, from 0.
        round: Option<u32>,
        /// The episode.
        episode_id: &'a str,
        /// Pseudonym of the participant with whom the model speaks, or who pressed the button.
        participant_id: &'a str,
        /// The seat that the model can tell what to do; missing for an assistant without a seat.
        seat: Option<u8>,
        /// The visit on the participant's route, as in `responses`.
        visit: u16,
        /// The number of the request or press in the episode, from 0.
        number: u32,
        /// The name of the partner in the study file.
        partner: &'a str,
        /// `openai` for an endpoint, `mock` for a recorded transcript, `button` for a press.
        provider: &'a str,
        /// The model.
        model: &'a str,
        /// The parameters of the request, JSON.
        parameters: &'a str,
        /// Why the model was asked: `start`, `message` or `time`; `button` for a press.
        asked_for: &'a str,
        /// The messages of the request, JSON; missing if it was not made, because of a limit.
        prompt: &'a str,
        /// The answer as it came; missing if none came.
        answer: &'a str,
        /// `answered`; `shortened` if its message was cut; otherwise why the fallback stood in: `timeout`, `unreachable`,
        /// `busy`, `status_` with a number, `malformed`, `too_long`, `malformed_answer`, `not_asked` in rehearsals,
        /// `request_limit`, `cost_limit`, `no_description`; `episode_over` if it was under way at the end. Missing if the
        /// server died before. For a press `followed` or `refused`.
        outcome: &'a str,
        /// Tokens of the prompt, as the provider counts.
        input_tokens: Option<u32>,
        /// Tokens of the answer, as the provider counts.
        output_tokens: Option<u32>,
        /// The cost by the price of the study file, in its currency; the most that it can be if the provider told no tokens.
        cost: f64,
        /// The time of asking, or of the press at the server, microseconds since the Unix epoch.
        asked_unix_us: u64,
        /// The time until the answer or failure, milliseconds.
        latency_ms: Option<f64>,
        /// The number of repetitions.
        retries: u8,
        /// The number of ticks that were durable when the model was told the state; for a press, the tick on the screen.
        tick_asked: Option<u32>,
        /// The `number` of its message in `chat`, if one was shown.
        message: Option<u32>,
        /// The directive in the answer, that of the fallback, or that of the button.
        directive: &'a str,
        /// Why the directive was not followed; missing if it was.
        refusal: &'a str,
        /// The first tick at which the seat followed the directive.
        tick_applied: Option<u32>,
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
    (known, withdrawn): (&KnownData, &Withdrawn),
    report: &mut ExportReport,
) -> anyhow::Result<()> {
    let mut table = Table::create::<ModelCallCells<'_>>(output, "model_calls")?;
    let mut all = Vec::new();
    if let Some(store) = StudyStore::find(data).await? {
        all = store.model_calls().await?;
        store.close().await;
    }
    for call in &all {
        let (row, group) = (&call.row, call.group.as_deref().unwrap_or_default());
        if withdrawn.participants.contains(&row.participant)
            || withdrawn.groups.contains(group)
            || !options.is_within(row.asked_us)
        {
            continue;
        }
        table.add(&ModelCallCells {
            study_id: &call.study,
            version: &call.study_version,
            stage_id: &call.stage,
            group_id: group,
            round: known.round_of(&row.episode),
            episode_id: &row.episode,
            participant_id: &row.participant,
            seat: row.seat.map(|seat| seat.0),
            visit: row.visit,
            number: row.number,
            partner: &row.partner,
            provider: &row.provider,
            model: &row.model,
            parameters: &row.parameters,
            asked_for: &row.asked_for,
            prompt: &row.prompt,
            answer: &row.answer,
            outcome: &row.outcome,
            input_tokens: row.input_tokens,
            output_tokens: row.output_tokens,
            cost: row.cost_micro as f64 / 1e6,
            asked_unix_us: row.asked_us,
            latency_ms: row.latency_us.map(|us| us as f64 / 1e3),
            retries: row.retries,
            tick_asked: row.tick_asked.map(|tick| tick.0),
            message: row.message,
            directive: &row.directive,
            refusal: &row.refusal,
            tick_applied: row.tick_applied.map(|tick| tick.0),
        })?;
    }
    report.tables.push(table.finish()?);
    Ok(())
}
