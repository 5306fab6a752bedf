//! One row a session, and one row an episode: how it ended, and what was drawn for it.
//!
//! The levels of factors and the values of loops have a column each, so these tables have the columns of their study.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;
use serde_json::{Map, Value};
use study::payment::written;
use study::{Progress, UnitAssignment};

use super::{Summary, Table};
use protocol::hash::sha256_hex;
use store::{Episode, Payment, Session, SqliteStore, reason_name};

const SESSION_COLUMNS: [&str; 19] = [
    "study_id",
    "version",
    "participant_id",
    "session_id",
    "language",
    "outcome",
    "started_at",
    "ended_at",
    "time_s",
    "groups",
    "currency",
    "base",
    "bonus",
    "time_pay",
    "total",
    "pay_state",
    "receipt",
    "erased_at",
    "treatment",
];

const EPISODE_COLUMNS: [&str; 10] = [
    "study_id",
    "version",
    "stage_id",
    "group_id",
    "episode_id",
    "started_at",
    "ended_at",
    "ended_on",
    "ticks",
    "score",
];

/// A row: its fixed columns, and those of the study by their name.
type Row = (Vec<String>, BTreeMap<String, String>);

/// Names of the columns of the studies that a data folder has seen: those of the design, whether drawn by now or not.
#[derive(Default)]
pub(super) struct Designs {
    /// Of the factors between participants.
    between: BTreeSet<String>,
    /// Of the factors within them.
    within: BTreeSet<String>,
    /// The factors between participants in the order of the file, by the hash of the study.
    in_order: BTreeMap<String, Vec<String>>,
}

impl Designs {
    /// Those of a data folder.
    pub(super) async fn read(data: &Path) -> anyhow::Result<Self> {
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
pub(super) async fn sessions(
    data: &Path,
    designs: &Designs,
    summary: &mut Summary,
) -> anyhow::Result<()> {
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
                designs,
            )?);
        }
        store.close().await;
    }
    let path = &summary.sessions_path;
    summary.sessions = write(path, &SESSION_COLUMNS, designs.of_sessions(), &rows)?;
    Ok(())
}

fn session_row(
    session: &Session,
    payment: Option<&Payment>,
    groups: &[String],
    designs: &Designs,
) -> anyhow::Result<Row> {
    let damaged = || format!("the place of {} is damaged", session.participant);
    let progress: Progress = serde_json::from_str(&session.position).with_context(damaged)?;
    let assignment = progress.assignment();
    let drawn = [&assignment.own]
        .into_iter()
        .chain(assignment.groups.values());
    let mut drawn = drawn.filter(|draw| !draw.levels.is_empty() || !draw.orders.is_empty());
    let draw = drawn.next_back();
    let ended = payment.map(|payment| &payment.what);
    let time_s = ended.map_or(session.spent_us / 1_000, |what| what.time_ms) as f64 / 1_000.0;
    let currency = ended
        .and_then(|what| what.currency.clone())
        .unwrap_or_default();
    let money = |amount: fn(&study::Payment) -> u64| {
        let amount = ended.filter(|_| !currency.is_empty()).map(amount);
        amount.map_or(String::new(), |amount| written(amount, &currency))
    };
    let treatment = draw.map(|draw| designs.treatment_name(session, draw));
    let fixed = vec![
        session.study.clone(),
        session.study_version.clone(),
        session.participant.clone(),
        session.id.clone(),
        progress.chosen_language().unwrap_or_default().to_owned(),
        session.outcome.clone().unwrap_or_default(),
        session.created_at.clone(),
        session.ended_at.clone().unwrap_or_default(),
        format!("{time_s:.1}"),
        groups.join(" "),
        currency.clone(),
        money(|what| what.base),
        money(|what| what.bonus),
        money(|what| what.time),
        money(|what| what.total),
        payment
            .map_or("", |payment| payment.state.name())
            .to_owned(),
        ended.map_or(String::new(), |what| what.receipt.clone()),
        session.erased_at.clone().unwrap_or_default(),
        treatment.unwrap_or_default(),
    ];
    Ok((fixed, draw.map(columns).unwrap_or_default()))
}

/// The columns of a draw: each level, and each order as a list in JSON.
fn columns(draw: &UnitAssignment) -> BTreeMap<String, String> {
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

/// Writes `episodes.csv`.
pub(super) fn episodes(
    episodes: &[Episode],
    designs: &Designs,
    summary: &Summary,
) -> anyhow::Result<()> {
    let rows: Vec<Row> = episodes.iter().map(episode_row).collect::<Result<_, _>>()?;
    let path = &summary.episodes_path;
    write(path, &EPISODE_COLUMNS, designs.of_episodes(), &rows)?;
    Ok(())
}

fn episode_row(episode: &Episode) -> anyhow::Result<Row> {
    let damaged = || format!("what {} was played with is damaged", episode.id);
    let bindings: Map<String, Value> =
        serde_json::from_str(&episode.bindings).with_context(damaged)?;
    let (study, version) = episode.study.clone().unwrap_or_default();
    let ending = episode.ending;
    let fixed = vec![
        study,
        version,
        episode.stage.clone(),
        episode.group.clone(),
        episode.id.clone(),
        episode.created_at.clone(),
        episode.ended_at.clone().unwrap_or_default(),
        episode.reason.map_or("", reason_name).to_owned(),
        ending.map_or(String::new(), |ending| ending.ticks.0.to_string()),
        ending.map_or(String::new(), |ending| ending.score.to_string()),
    ];
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
    Ok((fixed, columns.collect()))
}

fn write(
    path: &Path,
    fixed: &[&str],
    mut names: BTreeSet<String>,
    rows: &[Row],
) -> anyhow::Result<u64> {
    names.extend(rows.iter().flat_map(|(_, own)| own.keys().cloned()));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut table = Table::create(path, fixed, &names)?;
    for (cells, own) in rows {
        let own = names
            .iter()
            .map(|name| own.get(*name).map_or("", String::as_str));
        let cells: Vec<&str> = cells.iter().map(String::as_str).chain(own).collect();
        table.add(&cells)?;
    }
    table.finish()
}
