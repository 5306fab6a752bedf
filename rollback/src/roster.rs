//! The controller of each seat, tick by tick: the controllers at the start, and the changes since.
//!
//! A stretch of ticks under one controller is a *stint*. A partner belongs to its stint: it begins afresh where the
//! stint does, every time that the simulation comes there. This module must not know of inputs and packets.

use env_core::Policy;
use protocol::change::Change;
use protocol::{Controller, Life, MAX_SEATS, Seat};

/// Some of the seats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seats(pub(crate) u16);

impl Seats {
    pub(crate) fn contains(self, seat: usize) -> bool {
        seat < MAX_SEATS && self.0 >> seat & 1 == 1
    }

    pub(crate) fn with_seat(self, seat: usize) -> Self {
        Self(self.0 | 1 << seat)
    }

    pub(crate) fn without_seat(self, seat: Option<Seat>) -> Self {
        Self(self.0 & !seat.map_or(0, |seat| 1 << seat.0))
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let seat = left.trailing_zeros() as usize;
            left &= left.checked_sub(1)?;
            Some(seat)
        })
    }
}

/// The player of a seat.
pub(crate) enum Hand {
    Person,
    Partner(Box<dyn Policy>),
    /// The no-op.
    Nobody,
}

impl Hand {
    pub(crate) fn new(controller: &Controller, partner: Option<Box<dyn Policy>>) -> Self {
        match (controller, partner) {
            (Controller::Human, _) => Self::Person,
            (Controller::Ai { .. }, Some(policy)) => Self::Partner(policy),
            (Controller::Ai { .. } | Controller::Vacant, _) => Self::Nobody,
        }
    }

    fn is_person(&self) -> bool {
        matches!(self, Self::Person)
    }

    fn partner(&mut self) -> Option<&mut Box<dyn Policy>> {
        match self {
            Self::Partner(policy) => Some(policy),
            Self::Person | Self::Nobody => None,
        }
    }
}

/// A stretch of ticks of a seat under one controller, up to the next stint of the seat.
struct Stint {
    from: u32,
    life: Life,
    /// The number of changes that a peer must know to know this one.
    changes: u16,
    hand: Hand,
}

/// The stints of all seats.
pub(crate) struct Roster {
    seats: Vec<Vec<Stint>>,
    changes: u16,
    people: Seats,
}

impl Roster {
    pub(crate) fn new(hands: impl Iterator<Item = Hand>) -> Self {
        let stint = |hand| Stint {
            from: 0,
            life: Life(0),
            changes: 0,
            hand,
        };
        let seats: Vec<_> = hands.map(|hand| vec![stint(hand)]).collect();
        let mut roster = Self {
            seats,
            changes: 0,
            people: Seats(0),
        };
        roster.count_people();
        roster
    }

    /// Writes down a change, which is the next in order.
    pub(crate) fn apply_change(&mut self, change: &Change, partner: Option<Box<dyn Policy>>) {
        self.changes += 1;
        self.seats[change.seat.index()].push(Stint {
            from: change.tick.0,
            life: change.life,
            changes: self.changes,
            hand: Hand::new(&change.controller, partner),
        });
        self.count_people();
    }

    fn count_people(&mut self) {
        let people = self.seats.iter().enumerate();
        let people = people.filter(|(_, stints)| stints.last().is_some_and(|s| s.hand.is_person()));
        self.people = people.fold(Seats(0), |people, (seat, _)| people.with_seat(seat));
    }

    /// How many changes are known.
    pub(crate) fn changes(&self) -> u16 {
        self.changes
    }

    /// Seats that belong to people, as far as is known: now, or from a tick to come.
    pub(crate) fn people(&self) -> Seats {
        self.people
    }

    fn last(&self, seat: usize) -> &Stint {
        self.seats[seat].last().expect("a seat begins with a stint")
    }

    /// The present life of a seat.
    pub(crate) fn life(&self, seat: usize) -> Life {
        self.last(seat).life
    }

    /// The first tick of the last stint of a seat.
    pub(crate) fn start(&self, seat: usize) -> u32 {
        self.last(seat).from
    }

    /// Returns the first tick of a seat, not before this one, for which a person gives the input; `u32::MAX` if there
    /// is none.
    pub(crate) fn awaited_tick(&self, seat: usize, tick: u32) -> u32 {
        let stints = &self.seats[seat];
        if let [only] = stints.as_slice() {
            return if only.hand.is_person() {
                tick
            } else {
                u32::MAX
            };
        }
        let ends = stints.iter().skip(1).map(|next| next.from);
        let mut spans = stints.iter().zip(ends.chain([u32::MAX]));
        spans
            .find(|(stint, end)| stint.hand.is_person() && tick.max(stint.from) < *end)
            .map_or(u32::MAX, |(stint, _)| tick.max(stint.from))
    }

    /// Returns the tick up to which a peer that knows this many changes means the same stints of a seat.
    pub(crate) fn common_tick(&self, seat: usize, changes: u16) -> u32 {
        let mut stints = self.seats[seat].iter();
        stints
            .find(|stint| stint.changes > changes)
            .map_or(u32::MAX, |stint| stint.from)
    }

    /// The player of a seat at a tick.
    pub(crate) fn hand_at(&mut self, seat: usize, tick: u32) -> &mut Hand {
        let mut stints = self.seats[seat].iter_mut().rev();
        let stint = stints.find(|stint| stint.from <= tick);
        &mut stint.expect("a seat begins with tick 0").hand
    }

    /// The simulation is before a tick: partners whose stint begins with it begin.
    pub(crate) fn begin(&mut self, tick: u32, seed: u64) {
        for (seat, stints) in self.seats.iter_mut().enumerate() {
            for stint in stints.iter_mut().filter(|stint| stint.from == tick) {
                if let Hand::Partner(policy) = &mut stint.hand {
                    policy.reset(seat, seed);
                }
            }
        }
    }

    /// The partners that play at a tick, with their seats.
    pub(crate) fn partners(
        &mut self,
        tick: u32,
    ) -> impl Iterator<Item = (usize, &mut Box<dyn Policy>)> {
        let stints = self.stints(tick);
        stints.filter_map(|(seat, stint)| Some((seat, stint.hand.partner()?)))
    }

    /// Those of them that played before the tick: the others begin there, and have no state yet.
    pub(crate) fn begun_partners(
        &mut self,
        tick: u32,
    ) -> impl Iterator<Item = (usize, &mut Box<dyn Policy>)> {
        let stints = self.stints(tick).filter(move |(_, of)| of.from < tick);
        stints.filter_map(|(seat, stint)| Some((seat, stint.hand.partner()?)))
    }

    /// The stint of each seat at a tick.
    fn stints(&mut self, tick: u32) -> impl Iterator<Item = (usize, &mut Stint)> {
        let seats = self.seats.iter_mut().enumerate();
        seats.map(move |(seat, stints)| {
            let stint = stints.iter_mut().rev().find(|stint| stint.from <= tick);
            (seat, stint.expect("a seat begins with tick 0"))
        })
    }
}
