//! One row per session, and one row per episode: its end, and its draws.
//!
//! The levels of factors and the values of loops have a column each, so these tables have the columns of their study.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;
use protocol::EnvWay;
use protocol::hash::sha256_hex;
use serde_json::{Map, Value};
use store::{Episode, Payment, Session, StudyStore, reason_name};
use study::payment::decimals_of;
use study::stage::is_demonstration;
use study::{Progress, UnitAssignment};

use super::column::{Column, ColumnKind, Money, Row, row};
use super::demographics::Demographics;
use super::known::KnownData;
use super::output::Output;
use super::report::{ExportReport, WrittenTable};
use super::table::Table;
use crate::environment_file::EnvironmentFile;
use crate::time::parse_unix_us;
use crate::verify::way_name;

row! {
    /// One row per session.
    struct SessionRow {
        /// The study, as in the study file.
        study_id: String,
        /// The version of the study, as in the study file.
        version: String,
        /// Pseudonym of the person.
        participant_id: String,
        /// Pseudonym of the session.
        session_id: String,
        /// The language that the person read; missing if the study has only one.
        language: String,
        /// The outcome; missing while the session is open.
        outcome: String,
        /// The start, microseconds since the Unix epoch.
        started_unix_us: Option<u64>,
        /// The end, microseconds since the Unix epoch; missing while the session is open.
        ended_unix_us: Option<u64>,
        /// Time with signs of life, seconds, as the server heard them.
        time_s: f64,
        /// The groups that the person was in, oldest first, separated by spaces.
        groups: String,
        /// The currency of the payment.
        currency: String,
        /// The fixed part of the payment.
        base: Option<Money>,
        /// The bonus.
        bonus: Option<Money>,
        /// The pay for time.
        time_pay: Option<Money>,
        /// The payment: the result of the rule of the outcome.
        total: Option<Money>,
        /// `due`, `paid` or `skipped` (nothing to pay).
        pay_state: String,
        /// The reference number that the person was shown.
        receipt: String,
        /// When the data of the session were erased by `retention_days` or `coplay erase`, microseconds since the Unix
        /// epoch; otherwise missing.
        erased_unix_us: Option<u64>,
        /// The levels of all factors of `design.between`, in the order of the study file, joined by slashes.
        treatment: String,
    }
}

row! {
    /// One row per episode.
    struct EpisodeRow {
        /// The study, as in the study file.
        study_id: String,
        /// The version of the study, as in the study file.
        version: String,
        /// The stage of the episode.
        stage_id: String,
        /// The group.
        group_id: String,
        /// The number of the episode among those of the group, from 0: the same for everybody in the group.
        round: Option<u32>,
        /// The episode; also the name of its log.
        episode_id: String,
        /// The start, microseconds since the Unix epoch.
        started_unix_us: Option<u64>,
        /// The end, microseconds since the Unix epoch; missing while it runs.
        ended_unix_us: Option<u64>,
        /// How it ended: `played`, `partner_left` or `technical`; missing while it runs.
        ended_on: &'static str,
        /// The number of ticks, by the server's simulation.
        ticks: Option<u32>,
        /// The score at the end, by the server's simulation.
        score: Option<i64>,
        /// Where the world was stepped: `page` or `host`; missing without a file.
        way: &'static str,
        /// The kind of the environment: `module` for a WebAssembly module, also one that Coplay brings, or `python`;
        /// missing without a log, or without the file of the environment.
        environment: &'static str,
        /// On a host, `verified` if the server ran the world again after the end and everything was equal, else
        /// `recorded`; missing without a tick, and for `page`, whose inputs `coplay verify` simulates again.
        claim: &'static str,
        /// True if the study marks the episodes of the stage as demonstrations.
        demonstration: bool,
    }
}

/// The cells of a row in the columns of the study, by their names.
type StudyCells = BTreeMap<String, String>;

/// Names of the columns of a data folder's studies: those of the design, whether drawn by now or not.
#[derive(Default)]
struct Designs {
    /// The between-factors.
    between: BTreeSet<String>,
    /// The within-factors.
    within: BTreeSet<String>,
    /// The factors between participants in the order of the file, by the hash of the study.
    in_order: BTreeMap<String, Vec<String>>,
}

