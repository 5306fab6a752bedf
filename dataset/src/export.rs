//! Tables from a data folder: what people and AI partners did, tick by tick, by re-simulation; what pages noted of
//! keys, time and network; who was there, and which ways packets took; and the answers.
//!
//! The folder is only read, also while a server writes to it.

mod chat;
mod groups;
mod notes;
mod responses;
mod screening;
mod seats;
mod seen;
mod steps;
mod visits;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use protocol::Seat;
use protocol::control::EndReason;
use protocol::log::Header;
use serde::Serialize;

use crate::progress::Progress;
use notes::Notes;
use seats::SEAT_COLUMNS;
use seen::SEEN_COLUMNS;
use steps::{STEP_COLUMNS, Step, simulated};
use store::data_folder;
use store::{Withdrawn, reason_name};
use study::plural::count;

/// The tables that were written, with their rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Episodes in the tables.
    pub episodes: usize,
    /// Those of them without an end yet: their steps so far.
    pub running: usize,
    /// Rows of `seats`.
    pub seats: u64,
    /// Rows of `steps`.
    pub steps: u64,
    /// Rows of `responses`.
    pub responses: u64,
    /// Rows of `pages`.
    pub pages: u64,
    /// Rows of `sessions`.
    pub sessions: u64,
    /// Rows of `screening`.
    pub screenings: u64,
    /// Rows of `groups`.
    pub groups: u64,
    /// Rows of `lobby`.
    pub waits: u64,
    /// Rows of `chat`.
    pub chat: u64,
    /// Rows of `keys`.
    pub keys: u64,
    /// Rows of `events`.
    pub events: u64,
    /// Rows of `presence`.
    pub presence: u64,
    /// Rows of `routes`.
    pub routes: u64,
    /// Rows of `seen`; `None` unless it was asked for.
    pub seen: Option<u64>,
    /// Where the table of seats is.
    pub seats_path: PathBuf,
    /// Where the table of steps is.
    pub steps_path: PathBuf,
    /// Where the table of responses is.
    pub responses_path: PathBuf,
    /// Where the table of times on pages is.
    pub pages_path: PathBuf,
    /// Where the table of sessions is.
    pub sessions_path: PathBuf,
    /// Where the table of what was measured of devices is.
    pub screening_path: PathBuf,
    /// Where the table of episodes is.
    pub episodes_path: PathBuf,
    /// Where the table of groups is.
    pub groups_path: PathBuf,
    /// Where the table of waits is.
    pub lobby_path: PathBuf,
    /// Where the table of messages is.
    pub chat_path: PathBuf,
    /// Where the table of key events is.
    pub keys_path: PathBuf,
    /// Where the table of events is.
    pub events_path: PathBuf,
    /// Where the table of presence is.
    pub presence_path: PathBuf,
    /// Where the table of routes is.
    pub routes_path: PathBuf,
    /// Where the table of frames is, if it was asked for.
    pub seen_path: Option<PathBuf>,
    /// Episodes, or the frames of a page of one, that were left out, each with the reason.
    pub skipped: Vec<Skipped>,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let episodes = count(self.episodes, "episode");
        let running = match self.running {
            0 => String::new(),
            running => format!(", {running} of them running"),
        };
        let (steps, path) = (self.steps, self.steps_path.display());
        writeln!(f, "{path}: {steps} rows from {episodes}{running}")?;
        writeln!(
            f,
            "{}: {} rows",
            self.episodes_path.display(),
            self.episodes
        )?;
        for (path, rows) in [
            (&self.pages_path, self.pages),
            (&self.seats_path, self.seats),
            (&self.screening_path, self.screenings),
            (&self.groups_path, self.groups),
            (&self.lobby_path, self.waits),
            (&self.chat_path, self.chat),
            (&self.keys_path, self.keys),
            (&self.events_path, self.events),
            (&self.presence_path, self.presence),
            (&self.routes_path, self.routes),
        ] {
            writeln!(f, "{}: {rows} rows", path.display())?;
        }
        if let (Some(path), Some(rows)) = (&self.seen_path, self.seen) {
            writeln!(f, "{}: {rows} rows", path.display())?;
        }
        let (path, rows) = (self.sessions_path.display(), self.sessions);
        writeln!(f, "{path}: {rows} rows")?;
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

/// Something of an episode that is not exported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Its file.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// The columns that every table of episodes begins with.
#[derive(Serialize)]
struct Keys<'a> {
    study_id: &'a str,
    version: &'a str,
    stage_id: &'a str,
    group_id: &'a str,
    episode_id: &'a str,
    participant_id: &'a str,
    seat: u8,
}

const KEYS: [&str; 7] = [
    "study_id",
    "version",
    "stage_id",
    "group_id",
    "episode_id",
    "participant_id",
    "seat",
];

impl<'a> Keys<'a> {
    fn new(header: &'a Header, seat: Seat) -> Self {
        Self {
            study_id: &header.study,
            version: &header.study_version,
            stage_id: &header.stage,
            group_id: &header.group,
            episode_id: &header.episode,
            participant_id: &header.participants[seat.index()],
            seat: seat.0,
        }
    }
}

