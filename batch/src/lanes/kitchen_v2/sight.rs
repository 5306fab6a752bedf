//! The observations of a block of kitchens: what stays is copied once, and what changed is looked up.

use env_core::envs::overcooked_jaxmarl_v2::{KitchenLayers, OvercookedJaxmarlV2};
use env_core::{Forms, Value};

use super::block::{Block, Screen};
use super::plan::Plan;
use crate::lanes::bytes::{Bytes, LANES};
use crate::lanes::put;

/// The numbers of items.
const ITEMS: usize = 256;
/// Layers of a cook before its item.
const COOK: usize = 5;

/// The way in which blocks of kitchens observe.
#[derive(Clone, Debug)]
pub(super) struct Sight {
    layers: KitchenLayers,
    /// The first places of each thing that changes.
    counters: Vec<usize>,
    pots: Vec<usize>,
    buttons: Vec<usize>,
    indicators: Vec<usize>,
    goals: Vec<usize>,
    /// The layers of each item.
    items: Forms,
}

impl Sight {
    /// Finds out how a block observes; `None` if it cannot.
    pub(super) fn new(env: &OvercookedJaxmarlV2, plan: &Plan) -> Option<Self> {
        let layers = env.find_layers()?;
        if layers.cook_len != COOK || !(3..=5).contains(&layers.item_len) {
            return None;
        }
        let starts = |cells: &[u8]| {
            let starts = cells.iter().map(|&cell| layers.starts[usize::from(cell)]);
            starts.collect()
        };
        let items = (0..ITEMS).flat_map(|item| {
            let values = [
                item & 1,
                item >> 1 & 1,
                item >> 2 & 3,
                item >> 4 & 3,
                item >> 6,
            ];
            let values = values.map(|value| value as f32);
            values.into_iter().take(layers.item_len)
        });
        Some(Self {
            items: Forms::of_floats(items.collect()),
            counters: starts(&plan.counters),
            pots: starts(&plan.pots),
            buttons: starts(&plan.buttons),
            indicators: starts(&plan.indicators),
            goals: starts(&plan.goals),
            layers,
        })
    }

    /// Writes the observations of a block, `[lane, seat, value]`.
    pub(super) fn observe<V: Value, const SEATS: usize>(
        &self,
        block: &mut Block<SEATS>,
        is_earlier: bool,
        out: &mut [V],
    ) {
        match self.layers.item_len {
            3 => self.write::<V, 3, SEATS>(block, is_earlier, out),
            4 => self.write::<V, 4, SEATS>(block, is_earlier, out),
            _ => self.write::<V, 5, SEATS>(block, is_earlier, out),
        }
    }

    /// Writes items of this many layers.
    fn write<V: Value, const ITEM: usize, const SEATS: usize>(
        &self,
        block: &mut Block<SEATS>,
        is_earlier: bool,
        out: &mut [V],
    ) {
        let len = self.layers.len;
        let (items, _) = V::of(&self.items).as_chunks::<ITEM>();
        let screen = &mut block.screens[usize::from(size_of::<V>() == 1)];
        for (lane, rows) in out.chunks_exact_mut(SEATS * len).enumerate() {
            let is_whole = !is_earlier || screen.known.0[lane] == 0;
            if is_whole {
                let ground = V::of(&self.layers.ground);
                let maps = rows.chunks_exact_mut(len);
                maps.for_each(|map| map.copy_from_slice(ground));
            } else {
                for cells in &screen.cells {
                    let start = self.layers.starts[usize::from(cells.0[lane])];
                    put(rows, len, start, &[[V::ZERO; COOK]; 2]);
                    put(rows, len, start + 2 * COOK, &[[V::ZERO; ITEM]; 2]);
                }
            }
            self.write_things(&block.things, screen, lane, is_whole, items, rows);
            for cook in 0..SEATS {
                let start = self.layers.starts[usize::from(block.cell[cook].0[lane])];
                let mut mark = [V::ZERO; COOK];
                mark[0] = V::ONE;
                mark[1 + usize::from(block.facing[cook].0[lane] & 3)] = V::ONE;
                let item = &items[usize::from(block.held[cook].0[lane])];
                for (seat, map) in rows.chunks_exact_mut(len).enumerate() {
                    let start = start + if seat == cook { 0 } else { COOK + ITEM };
                    put(map, len, start, &[mark]);
                    put(map, len, start + COOK, &[*item]);
                }
            }
        }
        screen.known = Bytes([1; LANES]);
        screen.cells = block.cell;
        screen.things.clone_from(&block.things);
    }

    /// Writes things that are others than before.
    fn write_things<V: Value, const ITEM: usize, const SEATS: usize>(
        &self,
        now: &super::block::Things,
        screen: &Screen<SEATS>,
        lane: usize,
        is_whole: bool,
        items: &[[V; ITEM]],
        rows: &mut [V],
    ) {
        let (len, before) = (self.layers.len, &screen.things);
        let thing = |item: u8| [items[usize::from(item)]];
        let counters = now.counters.iter().zip(&before.counters);
        for ((here, old), start) in counters.zip(&self.counters) {
            if is_whole || here.0[lane] != old.0[lane] {
                put(rows, len, start + self.layers.thing, &thing(here.0[lane]));
            }
        }
        for ((here, old), start) in now.pots.iter().zip(&before.pots).zip(&self.pots) {
            let (item, timer) = (here.items.0[lane], here.timer.0[lane]);
            if is_whole || (item, timer) != (old.items.0[lane], old.timer.0[lane]) {
                put(rows, len, start + self.layers.thing, &thing(item));
                let clock = V::whole(timer.into());
                put(rows, len, start + self.layers.clock, &[[clock]]);
            }
        }
        let recipe = now.recipe.0[lane];
        let is_new = is_whole || recipe != before.recipe.0[lane];
        for ((here, old), start) in now.buttons.iter().zip(&before.buttons).zip(&self.buttons) {
            let (shows, did) = (here.0[lane] > 0, old.0[lane] > 0);
            if is_new || shows != did {
                let shown = if shows { recipe } else { 0 };
                put(rows, len, start + self.layers.recipe, &thing(shown));
            }
        }
        if is_new {
            for start in &self.indicators {
                put(rows, len, start + self.layers.recipe, &thing(recipe));
            }
        }
        let delivered = now.delivered.0[lane];
        if let Some(layer) = self.layers.delivery
            && (is_whole || delivered != before.delivered.0[lane])
        {
            for start in &self.goals {
                put(rows, len, start + layer, &[[V::whole(delivered.into())]]);
            }
        }
    }
}
