//! The caller's interface to a batch, and the sharing of its work among the threads.

use std::sync::{Arc, Mutex};
use std::thread::available_parallelism;

use env_core::contract::{ParamError, StateError};
use env_core::{Action, Spec};

use crate::arrays::{Arrays, Observations, Shape};
use crate::chunk::{Chunk, OneByOne};
use crate::episode::Episode;
use crate::instances::Instances;
use crate::options::BatchOptions;
use crate::pool::{MAX_THREADS, Pool};

/// The most instances of a batch.
const MAX_INSTANCES: usize = 1 << 24;

/// The reason why a call was refused; nothing was done then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// An array has another length than the batch.
    #[error("{array} has {given} entries; {axes} of this batch makes {expected}")]
    Length {
        /// Which array.
        array: &'static str,
        /// Its axes.
        axes: &'static str,
        /// The length that it must have.
        expected: usize,
        /// The length that it has.
        given: usize,
    },
    /// A number that is no action.
    #[error(
        "instance {instance}, seat {seat}: there is no action {action}; the actions are 0 ({first}) to {last} ({last_name})"
    )]
    Action {
        /// The instance.
        instance: usize,
        /// The seat.
        seat: usize,
        /// The value that was given.
        action: Action,
        /// Name of action 0.
        first: String,
        /// The greatest action.
        last: usize,
        /// Name of the greatest action.
        last_name: String,
    },
    /// Compact observations of an environment that has none.
    #[error("{array}: this environment observes numbers that no byte holds; give an array of f32")]
    Compact {
        /// Which array.
        array: &'static str,
    },
    /// An instance that does not exist.
    #[error("there is no instance {instance}; this batch has 0 to {last}")]
    Instance {
        /// The value that was given.
        instance: usize,
        /// The greatest.
        last: usize,
    },
    /// Bytes that are no state.
    #[error(transparent)]
    State(#[from] StateError),
}

/// A batch of instances.
pub trait Vector: Send {
    /// The spec, the same for every instance.
    fn spec(&self) -> &Spec;

    /// Number of instances.
    fn instances(&self) -> usize;

    /// Number of threads that step them.
    fn threads(&self) -> usize;

    /// Restarts episodes, with one seed per instance: of all instances, or of those in `which`. The rows of others are
    /// not changed; rewards and infos become 0.
    ///
    /// # Errors
    /// [`BatchError`] for a wrong length.
    fn reset(
        &mut self,
        seeds: &[u64],
        which: Option<&[bool]>,
        arrays: Arrays<'_>,
    ) -> Result<(), BatchError>;

    /// Advances every instance by one step; `actions` is `[instance, seat]`.
    ///
    /// # Errors
    /// [`BatchError`] for a wrong length or an action out of range; nothing was stepped then.
    fn step(&mut self, actions: &[Action], arrays: Arrays<'_>) -> Result<(), BatchError>;

    /// Writes observations and masks as they are, such as after [`Vector::restore`].
    ///
    /// # Errors
    /// [`BatchError`] for a wrong length.
    fn observe(
        &mut self,
        observations: Observations<'_>,
        masks: Option<&mut [u8]>,
    ) -> Result<(), BatchError>;

    /// Replaces `out` by the canonical bytes of the state of an instance, as [`env_core::World::state`] returns them.
    ///
    /// # Errors
    /// [`BatchError::Instance`].
    fn state(&mut self, instance: usize, out: &mut Vec<u8>) -> Result<(), BatchError>;

    /// The record of an instance beside its state.
    ///
    /// # Errors
    /// [`BatchError::Instance`].
    fn episode(&self, instance: usize) -> Result<Episode, BatchError>;

    /// The first instance that broke down, and why ([`env_core::World::fault`]): a module may,
    /// and each of its steps is then over.
    fn fault(&self) -> Option<(usize, String)>;

    /// Brings an instance back to a state and its episode.
    ///
    /// # Errors
    /// [`BatchError`]; the instance is then unchanged.
    fn restore(
        &mut self,
        instance: usize,
        state: &[u8],
        episode: Episode,
    ) -> Result<(), BatchError>;
}

/// Chunks of instances, shared among threads.
pub(crate) struct Batch<C> {
    spec: Spec,
    shape: Shape,
    instances: usize,
    /// Instances of each chunk but the last, which may have fewer.
    stride: usize,
    chunks: Vec<C>,
    pool: Pool,
}

/// The most chunks of a batch: a few per thread, so that a slow one delays little.
const MAX_CHUNKS: usize = MAX_THREADS;

/// A thread's share of the work, for the first that takes it.
type Part<'a, C, T> = Mutex<Option<(&'a mut C, T)>>;

