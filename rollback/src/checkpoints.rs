//! States from which ticks that are not durable can be simulated again, however long ago they were: a few, from the
//! last durable one on, at least a quarter of a second apart.
//!
//! The slots of the window serve delays of the network; the checkpoints serve later decisions of the server.

use std::collections::VecDeque;

use env_core::World;

use crate::roster::Roster;

/// The most states to keep; if there are more, every second one is dropped.
const MOST: usize = 16;

/// A state before a tick.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checkpoint {
    tick: u32,
    world: Vec<u8>,
    /// The seats of partners that play at the tick, and their states.
    partners: Vec<(usize, Vec<u8>)>,
}

#[derive(Debug, Default)]
pub(crate) struct Checkpoints {
    kept: VecDeque<Checkpoint>,
    /// Memory for those to come.
    spare: Vec<Checkpoint>,
}

impl Checkpoints {
    /// Keeps the state before the first tick, and sets memory aside for as many more as there will be.
    pub(crate) fn begin<W: World>(&mut self, tick: u32, world: &mut W, roster: &mut Roster) {
        self.kept.reserve(MOST + 1);
        self.keep(tick, world, roster);
        self.spare = self.kept.iter().cycle().take(MOST).cloned().collect();
    }

    /// Keeps the state before a tick, which must be later than all kept ones.
    pub(crate) fn keep<W: World>(&mut self, tick: u32, world: &mut W, roster: &mut Roster) {
        if self.kept.len() >= MOST {
            self.thin_out();
        }
        let mut state = self.spare.pop().unwrap_or_default();
        state.tick = tick;
        world.state(&mut state.world);
        let mut count = 0;
        for (seat, policy) in roster.partners(tick) {
            if state.partners.len() == count {
                state.partners.push((seat, Vec::new()));
            }
            let (of, bytes) = &mut state.partners[count];
            *of = seat;
            policy.state(bytes);
            count += 1;
        }
        state.partners.truncate(count);
        self.kept.push_back(state);
    }

    /// Loads the last kept state at a tick or earlier, and returns its tick; `None` if there is no such state.
    pub(crate) fn load<W: World>(
        &mut self,
        tick: u32,
        world: &mut W,
        roster: &mut Roster,
    ) -> Option<u32> {
        self.forget_after(tick);
        let state = self.kept.back()?;
        world.restore(&state.world).ok()?;
        for (seat, policy) in roster.begun_partners(state.tick) {
            if let Some((_, bytes)) = state.partners.iter().find(|(of, _)| *of == seat) {
                policy.restore(bytes).ok()?;
            }
        }
        Some(state.tick)
    }

    /// Drops the states after a tick, because they follow from something wrong.
    pub(crate) fn forget_after(&mut self, tick: u32) {
        while self.kept.back().is_some_and(|state| state.tick > tick) {
            self.spare.extend(self.kept.pop_back());
        }
    }

    /// Drops the states that nobody goes back to any more: all before the last one at this tick or earlier.
    pub(crate) fn forget_before(&mut self, tick: u32) {
        while self.kept.get(1).is_some_and(|next| next.tick <= tick) {
            self.spare.extend(self.kept.pop_front());
        }
    }

    /// Drops every second state, but not the first.
    fn thin_out(&mut self) {
        let (mut number, spare) = (0, &mut self.spare);
        self.kept.retain_mut(|state| {
            number += 1;
            let stays = number % 2 == 1;
            if !stays {
                spare.push(std::mem::take(state));
            }
            stays
        });
    }
}
