//! Ticks: sampled, simulated, taken back.

use env_core::{Action, World, choose_action};
use protocol::{Seat, Tick};

use super::Session;
use crate::effects::SessionEvent;
use crate::live::Live;
use crate::roster::Hand;

impl<W: World> Session<W> {
    /// Gives the local person's action to the next free tick, unless an earlier run of this tick already did. When a
    /// person comes back late, the action that they hold enters all ticks that are theirs by now.
    pub(super) fn sample_action(&mut self) {
        let Some(local) = self.local() else { return };
        while self.inputs.known_through(local) <= self.current + u32::from(self.config.input_delay)
        {
            let action = self.presses.next();
            self.inputs.push(local, action);
        }
    }

    /// Simulates the next tick. Saves every state to which the session may have to go back: all that are not
    /// immediately confirmed.
    pub(super) fn simulate_next(&mut self) {
        let settled = self.confirmable_tick().0 > self.current;
        self.simulate(!settled);
    }

    /// Simulates one tick with the known inputs, and predictions for the rest.
    pub(super) fn simulate(&mut self, save: bool) {
        let tick = self.current;
        self.roster.begin(tick, self.config.seed);
        if save {
            self.save(self.snapshot_slot(tick));
        }
        for seat in 0..usize::from(self.layout.seats) {
            let action = self.action_of(seat);
            self.note(tick, seat, action);
            self.inputs.set(tick, seat, action);
        }
        let over = self.world.step(self.inputs.row(tick)).over || self.is_ended_by_study(tick + 1);
        self.current += 1;
        self.sound = self.current;
        self.reached = self.reached.max(self.current);
        self.end = over.then_some(self.current);
        if over || self.current.is_multiple_of(self.spacing) {
            self.digests.push((Tick(self.current), self.world.digest()));
            let (world, roster) = (&mut self.world, &mut self.roster);
            self.checkpoints.keep(self.current, world, roster);
        }
    }

    /// True if the study ends the episode at the world's current state, after this many ticks.
    pub(super) fn is_ended_by_study(&mut self, ticks: u32) -> bool {
        let until = self.config.rules.until.as_ref();
        until.is_some_and(|until| {
            Live::of(&mut self.world, ticks, self.config.tick_hz).has_ended(until)
        })
    }

    /// Notes the guess for a missing input.
    fn note(&mut self, tick: u32, seat: usize, action: Action) {
        // There are no guesses for ticks that far back, and the ring has other ticks in their place.
        if tick + u32::from(self.config.window) < self.reached {
            return;
        }
        let is_guess = matches!(self.roster.hand_at(seat, tick), Hand::Person)
            && tick >= self.inputs.known_through(seat);
        if tick >= self.reached || !is_guess {
            self.guesses.clear(tick, seat);
        }
        if is_guess {
            self.guesses.record_guess(tick, seat, action, self.now_us);
        }
    }

    /// The action of a seat for the next tick: known, predicted, or chosen by its policy now.
    pub(super) fn action_of(&mut self, seat: usize) -> Action {
        match self.roster.hand_at(seat, self.current) {
            Hand::Partner(policy) => {
                choose_action(&mut self.world, &mut **policy, seat, &mut self.observation)
            }
            Hand::Person if self.current < self.inputs.known_through(seat) => {
                self.inputs.row(self.current)[seat]
            }
            Hand::Person => self.predict_action(seat),
            Hand::Nobody => self.spec.noop,
        }
    }

    /// The guess for every missing input of a person.
    pub(super) fn predict_action(&self, seat: usize) -> Action {
        let last = self.inputs.last(seat, self.roster.start(seat));
        (self.predictor)(&self.spec, Seat(seat as u8), last)
    }

    /// Returns the first tick that would be simulated differently now; `current` if there is none.
    pub(super) fn first_wrong(&self) -> u32 {
        // The simulation always has what would be predicted now: so it follows only from what is known.
        let is_stale = |&(seat, have): &(usize, u32)| {
            have < self.current && self.inputs.row(have)[seat] != self.predict_action(seat)
        };
        let people = self.roster.people().iter();
        let guesses = people.map(|seat| (seat, self.inputs.known_through(seat)));
        let stale = guesses.filter(is_stale).map(|(_, tick)| tick);
        stale.fold(self.sound, u32::min)
    }

    /// Makes the simulation follow from the known inputs. Packets may come meanwhile and add to them.
    pub(super) fn resimulate(&mut self) {
        let wrong = self.first_wrong();
        if wrong < self.current {
            self.roll_back(wrong);
        }
    }

    /// Goes back to before `tick` and simulates again up to where it was, or to an end on the way.
    fn roll_back(&mut self, tick: u32) {
        let target = self.current;
        self.go_back(tick);
        let tick = self.current;
        while self.current < target && self.end.is_none() && !self.is_undecided() {
            self.simulate(true);
        }
        for beyond in self.current..target {
            self.guesses.record_hidden(beyond, self.now_us);
        }
        let depth = u8::try_from(target - tick).unwrap_or(u8::MAX);
        self.stats.rollbacks += 1;
        self.stats.max_depth = self.stats.max_depth.max(depth);
        self.stats.resimulated += u64::from(self.current - tick);
        self.report(SessionEvent::RolledBack {
            at: Tick(target),
            depth,
        });
    }

    /// Loads the state before `tick`: the state of the window, or the last kept state before it, if the server changed
    /// something that was confirmed.
    pub(super) fn go_back(&mut self, tick: u32) {
        let is_saved = tick + u32::from(self.config.window) + 1 >= self.current;
        if tick >= self.confirmed && is_saved {
            self.current = tick;
            self.load(self.snapshot_slot(tick));
        } else {
            self.load_snapshot(tick);
            self.confirmed = self.confirmed.min(tick);
            self.over = false;
        }
        self.forget_after();
    }

    /// Brings back the last state before `tick` that was kept.
    pub(super) fn load_snapshot(&mut self, tick: u32) {
        let (world, roster) = (&mut self.world, &mut self.roster);
        let kept = self.checkpoints.load(tick, world, roster);
        // A state at a final tick or earlier is always kept, and it comes from this same world.
        self.current = kept.expect("the state of a final tick is kept");
    }

    /// Forgets what followed from a simulation beyond this tick.
    pub(super) fn forget_after(&mut self) {
        self.end = None;
        self.checkpoints.forget_after(self.current);
        let after = |(at, _): &(Tick, u64)| at.0 > self.current;
        while self.digests.last().is_some_and(after) {
            self.digests.pop();
        }
        self.settled = self.settled.min(self.digests.len());
    }

    /// The slot of the state before a tick. Rollbacks reach no further than the window.
    pub(super) fn snapshot_slot(&self, tick: u32) -> usize {
        (tick % (u32::from(self.config.window) + 1)) as usize
    }

    /// Keeps the state before the next tick, partners included.
    pub(super) fn save(&mut self, slot: usize) {
        self.world.save(slot);
        self.roster
            .partners(self.current)
            .for_each(|(_, policy)| policy.save(slot));
    }

    /// Brings back the state before the next tick.
    pub(super) fn load(&mut self, slot: usize) {
        self.world.load(slot);
        self.roster
            .partners(self.current)
            .for_each(|(_, policy)| policy.load(slot));
    }
}
