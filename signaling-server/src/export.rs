//! Tables from a data folder: one row a tick and seat, by re-simulation, and one row an answer.
//!
//! The folder is only read, also while a server writes to it.

use std::fmt;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use protocol::change::Change;
use protocol::log::{self, Header, Log};
use protocol::{Controller, Seat, Tick};
use serde::Serialize;

use crate::archive::{self, Replica, replay};
use crate::store::{self, SqliteStore, Store as _};

/// What was exported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Episodes in `steps`.
    pub episodes: usize,
    /// Those of them without an end yet: their steps so far.
    pub running: usize,
    /// Rows of `steps`.
    pub steps: u64,
    /// Rows of `responses`.
    pub responses: u64,
    /// Where the table of steps is.
    pub steps_path: PathBuf,
    /// Where the table of responses is.
    pub responses_path: PathBuf,
    /// Episodes that are in no table, and why.
    pub skipped: Vec<Skipped>,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} rows from {} episodes, {} of them running",
            self.steps_path.display(),
            self.steps,
            self.episodes,
            self.running
        )?;
        write!(
            f,
            "{}: {} rows",
            self.responses_path.display(),
            self.responses
        )?;
        self.skipped
            .iter()
            .try_for_each(|left| write!(f, "\nleft out: {}: {}", left.path.display(), left.reason))
    }
}

/// An episode that is not exported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Its file.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// One tick of one seat. Columns have the field's names; `tick` is the step within the episode.
#[derive(Serialize)]
struct StepRow<'a> {
    study_id: &'a str,
    version: &'a str,
    stage_id: &'a str,
    group_id: &'a str,
    episode_id: &'a str,
    participant_id: &'a str,
    seat: u8,
    controller: &'a str,
    is_bot: bool,
    tick: u32,
    action: u16,
    action_name: &'a str,
    reward: f32,
    /// After the tick.
    score: i64,
    terminated: bool,
    truncated: bool,
    /// Why the episode ended; empty while it runs.
    ended_on: &'a str,
}

/// One answer.
#[derive(Serialize)]
struct ResponseRow<'a> {
    study_id: &'a str,
    version: &'a str,
    participant_id: &'a str,
    session_id: &'a str,
    stage_id: &'a str,
    stage_index: u16,
    item: &'a str,
    /// Text as it is; anything else as JSON.
    value: &'a str,
    elapsed_ms: u32,
    at: &'a str,
}

const STEP_COLUMNS: [&str; 17] = [
    "study_id",
    "version",
    "stage_id",
    "group_id",
    "episode_id",
    "participant_id",
    "seat",
    "controller",
    "is_bot",
    "tick",
    "action",
    "action_name",
    "reward",
    "score",
    "terminated",
    "truncated",
    "ended_on",
];

const RESPONSE_COLUMNS: [&str; 10] = [
    "study_id",
    "version",
    "participant_id",
    "session_id",
    "stage_id",
    "stage_index",
    "item",
    "value",
    "elapsed_ms",
    "at",
];

/// Writes `steps.csv` and `responses.csv` into `out`. A table is there whole or not at all.
/// Work of more than two seconds tells its progress on the standard error.
///
/// # Errors
/// What the disk or the database says, or that the data folder is not there.
pub async fn export(data: &Path, out: &Path) -> anyhow::Result<Summary> {
    anyhow::ensure!(
        data.is_dir(),
        "there is no data folder {}; name one with --data",
        data.display()
    );
    fs::create_dir_all(out).with_context(|| format!("cannot make the folder {}", out.display()))?;
    let mut summary = Summary {
        steps_path: out.join("steps.csv"),
        responses_path: out.join("responses.csv"),
        ..Summary::default()
    };
    steps(data, &mut summary)?;
    responses(data, &mut summary).await?;
    Ok(summary)
}

fn steps(data: &Path, summary: &mut Summary) -> anyhow::Result<()> {
    let files = archive::files(data)
        .with_context(|| format!("cannot read the episodes of {}", data.display()))?;
    let mut table = Table::create(&summary.steps_path, &STEP_COLUMNS)?;
    let mut progress = Progress::new(files.len());
    for path in files {
        match simulated(&path) {
            Ok((log, rows)) => {
                rows.iter()
                    .try_for_each(|row| table.add(&row.table(&log)))?;
                summary.episodes += 1;
                summary.running += usize::from(log.ending.is_none());
            }
            Err(error) => {
                let reason = format!("{error:#}");
                summary.skipped.push(Skipped { path, reason });
            }
        }
        progress.step("episodes");
    }
    summary.steps = table.finish()?;
    Ok(())
}

/// A tick of a seat, before it has the names of its episode.
struct Step {
    seat: u8,
    controller: Controller,
    tick: u32,
    action: u16,
    action_name: String,
    reward: f32,
    score: i64,
    terminated: bool,
    truncated: bool,
}

