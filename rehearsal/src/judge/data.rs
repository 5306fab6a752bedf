//! The data folder after a rehearsal: its tables, its database, and whether they could be written and verified.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;

use anyhow::Context as _;
use dataset::cells::unquote_cell;
use dataset::pay;
use dataset::verify::EpisodeCounts;
use serde::Deserialize;
use server_core::token::token_hash;
use store::{Group, Session, StudyStore};

use crate::messages::Messages;
use crate::options::{RehearsalMode, RehearsalOptions};
use crate::record::Record;
use crate::tables::{self, Wanted};

/// A visit in the table of responses: its stage, and the value of each item.
pub(super) type Visit = (String, BTreeMap<String, String>);

/// The contents of the data folder.
pub(super) struct Data {
    pub(super) sessions: BTreeMap<String, Session>,
    pub(super) visits: BTreeMap<String, Vec<Visit>>,
    /// Messages that were written in groups.
    pub(super) messages: Messages,
    pub(super) episodes: Vec<store::Episode>,
    pub(super) ledger: pay::Ledger,
    pub(super) groups: Vec<Group>,
    /// Messages of participants who have withdrawn.
    pub(super) erased: BTreeSet<String>,
    /// Episodes by their verdicts.
    pub(super) verdicts: EpisodeCounts,
    /// Rows by table.
    pub(super) rows: BTreeMap<String, u64>,
    /// Problems of the data as a whole.
    pub(super) wrong: Vec<String>,
}

impl Data {
    /// Finds the sessions of those who withdrew, whose recruiter's identifier is erased, by their tokens.
    pub(super) fn name_withdrawn(&mut self, records: &[(String, Record)]) {
        for (key, record) in records.iter().filter(|(_, record)| record.has_withdrawn) {
            let token = token_hash(record.token.as_deref().unwrap_or_default());
            let session = self.sessions.remove(&token);
            let session = session.map(|session| (key.clone(), session));
            self.sessions.extend(session);
        }
    }
}

/// Exports and verifies the data, and reads the database and the tables.
pub(super) async fn read(
    options: &RehearsalOptions,
    data: &Path,
    out: &Path,
) -> anyhow::Result<Data> {
    let ((exported, said), (verified, found, verdicts)) = match options.mode {
        RehearsalMode::Virtual => write_tables(data, out).await?,
        RehearsalMode::Process => order_tables(&options.program, data, out).await?,
    };
    let failed = [(exported, "exported", said), (verified, "verified", found)];
    let failed = failed.into_iter().filter(|(is_fine, ..)| !is_fine);
    let wrong =
        failed.map(|(_, what, said)| format!("not all of the data could be {what}:\n{said}"));
    let mut wrong: Vec<String> = wrong.collect();
    let store = StudyStore::read(data).await?;
    let sessions = store.sessions().await?;
    let episodes = store.episodes().await?;
    let groups = store.list_groups().await?;
    let wanted = Wanted {
        sessions: sessions.len(),
        episodes: episodes.len(),
        waits: store.list_waits().await?.len(),
        withdrawn: store.list_withdrawn().await?.participants,
    };
    let called = store.list_identifiers().await?.into_iter();
    let called: BTreeMap<String, String> = called
        .map(|identifier| (identifier.session, identifier.identity.participant))
        .collect();
    store.close().await;
    let by_door = |session: Session| {
        let is_nameless = wanted.withdrawn.contains(&session.participant);
        let key = session.link_hash.as_ref().or(called.get(&session.id));
        let key = key.or(is_nameless.then_some(&session.token_hash));
        Some((key?.clone(), session))
    };
    let tables = tables::check(out, &wanted)?;
    wrong.extend(tables.wrong);
    Ok(Data {
        sessions: sessions.into_iter().filter_map(by_door).collect(),
        visits: visits(&out.join("responses.csv"))?,
        messages: Messages::read(&out.join("chat.csv"))?,
        episodes,
        ledger: pay::pay(data, None).await?,
        groups,
        verdicts,
        rows: tables.rows,
        wrong,
        erased: BTreeSet::new(),
    })
}

