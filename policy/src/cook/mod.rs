//! A cook for Overcooked that follows rules: it fills pots, waits for the soup, plates it and serves it,
//! works around a partner who does the same, and continues beside one who does nothing.
//!
//! It knows the kitchen only from its observation, so it plays either seat of any layout. Its actions depend on the
//! observation and on a few integers of its state; random numbers only break ties in which two
//! cooks block each other.

mod grid;
mod path;
mod plan;
mod published;
mod view;

use env_core::contract::StateError;
use env_core::{Action, Policy, Spec};
use serde::{Deserialize, Serialize};

use crate::state::{Digest, Slots, SplitMix, read, write};
use path::{Map, NONE, distances, neighbours};
use plan::{ERRANDS, Errand, Goal, Plan};
use view::{Chef, Item, Reader, View};

/// Turns without success after which the cook gives way.
const PATIENCE: u8 = 2;

/// Turns for which the cook then keeps to ways around the partner, however long.
const DETOUR: u8 = 16;

/// Turns of waiting after which the cook counts on nothing from its partner.
const TRUST: u8 = 30;

/// Turns for which the cook leaves a cell alone that did not do what it seemed to do.
const DOUBT: u8 = 12;

/// The last use of a cell, and the cell that did nothing. Observations that leave things out need it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Doubt {
    /// The cell that the last action used, plus one; 0 if it used none.
    used: u8,
    /// The item that the hands held then.
    held: Option<Item>,
    /// The cell to leave alone, plus one; 0 if there is none.
    barred: u8,
    /// Turns left for which it is left alone.
    turns: u8,
}

impl Doubt {
    /// Looks at the effect of the last use, and returns the cell to leave alone.
    fn judge(&mut self, view: &View) -> Option<u8> {
        self.turns = self.turns.saturating_sub(1);
        if self.used > 0 && view.own.held == self.held {
            (self.barred, self.turns) = (self.used, DOUBT);
        } else if self.turns == 0 {
            self.barred = 0;
        }
        self.used = 0;
        self.barred.checked_sub(1)
    }

    /// Remembers a use of the cell ahead.
    fn note_use(&mut self, own: &Chef) {
        let ahead = neighbours(own.cell).find(|(side, _)| *side == own.facing);
        (self.used, self.held) = (ahead.map_or(0, |(_, cell)| cell + 1), own.held);
    }
}

/// The memory of the cook from tick to tick.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Memory {
    rng: SplitMix,
    seat: u8,
    /// Ticks until the next action.
    rest: u8,
    /// Turns in which the partner was in the way.
    blocked: u8,
    /// Turns left in which only ways around the partner count.
    detour: u8,
    /// Turns to wait after stepping aside.
    aside: u8,
    /// Turns since the hands last had something to do.
    waited: u8,
    /// The cell from which the last action was a step, plus one; 0 if it was none. Only where cooks collide.
    left: u8,
    doubt: Doubt,
}

/// The scripted cook.
pub(crate) struct Cook {
    reader: Reader,
    /// The one thing that it does; `None` if it does all that the kitchen needs.
    errand: Option<Errand>,
    memory: Memory,
    slots: Slots<Memory>,
}

impl Cook {
    /// A cook for an environment with Overcooked's observation and actions.
    pub(crate) fn new(spec: &Spec) -> Option<Self> {
        Some(Self {
            reader: Reader::new(spec)?,
            errand: None,
            memory: Memory::default(),
            slots: Slots::default(),
        })
    }

    /// Creates a cook that does one errand; `None` if the word means no errand.
    pub(crate) fn with_errand(spec: &Spec, word: &str) -> Option<Self> {
        let errand = Some(Errand::find(word)?);
        Some(Self {
            errand,
            ..Self::new(spec)?
        })
    }

    /// The words for errands, and their meanings.
    pub(crate) fn list_errands() -> impl Iterator<Item = (&'static str, &'static str)> {
        ERRANDS.into_iter().map(|(word, means, _)| (word, means))
    }

