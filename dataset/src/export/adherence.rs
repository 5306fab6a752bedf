//! Adherence: how far people's actions agree with those of a policy, one row for each episode, person and measure, and
//! totals for each person.
//!
//! The policy is asked from the first tick on, with the observations of the seat. It remembers its own past; the
//! actions of the episode are not its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use archive::{ActionShares, Replica, open_advisers, replay_from};
use protocol::change::Change;
use protocol::{Controller, EnvWay, Seat};
use study::adherence::AdherenceMeasure;
use study::exclusion::SessionAdherence;

use super::column::row;
use super::output::Output;
use super::report::{ExportReport, Skipped};
use super::simulation::{SimulatedEpisode, Step};
use super::table::{EpisodeKeys, Table};

row! {
    /// One row per episode, person and measure of `adherence`: how far the person did what the policy would have done.
    /// Episodes on a host have none.
    struct AdherenceRow<'a> {
        /// The name of the measure.
        measure: &'a str,
        /// The policy; the name of a model ends in the SHA-256 of its bytes.
        policy: &'a str,
        /// The ticks in which the person decided, and the policy would have decided too.
        decisions: u32,
        /// Those of them in which the policy would have taken the same action; of a model, the most probable one counts.
        equal: u32,
        /// The share of equal decisions, from 0 to 1; missing if there were no decisions.
        equal_share: Option<f64>,
        /// The mean probability that the policy gave to the person's action; missing for a script, which has none, and if
        /// there were no decisions.
        mean_probability: Option<f64>,
    }
}

/// A measure whose policy is known.
#[derive(Clone, Debug)]
pub struct ChosenMeasure {
    /// Its name.
    pub name: String,
    /// Id of the env stage.
    pub stage: String,
    /// The policy; the name of a model ends in the SHA-256 of its bytes.
    pub policy: String,
    /// The bytes of a model.
    pub model: Option<Arc<[u8]>>,
}

/// The decisions of a person and those of a policy.
#[derive(Clone, Copy, Debug, Default)]
struct Decisions {
    decisions: u32,
    equal: u32,
    /// The sum of the probabilities of the person's actions, and the number of decisions that have one.
    probability: f64,
    with_probability: u32,
}

impl Decisions {
    fn add(&mut self, other: &Self) {
        self.decisions += other.decisions;
        self.equal += other.equal;
        self.probability += other.probability;
        self.with_probability += other.with_probability;
    }

    fn summary(&self) -> SessionAdherence {
        let share = |part: f64, whole: u32| (whole > 0).then(|| part / f64::from(whole));
        SessionAdherence {
            equal_share: share(f64::from(self.equal), self.decisions),
            mean_probability: share(self.probability, self.with_probability),
        }
    }
}

/// The totals of one person, by the name of the measure.
#[derive(Clone, Debug, Default)]
pub(super) struct PersonAdherence(BTreeMap<String, Decisions>);

impl PersonAdherence {
    /// The measures that the formulas of rules ask for.
    pub(super) fn summarize_sessions(&self) -> BTreeMap<String, SessionAdherence> {
        let measures = self.0.iter();
        measures
            .map(|(name, decisions)| (name.clone(), decisions.summary()))
            .collect()
    }
}

/// The table of adherence, and the totals of each person.
pub(super) struct AdherenceTable {
    table: Table,
    /// Measures that replace the recorded measures of the episodes.
    chosen: Option<Vec<ChosenMeasure>>,
    totals: BTreeMap<String, PersonAdherence>,
}

/// A policy in every seat of an episode.
struct Asked {
    measure: ChosenMeasure,
    seats: Vec<ActionShares>,
    found: Vec<Decisions>,
}

