//! Games that are played sixty-four together, if nobody reads their states in between.
//!
//! A step of one instance waits for branches that random actions make unpredictable. Sixty-four side by side have few
//! branches, and take turns in vector instructions. This only makes steps and observations faster: states go back and
//! forth between the two forms, and tests check that their results are equal, bit for bit.

mod bytes;
mod gains;
pub(crate) mod grid;
pub(crate) mod kitchen;
pub(crate) mod kitchen_v2;
mod walk;
mod wide;

use env_core::contract::StateError;
use env_core::{Action, Value};

use crate::arrays::{Arrays, Infos, Observations};
use crate::chunk::{Chunk, OneByOne};
use crate::episode::Episode;
use crate::instances::Instances;
use crate::options::Autoreset;
use bytes::{Bytes, LANES};
use gains::{Gains, Tally};
use wide::Rules;

/// The most seats of a game in lanes.
pub(crate) const MOST_SEATS: usize = 4;

/// A game that lanes play: its rules, how its states enter lanes, and how they observe there.
pub(crate) trait Game<const SEATS: usize>: Send + Sized {
    type Instances: Instances;
    type Rules: Rules<SEATS>;
    /// Memory for the observations of a block.
    type Scratch: Send;

    /// The rules: they do not depend on the type of the states, so that they are compiled once.
    fn rules(&self) -> &Self::Rules;

    /// A block of lanes that nobody uses: they are stepped as well, and do nothing.
    fn new_block(&self) -> BlockOf<Self, SEATS>;

    /// Memory for observations; `None` if lanes cannot observe.
    fn new_scratch(&self) -> Option<Self::Scratch>;

    /// The most events with a value that one seat has in a step.
    fn events(&self) -> usize;

    /// The action that does nothing.
    fn noop(&self) -> Action;

    /// Takes up a state; false if lanes cannot hold it, and then nothing is changed.
    fn insert(
        &self,
        block: &mut BlockOf<Self, SEATS>,
        lane: usize,
        state: &SlotOf<Self, SEATS>,
    ) -> bool;

    /// Writes a state back over its original.
    fn extract(&self, block: &BlockOf<Self, SEATS>, lane: usize, state: &mut SlotOf<Self, SEATS>);

    /// Notes in a state that its horizon is reached.
    fn finish(&self, state: &mut SlotOf<Self, SEATS>);

    /// Checks whether a step of a state is not what lanes do.
    fn is_over(&self, state: &SlotOf<Self, SEATS>) -> bool;

    /// Writes the observations, `[lane, seat, value]`. The array has earlier ones if `is_earlier`; it then need not write
    /// what never changes.
    fn observe<V: Value>(
        &self,
        block: &mut BlockOf<Self, SEATS>,
        is_earlier: bool,
        scratch: &mut Self::Scratch,
        out: &mut [V],
    );
}

/// Sixty-four states of a game side by side.
type BlockOf<G, const SEATS: usize> = <<G as Game<SEATS>>::Rules as Rules<SEATS>>::Block;

/// One instance of a game by itself.
type SlotOf<G, const SEATS: usize> = <<G as Game<SEATS>>::Instances as Instances>::Slot;

/// Sixty-four instances.
struct Group<B, const SEATS: usize> {
    block: B,
    tally: Tally<SEATS>,
    /// 1 where a step is not what lanes do: the episode is over.
    odd: Bytes,
}

/// Instances that may be played in lanes.
pub(crate) struct Lanes<G: Game<SEATS>, const SEATS: usize> {
    one_by_one: OneByOne<G::Instances>,
    game: G,
    groups: Vec<Group<BlockOf<G, SEATS>, SEATS>>,
    /// True if the groups have the instances; the states are then the older ones from before.
    active: bool,
    gains: Box<Gains<SEATS>>,
    scratch: Option<Box<G::Scratch>>,
}

