//! One row a session, and one row an episode: how it ended, and what was drawn for it.
//!
//! The levels of factors and the values of loops have a column each, so these tables have the columns of their study.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::verify::way_name;
use anyhow::Context as _;
use protocol::EnvWay;
use protocol::control::EndReason;
use protocol::hash::sha256_hex;
use serde::Serialize;
use serde_json::{Map, Value};
use store::{Episode, Payment, Session, SqliteStore, reason_name};
use study::payment::written;
use study::{Progress, UnitAssignment};

use super::report::{ExportReport, WrittenTable};
use super::table::Table;

/// One session.
#[derive(Default, Serialize)]
struct SessionRow {
    study_id: String,
    version: String,
    participant_id: String,
    session_id: String,
    language: String,
    outcome: String,
    started_at: String,
    ended_at: String,
    time_s: String,
    groups: String,
    currency: String,
    base: String,
    bonus: String,
    time_pay: String,
    total: String,
    pay_state: String,
    receipt: String,
    erased_at: String,
    treatment: String,
}

/// One episode.
#[derive(Default, Serialize)]
struct EpisodeRow {
    study_id: String,
    version: String,
    stage_id: String,
    group_id: String,
    episode_id: String,
    started_at: String,
    ended_at: String,
    ended_on: &'static str,
    ticks: Option<u32>,
    score: Option<i64>,
    /// `page` or `host`; empty without a file.
    way: &'static str,
    /// On a host, `verified` if it was run again after the end and everything was equal, else `recorded`.
    claim: &'static str,
}

/// The cells of a row in the columns of the study, by their names.
type StudyCells = BTreeMap<String, String>;

/// Names of the columns of the studies that a data folder has seen: those of the design, whether drawn by now or not.
#[derive(Default)]
struct Designs {
    /// Of the factors between participants.
    between: BTreeSet<String>,
    /// Of the factors within them.
    within: BTreeSet<String>,
    /// The factors between participants in the order of the file, by the hash of the study.
    in_order: BTreeMap<String, Vec<String>>,
}

impl Designs {
    /// Those of a data folder.
    async fn read(data: &Path) -> anyhow::Result<Self> {
        let Some(store) = SqliteStore::find(data).await? else {
            return Ok(Self::default());
        };
        let studies = store.studies().await?;
        store.close().await;
        let mut designs = Self::default();
        for canonical in studies {
            let study: Value =
                serde_json::from_str(&canonical).context("a stored study is damaged")?;
            let between = names(&study["design"]["between"]);
            let hash = sha256_hex(canonical.as_bytes());
            designs.in_order.insert(hash, between.collect());
            designs.between.extend(names(&study["design"]["between"]));
            designs.within.extend(names(&study["design"]["within"]));
        }
        Ok(designs)
    }

    /// The treatment of a session, named as in its study.
    fn treatment_name(&self, session: &Session, draw: &UnitAssignment) -> String {
        match self.in_order.get(&session.study_hash) {
            Some(factors) => draw.treatment_name(factors.iter().map(String::as_str)),
            // A folder of before the studies were stored.
            None => draw.treatment_name(draw.levels.keys().map(String::as_str)),
        }
    }

    fn of_sessions(&self) -> BTreeSet<String> {
        let levels = self.between.iter().map(|name| format!("level_{name}"));
        let orders = self.within.iter().map(|name| format!("order_{name}"));
        levels.chain(orders).collect()
    }

    fn of_episodes(&self) -> BTreeSet<String> {
        let factors = self.between.union(&self.within);
        factors.map(|name| format!("level_{name}")).collect()
    }
}

/// The names of a list of factors.
fn names(factors: &Value) -> impl Iterator<Item = String> {
    let factors = factors.as_array().into_iter().flatten();
    factors.filter_map(|factor| factor["name"].as_str().map(str::to_owned))
}

/// Writes `sessions.csv`.
pub(super) async fn write_sessions(
    data: &Path,
    out: &Path,
    report: &mut ExportReport,
) -> anyhow::Result<()> {
    let designs = Designs::read(data).await?;
    let mut rows = Vec::new();
    if let Some(store) = SqliteStore::find(data).await? {
        let payments = store.payments().await?.into_iter();
        let payments: BTreeMap<String, Payment> = payments
            .map(|payment| (payment.session.clone(), payment))
            .collect();
        let groups = store.groups_of_participants().await?;
        for session in store.sessions().await? {
            let joined = groups
                .get(&session.participant)
                .map_or(&[][..], Vec::as_slice);
            rows.push(session_row(
                &session,
                payments.get(&session.id),
                joined,
                &designs,
            )?);
        }
        store.close().await;
    }
    let own = designs.of_sessions();
    let table = write_rows(out, "sessions", own, &rows)?;
    report.tables.push(table);
    Ok(())
}

