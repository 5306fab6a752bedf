//! Grids that are played sixty-four together, if nobody reads them in between.
//!
//! A step of one grid waits for branches that random actions make unpredictable. Sixty-four side by side have no
//! branches, and take turns in vector instructions. This only makes steps faster: states go back and forth between the
//! two forms, and a test checks that their results are equal, bit for bit.

mod block;
mod plan;
mod step;

use env_core::Action;
use env_core::contract::StateError;
use env_core::grid::{CogridRules, Grid, GridWorld};

use crate::Autoreset;
use crate::arrays::{Arrays, Infos, Observations};
use crate::chunk::{Chunk, OneByOne};
use crate::episode::Episode;
use crate::instances::Natives;
use block::{Block, LANES};
pub(crate) use plan::Plan;
use step::Gains;

/// Instances of a grid that may be played in lanes.
pub(crate) struct Lanes<W, C, const SEATS: usize>
where
    W: GridWorld<Extra: Send> + Send + Sync + 'static,
    C: CogridRules<W>,
{
    one_by_one: OneByOne<Natives<Grid<W, C>>>,
    plan: Plan,
    /// Bytes of a fixture in the memory of a state.
    stride: usize,
    blocks: Vec<Block<SEATS>>,
    /// True if the blocks have the instances; the states are then the older ones from before.
    active: bool,
    gains: Box<Gains<SEATS>>,
}

impl<W, C, const SEATS: usize> Lanes<W, C, SEATS>
where
    W: GridWorld<Extra: Send> + Send + Sync + 'static,
    C: CogridRules<W>,
{
    /// Takes up instances that are stepped one by one until lanes are of use.
    pub(crate) fn new(one_by_one: OneByOne<Natives<Grid<W, C>>>, plan: Plan) -> Self {
        let records = one_by_one
            .slots
            .first()
            .map_or(0, |state| state.memory.len() - 2 * plan.cells);
        let blocks = one_by_one.slots.len().div_ceil(LANES);
        Self {
            stride: records
                .checked_div(plan.pots.len())
                .unwrap_or(records)
                .max(1),
            blocks: vec![Block::new(&plan); blocks],
            active: false,
            gains: Box::new(Gains::NONE),
            one_by_one,
            plan,
        }
    }

    /// Takes an instance into its lane, if lanes can hold it.
    fn insert(&mut self, index: usize) -> bool {
        let (state, episode) = (
            &self.one_by_one.slots[index],
            &self.one_by_one.episodes[index],
        );
        self.blocks[index / LANES].insert(&self.plan, self.stride, index % LANES, state, episode)
    }

    /// Writes an instance back from its lane.
    fn extract(&mut self, index: usize) {
        let (state, episode) = (
            &mut self.one_by_one.slots[index],
            &mut self.one_by_one.episodes[index],
        );
        self.blocks[index / LANES].extract(&self.plan, self.stride, index % LANES, state, episode);
    }

    /// Brings every instance into its lane; false if one does not fit.
    fn activate(&mut self) -> bool {
        self.active =
            self.active || (0..self.one_by_one.slots.len()).all(|index| self.insert(index));
        self.active
    }

    /// Brings every instance back from its lane.
    fn deactivate(&mut self) {
        if std::mem::take(&mut self.active) {
            (0..self.one_by_one.slots.len()).for_each(|index| self.extract(index));
        }
    }

    /// Brings an instance that was changed one by one into its lane again.
    fn replace(&mut self, index: usize) {
        if self.active && !self.insert(index) {
            let changed = self.one_by_one.slots[index].clone();
            let episode = self.one_by_one.episodes[index];
            self.deactivate();
            (
                self.one_by_one.slots[index],
                self.one_by_one.episodes[index],
            ) = (changed, episode);
        }
    }

    /// Advances a block, whose first instance has this number.
    fn step_block(&mut self, first: usize, actions: &[Action], arrays: &mut Arrays<'_>) {
        let odd = self.blocks[first / LANES].odd;
        let (actions, _) = actions.as_chunks::<SEATS>();
        let used = actions.len().min(LANES);
        for lane in odd.set() {
            self.extract(first + lane);
        }
        let block = &mut self.blocks[first / LANES];
        match actions.first_chunk() {
            Some(actions) => dispatch(&self.plan, block, actions, &mut self.gains),
            None => {
                // Lanes that nobody uses do nothing.
                let mut all = [[STAY; SEATS]; LANES];
                all[..actions.len()].copy_from_slice(actions);
                dispatch(&self.plan, block, &all, &mut self.gains);
            }
        }
        self.write(first, used, arrays);
        for lane in odd.set() {
            let index = first + lane;
            self.one_by_one.step_one(index, &actions[lane], arrays);
            self.replace(index);
        }
        let over = self.gains.over;
        for lane in over
            .set()
            .take_while(|&lane| lane < used)
            .filter(|&lane| odd.0[lane] == 0)
        {
            self.end(first + lane);
        }
    }

    /// Ends the episode of an instance whose horizon is reached.
    fn end(&mut self, index: usize) {
        self.extract(index);
        self.one_by_one.slots[index].done = (1 << SEATS) - 1;
        self.one_by_one.episodes[index].over = true;
        if self.one_by_one.autoreset == Autoreset::SameStep {
            self.one_by_one.restart(index);
        }
        self.replace(index);
    }

    /// Writes the results of a block.
    fn write(&self, first: usize, used: usize, arrays: &mut Arrays<'_>) {
        let (gains, block, at) = (&*self.gains, &self.blocks[first / LANES], SEATS * first);
        let interleave = |from: &[[f32; LANES]; SEATS], to: &mut [f32]| {
            let (rows, _) = to.as_chunks_mut::<SEATS>();
            for (lane, row) in rows.iter_mut().enumerate().take(LANES) {
                *row = std::array::from_fn(|seat| from[seat][lane]);
            }
        };
        let rewards = &mut arrays.rewards[at..][..SEATS * used];
        if gains.any {
            interleave(&gains.rewards, rewards);
        } else {
            rewards.fill(0.0);
        }
        arrays.terminated[at..][..SEATS * used].fill(0);
        let rows = arrays.truncated[at..][..SEATS * used].chunks_exact_mut(SEATS);
        rows.zip(&gains.over.0)
            .for_each(|(row, &over)| row.fill(over));
        if let Some(Infos {
            episode_return,
            episode_length,
            events,
        }) = &mut arrays.infos
        {
            interleave(&block.returns, &mut episode_return[at..][..SEATS * used]);
            episode_length[first..][..used].copy_from_slice(&block.length[..used]);
            let kinds = self.plan.rewards.len();
            let events = &mut events[at * kinds..][..SEATS * used * kinds];
            events.fill(0.0);
            if gains.any {
                for (place, sum) in events.iter_mut().enumerate() {
                    let (row, kind) = (place / kinds, place % kinds);
                    if gains.earned[row % SEATS][row / SEATS] >> kind & 1 == 1 {
                        *sum += self.plan.rewards[kind].worth;
                    }
                }
            }
        }
    }
}

