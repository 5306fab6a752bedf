//! Decisions of the models that play seats: re-simulation asks each model again, and tells the probabilities of all actions.

use archive::{ActionShares, Replica, open_advisers, replay_from};
use protocol::change::Change;
use protocol::hash::model_sha256;
use protocol::{Controller, EnvWay, Seat};

use super::column::row;
use super::output::Output;
use super::report::{ExportReport, Skipped};
use super::simulation::{EpisodeTable, SimulatedEpisode};
use super::table::{EpisodeKeys, Table};

row! {
    /// One row per decision of a model that plays a seat of its own from the first tick on.
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
    controller: &'a Controller,
    policy: &'a str,
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
        for model in models {
            let mut observation = Vec::new();
            replica.observe(model.seat, &mut observation);
            let mask = replica.world().mask(model.seat.index());
            let is_decision = model.shares.decides();
            let probabilities = model.shares.next(replica.spec(), &observation, mask);
            let controller = archive::controller_at(header, changes, model.seat, tick);
            if is_decision && controller == model.controller {
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

/// Seats every model of an episode, before the first tick.
fn seat_models<'a>(episode: &'a SimulatedEpisode<'_>) -> anyhow::Result<Vec<Seated<'a>>> {
    let header = &episode.log.header;
    let stored = archive::stored(&episode.data.join(archive::FOLDER));
    let mut models = Vec::new();
    for (seat, controller) in (0..).map(Seat).zip(&header.controllers) {
        let Controller::Ai { policy } = controller else {
            continue;
        };
        // A script has no probabilities, and that of an environment in Python is not to be opened here.
        if model_sha256(policy).is_none() {
            continue;
        }
        let minds = open_advisers(policy, header.seed, &episode.spec, &stored)?;
        if let Some(shares) = minds.into_iter().nth(seat.index()) {
            models.push(Seated {
                seat,
                controller,
                policy,
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
        let mut models = match seat_models(episode) {
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
        let changes: Vec<Change> = episode.log.changes().cloned().collect();
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