    /// Returns whether something can be done for its errand, by an observation of a seat.
    pub(crate) fn can_do_errand(&self, seat: usize, observation: &[f32]) -> bool {
        let (Some(errand), Some(view)) = (self.errand, self.reader.read(observation)) else {
            return false;
        };
        let free = distances(&view, view.own.cell, None);
        let around = distances(&view, view.own.cell, Some(view.other.cell));
        let seat = u8::try_from(seat).unwrap_or(u8::MAX);
        Plan::new(&view, &free, &around, seat, true).can_do(errand)
    }

    fn turn(&mut self, view: &View) -> Action {
        let memory = &mut self.memory;
        if memory.aside > 0 {
            memory.aside -= 1;
            return self.reader.keys.noop;
        }
        memory.detour = memory.detour.saturating_sub(1);
        let free = distances(view, view.own.cell, None);
        let around = distances(view, view.own.cell, Some(view.other.cell));
        let plan = Plan::new(view, &free, &around, memory.seat, memory.waited >= TRUST);
        let goal = match self.errand {
            Some(errand) => plan.errand_goal(errand),
            None => plan.goal(),
        };
        match goal {
            Goal::Use(cell) => self.approach(view, cell, true, &free, &around),
            Goal::Face(cell) => self.approach(view, cell, false, &free, &around),
            Goal::Wait => self.wait(view, &around),
        }
    }

    /// Goes to a cell, faces it, and uses it or waits there.
    fn approach(&mut self, view: &View, target: u8, act: bool, free: &Map, around: &Map) -> Action {
        let stand = |map: &Map| {
            let stands =
                neighbours(target).map(|(side, cell)| (map[usize::from(cell)], side, cell));
            stands.filter(|(steps, ..)| *steps != NONE).min()
        };
        let (direct, open) = (stand(free), stand(around));
        // A longer way is for when the partner stays: who turns round for one that is only walking by
        // may turn for ever.
        let short = |open: u8| direct.is_none_or(|(direct, ..)| open <= direct);
        let open = open.filter(|(steps, ..)| self.memory.detour > 0 || short(*steps));
        let Some((_, side, cell)) = open.or(direct) else {
            return self.reader.keys.noop;
        };
        if cell != view.own.cell {
            return self.walk(view, cell, open.is_some());
        }
        self.memory.blocked = 0;
        // The side of the target on which the cook stands is opposite to where the cook must look.
        let facing = (side + 2) % 4;
        if view.own.facing != facing {
            return self.reader.keys.moves[usize::from(facing)];
        }
        if !act {
            self.memory.waited = self.memory.waited.saturating_add(1);
            return self.reader.keys.noop;
        }
        (self.memory.waited, self.memory.detour) = (0, 0);
        self.reader.keys.act
    }

    /// Steps to the side, or waits at times while the same step failed, because another cook steps there too.
    fn step(&mut self, view: &View, side: u8, has_failed: bool) -> Action {
        if has_failed && self.memory.rng.draw_below(2) == 0 {
            self.memory.left = 0;
            return self.reader.keys.noop;
        }
        if self.reader.collides {
            self.memory.left = view.own.cell + 1;
        }
        self.reader.keys.moves[usize::from(side)]
    }

    /// Takes a step of a shortest path to a cell, around the partner or through where they stand now.
    fn walk(&mut self, view: &View, to: u8, around: bool) -> Action {
        let has_failed = self.memory.left == view.own.cell + 1;
        self.memory.left = 0;
        let map = distances(view, to, around.then_some(view.other.cell));
        let steps = neighbours(view.own.cell).filter(|(_, cell)| map[usize::from(*cell)] != NONE);
        match steps.min_by_key(|(_, cell)| (map[usize::from(*cell)], *cell == view.other.cell)) {
            Some((side, cell)) if cell != view.other.cell => {
                self.memory.blocked = 0;
                self.step(view, side, has_failed)
            }
            _ => self.yield_way(view),
        }
    }

