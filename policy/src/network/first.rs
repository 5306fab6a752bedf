//! The form of a network before there were action masks and more kernels. Old recordings name networks by the hash of
//! these bytes.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{ActionChoice, Field, KernelStep, MemoryRegister};

/// A network in the first form.
#[derive(Serialize, Deserialize)]
pub(super) struct Network<'a> {
    fields: Cow<'a, [Field]>,
    registers: Cow<'a, [u32]>,
    steps: Cow<'a, [KernelStep]>,
    memory: Cow<'a, [MemoryRegister]>,
    logits: u16,
    choice: DecisionRule,
    weights: Cow<'a, [f32]>,
}

#[derive(Serialize, Deserialize)]
struct DecisionRule {
    every: u8,
    temperature: Option<f32>,
}

impl<'a> Network<'a> {
    /// The network in this form; `None` if it has something that came later.
    pub(super) fn of(network: &'a super::Network) -> Option<Self> {
        let is_first = network.mask.is_none()
            && !network.choice.is_masked
            && network.steps.iter().all(KernelStep::is_first);
        is_first.then(|| Self {
            fields: Cow::Borrowed(&network.fields),
            registers: Cow::Borrowed(&network.registers),
            steps: Cow::Borrowed(&network.steps),
            memory: Cow::Borrowed(&network.memory),
            logits: network.logits,
            choice: DecisionRule {
                every: network.choice.every,
                temperature: network.choice.temperature,
            },
            weights: Cow::Borrowed(&network.weights),
        })
    }
}

impl From<Network<'_>> for super::Network {
    fn from(first: Network<'_>) -> Self {
        Self {
            fields: first.fields.into_owned(),
            registers: first.registers.into_owned(),
            steps: first.steps.into_owned(),
            memory: first.memory.into_owned(),
            mask: None,
            logits: first.logits,
            choice: ActionChoice {
                every: first.choice.every,
                temperature: first.choice.temperature,
                is_masked: false,
            },
            weights: first.weights.into_owned(),
        }
    }
}
