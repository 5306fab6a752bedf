//! Checks that the person's own page has sent, and signed, every action of a person.
//!
//! Logs of version 4 have neither keys nor separate inputs: they are not checked here.

use archive::controller_at;
use protocol::chain::{Chain, ChainError, PageKey, leaf_of};
use protocol::change::Change;
use protocol::control::Block;
use protocol::log::{Log, Record};
use protocol::{Controller, EnvWay, Life, Seat, Tick};
use serde::Serialize;

use super::record::SIGNED;

/// A seat that its person did not play to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ShortSeat {
    /// The seat.
    pub seat: u8,
    /// Ticks for which its person's own page has said the input.
    pub said: u32,
    /// Ticks that were played.
    pub ticks: u32,
}

/// The inputs that the pages of the seats have said, up to some record of the log.
pub(super) struct Pages<'a> {
    log: &'a Log,
    changes: Vec<Change>,
    /// The lives of every seat that a person has played.
    lives: Vec<Vec<PageInputs>>,
    through: u32,
}

/// The inputs that the page of a seat has said in one life.
struct PageInputs {
    life: Life,
    key: [u8; 32],
    chain: Chain,
    first: u32,
    /// `None` for an input that was erased.
    inputs: Vec<Option<u16>>,
    /// The chain after each block, and the signature of the block.
    signed: Vec<(Tick, Chain, [[u8; 32]; 2])>,
}

/// Refuses the first action of a person that their own page has not said, and the first block that does not belong to its
/// page.
pub(super) fn check_inputs(log: &Log) -> Result<(), String> {
    if log.version < SIGNED {
        return Ok(());
    }
    let mut pages = Pages::new(log)?;
    let walked = pages.walk();
    pages.check_signed()?;
    walked
}

/// The seats of people who played fewer ticks than there are.
pub(crate) fn list_short_seats(log: &Log) -> Vec<ShortSeat> {
    let changes: Vec<Change> = log.changes().cloned().collect();
    let ticks = log.through.0;
    let seats = (0..).map(Seat).zip(&log.header.controllers);
    let people = seats.filter(|(_, controller)| **controller == Controller::Human);
    let said = people.map(|(seat, _)| {
        let is_said = |tick: &u32| is_persons(log, &changes, seat, *tick);
        let said = (0..ticks).filter(is_said).count() as u32;
        let seat = seat.0;
        ShortSeat { seat, said, ticks }
    });
    said.filter(|seat| seat.said < seat.ticks).collect()
}

fn is_persons(log: &Log, changes: &[Change], seat: Seat, tick: u32) -> bool {
    *controller_at(&log.header, changes, seat, Tick(tick)) == Controller::Human
}

impl PageInputs {
    fn take(
        &mut self,
        first: Tick,
        inputs: impl ExactSizeIterator<Item = Option<u16>>,
        leaf: [u8; 32],
        signature: [[u8; 32]; 2],
    ) -> Result<(), ChainError> {
        self.chain.follow(first, inputs.len(), leaf)?;
        self.inputs.extend(inputs);
        self.signed.push((first, self.chain.clone(), signature));
        Ok(())
    }

    /// Checks the last signature, which proves every block. If it does not, gives the first block without a signature.
    fn check_signed(&self) -> Result<(), ChainError> {
        let key = PageKey::new(&self.key);
        let is_signed = |(_, chain, signature): &&(Tick, Chain, [[u8; 32]; 2])| {
            chain.is_signed(&key, signature)
        };
        if self.signed.last().is_none_or(|last| is_signed(&last)) {
            return Ok(());
        }
        let unsigned = self.signed.iter().find(|block| !is_signed(block));
        unsigned.map_or(Ok(()), |(first, ..)| Err(ChainError::Signature(*first)))
    }
}

impl<'a> Pages<'a> {
    pub(super) fn new(log: &'a Log) -> Result<Self, String> {
        let mut pages = Self {
            log,
            changes: Vec::new(),
            lives: (0..log.count_seats()).map(|_| Vec::new()).collect(),
            through: 0,
        };
        for (seat, controller) in (0..).map(Seat).zip(&log.header.controllers) {
            if *controller == Controller::Human && !log.header.is_withdrawn(seat) {
                let key = log.header.keys.get(seat.index());
                let key = key.ok_or(format!("the header has no key of seat {}", seat.0))?;
                pages.begin(seat, Life(0), Tick(0), *key);
            }
        }
        Ok(pages)
    }

    fn begin(&mut self, seat: Seat, life: Life, first: Tick, key: [u8; 32]) {
        let said = PageInputs {
            life,
            key,
            chain: Chain::new(&self.log.header.episode, seat, life, first),
            first: first.0,
            inputs: Vec::new(),
            signed: Vec::new(),
        };
        self.lives[seat.index()].push(said);
    }

