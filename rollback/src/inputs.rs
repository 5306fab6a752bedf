//! The inputs of an episode: one growing table, `[tick, seat]`, and who has received how much of it.
//!
//! A seat's column holds its true inputs up to its receipt and, beyond, what was simulated in their place.
//! So one comparison on arrival tells whether a prediction was wrong, and the confirmed part of the table
//! is the episode's log as it stands. This module must not know of time, packets or the world.

use env_core::Action;
use protocol::{MAX_SEATS, Seat, Tick};

/// Ticks for which memory is set aside at the start if the episode may be longer still: 18 minutes at 60 Hz.
const RESERVED_TICKS: u32 = 1 << 16;

/// Which seats are people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seats(pub(crate) u16);

impl Seats {
    pub(crate) fn contains(self, seat: usize) -> bool {
        seat < MAX_SEATS && self.0 >> seat & 1 == 1
    }

    pub(crate) fn without(self, seat: Option<Seat>) -> Self {
        Self(self.0 & !seat.map_or(0, |seat| 1 << seat.0))
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        (0..MAX_SEATS).filter(move |&seat| self.contains(seat))
    }
}

/// What the inputs of a datagram changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Received {
    /// The first tick that was simulated with another input.
    pub(crate) wrong: Option<u32>,
    /// Inputs that came after their tick was simulated.
    pub(crate) predicted: u32,
    /// Those of them that were predicted wrongly.
    pub(crate) mispredicted: u32,
    /// Inputs that contradict an earlier one for the same tick.
    pub(crate) equivocations: u32,
}

#[derive(Debug)]
pub(crate) struct Inputs {
    seats: usize,
    humans: Seats,
    /// The people at the other ends.
    peers: Seats,
    noop: Action,
    rows: Vec<Action>,
    /// The first tick of each seat whose input is not here.
    have: [u32; MAX_SEATS],
    /// The same for every peer, as it last said: `[peer][seat]`.
    theirs: [[u32; MAX_SEATS]; MAX_SEATS],
}

impl Inputs {
    /// Everyone's inputs before tick `delay` are the no-op, and known to all.
    pub(crate) fn new(
        seats: usize,
        humans: Seats,
        local: Option<Seat>,
        delay: u8,
        noop: Action,
    ) -> Self {
        Self {
            seats,
            humans,
            peers: humans.without(local),
            noop,
            rows: vec![noop; usize::from(delay) * seats],
            have: [u32::from(delay); MAX_SEATS],
            theirs: [[u32::from(delay); MAX_SEATS]; MAX_SEATS],
        }
    }

    /// Sets memory aside for an episode of `horizon` ticks, or as many as are reasonable.
    pub(crate) fn reserve(&mut self, horizon: u32, beyond: usize) {
        let ticks = horizon.min(RESERVED_TICKS) as usize + beyond;
        self.rows.reserve(ticks * self.seats);
    }

    /// The first tick of a person's seat whose input is not here.
    pub(crate) fn have(&self, seat: usize) -> u32 {
        self.have[seat]
    }

    /// The first input of `seat` that `peer` lacks, as far as known.
    pub(crate) fn acknowledged(&self, peer: usize, seat: usize) -> u32 {
        self.theirs[peer][seat]
    }

    /// Everything of every person is here up to this tick: what is simulated before it is true.
    pub(crate) fn known(&self) -> u32 {
        self.humans
            .iter()
            .map(|seat| self.have[seat])
            .min()
            .unwrap_or(u32::MAX)
    }

    /// Everything of every person is at every person up to this tick: what is simulated before it is confirmed.
    pub(crate) fn shared(&self) -> u32 {
        let receipts = |seat: usize| {
            let theirs = self
                .peers
                .iter()
                .filter(move |&peer| peer != seat)
                .map(move |peer| self.theirs[peer][seat]);
            theirs.fold(self.have[seat], u32::min)
        };
        self.humans.iter().map(receipts).min().unwrap_or(u32::MAX)
    }

    /// The actions of a tick, one a seat.
    pub(crate) fn row(&self, tick: u32) -> &[Action] {
        let at = tick as usize * self.seats;
        &self.rows[at..at + self.seats]
    }

    /// The actions of all ticks before this one.
    pub(crate) fn rows(&self, ticks: u32) -> &[Action] {
        &self.rows[..ticks as usize * self.seats]
    }

    /// Some of a seat's inputs in order, from those that are here.
    pub(crate) fn column(&self, seat: usize, first: u32, end: u32) -> impl Iterator<Item = Action> {
        (first..end.min(self.have[seat])).map(move |tick| self.row(tick)[seat])
    }

    /// The last known input of a seat.
    pub(crate) fn last(&self, seat: usize) -> Action {
        self.have[seat]
            .checked_sub(1)
            .map_or(self.noop, |tick| self.row(tick)[seat])
    }

    /// Writes down what is simulated.
    pub(crate) fn set(&mut self, tick: u32, seat: usize, action: Action) {
        let end = (tick as usize + 1) * self.seats;
        if self.rows.len() < end {
            self.rows.resize(end, self.noop);
        }
        self.rows[tick as usize * self.seats + seat] = action;
    }

    /// Appends an input of the local person.
    pub(crate) fn push(&mut self, seat: usize, action: Action) {
        self.set(self.have[seat], seat, action);
        self.have[seat] += 1;
    }

    /// Takes in a peer's inputs from tick `first` on, none from `limit` on. Ticks before `simulated` are already simulated.
    pub(crate) fn receive(
        &mut self,
        from: usize,
        first: u32,
        inputs: &[Action],
        simulated: u32,
        limit: u32,
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
            received.predicted += u32::from(past);
            if differs {
                received.mispredicted += 1;
                received.wrong = received.wrong.or(Some(tick));
            }
            self.push(from, input);
        }
        received
    }

    /// Takes in a peer's receipts.
    pub(crate) fn acknowledge(&mut self, from: usize, have: &[Tick]) {
        for (known, told) in self.theirs[from].iter_mut().zip(have) {
            *known = told.0.max(*known);
        }
    }
}
