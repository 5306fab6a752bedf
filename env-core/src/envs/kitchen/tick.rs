//! The tick of a kitchen: orders come and expire, another soup is wanted, buttons go out.
//!
//! Source: CoGrid 0.3.2, `envs/overcooked/config.py`; parts that the corrected rules fix are marked "CoGrid:".

use super::params::{Earning, Variant};
use super::{Cooking, Extra, KitchenOrder, earn};
use crate::grid::{EMPTY, KindId, Motion, Pay, State, StepDraws, Tables};

pub(super) fn tick_kitchen<V: Variant>(
    cooking: &Cooking<V>,
    tables: &Tables,
    state: &mut State<Extra>,
    random: &mut StepDraws,
    pay: &mut Pay<'_>,
) {
    let expired = state.extra.expired;
    orders(cooking, state, random);
    let expired = state.extra.expired.wrapping_sub(expired);
    if tables.is_cogrid() {
        show(cooking, tables, state);
    } else if expired > 0 {
        // By the rules of CoGrid it is paid at the end of the step.
        earn::pay_expired_orders(cooking, tables, expired, pay);
    }
    if state.extra.delivered && cooking.params.resample_on_delivery && !cooking.targets.is_empty() {
        let count = cooking.targets.len() as u32;
        state.extra.target = random.choose(&mut state.draws, count) as u8;
    }
    // CoGrid: only a new draw forgets the delivery.
    state.extra.delivered &= tables.is_cogrid() && !cooking.params.resample_on_delivery;
}

/// Orders run out, and free places get new ones.
fn orders<V: Variant>(cooking: &Cooking<V>, state: &mut State<Extra>, random: &mut StepDraws) {
    let Some(orders) = &cooking.params.orders else {
        return;
    };
    let places = cooking.places();
    let mut rolls = [0.0; super::MAX_ORDERS];
    random.rolls(&mut state.draws, &mut rolls[..places]);
    for (order, roll) in state.extra.orders[..places].iter_mut().zip(rolls) {
        if order.soup != 0 {
            order.left = order.left.saturating_sub(1);
            if order.left == 0 {
                *order = KitchenOrder::default();
                state.extra.expired = state.extra.expired.saturating_add(1);
            }
        }
        let drawn = cooking.spawn.iter().position(|&bound| roll < bound);
        if let (0, Some(recipe)) = (order.soup, drawn) {
            *order = KitchenOrder {
                soup: recipe as u8 + 1,
                left: orders.time_limit,
            };
        }
    }
}

/// CoGrid: what indicators and lit buttons show is written before another soup is wanted, so it lags by a step.
fn show<V: Variant>(cooking: &Cooking<V>, tables: &Tables, state: &mut State<Extra>) {
    if !V::V2 || cooking.targets.is_empty() {
        return;
    }
    let shown = state.extra.target + 1;
    for cell in 0..tables.cells as u16 {
        if state.kind(cell) == cooking.ids.indicator {
            state.set_value(tables, cell, shown);
        }
    }
    for index in buttons(cooking, tables, state) {
        let button = state.fixture(tables, index);
        let (cell, lit) = (button.cell(), button.timer() > 0);
        state.set_value(tables, cell, if lit { shown } else { 0 });
    }
}

/// The numbers of the buttons among the fixtures.
fn buttons<V: Variant>(
    cooking: &Cooking<V>,
    tables: &Tables,
    state: &State<Extra>,
) -> impl Iterator<Item = usize> + use<V> {
    let mut bits: u64 = 0;
    for (index, fixture) in state.fixtures(tables).enumerate().take(64) {
        let is_button = V::V2 && fixture.kind() == cooking.ids.button;
        bits |= u64::from(is_button) << index;
    }
    (0..64).filter(move |index| bits >> index & 1 == 1)
}

/// Bits of the buttons that are lit.
pub(super) fn lit_buttons<V: Variant>(
    cooking: &Cooking<V>,
    tables: &Tables,
    state: &State<Extra>,
) -> u64 {
    buttons(cooking, tables, state)
        .filter(|&index| state.fixture(tables, index).timer() > 0)
        .fold(0, |bits, index| bits | 1 << index)
}

/// Performs the acts of kitchens by the rules of CoGrid, before those of every grid; returns true if nothing else must
/// be tried.
pub(super) fn act_cogrid<V: Variant>(
    cooking: &Cooking<V>,
    tables: &Tables,
    state: &mut State<Extra>,
    seat: usize,
    cell: u16,
    motion: Motion,
) -> bool {
    let (at, held) = (state.kind(cell), state.agents[seat].held);
    if motion == Motion::Toggle {
        // CoGrid: a button that costs nothing does nothing.
        let costs = |paid: &super::KitchenReward| paid.kind == Earning::Button;
        let works = V::V2 && at == cooking.ids.button && held == EMPTY;
        let button = state.fixture_in(tables, cell).filter(|_| works);
        let is_dark = |&index: &usize| state.fixture(tables, index).timer() == 0;
        if let Some(index) = button.filter(is_dark)
            && cooking.params.rewards.iter().any(costs)
        {
            state.set_fixture(tables, index, super::kinds::BUTTON_TIME, &[]);
        }
        return true;
    }
    let open = V::V2 && at == cooking.ids.open_zone;
    if open && cooking.soups.has(held) && !cooking.targets.is_empty() {
        state.extra.delivered = true;
    }
    if open || at == cooking.ids.zone && cooking.ids.soups.contains(&held) {
        consume_cogrid(tables, &mut state.extra, held);
    }
    false
}

/// CoGrid: the number of an order is that of a recipe of the first kind of pot, and open pots have others.
fn consume_cogrid(tables: &Tables, extra: &mut Extra, soup: KindId) {
    let dishes = tables.containers.first().map_or(&[][..], |pot| &pot.dishes);
    let asks = |order: &&mut KitchenOrder| {
        let recipe = order.soup.checked_sub(1);
        let dish = recipe.and_then(|recipe| dishes.get(usize::from(recipe)));
        dish.is_some_and(|dish| dish.result == soup)
    };
    if let Some(order) = extra.orders.iter_mut().find(asks) {
        *order = KitchenOrder::default();
    }
}

/// CoGrid: where there are open pots in the world and none in the layout, the timers of the others are lost
/// in the first step.
pub(super) fn lose_timers(tables: &Tables, state: &mut State<Extra>) {
    let open_pots = tables.containers.first().map(|pot| pot.kind);
    if state
        .fixtures(tables)
        .all(|fixture| Some(fixture.kind()) != open_pots)
    {
        let count = state.fixtures(tables).len();
        for index in 0..count {
            if state.fixture(tables, index).capacity() == super::kinds::SOUP_SIZE {
                state.set_fixture(tables, index, 0, &[]);
            }
        }
    }
}

/// Fills the first order of this soup, and returns it as it was.
pub(super) fn consume_order<V: Variant>(
    cooking: &Cooking<V>,
    extra: &mut Extra,
    soup: KindId,
) -> Option<KitchenOrder> {
    let recipe = cooking.ids.soups.iter().position(|&known| known == soup)?;
    let orders = extra.orders.iter_mut();
    let order = orders
        .into_iter()
        .find(|order| usize::from(order.soup) == recipe + 1)?;
    Some(core::mem::take(order))
}
