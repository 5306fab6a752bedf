//! The maps of a block of kitchens: what stays is copied once, and what is in each cell is looked up.

use env_core::envs::overcooked_ai::{
    COOK_CHANNELS, MapSide, MapTables, OvercookedAi, POT_LOOKS, RECIPE_NUMBERS,
};
use env_core::{Forms, Value};

use super::block::{Block, Screen};
use super::plan::Plan;
use crate::lanes::bytes::{Bytes, each_lane, map, mask};
use crate::lanes::put;

/// Numbers of items: nothing, onion, tomato, dish, soups.
const ONION: u8 = 1;
const DISH: u8 = 3;
const SOUP: u8 = 4;

/// The way in which blocks of kitchens observe.
#[derive(Clone, Debug)]
pub(super) struct Sight {
    tables: MapTables,
    counters: Vec<usize>,
    pots: Vec<usize>,
    /// The channels that show a cook, by whether it is another one and by its direction.
    cooks: Forms,
}

/// Memory for the observations of a block, a byte a lane.
#[derive(Clone, Debug)]
pub(crate) struct Scratch {
    /// 1 where the end is near.
    side: Bytes,
    /// The item that each counter shows.
    counters: Vec<Bytes>,
    /// The look of each pot, and its number of steps.
    pots: Vec<[Bytes; 2]>,
}

impl Scratch {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            side: Bytes::ZERO,
            counters: vec![Bytes::ZERO; plan.counters.len()],
            pots: vec![[Bytes::ZERO; 2]; plan.pots.len()],
        }
    }
}

impl Sight {
    /// Finds out how a block observes; `None` if it cannot.
    pub(super) fn new(env: &OvercookedAi, plan: &Plan) -> Option<Self> {
        let tables = env.find_map_tables()?;
        let starts = |cells: &[u8]| {
            let starts = cells.iter().map(|&cell| tables.starts[usize::from(cell)]);
            starts.collect()
        };
        let mut cooks = Vec::new();
        for other in 0..2 {
            for facing in 0..4 {
                let mut row = [0.0; COOK_CHANNELS];
                row[other] = tables.factor as f32;
                row[2 + 4 * other + facing] = tables.factor as f32;
                cooks.extend(row);
            }
        }
        Some(Self {
            counters: starts(&plan.counters),
            pots: starts(&plan.pots),
            cooks: Forms::of_floats(cooks),
            tables,
        })
    }

    /// Writes the observations of a block, `[lane, seat, value]`.
    pub(super) fn observe<V: Value, const SEATS: usize>(
        &self,
        plan: &Plan,
        block: &mut Block<SEATS>,
        is_earlier: bool,
        scratch: &mut Scratch,
        out: &mut [V],
    ) {
        self.look(plan, block, scratch);
        match self.tables.channels - COOK_CHANNELS {
            16 => self.write::<V, 16, SEATS>(block, is_earlier, scratch, out),
            15 => self.write::<V, 15, SEATS>(block, is_earlier, scratch, out),
            _ => self.write::<V, 10, SEATS>(block, is_earlier, scratch, out),
        }
    }

    /// Finds what is in each cell.
    fn look<const SEATS: usize>(&self, plan: &Plan, block: &Block<SEATS>, scratch: &mut Scratch) {
        let urgent = self.tables.urgent;
        let near = |lane: usize| plan.horizon.saturating_sub(block.steps[lane]) < urgent;
        scratch.side = map(|lane| u8::from(near(lane)));
        // Where a cook holds a thing of a kind, the others of that kind are left out.
        let held = |is: fn(u8) -> bool| {
            let mut any = Bytes::ZERO;
            if self.tables.hands_replace {
                for held in &block.held {
                    each_lane(|lane| any.0[lane] |= mask(is(held.0[lane])));
                }
            }
            any
        };
        let onions = held(|item| item == ONION);
        let dishes = held(|item| item == DISH);
        let soups = held(|item| item >= SOUP);
        for (shown, lying) in scratch.counters.iter_mut().zip(&block.lying) {
            *shown = map(|lane| {
                let item = lying.0[lane];
                let is_hidden = (onions.0[lane] & mask(item == ONION))
                    | (dishes.0[lane] & mask(item == DISH))
                    | (soups.0[lane] & mask(item >= SOUP));
                item & !is_hidden
            });
        }
        let counts_up = mask(self.tables.counts_up);
        for ([look, number], pot) in scratch.pots.iter_mut().zip(&block.pots) {
            let time = super::step::time_of(plan, &pot.contents);
            *look = map(|lane| {
                let (clock, contents) = (pot.clock.0[lane], pot.contents.0[lane]);
                let stage = u8::from(clock > 0) + u8::from((clock > time.0[lane]) & (clock > 0));
                let shown = stage * RECIPE_NUMBERS as u8 + contents;
                let hidden = soups.0[lane];
                (shown & !hidden) | (hidden & (POT_LOOKS - 1) as u8)
            });
            *number = map(|lane| {
                let clock = pot.clock.0[lane];
                let done = clock.wrapping_sub(1);
                let left = time.0[lane].saturating_sub(done);
                let steps = (counts_up & done) | (!counts_up & left);
                steps & mask(clock > 0) & !soups.0[lane]
            });
        }
    }

