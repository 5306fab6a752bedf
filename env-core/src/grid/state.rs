//! The state of a grid: agents, and one block of bytes for everything that lies in it.

use alloc::boxed::Box;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

pub use super::direction::Direction;
use super::kind::{EMPTY, KindId};
use super::random_draws::{Draws, Injected};
use super::tables::Tables;
use crate::contract::MAX_SEATS;

/// An agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// Its cell: `row * cols + column`.
    pub cell: u16,
    /// Its direction.
    pub facing: Direction,
    /// The kind that it holds; [`EMPTY`] for nothing.
    pub held: KindId,
}

/// A thing with a memory (a container, a switch), as it is in [`State::memory`].
///
/// Bytes: cell (low, high), kind, capacity, timer, count, then `capacity` slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixture<'a> {
    bytes: &'a [u8],
}

/// Bytes of a fixture before its slots.
pub(super) const FIXTURE_HEAD: usize = 6;

/// The number of the first slot of a fixture in its bytes.
pub(super) const SLOTS: usize = FIXTURE_HEAD;
pub(super) const KIND: usize = 2;
pub(super) const CAPACITY: usize = 3;
pub(super) const TIMER: usize = 4;
pub(super) const COUNT: usize = 5;

impl<'a> Fixture<'a> {
    #[inline]
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Its cell.
    #[inline]
    pub fn cell(&self) -> u16 {
        u16::from_le_bytes([self.bytes[0], self.bytes[1]])
    }

    /// Its kind; [`EMPTY`] if there is none in this place of the memory.
    #[inline]
    pub fn kind(&self) -> KindId {
        self.bytes[KIND]
    }

    /// The most things that it holds.
    #[inline]
    pub fn capacity(&self) -> u8 {
        self.bytes[CAPACITY]
    }

    /// Steps until it is ready (a container that is full) or goes out (a switch).
    #[inline]
    pub fn timer(&self) -> u8 {
        self.bytes[TIMER]
    }

    /// The number of things that it holds.
    #[inline]
    pub fn count(&self) -> u8 {
        self.bytes[COUNT]
    }

    /// Its contents, in order of arrival.
    #[inline]
    pub fn contents(&self) -> &'a [u8] {
        &self.bytes[FIXTURE_HEAD..FIXTURE_HEAD + usize::from(self.count())]
    }

    /// Its slots, including empty ones; `stride` is the length of a fixture in the memory.
    #[inline]
    pub(super) fn slots(&self, stride: usize) -> &'a [u8] {
        &self.bytes[FIXTURE_HEAD..stride]
    }

    /// Checks whether it is full and its time is up.
    #[inline]
    pub fn ready(&self) -> bool {
        self.count() == self.capacity() && self.timer() == 0
    }

    /// Checks whether it is full and its time is not up.
    #[inline]
    pub fn working(&self) -> bool {
        self.count() == self.capacity() && self.timer() > 0
    }
}

/// The state of a grid world; `X` is the world's own part.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct State<X> {
    /// Steps done.
    pub steps: u32,
    /// Sum of the rewards that count for the score, paid before the end.
    pub score: f32,
    /// Bit `s` is set if seat `s` is done.
    pub done: u16,
    /// The agents by seat; those past the last seat stay at their default.
    pub agents: [Agent; MAX_SEATS],
    /// The kind in each cell, `[row, column]` row-major; then a value for each cell (the thing on a surface,
    /// and by the rules of CoGrid its `object_state_map`); then the fixtures.
    pub memory: Vec<u8>,
    /// The generator.
    pub draws: Draws,
    /// The draws of the next step, if a recording determines them.
    pub injected: Option<Box<Injected>>,
    /// The world's part.
    pub extra: X,
}

impl<X: Clone> Clone for State<X> {
    fn clone(&self) -> Self {
        Self {
            agents: self.agents,
            memory: self.memory.clone(),
            draws: self.draws.clone(),
            injected: self.injected.clone(),
            extra: self.extra.clone(),
            ..*self
        }
    }

    /// Copies into the memory that is there: this is `save` and `load`.
    #[inline]
    fn clone_from(&mut self, from: &Self) {
        (self.steps, self.score, self.done) = (from.steps, from.score, from.done);
        self.agents = from.agents;
        self.memory.clone_from(&from.memory);
        self.draws.clone_from(&from.draws);
        self.injected.clone_from(&from.injected);
        self.extra.clone_from(&from.extra);
    }
}

impl<X> State<X> {
    /// The kind in a cell.
    #[inline]
    pub fn kind(&self, cell: u16) -> KindId {
        self.memory[usize::from(cell)]
    }

    /// Puts a kind into a cell. A fixture must not come or go this way.
    #[inline]
    pub fn set_kind(&mut self, cell: u16, kind: KindId) {
        self.memory[usize::from(cell)] = kind;
    }

    /// The kind that lies on the surface in a cell.
    #[inline]
    pub fn value(&self, tables: &Tables, cell: u16) -> u8 {
        self.memory[tables.cells + usize::from(cell)]
    }

    /// Puts something on the surface in a cell.
    #[inline]
    pub fn set_value(&mut self, tables: &Tables, cell: u16, value: u8) {
        self.memory[tables.cells + usize::from(cell)] = value;
    }

    /// The kinds of all cells, `[row, column]` row-major.
    #[inline]
    pub fn kinds(&self, tables: &Tables) -> &[KindId] {
        &self.memory[..tables.cells]
    }

    /// The values of all cells, `[row, column]` row-major.
    #[inline]
    pub fn values(&self, tables: &Tables) -> &[u8] {
        &self.memory[tables.cells..2 * tables.cells]
    }

    /// The fixtures, in reading order; a place without one has the kind [`EMPTY`].
    #[inline]
    pub fn fixtures(&self, tables: &Tables) -> impl ExactSizeIterator<Item = Fixture<'_>> {
        (0..tables.fixtures).map(move |index| self.fixture(tables, index))
    }

    /// The fixture with a number.
    #[inline]
    pub fn fixture(&self, tables: &Tables, index: usize) -> Fixture<'_> {
        Fixture::new(&self.memory[tables.fixture_place(index)..])
    }

    /// Sets the timer of a fixture, and its contents: as many as fit.
    pub fn set_fixture(&mut self, tables: &Tables, index: usize, timer: u8, contents: &[KindId]) {
        let place = tables.fixture_place(index);
        let record = &mut self.memory[place..place + tables.stride];
        let count = contents.len().min(usize::from(record[CAPACITY]));
        (record[TIMER], record[COUNT]) = (timer, count as u8);
        record[FIXTURE_HEAD..].fill(EMPTY);
        record[FIXTURE_HEAD..FIXTURE_HEAD + count].copy_from_slice(&contents[..count]);
    }

    /// The number of the fixture in a cell.
    #[inline]
    pub fn fixture_in(&self, tables: &Tables, cell: u16) -> Option<usize> {
        self.fixtures(tables)
            .position(|fixture| fixture.cell() == cell && fixture.kind() != EMPTY)
    }

    /// Checks whether an agent stands in a cell.
    #[inline]
    pub fn occupied(&self, tables: &Tables, cell: u16) -> bool {
        // Every agent is looked at, so that nothing depends on a branch.
        self.agents[..tables.seats]
            .iter()
            .fold(false, |found, agent| found | (agent.cell == cell))
    }
}
