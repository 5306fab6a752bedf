//! Grids in lanes.

mod block;
mod plan;
mod sight;
mod step;
mod turn;

use std::marker::PhantomData;

use env_core::grid::{CogridRules, Grid, GridWorld, State};
use env_core::{Action, Value};

use super::Game;
use super::bytes::LANES;
use super::gains::Gains;
use super::wide::Rules;
use crate::instances::Natives;
use block::Block;
use plan::Plan;
use sight::{Scratch, Sight};

/// A grid that lanes play.
pub(crate) struct GridGame<W, C> {
    pub(crate) plan: Plan,
    /// Bytes of a fixture in the memory of a state.
    stride: usize,
    /// The way in which blocks observe, if they can.
    sight: Option<Sight>,
    grid: PhantomData<fn() -> (W, C)>,
}

impl<W, C> Clone for GridGame<W, C> {
    fn clone(&self) -> Self {
        Self {
            plan: self.plan.clone(),
            stride: self.stride,
            sight: self.sight.clone(),
            grid: PhantomData,
        }
    }
}

impl<W: GridWorld, C> GridGame<W, C> {
    /// Prepares a grid; `None` if lanes cannot play it.
    pub(crate) fn new(grid: &Grid<W, C>) -> Option<Self> {
        let plan = Plan::new(grid)?;
        Some(Self {
            sight: Sight::new(grid.observer(), grid.tables(), &plan),
            stride: grid.tables().fixture_len().max(1),
            plan,
            grid: PhantomData,
        })
    }
}

impl<W, C, const SEATS: usize> Game<SEATS> for GridGame<W, C>
where
    W: GridWorld<Extra: Send> + Send + Sync + 'static,
    C: CogridRules<W>,
{
    type Instances = Natives<Grid<W, C>>;
    type Rules = Plan;
    type Scratch = Scratch<SEATS>;

    fn rules(&self) -> &Plan {
        &self.plan
    }

    fn new_block(&self) -> Block<SEATS> {
        Block::new(&self.plan)
    }

    fn new_scratch(&self) -> Option<Scratch<SEATS>> {
        let sight = self.sight.as_ref()?;
        Some(Scratch::new(&self.plan, sight))
    }

    fn events(&self) -> usize {
        self.plan.rewards.len()
    }

    fn noop(&self) -> Action {
        plan::STAY
    }

    fn insert(&self, block: &mut Block<SEATS>, lane: usize, state: &State<W::Extra>) -> bool {
        block.insert(&self.plan, self.stride, lane, state)
    }

    fn extract(&self, block: &Block<SEATS>, lane: usize, state: &mut State<W::Extra>) {
        block.extract(&self.plan, self.stride, lane, state);
    }

    fn finish(&self, state: &mut State<W::Extra>) {
        state.done = (1 << SEATS) - 1;
    }

    fn is_over(&self, state: &State<W::Extra>) -> bool {
        state.done != 0
    }

    fn observe<V: Value>(
        &self,
        block: &mut Block<SEATS>,
        is_earlier: bool,
        scratch: &mut Scratch<SEATS>,
        out: &mut [V],
    ) {
        if let Some(sight) = &self.sight {
            sight::observe_wide(&self.plan, sight, block, is_earlier, scratch, out);
        }
    }
}

impl<const SEATS: usize> Rules<SEATS> for Plan {
    type Block = Block<SEATS>;

    #[inline(always)]
    fn step(
        &self,
        block: &mut Block<SEATS>,
        actions: &[[Action; SEATS]; LANES],
        gains: &mut Gains<SEATS>,
    ) {
        step::step_block(self, block, actions, gains);
    }

    #[inline(always)]
    fn write_masks(&self, block: &mut Block<SEATS>, masks: &mut [u8]) {
        step::write_masks(self, block, masks);
    }
}
