//! One step of a kitchen: pots cook, cooks move, cooks reach out, events pay.
//!
//! Source: CoGrid 0.3.2, `core/pipeline/step.py:122-244`; the parts that [`super::Rules::Corrected`] mends
//! are marked "CoGrid:".

use super::kitchen::{Ground, SEATS};
use super::state::{COOK_STEPS, Direction, Draws, Item, Pot, SOUP_ONIONS, State};
use super::{DELIVERY, MOVE_RIGHT, NOOP, ONION_IN_POT, Overcooked, PICK_UP_OR_DROP, SOUP_IN_DISH};
use crate::contract::{Action, Event, Outcome};
use crate::rng::numpy;

/// Where a move looks, by action.
const FACING: [Direction; 4] = [
    Direction::Up,
    Direction::Down,
    Direction::Left,
    Direction::Right,
];

pub(super) fn step(env: &Overcooked, state: &mut State, actions: &[Action], outcome: &mut Outcome) {
    outcome.clear();
    let was_over = env.over(state);
    // CoGrid: the world goes on after the end, unpaid.
    if !was_over || env.is_cogrid() {
        advance(env, state, actions, outcome);
    }
    if was_over {
        outcome.rewards = Default::default();
    }
    if env.over(state) {
        outcome.truncated = (1 << SEATS) - 1;
        outcome.over = true;
    }
}

fn advance(env: &Overcooked, state: &mut State, actions: &[Action], outcome: &mut Outcome) {
    let over = env.over(state);
    let pots_before = state.pots;
    for pot in &mut state.pots {
        cook(pot, env.is_cogrid());
    }
    let actions: [Action; SEATS] =
        core::array::from_fn(|seat| actions.get(seat).copied().unwrap_or(NOOP));
    let first = first_seat(state);
    walk(env, state, first, actions[first]);
    walk(env, state, 1 - first, actions[1 - first]);
    let mut paid = [0_u8; 3];
    for seat in (0..SEATS).filter(|&seat| actions[seat] == PICK_UP_OR_DROP) {
        let held = state.chefs[seat].held;
        let mut event = reach(env, state, seat);
        if env.is_cogrid() {
            event = paid_by_cogrid(env, state, &pots_before, seat, held);
        }
        if let Some(kind) = event {
            paid[usize::from(kind)] += 1;
            outcome.events.push(Event {
                kind,
                seat: seat as u8,
                value: worth(env)[usize::from(kind)],
            });
        }
    }
    let reward = paid
        .iter()
        .zip(worth(env))
        .fold(0.0, |sum, (&count, worth)| sum + f32::from(count) * worth);
    outcome.rewards[..SEATS].fill(reward);
    state.soups = state.soups.saturating_add(if over {
        0
    } else {
        u32::from(paid[usize::from(DELIVERY)])
    });
    state.steps = state.steps.saturating_add(1);
}

/// What each kind of event pays.
fn worth(env: &Overcooked) -> [f32; 3] {
    let rewards = &env.params.rewards;
    [rewards.delivery, rewards.onion_in_pot, rewards.soup_in_dish]
}

#[inline]
fn cook(pot: &mut Pot, shows: bool) {
    pot.timer -= u8::from(pot.cooking());
    // CoGrid: the number is made before the cooks act, so it lags the contents by a step.
    pot.shown = if shows {
        pot.onions * (1 + pot.timer)
    } else {
        0
    };
}

/// Draws who moves first.
fn first_seat(state: &mut State) -> usize {
    if let Some(seat) = state.injected.take() {
        return usize::from(seat);
    }
    usize::from(match &mut state.draws {
        Draws::Xoshiro(rng) => rng.flip(),
        Draws::Numpy(generator) => {
            let key = generator.integers(1 << 31);
            let mut step = numpy::Generator::new(key);
            step.integers((1 << 63) - 1);
            step.swaps_two()
        }
    })
}

