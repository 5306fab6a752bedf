//! Sixty-four kitchens side by side: each field is an array with an entry a lane.

use env_core::envs::overcooked_ai::{
    Cook, Item, Lying, Pot, State, item_of, number_item, number_recipe, recipe_of,
};

use super::plan::Plan;
use crate::lanes::bytes::{Bytes, LANES};

/// The contents of a pot.
#[derive(Clone, Copy, Debug)]
pub(super) struct PotLanes {
    /// The number of the recipe.
    pub(super) contents: Bytes,
    pub(super) clock: Bytes,
}

/// The contents of an array of observations.
#[derive(Clone, Debug)]
pub(super) struct Screen<const SEATS: usize> {
    /// The number of its ground and one more, 0 if nothing is known.
    pub(super) ground: Bytes,
    /// The cells of the cooks.
    pub(super) cells: [Bytes; SEATS],
    /// The items on the counters.
    pub(super) counters: Vec<Bytes>,
    /// The looks of the pots, and their numbers of steps.
    pub(super) pots: Vec<[Bytes; 2]>,
}

/// Instances side by side. Items have the numbers of [`number_item`].
#[derive(Clone, Debug)]
pub(crate) struct Block<const SEATS: usize> {
    pub(super) cell: [Bytes; SEATS],
    pub(super) facing: [Bytes; SEATS],
    pub(super) held: [Bytes; SEATS],
    /// The item on each counter, and its rank among them: they have an order.
    pub(super) lying: Vec<Bytes>,
    pub(super) rank: Vec<Bytes>,
    /// The number of items on counters.
    pub(super) count: Bytes,
    pub(super) pots: Vec<PotLanes>,
    pub(super) steps: [u32; LANES],
    pub(super) score: [i64; LANES],
    /// The arrays of `f32` and of bytes.
    pub(super) screens: [Screen<SEATS>; 2],
}

impl<const SEATS: usize> Block<SEATS> {
    /// A block of lanes that nobody uses.
    pub(super) fn new(plan: &Plan) -> Self {
        let pot = PotLanes {
            contents: Bytes::ZERO,
            clock: Bytes::ZERO,
        };
        // Lanes that nobody uses are stepped as well, so their cooks stand somewhere.
        let floor = plan.floor.first().copied().unwrap_or_default();
        let screen = Screen {
            ground: Bytes::ZERO,
            cells: [Bytes::ZERO; SEATS],
            counters: vec![Bytes::ZERO; plan.counters.len()],
            pots: vec![[Bytes::ZERO; 2]; plan.pots.len()],
        };
        Self {
            cell: [Bytes([floor; LANES]); SEATS],
            facing: [Bytes::ZERO; SEATS],
            held: [Bytes::ZERO; SEATS],
            lying: vec![Bytes::ZERO; plan.counters.len()],
            rank: vec![Bytes::ZERO; plan.counters.len()],
            count: Bytes::ZERO,
            pots: vec![pot; plan.pots.len()],
            steps: [0; LANES],
            score: [0; LANES],
            screens: [screen.clone(), screen],
        }
    }

    /// Takes up an instance; false if lanes cannot hold its state, and then nothing is changed.
    pub(super) fn insert(&mut self, plan: &Plan, lane: usize, state: &State) -> bool {
        if !fits(plan, state) {
            return false;
        }
        for (seat, cook) in state.cooks.iter().enumerate() {
            self.cell[seat].0[lane] = cook.cell as u8;
            self.facing[seat].0[lane] = cook.facing;
            self.held[seat].0[lane] = number_item(cook.held);
        }
        self.lying.iter_mut().for_each(|item| item.0[lane] = 0);
        for (rank, lying) in (0..).zip(&state.lying) {
            let counter = plan.counters.iter();
            let counter = counter.map(|&cell| u16::from(cell));
            if let Some(at) = { counter }.position(|cell| cell == lying.cell) {
                self.lying[at].0[lane] = number_item(lying.item);
                self.rank[at].0[lane] = rank;
            }
        }
        self.count.0[lane] = state.lying.len() as u8;
        for (lanes, pot) in self.pots.iter_mut().zip(&state.pots) {
            lanes.contents.0[lane] = number_recipe(pot.contents);
            lanes.clock.0[lane] = pot.clock as u8;
        }
        (self.steps[lane], self.score[lane]) = (state.steps, state.score);
        for screen in &mut self.screens {
            screen.ground.0[lane] = 0;
        }
        true
    }

    /// Writes an instance back over its original state.
    pub(super) fn extract(&self, plan: &Plan, lane: usize, state: &mut State) {
        for (seat, cook) in state.cooks.iter_mut().enumerate() {
            *cook = Cook {
                cell: self.cell[seat].0[lane].into(),
                facing: self.facing[seat].0[lane],
                held: item_of(self.held[seat].0[lane]),
            };
        }
        for (lanes, pot) in self.pots.iter().zip(&mut state.pots) {
            *pot = Pot {
                contents: recipe_of(lanes.contents.0[lane]),
                clock: lanes.clock.0[lane].into(),
            };
        }
        state.lying.clear();
        for rank in 0..self.count.0[lane] {
            let counters = plan.counters.iter().zip(&self.lying).zip(&self.rank);
            let mut here =
                counters.filter(|((_, item), at)| item.0[lane] != 0 && at.0[lane] == rank);
            if let Some(((&cell, item), _)) = here.next() {
                state.lying.push(Lying {
                    cell: cell.into(),
                    item: item_of(item.0[lane]),
                });
            }
        }
        (state.steps, state.score) = (self.steps[lane], self.score[lane]);
    }
}

/// Checks whether lanes can hold a state.
fn fits(plan: &Plan, state: &State) -> bool {
    let is_one = |cells: &[u8], cell: u16| cells.iter().any(|&other| u16::from(other) == cell);
    let is_item = |item: Item| match item {
        Item::Soup(recipe) => plan.has_recipe(recipe),
        _ => true,
    };
    let cook =
        |cook: &Cook| is_one(&plan.floor, cook.cell) && cook.facing < 4 && is_item(cook.held);
    let lying = |lying: &Lying| {
        is_one(&plan.counters, lying.cell) && lying.item != Item::Nothing && is_item(lying.item)
    };
    let pot = |pot: &Pot| plan.has_recipe(pot.contents) && pot.clock < u16::from(u8::MAX);
    state.cooks.len() == plan.seats
        && state.pots.len() == plan.pots.len()
        && state.ground.is_empty()
        && state.cooks.iter().all(cook)
        && state.lying.iter().all(lying)
        && state.pots.iter().all(pot)
}