impl<I: Instances> Batch<OneByOne<I>> {
    /// Shares slots among threads.
    pub(crate) fn new(
        spec: Spec,
        instances: I,
        slots: Vec<I::Slot>,
        options: BatchOptions,
    ) -> Result<Self, ParamError> {
        let (instances, shape) = (Arc::new(instances), Shape::new(&spec));
        let mut slots = slots.into_iter();
        Self::share(spec, options, |first, count| {
            let slots = slots.by_ref().take(count).collect();
            OneByOne::new(instances.clone(), slots, first as u64, shape, options)
        })
    }
}

impl<C: Chunk> Batch<C> {
    /// Makes the chunks by calls with the first instance of each and their number.
    pub(crate) fn share(
        spec: Spec,
        options: BatchOptions,
        mut chunk: impl FnMut(usize, usize) -> C,
    ) -> Result<Self, ParamError> {
        check_options(&options)?;
        let instances = options.instances;
        let wanted = match options.threads {
            0 => available_parallelism()
                .map_or(1, usize::from)
                .min(MAX_THREADS),
            threads => threads,
        };
        let most = instances.div_ceil(C::GRAIN);
        let pool = Pool::new(wanted.min(most));
        let chunks = match pool.threads() {
            1 => 1,
            threads => (4 * threads).min(MAX_CHUNKS).min(most),
        };
        let stride = instances.div_ceil(chunks).next_multiple_of(C::GRAIN);
        let chunks = (0..instances)
            .step_by(stride)
            .map(|first| chunk(first, stride.min(instances - first)))
            .collect();
        let shape = Shape::new(&spec);
        Ok(Self {
            spec,
            shape,
            instances,
            stride,
            chunks,
            pool,
        })
    }

    /// Lets every thread work on its chunk and the part that `split` gives for this many instances.
    fn run<T: Send>(&mut self, mut split: impl FnMut(usize) -> T, work: impl Fn(&mut C, T) + Sync) {
        let (instances, stride) = (self.instances, self.stride);
        if let [chunk] = &mut self.chunks[..] {
            return work(chunk, split(instances));
        }
        // Filled in place: to build it by value would copy more than a small batch has.
        let count = self.chunks.len();
        let mut parts: [Option<Part<'_, C, T>>; MAX_CHUNKS] = [const { None }; MAX_CHUNKS];
        for (number, (part, chunk)) in parts.iter_mut().zip(&mut self.chunks).enumerate() {
            let rows = split(stride.min(instances - number * stride));
            *part = Some(Mutex::new(Some((chunk, rows))));
        }
        let parts = &parts[..count];
        let each = parts.len().div_ceil(self.pool.threads());
        self.pool.run(&|thread| {
            // First the parts that this thread had the last time, because they are in its cache; then parts that others
            // have not begun.
            let (before, own) = parts.split_at((thread * each).min(parts.len()));
            for part in own.iter().chain(before).flatten() {
                let taken = part.try_lock().ok().and_then(|mut part| part.take());
                if let Some((chunk, part)) = taken {
                    work(chunk, part);
                }
            }
        });
    }

    fn check_length(
        &self,
        array: &'static str,
        axes: &'static str,
        row: usize,
        given: usize,
    ) -> Result<(), BatchError> {
        let expected = self.instances * row;
        if given == expected {
            return Ok(());
        }
        Err(BatchError::Length {
            array,
            axes,
            expected,
            given,
        })
    }

    fn check_actions(&self, actions: &[Action]) -> Result<(), BatchError> {
        let Shape {
            seats,
            actions: count,
            ..
        } = self.shape;
        self.check_length("actions", "[instance, seat]", seats, actions.len())?;
        // The greatest first, because that is a few vector instructions.
        let greatest = actions.iter().copied().max().unwrap_or(0);
        if usize::from(greatest) < count {
            return Ok(());
        }
        let wrong = |action: &Action| usize::from(*action) >= count;
        let at = actions.iter().position(wrong).unwrap_or(0);
        let name = |action: usize| {
            self.spec
                .actions
                .get(action)
                .map_or(String::new(), |action| action.name.clone())
        };
        let last = count.saturating_sub(1);
        Err(BatchError::Action {
            instance: at / seats,
            seat: at % seats,
            action: actions[at],
            first: name(0),
            last,
            last_name: name(last),
        })
    }

    /// The chunk of an instance and its number there.
    fn find(&self, instance: usize) -> Result<(usize, usize), BatchError> {
        if instance >= self.instances {
            return Err(BatchError::Instance {
                instance,
                last: self.instances - 1,
            });
        }
        Ok((instance / self.stride, instance % self.stride))
    }
}

/// Checks the options.
pub(crate) fn check_options(options: &BatchOptions) -> Result<(), ParamError> {
    let refuse = |field: &str, reason: String| {
        Err(ParamError {
            field: field.into(),
            reason,
        })
    };
    if !(1..=MAX_INSTANCES).contains(&options.instances) {
        return refuse(
            "instances",
            format!("must be 1 to {MAX_INSTANCES}; it is {}", options.instances),
        );
    }
    if options.threads > MAX_THREADS {
        return refuse(
            "threads",
            format!(
                "must be at most {MAX_THREADS}, or 0 for one a core; it is {}",
                options.threads
            ),
        );
    }
    Ok(())
}

impl<C: Chunk> Vector for Batch<C> {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn threads(&self) -> usize {
        self.pool.threads()
    }

