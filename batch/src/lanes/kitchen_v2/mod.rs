//! Kitchens of JaxMARL's Overcooked V2 in lanes.

mod block;
mod plan;
mod sight;
mod step;

use env_core::envs::overcooked_jaxmarl_v2::{OvercookedJaxmarlV2, STAY, State};
use env_core::{Action, Value};

use super::Game;
use super::bytes::LANES;
use super::gains::Gains;
use super::wide::Rules;
use crate::instances::Natives;
use block::Block;
use plan::Plan;
use sight::Sight;

/// A kitchen that lanes play.
#[derive(Clone)]
pub(crate) struct KitchenGameV2 {
    plan: Plan,
    /// The way in which blocks observe, if they can.
    sight: Option<Sight>,
}

impl KitchenGameV2 {
    /// Prepares a kitchen; `None` if lanes cannot play it.
    pub(crate) fn new(env: &OvercookedJaxmarlV2) -> Option<Self> {
        let plan = Plan::new(env)?;
        Some(Self {
            sight: Sight::new(env, &plan),
            plan,
        })
    }
}

impl<const SEATS: usize> Game<SEATS> for KitchenGameV2 {
    type Instances = Natives<OvercookedJaxmarlV2>;
    type Rules = Plan;
    type Scratch = ();

    fn rules(&self) -> &Plan {
        &self.plan
    }

    fn new_block(&self) -> Block<SEATS> {
        Block::new(&self.plan)
    }

    fn new_scratch(&self) -> Option<()> {
        self.sight.as_ref().map(|_| ())
    }

    fn events(&self) -> usize {
        // An ingredient may also start a pot, and a plate may be taken at the same time.
        3
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
        (): &mut (),
        out: &mut [V],
    ) {
        if let Some(sight) = &self.sight {
            sight.observe(block, is_earlier, out);
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
    fn write_masks(&self, _: &mut Block<SEATS>, masks: &mut [u8]) {
        masks.fill(1);
    }
}