    /// Writes rows of a cell that have this many values.
    fn write<V: Value, const ROW: usize, const SEATS: usize>(
        &self,
        block: &mut Block<SEATS>,
        is_earlier: bool,
        scratch: &Scratch,
        out: &mut [V],
    ) {
        let len = self.tables.len;
        let sides = self.tables.sides.each_ref().map(Look::<V, ROW>::new);
        let (cooks, _) = V::of(&self.cooks).as_chunks::<COOK_CHANNELS>();
        let Block {
            cell,
            facing,
            held,
            screens,
            ..
        } = block;
        let screen = &mut screens[usize::from(size_of::<V>() == 1)];
        for (lane, rows) in out.chunks_exact_mut(SEATS * len).enumerate() {
            let number = scratch.side.0[lane];
            let side = &sides[usize::from(number & 1)];
            let is_whole = !is_earlier || screen.ground.0[lane] != number + 1;
            if is_whole {
                let maps = rows.chunks_exact_mut(len);
                maps.for_each(|map| map.copy_from_slice(side.ground));
                screen.ground.0[lane] = number + 1;
            } else {
                self.clear(screen, lane, side, rows);
            }
            let counters = self.counters.iter().zip(&scratch.counters);
            for ((start, shown), old) in counters.zip(&screen.counters) {
                let shown = shown.0[lane];
                if is_whole || shown != old.0[lane] {
                    let row = &side.counter[usize::from(shown)];
                    put(rows, len, start + COOK_CHANNELS, &[*row]);
                }
            }
            let pots = self.pots.iter().zip(&scratch.pots);
            for ((start, shown), old) in pots.zip(&screen.pots) {
                let [look, steps] = shown.each_ref().map(|byte| byte.0[lane]);
                if is_whole || [look, steps] != old.each_ref().map(|byte| byte.0[lane]) {
                    let row = &side.pot[usize::from(look)];
                    put(rows, len, start + COOK_CHANNELS, &[*row]);
                    let steps = V::whole(i32::from(steps) * self.tables.factor);
                    put(rows, len, start + self.tables.number_channel, &[[steps]]);
                }
            }
            for cook in 0..SEATS {
                let start = self.tables.starts[usize::from(cell[cook].0[lane])];
                let way = usize::from(facing[cook].0[lane] & 3);
                let item = usize::from(held[cook].0[lane]);
                put(rows, len, start + COOK_CHANNELS, &[side.floor[item]]);
                for (seat, map) in rows.chunks_exact_mut(len).enumerate() {
                    put(
                        map,
                        len,
                        start,
                        &[cooks[4 * usize::from(seat != cook) + way]],
                    );
                }
            }
        }
        screen.cells = *cell;
        screen.counters.copy_from_slice(&scratch.counters);
        screen.pots.copy_from_slice(&scratch.pots);
    }

    /// Takes the cooks away that an array shows.
    #[inline(always)]
    fn clear<V: Value, const ROW: usize, const SEATS: usize>(
        &self,
        screen: &Screen<SEATS>,
        lane: usize,
        side: &Look<'_, V, ROW>,
        rows: &mut [V],
    ) {
        for cells in &screen.cells {
            let start = self.tables.starts[usize::from(cells.0[lane])];
            put(rows, self.tables.len, start, &[[V::ZERO; COOK_CHANNELS]]);
            put(
                rows,
                self.tables.len,
                start + COOK_CHANNELS,
                &[side.floor[0]],
            );
        }
    }
}

/// The tables of a side in one form.
struct Look<'a, V, const ROW: usize> {
    ground: &'a [V],
    floor: &'a [[V; ROW]],
    counter: &'a [[V; ROW]],
    pot: &'a [[V; ROW]],
}

impl<'a, V: Value, const ROW: usize> Look<'a, V, ROW> {
    fn new(side: &'a MapSide) -> Self {
        let rows = |forms: &'a Forms| V::of(forms).as_chunks::<ROW>().0;
        Self {
            ground: V::of(&side.ground),
            floor: rows(&side.floor),
            counter: rows(&side.counter),
            pot: rows(&side.pot),
        }
    }
}