/// Turns a cook, and moves it if nothing and nobody is in the way.
///
/// CoGrid resolves all moves at once (`core/pipeline/movement.py`); for two cooks that is the same as letting
/// the lower rank move first and the other after it, each blocked by where the other then stands:
/// a cook follows only one that moved before it, two never swap, and the lower rank wins a shared target.
#[inline]
fn walk(env: &Overcooked, state: &mut State, seat: usize, action: Action) {
    let other = state.chefs[1 - seat].cell;
    let moves = action <= MOVE_RIGHT;
    let chef = &mut state.chefs[seat];
    chef.facing = if moves {
        FACING[usize::from(action & 3)]
    } else {
        chef.facing
    };
    let (cell, target) = (chef.cell, chef.front());
    let free = moves
        & env.kitchen.is_floor(target)
        & (target != other)
        & (state.item(target) == Item::Empty);
    state.chefs[seat].cell = if free { target } else { cell };
}

/// Lets a cook take or put what the cell in front allows, and says which event that was.
fn reach(env: &Overcooked, state: &mut State, seat: usize) -> Option<u16> {
    let chef = state.chefs[seat];
    let (cell, held) = (chef.front(), chef.held);
    if state.chefs[1 - seat].cell == cell {
        return None;
    }
    match env.kitchen.ground[usize::from(cell)] {
        Ground::Floor | Ground::Counter => {
            let lying = state.item(cell);
            if held == Item::Empty || lying == Item::Empty {
                *state.item_mut(cell) = held;
                state.chefs[seat].held = lying;
            }
            None
        }
        Ground::OnionStack => take(state, seat, Item::Onion),
        Ground::PlateStack => take(state, seat, Item::Plate),
        Ground::Pot => reach_pot(env, state, seat, cell),
        Ground::DeliveryZone if held == Item::Soup => {
            state.chefs[seat].held = Item::Empty;
            if env.is_cogrid() {
                // CoGrid: the first soup stays on the zone for the whole episode, seen and out of reach.
                *state.item_mut(cell) = Item::Soup;
            }
            Some(DELIVERY)
        }
        Ground::DeliveryZone | Ground::Void => None,
    }
}

fn take(state: &mut State, seat: usize, item: Item) -> Option<u16> {
    let chef = &mut state.chefs[seat];
    if chef.held == Item::Empty {
        chef.held = item;
    }
    None
}

fn reach_pot(env: &Overcooked, state: &mut State, seat: usize, cell: u8) -> Option<u16> {
    let pot = &mut state.pots[usize::from(env.kitchen.pot_at[usize::from(cell)])];
    let chef = &mut state.chefs[seat];
    match chef.held {
        Item::Onion if pot.onions < SOUP_ONIONS => {
            pot.onions += 1;
            chef.held = Item::Empty;
            Some(ONION_IN_POT)
        }
        Item::Plate if pot.ready() => {
            (pot.onions, pot.timer) = (0, COOK_STEPS);
            chef.held = Item::Soup;
            Some(SOUP_IN_DISH)
        }
        _ => None,
    }
}

/// CoGrid: pays by the state before the step, whatever the act achieved. So two onions for the last place of
/// a pot both earn, and a soup taken in the very step in which it becomes ready earns nothing.
fn paid_by_cogrid(
    env: &Overcooked,
    state: &State,
    before: &[Pot; 2],
    seat: usize,
    held: Item,
) -> Option<u16> {
    let cell = usize::from(state.chefs[seat].front());
    let pot = &before[usize::from(env.kitchen.pot_at[cell])];
    match (env.kitchen.ground[cell], held) {
        (Ground::DeliveryZone, Item::Soup) => Some(DELIVERY),
        (Ground::Pot, Item::Onion) if pot.onions < SOUP_ONIONS => Some(ONION_IN_POT),
        (Ground::Pot, Item::Plate) if pot.timer == 0 => Some(SOUP_IN_DISH),
        _ => None,
    }
}