/// The result of a command: whether it succeeded, and its output.
type Told = (bool, String);

/// The result of a verification: whether nothing is wrong, its words, and the episodes by their verdicts.
type Verified = (bool, String, EpisodeCounts);

/// Exports and verifies the data, each on a thread.
async fn write_tables(data: &Path, out: &Path) -> anyhow::Result<(Told, Verified)> {
    let (folder, out) = (data.to_owned(), out.to_owned());
    let exported = tokio::spawn(async move {
        let summary =
            dataset::export::export(&folder, &out, &dataset::export::ExportOptions::default())
                .await?;
        anyhow::Ok((summary.skipped.is_empty(), summary.to_string()))
    });
    let folder = data.to_owned();
    let verified = tokio::spawn(async move {
        let found = dataset::verify::verify_data(&folder).await?;
        anyhow::Ok((found.is_fine(), found.to_string(), found.count()))
    });
    Ok((exported.await??, verified.await??))
}

/// The part of `coplay verify --json` that a rehearsal reads.
#[derive(Deserialize)]
struct VerifiedJson {
    episodes: Vec<VerdictJson>,
    missing: Vec<String>,
}

#[derive(Deserialize)]
struct VerdictJson {
    verdict: String,
}

impl VerifiedJson {
    fn count(&self) -> EpisodeCounts {
        let of = |verdict: &str| {
            let episodes = self.episodes.iter();
            episodes
                .filter(|episode| episode.verdict == verdict)
                .count()
        };
        EpisodeCounts {
            episodes: self.episodes.len() + self.missing.len(),
            verified: of("equal"),
            recorded: of("recorded"),
        }
    }
}

/// The same by commands of the program itself.
async fn order_tables(program: &Path, data: &Path, out: &Path) -> anyhow::Result<(Told, Verified)> {
    let (data, out) = (data.as_os_str(), out.as_os_str());
    let export = [
        "export".as_ref(),
        "--data".as_ref(),
        data,
        "--out".as_ref(),
        out,
    ];
    let exported = command(program, &export).await?;
    let verify = ["verify".as_ref(), "--data".as_ref(), data];
    let (verified, json) = command(program, &[&verify[..], &["--json".as_ref()]].concat()).await?;
    let said = match verified {
        true => String::new(),
        false => command(program, &verify).await?.1,
    };
    let found = serde_json::from_str::<VerifiedJson>(&json);
    let verdicts = found.map(|found| found.count()).unwrap_or_default();
    Ok((exported, (verified, said, verdicts)))
}

/// Runs a command of the program itself, as a process that ends with its caller; returns whether it succeeded, and its
/// output.
async fn command(program: &Path, args: &[&OsStr]) -> anyhow::Result<Told> {
    let mut command = tokio::process::Command::new(program);
    let done = command.args(args).kill_on_drop(true).stdout(Stdio::piped());
    let done = done.spawn()?.wait_with_output().await?;
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    Ok((done.status.success(), said))
}

/// The visits of each participant, in their order, from the exported table.
fn visits(responses: &Path) -> anyhow::Result<BTreeMap<String, Vec<Visit>>> {
    let mut reader = csv::Reader::from_path(responses)?;
    let columns = reader.headers()?.clone();
    let column = |name: &str| {
        let at = columns.iter().position(|column| column == name);
        at.with_context(|| format!("responses.csv has no column `{name}`"))
    };
    let (who, stage) = (column("participant_id")?, column("stage_id")?);
    let (visit, item, value) = (column("visit")?, column("item")?, column("value")?);
    let mut all: BTreeMap<String, BTreeMap<u64, Visit>> = BTreeMap::new();
    for row in reader.records() {
        let row = row?;
        let visits = all.entry(row[who].to_owned()).or_default();
        let (_, items) = visits
            .entry(row[visit].parse()?)
            .or_insert_with(|| (row[stage].to_owned(), BTreeMap::new()));
        items.insert(row[item].to_owned(), unquote_cell(&row[value]).into_owned());
    }
    let in_order = all
        .into_iter()
        .map(|(who, visits)| (who, visits.into_values().collect()));
    Ok(in_order.collect())
}
