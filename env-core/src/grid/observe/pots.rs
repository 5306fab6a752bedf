//! Features of containers: those beside an agent, and all of them in reading order.

use alloc::vec::Vec;

use super::own::ContainerSet;
use super::scene::{Facts, Scene};
use super::sources::{SIDES, Source};
use crate::grid::kind::{KindId, KindSet};
use crate::grid::state::Fixture;
use crate::value::Value;

/// Values of a pot besides its ingredients.
const POT_LEN: usize = 10;

/// The containers that the features of pots look at.
#[derive(Clone, Debug)]
pub(super) struct Pots {
    kinds: KindSet,
    /// The number of containers that are described.
    pub(super) count: usize,
    /// The ingredients that are counted in them.
    ingredients: Vec<KindId>,
}

/// 0 empty, 1 partly filled, 2 working, 3 ready.
#[inline]
pub(super) fn stage(pot: Fixture<'_>) -> usize {
    let (some, full) = (pot.count() > 0, pot.count() == pot.capacity());
    usize::from(some) + usize::from(full) * (1 + usize::from(pot.timer() == 0))
}

impl Pots {
    pub(super) fn new(set: &ContainerSet) -> Self {
        Self {
            kinds: set.kinds,
            count: set.count,
            ingredients: set.ingredients.clone(),
        }
    }

    /// Values of each.
    pub(super) fn len(&self) -> usize {
        POT_LEN + self.ingredients.len()
    }

    #[inline]
    fn of<'a>(&self, scene: &Scene<'a>) -> impl Iterator<Item = Fixture<'a>> + use<'a> {
        let kinds = self.kinds;
        scene.fixtures().filter(move |pot| kinds.has(pot.kind()))
    }

    /// Writes whether there is one that is empty, partly filled, working, ready, to the right, to the left, below, above:
    /// `[stage, side]`.
    #[inline]
    pub(super) fn beside<V: Value>(&self, scene: &Scene<'_>, seat: usize, out: &mut [V]) {
        let around = scene.facts.cells_around(scene.agents[seat].cell);
        for pot in self.of(scene) {
            let sides = around.iter().enumerate();
            let sides = sides.fold(0_u32, |sides, (side, &cell)| {
                sides | u32::from(cell == pot.cell()) << side
            });
            if sides != 0 {
                out[4 * stage(pot) + sides.trailing_zeros() as usize] = V::ONE;
            }
        }
    }

    /// Each in reading order: here, ready, empty, working, partly filled, how many of each ingredient, steps left or
    /// -1, rows and columns of the way from it, row and column of it; zeros where there are fewer.
    ///
    /// Source: CoGrid 0.3.2, `envs/overcooked/features.py:251`.
    #[inline]
    pub(super) fn ordered<V: Value>(&self, scene: &Scene<'_>, seat: usize, out: &mut [V]) {
        let (len, laid) = (self.len(), self.stay(scene.facts));
        let tail = 5 + self.ingredients.len();
        for (index, pot) in self.of(scene).take(self.count).enumerate() {
            let out = &mut out[index * len..(index + 1) * len];
            let stage = stage(pot);
            out[usize::from(STAGES[stage])] = V::ONE;
            if stage > 0 {
                for (count, &ingredient) in out[5..tail].iter_mut().zip(&self.ingredients) {
                    *count = V::whole(count_of(scene.slots(pot), ingredient));
                }
            }
            if stage == 2 {
                out[tail] = V::whole(i32::from(pot.timer()));
            }
            if !laid {
                out[0] = V::ONE;
                if stage != 2 {
                    out[tail] = V::whole(-1);
                }
                let way = self.way(scene.facts, scene.agents[seat].cell, pot.cell());
                out[tail + 1..].copy_from_slice(&way.map(V::whole));
            }
        }
    }

    /// Writes over zeros what [`Self::ordered`] writes for empty pots that stay where they are.
    pub(super) fn lay(&self, facts: &Facts, cell: u16, out: &mut [i8]) {
        if !self.stay(facts) {
            return;
        }
        let tail = 5 + self.ingredients.len();
        let pots = (0..).zip(&facts.ground);
        let pots = pots.filter(|&(_, &kind)| self.kinds.has(kind));
        for (out, (pot, _)) in out.chunks_exact_mut(self.len()).zip(pots) {
            (out[0], out[tail]) = (1, -1);
            let way = self.way(facts, cell, pot);
            out[tail + 1..].copy_from_slice(&way.map(|at| at as i8));
        }
    }

    /// Finds the sources of [`Self::beside`], if no pot comes or goes.
    pub(super) fn find_beside(&self, facts: &Facts, out: &mut [Source]) -> Option<()> {
        for (stage, out) in out.chunks_exact_mut(SIDES.len()).enumerate() {
            for (out, side) in out.iter_mut().zip(SIDES) {
                let kinds = self.kinds;
                *out = Source::Beside { kinds, stage, side };
            }
        }
        self.stay(facts).then_some(())
    }

    /// Finds the sources of [`Self::ordered`] over the laid values, if no pot comes or goes.
    pub(super) fn find_ordered(&self, facts: &Facts, out: &mut [Source]) -> Option<()> {
        let tail = 5 + self.ingredients.len();
        let pots = (0..).zip(&facts.ground);
        let pots = pots.filter(|&(_, &kind)| self.kinds.has(kind));
        for (out, (cell, _)) in out.chunks_exact_mut(self.len()).zip(pots) {
            for (stage, &place) in STAGES.iter().enumerate() {
                out[usize::from(place)] = Source::Stage { cell, stage };
            }
            for (out, &kind) in out[5..tail].iter_mut().zip(&self.ingredients) {
                *out = Source::Count { cell, kind };
            }
            out[tail] = Source::Time { cell };
        }
        self.stay(facts).then_some(())
    }

    /// Checks whether no pot comes or goes.
    #[inline]
    fn stay(&self, facts: &Facts) -> bool {
        self.kinds.0 & !facts.lasting.0 == 0
    }

    /// Rows and columns of the way from a pot, row and column of it.
    #[inline]
    fn way(&self, facts: &Facts, cell: u16, pot: u16) -> [i32; 4] {
        let ([row, col], [pot_row, pot_col]) = (facts.place(cell), facts.place(pot));
        [row - pot_row, col - pot_col, pot_row, pot_col]
    }
}

/// The places at which a pot shows that it is empty, partly filled, working, ready.
const STAGES: [u8; 4] = [2, 4, 3, 1];

/// Counts the slots with a kind.
#[inline]
pub(super) fn count_of(slots: &[KindId], kind: KindId) -> i32 {
    slots
        .iter()
        .fold(0, |count, &slot| count + i32::from(slot == kind))
}
