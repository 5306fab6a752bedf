//! Checks the hand-overs of seats, and that pages which simulated something else are named.
//!
//! Checks of the log's own order and of the replay are not repeated here: numbers, lives, ticks that nobody had played
//! yet, and the backfill of ticks that were played later.

use std::collections::{BTreeMap, BTreeSet};

use archive::Replica;
use protocol::change::Change;
use protocol::control::Block;
use protocol::log::{Log, Record};
use protocol::{Controller, Life, Seat, Tick};
use serde::Serialize;

/// A page that simulated something else than the replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DivergedPage {
    /// Its seat.
    pub seat: u8,
    /// Its life.
    pub life: u8,
    /// After how many steps it was found out.
    pub tick: u32,
}

/// A contradiction: a person's page sent another page, or the server, something else than the durable inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Equivocation {
    /// The seat of the inputs.
    pub seat: u8,
    /// In which life.
    pub life: u8,
    /// The first tick that differs.
    pub tick: u32,
    /// The seat of the page that had something else.
    pub by: u8,
    /// The life of that page.
    pub by_life: u8,
    /// The action that was played.
    pub durable: u16,
    /// The action that that page had.
    pub told: u16,
}

/// Refuses the first change that rewrites durable ticks, or gives a seat back where somebody may have confirmed the
/// tick.
pub(super) fn changes(log: &Log) -> Result<(), String> {
    let (mut rows, mut before): (Vec<u16>, Vec<&Change>) = (Vec::new(), Vec::new());
    for record in &log.records {
        match record {
            Record::Actions { rows: more, .. } => rows.extend(more),
            Record::Change(change) => {
                if let Some(what) = out_of_order(log, &rows, &before, change) {
                    let (number, seat) = (change.number, change.seat.0);
                    return Err(format!("change {number}: seat {seat}: {what}"));
                }
                before.push(change);
            }
            _ => {}
        }
    }
    Ok(())
}

fn out_of_order(
    log: &Log,
    rows: &[u16],
    before: &[&Change],
    change: &Change,
) -> Option<&'static str> {
    let seats = log.count_seats();
    let last = before.iter().rfind(|before| before.seat == change.seat);
    let held = last.map_or(&log.header.controllers[change.seat.index()], |last| {
        &last.controller
    });
    if *held == Controller::Human {
        let played = |tick: usize| rows.get(tick * seats + change.seat.index());
        let first = (change.tick.0 as usize).checked_sub(change.inputs.len());
        let rewrites = first.is_none_or(|first| {
            let mut told = (first..).zip(&change.inputs);
            told.any(|(tick, told)| played(tick).is_some_and(|played| played != told))
        });
        return rewrites.then_some("its last inputs are not those that were played");
    }
    let through = Tick((rows.len() / seats) as u32);
    // Nobody can have lost a seat that no person ever had: it follows only directives.
    let is_human = |it: &&Change| it.seat == change.seat && it.controller == Controller::Human;
    let had_person = before.iter().any(is_human)
        || log.header.controllers[change.seat.index()] == Controller::Human;
    if !had_person && !archive::is_directive(held, &change.controller) {
        Some("it is given back, but nobody had lost it")
    } else if change.from != through {
        Some("it is not given back from what was durable on")
    } else if change.tick < through {
        Some("it is given back in a tick that was played")
    } else {
        None
    }
}

/// Returns the contradictions that the log names, unless the named inputs were not played, or there is no
/// contradiction.
pub(super) fn find_equivocations(log: &Log) -> Result<Vec<Equivocation>, String> {
    let (rows, mut lives, mut found) = (log.rows(), BTreeMap::new(), Vec::new());
    let (mut changes, mut said) = (Vec::new(), SaidInputs::default());
    let played = |seat: Seat, tick: Tick| {
        rows.get(tick.0 as usize * log.count_seats() + seat.index())
            .copied()
    };
    for record in &log.records {
        match *record {
            Record::Recount { by, ref recount } => {
                let (seat, tick) = (recount.seat, recount.first);
                // The server may have known inputs that were never played.
                let before = |tick| said.at(seat, recount.life, tick).or(played(seat, tick));
                if !archive::is_proven(&log.header, &changes, before, recount) {
                    return Err(format!(
                        "tick {}: nothing proves that seat {} told the page of seat {} something else",
                        tick.0, seat.0, by.0
                    ));
                }
                // What was cut off was never played.
                if let (Some(durable), Some(&told)) = (played(seat, tick), recount.inputs.first()) {
                    found.push(Equivocation {
                        seat: seat.0,
                        life: recount.life.0,
                        tick: tick.0,
                        by: by.0,
                        by_life: lives.get(&by).copied().unwrap_or(0),
                        durable,
                        told,
                    });
                }
            }
            Record::Inputs {
                seat,
                life,
                ref block,
            } => said.add(seat, life, block),
            Record::Change(ref change) => {
                lives.insert(change.seat, change.life.0);
                changes.push(change.clone());
            }
            Record::Equivocation {
                seat,
                tick,
                by,
                durable,
                told,
            } => {
                let played = played(seat, tick);
                if durable == told || played.is_some_and(|played| played != durable) {
                    let (tick, seat, by) = (tick.0, seat.0, by.0);
                    return Err(format!(
                        "tick {tick}: seat {seat} is said to have told the page of seat {by} {told} rather than {durable}"
                    ));
                }
                let life = |seat| lives.get(&seat).copied().unwrap_or(0);
                found.push(Equivocation {
                    seat: seat.0,
                    life: life(seat),
                    tick: tick.0,
                    by: by.0,
                    by_life: life(by),
                    durable,
                    told,
                });
            }
            _ => {}
        }
    }
    Ok(found)
}

