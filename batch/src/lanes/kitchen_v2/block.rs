//! Sixty-four kitchens side by side: each field is an array with an entry a lane.

use env_core::envs::overcooked_jaxmarl_v2::{Cell, Cook, State};
use env_core::rng::Rng;

use super::plan::Plan;
use crate::lanes::bytes::{Bytes, LANES};

/// A pot.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PotLanes {
    pub(super) items: Bytes,
    pub(super) timer: Bytes,
}

/// The contents of a kitchen, as an array of observations shows them.
#[derive(Clone, Debug)]
pub(super) struct Things {
    pub(super) counters: Vec<Bytes>,
    pub(super) pots: Vec<PotLanes>,
    /// The steps that each button still shows the recipe.
    pub(super) buttons: Vec<Bytes>,
    pub(super) recipe: Bytes,
    /// 1 if the wanted soup was delivered in the last step.
    pub(super) delivered: Bytes,
}

/// The contents of an array of observations.
#[derive(Clone, Debug)]
pub(super) struct Screen<const SEATS: usize> {
    /// 1 where it is known.
    pub(super) known: Bytes,
    /// The cells of the cooks.
    pub(super) cells: [Bytes; SEATS],
    pub(super) things: Things,
}

/// Instances side by side. Items are those of the kitchen, in a byte.
#[derive(Clone, Debug)]
pub(crate) struct Block<const SEATS: usize> {
    pub(super) cell: [Bytes; SEATS],
    pub(super) facing: [Bytes; SEATS],
    pub(super) held: [Bytes; SEATS],
    pub(super) things: Things,
    pub(super) steps: [u32; LANES],
    pub(super) score: [i64; LANES],
    pub(super) draws: [Rng; LANES],
    /// The arrays of `f32` and of bytes.
    pub(super) screens: [Screen<SEATS>; 2],
}

impl<const SEATS: usize> Block<SEATS> {
    /// A block of lanes that nobody uses.
    pub(super) fn new(plan: &Plan) -> Self {
        // Lanes that nobody uses are stepped as well, so their cooks stand somewhere.
        let floor = plan.floor.first().copied().unwrap_or_default();
        let things = Things {
            counters: vec![Bytes::ZERO; plan.counters.len()],
            pots: vec![PotLanes::default(); plan.pots.len()],
            buttons: vec![Bytes::ZERO; plan.buttons.len()],
            recipe: Bytes::ZERO,
            delivered: Bytes::ZERO,
        };
        Self {
            cell: [Bytes([floor; LANES]); SEATS],
            facing: [Bytes::ZERO; SEATS],
            held: [Bytes::ZERO; SEATS],
            steps: [0; LANES],
            score: [0; LANES],
            draws: std::array::from_fn(|_| Rng::new(0)),
            screens: std::array::from_fn(|_| Screen {
                known: Bytes::ZERO,
                cells: [Bytes::ZERO; SEATS],
                things: things.clone(),
            }),
            things,
        }
    }

    /// Takes up an instance; false if lanes cannot hold its state, and then nothing is changed.
    pub(super) fn insert(&mut self, plan: &Plan, lane: usize, state: &State) -> bool {
        if state.next.is_some() || state.cooks.len() != plan.seats {
            return false;
        }
        for (seat, cook) in state.cooks.iter().enumerate() {
            self.cell[seat].0[lane] = cook.cell as u8;
            self.facing[seat].0[lane] = cook.facing;
            self.held[seat].0[lane] = cook.held as u8;
        }
        let at = |cell: &u8| state.cells[usize::from(*cell)];
        let things = &mut self.things;
        for (item, cell) in things.counters.iter_mut().zip(&plan.counters) {
            item.0[lane] = at(cell).items as u8;
        }
        for (pot, cell) in things.pots.iter_mut().zip(&plan.pots) {
            pot.items.0[lane] = at(cell).items as u8;
            pot.timer.0[lane] = at(cell).timer;
        }
        for (timer, cell) in things.buttons.iter_mut().zip(&plan.buttons) {
            timer.0[lane] = at(cell).timer;
        }
        things.recipe.0[lane] = state.recipe as u8;
        things.delivered.0[lane] = u8::from(state.delivered);
        (self.steps[lane], self.score[lane]) = (state.steps, state.score);
        self.draws[lane] = state.rng.clone();
        for screen in &mut self.screens {
            screen.known.0[lane] = 0;
        }
        true
    }

    /// Writes an instance back over its original state.
    pub(super) fn extract(&self, plan: &Plan, lane: usize, state: &mut State) {
        for (seat, cook) in state.cooks.iter_mut().enumerate() {
            *cook = Cook {
                cell: self.cell[seat].0[lane].into(),
                facing: self.facing[seat].0[lane],
                held: self.held[seat].0[lane].into(),
            };
        }
        let mut put = |cell: &u8, items: u8, timer: u8| {
            state.cells[usize::from(*cell)] = Cell {
                items: items.into(),
                timer,
            };
        };
        let things = &self.things;
        for (item, cell) in things.counters.iter().zip(&plan.counters) {
            put(cell, item.0[lane], 0);
        }
        for (pot, cell) in things.pots.iter().zip(&plan.pots) {
            put(cell, pot.items.0[lane], pot.timer.0[lane]);
        }
        for (timer, cell) in things.buttons.iter().zip(&plan.buttons) {
            put(cell, 0, timer.0[lane]);
        }
        state.recipe = things.recipe.0[lane].into();
        state.delivered = things.delivered.0[lane] != 0;
        (state.steps, state.score) = (self.steps[lane], self.score[lane]);
        state.rng = self.draws[lane].clone();
    }
}
