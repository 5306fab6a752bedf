//! The arrays of the caller, their lengths, and how threads share them.

use env_core::Spec;

use crate::vector::BatchError;

/// Where observations go, `[instance, seat, value]` row-major.
#[derive(Debug, Default)]
pub enum Observations<'a> {
    /// Nowhere.
    #[default]
    None,
    /// As the environment defines them.
    F32(&'a mut [f32]),
    /// The same numbers, a byte a value; for environments whose [`Spec::compact`] is set.
    Compact(&'a mut [i8]),
}

/// Where more about the episodes goes.
#[derive(Debug)]
pub struct Infos<'a> {
    /// Sum of the rewards of the episode up to and with this step, `[instance, seat]`.
    pub episode_return: &'a mut [f32],
    /// Steps of the episode up to and with this one, `[instance]`.
    pub episode_length: &'a mut [u32],
    /// Sum of the values of the events in this step, `[instance, seat, kind]`.
    pub events: &'a mut [f32],
}

/// Arrays of the caller, row-major. What is not wanted may be left out.
#[derive(Debug)]
pub struct Arrays<'a> {
    /// Observations of each seat after the step.
    pub observations: Observations<'a>,
    /// The last observation of each seat in an episode that ended and restarted in this step
    /// ([`crate::Autoreset::SameStep`]); the rows of other instances are not changed.
    pub final_observations: Observations<'a>,
    /// Rewards, `[instance, seat]`.
    pub rewards: &'a mut [f32],
    /// 1 if the seat reached a terminal state in this step, `[instance, seat]`.
    pub terminated: &'a mut [u8],
    /// 1 if the horizon cut the seat off in this step, `[instance, seat]`.
    pub truncated: &'a mut [u8],
    /// 1 for each action that may have an effect after the step, `[instance, seat, action]`.
    pub masks: Option<&'a mut [u8]>,
    /// More about the episodes.
    pub infos: Option<Infos<'a>>,
}

impl<'a> Arrays<'a> {
    /// Arrays for rewards and ends, and nothing else.
    pub fn new(rewards: &'a mut [f32], terminated: &'a mut [u8], truncated: &'a mut [u8]) -> Self {
        Self {
            observations: Observations::None,
            final_observations: Observations::None,
            rewards,
            terminated,
            truncated,
            masks: None,
            infos: None,
        }
    }

    /// Checks every length.
    pub(crate) fn check(&self, instances: usize, shape: &Shape) -> Result<(), BatchError> {
        let seats = shape.seats;
        let length = |array, axes, expected: usize, given: usize| {
            if given == instances * expected {
                return Ok(());
            }
            let expected = instances * expected;
            Err(BatchError::Length {
                array,
                axes,
                expected,
                given,
            })
        };
        self.observations.check("observations", instances, shape)?;
        self.final_observations
            .check("final_observations", instances, shape)?;
        length("rewards", "[instance, seat]", seats, self.rewards.len())?;
        length(
            "terminated",
            "[instance, seat]",
            seats,
            self.terminated.len(),
        )?;
        length("truncated", "[instance, seat]", seats, self.truncated.len())?;
        if let Some(masks) = &self.masks {
            length(
                "masks",
                "[instance, seat, action]",
                seats * shape.actions,
                masks.len(),
            )?;
        }
        if let Some(infos) = &self.infos {
            length(
                "infos.episode_return",
                "[instance, seat]",
                seats,
                infos.episode_return.len(),
            )?;
            length(
                "infos.episode_length",
                "[instance]",
                1,
                infos.episode_length.len(),
            )?;
            let events = seats * shape.events;
            length(
                "infos.events",
                "[instance, seat, kind]",
                events,
                infos.events.len(),
            )?;
        }
        Ok(())
    }

    /// Splits off the rows of the first instances.
    pub(crate) fn split_off(&mut self, instances: usize, shape: &Shape) -> Self {
        let rows = instances * shape.seats;
        Self {
            observations: self.observations.split_off(rows * shape.observation),
            final_observations: self.final_observations.split_off(rows * shape.observation),
            rewards: split_off(&mut self.rewards, rows),
            terminated: split_off(&mut self.terminated, rows),
            truncated: split_off(&mut self.truncated, rows),
            masks: self
                .masks
                .as_mut()
                .map(|masks| split_off(masks, rows * shape.actions)),
            infos: self.infos.as_mut().map(|infos| Infos {
                episode_return: split_off(&mut infos.episode_return, rows),
                episode_length: split_off(&mut infos.episode_length, instances),
                events: split_off(&mut infos.events, rows * shape.events),
            }),
        }
    }
}

/// Splits off the first values of an array whose length was checked.
fn split_off<'a, T>(array: &mut &'a mut [T], count: usize) -> &'a mut [T] {
    array
        .split_off_mut(..count)
        .expect("the lengths were checked")
}

impl Observations<'_> {
    pub(crate) fn check(
        &self,
        array: &'static str,
        instances: usize,
        shape: &Shape,
    ) -> Result<(), BatchError> {
        let given = match self {
            Self::None => return Ok(()),
            Self::F32(values) => values.len(),
            Self::Compact(_) if !shape.compact => return Err(BatchError::Compact { array }),
            Self::Compact(values) => values.len(),
        };
        let expected = instances * shape.seats * shape.observation;
        if given == expected {
            return Ok(());
        }
        Err(BatchError::Length {
            array,
            axes: "[instance, seat, value]",
            expected,
            given,
        })
    }

    /// The values of an instance.
    pub(crate) fn row(&mut self, instance: usize, shape: &Shape) -> Observations<'_> {
        let len = shape.seats * shape.observation;
        let row = instance * len..(instance + 1) * len;
        match self {
            Self::None => Observations::None,
            Self::F32(array) => Observations::F32(&mut array[row]),
            Self::Compact(array) => Observations::Compact(&mut array[row]),
        }
    }

    pub(crate) fn split_off(&mut self, values: usize) -> Self {
        match self {
            Self::None => Self::None,
            Self::F32(array) => Self::F32(split_off(array, values)),
            Self::Compact(array) => Self::Compact(split_off(array, values)),
        }
    }
}

/// Numbers from which the lengths of the arrays follow, for one instance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) seats: usize,
    pub(crate) actions: usize,
    pub(crate) observation: usize,
    pub(crate) events: usize,
    pub(crate) compact: bool,
}

impl Shape {
    pub(crate) fn new(spec: &Spec) -> Self {
        Self {
            seats: usize::from(spec.seats),
            actions: spec.actions.len(),
            observation: spec.observation_len(),
            events: spec.events.len(),
            compact: spec.compact,
        }
    }
}