impl<G: Game<SEATS>, const SEATS: usize> Lanes<G, SEATS> {
    /// Takes up instances that are stepped one by one until lanes are of use.
    pub(crate) fn new(one_by_one: OneByOne<G::Instances>, game: G) -> Self {
        let groups = one_by_one.slots.len().div_ceil(LANES);
        let group = || Group {
            block: game.new_block(),
            tally: Tally::NONE,
            odd: Bytes::ZERO,
        };
        Self {
            groups: (0..groups).map(|_| group()).collect(),
            active: false,
            gains: Box::new(Gains::new(game.events())),
            scratch: game.new_scratch().map(Box::new),
            one_by_one,
            game,
        }
    }

    /// Takes an instance into its lane, if lanes can hold it.
    fn insert(&mut self, index: usize) -> bool {
        let (group, lane) = (&mut self.groups[index / LANES], index % LANES);
        let state = &self.one_by_one.slots[index];
        let episode = &self.one_by_one.episodes[index];
        if !self.game.insert(&mut group.block, lane, state) {
            return false;
        }
        group.odd.0[lane] = u8::from(episode.over || self.game.is_over(state));
        group.tally.length[lane] = episode.length;
        (0..SEATS).for_each(|seat| group.tally.returns[seat][lane] = episode.returns[seat]);
        true
    }

    /// Writes an instance back from its lane.
    fn extract(&mut self, index: usize) {
        let (group, lane) = (&self.groups[index / LANES], index % LANES);
        self.game
            .extract(&group.block, lane, &mut self.one_by_one.slots[index]);
        write_episode(&group.tally, lane, &mut self.one_by_one.episodes[index]);
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

    /// Brings an instance that was changed one by one into its lane again; if it does not fit, all others go back.
    fn replace(&mut self, index: usize) {
        if self.active && !self.insert(index) {
            self.active = false;
            let others = (0..self.one_by_one.slots.len()).filter(|&other| other != index);
            others.for_each(|other| self.extract(other));
        }
    }

    /// Advances a group, whose first instance has this number, and writes its rows.
    fn step_group(&mut self, first: usize, actions: &[Action], arrays: &mut Arrays<'_>) {
        let observations = std::mem::take(&mut arrays.observations);
        let masks = arrays.masks.take();
        self.step_states(first, actions, arrays);
        (arrays.observations, arrays.masks) = (observations, masks);
        let used = actions.len() / SEATS;
        self.observe_group(first, used, &mut arrays.observations);
        if let Some(masks) = &mut arrays.masks {
            self.mask_group(first, used, masks);
        }
    }

    /// Writes the masks of a group.
    fn mask_group(&mut self, first: usize, used: usize, masks: &mut [u8]) {
        if !self.active {
            // An instance went back to what lanes cannot hold.
            return (first..first + used)
                .for_each(|index| self.one_by_one.write_masks(index, masks));
        }
        let row = SEATS * self.one_by_one.shape.actions;
        let rows = &mut masks[first * row..][..used * row];
        let block = &mut self.groups[first / LANES].block;
        wide::write_masks(self.game.rules(), block, rows);
    }

    /// Advances the states of a group, and writes everything but observations and masks.
    fn step_states(&mut self, first: usize, actions: &[Action], arrays: &mut Arrays<'_>) {
        let odd = self.groups[first / LANES].odd;
        let (actions, _) = actions.as_chunks::<SEATS>();
        let used = actions.len().min(LANES);
        for lane in odd.set() {
            self.extract(first + lane);
        }
        let group = &mut self.groups[first / LANES];
        self.gains.clear();
        match actions.first_chunk() {
            Some(actions) => wide::step_wide(
                self.game.rules(),
                &mut group.block,
                actions,
                &mut self.gains,
            ),
            None => {
                // Lanes that nobody uses do nothing.
                let mut all = [[self.game.noop(); SEATS]; LANES];
                all[..actions.len()].copy_from_slice(actions);
                wide::step_wide(self.game.rules(), &mut group.block, &all, &mut self.gains);
            }
        }
        group.tally.add_gains(&self.gains);
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
            self.end(first + lane, &mut arrays.final_observations);
        }
    }

    /// Ends the episode of an instance whose horizon is reached.
    fn end(&mut self, index: usize, last: &mut Observations<'_>) {
        if self.active {
            self.extract(index);
        }
        self.game.finish(&mut self.one_by_one.slots[index]);
        self.one_by_one.episodes[index].over = true;
        if self.one_by_one.autoreset == Autoreset::SameStep {
            self.one_by_one.write_observation(index, last);
            self.one_by_one.restart(index);
        }
        self.replace(index);
    }

