//! States and observations: they are not recorded, because re-simulation computes them again.

use archive::{Replica, replay_from};
use protocol::{Seat, Tick};

use super::column::row;
use super::output::Output;
use super::report::ExportReport;
use super::simulation::{EpisodeTable, SimulatedEpisode};
use super::table::{EpisodeKeys, Table};

row! {
    /// One row per state of an episode: the first one, and one after each tick. States belong to all seats: `participant_id`
    /// and `seat` are those of the first seat.
    struct StateRow {
        /// The number of ticks before the state, from 0: an action of tick `t` is chosen in state `t`.
        tick: u32,
        /// Its digest, 16 hex digits.
        digest: String,
        /// Its canonical bytes, which the environment of the same version takes up again; hex digits in text formats.
        state: Vec<u8>,
    }
}

row! {
    /// One row per observation of a seat: of the first state, and of the state after each tick.
    struct ObservationRow {
        /// The number of ticks before the observation, from 0: the action of tick `t` is chosen after observation `t`.
        tick: u32,
        /// The values, in the order of the fields that the environment names; numbers with spaces between in CSV.
        observation: Vec<f32>,
    }
}

row! {
    /// One row per grid that a seat observes: a field of the observation with three dimensions or more. Environments without
    /// such a field have no row.
    struct GridRow<'a> {
        /// The number of ticks before the observation, from 0.
        tick: u32,
        /// The name of the field.
        field: &'a str,
        /// The sizes of the field with commas between, such as `10,4,5`; the page of the environment says which of them are
        /// rows, columns and channels.
        shape: String,
        /// The values, row-major; numbers with spaces between in CSV.
        grid: Vec<f32>,
    }
}

/// The table of states, of observations, or of their grids.
pub(super) struct RecomputedTable {
    table: Table,
    content: Content,
}

#[derive(Clone, Copy)]
enum Content {
    States,
    Observations,
    Grids,
}

impl Content {
    fn name(self) -> &'static str {
        match self {
            Self::States => "states",
            Self::Observations => "observations",
            Self::Grids => "grids",
        }
    }
}

impl RecomputedTable {
    pub(super) fn create_states(output: &Output) -> anyhow::Result<Self> {
        Ok(Self {
            table: Table::create::<(EpisodeKeys<'_>, StateRow)>(output, "states")?,
            content: Content::States,
        })
    }

    pub(super) fn create_observations(output: &Output) -> anyhow::Result<Self> {
        Ok(Self {
            table: Table::create::<(EpisodeKeys<'_>, ObservationRow)>(output, "observations")?,
            content: Content::Observations,
        })
    }

    pub(super) fn create_grids(output: &Output) -> anyhow::Result<Self> {
        Ok(Self {
            table: Table::create::<(EpisodeKeys<'_>, GridRow<'_>)>(output, "grids")?,
            content: Content::Grids,
        })
    }

    /// Adds the grids of a seat's observation.
    fn add_grids(
        &mut self,
        episode: &SimulatedEpisode<'_>,
        tick: u32,
        seat: Seat,
        observation: &[f32],
    ) -> anyhow::Result<()> {
        let mut start = 0;
        for field in &episode.spec.observation {
            let len = field.shape.iter().product::<u32>() as usize;
            let values = observation.get(start..start + len);
            start += len;
            let Some(values) = values.filter(|_| field.shape.len() >= 3) else {
                continue;
            };
            let sizes: Vec<String> = field.shape.iter().map(u32::to_string).collect();
            let row = GridRow {
                tick,
                field: &field.name,
                shape: sizes.join(","),
                grid: values.to_vec(),
            };
            self.table.add(&(episode.keys(seat), row))?;
        }
        Ok(())
    }

    fn add_state(
        &mut self,
        episode: &SimulatedEpisode<'_>,
        replica: &mut Replica,
    ) -> anyhow::Result<()> {
        let Tick(tick) = replica.ticks();
        match self.content {
            Content::States => {
                let mut row = StateRow {
                    tick,
                    digest: format!("{:016x}", replica.digest(Tick(tick)).unwrap_or_default()),
                    state: Vec::new(),
                };
                replica.write_state(&mut row.state);
                if episode.log.header.shared.is_some() {
                    let own = env_core::shared::find_world_state(&row.state);
                    row.state = own.unwrap_or_default().to_vec();
                }
                self.table.add(&(episode.keys(Seat(0)), row))
            }
            Content::Observations | Content::Grids => {
                let seats = (0..replica.spec().seats).map(Seat);
                let mut seats = seats.filter(|seat| !episode.left_out.contains(seat));
                seats.try_for_each(|seat| {
                    let mut observation = Vec::new();
                    replica.observe(seat, &mut observation);
                    if matches!(self.content, Content::Grids) {
                        return self.add_grids(episode, tick, seat, &observation);
                    }
                    let row = ObservationRow { tick, observation };
                    self.table.add(&(episode.keys(seat), row))
                })
            }
        }
    }
}

impl EpisodeTable for RecomputedTable {
    fn add_episode(
        &mut self,
        episode: &SimulatedEpisode<'_>,
        report: &mut ExportReport,
    ) -> anyhow::Result<()> {
        if episode.skip_if_recorded(self.content.name(), report) {
            return Ok(());
        }
        // A state would reveal the actions of a person who withdrew.
        if matches!(self.content, Content::States) && !episode.left_out.is_empty() {
            return Ok(());
        }
        let stored = archive::stored(&episode.data.join(archive::FOLDER));
        let mut replica = Replica::open(&episode.log.header, stored)?;
        self.add_state(episode, &mut replica)?;
        let mut added = Ok(());
        replay_from(replica, &episode.log, |_, replica| {
            if added.is_ok() {
                added = self.add_state(episode, replica);
            }
        })?;
        added
    }

    fn finish(self: Box<Self>, report: &mut ExportReport) -> anyhow::Result<()> {
        report.tables.push(self.table.finish()?);
        Ok(())
    }
}
