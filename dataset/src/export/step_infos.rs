//! Infos of the environment, one row each: the infos that the study names, in a world on a host.

use protocol::log::Record;
use protocol::{Seat, Tick};

use super::column::row;
use super::output::Output;
use super::report::ExportReport;
use super::simulation::{EpisodeTable, SimulatedEpisode};
use super::table::{EpisodeKeys, Table};

row! {
    /// One row per info that the study names under `infos:` and the environment gave; an info of the whole group has a row
    /// for each seat.
    struct StepInfoRow<'a> {
        /// The tick in which it was given.
        tick: u32,
        /// Its name.
        name: &'a str,
        /// Its value, as JSON.
        value: &'a str,
    }
}

/// An info as the log has it: the seat, the name, the value.
type Info = (Option<u8>, String, serde_json::Value);

/// The table of infos.
pub(super) struct StepInfoTable {
    infos: Table,
}

impl StepInfoTable {
    pub(super) fn create(output: &Output) -> anyhow::Result<Self> {
        let infos = Table::create::<(EpisodeKeys<'_>, StepInfoRow<'_>)>(output, "step_infos")?;
        Ok(Self { infos })
    }

    fn add(
        &mut self,
        episode: &SimulatedEpisode<'_>,
        tick: Tick,
        json: &str,
    ) -> anyhow::Result<()> {
        let seats = 0..episode.log.header.controllers.len() as u8;
        let infos: Vec<Info> = serde_json::from_str(json)?;
        for (of, name, value) in infos {
            let value = value.to_string();
            let has_it = |seat: &u8| of.is_none_or(|of| of == *seat);
            let is_shown = |seat: &u8| !episode.left_out.contains(&Seat(*seat));
            for seat in seats.clone().filter(has_it).filter(is_shown) {
                let row = StepInfoRow {
                    tick: tick.0,
                    name: &name,
                    value: &value,
                };
                self.infos.add(&(episode.keys(Seat(seat)), row))?;
            }
        }
        Ok(())
    }
}

impl EpisodeTable for StepInfoTable {
    fn add_episode(
        &mut self,
        episode: &SimulatedEpisode<'_>,
        _: &mut ExportReport,
    ) -> anyhow::Result<()> {
        for record in &episode.log.records {
            if let Record::Infos { tick, json } = record {
                self.add(episode, *tick, json)?;
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>, report: &mut ExportReport) -> anyhow::Result<()> {
        report.tables.push(self.infos.finish()?);
        Ok(())
    }
}