/// The inputs that pages have said, by the first tick of each block.
#[derive(Default)]
struct SaidInputs<'a>(BTreeMap<(Seat, u8, Tick), &'a [u16]>);

impl<'a> SaidInputs<'a> {
    fn add(&mut self, seat: Seat, life: Life, block: &'a Block) {
        self.0.insert((seat, life.0, block.first), &block.inputs);
    }

    /// The input that the page of a seat has said in one life for a tick.
    fn at(&self, seat: Seat, life: Life, tick: Tick) -> Option<u16> {
        let blocks = (seat, life.0, Tick(0))..=(seat, life.0, tick);
        let ((.., first), inputs) = self.0.range(blocks).next_back()?;
        inputs.get((tick.0 - first.0) as usize).copied()
    }
}

/// Returns the pages that the log names, unless it lacks one or names one that did not simulate something else. Pages
/// that were sent something else are not checked.
pub(super) fn list_accused(
    log: &Log,
    replica: &Replica,
    excused: &[Equivocation],
) -> Result<Vec<DivergedPage>, String> {
    let (mut through, mut lives) = (Tick(0), BTreeMap::new());
    let mut pages = Pages {
        replica,
        excused,
        claims: BTreeSet::new(),
        named: Vec::new(),
    };
    for record in &log.records {
        match record {
            Record::Actions { rows, .. } => through.0 += (rows.len() / log.count_seats()) as u32,
            Record::Digest {
                tick,
                seat: Some(seat),
                digest,
            } => {
                pages.claims.insert((*seat, *tick, *digest));
            }
            Record::Change(change) => {
                let life = lives.insert(change.seat, change.life.0).unwrap_or(0);
                pages.leave(change.seat, life, through)?;
            }
            Record::Diverged {
                seat,
                tick,
                expected,
                found,
            } => {
                let differs = *expected != *found && pages.expects(*tick, *expected);
                if (*expected, *found) != (0, 0) && !differs {
                    let (seat, tick) = (seat.0, tick.0);
                    return Err(format!(
                        "tick {tick}: the page of seat {seat} is said to differ from {expected:016x}"
                    ));
                }
                pages.named.push(DivergedPage {
                    seat: seat.0,
                    life: lives.get(seat).copied().unwrap_or(0),
                    tick: tick.0,
                });
            }
            _ => {}
        }
    }
    for seat in (0..).map(Seat).take(log.count_seats()) {
        let life = lives.get(&seat).copied().unwrap_or(0);
        pages.leave(seat, life, through)?;
    }
    Ok(pages.named)
}

/// The digests that pages claim while they have their seats.
struct Pages<'a> {
    replica: &'a Replica,
    excused: &'a [Equivocation],
    claims: BTreeSet<(Seat, Tick, u64)>,
    named: Vec<DivergedPage>,
}

impl Pages<'_> {
    /// Tells if the replica has this digest, or none, which is written as 0.
    fn expects(&self, tick: Tick, digest: u64) -> bool {
        self.replica.digest(tick).unwrap_or_default() == digest
    }

    /// Handles that a page loses its seat: its claims about the ticks so far must be right, or it must be named.
    fn leave(&mut self, seat: Seat, life: u8, through: Tick) -> Result<(), String> {
        let is_named = |named: &DivergedPage| (named.seat, named.life) == (seat.0, life);
        let is_excused = |told: &Equivocation| (told.by, told.by_life) == (seat.0, life);
        let is_known = self.named.iter().any(is_named) || self.excused.iter().any(is_excused);
        let of_seat = |(claimant, ..): &(Seat, Tick, u64)| *claimant == seat;
        let claims: Vec<_> = self.claims.extract_if(.., of_seat).collect();
        let mut claims = claims.into_iter().filter(|(_, tick, _)| *tick <= through);
        let wrong = claims.find(|(_, tick, digest)| !self.expects(*tick, *digest));
        match wrong {
            Some((_, tick, digest)) if !is_known => Err(format!(
                "tick {}: the page of seat {} had digest {digest:016x}, the replica {:016x}",
                tick.0,
                seat.0,
                self.replica.digest(tick).unwrap_or_default()
            )),
            _ => Ok(()),
        }
    }
}
