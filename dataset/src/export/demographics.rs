//! Facts of the recruiter about participants, joined with their sessions: identifiers, and the rows of the recruiter's own
//! file. Each use is recorded in the audit trail of the database.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;
use store::StudyStore;
use store::beside::open_beside_server;

use super::options::ExportOptions;

/// Columns that name a participant, in the files of recruiters.
///
/// Source: Prolific, "Export demographic data" (`Participant id`); Mechanical Turk, results file (`WorkerId`).
const KEYS: [&str; 4] = [
    "participant id",
    "participant_id",
    "prolific_pid",
    "workerid",
];

/// Columns that name somebody or something of the recruiter: they are joined only with identifiers.
const NAMING: [&str; 3] = ["submission id", "assignmentid", "session_id"];

/// Cells from the recruiter by session.
#[derive(Default)]
pub(super) struct Demographics {
    columns: BTreeSet<String>,
    cells: BTreeMap<String, BTreeMap<String, String>>,
    /// The use as the audit trail has it.
    action: Option<String>,
}

impl Demographics {
    pub(super) fn columns(&self) -> impl Iterator<Item = String> {
        self.columns.iter().cloned()
    }

    /// The cells of a session, by column.
    pub(super) fn cells(&self, session: &str) -> impl Iterator<Item = (String, String)> {
        self.cells.get(session).cloned().into_iter().flatten()
    }

    /// Records the use in the audit trail, before anything is published.
    pub(super) async fn record(&self, data: &Path) -> anyhow::Result<()> {
        let Some(action) = &self.action else {
            return Ok(());
        };
        let store = open_beside_server(data).await?;
        store.append_audit("export", action).await?;
        store.close().await;
        Ok(())
    }
}

/// Reads identifiers and demographics, if the options ask for them.
pub(super) async fn read(data: &Path, options: &ExportOptions) -> anyhow::Result<Demographics> {
    let mut joined = Demographics::default();
    if !options.identifiers && options.demographics.is_none() {
        return Ok(joined);
    }
    let rows = match &options.demographics {
        Some(file) => read_file(file, options.identifiers)?,
        None => BTreeMap::new(),
    };
    let store = StudyStore::find(data).await?;
    let store = store.context("the data folder has no database, so nobody can be identified")?;
    let identifiers = store.list_identifiers().await?;
    store.close().await;
    joined.columns.extend(
        rows.values()
            .next()
            .into_iter()
            .flat_map(|row| row.keys().cloned()),
    );
    for known in &identifiers {
        let cells = joined.cells.entry(known.session.clone()).or_default();
        if options.identifiers {
            cells.insert("recruiter_name".into(), known.identity.provider.clone());
            cells.insert(
                "recruiter_participant".into(),
                known.identity.participant.clone(),
            );
        }
        cells.extend(
            rows.get(&known.identity.participant)
                .cloned()
                .unwrap_or_default(),
        );
    }
    if options.identifiers {
        joined
            .columns
            .extend(["recruiter_name".into(), "recruiter_participant".into()]);
    }
    let what = match (options.identifiers, &options.demographics) {
        (true, Some(_)) => "identifiers and demographics",
        (true, None) => "identifiers",
        _ => "demographics",
    };
    joined.action = Some(format!("{what} of {} sessions", identifiers.len()));
    Ok(joined)
}

/// Cells by column, by the recruiter's identifier.
type RowsByParticipant = BTreeMap<String, BTreeMap<String, String>>;

fn read_file(file: &Path, identifiers: bool) -> anyhow::Result<RowsByParticipant> {
    let failed = || format!("cannot read {}", file.display());
    let mut reader = csv::Reader::from_path(file).with_context(failed)?;
    let names = reader.headers().with_context(failed)?.clone();
    let lower: Vec<String> = names
        .iter()
        .map(|name| name.trim().to_lowercase())
        .collect();
    let key = lower.iter().position(|name| KEYS.contains(&name.as_str()));
    let key = key.with_context(|| {
        let all: Vec<&str> = names.iter().collect();
        format!(
            "{}: no column names a participant; one of them must be called `Participant id`, `PROLIFIC_PID` or `WorkerId`, \
             and the file has {}",
            file.display(),
            all.join(", ")
        )
    })?;
    let is_kept = |at: usize| at != key && (identifiers || !NAMING.contains(&lower[at].as_str()));
    let mut rows = RowsByParticipant::new();
    for row in reader.records() {
        let row = row.with_context(failed)?;
        let cells = names
            .iter()
            .zip(&row)
            .enumerate()
            .filter(|(at, _)| is_kept(*at));
        let cells = cells.map(|(_, (name, cell))| (column_name(name), cell.to_owned()));
        rows.insert(row[key].trim().to_owned(), cells.collect());
    }
    anyhow::ensure!(!rows.is_empty(), "{}: there is no row", file.display());
    Ok(rows)
}

/// `Ethnicity simplified` becomes `demographic_ethnicity_simplified`.
fn column_name(name: &str) -> String {
    let plain = name.trim().to_lowercase();
    let words = plain
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    format!("demographic_{}", words.join("_"))
}
