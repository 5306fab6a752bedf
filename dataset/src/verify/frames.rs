//! Checks that pages can have shown the frames that they report.

use std::ops::Range;

use archive::{Replica, ShownPage};
use protocol::change::Change;
use protocol::log::Log;
use protocol::seen::Frame;
use protocol::{Controller, Seat, Tick, digest_ticks};

use super::notes::{FaultyNotes, OwnInputs};
use super::{DivergedPage, Equivocation};

/// Counts the frames that the pages showed, and names the pages that cannot have shown theirs. Frames that were
/// simulated without a guess must have the replica's states, which is compared every [`digest_ticks`], and in each of
/// them once a page has been sent other inputs. A page knows its own inputs. Pages that are known to
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
        let (mut fault, mut is_misled) = (None, false);
        let mut next = || {
            page.frames.next_simulated(|frame, world| {
                is_misled |= !certain.agrees(frame);
                let wrong = own.find_contradiction(seat, life, frame);
                // The digest of a state costs more than the state, and inputs of the log can only lead to states of the
                // replica.
                let is_due = is_misled || frame.tick.0.is_multiple_of(certain.spacing);
                let is_compared = wrong.is_none() && is_due && certain.is_certain(frame);
                wrong.or_else(|| contradict(replica, frame, is_compared.then(|| world.digest())?))
            })
        };
        while let Some(rebuilt) = next() {
            match rebuilt {
                Ok(wrong) => {
                    count += 1;
                    fault = fault.or(wrong);
                }
                Err(error) => {
                    fault.get_or_insert(error);
                    break;
                }
            }
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
    /// All actions of the log, `[tick, seat]`, row-major.
    rows: Vec<u16>,
    /// Ticks from one comparison to the next, as long as the pages knew the inputs of the log.
    spacing: u32,
}

impl Certain {
    fn new(log: &Log) -> Self {
        let changes: Vec<Change> = log.changes().cloned().collect();
        let seats = (0..).map(Seat).zip(&log.header.controllers);
        let people = seats.map(|(seat, first)| people(seat, first, &changes));
        Self {
            people: people.collect(),
            changes,
            rows: log.rows(),
            spacing: digest_ticks(log.header.tick_hz),
        }
    }

    /// Tells if the fresh inputs of a frame are those of the log.
    fn agrees(&self, frame: &Frame) -> bool {
        let seats = self.people.len();
        let agrees = |(seat, (have, fresh)): (usize, (&Tick, &Vec<u16>))| {
            let first = (have.0 as usize).saturating_sub(fresh.len());
            let rows = self.rows.chunks_exact(seats).skip(first);
            rows.zip(fresh).all(|(row, input)| row[seat] == *input)
        };
        let columns = frame.have.iter().zip(&frame.fresh).enumerate();
        columns.take(seats).all(agrees)
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