    fn reset(
        &mut self,
        mut seeds: &[u64],
        mut which: Option<&[bool]>,
        mut arrays: Arrays<'_>,
    ) -> Result<(), BatchError> {
        self.check_length("seeds", "[instance]", 1, seeds.len())?;
        if let Some(which) = which {
            self.check_length("which", "[instance]", 1, which.len())?;
        }
        let shape = self.shape;
        arrays.check(self.instances, &shape)?;
        let split = |count| {
            let first = seeds.split_off(..count).expect("the lengths were checked");
            let some = which.as_mut().and_then(|which| which.split_off(..count));
            (first, some, arrays.split_off(count, &shape))
        };
        self.run(split, |chunk, (seeds, which, arrays)| {
            chunk.reset(seeds, which, arrays)
        });
        Ok(())
    }

    fn step(&mut self, mut actions: &[Action], mut arrays: Arrays<'_>) -> Result<(), BatchError> {
        self.check_actions(actions)?;
        let shape = self.shape;
        arrays.check(self.instances, &shape)?;
        let split = |count| {
            let first = actions
                .split_off(..count * shape.seats)
                .expect("the lengths were checked");
            (first, arrays.split_off(count, &shape))
        };
        self.run(split, |chunk, (actions, arrays)| {
            chunk.step(actions, arrays)
        });
        Ok(())
    }

    fn observe(
        &mut self,
        mut observations: Observations<'_>,
        mut masks: Option<&mut [u8]>,
    ) -> Result<(), BatchError> {
        let shape = self.shape;
        observations.check("observations", self.instances, &shape)?;
        if let Some(masks) = &masks {
            self.check_length(
                "masks",
                "[instance, seat, action]",
                shape.seats * shape.actions,
                masks.len(),
            )?;
        }
        let split = |count: usize| {
            let masks = masks.as_mut().map(|masks| {
                masks
                    .split_off_mut(..count * shape.seats * shape.actions)
                    .expect("the lengths were checked")
            });
            (
                observations.split_off(count * shape.seats * shape.observation),
                masks,
            )
        };
        self.run(split, |chunk, (observations, masks)| {
            chunk.observe(observations, masks)
        });
        Ok(())
    }

    fn state(&mut self, instance: usize, out: &mut Vec<u8>) -> Result<(), BatchError> {
        let (chunk, index) = self.find(instance)?;
        self.chunks[chunk].state(index, out);
        Ok(())
    }

    fn episode(&self, instance: usize) -> Result<Episode, BatchError> {
        let (chunk, index) = self.find(instance)?;
        Ok(self.chunks[chunk].episode(index))
    }

    fn fault(&self) -> Option<(usize, String)> {
        let mut chunks = self.chunks.iter().enumerate();
        chunks.find_map(|(number, chunk)| {
            let (index, why) = chunk.fault()?;
            Some((number * self.stride + index, why))
        })
    }

    fn restore(
        &mut self,
        instance: usize,
        state: &[u8],
        episode: Episode,
    ) -> Result<(), BatchError> {
        let (chunk, index) = self.find(instance)?;
        Ok(self.chunks[chunk].restore(index, state, episode)?)
    }
}