    /// Waits for the partner to move on; if that does not happen, goes the long way or steps aside.
    /// The second seat gives way first, so that two cooks do not both turn round in a corridor.
    fn yield_way(&mut self, view: &View) -> Action {
        self.memory.blocked = self.memory.blocked.saturating_add(1);
        self.memory.waited = self.memory.waited.saturating_add(1);
        let patience = if self.memory.seat == 0 {
            2 * PATIENCE
        } else {
            PATIENCE
        };
        if self.memory.blocked < patience {
            return self.reader.keys.noop;
        }
        self.memory.blocked = 0;
        if self.memory.detour == 0 {
            self.memory.detour = DETOUR;
            return self.reader.keys.noop;
        }
        self.memory.aside = u8::try_from(self.memory.rng.draw_below(4)).unwrap_or_default();
        self.stray(view)
    }

    /// A step to a free neighbour, drawn evenly.
    fn stray(&mut self, view: &View) -> Action {
        let free: Vec<u8> = neighbours(view.own.cell)
            .filter(|(_, cell)| view.is_walkable(*cell) && *cell != view.other.cell)
            .map(|(side, _)| side)
            .collect();
        match u32::try_from(free.len()) {
            Ok(count) if count > 0 => {
                let side = free[self.memory.rng.draw_below(count) as usize];
                self.reader.keys.moves[usize::from(side)]
            }
            _ => self.reader.keys.noop,
        }
    }

    /// Waits where nobody needs to stand, or at least not in the partner's way.
    fn wait(&mut self, view: &View, around: &Map) -> Action {
        self.memory.waited = self.memory.waited.saturating_add(1);
        let quiet = |cell: &u8| around[usize::from(*cell)] != NONE && !view.is_busy(*cell);
        match view
            .cells()
            .filter(quiet)
            .min_by_key(|cell| around[usize::from(*cell)])
        {
            Some(cell) if cell == view.own.cell => self.reader.keys.noop,
            Some(cell) => self.walk(view, cell, true),
            None if neighbours(view.own.cell).any(|(_, cell)| cell == view.other.cell) => {
                self.stray(view)
            }
            None => self.reader.keys.noop,
        }
    }
}

impl Policy for Cook {
    fn reset(&mut self, seat: usize, seed: u64) {
        self.memory = Memory {
            rng: SplitMix::seeded(seat, seed),
            seat: u8::try_from(seat).unwrap_or(u8::MAX),
            ..Memory::default()
        };
    }

    fn act(&mut self, observation: &[f32]) -> Action {
        if self.memory.rest > 0 {
            self.memory.rest -= 1;
            return self.reader.keys.noop;
        }
        self.memory.rest = self.reader.pace - 1;
        let Some(mut view) = self.reader.read(observation) else {
            return self.reader.keys.noop;
        };
        if !self.reader.is_partial {
            return self.turn(&view);
        }
        view.barred = self.memory.doubt.judge(&view);
        let action = self.turn(&view);
        if action == self.reader.keys.act {
            self.memory.doubt.note_use(&view.own);
        }
        action
    }

    fn save(&mut self, slot: usize) {
        self.slots.save(slot, &self.memory);
    }

    fn load(&mut self, slot: usize) {
        self.slots.load(slot, &mut self.memory);
    }

    fn digest(&self) -> u64 {
        let Memory {
            rng,
            seat,
            rest,
            blocked,
            detour,
            aside,
            waited,
            left,
            doubt,
        } = self.memory;
        let mut digest = Digest::new();
        rng.digest(&mut digest);
        [seat, rest, blocked, detour, aside, waited]
            .map(u64::from)
            .into_iter()
            .for_each(|word| digest.write_word(word));
        if self.reader.collides {
            digest.write_word(u64::from(left));
            let held = doubt.held.map_or(0, |item| item as u8 + 1);
            [doubt.used, held, doubt.barred, doubt.turns]
                .map(u64::from)
                .into_iter()
                .for_each(|word| digest.write_word(word));
        }
        digest.end()
    }

    fn state(&self, out: &mut Vec<u8>) {
        write(&self.memory, out);
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        self.memory = read(bytes)?;
        Ok(())
    }
}
