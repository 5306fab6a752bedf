//! The input of every feature: the parts of a state, and the tables of the ground.

use alloc::vec;
use alloc::vec::Vec;

use crate::grid::kind::{EMPTY, KindId, KindSet, MAX_KINDS};
use crate::grid::state::{Agent, Direction, Fixture, State};
use crate::grid::tables::{Hand, Tables};

/// In place of a cell: outside the grid.
const OUTSIDE: u16 = u16::MAX;

/// Tables for the features of a world.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// Row and column of each cell.
    places: Vec<[u8; 2]>,
    /// The cells to the right, to the left, below and above each cell.
    around: Vec<[u16; 4]>,
    /// Kinds whose value is the thing on them; by the rules of CoGrid, every value counts, whatever it means.
    pub(super) surfaces: KindSet,
    /// Kinds that never come or go.
    pub(super) lasting: KindSet,
    /// In each cell the kind that stays there whatever happens, or [`EMPTY`].
    pub(super) ground: Vec<KindId>,
    /// The same, eight to a word.
    words: Vec<u64>,
}

impl Facts {
    /// `changes_ground` says whether the world itself puts kinds into cells.
    pub(super) fn new(tables: &Tables, changes_ground: bool) -> Self {
        use Direction::{Down, Left, Right, Up};
        let cells = 0..tables.cells as u16;
        let places = cells.clone().map(|cell| {
            let (row, col) = tables.column_and_row(cell);
            [row as u8, col as u8]
        });
        let around = cells.map(|cell| {
            [Right, Left, Down, Up].map(|direction| match tables.cell_in_front(cell, direction) {
                front if front == cell => OUTSIDE,
                front => front,
            })
        });
        let is_surface = |kind: &KindId| matches!(hand_of(tables, *kind), Hand::Surface(_));
        let surfaces = kinds(tables).filter(is_surface);
        let lasting = if changes_ground || tables.ground.is_none() {
            KindSet::default()
        } else {
            lasting(tables)
        };
        let ground = match &tables.ground {
            Some(ground) => {
                let stays = |&kind: &KindId| if lasting.has(kind) { kind } else { EMPTY };
                ground.kinds.iter().map(stays).collect()
            }
            None => vec![EMPTY; tables.cells],
        };
        let mut ground_words = Vec::new();
        words_of(&ground, |_, word| ground_words.push(word));
        Self {
            places: places.collect(),
            around: around.collect(),
            surfaces: if tables.is_cogrid() {
                KindSet(u64::MAX)
            } else {
                set(surfaces)
            },
            lasting,
            words: ground_words,
            ground,
        }
    }

    /// Row and column of a cell.
    #[inline]
    pub(super) fn place(&self, cell: u16) -> [i32; 2] {
        self.places[usize::from(cell)].map(i32::from)
    }

    /// The cells to the right, to the left, below and above; outside the grid no cell has the number.
    #[inline]
    pub(super) fn cells_around(&self, cell: u16) -> [u16; 4] {
        self.around[usize::from(cell)]
    }
}

/// Tells bytes as words of eight, with the index of the first byte of each.
#[inline]
pub(super) fn words_of(bytes: &[u8], mut tell: impl FnMut(usize, u64)) {
    let (whole, rest) = bytes.as_chunks::<8>();
    for (index, &chunk) in whole.iter().enumerate() {
        tell(8 * index, u64::from_le_bytes(chunk));
    }
    if rest.is_empty() {
        return;
    }
    let last = match bytes.last_chunk::<8>() {
        // The last eight bytes, without those in the words before.
        Some(last) => u64::from_le_bytes(*last) >> (64 - 8 * rest.len()),
        None => rest
            .iter()
            .rfold(0, |word, &byte| word << 8 | u64::from(byte)),
    };
    tell(8 * whole.len(), last);
}

/// The kinds of a world.
pub(super) fn kinds(tables: &Tables) -> impl Iterator<Item = KindId> + use<> {
    1..=tables.kinds.len() as KindId
}

