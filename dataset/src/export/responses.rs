//! The tables of responses, of the parts of nested ones, and of times on pages.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use store::{Response, StudyStore};

use super::annotations::{AnnotationRow, WatchStages};
use super::column::{Typed, row};
use super::known::KnownData;
use super::options::ExportOptions;
use super::output::Output;
use super::question::{Asked, Questions};
use super::report::{ExportReport, WrittenTable};
use super::table::Table;
use crate::time::parse_unix_us;

row! {
    /// The columns that the tables of answers begin with.
    pub(super) struct VisitKeys<'a> {
        /// The study, as in the study file.
        study_id: &'a str,
        /// The version of the study, as in the study file.
        version: &'a str,
        /// Pseudonym of the person.
        participant_id: &'a str,
        /// Pseudonym of the session.
        session_id: &'a str,
        /// The consent, quiz, instructions or form.
        stage_id: &'a str,
        /// The index of the stage in the timeline, from 0.
        stage_index: u16,
        /// The visit on the participant's route, from 0. Each attempt at a quiz and each copy of a block is a separate
        /// visit.
        visit: u16,
        /// The number of the visit among those that the person made to this stage, from 0: the copy of a repeated block,
        /// or the attempt at a quiz.
        copy: u16,
        /// The last episode that the person played before this visit; missing if there was none.
        episode_id: &'a str,
        /// The group of that episode.
        group_id: &'a str,
        /// The number of that episode among those of the group, from 0: the same for everybody in the group.
        round: Option<u32>,
    }
}

row! {
    /// One row per answered item.
    struct ResponseRow<'a> {
        /// The name of the item.
        item: &'a str,
        /// The question as the study has it, in the language that the person read. Values that are set into it stay in
        /// braces.
        question: &'a str,
        /// The answer: text as it is, everything else as JSON; missing if there is none. For a consent (item `agreed`), the
        /// SHA-256 of the shown text.
        value: Option<Typed<'a>>,
        /// The answer in the words that the person read, such as the text of the choice; missing for nested answers, whose
        /// parts are in `response_parts`.
        value_text: &'a str,
        /// True if the answer is right, for quizzes and for elements with a `correctAnswer`; otherwise missing.
        correct: Option<bool>,
        /// `attention` if an item of `attention` was answered wrongly or not at all; it has no other effect.
        flag: &'a str,
        /// With `choicesOrder` or `rowOrder: random`, the values in the order that the person saw, a JSON list; otherwise
        /// missing.
        shown: &'a str,
        /// The page of the form that has the item, from 0. Time is recorded per page, not per item: it is in `pages`.
        page: Option<u16>,
        /// Time on the stage over all its pages, milliseconds.
        elapsed_ms: u32,
        /// When the answer arrived, microseconds since the Unix epoch.
        at_unix_us: Option<u64>,
    }
}

row! {
    /// One row per part of a nested answer: a row of a matrix, a choice of several, a place of a ranking.
    struct PartRow<'a> {
        /// The name of the item.
        item: &'a str,
        /// The number of the part in the answer, from 0.
        part: usize,
        /// The row or the name of the part, with dots for parts within parts; the number of the choice in a list, from 0.
        path: &'a str,
        /// The question of the part as the study has it; missing for choices of a list.
        question: &'a str,
        /// The answer to the part: text as it is, everything else as JSON.
        value: Option<Typed<'a>>,
        /// The same in the words that the person read.
        value_text: &'a str,
    }
}

row! {
    /// One row per page of a completed stage.
    struct PageRow {
        /// The page of the instructions, quiz or form, from 0.
        page: u16,
        /// Time on the page, milliseconds; time before a reload counts too.
        elapsed_ms: u32,
    }
}

/// A visit of a participant.
type VisitOf<'a> = (&'a str, u16);

/// The route of each participant so far: copies of stages, and the episode before a visit.
#[derive(Default)]
struct Routes<'a> {
    copies: BTreeMap<VisitOf<'a>, u16>,
    /// Episode and group of a visit, by participant.
    episodes: BTreeMap<&'a str, BTreeMap<u16, (&'a str, &'a str)>>,
}

