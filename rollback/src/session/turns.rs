//! Turns: a tick is played once everybody who acts in it has chosen, however long that takes.
//!
//! Nothing is predicted, so nobody sees another's choice before the tick is played. A seat that does not act in a tick,
//! as the world says ([`World::acting`]), chooses the no-op without being asked.

use env_core::{Action, World};
use protocol::Tick;

use super::Session;

impl<W: World> Session<W> {
    /// In turns: true if the person here has a choice to make for the next tick.
    pub fn is_own_turn(&mut self) -> bool {
        self.resimulate();
        let local = self.local().filter(|&local| self.is_choosing(local));
        local.is_some_and(|local| self.may_take_turns() && self.acts(local))
    }

    /// Takes the choice of the local person; returns its tick, if it counts.
    pub(super) fn take_turn(&mut self, action: Action) -> Option<Tick> {
        let local = self.local()?;
        if usize::from(action) >= self.spec.actions.len() || !self.is_own_turn() {
            return None;
        }
        let tick = self.inputs.known_through(local);
        self.inputs.push(local, action);
        self.take_turns();
        self.send_all();
        Some(Tick(tick))
    }

    /// Plays every tick for which everybody has chosen.
    pub(super) fn take_turns(&mut self) {
        while self.config.rules.turns && self.may_take_turns() {
            let local = self.local().filter(|&local| self.is_choosing(local));
            if let Some(local) = local.filter(|&local| !self.acts(local)) {
                self.inputs.push(local, self.spec.noop);
                self.send_all();
            }
            if self.is_undecided() {
                break;
            }
            self.simulate_next();
            self.confirm_ticks();
        }
    }

    /// In turns: true if somebody has not yet chosen for the next tick.
    pub(super) fn is_undecided(&self) -> bool {
        self.config.rules.turns
            && self
                .roster
                .people()
                .iter()
                .any(|seat| self.is_choosing(seat))
    }

    fn may_take_turns(&self) -> bool {
        self.now_us >= self.schedule.due_us(0) && self.may_run()
    }

    /// True if a person plays a seat in the next tick, and their input is not here.
    fn is_choosing(&self, seat: usize) -> bool {
        let awaited = self.roster.awaited_tick(seat, self.current) == self.current;
        awaited && self.inputs.known_through(seat) <= self.current
    }

    /// True if the choice of a seat counts in the next tick.
    fn acts(&mut self, seat: usize) -> bool {
        self.world.acting() >> seat & 1 == 1
    }
}
