//! Features of containers: what is beside an agent, and all of them in reading order.

use alloc::vec::Vec;

use super::scene::Scene;
use super::value::Value;
use crate::grid::kind::{KindId, KindSet};
use crate::grid::state::Fixture;

/// Values of a pot besides its ingredients.
const POT_LEN: usize = 10;

/// The containers that the features of pots look at.
#[derive(Clone, Debug)]
pub(super) struct Pots {
    kinds: KindSet,
    /// How many are told of.
    pub(super) count: usize,
    /// What is counted in them.
    ingredients: Vec<KindId>,
}

/// 0 empty, 1 partly filled, 2 working, 3 ready.
#[inline]
pub(super) fn stage(pot: Fixture<'_>) -> usize {
    let (some, full) = (pot.count() > 0, pot.count() == pot.capacity());
    usize::from(some) + usize::from(full) * (1 + usize::from(pot.timer() == 0))
}

impl Pots {
    pub(super) fn new(kinds: KindSet, count: usize, ingredients: Vec<KindId>) -> Self {
        Self {
            kinds,
            count,
            ingredients,
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

    /// Whether there is one that is empty, partly filled, working, ready, to the right, to the left, below, above:
    /// `[stage, side]`.
    #[inline]
    pub(super) fn beside<V: Value>(&self, scene: &Scene<'_>, seat: usize, out: &mut [V]) {
        let around = scene.facts.around(scene.agents[seat].cell);
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
        let [row, col] = scene.place(scene.agents[seat].cell);
        let len = self.len();
        for (index, pot) in self.of(scene).take(self.count).enumerate() {
            let out = &mut out[index * len..(index + 1) * len];
            let stage = stage(pot);
            out[0] = V::ONE;
            out[usize::from(STAGES[stage])] = V::ONE;
            let (counts, rest) = out[5..].split_at_mut(self.ingredients.len());
            for (count, &ingredient) in counts.iter_mut().zip(&self.ingredients) {
                *count = V::whole(count_of(scene.slots(pot), ingredient));
            }
            let left = if stage == 2 {
                i32::from(pot.timer())
            } else {
                -1
            };
            let [pot_row, pot_col] = scene.place(pot.cell());
            let values = [left, row - pot_row, col - pot_col, pot_row, pot_col];
            rest.copy_from_slice(&values.map(V::whole));
        }
    }
}

/// Where a pot says that it is empty, partly filled, working, ready.
const STAGES: [u8; 4] = [2, 4, 3, 1];

/// How many of the slots hold a kind.
#[inline]
pub(super) fn count_of(slots: &[KindId], kind: KindId) -> i32 {
    slots
        .iter()
        .fold(0, |count, &slot| count + i32::from(slot == kind))
}
