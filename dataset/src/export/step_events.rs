//! Events of the environment, one row each; and parts of rewards, one row an amount that was earned under a name.

use protocol::Seat;

use super::column::row;
use super::output::Output;
use super::report::ExportReport;
use super::simulation::{EpisodeTable, Happenings, SimulatedEpisode};
use super::table::{EpisodeKeys, Table};

row! {
    /// One row per event of the environment, such as a delivery; the seat is the one that caused it.
    struct StepEventRow<'a> {
        /// The place of the event within its tick, from 0; the numbers of people who withdrew are missing.
        number: usize,
        /// The tick in which it happened.
        tick: u32,
        /// The name that the environment gives to this kind of event.
        kind: &'a str,
        /// The seat to which it happened; missing if there is none, or its person withdrew.
        to_seat: Option<u8>,
        /// How much; the page of the environment says what it means.
        value: f32,
    }
}

row! {
    /// One row per part of a reward, for environments that name the parts; parts of 0 are left out.
    struct RewardRow<'a> {
        /// The tick for which it was given.
        tick: u32,
        /// The name of the part.
        component: &'a str,
        /// How much; over all parts of a seat and tick the sum is `reward` in `steps`.
        amount: f32,
    }
}

/// The tables of events and of the parts of rewards.
pub(super) struct StepEventTables {
    events: Table,
    rewards: Table,
}

impl StepEventTables {
    pub(super) fn create(output: &Output) -> anyhow::Result<Self> {
        Ok(Self {
            events: Table::create::<(EpisodeKeys<'_>, StepEventRow<'_>)>(output, "step_events")?,
            rewards: Table::create::<(EpisodeKeys<'_>, RewardRow<'_>)>(output, "rewards")?,
        })
    }

    fn add(&mut self, episode: &SimulatedEpisode<'_>, tick: &Happenings) -> anyhow::Result<()> {
        let name = |names: &'_ [String], at: usize| names.get(at).cloned().unwrap_or_default();
        let seats = episode.log.header.controllers.len();
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
            self.events.add(&(episode.keys(Seat(event.seat)), row))?;
        }
        for &(seat, component, amount) in tick.rewards.iter().filter(|(seat, ..)| is_shown(*seat)) {
            let row = RewardRow {
                tick: tick.tick.0,
                component: &name(&episode.spec.components, component),
                amount,
            };
            self.rewards.add(&(episode.keys(seat), row))?;
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