fn session_row(
    session: &Session,
    payment: Option<&Payment>,
    groups: &[String],
    designs: &Designs,
) -> anyhow::Result<(SessionRow, StudyCells)> {
    let damaged = || format!("the place of {} is damaged", session.participant);
    let progress: Progress = serde_json::from_str(&session.position).with_context(damaged)?;
    let assignment = progress.assignment();
    let drawn = [&assignment.own]
        .into_iter()
        .chain(assignment.groups.values());
    // Factors can have units of their own, so that a participant has some levels, and the last group others.
    let draw = drawn.fold(UnitAssignment::default(), |mut all, draw| {
        all.levels.extend(draw.levels.clone());
        all.orders.extend(draw.orders.clone());
        all
    });
    let ended = payment.map(|payment| &payment.what);
    let time_s = ended.map_or(session.spent_us / 1_000, |what| what.time_ms) as f64 / 1_000.0;
    let currency = ended
        .and_then(|what| what.currency.clone())
        .unwrap_or_default();
    let money = |amount: fn(&study::Payment) -> u64| {
        let amount = ended.filter(|_| !currency.is_empty()).map(amount);
        amount.map_or(String::new(), |amount| written(amount, &currency))
    };
    let treatment = designs.treatment_name(session, &draw);
    let row = SessionRow {
        study_id: session.study.clone(),
        version: session.study_version.clone(),
        participant_id: session.participant.clone(),
        session_id: session.id.clone(),
        language: progress.chosen_language().unwrap_or_default().to_owned(),
        outcome: session.outcome.clone().unwrap_or_default(),
        started_at: session.created_at.clone(),
        ended_at: session.ended_at.clone().unwrap_or_default(),
        time_s: format!("{time_s:.1}"),
        groups: groups.join(" "),
        base: money(|what| what.base),
        bonus: money(|what| what.bonus),
        time_pay: money(|what| what.time),
        total: money(|what| what.total),
        currency,
        pay_state: payment
            .map_or("", |payment| payment.state.name())
            .to_owned(),
        receipt: ended.map_or(String::new(), |what| what.receipt.clone()),
        erased_at: session.erased_at.clone().unwrap_or_default(),
        treatment,
    };
    Ok((row, columns(&draw)))
}

/// The columns of a draw: each level, and each order as a list in JSON.
fn columns(draw: &UnitAssignment) -> StudyCells {
    let levels = draw.levels.iter();
    let levels = levels.map(|(name, level)| (format!("level_{name}"), level.clone()));
    let orders = draw.orders.iter();
    let orders = orders.map(|(name, order)| {
        (
            format!("order_{name}"),
            Value::from(order.clone()).to_string(),
        )
    });
    levels.chain(orders).collect()
}

/// Writes `episodes.csv`. Gives the episodes that the database has, with the reasons of their ends.
pub(super) async fn write_episodes(
    data: &Path,
    out: &Path,
    report: &mut ExportReport,
) -> anyhow::Result<BTreeMap<String, Option<EndReason>>> {
    let episodes = store::episodes(data).await?;
    let own = Designs::read(data).await?.of_episodes();
    let row = |episode: &Episode| episode_row(episode, read_claim(data, episode));
    let rows: Vec<_> = episodes.iter().map(row).collect::<Result<_, _>>()?;
    let table = write_rows(out, "episodes", own, &rows)?;
    report.tables.push(table);
    let reasons = episodes
        .into_iter()
        .map(|episode| (episode.id, episode.reason));
    Ok(reasons.collect())
}

/// Where an episode was stepped, and what its file claims of that; nothing without a file that can be read.
fn read_claim(data: &Path, episode: &Episode) -> (&'static str, &'static str) {
    let path = archive::path(&data.join(archive::FOLDER), &episode.id).ok();
    let bytes = path.and_then(|path| std::fs::read(path).ok());
    let Some(log) = bytes.and_then(|bytes| protocol::log::read(&bytes).ok()) else {
        return ("", "");
    };
    let claim = match (log.header.way, log.repetition()) {
        (EnvWay::Module, _) => "",
        (EnvWay::Host, Some(None)) => "verified",
        (EnvWay::Host, _) => "recorded",
    };
    (way_name(log.header.way), claim)
}

fn episode_row(
    episode: &Episode,
    (way, claim): (&'static str, &'static str),
) -> anyhow::Result<(EpisodeRow, StudyCells)> {
    let damaged = || format!("what {} was played with is damaged", episode.id);
    let bindings: Map<String, Value> =
        serde_json::from_str(&episode.bindings).with_context(damaged)?;
    let (study, version) = episode.study.clone().unwrap_or_default();
    let row = EpisodeRow {
        study_id: study,
        version,
        stage_id: episode.stage.clone(),
        group_id: episode.group.clone(),
        episode_id: episode.id.clone(),
        started_at: episode.created_at.clone(),
        ended_at: episode.ended_at.clone().unwrap_or_default(),
        ended_on: episode.reason.map_or("", reason_name),
        ticks: episode.ending.map(|ending| ending.ticks.0),
        score: episode.ending.map(|ending| ending.score),
        way,
        claim,
    };
    let value = |value: &Value| match value {
        Value::String(text) => text.clone(),
        // A block of parameters has a name.
        Value::Object(block) => match block.get("name") {
            Some(Value::String(name)) => name.clone(),
            _ => Value::Object(block.clone()).to_string(),
        },
        other => other.to_string(),
    };
    let columns = bindings
        .iter()
        .map(|(name, of)| (format!("level_{name}"), value(of)));
    Ok((row, columns.collect()))
}

fn write_rows<R: Default + Serialize>(
    out: &Path,
    name: &'static str,
    mut names: BTreeSet<String>,
    rows: &[(R, StudyCells)],
) -> anyhow::Result<WrittenTable> {
    names.extend(rows.iter().flat_map(|(_, own)| own.keys().cloned()));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut table = Table::create_with::<R>(out, name, &names)?;
    for (row, own) in rows {
        let own = names.iter().map(|name| own.get(*name).map(String::as_str));
        table.add(&(row, own.collect::<Vec<_>>()))?;
    }
    table.finish()
}
