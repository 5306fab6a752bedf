//! Transfer of a seat: where it is cut, the last inputs of its person, and the tick at which another controller
//! continues.

use protocol::change::{Change, LEAD_S};
use protocol::log::{Header, Record};
use protocol::{Controller, Life, Seat, Tick};

use super::inputs::SeatInputs;
use super::{Episode, MAX_CHANGES_LEN, Page, Refused, encoded_len};
use server_core::arbiter::Snapshot;

impl Episode {
    /// Takes a seat from its person, after the last input that their own page has sent, or at the furthest tick that a
    /// change can say: later inputs at other pages do not count.
    ///
    /// # Errors
    /// [`Refused`]; nothing has then changed, except after [`Refused::Disk`].
    pub fn take_seat(&mut self, seat: Seat, controller: Controller) -> Result<Change, Refused> {
        if self.controller(seat) != Some(&Controller::Human) {
            return Err(Refused::Change("no person has it"));
        }
        if controller == Controller::Human {
            return Err(Refused::Change("a person cannot take it"));
        }
        // On a host the next tick is anybody's, and no page needs inputs.
        let (tick, inputs) = match self.hosted.is_some() {
            true => (self.recorded_through(), Vec::new()),
            false => {
                let tick = self.cut(seat);
                (tick, self.backfill_actions(seat, tick))
            }
        };
        let change = Change {
            number: 0,
            seat,
            tick,
            controller,
            life: Life(0),
            from: tick,
            inputs,
            key: None,
        };
        self.apply_change(change)
    }

    /// Gives a seat that has no person to another controller, a little after the tick that is `due` for others, or
    /// immediately if nobody else plays. `key` is the key of a person's page.
    ///
    /// # Errors
    /// [`Refused`]; nothing has then changed, except after [`Refused::Disk`].
    pub fn give_seat(
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
        let (entered, from) = (*entered, self.recorded_through());
        let due = due.filter(|_| !self.header.rules.turns && self.hosted.is_none());
        let first = due.map_or(from, |due| {
            Tick(due.max(from).0.saturating_add(lead_ticks(&self.header)))
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
        self.apply_change(change)
    }

    /// The replica's state at [`Self::recorded_through`].
    pub fn snapshot(&mut self) -> Snapshot {
        let mut snapshot = self.replica.snapshot();
        if self.hosted.is_some() {
            // Pages of a host are shown the world, and know nothing of its state.
            snapshot.state.clear();
            snapshot.rewards.clear();
            snapshot.partners.clear();
            snapshot.digest = 0;
        }
        snapshot
    }

    /// Numbers a change and makes it durable, with the rows that nothing keeps from being played any more.
    pub(super) fn apply_change(&mut self, change: Change) -> Result<Change, Refused> {
        if self.ending.is_some() || self.ending_so_far().is_some() {
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
        self.flush()?;
        self.replica.apply_change(&change)?;
        self.append(vec![record])?;
        self.empty_hand(change.seat);
        if self.hosted.is_some() {
            return Ok(change);
        }
        let first = self.recorded_through();
        let (rows, stopped) = self.play();
        let mut records = self.record_actions(first, rows);
        records.extend(self.compare());
        self.append(records)?;
        if stopped {
            return Err(Refused::Change("the environment broke down"));
        }
        Ok(change)
    }

    /// Applies a change that is durable and `len` bytes long.
    pub(super) fn remember_change(&mut self, change: Change, len: usize) {
        self.limit_told(&change);
        let (seat, page) = (change.seat, &mut self.pages[change.seat.index()]);
        // It has been asked nothing yet.
        *page = Page {
            agreed: page.agreed,
            len: page.len,
            notes: page.notes,
            ..Page::default()
        };
        // A page that loses the seat has last words.
        if change.controller == Controller::Human {
            page.notes = 0;
        }
        // Nobody's state after the change is as they thought before they knew it.
        let stands = |tick: Tick, claimant: Seat| claimant != seat && tick <= change.tick;
        self.claims
            .retain(|(tick, claimant), _| stands(*tick, *claimant));
        let key = change
            .key
            .filter(|_| change.controller == Controller::Human);
        let (episode, life, first) = (&self.header.episode, change.life, change.tick);
        self.inputs[seat.index()] = key.map(|key| SeatInputs::new(episode, seat, life, first, key));
        self.changes_len += len;
        self.changes.push(change);
    }
}

/// Returns how many ticks ahead a seat is given. In turns, the others continue only with the person's choices.
pub fn lead_ticks(header: &Header) -> u32 {
    match header.rules.turns {
        true => 0,
        false => LEAD_S * u32::from(header.tick_hz),
    }
}

/// Returns whether one controller is the AI partner of another with a directive.
pub fn is_directive(before: &Controller, after: &Controller) -> bool {
    match (before, after) {
        (Controller::Ai { policy: before }, Controller::Ai { policy: after }) => {
            policy::is_told(before, after)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