    /// Writes the results of a group.
    fn write(&self, first: usize, used: usize, arrays: &mut Arrays<'_>) {
        let (gains, group, at) = (&*self.gains, &self.groups[first / LANES], SEATS * first);
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
            interleave(
                &group.tally.returns,
                &mut episode_return[at..][..SEATS * used],
            );
            episode_length[first..][..used].copy_from_slice(&group.tally.length[..used]);
            let kinds = self.one_by_one.shape.events;
            let events = &mut events[at * kinds..][..SEATS * used * kinds];
            events.fill(0.0);
            for event in &gains.events {
                let row = usize::from(event.lane) * SEATS + usize::from(event.seat);
                if let Some(sum) = events.get_mut(row * kinds + usize::from(event.kind)) {
                    *sum += event.value;
                }
            }
        }
    }

    /// Writes the observations of a group.
    fn observe_group(&mut self, first: usize, used: usize, observations: &mut Observations<'_>) {
        let instances = first..first + used;
        if !self.active {
            // An instance went back to what lanes cannot hold.
            return instances.for_each(|index| {
                self.one_by_one.write_observation(index, observations);
            });
        }
        let shape = &self.one_by_one.shape;
        let (width, block) = (
            shape.seats * shape.observation,
            &mut self.groups[first / LANES].block,
        );
        let Some(scratch) = &mut self.scratch else {
            return;
        };
        let rows = first * width..(first + used) * width;
        match observations {
            Observations::None => {}
            Observations::F32(out) => {
                let is_earlier = self.one_by_one.follow(instances);
                self.game
                    .observe(block, is_earlier, scratch, &mut out[rows]);
            }
            Observations::Compact(out) => {
                let is_earlier = self.one_by_one.follow_compact(instances);
                self.game
                    .observe(block, is_earlier, scratch, &mut out[rows]);
            }
        }
    }
}

/// Writes the same values into every map of a length, at a place of it.
#[inline(always)]
fn put<V: Copy, const N: usize, const M: usize>(
    maps: &mut [V],
    len: usize,
    place: usize,
    values: &[[V; N]; M],
) {
    for map in maps.chunks_exact_mut(len) {
        let Some((here, _)) = map.get_mut(place..).map(<[V]>::as_chunks_mut::<N>) else {
            continue;
        };
        if let Some(here) = here.first_chunk_mut() {
            *here = *values;
        }
    }
}

/// Writes what changes of an episode while lanes play it.
fn write_episode<const SEATS: usize>(tally: &Tally<SEATS>, lane: usize, episode: &mut Episode) {
    episode.length = tally.length[lane];
    (0..SEATS).for_each(|seat| episode.returns[seat] = tally.returns[seat][lane]);
}

impl<G: Game<SEATS>, const SEATS: usize> Chunk for Lanes<G, SEATS> {
    const GRAIN: usize = LANES;

    fn reset(&mut self, seeds: &[u64], which: Option<&[bool]>, arrays: Arrays<'_>) {
        self.one_by_one.reset(seeds, which, arrays);
        for index in (0..seeds.len()).filter(|&index| which.is_none_or(|which| which[index])) {
            self.replace(index);
        }
    }

    fn step(&mut self, actions: &[Action], mut arrays: Arrays<'_>) {
        let is_seen = !matches!(arrays.observations, Observations::None);
        if (is_seen && self.scratch.is_none()) || !self.activate() {
            self.deactivate();
            return self.one_by_one.step(actions, arrays);
        }
        for (number, actions) in actions.chunks(SEATS * LANES).enumerate() {
            let first = number * LANES;
            if self.active {
                self.step_group(first, actions, &mut arrays);
                continue;
            }
            for (index, actions) in (first..).zip(actions.chunks_exact(SEATS)) {
                self.one_by_one.step_one(index, actions, &mut arrays);
            }
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
            let tally = &self.groups[instance / LANES].tally;
            write_episode(tally, instance % LANES, &mut episode);
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
