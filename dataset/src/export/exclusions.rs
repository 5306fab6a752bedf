//! The quality of each session, and the result of the rules of `exclusions`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use protocol::hash::sha256_hex;
use serde_json::{Value, json};
use store::{Session, StudyStore, Withdrawn};
use study::exclusion::{ExclusionRule, SessionQuality, read_exclusions};

use super::adherence::PersonAdherence;
use super::column::row;
use super::episode_tables::EpisodeTotals;
use super::known::KnownData;
use super::options::ExportOptions;
use super::output::Output;
use super::report::ExportReport;
use super::table::Table;

row! {
    /// The columns that the tables of sessions' quality begin with.
    struct SessionKeys<'a> {
        /// The study, as in the study file.
        study_id: &'a str,
        /// The version of the study, as in the study file.
        version: &'a str,
        /// Pseudonym of the person.
        participant_id: &'a str,
        /// Pseudonym of the session.
        session_id: &'a str,
    }
}

row! {
    /// One row per session: the quality of its data over all episodes, as rules of `exclusions` can use it.
    struct SessionQualityRow {
        /// Episodes in which the person had a seat.
        episodes: u32,
        /// Those of them that did not end as `played`.
        unfinished: u32,
        /// Those of them with a score of 0 or less.
        zero_scores: u32,
        /// The share of the person's ticks without an action (with the no-op), from 0 to 1.
        noop_share: Option<f64>,
        /// The share of the person's ticks in stretches of at least five seconds without an action.
        idle_share: Option<f64>,
        /// The longest stretch without an action, seconds.
        longest_idle_s: Option<f64>,
        /// The share of the time in which the page was out of sight.
        hidden_share: Option<f64>,
        /// The share of the time in which the page was gone.
        away_share: Option<f64>,
        /// The share of the ticks in which an AI partner or nobody played for the person.
        lost_share: Option<f64>,
        /// Items of `attention` that were answered wrongly or not at all.
        attention_failed: u32,
        /// Time with signs of life, minutes.
        minutes: f64,
        /// True if the session ended as `completed`.
        completed: bool,
    }
}

row! {
    /// One row per session and rule of `exclusions`. A rule has no effect on anything else.
    struct ExclusionRow<'a> {
        /// The name of the rule.
        rule: &'a str,
        /// True if the rule marks the session; missing if the rule has no value, because something was not measured.
        excluded: Option<bool>,
        /// The reason; missing if the rule does not mark the session.
        reason: &'a str,
        /// The formula of the rule.
        when: &'a str,
    }
}

/// Writes `session_quality` and `exclusions`. With `--since` they are left out: they are about all episodes of a session.
pub(super) async fn write_tables(
    data: &Path,
    output: &Output,
    options: &ExportOptions,
    (known, withdrawn): (&KnownData, &Withdrawn),
    totals: &EpisodeTotals,
    report: &mut ExportReport,
) -> anyhow::Result<()> {
    if options.since_us.is_some() {
        return Ok(());
    }
    let mut qualities =
        Table::create::<(SessionKeys<'_>, SessionQualityRow)>(output, "session_quality")?;
    let mut exclusions =
        Table::create::<(SessionKeys<'_>, ExclusionRow<'_>)>(output, "exclusions")?;
    let (mut failed, mut rules) = (BTreeMap::new(), StudyRules::default());
    if let Some(store) = StudyStore::find(data).await? {
        for response in store
            .list_responses()
            .await?
            .into_iter()
            .filter(|of| of.flag)
        {
            *failed.entry(response.session).or_insert(0) += 1;
        }
        rules = StudyRules::read(&store.list_studies().await?)?;
        store.close().await;
    }
    for session in &known.sessions {
        // Nothing is known about them any more, so they have no quality.
        if session.erased_at.is_some() || withdrawn.participants.contains(&session.participant) {
            continue;
        }
        let quality = SessionQuality {
            attention_failed: failed.get(&session.id).copied().unwrap_or(0),
            minutes: session.spent_us as f64 / 6e7,
            completed: session.outcome.as_deref() == Some("completed"),
            adherence: (totals.adherence.get(&session.participant))
                .map(PersonAdherence::summarize_sessions)
                .unwrap_or_default(),
            ..(totals.quality)
                .get(&session.participant)
                .copied()
                .unwrap_or_default()
                .measure_quality()
        };
        qualities.add(&(session_keys(session), quality_row(&quality)))?;
        let own = options.exclusions.as_deref();
        for rule in own.unwrap_or_else(|| rules.of(&session.study_hash)) {
            let excluded = rule.does_apply(&quality);
            let row = ExclusionRow {
                rule: &rule.name,
                excluded,
                reason: excluded.filter(|holds| *holds).map_or("", |_| &rule.reason),
                when: rule.when.source(),
            };
            exclusions.add(&(session_keys(session), row))?;
        }
    }
    report
        .tables
        .extend([qualities.finish()?, exclusions.finish()?]);
    Ok(())
}

fn session_keys(session: &Session) -> SessionKeys<'_> {
    SessionKeys {
        study_id: &session.study,
        version: &session.study_version,
        participant_id: &session.participant,
        session_id: &session.id,
    }
}

fn quality_row(quality: &SessionQuality) -> SessionQualityRow {
    SessionQualityRow {
        episodes: quality.episodes,
        unfinished: quality.unfinished,
        zero_scores: quality.zero_scores,
        noop_share: quality.noop_share,
        idle_share: quality.idle_share,
        longest_idle_s: quality.longest_idle_s,
        hidden_share: quality.hidden_share,
        away_share: quality.away_share,
        lost_share: quality.lost_share,
        attention_failed: quality.attention_failed,
        minutes: quality.minutes,
        completed: quality.completed,
    }
}

/// The rules of the studies that a data folder has seen, by the hash of the study.
#[derive(Default)]
struct StudyRules(BTreeMap<String, Vec<ExclusionRule>>);

impl StudyRules {
    fn read(studies: &[String]) -> anyhow::Result<Self> {
        let mut rules = BTreeMap::new();
        for canonical in studies {
            let study: Value =
                serde_json::from_str(canonical).context("a stored study is damaged")?;
            let Some(stored) = study.get("exclusions") else {
                continue;
            };
            // A stored study has the rules as the file had them, and JSON is YAML.
            let measures = study.get("adherence").cloned().unwrap_or_default();
            let text = json!({ "exclusions": stored, "adherence": measures }).to_string();
            let read = read_exclusions("the stored study", &text).map_err(|problems| {
                let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
                anyhow::anyhow!("{}", told.join("\n"))
            })?;
            rules.insert(sha256_hex(canonical.as_bytes()), read);
        }
        Ok(Self(rules))
    }

    fn of(&self, study_hash: &str) -> &[ExclusionRule] {
        self.0.get(study_hash).map_or(&[], Vec::as_slice)
    }
}
