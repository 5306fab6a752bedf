//! Decisions of the models that play seats: re-simulation asks each model again, and tells the probabilities of all actions.

use std::ops::Range;

use archive::{ActionShares, Replica, open_advisers, replay_from};
use env_core::shared::without_marks;
use protocol::change::Change;
use protocol::hash::model_sha256;
use protocol::log::Header;
use protocol::rules::SharedSeats;
use protocol::{Controller, EnvWay, Seat, Tick};

use super::column::row;
use super::output::Output;
use super::report::{ExportReport, Skipped};
use super::simulation::{EpisodeTable, SimulatedEpisode};
use super::table::{EpisodeKeys, Table};

row! {
    /// One row per decision of a model that plays a seat, or shares one.
    struct DecisionRow<'a> {
        /// The number of ticks before the decision, from 0. Its action is that of tick `t`, or later by the reaction delay of
        /// the partner, unless noise replaced it.
        tick: u32,
        /// The policy, as in the column `controller` of the table of seats.
        policy: &'a str,
        /// The probability of each action, in the order of the environment's actions; numbers with spaces between in CSV. If
        /// the partner takes the most probable action, they are those at temperature 1.
        probabilities: Vec<f32>,
    }
}

/// The table of decisions.
pub(super) struct DecisionTable {
    table: Table,
}

/// A model in its seat.
struct Seated<'a> {
    seat: Seat,
    policy: &'a str,
    /// The ticks in which it has the seat. In a shared one, it is asked in each tick.
    ticks: Range<Tick>,
    is_shared: bool,
    shares: ActionShares,
}

impl DecisionTable {
    pub(super) fn create(output: &Output) -> anyhow::Result<Self> {
        let table = Table::create::<(EpisodeKeys<'_>, DecisionRow<'_>)>(output, "decisions")?;
        Ok(Self { table })
    }

    /// Adds what the models decide in a state.
    fn add_state(
        &mut self,
        episode: &SimulatedEpisode<'_>,
        changes: &[Change],
        models: &mut [Seated<'_>],
        replica: &mut Replica,
    ) -> anyhow::Result<()> {
        let (tick, header) = (replica.ticks(), &episode.log.header);
        if tick >= episode.log.through {
            return Ok(());
        }
        // The marks of shared seats are no actions of a model.
        let spec = without_marks(replica.spec());
        for model in models.iter_mut().filter(|it| it.ticks.contains(&tick)) {
            let mut observation = Vec::new();
            replica.observe(model.seat, &mut observation);
            let mask = replica.world().mask(model.seat.index());
            let is_decision = model.shares.decides_next();
            let probabilities = model.shares.next(&spec, &observation, mask);
            let controller = archive::controller_at(header, changes, model.seat, tick);
            let is_there = !model.is_shared || *controller == Controller::Human;
            if is_decision && is_there {
                let row = DecisionRow {
                    tick: tick.0,
                    policy: model.policy,
                    probabilities,
                };
                self.table.add(&(episode.keys(model.seat), row))?;
            }
        }
        Ok(())
    }
}

/// Lists every model of an episode, with its seat and the ticks in which it has it: from the first tick on, after a
/// change, or beside the person of a shared seat.
pub(super) fn list_models<'a>(
    header: &'a Header,
    changes: &'a [Change],
) -> Vec<(Seat, &'a str, Range<Tick>, bool)> {
    let mut models = Vec::new();
    for (seat, first) in (0..).map(Seat).zip(&header.controllers) {
        let own = changes.iter().filter(|change| change.seat == seat);
        let later = own.map(|change| (change.tick, &change.controller));
        let all: Vec<_> = [(Tick(0), first)].into_iter().chain(later).collect();
        let ends = all[1..]
            .iter()
            .map(|(tick, _)| *tick)
            .chain([Tick(u32::MAX)]);
        for ((from, controller), end) in all.iter().zip(ends) {
            if let Controller::Ai { policy } = controller {
                models.push((seat, policy.as_str(), *from..end, false));
            }
        }
    }
    if let Some(shared) = &header.shared {
        for seat in SharedSeats::list_seats(&header.controllers) {
            let policies = shared.policies.iter().map(String::as_str);
            let always = Tick(0)..Tick(u32::MAX);
            models.extend(policies.map(|policy| (Seat(seat as u8), policy, always.clone(), true)));
        }
    }
    // A script has no probabilities, and that of an environment in Python is not to be opened here.
    models.retain(|(_, policy, ticks, _)| model_sha256(policy).is_some() && !ticks.is_empty());
    models
}

/// Seats every model of an episode; each begins afresh in its first tick.
fn seat_models<'a>(
    episode: &'a SimulatedEpisode<'_>,
    changes: &'a [Change],
) -> anyhow::Result<Vec<Seated<'a>>> {
    let header = &episode.log.header;
    let stored = archive::open_stored(&episode.data.join(archive::FOLDER));
    let mut models = Vec::new();
    for (seat, policy, ticks, is_shared) in list_models(header, changes) {
        let minds = open_advisers(policy, header.seed, &episode.spec, &stored)?;
        if let Some(shares) = minds.into_iter().nth(seat.index()) {
            models.push(Seated {
                seat,
                policy,
                ticks,
                is_shared,
                shares,
            });
        }
    }
    Ok(models)
}

impl EpisodeTable for DecisionTable {
    fn add_episode(
        &mut self,
        episode: &SimulatedEpisode<'_>,
        report: &mut ExportReport,
    ) -> anyhow::Result<()> {
        // A decision would reveal what a person did who withdrew. Nor can a world on a host be asked again.
        if !episode.left_out.is_empty() || episode.log.header.way == EnvWay::Host {
            return Ok(());
        }
        let changes: Vec<Change> = episode.log.changes().cloned().collect();
        let mut models = match seat_models(episode, &changes) {
            Ok(models) => models,
            Err(error) => {
                let (path, reason) = (episode.path.clone(), format!("decisions: {error:#}"));
                report.skipped.push(Skipped { path, reason });
                return Ok(());
            }
        };
        if models.is_empty() {
            return Ok(());
        }
        let mut replica = episode.open_again()?;
        self.add_state(episode, &changes, &mut models, &mut replica)?;
        let mut added = Ok(());
        replay_from(replica, &episode.log, |_, replica| {
            if added.is_ok() {
                added = self.add_state(episode, &changes, &mut models, replica);
            }
        })?;
        added
    }

    fn finish(self: Box<Self>, report: &mut ExportReport) -> anyhow::Result<()> {
        report.tables.push(self.table.finish()?);
        Ok(())
    }
}
