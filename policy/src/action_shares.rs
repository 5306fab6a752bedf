//! The probabilities with which a policy would act, one observation after the other. It plays nothing itself.

use std::sync::Arc;

use env_core::{Action, Policy, Spec};

use crate::network::{ActionValues, Misfit, Network};

/// A policy that is asked in a seat, from the start of an episode on.
pub struct ActionShares(PolicyKind);

enum PolicyKind {
    Script(Box<dyn Policy>),
    Network {
        values: Box<ActionValues>,
        /// Ticks until the next decision.
        rest: u8,
    },
}

impl std::fmt::Debug for ActionShares {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            PolicyKind::Script(_) => "Script",
            PolicyKind::Network { .. } => "Network",
        })
    }
}

impl ActionShares {
    /// Asks a policy that is reset: the action that it would take has the probability 1.
    pub fn of_policy(policy: Box<dyn Policy>) -> Self {
        Self(PolicyKind::Script(policy))
    }

    /// Asks a network. Its probabilities are the exponentials of its values over their sum, at its temperature; at 1, if
    /// it takes the greatest value.
    ///
    /// # Errors
    /// [`Misfit`]
    pub fn of_network(network: Arc<Network>, spec: &Spec) -> Result<Self, Misfit> {
        let values = Box::new(ActionValues::new(network, spec)?);
        Ok(Self(PolicyKind::Network { values, rest: 0 }))
    }

    /// True if it decides at the next observation; between two decisions, a model does nothing.
    pub fn decides_next(&self) -> bool {
        match &self.0 {
            PolicyKind::Script(_) => true,
            PolicyKind::Network { rest, .. } => *rest == 0,
        }
    }

    /// True if it has probabilities, as models do; a script has one action.
    pub fn has_probabilities(&self) -> bool {
        matches!(self.0, PolicyKind::Network { .. })
    }

    /// The probability of each action of the environment, after all observations that were given before; `mask` has the
    /// actions that may have an effect, as bits.
    pub fn next(&mut self, spec: &Spec, observation: &[f32], mask: u64) -> Vec<f32> {
        match &mut self.0 {
            PolicyKind::Script(policy) => alone(
                spec,
                match policy.wants_mask() {
                    true => policy.act_masked(observation, mask),
                    false => policy.act(observation),
                },
            ),
            PolicyKind::Network { rest, .. } if *rest > 0 => {
                *rest -= 1;
                alone(spec, spec.noop)
            }
            PolicyKind::Network { values, rest } => {
                *rest = values.network().choice.every - 1;
                shares_of(values, spec, observation, mask)
            }
        }
    }
}

/// All of it for one action.
fn alone(spec: &Spec, action: Action) -> Vec<f32> {
    let mut shares = vec![0.0; spec.actions.len()];
    let taken = shares.get_mut(usize::from(action));
    taken.into_iter().for_each(|share| *share = 1.0);
    shares
}

fn shares_of(values: &mut ActionValues, spec: &Spec, observation: &[f32], mask: u64) -> Vec<f32> {
    let choice = values.network().choice;
    let answers = values.next(observation, mask).to_vec();
    let best = values.network().best_action(&answers, mask);
    let top = answers.get(best).copied().unwrap_or_default();
    let temperature = choice.temperature.unwrap_or(1.0);
    let allowed = if choice.is_masked { mask } else { u64::MAX };
    let weight = |(action, value): (usize, &f32)| {
        let is_allowed = action >= 64 || allowed >> action & 1 == 1;
        let power = (value - top) / temperature;
        match is_allowed && !power.is_nan() {
            true => libm::expf(power),
            false => 0.0,
        }
    };
    let mut weights: Vec<f32> = answers.iter().enumerate().map(weight).collect();
    let sum: f32 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
    weights.resize(spec.actions.len(), 0.0);
    weights
}
