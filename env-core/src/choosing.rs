//! The choice of an AI partner, the same wherever a world is stepped: on pages, in the replica, in replays.

use alloc::vec::Vec;

use crate::contract::{Action, Policy, World};

/// Asks a policy for the action of a seat now; one that the environment does not have counts as the no-op.
/// `observation` is overwritten.
pub fn choose_action(
    world: &mut (impl World + ?Sized),
    policy: &mut (impl Policy + ?Sized),
    seat: usize,
    observation: &mut Vec<f32>,
) -> Action {
    world.observe(seat, observation);
    let action = match policy.wants_mask() {
        true => policy.act_masked(observation, world.mask(seat)),
        false => policy.act(observation),
    };
    let spec = world.spec();
    match usize::from(action) < spec.actions.len() {
        true => action,
        false => spec.noop,
    }
}
