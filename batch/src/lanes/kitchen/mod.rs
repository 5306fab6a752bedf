//! Kitchens of the published agents in lanes.

mod block;
mod masks;
mod plan;
mod sight;
mod step;

use env_core::envs::overcooked_ai::{OvercookedAi, STAY, State};
use env_core::{Action, Value};

use super::Game;
use super::bytes::LANES;
use super::gains::Gains;
use super::wide::Rules;
use crate::instances::Natives;
use block::Block;
use plan::Plan;
use sight::{Scratch, Sight};

/// A kitchen that lanes play.
#[derive(Clone)]
pub(crate) struct KitchenGame {
    plan: Plan,
    /// The way in which blocks observe, if they can.
    sight: Option<Sight>,
}

impl KitchenGame {
    /// Prepares a kitchen; `None` if lanes cannot play it.
    pub(crate) fn new(env: &OvercookedAi) -> Option<Self> {
        let plan = Plan::new(env)?;
        Some(Self {
            sight: Sight::new(env, &plan),
            plan,
        })
    }

    /// The number of cooks.
    pub(crate) fn seats(&self) -> usize {
        self.plan.seats
    }
}

impl<const SEATS: usize> Game<SEATS> for KitchenGame {
    type Instances = Natives<OvercookedAi>;
    type Rules = Plan;
    type Scratch = Scratch;

    fn rules(&self) -> &Plan {
        &self.plan
    }

    fn new_block(&self) -> Block<SEATS> {
        Block::new(&self.plan)
    }

    fn new_scratch(&self) -> Option<Scratch> {
        self.sight.as_ref().map(|_| Scratch::new(&self.plan))
    }

    fn events(&self) -> usize {
        // A delivery: all other events are worth nothing.
        1
    }

    fn noop(&self) -> Action {
        STAY
    }

    fn insert(&self, block: &mut Block<SEATS>, lane: usize, state: &State) -> bool {
        block.insert(&self.plan, lane, state)
    }

    fn extract(&self, block: &Block<SEATS>, lane: usize, state: &mut State) {
        block.extract(&self.plan, lane, state);
    }

    fn finish(&self, _: &mut State) {}

    fn is_over(&self, state: &State) -> bool {
        state.steps >= self.plan.horizon
    }

    fn observe<V: Value>(
        &self,
        block: &mut Block<SEATS>,
        is_earlier: bool,
        scratch: &mut Scratch,
        out: &mut [V],
    ) {
        if let Some(sight) = &self.sight {
            sight.observe(&self.plan, block, is_earlier, scratch, out);
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
        masks::write_masks(self, block, masks);
    }
}