    /// Goes through the records of the log up to the first fault that does not depend on signatures.
    fn walk(&mut self) -> Result<(), String> {
        let log = self.log;
        for record in &log.records {
            match record {
                Record::Inputs { seat, life, block } => self.accept_block(*seat, *life, block)?,
                Record::Erased {
                    seat,
                    life,
                    first,
                    len,
                    leaf,
                    signature,
                } => self.hear_erased(*seat, *life, (*first, *len), *leaf, signature)?,
                Record::Actions { rows, .. } => self.play(rows)?,
                Record::Change(change) => self.apply_change(change)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The page that plays a seat in this life.
    fn page(&mut self, seat: Seat, life: Life) -> Result<&mut PageInputs, String> {
        let lives = self.lives.get_mut(seat.index());
        let page = lives.and_then(|lives| lives.last_mut());
        let is_it = |page: &&mut PageInputs| page.life == life;
        let foreign = || format!("seat {}: inputs of a page that does not have it", seat.0);
        page.filter(is_it).ok_or_else(foreign)
    }

    pub(super) fn accept_block(
        &mut self,
        seat: Seat,
        life: Life,
        block: &Block,
    ) -> Result<(), String> {
        let inputs = block.inputs.iter().copied().map(Some);
        let leaf = leaf_of(block);
        self.page(seat, life)?
            .take(block.first, inputs, leaf, block.signature)
            .map_err(|error| format!("seat {}: {error}", seat.0))
    }

    pub(super) fn hear_erased(
        &mut self,
        seat: Seat,
        life: Life,
        (first, len): (Tick, u32),
        leaf: [u8; 32],
        signature: &[[u8; 32]; 2],
    ) -> Result<(), String> {
        let inputs = std::iter::repeat_n(None, len as usize);
        self.page(seat, life)?
            .take(first, inputs, leaf, *signature)
            .map_err(|error| format!("seat {}: {error}", seat.0))
    }

    /// Refuses the first block that its page has not signed.
    pub(super) fn check_signed(&self) -> Result<(), String> {
        for (seat, lives) in self.lives.iter().enumerate() {
            for life in lives {
                let checked = life.check_signed();
                checked.map_err(|error| format!("seat {seat}: {error}"))?;
            }
        }
        Ok(())
    }

    /// Compares rows with the inputs of the pages.
    fn play(&mut self, rows: &[u16]) -> Result<(), String> {
        for row in rows.chunks_exact(self.log.count_seats()) {
            let tick = self.through;
            for (seat, played) in (0..).map(Seat).zip(row) {
                // Of somebody who withdrew, the actions alone are left.
                let is_withdrawn = self.log.header.is_withdrawn(seat);
                if is_withdrawn || !is_persons(self.log, &self.changes, seat, tick) {
                    continue;
                }
                let refuse = |what: String| Err(format!("tick {tick}: seat {}: {what}", seat.0));
                match self.said_at(seat, tick) {
                    None => return refuse("its own page has said nothing".to_owned()),
                    Some(Some(said)) if said != *played => {
                        return refuse(format!("{played}, but its own page has said {said}"));
                    }
                    // Only the order of erased inputs is known.
                    Some(_) => {}
                }
            }
            self.through += 1;
        }
        Ok(())
    }

    fn said_at(&self, seat: Seat, tick: u32) -> Option<Option<u16>> {
        let mut lives = self.lives[seat.index()].iter().rev();
        let life = lives.find(|life| life.first <= tick)?;
        life.inputs.get((tick - life.first) as usize).copied()
    }

    pub(super) fn apply_change(&mut self, change: &Change) -> Result<(), String> {
        let (seat, life) = (change.seat, change.life);
        let of = format!("change {}: seat {}", change.number, seat.0);
        if let Some(page) = self.lives[seat.index()].last_mut()
            && is_persons(self.log, &self.changes, seat, u32::MAX)
            // On a host a seat is taken at any tick.
            && self.log.header.way == EnvWay::Module
            && let cut = archive::cut(page.chain.next(), Tick(self.through))
            && ![cut, page.chain.next()].contains(&change.tick)
        {
            let (said, cut) = (page.chain.next().0, change.tick.0);
            return Err(format!(
                "{of}: it is taken at tick {cut}, but its own page has said its inputs up to tick {said}"
            ));
        }
        self.changes.push(change.clone());
        if change.controller == Controller::Human && !self.log.header.is_withdrawn(seat) {
            let key = change.key.ok_or(format!("{of}: its page has no key"))?;
            self.begin(seat, life, change.tick, key);
        }
        Ok(())
    }
}
