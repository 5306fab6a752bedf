//! Checks that pages can have shown the frames that they report.

use std::ops::Range;

use archive::{Replica, ShownPage};
use protocol::change::Change;
use protocol::log::Log;
use protocol::seen::Frame;
use protocol::{Controller, Seat, Tick};

use super::notes::{FaultyNotes, OwnInputs};
use super::{DivergedPage, Equivocation};

/// Counts the frames that the pages showed, and names the pages that cannot have shown theirs. Frames that were
/// simulated without a guess must have the replica's states, and a page knows its own inputs. Pages that are known to
/// have simulated something else, or to have been sent something else, are not checked.
pub(super) fn frames(
    log: &Log,
    replica: &Replica,
    own: &OwnInputs,
    shown: Vec<ShownPage<'_>>,
    named: &[DivergedPage],
    excused: &[Equivocation],
) -> (u64, Vec<FaultyNotes>) {
    let certain = Certain::new(log);
    let (mut count, mut faulty) = (0, Vec::new());
    for mut page in shown {
        let of_page = |named: &DivergedPage| (named.seat, named.life) == (page.seat.0, page.life.0);
        let lied_to = |told: &Equivocation| (told.by, told.by_life) == (page.seat.0, page.life.0);
        let is_named = named.iter().any(of_page) || excused.iter().any(lied_to);
        let (seat, life) = (page.seat, page.life);
        let mut fault = None;
        // The digest of a state costs more than the state.
        let mut next = || {
            page.frames
                .next_simulated(|frame, world| certain.is_certain(frame).then(|| world.digest()))
        };
        while let Some(rebuilt) = next() {
            let (frame, digest) = match rebuilt {
                Ok(rebuilt) => rebuilt,
                Err(error) => {
                    fault.get_or_insert(error);
                    break;
                }
            };
            count += 1;
            let wrong = || contradict(replica, &frame, digest?);
            let wrong = own.contradict(seat, life, &frame).or_else(wrong);
            fault = fault.or(wrong);
        }
        let fault = fault.filter(|_| !is_named);
        faulty.extend(fault.map(|because| FaultyNotes::new(seat, life, because)));
    }
    (count, faulty)
}

/// The facts that distinguish a certain state from a predicted one.
struct Certain {
    changes: Vec<Change>,
    /// The ticks that each seat's persons play.
    people: Vec<Vec<Range<u32>>>,
}

impl Certain {
    fn new(log: &Log) -> Self {
        let changes: Vec<Change> = log.changes().cloned().collect();
        let seats = (0..).map(Seat).zip(&log.header.controllers);
        let people = seats.map(|(seat, first)| people(seat, first, &changes));
        Self {
            people: people.collect(),
            changes,
        }
    }

    /// Tells if a frame showed a state that follows from inputs and changes alone.
    fn is_certain(&self, frame: &Frame) -> bool {
        let unknown = self.changes.iter().skip(frame.changes.into());
        let shown = |have: Tick| have.0..frame.tick.0;
        let guessed = self.people.iter().zip(&frame.have).any(|(spans, have)| {
            let mut spans = spans.iter();
            spans.any(|span| overlap(span, &shown(*have)))
        });
        !guessed && unknown.into_iter().all(|change| change.tick >= frame.tick)
    }
}

/// Tells if a frame showed a certain state, by its digest, that the replica did not have.
fn contradict(replica: &Replica, frame: &Frame, digest: u64) -> Option<String> {
    let (tick, at_ms) = (frame.tick.0, frame.at_ms);
    (replica.digest(frame.tick)? != digest).then(|| {
        format!("after {at_ms} ms, tick {tick} with digest {digest:016x}, which the replica did not have")
    })
}

/// The ticks that persons play in a seat.
fn people(seat: Seat, first: &Controller, changes: &[Change]) -> Vec<Range<u32>> {
    let of_seat = changes.iter().filter(|change| change.seat == seat);
    let changes = of_seat.map(|change| (change.tick.0, &change.controller));
    let starts: Vec<_> = std::iter::once((0, first)).chain(changes).collect();
    let ends = starts.iter().skip(1).map(|(tick, _)| *tick);
    let stints = starts.iter().zip(ends.chain([u32::MAX]));
    let persons = stints.filter(|((_, controller), _)| **controller == Controller::Human);
    persons.map(|((start, _), end)| *start..end).collect()
}

fn overlap(one: &Range<u32>, other: &Range<u32>) -> bool {
    one.start.max(other.start) < one.end.min(other.end)
}
