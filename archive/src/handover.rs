//! Transfer of a seat: where it is cut, the last inputs of its person, and the tick at which another controller
//! continues.

use protocol::change::{Change, LEASE_S};
use protocol::control::Report;
use protocol::datagram::MAX_INPUTS;
use protocol::log::{Header, Record};
use protocol::{Controller, Life, Seat, Tick};

use super::{Episode, MAX_CHANGES_LEN, Refused, encoded};
use server_core::arbiter::Snapshot;

/// The most inputs that a change brings: two minutes at 60 Hz, which the server may have been away.
const MAX_BACKFILL: u32 = 8_192;

impl Episode {
    /// Takes a seat from its person at the latest tick that a report or the file has inputs for. Reports come with
    /// their page's seat and in their order; those of another seat or life are ignored, as are impossible ones and
    /// those that others rule out. Where they contradict the right inputs, the file records it.
    ///
    /// # Errors
    /// [`Refused`]; nothing has then changed, but for [`Refused::Disk`].
    pub fn take(
        &mut self,
        seat: Seat,
        controller: Controller,
        reports: &[(Seat, Report)],
    ) -> Result<Change, Refused> {
        if self.controller(seat) != Some(&Controller::Human) {
            return Err(Refused::Change("no person has it"));
        }
        if controller == Controller::Human {
            return Err(Refused::Change("a person cannot take it"));
        }
        let life = self.life(seat);
        let counts =
            |report: &Report| report.seat == seat && report.life == life && self.is_sound(report);
        let mut reports: Vec<&(Seat, Report)> = reports
            .iter()
            .filter(|(from, report)| from.index() < self.seats() && counts(report))
            .collect();
        self.agree(&mut reports);
        let entered = self.last(seat).map_or(Tick(0), |change| change.tick);
        let furthest = reports.iter().map(|(_, report)| report.have).max();
        let tick = self
            .through()
            .max(entered)
            .max(furthest.unwrap_or_default());
        let (inputs, equivocations) = self.backfill(seat, entered, tick, &reports);
        let change = Change {
            number: 0,
            seat,
            tick,
            controller,
            life: Life(0),
            from: tick,
            inputs,
        };
        self.change(change, equivocations)
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
        let lease = lease(&self.header);
        let change = Change {
            number: 0,
            seat,
            tick: Tick(from.0.saturating_add(lease)).max(entered),
            controller,
            life: Life(0),
            from,
            inputs: Vec::new(),
        };
        self.change(change, Vec::new())
    }

    /// The replica's state at [`Self::through`].
    pub fn snapshot(&mut self) -> Snapshot {
        self.replica.snapshot()
    }

    /// Numbers a change and makes it durable, after the `records` found on the way.
    fn change(&mut self, change: Change, mut records: Vec<Record>) -> Result<Change, Refused> {
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
        records.push(record);
        self.append(records)?;
        Ok(change)
    }

    /// True if a report can describe the inputs of a page.
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

    /// Leaves out the reports that the others rule out. A report begins where its page has confirmed all before, and
    /// that is no further than any other page has inputs, or is not asked for them because it came back only later.
    /// Those that disagree with the most others go first, and of two the further one, whose inputs are missing.
    fn agree(&self, reports: &mut Vec<&(Seat, Report)>) {
        let reach = |(from, report): &(Seat, Report)| {
            let entered = self.last(*from).map_or(Tick(0), |change| change.tick);
            report.have.max(entered)
        };
        let differ = |one: &(Seat, Report), other: &(Seat, Report)| {
            first(&one.1) > reach(other) || first(&other.1) > reach(one)
        };
        loop {
            let against = |one| reports.iter().filter(|other| differ(one, other)).count();
            let ranks = reports.iter().map(|one| (against(one), one.1.have));
            let Some((worst, (1.., _))) = ranks.enumerate().max_by_key(|(_, rank)| *rank) else {
                return;
            };
            let (seat, _) = reports.remove(worst);
            tracing::warn!(seat = seat.0, "a report that others rule out is ignored");
        }
    }

    /// The inputs of a seat up to its cut: as far back as the report that reaches the cut goes, as a page about to take
    /// a seat needs them, and as pages have different ones. Where reports contradict each other, the file and then the
    /// first of them is right; the records of that come with the inputs.
    fn backfill(
        &self,
        seat: Seat,
        entered: Tick,
        cut: Tick,
        reports: &[&(Seat, Report)],
    ) -> (Vec<u16>, Vec<Record>) {
        let furthest = reports.iter().find(|(_, report)| report.have == cut);
        let told = furthest.map_or(cut, |(_, report)| first(report));
        let returning = (0..).map(Seat).take(self.seats());
        let returning = returning.filter_map(|seat| self.last(seat));
        let returning = returning
            .filter(|back| back.controller == Controller::Human && self.through() <= back.tick);
        let known = |tick: u32| {
            let durable = self.rows.get(tick as usize * self.seats() + seat.index());
            let mut told = reports.iter().filter_map(|(_, report)| input(report, tick));
            durable.copied().or_else(|| told.next())
        };
        let (mut needed, mut found) = (told, Vec::new());
        for (by, report) in reports {
            let mut ticks = first(report).max(entered).0..report.have.0;
            let differs = |tick: u32| {
                let (durable, told) = (known(tick)?, input(report, tick)?);
                (durable != told).then_some((Tick(tick), durable, told))
            };
            let Some((tick, durable, told)) = ticks.find_map(differs) else {
                continue;
            };
            needed = needed.min(tick);
            if !self.equivocations.contains(&(seat, *by)) {
                found.push(Record::Equivocation {
                    seat,
                    tick,
                    by: *by,
                    durable,
                    told,
                });
            }
        }
        let needed = returning.map(|back| back.from).fold(needed, Tick::min);
        let start = needed
            .max(entered)
            .0
            .max(cut.0.saturating_sub(MAX_BACKFILL));
        let mut inputs: Vec<u16> = (start..cut.0).rev().map_while(known).collect();
        inputs.reverse();
        (inputs, found)
    }
}

/// How many ticks beyond what is durable a seat can be given back first. In turns nobody else can have confirmed any.
pub fn lease(header: &Header) -> u32 {
    match header.rules.turns {
        true => 0,
        false => LEASE_S * u32::from(header.tick_hz) + 1,
    }
}

/// The tick of the first input of a report.
fn first(report: &Report) -> Tick {
    Tick(report.have.0 - report.inputs.len() as u32)
}

/// A report's input for a tick; `None` if it does not cover the tick.
fn input(report: &Report, tick: u32) -> Option<u16> {
    let index = tick.checked_sub(first(report).0)?;
    report.inputs.get(index as usize).copied()
}

#[cfg(test)]
mod tests;
