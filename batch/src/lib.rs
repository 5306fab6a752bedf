//! Thousands of instances of an environment, stepped together into arrays of the caller.
//!
//! A batch equals as many single instances, bit for bit: threads and the size of the batch change the time
//! that a step takes, never its result. In steady state a step allocates nothing.
//!
//! ```
//! use batch::{Arrays, BatchOptions};
//!
//! let mut batch = batch::open("overcooked", "{}", BatchOptions { instances: 3, ..BatchOptions::default() })?;
//! let seats = usize::from(batch.spec().seats);
//! let (mut rewards, mut terminated, mut truncated) = (vec![0.0; 3 * seats], vec![0; 3 * seats], vec![0; 3 * seats]);
//! batch.reset(&[7, 8, 9], None, Arrays::new(&mut rewards, &mut terminated, &mut truncated))?;
//! let actions = vec![batch.spec().noop; 3 * seats];
//! batch.step(&actions, Arrays::new(&mut rewards, &mut terminated, &mut truncated))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]

mod arrays;
mod chunk;
mod episode;
mod instances;
mod lanes;
mod options;
mod pool;
mod vector;

pub use arrays::{Arrays, Infos, Observations};
pub use episode::Episode;
pub use options::{Autoreset, BatchOptions};
pub use pool::MAX_THREADS;
pub use vector::{BatchError, Vector};

use std::sync::Arc;

use env_core::World;
use env_core::contract::ParamError;
use env_core::envs::overcooked_ai::OvercookedAi;
use env_core::envs::overcooked_jaxmarl_v2::OvercookedJaxmarlV2;
use env_core::envs::{NativeEnvironment, Visitor, visit};
use env_core::grid::{CogridRules, Grid, GridWorld};

use arrays::Shape;
use chunk::OneByOne;
use instances::{Natives, Worlds};
use lanes::grid::GridGame;
use lanes::kitchen::KitchenGame;
use lanes::kitchen_v2::KitchenGameV2;
use lanes::{Game, Lanes};
use vector::Batch;

/// Fewer instances are stepped faster one by one.
const FEW: usize = 16;

/// Opens a batch of an environment of ours by its id, with parameters as JSON (`""` for the defaults).
/// Instance `i` begins with seed `i`.
///
/// # Errors
/// [`ParamError`], also for an unknown id.
pub fn open(id: &str, params: &str, options: BatchOptions) -> Result<Box<dyn Vector>, ParamError> {
    struct Open(BatchOptions);
    impl Visitor for Open {
        type Output = Result<Box<dyn Vector>, ParamError>;
        fn visit<E: NativeEnvironment>(self, env: E) -> Self::Output {
            of_environment(env, self.0)
        }
        fn visit_grid<W, C>(self, grid: Grid<W, C>) -> Self::Output
        where
            W: GridWorld<Extra: Send> + Send + Sync + 'static,
            C: CogridRules<W>,
        {
            of_grid(grid, self.0)
        }
        fn visit_kitchen(self, kitchen: OvercookedAi) -> Self::Output {
            of_kitchen(kitchen, self.0)
        }
        fn visit_kitchen_v2(self, kitchen: OvercookedJaxmarlV2) -> Self::Output {
            of_kitchen_v2(kitchen, self.0)
        }
    }
    visit(id, params, Open(options))?
}

/// Makes a batch of an environment that is a type.
/// Instance `i` begins with seed `i`.
///
/// # Errors
/// [`ParamError`] for the options.
pub fn of_environment<E: NativeEnvironment>(
    env: E,
    options: BatchOptions,
) -> Result<Box<dyn Vector>, ParamError> {
    vector::check_options(&options)?;
    let spec = env.spec();
    let slots = (0..options.instances as u64)
        .map(|seed| env.reset(seed))
        .collect();
    Ok(Box::new(Batch::new(spec, Natives(env), slots, options)?))
}