impl<'a> Routes<'a> {
    fn new(visits: impl Iterator<Item = (&'a str, &'a str, u16)>, known: &'a KnownData) -> Self {
        let mut routes = Self::default();
        let all: BTreeSet<_> = visits.collect();
        let mut made: BTreeMap<(&str, &str), u16> = BTreeMap::new();
        for (participant, stage, visit) in all {
            let copy = made.entry((participant, stage)).or_default();
            routes.copies.insert((participant, visit), *copy);
            *copy += 1;
        }
        for episode in &known.episodes {
            for (participant, visit) in episode.participants.iter().zip(&episode.visits) {
                let of = routes.episodes.entry(participant).or_default();
                of.insert(*visit, (&episode.id, &episode.group));
            }
        }
        routes
    }

    fn copy(&self, participant: &str, visit: u16) -> u16 {
        self.copies.get(&(participant, visit)).copied().unwrap_or(0)
    }

    /// The last episode before a visit, and its group.
    fn episode(&self, participant: &str, visit: u16) -> (&'a str, &'a str) {
        let of = self.episodes.get(participant);
        let before = of.and_then(|of| of.range(..visit).next_back());
        before.map_or(("", ""), |(_, episode)| *episode)
    }
}

/// Writes the tables of answers and of times.
pub(super) async fn write_tables(
    data: &Path,
    output: &Output,
    options: &ExportOptions,
    known: &KnownData,
    report: &mut ExportReport,
) -> anyhow::Result<()> {
    let (mut responses, mut times) = (Vec::new(), Vec::new());
    let mut questions = Questions::default();
    let mut watched = WatchStages::default();
    if let Some(store) = StudyStore::find(data).await? {
        (responses, times) = (store.list_responses().await?, store.page_times().await?);
        let studies = store.list_studies().await?;
        questions = Questions::new(&studies, known)?;
        watched = WatchStages::new(data, &studies, known)?;
        store.close().await;
    }
    let of_pages = times
        .iter()
        .map(|time| (&*time.participant, &*time.stage, time.visit));
    let of_answers = responses
        .iter()
        .map(|of| (&*of.participant, &*of.stage, of.visit));
    let routes = Routes::new(of_pages.chain(of_answers), known);
    let mut table = Table::create::<(VisitKeys<'_>, ResponseRow<'_>)>(output, "responses")?;
    let mut parts = Table::create::<(VisitKeys<'_>, PartRow<'_>)>(output, "response_parts")?;
    for response in &responses {
        let at_us = parse_unix_us(&response.at);
        if at_us.is_none_or(|at_us| options.is_within(at_us)) {
            let asked = questions.find(response);
            table.add(&(
                visit_keys(response, &routes, known),
                response_row(response, &asked),
            ))?;
            // Annotations have a separate table.
            if !watched.has_response(response) {
                add_parts(response, &asked, &routes, known, &mut parts)?;
            }
        }
    }
    report.tables.extend([table.finish()?, parts.finish()?]);
    report.tables.push(write_annotations(
        output,
        (&responses, &watched),
        &routes,
        options,
        known,
    )?);
    report.tables.push(watched.partner_clips().write(output)?);
    let included: BTreeSet<&str> = known.sessions.iter().map(|session| &*session.id).collect();
    let mut pages = Table::create::<(VisitKeys<'_>, PageRow)>(output, "pages")?;
    for time in times
        .iter()
        .filter(|time| included.contains(&*time.session))
    {
        let (episode_id, group_id) = routes.episode(&time.participant, time.visit);
        let keys = VisitKeys {
            study_id: &time.study,
            version: &time.study_version,
            participant_id: &time.participant,
            session_id: &time.session,
            stage_id: &time.stage,
            stage_index: time.stage_index,
            visit: time.visit,
            copy: routes.copy(&time.participant, time.visit),
            episode_id,
            group_id,
            round: known.round_of(episode_id),
        };
        let (page, elapsed_ms) = (time.page, time.ms);
        pages.add(&(keys, PageRow { page, elapsed_ms }))?;
    }
    report.tables.push(pages.finish()?);
    Ok(())
}

/// Writes the table of annotations.
fn write_annotations(
    output: &Output,
    (responses, watched): (&[Response], &WatchStages),
    routes: &Routes<'_>,
    options: &ExportOptions,
    known: &KnownData,
) -> anyhow::Result<WrittenTable> {
    let mut table = Table::create::<(VisitKeys<'_>, AnnotationRow<'_>)>(output, "annotations")?;
    for response in responses
        .iter()
        .filter(|response| watched.has_response(response))
    {
        let at_us = parse_unix_us(&response.at);
        if at_us.is_some_and(|at_us| !options.is_within(at_us)) {
            continue;
        }
        let is_same = |other: &&Response| {
            (&other.session, other.visit) == (&response.session, response.visit)
        };
        let others: Vec<&Response> = match response.item.as_str() {
            "choice" => responses.iter().filter(is_same).collect(),
            _ => Vec::new(),
        };
        let keys = || visit_keys(response, routes, known);
        watched.add_rows((response, &others), keys, known, at_us, &mut table)?;
    }
    table.finish()
}

fn visit_keys<'a>(response: &'a Response, routes: &Routes<'a>, known: &KnownData) -> VisitKeys<'a> {
    let (episode_id, group_id) = routes.episode(&response.participant, response.visit);
    VisitKeys {
        study_id: &response.study,
        version: &response.study_version,
        participant_id: &response.participant,
        session_id: &response.session,
        stage_id: &response.stage,
        stage_index: response.stage_index,
        visit: response.visit,
        copy: routes.copy(&response.participant, response.visit),
        episode_id,
        group_id,
        round: known.round_of(episode_id),
    }
}

/// Returns the cell of a value: text as it is, everything else as JSON, nothing for `null`.
fn value_cell<'a>(json: &'a str, text: &'a mut Option<String>) -> Option<Typed<'a>> {
    if json == "null" {
        return None;
    }
    *text = serde_json::from_str(json).ok();
    Some(Typed(text.as_deref().unwrap_or(json)))
}

fn response_row<'a>(response: &'a Response, asked: &'a Asked) -> ResponseRow<'a> {
    ResponseRow {
        item: &response.item,
        question: &asked.question,
        value: asked.value.as_deref().map(Typed),
        value_text: &asked.value_text,
        correct: response.correct,
        flag: if response.flag { "attention" } else { "" },
        shown: response.shown.as_deref().unwrap_or_default(),
        page: asked.page,
        elapsed_ms: response.elapsed_ms,
        at_unix_us: parse_unix_us(&response.at),
    }
}

/// Adds the parts of a nested answer.
fn add_parts(
    response: &Response,
    asked: &Asked,
    routes: &Routes<'_>,
    known: &KnownData,
    table: &mut Table,
) -> anyhow::Result<()> {
    let Ok(value) = serde_json::from_str::<Value>(&response.value) else {
        return Ok(());
    };
    let mut leaves = Vec::new();
    list_leaves("", &value, &mut leaves);
    for (part, (path, value)) in leaves
        .iter()
        .filter(|(path, _)| !path.is_empty())
        .enumerate()
    {
        let (json, mut text) = (value.to_string(), None);
        let words = asked.describe_part(path, value);
        let row = PartRow {
            item: &response.item,
            part,
            path,
            question: &words.question,
            value: value_cell(&json, &mut text),
            value_text: &words.value_text,
        };
        table.add(&(visit_keys(response, routes, known), row))?;
    }
    Ok(())
}

/// The parts of a value that have no parts, each with its path.
fn list_leaves<'v>(path: &str, value: &'v Value, leaves: &mut Vec<(String, &'v Value)>) {
    let inner = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    match value {
        Value::Array(values) => {
            for (at, value) in values.iter().enumerate() {
                list_leaves(&inner(&at.to_string()), value, leaves);
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                list_leaves(&inner(name), value, leaves);
            }
        }
        leaf => leaves.push((path.to_owned(), leaf)),
    }
}
