//! When a tick may be confirmed, computed only from what was sent and received: the rule of `protocol/PROTOCOL.md`,
//! independent of the session's code.

use std::collections::BTreeMap;

use protocol::change::Change;
use protocol::datagram::Datagram;
use protocol::{Controller, Life, MAX_SEATS, Seat};

/// The inputs that pages have said in datagrams to have, by seat and life: how many changes they knew, and the most of each seat.
#[derive(Debug, Default)]
pub(super) struct Claims(BTreeMap<(Seat, u8), Vec<Claim>>);

#[derive(Debug)]
struct Claim {
    changes: u16,
    have: [u32; MAX_SEATS],
}

impl Claims {
    /// A page that knows this many changes sends a datagram.
    pub(super) fn note_datagram(&mut self, datagram: &Datagram, changes: u16) {
        let page = self.0.entry((datagram.from, datagram.life.0));
        let claims = page.or_default();
        if claims.last().is_none_or(|last| last.changes != changes) {
            let have = [0; MAX_SEATS];
            claims.push(Claim { changes, have });
        }
        let last = claims.last_mut().expect("one was there or was pushed");
        for (most, have) in last.have.iter_mut().zip(&datagram.have) {
            *most = have.0.max(*most);
        }
    }
}

/// A stretch of ticks of a seat under one controller.
#[derive(Debug)]
struct Stint {
    from: u32,
    /// The number of changes that a page must know to know this one.
    changes: u16,
    life: Life,
    is_person: bool,
}

/// The controllers of seats over time, as far as a page knows.
#[derive(Debug)]
pub(super) struct Hands {
    seats: Vec<Vec<Stint>>,
    changes: u16,
}

impl Hands {
    /// From the controllers of tick 0 and as many changes as the page knows.
    pub(super) fn new<'a>(
        controllers: &[Controller],
        changes: impl Iterator<Item = &'a Change>,
    ) -> Self {
        let first = |controller: &Controller| {
            vec![Stint {
                from: 0,
                changes: 0,
                life: Life(0),
                is_person: *controller == Controller::Human,
            }]
        };
        let mut hands = Self {
            seats: controllers.iter().map(first).collect(),
            changes: 0,
        };
        for change in changes {
            hands.changes += 1;
            hands.seats[change.seat.index()].push(Stint {
                from: change.tick.0,
                changes: hands.changes,
                life: change.life,
                is_person: change.controller == Controller::Human,
            });
        }
        hands
    }

    fn each(&self) -> impl Iterator<Item = (Seat, &[Stint])> {
        (0..).map(Seat).zip(self.seats.iter().map(Vec::as_slice))
    }

    /// People other than these two who play in a tick and still have their seat, with the life in which they do.
    fn asked(&self, tick: u32, but: [Seat; 2]) -> impl Iterator<Item = (Seat, Life)> {
        let lasts = self
            .each()
            .filter_map(|(seat, stints)| Some((seat, stints.last()?)));
        let asked = lasts
            .filter(move |(seat, last)| last.is_person && last.from <= tick && !but.contains(seat));
        asked.map(|(seat, last)| (seat, last.life))
    }

    /// True if a page has said to have an input: its receipt for a seat counts up to the first change that it does not
    /// know, and not at all if it knows more changes than this page.
    fn has(&self, claims: &Claims, by: (Seat, Life), seat: Seat, tick: u32) -> bool {
        let told = claims.0.get(&(by.0, by.1.0)).into_iter().flatten();
        let mut counting = told.filter(|claim| claim.changes <= self.changes);
        counting.any(|claim| {
            let mut stints = self.seats[seat.index()].iter();
            let unknown = stints.find(|stint| stint.changes > claim.changes);
            let end = unknown.map_or(u32::MAX, |stint| stint.from);
            tick < claim.have[seat.index()].min(end)
        })
    }

    /// True if the page of a seat may confirm a tick that is not before the input delay's end, given what others have
    /// said.
    ///
    /// # Errors
    /// The input that is missing.
    pub(super) fn check_settled(
        &self,
        own: Seat,
        tick: u32,
        claims: &Claims,
    ) -> Result<(), String> {
        for (seat, stints) in self.each() {
            let at = stints.iter().rposition(|stint| stint.from <= tick);
            let at = at.expect("a seat begins with tick 0");
            if stints[at].is_person {
                let mut asked = self.asked(tick, [own, seat]);
                if let Some((by, _)) = asked.find(|&by| !self.has(claims, by, seat, tick)) {
                    return Err(format!(
                        "receipts: seat {} has confirmed tick {tick}, but seat {} has not said to have the input of seat {}",
                        own.0, by.0, seat.0
                    ));
                }
            }
        }
        Ok(())
    }
}