/// The action that does nothing in every grid that lanes play.
const STAY: Action = 6;

/// Advances a block with the widest instructions that the processor has; all give the same bits.
#[expect(
    unsafe_code,
    reason = "what a processor can do is known only while the program runs"
)]
fn dispatch<const SEATS: usize>(
    plan: &Plan,
    block: &mut Block<SEATS>,
    actions: &[[Action; SEATS]; LANES],
    gains: &mut Gains<SEATS>,
) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has these instructions, as was just asked; the function is safe in all else.
        return unsafe { step_avx2(plan, block, actions, gains) };
    }
    step::step(plan, block, actions, gains);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn step_avx2<const SEATS: usize>(
    plan: &Plan,
    block: &mut Block<SEATS>,
    actions: &[[Action; SEATS]; LANES],
    gains: &mut Gains<SEATS>,
) {
    step::step(plan, block, actions, gains);
}

impl<W, C, const SEATS: usize> Chunk for Lanes<W, C, SEATS>
where
    W: GridWorld<Extra: Send> + Send + Sync + 'static,
    C: CogridRules<W>,
{
    const GRAIN: usize = LANES;

    fn reset(&mut self, seeds: &[u64], which: Option<&[bool]>, arrays: Arrays<'_>) {
        self.one_by_one.reset(seeds, which, arrays);
        for index in (0..seeds.len()).filter(|&index| which.is_none_or(|which| which[index])) {
            self.replace(index);
        }
    }

    fn step(&mut self, actions: &[Action], mut arrays: Arrays<'_>) {
        let nowhere = |observations: &Observations<'_>| matches!(observations, Observations::None);
        let seen = !nowhere(&arrays.observations)
            || !nowhere(&arrays.final_observations)
            || arrays.masks.is_some();
        if seen || !self.activate() {
            self.deactivate();
            return self.one_by_one.step(actions, arrays);
        }
        for (number, actions) in actions.chunks(SEATS * LANES).enumerate() {
            self.step_block(number * LANES, actions, &mut arrays);
        }
    }

    fn observe(&mut self, observations: Observations<'_>, masks: Option<&mut [u8]>) {
        self.deactivate();
        self.one_by_one.observe(observations, masks);
    }

    fn state(&mut self, instance: usize, out: &mut Vec<u8>) {
        if self.active {
            self.extract(instance);
        }
        self.one_by_one.state(instance, out);
    }

    fn episode(&self, instance: usize) -> Episode {
        let mut episode = self.one_by_one.episode(instance);
        if self.active {
            self.blocks[instance / LANES].episode(instance % LANES, &mut episode);
        }
        episode
    }

    fn restore(
        &mut self,
        instance: usize,
        state: &[u8],
        episode: Episode,
    ) -> Result<(), StateError> {
        self.one_by_one.restore(instance, state, episode)?;
        self.replace(instance);
        Ok(())
    }
}