impl AdherenceTable {
    pub(super) fn create(
        output: &Output,
        chosen: Option<Vec<ChosenMeasure>>,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            table: Table::create::<(EpisodeKeys<'_>, AdherenceRow<'_>)>(output, "adherence")?,
            chosen,
            totals: BTreeMap::new(),
        })
    }

    /// Lists the measures of an episode: those that were chosen for its stage, or those of its file.
    fn list_measures(&self, episode: &SimulatedEpisode<'_>) -> Vec<ChosenMeasure> {
        let header = &episode.log.header;
        if header.way == EnvWay::Host {
            return Vec::new();
        }
        if let Some(chosen) = &self.chosen {
            let own = chosen.iter().filter(|it| it.stage == header.stage);
            return own.cloned().collect();
        }
        let names = header.course.iter().flat_map(|course| {
            let logged = AdherenceMeasure::list_logged(&course.names);
            logged.map(|(name, policy)| ChosenMeasure {
                name: name.to_owned(),
                stage: header.stage.clone(),
                policy: policy.to_owned(),
                model: None,
            })
        });
        names.collect()
    }

    /// Adds the rows of an episode; a measure whose policy cannot play it is put into the report.
    pub(super) fn add_episode(
        &mut self,
        episode: &SimulatedEpisode<'_>,
        report: &mut ExportReport,
    ) -> anyhow::Result<()> {
        let measures = self.list_measures(episode);
        let opened = measures.into_iter().map(|measure| open(episode, measure));
        let (asked, failed): (Vec<_>, Vec<_>) = opened.partition(Result::is_ok);
        for error in failed.into_iter().filter_map(Result::err) {
            report.skipped.push(Skipped {
                path: episode.path.clone(),
                reason: format!("{error:#}"),
            });
        }
        let mut asked: Vec<Asked> = asked.into_iter().flatten().collect();
        if asked.is_empty() {
            return Ok(());
        }
        measure_episode(episode, &mut asked)?;
        let people = (0..).map(Seat).zip(&episode.log.header.participants);
        for (seat, person) in people {
            if person.is_empty() || episode.left_out.contains(&seat) {
                continue;
            }
            for Asked { measure, found, .. } in &asked {
                let decisions = &found[seat.index()];
                let summary = decisions.summary();
                let row = AdherenceRow {
                    measure: &measure.name,
                    policy: &measure.policy,
                    decisions: decisions.decisions,
                    equal: decisions.equal,
                    equal_share: summary.equal_share,
                    mean_probability: summary.mean_probability,
                };
                self.table.add(&(episode.keys(seat), row))?;
                let totals = self.totals.entry(person.clone()).or_default();
                let total = totals.0.entry(measure.name.clone()).or_default();
                total.add(decisions);
            }
        }
        Ok(())
    }

    /// Finishes the file, puts it into the report, and returns the totals of each person.
    pub(super) fn finish(
        self,
        report: &mut ExportReport,
    ) -> anyhow::Result<BTreeMap<String, PersonAdherence>> {
        report.tables.push(self.table.finish()?);
        Ok(self.totals)
    }
}

/// Opens the policy of a measure in every seat of an episode.
fn open(episode: &SimulatedEpisode<'_>, measure: ChosenMeasure) -> anyhow::Result<Asked> {
    let stored = archive::open_stored(&episode.data.join(archive::FOLDER));
    let model = measure.model.clone();
    let stored = move |sha256: &str| match &model {
        Some(bytes) => Ok(bytes.to_vec()),
        None => stored(sha256),
    };
    let seats = open_advisers(
        &measure.policy,
        episode.log.header.seed,
        &episode.spec,
        &stored,
    );
    let seats = seats
        .map_err(|error| anyhow::anyhow!("the measure `{}` of adherence: {error}", measure.name))?;
    Ok(Asked {
        found: vec![Decisions::default(); seats.len()],
        measure,
        seats,
    })
}

/// Simulates an episode again, and compares every action of a person with the choices of the policies.
fn measure_episode(episode: &SimulatedEpisode<'_>, asked: &mut [Asked]) -> anyhow::Result<()> {
    let changes: Vec<Change> = episode.log.changes().cloned().collect();
    let seats = usize::from(episode.spec.seats);
    let mut steps = episode.steps.chunks(seats);
    let stored = archive::open_stored(&episode.data.join(archive::FOLDER));
    let mut replica = Replica::open(&episode.log.header, stored)?;
    let mut compare = |replica: &mut Replica| {
        for step in steps.next().unwrap_or_default() {
            let is_own = decides(episode, &changes, step);
            for asked in &mut *asked {
                asked.compare(replica, step, is_own);
            }
        }
    };
    compare(&mut replica);
    replay_from(replica, &episode.log, |_, replica| compare(replica))?;
    Ok(())
}

/// Tells whether the person of a seat decided in a step.
fn decides(episode: &SimulatedEpisode<'_>, changes: &[Change], step: &Step) -> bool {
    let header = &episode.log.header;
    let controller = archive::controller_at(header, changes, step.seat, step.tick);
    *controller == Controller::Human && step.partner.is_none()
}

impl Asked {
    /// Asks the policy for the next step of a seat, whoever makes it.
    fn compare(&mut self, replica: &mut Replica, step: &Step, is_own: bool) {
        let seat = step.seat.index();
        let mind = &mut self.seats[seat];
        let (is_decision, has_probabilities) = (mind.decides_next(), mind.has_probabilities());
        let mut observation = Vec::new();
        replica.observe(step.seat, &mut observation);
        let mask = replica.world().mask(seat);
        let shares = mind.next(replica.spec(), &observation, mask);
        if !is_own || !is_decision {
            return;
        }
        let own = shares.get(usize::from(step.action)).copied();
        let own = own.unwrap_or_default();
        let found = &mut self.found[seat];
        found.decisions += 1;
        found.equal += u32::from(usize::from(step.action) == find_best(&shares));
        if has_probabilities {
            found.with_probability += 1;
            found.probability += f64::from(own);
        }
    }
}

/// The most probable action, of equal ones the first.
fn find_best(shares: &[f32]) -> usize {
    let mut best = 0;
    for (action, share) in shares.iter().enumerate() {
        if *share > shares[best] {
            best = action;
        }
    }
    best
}