/// Simulates an episode as a whole before anything of it is exported, so that a table holds no part of a wrong one.
fn simulated(path: &Path) -> anyhow::Result<(Log, Vec<Step>)> {
    let log = log::read(&fs::read(path)?)?;
    let mut steps = Vec::new();
    let episodes = path.parent().unwrap_or(Path::new(""));
    let modules = |hash: &str| archive::stored(episodes, hash);
    let changes: Vec<Change> = log.changes().cloned().collect();
    replay(&log, modules, |row, replica| {
        let tick = Tick(replica.ticks().0 - 1);
        steps.extend((0..).zip(row).map(|(seat, action)| {
            let controller = archive::controller_at(&log.header, &changes, Seat(seat), tick);
            step(replica, seat, controller, *action)
        }));
    })?;
    Ok((log, steps))
}

fn step(replica: &Replica, seat: u8, controller: &Controller, action: u16) -> Step {
    let (outcome, index) = (replica.outcome(), usize::from(seat));
    Step {
        seat,
        controller: controller.clone(),
        tick: replica.ticks().0 - 1,
        action,
        action_name: replica.spec().actions[usize::from(action)].name.clone(),
        reward: outcome.rewards[index],
        score: replica.score(),
        terminated: outcome.terminated >> seat & 1 == 1,
        truncated: outcome.truncated >> seat & 1 == 1,
    }
}

impl Step {
    fn table<'a>(&'a self, log: &'a Log) -> StepRow<'a> {
        let header: &Header = &log.header;
        let (controller, is_bot) = match &self.controller {
            Controller::Human => ("human", false),
            Controller::Vacant => ("vacant", false),
            Controller::Ai { policy } => (policy.as_str(), true),
        };
        StepRow {
            study_id: &header.study,
            version: &header.study_version,
            stage_id: &header.stage,
            group_id: &header.group,
            episode_id: &header.episode,
            participant_id: &header.participants[usize::from(self.seat)],
            seat: self.seat,
            controller,
            is_bot,
            tick: self.tick,
            action: self.action,
            action_name: &self.action_name,
            reward: self.reward,
            score: self.score,
            terminated: self.terminated,
            truncated: self.truncated,
            ended_on: log
                .ending
                .map_or("", |ending| store::reason_name(ending.reason)),
        }
    }
}

async fn responses(data: &Path, summary: &mut Summary) -> anyhow::Result<()> {
    let mut table = Table::create(&summary.responses_path, &RESPONSE_COLUMNS)?;
    if data.join(store::FILE).try_exists()? {
        let store = SqliteStore::read(data).await?;
        for response in store.responses().await? {
            let text = serde_json::from_str::<String>(&response.value);
            table.add(&ResponseRow {
                study_id: &response.study,
                version: &response.study_version,
                participant_id: &response.participant,
                session_id: &response.session,
                stage_id: &response.stage,
                stage_index: response.stage_index,
                item: &response.item,
                value: text.as_ref().unwrap_or(&response.value),
                elapsed_ms: response.elapsed_ms,
                at: &response.at,
            })?;
        }
        store.close().await;
    }
    summary.responses = table.finish()?;
    Ok(())
}

/// A CSV file that takes its name when it is whole.
struct Table {
    path: PathBuf,
    part: PathBuf,
    writer: csv::Writer<File>,
    rows: u64,
}

impl Table {
    /// The header is written apart from the rows, so that an empty table has its columns too.
    fn create(path: &Path, columns: &[&str]) -> anyhow::Result<Self> {
        let part = path.with_extension("csv.part");
        let file =
            File::create(&part).with_context(|| format!("cannot write {}", part.display()))?;
        let mut writer = csv::WriterBuilder::new()
            .has_headers(false)
            .from_writer(file);
        writer.write_record(columns)?;
        Ok(Self {
            path: path.into(),
            part,
            writer,
            rows: 0,
        })
    }

    fn add(&mut self, row: &impl Serialize) -> anyhow::Result<()> {
        self.rows += 1;
        self.writer
            .serialize(row)
            .with_context(|| format!("cannot write {}", self.part.display()))
    }

    fn finish(self) -> anyhow::Result<u64> {
        let file = self
            .writer
            .into_inner()
            .map_err(csv::IntoInnerError::into_error)?;
        file.sync_all()?;
        fs::rename(&self.part, &self.path)?;
        Ok(self.rows)
    }
}

/// Tells how far long work is.
pub(crate) struct Progress {
    done: usize,
    of: usize,
    next: Instant,
}

impl Progress {
    const FIRST: Duration = Duration::from_secs(2);
    const EACH: Duration = Duration::from_secs(1);

    pub(crate) fn new(of: usize) -> Self {
        Self {
            done: 0,
            of,
            next: Instant::now() + Self::FIRST,
        }
    }

    pub(crate) fn step(&mut self, what: &str) {
        self.done += 1;
        let now = Instant::now();
        if now >= self.next {
            self.next = now + Self::EACH;
            // Nobody may be reading; that is no reason to stop.
            let _ = writeln!(std::io::stderr(), "{} of {} {what}", self.done, self.of);
        }
    }
}

#[cfg(test)]
mod tests;
