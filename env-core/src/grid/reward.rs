//! Declared rewards: the amount, the receiver, and the act that must succeed.

use alloc::format;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::kind::{KindId, KindSet, Names};
use super::refusal::refuse;
use super::state::Direction;
use super::tables::Tables;
use crate::contract::{ParamError, StepEvent, StepOutcome};

/// An act of an agent on the thing in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Took a thing: from the floor, a surface or a source.
    Take,
    /// Dropped a thing on the floor.
    Drop,
    /// Put a thing on a surface.
    Place,
    /// Put a thing into a container.
    Add,
    /// Took the result of a container.
    Serve,
    /// Gave a thing to a sink.
    Deliver,
    /// Toggled a thing.
    Toggle,
}

/// An act that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interaction {
    /// The seat.
    pub seat: u8,
    /// The act.
    pub act: Act,
    /// The thing that changed hands; for a toggle, the thing in the hand.
    pub item: KindId,
    /// The kind that it was done to.
    pub at: KindId,
    /// The cell of the thing that it was done to.
    pub cell: u16,
}

/// The occasion of a reward.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum When {
    /// When an act succeeds. By the rules of CoGrid: when it was tried, judged by the state before the step.
    Does {
        /// The act.
        act: Act,
        /// The thing that changes hands.
        #[serde(default = "Names::any_hand")]
        item: Names,
        /// The kind that it is done to.
        #[serde(default = "Names::any_hand")]
        at: Names,
    },
    /// For every step that an agent stands on one of these.
    #[serde(rename = "stands_on")]
    Stands(Names),
    /// As the world itself says.
    #[serde(skip)]
    Own,
}

/// A reward.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reward {
    /// Name, that of its kind of event.
    pub name: String,
    /// The occasion on which it is paid.
    pub when: When,
    /// Its worth.
    pub worth: f32,
    /// True if every agent gets it, false if only the one that earned it.
    #[serde(default = "everyone")]
    pub common: bool,
    /// True if it counts for the score.
    #[serde(default)]
    pub scored: bool,
    /// The direction in which the agent must look for it, if that matters.
    #[serde(default)]
    pub facing: Option<Direction>,
}

fn everyone() -> bool {
    true
}

impl Reward {
    /// A reward for everyone that does not count for the score.
    pub fn new(name: &str, worth: f32, when: When) -> Self {
        Self {
            name: name.into(),
            when,
            worth,
            common: true,
            scored: false,
            facing: None,
        }
    }

    /// Pays it only to the agent that earned it.
    pub fn own(mut self) -> Self {
        self.common = false;
        self
    }

    /// Counts it for the score.
    pub fn scored(mut self) -> Self {
        self.scored = true;
        self
    }

    /// Pays it only to an agent that looks there; by the rules of CoGrid, that looked there before the step.
    pub fn facing(mut self, direction: Direction) -> Self {
        self.facing = Some(direction);
        self
    }

    pub(super) fn resolve(&self, tables: &Tables) -> Result<CompiledReward, ParamError> {
        let field = format!("rewards.{}", self.name);
        if !(-1e6..=1e6).contains(&self.worth) {
            return refuse(&field, "must be a number from -1000000 to 1000000".into());
        }
        let due = match &self.when {
            When::Does { act, item, at } => CompiledWhen::Does {
                act: *act,
                item: tables.set(item, &field)?,
                at: tables.set(at, &field)?,
            },
            When::Stands(names) => CompiledWhen::Stands(tables.set(names, &field)?),
            When::Own => CompiledWhen::Own,
        };
        Ok(CompiledReward {
            due,
            worth: self.worth,
            common: self.common,
            scored: self.scored,
            facing: self.facing,
        })
    }
}

/// A reward, its names resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompiledReward {
    /// The occasion on which it is paid.
    pub due: CompiledWhen,
    /// Its worth.
    pub worth: f32,
    /// True if every agent gets it.
    pub common: bool,
    /// True if it counts for the score.
    pub scored: bool,
    /// The direction in which the agent must look.
    pub facing: Option<Direction>,
}

