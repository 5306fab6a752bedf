//! Features of one agent: its cell, its direction, the thing that it holds, and the agents and things near it.

use alloc::vec::Vec;

use super::scene::Scene;
use super::sources::Source;
use crate::grid::kind::{KindId, KindSet, MAX_KINDS};
use crate::value::Value;

/// In place of a slot: none.
pub(super) const NONE: u8 = u8::MAX;

/// Writes whether there is one of these kinds to the right, to the left, below, above.
#[inline]
pub(super) fn beside<V: Value>(scene: &Scene<'_>, seat: usize, kinds: KindSet, out: &mut [V]) {
    let around = scene.facts.cells_around(scene.agents[seat].cell);
    for (out, cell) in out.iter_mut().zip(around) {
        let kind = scene.kinds.get(usize::from(cell));
        *out = V::flag(kind.is_some_and(|&kind| kinds.has(kind)));
    }
}

/// Writes the kind that it holds: its number and one more, or 0.
///
/// Source: CoGrid 0.3.2, `feature_space/features.py:118`.
#[inline]
pub(super) fn inventory<V: Value>(scene: &Scene<'_>, seat: usize, out: &mut [V]) {
    let held = i32::from(scene.agents[seat].held);
    out[0] = V::whole(held + i32::from(held > 0));
}

/// The kind that an agent holds, a value for each of some kinds.
#[derive(Clone, Debug)]
pub(super) struct Items {
    slot: [u8; MAX_KINDS],
}

impl Items {
    pub(super) fn new(kinds: &[KindId]) -> Self {
        let mut slot = [NONE; MAX_KINDS];
        for (index, &kind) in (0..).zip(kinds) {
            slot[usize::from(kind) % MAX_KINDS] = index;
        }
        Self { slot }
    }

    #[inline]
    pub(super) fn write<V: Value>(&self, scene: &Scene<'_>, seat: usize, out: &mut [V]) {
        let slot = self.slot[usize::from(scene.agents[seat].held) % MAX_KINDS];
        if let Some(out) = out.get_mut(usize::from(slot)) {
            *out = V::ONE;
        }
    }

    pub(super) fn find_sources(&self, out: &mut [Source]) {
        for (kind, &slot) in (0..).zip(&self.slot) {
            if let Some(out) = out.get_mut(usize::from(slot)) {
                *out = Source::Holds(kind);
            }
        }
    }
}

/// The way from the other agents, by seat: rows and columns.
#[inline]
pub(super) fn distances<V: Value>(scene: &Scene<'_>, seat: usize, out: &mut [V]) {
    let [row, col] = scene.place(scene.agents[seat].cell);
    let before = scene.agents[..seat].iter();
    let others = before.chain(&scene.agents[seat + 1..]);
    for (out, other) in out.chunks_exact_mut(2).zip(others) {
        let [other_row, other_col] = scene.place(other.cell);
        out.copy_from_slice(&[row - other_row, col - other_col].map(V::whole));
    }
}

/// The sources of [`distances`].
pub(super) fn find_distances(out: &mut [Source]) {
    for (other, out) in out.chunks_exact_mut(2).enumerate() {
        for (axis, out) in out.iter_mut().enumerate() {
            *out = Source::Apart { other, axis };
        }
    }
}

/// The distances from the nearest things of some kinds, whether they stand in a cell or lie on a surface.
#[derive(Clone, Debug)]
pub(super) struct Closest {
    /// The index of each kind or value in `counts`.
    slot: [u8; 256],
    /// The number of each kind.
    counts: Vec<usize>,
}

/// The most things of a kind.
const MOST: usize = 4;

impl Closest {
    /// `specs` has kinds with their numbers, at most four.
    pub(super) fn new(specs: &[(KindId, usize)]) -> Self {
        let mut slot = [NONE; 256];
        for (index, &(kind, _)) in (0..).zip(specs) {
            slot[usize::from(kind)] = index;
        }
        Self {
            slot,
            counts: specs.iter().map(|&(_, count)| count.min(MOST)).collect(),
        }
    }

    /// The number of things that it describes.
    pub(super) fn len(&self) -> usize {
        self.counts.iter().sum()
    }

    /// The nearest first, of equals the first in reading order; zeros where there are fewer.
    ///
    /// Source: CoGrid 0.3.2, `envs/overcooked/features.py:151`, which leaves the order of equals open.
    #[inline(never)]
    pub(super) fn write<V: Value>(&self, scene: &Scene<'_>, seat: usize, out: &mut [V]) {
        let own = scene.agents[seat].cell;
        let [row, col] = scene.place(own);
        let mut rest = out;
        for (index, &count) in (0..).zip(&self.counts) {
            let mut nearest = [(u32::MAX, [0; 2]); MOST];
            for cell in (0..scene.kinds.len() as u16).filter(|&cell| cell != own) {
                if !self.is_there(scene, cell, index) {
                    continue;
                }
                let [other_row, other_col] = scene.place(cell);
                let way = [row - other_row, col - other_col];
                let steps = way[0].unsigned_abs() + way[1].unsigned_abs();
                if let Some(at) = nearest.iter().position(|&(other, _)| steps < other) {
                    nearest[at..].rotate_right(1);
                    nearest[at] = (steps, way);
                }
            }
            let (here, after) = rest.split_at_mut(2 * count);
            for (out, (_, way)) in here.chunks_exact_mut(2).zip(nearest) {
                out.copy_from_slice(&way.map(V::whole));
            }
            rest = after;
        }
    }

    fn is_there(&self, scene: &Scene<'_>, cell: u16, index: u8) -> bool {
        let cell = usize::from(cell);
        self.slot[usize::from(scene.kinds[cell])] == index
            || self.slot[usize::from(scene.kind_lying_on(cell))] == index
    }
}
