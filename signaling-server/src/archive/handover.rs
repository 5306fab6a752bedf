//! A seat changes hands: where it is cut, what its person last played, and from where another goes on.

use protocol::change::{Change, LEASE_S};
use protocol::control::Report;
use protocol::datagram::MAX_INPUTS;
use protocol::log::Record;
use protocol::{Controller, Life, Seat, Tick};

use super::{Episode, MAX_CHANGES_LEN, Refused, encoded};
use crate::hub::Snapshot;

/// The most inputs that a change brings: two minutes at 60 Hz, which the server may have been away.
const MAX_BACKFILL: u32 = 8_192;

impl Episode {
    /// Takes a seat from its person at the latest tick that a report or the file has inputs for.
    /// Reports, in the order of their pages' seats, of another seat or life are ignored, as are impossible ones.
    ///
    /// # Errors
    /// [`Refused`]; nothing has then changed, but for [`Refused::Disk`].
    pub fn take(
        &mut self,
        seat: Seat,
        controller: Controller,
        reports: &[Report],
    ) -> Result<Change, Refused> {
        if self.controller(seat) != Some(&Controller::Human) {
            return Err(Refused::Change("no person has it"));
        }
        if controller == Controller::Human {
            return Err(Refused::Change("a person cannot take it"));
        }
        let life = self.life(seat);
        let reports: Vec<&Report> = reports
            .iter()
            .filter(|report| report.seat == seat && report.life == life && self.is_sound(report))
            .collect();
        let entered = self.last(seat).map_or(Tick(0), |change| change.tick);
        let furthest = reports.iter().map(|report| report.have).max();
        let tick = self
            .through()
            .max(entered)
            .max(furthest.unwrap_or_default());
        let inputs = self.backfill(seat, entered, tick, &reports);
        self.change(Change {
            number: 0,
            seat,
            tick,
            controller,
            life: Life(0),
            from: tick,
            inputs,
        })
    }

    /// Gives a seat that has no person to another controller, beyond everything that can be confirmed.
    ///
    /// # Errors
    /// [`Refused`]; nothing has then changed, but for [`Refused::Disk`].
    pub fn give(&mut self, seat: Seat, controller: Controller) -> Result<Change, Refused> {
        match self.controller(seat) {
            Some(Controller::Ai { .. } | Controller::Vacant) => {}
            Some(Controller::Human) => return Err(Refused::Change("a person has it")),
            None => return Err(Refused::Change("it is not there")),
        }
        // Nothing holds back what is confirmed of a seat that never had a person.
        let Some(Change { tick: entered, .. }) = self.last(seat) else {
            return Err(Refused::Change("no person has lost it"));
        };
        let entered = *entered;
        let from = self.through();
        let lease = LEASE_S * u32::from(self.header.tick_hz) + 1;
        self.change(Change {
            number: 0,
            seat,
            tick: Tick(from.0.saturating_add(lease)).max(entered),
            controller,
            life: Life(0),
            from,
            inputs: Vec::new(),
        })
    }

    /// The replica's state at [`Self::through`].
    pub fn snapshot(&mut self) -> Snapshot {
        self.replica.snapshot()
    }

    /// Numbers a change and makes it durable.
    fn change(&mut self, change: Change) -> Result<Change, Refused> {
        if self.ending.is_some() || self.over().is_some() {
            return Err(Refused::Change("the episode is over"));
        }
        let full = || Refused::Change("seats have changed hands too often");
        let change = Change {
            number: u16::try_from(self.changes.len()).map_err(|_| full())?,
            life: self.life(change.seat).next(),
            ..change
        };
        let record = Record::Change(change.clone());
        let len = encoded(&record).map_err(|_| full())?.len();
        if self.changes_len + len > MAX_CHANGES_LEN {
            return Err(full());
        }
        self.replica.change(&change)?;
        self.append(vec![record])?;
        Ok(change)
    }

    /// Whether a report can be what a page has.
    fn is_sound(&self, report: &Report) -> bool {
        let spec = self.replica.spec();
        let is_action = |input: &u16| usize::from(*input) < spec.actions.len();
        // Inputs are given for ticks to come, also for some that the end comes before.
        let most = spec.horizon.saturating_add(MAX_INPUTS as u32);
        let sound = report.have.0 <= most
            && report.inputs.len() <= report.have.0 as usize
            && report.inputs.iter().all(is_action);
        if !sound {
            tracing::warn!(seat = report.seat.0, "an impossible report is ignored");
        }
        sound
    }

    /// The inputs of a seat up to its cut: as far back as the report goes that reaches the cut, and as a page needs
    /// them that is about to take its seat and begins behind what is durable. Where reports contradict each other,
    /// the file and then the first of them is right.
    fn backfill(&self, seat: Seat, entered: Tick, cut: Tick, reports: &[&Report]) -> Vec<u16> {
        let furthest = reports.iter().find(|report| report.have == cut);
        let told = furthest.map_or(cut, |report| first(report));
        let returning = (0..).map(Seat).take(self.seats());
        let returning = returning.filter_map(|seat| self.last(seat));
        let returning = returning
            .filter(|back| back.controller == Controller::Human && self.through() <= back.tick);
        let needed = returning.map(|back| back.from).fold(told, Tick::min);
        let start = needed
            .max(entered)
            .0
            .max(cut.0.saturating_sub(MAX_BACKFILL));
        let mut equivocations = 0;
        let known = |tick: u32| {
            let durable = self.rows.get(tick as usize * self.seats() + seat.index());
            let told = reports.iter().filter_map(|report| input(report, tick));
            let mut told = durable.copied().into_iter().chain(told);
            let right = told.next()?;
            equivocations += told.filter(|other| *other != right).count();
            Some(right)
        };
        let mut inputs: Vec<u16> = (start..cut.0).rev().map_while(known).collect();
        inputs.reverse();
        if equivocations > 0 {
            tracing::warn!(
                seat = seat.0,
                equivocations,
                "a page has told others different inputs"
            );
        }
        inputs
    }
}

/// The tick of the first input of a report.
fn first(report: &Report) -> Tick {
    Tick(report.have.0 - report.inputs.len() as u32)
}

/// What a report says was played in a tick.
fn input(report: &Report, tick: u32) -> Option<u16> {
    let index = tick.checked_sub(first(report).0)?;
    report.inputs.get(index as usize).copied()
}

#[cfg(test)]
mod tests;
