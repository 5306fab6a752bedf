//! Events of the environment, one row each; and parts of rewards, one row an amount that was earned under a name.

use std::path::Path;

use protocol::Seat;
use serde::Serialize;

use super::report::ExportReport;
use super::simulation::{EpisodeTable, Happenings, SimulatedEpisode};
use super::table::{EpisodeKeys, Table};

/// An event: who caused it is the seat of the row.
#[derive(Default, Serialize)]
struct StepEventRow<'a> {
    /// Within the tick, from 0.
    number: usize,
    tick: u32,
    kind: &'a str,
    /// The seat to which it happened.
    to_seat: Option<u8>,
    value: f32,
}

/// A part of a reward.
#[derive(Default, Serialize)]
struct RewardRow<'a> {
    tick: u32,
    component: &'a str,
    amount: f32,
}

/// The tables of events and of the parts of rewards.
pub(super) struct StepEventTables {
    events: Table,
    rewards: Table,
}

impl StepEventTables {
    pub(super) fn create(out: &Path) -> anyhow::Result<Self> {
        Ok(Self {
            events: Table::create::<(EpisodeKeys<'_>, StepEventRow<'_>)>(out, "step_events")?,
            rewards: Table::create::<(EpisodeKeys<'_>, RewardRow<'_>)>(out, "rewards")?,
        })
    }

    fn add(&mut self, episode: &SimulatedEpisode<'_>, tick: &Happenings) -> anyhow::Result<()> {
        let header = &episode.log.header;
        let name = |names: &'_ [String], at: usize| names.get(at).cloned().unwrap_or_default();
        let seats = header.controllers.len();
        let is_shown = |seat: Seat| seat.index() < seats && !episode.left_out.contains(&seat);
        for (number, event) in tick.events.iter().enumerate() {
            if !is_shown(Seat(event.seat)) {
                continue;
            }
            let row = StepEventRow {
                number,
                tick: tick.tick.0,
                kind: &name(&episode.spec.events, usize::from(event.kind)),
                to_seat: event.to.filter(|to| is_shown(Seat(*to))),
                value: event.value,
            };
            self.events
                .add(&(EpisodeKeys::new(header, Seat(event.seat)), row))?;
        }
        for &(seat, component, amount) in tick.rewards.iter().filter(|(seat, ..)| is_shown(*seat)) {
            let row = RewardRow {
                tick: tick.tick.0,
                component: &name(&episode.spec.components, component),
                amount,
            };
            self.rewards.add(&(EpisodeKeys::new(header, seat), row))?;
        }
        Ok(())
    }
}

impl EpisodeTable for StepEventTables {
    fn add_episode(
        &mut self,
        episode: &SimulatedEpisode<'_>,
        _: &mut ExportReport,
    ) -> anyhow::Result<()> {
        let mut ticks = episode.happenings.iter();
        ticks.try_for_each(|tick| self.add(episode, tick))
    }

    fn finish(self: Box<Self>, report: &mut ExportReport) -> anyhow::Result<()> {
        for table in [self.events, self.rewards] {
            report.tables.push(table.finish()?);
        }
        Ok(())
    }
}