impl CompiledReward {
    /// Returns the least and the greatest sum of at most this many payments of a worth between two bounds.
    pub fn bounds([least, greatest]: [f32; 2], times: usize) -> [f64; 2] {
        let times = times as f64;
        let least = if least < 0.0 { least } else { 0.0 };
        let greatest = if greatest > 0.0 { greatest } else { 0.0 };
        [f64::from(least) * times, f64::from(greatest) * times]
    }

    /// Checks whether an agent that looks there is paid.
    #[inline]
    pub(super) fn is_for(&self, facing: Direction) -> bool {
        self.facing.is_none_or(|direction| direction == facing)
    }
}

/// The occasion of a reward, with resolved names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompiledWhen {
    /// When an act succeeds.
    Does {
        /// The act.
        act: Act,
        /// The thing that changes hands.
        item: KindSet,
        /// The kind that it is done to.
        at: KindSet,
    },
    /// While an agent stands on one of these.
    Stands(KindSet),
    /// As the world says.
    Own,
}

/// Pays rewards in a step.
#[derive(Debug)]
pub struct Pay<'a> {
    pub(super) outcome: &'a mut StepOutcome,
    pub(super) seats: usize,
    /// Seats that were done before the step: nothing is paid to them.
    pub(super) done: u16,
    /// Pay that counts for the score.
    pub(super) scored: f32,
    /// The direction of the agent whose act is paid.
    pub(super) facing: Direction,
}

impl Pay<'_> {
    /// Pays the declared rewards that an act earns.
    #[inline]
    pub fn declared(&mut self, tables: &Tables, did: &Interaction) {
        for (index, paid) in tables.rewards.iter().enumerate() {
            if let CompiledWhen::Does { act, item, at } = paid.due
                && act == did.act
                && item.has(did.item)
                && at.has(did.at)
                && paid.is_for(self.facing)
            {
                self.give(tables, index, did.seat, paid.worth);
            }
        }
    }

    /// Pays the reward with an index, earned by a seat: `worth` to everyone or to that seat.
    pub fn give(&mut self, tables: &Tables, reward: usize, seat: u8, worth: f32) {
        let Some(paid) = tables.rewards.get(reward) else {
            return;
        };
        self.outcome.events.push(StepEvent {
            to: None,
            kind: reward as u16,
            seat,
            value: worth,
        });
        let to = if paid.common {
            u16::MAX
        } else {
            1 << (seat & 15)
        };
        let outcome = &mut *self.outcome;
        let names = tables.rewards.len();
        outcome.components.resize(self.seats * names, 0.0);
        let parts = outcome.components.chunks_exact_mut(names);
        let sums = outcome.rewards[..self.seats].iter_mut();
        for (seat, (sum, parts)) in sums.zip(parts).enumerate() {
            if (to & !self.done) >> seat & 1 == 1 {
                *sum += worth;
                parts[reward] += worth;
            }
        }
        if paid.scored {
            self.scored += worth;
        }
    }

    /// CoGrid: rewards are summed one after the other, each for all agents that earn it, and rounded then.
    ///
    /// Source: CoGrid 0.3.2, `core/autowire.py` and `core/pipeline/rewards.py`.
    pub(super) fn settle(&mut self, tables: &Tables) {
        let outcome = &mut *self.outcome;
        outcome.rewards[..self.seats].fill(0.0);
        if outcome.events.is_empty() {
            return;
        }
        let names = tables.rewards.len();
        for (index, paid) in tables.rewards.iter().enumerate() {
            for seat in (0..self.seats).filter(|seat| self.done >> seat & 1 == 0) {
                // Exact in 64 bits, so that it is rounded once, as the product of a count is.
                let earned = outcome
                    .events
                    .iter()
                    .filter(|event| usize::from(event.kind) == index)
                    .filter(|event| paid.common || usize::from(event.seat) == seat)
                    .fold(0.0, |sum, event| sum + f64::from(event.value));
                outcome.rewards[seat] += earned as f32;
                outcome.components[seat * names + index] = earned as f32;
            }
        }
    }
}