/// Makes a batch of a grid that is a type; many instances of a simple one are stepped together.
/// Instance `i` begins with seed `i`.
///
/// # Errors
/// [`ParamError`] for the options.
pub fn of_grid<W, C>(grid: Grid<W, C>, options: BatchOptions) -> Result<Box<dyn Vector>, ParamError>
where
    W: GridWorld<Extra: Send> + Send + Sync + 'static,
    C: CogridRules<W>,
{
    let Some(game) = GridGame::new(&grid).filter(|_| options.instances >= FEW) else {
        return of_environment(grid, options);
    };
    match game.plan.seats {
        1 => in_lanes::<_, _, 1>(grid, game, options),
        2 => in_lanes::<_, _, 2>(grid, game, options),
        3 => in_lanes::<_, _, 3>(grid, game, options),
        4 => in_lanes::<_, _, 4>(grid, game, options),
        _ => of_environment(grid, options),
    }
}

/// Makes a batch of a kitchen of the published agents; many instances of one with a fixed ground are stepped together.
/// Instance `i` begins with seed `i`.
///
/// # Errors
/// [`ParamError`] for the options.
pub fn of_kitchen(
    kitchen: OvercookedAi,
    options: BatchOptions,
) -> Result<Box<dyn Vector>, ParamError> {
    let Some(game) = KitchenGame::new(&kitchen).filter(|_| options.instances >= FEW) else {
        return of_environment(kitchen, options);
    };
    match game.seats() {
        1 => in_lanes::<_, _, 1>(kitchen, game, options),
        2 => in_lanes::<_, _, 2>(kitchen, game, options),
        3 => in_lanes::<_, _, 3>(kitchen, game, options),
        4 => in_lanes::<_, _, 4>(kitchen, game, options),
        _ => of_environment(kitchen, options),
    }
}

/// Makes a batch of a kitchen of JaxMARL's Overcooked V2; many instances with up to four cooks are stepped together.
/// Instance `i` begins with seed `i`.
///
/// # Errors
/// [`ParamError`] for the options.
pub fn of_kitchen_v2(
    kitchen: OvercookedJaxmarlV2,
    options: BatchOptions,
) -> Result<Box<dyn Vector>, ParamError> {
    let Some(game) = KitchenGameV2::new(&kitchen).filter(|_| options.instances >= FEW) else {
        return of_environment(kitchen, options);
    };
    match kitchen.kitchen().starts.len() {
        1 => in_lanes::<_, _, 1>(kitchen, game, options),
        2 => in_lanes::<_, _, 2>(kitchen, game, options),
        3 => in_lanes::<_, _, 3>(kitchen, game, options),
        4 => in_lanes::<_, _, 4>(kitchen, game, options),
        _ => of_environment(kitchen, options),
    }
}

fn in_lanes<E, G, const SEATS: usize>(
    env: E,
    game: G,
    options: BatchOptions,
) -> Result<Box<dyn Vector>, ParamError>
where
    E: NativeEnvironment,
    G: Game<SEATS, Instances = Natives<E>> + Clone + 'static,
{
    vector::check_options(&options)?;
    let spec = env.spec();
    let (shape, env) = (Shape::new(&spec), Arc::new(Natives(env)));
    let batch = Batch::share(spec, options, |first, count| {
        let slots = (first as u64..)
            .take(count)
            .map(|seed| env.0.reset(seed))
            .collect();
        let one_by_one = OneByOne::new(env.clone(), slots, first as u64, shape, options);
        Lanes::<G, SEATS>::new(one_by_one, game.clone())
    })?;
    Ok(Box::new(batch))
}

/// Makes a batch of worlds, such as modules; there are as many instances as worlds.
/// Instance `i` begins with seed `i`.
///
/// # Errors
/// [`ParamError`] for the options, or if two worlds differ in what their parameters fix.
pub fn of_worlds(
    worlds: Vec<Box<dyn World + Send>>,
    options: BatchOptions,
) -> Result<Box<dyn Vector>, ParamError> {
    let refused = |reason: String| ParamError {
        field: "worlds".into(),
        reason,
    };
    let first = worlds
        .first()
        .ok_or_else(|| refused("give at least one".into()))?;
    let spec = first.spec().clone();
    if let Some(other) = worlds.iter().position(|world| *world.spec() != spec) {
        return Err(refused(format!(
            "number {other} has other parameters than number 0; open all with the same"
        )));
    }
    let options = BatchOptions {
        instances: worlds.len(),
        ..options
    };
    Ok(Box::new(Batch::new(
        spec,
        Worlds,
        Worlds::make_slots(worlds),
        options,
    )?))
}
