//! A session that gets what another one knew, without packets and time, to show what the other one showed.

use env_core::contract::Policy;
use env_core::{Action, World};
use protocol::Seat;
use protocol::change::Change;
use protocol::datagram::TICK_LIMIT;

use super::Session;
use crate::effects::ChangeError;

impl<W: World> Session<W> {
    /// True if a seat belongs to a person, as far as known.
    pub(crate) fn is_persons(&self, seat: Seat) -> bool {
        self.roster.people().contains(seat.index())
    }

    /// The first input of a seat that is not known.
    pub(crate) fn known_through(&self, seat: usize) -> u32 {
        self.inputs.known_through(seat)
    }

    /// Predicts as a session that was resumed at this tick.
    pub(crate) fn begin_at(&mut self, tick: u32) {
        self.inputs.begin(tick);
    }

    /// Keeps no states beside those of the window and the first one: no seat will change hands.
    pub(crate) fn keep_few_states(&mut self) {
        self.spacing = u32::MAX;
    }

    /// Learns a change.
    pub(crate) fn learn_change(
        &mut self,
        change: &Change,
        partner: Option<Box<dyn Policy>>,
    ) -> Result<(), ChangeError> {
        self.check_order(change)?;
        self.check_inputs(change)?;
        self.apply_change(change, partner);
        Ok(())
    }

    /// Learns inputs that follow or replace those that are known.
    pub(crate) fn learn_inputs(&mut self, seat: usize, first: u32, inputs: &[Action]) {
        let begun = self.roster.start(seat);
        let inputs = (first..TICK_LIMIT).zip(inputs);
        for (tick, &input) in inputs.skip_while(|&(tick, _)| tick < begun) {
            let have = self.known_through(seat);
            let is_written = tick < have || tick < self.current;
            if tick > have {
                break;
            }
            if is_written && self.inputs.row(tick)[seat] != input {
                self.sound = self.sound.min(tick);
            }
            if tick < have {
                self.inputs.set(tick, seat, input);
            } else {
                self.inputs.push(seat, input);
            }
        }
    }

    /// Shows the state before a tick, with all known inputs. Returns whether there is such a state within `left` ticks,
    /// and subtracts the simulated ticks from `left`. The state is further back than the window only if seats changed
    /// hands.
    pub(crate) fn go_to(&mut self, tick: u32, left: &mut u64) -> bool {
        let saved = self
            .reached
            .saturating_sub(u32::from(self.config.window) + 1);
        // When it goes back, it repeats one tick, to know whether that was the last.
        let before = if tick < self.current {
            tick.saturating_sub(1)
        } else {
            tick
        };
        let earliest = self.first_wrong().min(before);
        let is_far = |tick: u32| tick < saved && tick < self.current;
        if is_far(before) && self.roster.changes() == 0 || tick >= TICK_LIMIT {
            return false;
        }
        if is_far(earliest) {
            self.load_snapshot(earliest);
        } else if earliest < self.current {
            self.current = earliest;
            self.load(self.snapshot_slot(earliest));
        }
        self.sound = self.sound.min(self.current);
        self.forget_after();
        while self.current < tick && self.end.is_none() && *left > 0 {
            self.simulate(true);
            *left -= 1;
        }
        self.current == tick
    }
}
