//! Transfer of a seat: where it is cut, the last inputs of its person, and the tick at which another controller
//! continues.

use protocol::change::{Change, LEAD_S};
use protocol::datagram::MAX_INPUTS;
use protocol::log::{Header, Record};
use protocol::{Controller, Life, Seat, Tick};

use super::inputs::SeatInputs;
use super::{Episode, MAX_CHANGES_LEN, Refused, encoded_len};
use server_core::arbiter::{KnownInputs, Recheck, Snapshot};

/// The most inputs that a change brings: two minutes at 60 Hz, which the server may have been away.
const MAX_BACKFILL: u32 = 8_192;

impl Episode {
    /// Takes a seat from its person, after the last input that their own page has said: what other pages have of them
    /// beyond counts for nothing.
    ///
    /// # Errors
    /// [`Refused`]; nothing has then changed, but for [`Refused::Disk`].
    pub fn take(&mut self, seat: Seat, controller: Controller) -> Result<Change, Refused> {
        if self.controller(seat) != Some(&Controller::Human) {
            return Err(Refused::Change("no person has it"));
        }
        if controller == Controller::Human {
            return Err(Refused::Change("a person cannot take it"));
        }
        let tick = self.said(seat).max(self.through());
        let change = Change {
            number: 0,
            seat,
            tick,
            controller,
            life: Life(0),
            from: tick,
            inputs: self
                .inputs_between(seat, self.first_lacked(seat), tick)
                .inputs,
            key: None,
        };
        self.change(change)
    }

    /// Gives a seat that has no person to another controller, a little after the tick that is `due` for others; at once if
    /// nobody else plays. `key` is that of the page of a person.
    ///
    /// # Errors
    /// [`Refused`]; nothing has then changed, but for [`Refused::Disk`].
    pub fn give(
        &mut self,
        seat: Seat,
        controller: Controller,
        key: Option<[u8; 32]>,
        due: Option<Tick>,
    ) -> Result<Change, Refused> {
        match self.controller(seat) {
            Some(Controller::Ai { .. } | Controller::Vacant) => {}
            Some(Controller::Human) => return Err(Refused::Change("a person has it")),
            None => return Err(Refused::Change("it is not there")),
        }
        // Pages wait for nobody in a seat that never had a person.
        let Some(Change { tick: entered, .. }) = self.last(seat) else {
            return Err(Refused::Change("no person has lost it"));
        };
        let (entered, from) = (*entered, self.through());
        let due = due.filter(|_| !self.header.rules.turns);
        let first = due.map_or(from, |due| {
            Tick(due.max(from).0.saturating_add(lead(&self.header)))
        });
        let change = Change {
            number: 0,
            seat,
            tick: first.max(entered),
            controller,
            life: Life(0),
            from,
            inputs: Vec::new(),
            key,
        };
        self.change(change)
    }

    /// The replica's state at [`Self::through`].
    pub fn snapshot(&mut self) -> Snapshot {
        self.replica.snapshot()
    }

    /// Numbers a change and makes it durable, with the rows that nothing keeps from being played any more.
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
        let len = encoded_len(&record).map_err(|_| full())?;
        if self.changes_len + len > MAX_CHANGES_LEN {
            return Err(full());
        }
        self.replica.change(&change)?;
        self.append(vec![record])?;
        let first = self.through();
        let (rows, stopped) = self.play();
        let mut records = self.played(first, rows);
        records.extend(self.compare());
        self.append(records)?;
        if stopped {
            return Err(Refused::Change("the environment broke down"));
        }
        Ok(change)
    }

    /// The inputs that the page of a seat has said in its present life, from the first tick that some page may lack.
    pub fn known_inputs(&self, seat: Seat) -> KnownInputs {
        let end = self.said(seat);
        self.inputs_between(seat, self.first_lacked(seat), end)
    }

    /// The request to a page to say its digests anew, with the inputs of all other people since they were equal.
    pub fn recheck(&mut self, seat: Seat) -> Recheck {
        let others = (0..).map(Seat).take(self.seats());
        let others = others
            .filter(|other| *other != seat && self.controller(*other) == Some(&Controller::Human));
        let others: Vec<Seat> = others.collect();
        let told = others.iter().map(|other| self.said(*other)).min();
        self.pages[seat.index()].told = told.unwrap_or(Tick(u32::MAX));
        let page = &self.pages[seat.index()];
        let inputs = |other| self.inputs_between(other, page.agreed, self.said(other));
        Recheck {
            number: page.recheck,
            agreed: page.agreed,
            inputs: others.into_iter().map(inputs).collect(),
        }
    }

    /// The first tick of whose inputs of a seat some page may lack one, or have another: nobody's own inputs are further
    /// beyond those of the others than a packet holds, who comes back began at what was durable, and what a page was told
    /// otherwise is found out by its digests, unless it says none for long.
    fn first_lacked(&self, seat: Seat) -> Tick {
        let others = (0..).map(Seat).take(self.seats());
        let others = others
            .filter(|other| *other != seat && self.controller(*other) == Some(&Controller::Human));
        let back = |packets: usize| {
            let inputs = (packets * MAX_INPUTS) as u32;
            Tick(self.through().0.saturating_sub(inputs))
        };
        let agreed = others.clone().map(|other| self.pages[other.index()].agreed);
        let least = agreed.fold(back(1), Tick::min).max(back(8));
        let silent = others.filter_map(|other| Some((other, self.last(other)?)));
        let silent = silent.filter(|(other, back)| self.said(*other) <= back.tick);
        silent.map(|(_, back)| back.from).fold(least, Tick::min)
    }

    /// The inputs of a seat in its present life between two ticks, at most [`MAX_BACKFILL`].
    fn inputs_between(&self, seat: Seat, first: Tick, end: Tick) -> KnownInputs {
        let entered = self.last(seat).map_or(Tick(0), |change| change.tick);
        let first = first.max(entered).0.max(end.0.saturating_sub(MAX_BACKFILL));
        let first = first.min(end.0);
        let rows = self.rows.chunks_exact(self.seats()).skip(first as usize);
        let durable = rows.map(|row| row[seat.index()]);
        let ahead = self.inputs[seat.index()].iter();
        let unplayed = Tick(first).max(self.through());
        let ahead = ahead.flat_map(|inputs: &SeatInputs| inputs.from(unplayed));
        let inputs = durable.chain(ahead).take((end.0 - first) as usize);
        KnownInputs {
            seat,
            life: self.life(seat),
            first: Tick(first),
            inputs: inputs.collect(),
        }
    }
}

/// How many ticks ahead a seat is given. In turns nobody else can have played any.
pub fn lead(header: &Header) -> u32 {
    match header.rules.turns {
        true => 0,
        false => LEAD_S * u32::from(header.tick_hz),
    }
}

#[cfg(test)]
mod tests;