/// Writes the tables into `out`, that of what was shown only if `seen` asks for it. A table is there whole or not at all.
/// Work of more than two seconds tells its progress on the standard error.
///
/// # Errors
/// What the disk or the database says, or that the data folder is not there.
pub async fn export(data: &Path, out: &Path, seen: bool) -> anyhow::Result<Summary> {
    anyhow::ensure!(
        data_folder::is_there(data),
        "{} is no data folder of a server: it has neither episodes nor a database; name one with --data",
        data.display()
    );
    fs::create_dir_all(out).with_context(|| format!("cannot make the folder {}", out.display()))?;
    let mut summary = Summary {
        seats_path: out.join("seats.csv"),
        steps_path: out.join("steps.csv"),
        responses_path: out.join("responses.csv"),
        pages_path: out.join("pages.csv"),
        sessions_path: out.join("sessions.csv"),
        screening_path: out.join("screening.csv"),
        episodes_path: out.join("episodes.csv"),
        groups_path: out.join("groups.csv"),
        lobby_path: out.join("lobby.csv"),
        chat_path: out.join("chat.csv"),
        keys_path: out.join("keys.csv"),
        events_path: out.join("events.csv"),
        presence_path: out.join("presence.csv"),
        routes_path: out.join("routes.csv"),
        seen_path: seen.then(|| out.join("seen.csv")),
        ..Summary::default()
    };
    // The database first: a file is never behind it.
    let known = store::episodes(data).await?;
    let designs = visits::Designs::read(data).await?;
    visits::episodes(&known, &designs, &summary)?;
    let known = known
        .into_iter()
        .map(|episode| (episode.id, episode.reason));
    let withdrawn = store::withdrawn(data).await?;
    episodes(data, &known.collect(), &withdrawn, &mut summary)?;
    responses::add(data, &mut summary).await?;
    visits::sessions(data, &designs, &mut summary).await?;
    screening::add(data, &mut summary).await?;
    groups::add(data, &mut summary).await?;
    chat::add(data, &withdrawn, &mut summary).await?;
    Ok(summary)
}

/// Adds the episodes. `known` are those that the database has, and how it knows them to have ended, whatever their files
/// could take.
fn episodes(
    data: &Path,
    known: &BTreeMap<String, Option<EndReason>>,
    withdrawn: &Withdrawn,
    summary: &mut Summary,
) -> anyhow::Result<()> {
    let files = archive::files(data)
        .with_context(|| format!("cannot read the episodes of {}", data.display()))?;
    let mut steps = Table::create(&summary.steps_path, &KEYS, &STEP_COLUMNS)?;
    let mut seats = Table::create(&summary.seats_path, &KEYS, &SEAT_COLUMNS)?;
    let mut notes = Notes::create(summary)?;
    let seen = summary.seen_path.as_ref();
    let seen = seen.map(|path| Table::create(path, &KEYS, &SEEN_COLUMNS));
    let mut seen = seen.transpose()?;
    let mut progress = Progress::new(files.len());
    for path in files {
        match simulated(&path) {
            // The server died when it had the file, and not yet the episode: nobody has played it.
            Ok((log, ..)) if log.through.0 == 0 && !known.contains_key(&log.header.episode) => {}
            Ok((log, ..)) if withdrawn.groups.contains(&log.header.group) => {
                let reason = "somebody of the group withdrew what was recorded".to_owned();
                summary.skipped.push(Skipped { path, reason });
            }
            Ok((log, actions, rows)) => {
                let left_out = left_out(&log.header, withdrawn);
                let reason = log.ending.map(|ending| ending.reason);
                let reason = reason.or(known.get(&log.header.episode).copied().flatten());
                let ended_on = reason.map_or("", reason_name);
                rows.iter()
                    .filter(|row| !left_out.contains(&row.seat))
                    .try_for_each(|row| steps.add(&row.table(&log, ended_on)))?;
                let score = rows.last().map_or(0, Step::score);
                seats::rows(&log, score, reason)
                    .iter()
                    .filter(|row| !left_out.contains(&row.seat))
                    .try_for_each(|row| seats.add(row))?;
                notes.add(&log, &actions, &left_out)?;
                if let Some(seen) = &mut seen {
                    let stored = archive::stored(&data.join(archive::FOLDER));
                    let screens = archive::Screens::new(&log);
                    let pages = screens.pages(stored)?;
                    let wrong = seen::add(seen, &log, pages, &actions, &left_out)?;
                    let wrong = wrong.into_iter().map(|reason| Skipped {
                        path: path.clone(),
                        reason,
                    });
                    summary.skipped.extend(wrong);
                }
                summary.episodes += 1;
                summary.running += usize::from(reason.is_none());
            }
            Err(error) => {
                let reason = format!("{error:#}");
                summary.skipped.push(Skipped { path, reason });
            }
        }
        progress.step("episodes");
    }
    summary.steps = steps.finish()?;
    summary.seats = seats.finish()?;
    summary.seen = seen.map(Table::finish).transpose()?;
    notes.finish(summary)
}

/// The seats of those who withdrew what was recorded of them.
fn left_out(header: &Header, withdrawn: &Withdrawn) -> BTreeSet<Seat> {
    let seats = (0..).map(Seat).zip(&header.participants);
    let gone = seats.filter(|(_, name)| withdrawn.participants.contains(*name));
    gone.map(|(seat, _)| seat).collect()
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
    fn create(path: &Path, keys: &[&str], columns: &[&str]) -> anyhow::Result<Self> {
        let part = path.with_extension("csv.part");
        let file =
            File::create(&part).with_context(|| format!("cannot write {}", part.display()))?;
        let mut writer = csv::WriterBuilder::new()
            .has_headers(false)
            .from_writer(file);
        writer.write_record(keys.iter().chain(columns))?;
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

#[cfg(test)]
mod tests;
