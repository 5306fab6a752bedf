//! Compares the notes of each page with the inputs that the same page has sent: its frames, and its keys.
//!
//! Notes are what the page says about itself. So a note that cannot be right speaks against that page, and not against
//! the record.

use std::collections::BTreeMap;
use std::ops::Range;

use protocol::change::Change;
use protocol::log::{Log, Record};
use protocol::seen::Frame;
use protocol::{Controller, Life, Seat};
use serde::Serialize;

/// Key events that must contradict the inputs before a page is named: a few may be lost where a seat changes hands.
const FEW_KEYS: usize = 3;

/// A page whose notes contradict the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FaultyNotes {
    /// Its seat.
    pub seat: u8,
    /// Its life.
    pub life: u8,
    /// The first contradiction.
    pub because: String,
}

impl FaultyNotes {
    pub(super) fn new(seat: Seat, life: Life, because: String) -> Self {
        Self {
            seat: seat.0,
            life: life.0,
            because,
        }
    }
}

/// The inputs of every page, as the log has them.
pub(super) struct OwnInputs {
    rows: Vec<u16>,
    seats: usize,
    /// The ticks of each life of a seat that a person has played.
    lives: BTreeMap<(Seat, u8), Range<u32>>,
}

impl OwnInputs {
    pub(super) fn new(log: &Log) -> Self {
        let changes: Vec<&Change> = log.changes().collect();
        let mut lives = BTreeMap::new();
        for (seat, first) in (0..).map(Seat).zip(&log.header.controllers) {
            let of_seat = changes.iter().filter(|change| change.seat == seat);
            let starts = of_seat.map(|change| (change.tick.0, change.life, &change.controller));
            let starts: Vec<_> = std::iter::once((0, Life(0), first)).chain(starts).collect();
            let ends = starts.iter().skip(1).map(|(tick, ..)| *tick);
            for ((start, life, controller), end) in starts.iter().zip(ends.chain([u32::MAX])) {
                if **controller == Controller::Human {
                    lives.insert((seat, life.0), *start..end);
                }
            }
        }
        Self {
            rows: log.rows(),
            seats: log.count_seats(),
            lives,
        }
    }

    /// The input of a page for a tick, if it played that tick.
    fn at(&self, seat: Seat, life: Life, tick: u32) -> Option<u16> {
        let played = self.lives.get(&(seat, life.0))?;
        let row = tick as usize * self.seats + seat.index();
        self.rows
            .get(row)
            .copied()
            .filter(|_| played.contains(&tick))
    }

    /// Returns which own inputs of the page a frame has that the page has not sent.
    pub(super) fn find_contradiction(
        &self,
        seat: Seat,
        life: Life,
        frame: &Frame,
    ) -> Option<String> {
        let (have, fresh) = (
            frame.have.get(seat.index())?,
            frame.fresh.get(seat.index())?,
        );
        let first = have.0.checked_sub(u32::try_from(fresh.len()).ok()?)?;
        let mut inputs = (first..).zip(fresh);
        inputs.find_map(|(tick, &shown)| {
            let said = self.at(seat, life, tick)?;
            let is_wrong = said != shown;
            is_wrong.then(|| {
                format!("tick {tick}: its frames have its own input {shown}, it has said {said}")
            })
        })
    }
}

/// The pages of a log whose key events contradict their inputs more often than not.
pub(crate) fn list_faulty_keys(log: &Log) -> Vec<FaultyNotes> {
    check_keys(log, &OwnInputs::new(log))
}

/// The pages whose key events contradict their inputs more often than not.
pub(super) fn check_keys(log: &Log, own: &OwnInputs) -> Vec<FaultyNotes> {
    let mut counts: BTreeMap<(Seat, u8), (usize, usize)> = BTreeMap::new();
    for record in &log.records {
        let Record::Timing { seat, life, timing } = record else {
            continue;
        };
        // The notes do not say which action remains when a chord or a key is released.
        for key in timing.keys.iter().filter(|key| key.down) {
            let said = key.tick.and_then(|tick| own.at(*seat, *life, tick.0));
            if let Some(said) = said {
                let (wrong, all) = counts.entry((*seat, life.0)).or_default();
                *wrong += usize::from(said != key.action);
                *all += 1;
            }
        }
    }
    let is_wrong = |(_, (wrong, all)): &(_, (usize, usize))| *wrong >= FEW_KEYS && wrong * 2 > *all;
    let wrong = counts.into_iter().filter(is_wrong);
    let name = |((seat, life), (wrong, all))| {
        let because = format!("{wrong} of {all} keys are not in its inputs");
        FaultyNotes::new(seat, Life(life), because)
    };
    wrong.map(name).collect()
}