impl Designs {
    /// Those of a data folder.
    async fn read(data: &Path) -> anyhow::Result<Self> {
        let Some(store) = StudyStore::find(data).await? else {
            return Ok(Self::default());
        };
        let studies = store.list_studies().await?;
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
            // A folder from before studies were stored.
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

/// Writes `sessions`.
pub(super) async fn write_sessions(
    data: &Path,
    output: &Output,
    (known, joined): (&KnownData, &Demographics),
    report: &mut ExportReport,
) -> anyhow::Result<()> {
    let designs = Designs::read(data).await?;
    let (mut payments, mut groups) = (BTreeMap::new(), BTreeMap::new());
    if let Some(store) = StudyStore::find(data).await? {
        let all = store.list_payments().await?.into_iter();
        payments.extend(all.map(|payment| (payment.session.clone(), payment)));
        groups = store.groups_of_participants().await?;
        store.close().await;
    }
    let row = |session: &Session| {
        let of = groups.get(&session.participant);
        let payment: Option<&Payment> = payments.get(&session.id);
        let joined_groups = of.map_or(&[][..], Vec::as_slice);
        let (row, mut cells) = session_row(session, payment, joined_groups, &designs)?;
        cells.extend(joined.cells(&session.id));
        anyhow::Ok((row, cells))
    };
    let rows: Vec<_> = known.sessions.iter().map(row).collect::<Result<_, _>>()?;
    let mut own = designs.of_sessions();
    own.extend(joined.columns());
    report
        .tables
        .push(write_rows(output, "sessions", own, &rows)?);
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
    // Factors can have their own units, so the participant has some levels, and the last group has others.
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
        let decimals = decimals_of(&currency);
        amount.map(|amount| Money {
            amount: amount as f64 / f64::from(10_u32.pow(decimals as u32)),
            decimals,
        })
    };
    let treatment = designs.treatment_name(session, &draw);
    let row = SessionRow {
        study_id: session.study.clone(),
        version: session.study_version.clone(),
        participant_id: session.participant.clone(),
        session_id: session.id.clone(),
        language: progress.chosen_language().unwrap_or_default().to_owned(),
        outcome: session.outcome.clone().unwrap_or_default(),
        started_unix_us: parse_unix_us(&session.created_at),
        ended_unix_us: session.ended_at.as_deref().and_then(parse_unix_us),
        time_s,
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
        erased_unix_us: session.erased_at.as_deref().and_then(parse_unix_us),
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

/// Writes `episodes`.
pub(super) async fn write_episodes(
    data: &Path,
    output: &Output,
    known: &KnownData,
    report: &mut ExportReport,
) -> anyhow::Result<()> {
    let own = Designs::read(data).await?.of_episodes();
    let rows = known.episodes.iter();
    let rows = rows.map(|episode| {
        let mut row = episode_row(episode, &read_file_facts(data, episode))?;
        row.0.round = known.round_of(&episode.id);
        anyhow::Ok(row)
    });
    let rows: Vec<_> = rows.collect::<Result<_, _>>()?;
    report
        .tables
        .push(write_rows(output, "episodes", own, &rows)?);
    Ok(())
}

/// Facts of an episode's file; nothing without one that can be read.
#[derive(Default)]
struct FileFacts {
    way: &'static str,
    environment: &'static str,
    claim: &'static str,
    demonstration: bool,
}

/// Reads where an episode was stepped, what its environment is, what its file claims of that, and whether it is a
/// demonstration.
fn read_file_facts(data: &Path, episode: &Episode) -> FileFacts {
    let path = archive::path(&data.join(archive::FOLDER), &episode.id).ok();
    let bytes = path.and_then(|path| std::fs::read(path).ok());
    let Some(log) = bytes.and_then(|bytes| protocol::log::read_log(&bytes).ok()) else {
        return FileFacts::default();
    };
    let claim = match (log.header.way, log.end_repetition()) {
        (EnvWay::Module, _) => "",
        // Nothing was played, so that nothing was repeated.
        (EnvWay::Host, _) if log.through.0 == 0 => "",
        (EnvWay::Host, Some(None)) => "verified",
        (EnvWay::Host, _) => "recorded",
    };
    let course = log.header.course.as_ref();
    let environment = match &*log.header.module {
        // An environment of this program, played without a page.
        "" => Some(EnvironmentFile::Module),
        module => EnvironmentFile::find(data, module),
    };
    FileFacts {
        way: way_name(log.header.way),
        environment: environment.map_or("", EnvironmentFile::name),
        claim,
        demonstration: course.is_some_and(|course| is_demonstration(&course.names)),
    }
}

fn episode_row(episode: &Episode, file: &FileFacts) -> anyhow::Result<(EpisodeRow, StudyCells)> {
    let damaged = || format!("what {} was played with is damaged", episode.id);
    let bindings: Map<String, Value> =
        serde_json::from_str(&episode.bindings).with_context(damaged)?;
    let (study, version) = episode.study.clone().unwrap_or_default();
    let row = EpisodeRow {
        study_id: study,
        version,
        stage_id: episode.stage.clone(),
        group_id: episode.group.clone(),
        round: None,
        episode_id: episode.id.clone(),
        started_unix_us: parse_unix_us(&episode.created_at),
        ended_unix_us: episode.ended_at.as_deref().and_then(parse_unix_us),
        ended_on: episode.reason.map_or("", reason_name),
        ticks: episode.ending.map(|ending| ending.ticks.0),
        score: episode.ending.map(|ending| ending.score),
        way: file.way,
        environment: file.environment,
        claim: file.claim,
        demonstration: file.demonstration,
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

/// The description of a column of the study.
fn describe_column(name: &str) -> String {
    match name.split_once('_') {
        Some(("level", factor)) => {
            format!("The level of `{factor}`; for a block of parameters its name.")
        }
        Some(("order", factor)) => {
            format!("The levels of `{factor}` in the assigned order, a JSON list.")
        }
        Some(("recruiter", _)) => {
            "From the recruiter: to be kept apart from what is published.".into()
        }
        _ => "From the recruiter's file of participants.".into(),
    }
}

fn write_rows<R: Row>(
    output: &Output,
    name: &'static str,
    mut names: BTreeSet<String>,
    rows: &[(R, StudyCells)],
) -> anyhow::Result<WrittenTable> {
    names.extend(rows.iter().flat_map(|(_, own)| own.keys().cloned()));
    let column = |name: &String| Column::new(name, ColumnKind::Text, &describe_column(name));
    let columns = names.iter().map(column).collect();
    let mut table = Table::create_with::<R>(output, name, columns)?;
    for (row, own) in rows {
        let own = names.iter().map(|name| own.get(name).map(String::as_str));
        table.add_with(row, &own.collect::<Vec<_>>())?;
    }
    table.finish()
}
