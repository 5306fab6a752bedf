//! A session that is told what another knew, without packets and time, to show what that one showed.

use env_core::contract::Policy;
use env_core::{Action, World};
use protocol::Seat;
use protocol::change::Change;
use protocol::datagram::TICK_LIMIT;

use super::Session;
use crate::effects::ChangeError;

impl<W: World> Session<W> {
    /// Whether a seat belongs to a person, as far as known.
    pub(crate) fn is_persons(&self, seat: Seat) -> bool {
        self.roster.people().contains(seat.index())
    }

    /// The first input of a seat that is not known.
    pub(crate) fn have(&self, seat: usize) -> u32 {
        self.inputs.have(seat)
    }

    /// Predicts as a session that was resumed at this tick.
    pub(crate) fn begin_at(&mut self, tick: u32) {
        self.inputs.begin(tick);
    }

    /// Learns a change; the first tick that has to be simulated again.
    pub(crate) fn learn_change(
        &mut self,
        change: &Change,
        partner: Option<Box<dyn Policy>>,
    ) -> Result<u32, ChangeError> {
        self.check_order(change)?;
        self.check_inputs(change)?;
        Ok(self.apply(change, partner))
    }

    /// Learns inputs that follow or replace those that are known; the first tick that has to be simulated again.
    pub(crate) fn learn_inputs(&mut self, seat: usize, first: u32, inputs: &[Action]) -> u32 {
        let mut wrong = u32::MAX;
        let begun = self.roster.start(seat);
        let inputs = (first..TICK_LIMIT).zip(inputs);
        for (tick, &input) in inputs.skip_while(|&(tick, _)| tick < begun) {
            let have = self.have(seat);
            let is_written = tick < have || tick < self.current;
            if tick > have {
                break;
            }
            if is_written && self.inputs.row(tick)[seat] != input {
                wrong = wrong.min(tick);
            }
            if tick < have {
                self.inputs.set(tick, seat, input);
            } else {
                self.inputs.push(seat, input);
            }
        }
        wrong
    }

    /// Shows the state before a tick, simulated again from `wrong` on; whether there is such a state.
    pub(crate) fn go_to(&mut self, tick: u32, wrong: u32) -> bool {
        let people = self.roster.people();
        let stale = |&seat: &usize| {
            let have = self.have(seat);
            have < self.current && self.inputs.row(have)[seat] != self.predicted(seat)
        };
        let stale = people.iter().filter(stale).map(|seat| self.have(seat));
        let wrong = stale.fold(wrong, u32::min);
        let saved = self
            .reached
            .saturating_sub(u32::from(self.config.window) + 1);
        if wrong.min(tick.saturating_sub(1)) < saved || tick >= TICK_LIMIT {
            return false;
        }
        if wrong < self.current {
            self.roll_back(wrong);
        }
        if tick < self.current {
            // One tick again, to know whether it was the last.
            self.current = tick.saturating_sub(1);
            self.load(self.slot(self.current));
            self.end = None;
        }
        while self.current < tick && self.end.is_none() {
            self.simulate(true);
        }
        self.current == tick
    }
}
