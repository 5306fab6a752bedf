//! The instances that one thread steps.

use std::ops::Range;
use std::sync::Arc;

use env_core::contract::StateError;
use env_core::{Action, StepOutcome, Trail};

use crate::arrays::{Arrays, Infos, Observations, Shape};
use crate::episode::Episode;
use crate::instances::Instances;
use crate::options::{Autoreset, BatchOptions};

/// Some instances of a batch, with the rows of the arrays that belong to them.
pub(crate) trait Chunk: Send {
    /// The number of instances that are not worth another thread; a chunk has a multiple of it.
    const GRAIN: usize;
    /// Starts the episodes of the instances in `which` (all if there is none) with these seeds.
    fn reset(&mut self, seeds: &[u64], which: Option<&[bool]>, arrays: Arrays<'_>);
    /// Advances every instance by one step.
    fn step(&mut self, actions: &[Action], arrays: Arrays<'_>);
    /// Writes the observations and masks as they are.
    fn observe(&mut self, observations: Observations<'_>, masks: Option<&mut [u8]>);
    /// Replaces `out` by the canonical bytes of the state of an instance.
    fn state(&mut self, instance: usize, out: &mut Vec<u8>);
    /// The record of an instance beside its state.
    fn episode(&self, instance: usize) -> Episode;
    /// The first instance that broke down, and why; natives do not.
    fn fault(&self) -> Option<(usize, String)> {
        None
    }
    /// Brings an instance back.
    fn restore(
        &mut self,
        instance: usize,
        state: &[u8],
        episode: Episode,
    ) -> Result<(), StateError>;
}

/// Events of a step for each seat.
const EVENTS: usize = 8;

/// Instances that are stepped one after the other.
pub(crate) struct OneByOne<I: Instances> {
    pub(crate) instances: Arc<I>,
    pub(crate) slots: Vec<I::Slot>,
    pub(crate) episodes: Vec<Episode>,
    outcome: StepOutcome,
    pub(crate) shape: Shape,
    pub(crate) autoreset: Autoreset,
    /// Those of the arrays of observations by instance, if they are written in place.
    trails: Option<Trails>,
}

/// The memory of the arrays of observations, by instance.
struct Trails {
    wide: Vec<Trail<f32>>,
    compact: Vec<Trail<i8>>,
}

impl<I: Instances> OneByOne<I> {
    /// Takes up instances of which the first has this number in its batch.
    pub(crate) fn new(
        instances: Arc<I>,
        slots: Vec<I::Slot>,
        first: u64,
        shape: Shape,
        options: BatchOptions,
    ) -> Self {
        let episodes = (first..).map(Episode::new).take(slots.len()).collect();
        let trails = options.in_place.then(|| Trails {
            wide: vec![Trail::default(); slots.len()],
            compact: vec![Trail::default(); slots.len()],
        });
        Self {
            instances,
            slots,
            episodes,
            // Room for every possible outcome of a step here, so that a rare event allocates nothing.
            outcome: StepOutcome {
                events: Vec::with_capacity(EVENTS * shape.seats),
                ..StepOutcome::default()
            },
            shape,
            autoreset: options.autoreset,
            trails,
        }
    }

    /// Notes that the array has observations of these instances from now on; true if it has earlier ones of all.
    pub(crate) fn follow(&mut self, instances: Range<usize>) -> bool {
        self.trails.as_mut().is_some_and(|trails| {
            let trails = trails.wide[instances].iter_mut();
            trails.fold(true, |all, trail| all & trail.follow())
        })
    }

    /// The same for the compact form.
    pub(crate) fn follow_compact(&mut self, instances: Range<usize>) -> bool {
        self.trails.as_mut().is_some_and(|trails| {
            let trails = trails.compact[instances].iter_mut();
            trails.fold(true, |all, trail| all & trail.follow())
        })
    }

    /// Writes the observations of an instance whole.
    pub(crate) fn write_observation(&mut self, index: usize, observations: &mut Observations<'_>) {
        if let Some(trails) = &mut self.trails {
            trails.wide[index].forget();
            trails.compact[index].forget();
        }
        let seats = self.shape.seats;
        let slot = &mut self.slots[index];
        match observations.row(index, &self.shape) {
            Observations::None => {}
            Observations::F32(out) => self.instances.observe(slot, seats, None, out),
            Observations::Compact(out) => self.instances.observe_compact(slot, seats, None, out),
        }
    }

    /// Writes the observations of an instance over its earlier ones, if they are written in place.
    fn renew_observation(&mut self, index: usize, observations: &mut Observations<'_>) {
        let Some(trails) = &mut self.trails else {
            return self.write_observation(index, observations);
        };
        let seats = self.shape.seats;
        let slot = &mut self.slots[index];
        match observations.row(index, &self.shape) {
            Observations::None => {}
            Observations::F32(out) => {
                let trail = Some(&mut trails.wide[index]);
                self.instances.observe(slot, seats, trail, out);
            }
            Observations::Compact(out) => {
                let trail = Some(&mut trails.compact[index]);
                self.instances.observe_compact(slot, seats, trail, out);
            }
        }
    }

    pub(crate) fn write_masks(&mut self, index: usize, masks: &mut [u8]) {
        let Shape { seats, actions, .. } = self.shape;
        let rows = &mut masks[index * seats * actions..][..seats * actions];
        for (seat, row) in rows.chunks_exact_mut(actions).enumerate() {
            let mask = self.instances.mask(&mut self.slots[index], seat);
            for (action, byte) in row.iter_mut().enumerate() {
                // An action beyond the bits of a mask may always have an effect.
                *byte = u8::from(action >= 64 || mask >> action & 1 == 1);
            }
        }
    }

    /// Writes rewards, ends and infos of the outcome.
    fn write_outcome(&mut self, index: usize, arrays: &mut Arrays<'_>) {
        let Shape { seats, events, .. } = self.shape;
        let (outcome, at) = (&self.outcome, index * seats);
        arrays.rewards[at..][..seats].copy_from_slice(&outcome.rewards[..seats]);
        let bits = |bits: u16, bytes: &mut [u8]| {
            bytes
                .iter_mut()
                .enumerate()
                .for_each(|(seat, byte)| *byte = (bits >> seat & 1) as u8);
        };
        bits(outcome.terminated, &mut arrays.terminated[at..][..seats]);
        bits(outcome.truncated, &mut arrays.truncated[at..][..seats]);
        if let Some(infos) = &mut arrays.infos {
            let episode = &self.episodes[index];
            let Infos {
                episode_return,
                episode_length,
                events: sums,
            } = infos;
            episode_return[at..][..seats].copy_from_slice(&episode.returns[..seats]);
            episode_length[index] = episode.length;
            let sums = &mut sums[at * events..][..seats * events];
            sums.fill(0.0);
            for event in &outcome.events {
                sums[usize::from(event.seat) * events + usize::from(event.kind)] += event.value;
            }
        }
    }

    /// Advances one instance and writes its rows.
    pub(crate) fn step_one(&mut self, index: usize, actions: &[Action], arrays: &mut Arrays<'_>) {
        if self.autoreset == Autoreset::NextStep && self.episodes[index].over {
            self.outcome.clear();
            self.restart(index);
        } else {
            self.instances
                .step(&mut self.slots[index], actions, &mut self.outcome);
            self.episodes[index].record(&self.outcome, self.shape.seats);
        }
        self.write_outcome(index, arrays);
        if self.autoreset == Autoreset::SameStep && self.outcome.over {
            self.write_observation(index, &mut arrays.final_observations);
            self.restart(index);
        }
        self.renew_observation(index, &mut arrays.observations);
        if let Some(masks) = &mut arrays.masks {
            self.write_masks(index, masks);
        }
    }

    /// Starts the next episode of an instance.
    pub(crate) fn restart(&mut self, index: usize) {
        let seed = self.episodes[index].next_seed();
        self.instances.reset(&mut self.slots[index], seed);
    }
}

impl<I: Instances> Chunk for OneByOne<I> {
    const GRAIN: usize = I::GRAIN;

    fn reset(&mut self, seeds: &[u64], which: Option<&[bool]>, mut arrays: Arrays<'_>) {
        self.outcome.clear();
        for (index, &seed) in seeds.iter().enumerate() {
            if which.is_some_and(|which| !which[index]) {
                continue;
            }
            self.episodes[index] = Episode::new(seed);
            self.instances.reset(&mut self.slots[index], seed);
            self.write_outcome(index, &mut arrays);
            self.write_observation(index, &mut arrays.observations);
            if let Some(masks) = &mut arrays.masks {
                self.write_masks(index, masks);
            }
        }
    }

    fn step(&mut self, actions: &[Action], mut arrays: Arrays<'_>) {
        let seats = self.shape.seats;
        for (index, actions) in actions.chunks_exact(seats).enumerate() {
            self.step_one(index, actions, &mut arrays);
        }
    }

    fn observe(&mut self, mut observations: Observations<'_>, mut masks: Option<&mut [u8]>) {
        for index in 0..self.slots.len() {
            self.write_observation(index, &mut observations);
            if let Some(masks) = &mut masks {
                self.write_masks(index, masks);
            }
        }
    }

    fn state(&mut self, instance: usize, out: &mut Vec<u8>) {
        self.instances.state(&mut self.slots[instance], out);
    }

    fn episode(&self, instance: usize) -> Episode {
        self.episodes[instance]
    }

    fn fault(&self) -> Option<(usize, String)> {
        let faults = self.slots.iter().map(|slot| self.instances.fault(slot));
        let mut numbered = faults.enumerate();
        numbered.find_map(|(instance, fault)| Some((instance, fault?)))
    }

    fn restore(
        &mut self,
        instance: usize,
        state: &[u8],
        episode: Episode,
    ) -> Result<(), StateError> {
        self.instances.restore(&mut self.slots[instance], state)?;
        self.episodes[instance] = episode;
        Ok(())
    }
}
