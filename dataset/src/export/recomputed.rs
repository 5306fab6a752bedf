//! States and observations: re-simulation computes them again. Of a world that does not repeat itself, the log may have
//! the observations.

use archive::{RecordedObservations, Replica, replay_from};
use protocol::{Seat, Tick};

use super::column::row;
use super::output::Output;
use super::report::ExportReport;
use super::simulation::{EpisodeTable, Recomputed, SimulatedEpisode};
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
    fn what(self) -> Recomputed {
        match self {
            Self::States => Recomputed::States,
            Self::Observations | Self::Grids => Recomputed::Observations,
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
                    self.add_observation(episode, tick, seat, observation)
                })
            }
        }
    }

    fn add_observation(
        &mut self,
        episode: &SimulatedEpisode<'_>,
        tick: u32,
        seat: Seat,
        observation: Vec<f32>,
    ) -> anyhow::Result<()> {
        if matches!(self.content, Content::Grids) {
            return self.add_grids(episode, tick, seat, &observation);
        }
        let row = ObservationRow { tick, observation };
        self.table.add(&(episode.keys(seat), row))
    }

    /// Adds the observations that are in the log of a world that does not repeat itself.
    fn add_recorded(&mut self, episode: &SimulatedEpisode<'_>) -> anyhow::Result<()> {
        let len = episode.spec.observation_len();
        let recorded = RecordedObservations::read(&episode.log, len).map_err(anyhow::Error::msg)?;
        for tick in 0..=episode.log.through.0 {
            for seat in (0..episode.spec.seats).map(Seat) {
                let observation = recorded.get(seat, Tick(tick));
                let observation = observation.filter(|_| !episode.left_out.contains(&seat));
                if let Some(observation) = observation {
                    self.add_observation(episode, tick, seat, observation)?;
                }
            }
        }
        Ok(())
    }
}

impl EpisodeTable for RecomputedTable {
    fn add_episode(
        &mut self,
        episode: &SimulatedEpisode<'_>,
        report: &mut ExportReport,
    ) -> anyhow::Result<()> {
        // A state would reveal the actions of a person who withdrew.
        if matches!(self.content, Content::States) && !episode.left_out.is_empty() {
            return Ok(());
        }
        if !episode.has_recomputed(self.content.what(), report) {
            return Ok(());
        }
        if episode.is_only_recorded {
            return self.add_recorded(episode);
        }
        let mut replica = episode.open_again()?;
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
