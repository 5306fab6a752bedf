//! The inputs of an episode: one growing table, `[tick, seat]`, and how much of it each peer has received.
//!
//! A seat's column holds its true inputs up to its receipt and, beyond, what was simulated in their place.
//! So one comparison on arrival shows whether a prediction was wrong, and the confirmed part of the table is the
//! episode's log. This module must not know of time, packets or the world.

use env_core::Action;
use protocol::MAX_SEATS;

/// Ticks for which memory is set aside at the start if the episode may be longer still: 18 minutes at 60 Hz.
const RESERVED_TICKS: u32 = 1 << 16;

/// The effect of a datagram's inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Received {
    /// The first tick that was simulated with another input.
    pub(crate) wrong: Option<u32>,
    /// Inputs that contradict an earlier one for the same tick.
    pub(crate) equivocations: u32,
}

#[derive(Debug)]
pub(crate) struct Inputs {
    seats: usize,
    noop: Action,
    /// The tick of the first row.
    first: u32,
    /// Inputs before this tick predict nothing: a session that begins in the middle has none.
    begun: u32,
    rows: Vec<Action>,
    /// The first tick of each seat whose input is not here.
    have: [u32; MAX_SEATS],
    /// The same for every other person, as they last said: `[peer][seat]`.
    theirs: [[u32; MAX_SEATS]; MAX_SEATS],
}

impl Inputs {
    /// Everyone's inputs before tick `known` are here, and known to all; those before `delay` are the no-op.
    pub(crate) fn new(seats: usize, first: u32, delay: u8, noop: Action) -> Self {
        let known = first.max(u32::from(delay));
        Self {
            seats,
            noop,
            first,
            begun: first,
            rows: vec![noop; (known - first) as usize * seats],
            have: [known; MAX_SEATS],
            theirs: [[known; MAX_SEATS]; MAX_SEATS],
        }
    }

    /// Sets memory aside for an episode of `horizon` ticks, or as many as are reasonable.
    pub(crate) fn reserve(&mut self, horizon: u32, beyond: usize) {
        let ticks = horizon.saturating_sub(self.first).min(RESERVED_TICKS) as usize + beyond;
        self.rows.reserve(ticks * self.seats);
    }

    /// The tick of the first row.
    pub(crate) fn first(&self) -> u32 {
        self.first
    }

    /// The first tick of a person's seat whose input is not here.
    pub(crate) fn known_through(&self, seat: usize) -> u32 {
        self.have[seat]
    }

    /// The first input of `seat` that `peer` lacks, as far as known.
    pub(crate) fn acknowledged_tick(&self, peer: usize, seat: usize) -> u32 {
        self.theirs[peer][seat]
    }

    /// The actions of a tick, one a seat.
    pub(crate) fn row(&self, tick: u32) -> &[Action] {
        let at = self.at(tick);
        &self.rows[at..at + self.seats]
    }

    /// The actions of all ticks before this one.
    pub(crate) fn rows(&self, end: u32) -> &[Action] {
        &self.rows[..self.at(end)]
    }

    fn at(&self, tick: u32) -> usize {
        (tick - self.first) as usize * self.seats
    }

    /// A part of a seat's known inputs, in order.
    pub(crate) fn column(&self, seat: usize, first: u32, end: u32) -> impl Iterator<Item = Action> {
        let ticks = first.max(self.first)..end.min(self.have[seat]);
        ticks.map(move |tick| self.row(tick)[seat])
    }

    /// The last known input of a seat whose person began at `start`.
    pub(crate) fn last(&self, seat: usize, start: u32) -> Action {
        match self.have[seat] {
            have if have > start.max(self.begun) => self.row(have - 1)[seat],
            _ => self.noop,
        }
    }

    /// Predicts as one who began at this tick.
    pub(crate) fn begin(&mut self, tick: u32) {
        self.begun = tick;
    }

    /// Stores the simulated action.
    pub(crate) fn set(&mut self, tick: u32, seat: usize, action: Action) {
        let end = self.at(tick + 1);
        if self.rows.len() < end {
            self.rows.resize(end, self.noop);
        }
        self.rows[end - self.seats + seat] = action;
    }

    /// Appends an input of a person.
    pub(crate) fn push(&mut self, seat: usize, action: Action) {
        self.set(self.have[seat], seat, action);
        self.have[seat] += 1;
    }

    /// Takes in a person's inputs from tick `first` on, but none from `limit` on. Ticks before `simulated` are already
    /// simulated; `learn` gets each new input: tick, action.
    pub(crate) fn receive(
        &mut self,
        from: usize,
        first: u32,
        inputs: &[Action],
        simulated: u32,
        limit: u32,
        mut learn: impl FnMut(u32, Action),
    ) -> Received {
        let mut received = Received::default();
        for (tick, &input) in (first..limit).zip(inputs) {
            if tick > self.have[from] {
                break;
            }
            let past = tick < simulated;
            let differs = (past || tick < self.have[from]) && self.row(tick)[from] != input;
            if tick < self.have[from] {
                received.equivocations += u32::from(differs);
                continue;
            }
            learn(tick, input);
            if differs {
                received.wrong = received.wrong.or(Some(tick));
            }
            self.push(from, input);
        }
        received
    }

    /// Takes in a receipt of a peer: it has the inputs of a seat before this tick.
    pub(crate) fn acknowledge_inputs(&mut self, from: usize, seat: usize, have: u32) {
        let known = &mut self.theirs[from][seat];
        *known = have.max(*known);
    }

    /// Gives a seat another controller from `tick` on: known inputs beyond are void.
    pub(crate) fn cut_inputs(&mut self, seat: usize, tick: u32) {
        let tick = tick.max(self.first);
        self.have[seat] = tick;
        for theirs in &mut self.theirs {
            theirs[seat] = theirs[seat].min(tick);
        }
    }

    /// Another page plays a seat, and has everything before this tick. The receipts of the one before are void.
    pub(crate) fn add_peer(&mut self, peer: usize, from: u32) {
        self.theirs[peer] = [from; MAX_SEATS];
    }
}