/// The acts that hands can do with a kind.
pub(super) fn hand_of(tables: &Tables, kind: KindId) -> Hand {
    tables.hands[usize::from(kind) % MAX_KINDS]
}

/// The set of some kinds.
pub(super) fn set(kinds: impl Iterator<Item = KindId>) -> KindSet {
    kinds.fold(KindSet::default(), KindSet::with)
}

/// Kinds that nobody can carry and nothing becomes.
fn lasting(tables: &Tables) -> KindSet {
    let mut moving = KindSet::default();
    for kind in kinds(tables) {
        moving = match hand_of(tables, kind) {
            Hand::Loose | Hand::Collect => moving.with(kind),
            Hand::Source(gives) => moving.with(gives),
            Hand::Becomes { into, .. } => moving.with(kind).with(into),
            _ => moving,
        };
    }
    let results = tables.containers.iter().flat_map(|container| {
        container
            .dishes
            .iter()
            .flat_map(|dish| dish.ingredients.iter().copied().chain([dish.result]))
    });
    let moving = results.fold(moving, KindSet::with);
    set(kinds(tables).filter(|&kind| !moving.has(kind)))
}

#[inline]
fn litter(kinds: &[KindId], facts: &Facts, mut tell: impl FnMut(usize, u64)) {
    let mut ground = facts.words.iter();
    words_of(kinds, |start, word| {
        tell(start, word ^ ground.next().copied().unwrap_or(0));
    });
}

/// A state as the features see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene<'a> {
    pub(super) tables: &'a Tables,
    pub(super) facts: &'a Facts,
    /// The agents by seat.
    pub(super) agents: &'a [Agent],
    /// The kind in each cell.
    pub(super) kinds: &'a [KindId],
    /// The value of each cell.
    pub(super) values: &'a [u8],
    /// True if there is anything in the cells besides the ground that stays.
    pub(super) littered: bool,
    fixtures: &'a [u8],
}

impl<'a> Scene<'a> {
    #[inline]
    pub(super) fn new<X>(tables: &'a Tables, facts: &'a Facts, state: &'a State<X>) -> Self {
        let kinds = state.kinds(tables);
        let mut littered = false;
        litter(kinds, facts, |_, word| littered |= word != 0);
        Self {
            tables,
            facts,
            agents: &state.agents[..tables.seats],
            kinds,
            littered,
            values: state.values(tables),
            fixtures: &state.memory[tables.fixture_place(0)..],
        }
    }

    /// Tells cells with something that comes and goes, eight to a word, with the index of the first of each word.
    #[inline]
    pub(super) fn list_litter(&self, tell: impl FnMut(usize, u64)) {
        litter(self.kinds, self.facts, tell);
    }

    /// The containers and switches in reading order; places without one have the kind [`EMPTY`].
    #[inline]
    pub(super) fn fixtures(&self) -> impl Iterator<Item = Fixture<'a>> + use<'a> {
        let (bytes, stride) = (self.fixtures, self.tables.stride);
        (0..self.tables.fixtures).map(move |index| Fixture::new(&bytes[index * stride..]))
    }

    /// The slots of a fixture, including empty ones.
    #[inline]
    pub(super) fn slots(&self, fixture: Fixture<'a>) -> &'a [KindId] {
        fixture.slots(self.tables.stride)
    }

    /// Row and column of a cell.
    #[inline]
    pub(super) fn place(&self, cell: u16) -> [i32; 2] {
        self.facts.place(cell)
    }

    /// Returns the kind that lies on a surface in a cell; by the rules of CoGrid, the number that the cell shows.
    #[inline]
    pub(super) fn kind_lying_on(&self, cell: usize) -> u8 {
        if self.facts.surfaces.has(self.kinds[cell]) {
            self.values[cell]
        } else {
            EMPTY
        }
    }
}
