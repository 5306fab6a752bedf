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
    if env.is_cogrid() {
        // CoGrid: the world goes on after the end, unpaid.
        advance::<true>(env, state, actions, outcome);
    } else if !was_over {
        advance::<false>(env, state, actions, outcome);
    }
    if was_over {
        outcome.rewards = Default::default();
    }
    if env.over(state) {
        outcome.truncated = (1 << SEATS) - 1;
        outcome.over = true;
    }
}

/// Steps the world; the two rules are compiled apart, because their tests would cost the fast one.
fn advance<const COGRID: bool>(
    env: &Overcooked,
    state: &mut State,
    actions: &[Action],
    outcome: &mut Outcome,
) {
    let pots_before = state.pots;
    state.pots.iter_mut().for_each(cook::<COGRID>);
    let actions: [Action; SEATS] = match *actions {
        [first, second, ..] => [first, second],
        [first] => [first, NOOP],
        [] => [NOOP; SEATS],
    };
    let first = first_seat(state);
    walk(env, state, first, actions[first]);
    walk(env, state, 1 - first, actions[1 - first]);
    for (seat, &action) in actions.iter().enumerate() {
        if action != PICK_UP_OR_DROP {
            continue;
        }
        let held = state.chefs[seat].held;
        let mut event = reach::<COGRID>(env, state, seat);
        if COGRID {
            event = paid_by_cogrid(env, state, &pots_before, seat, held);
        }
        if let Some(kind) = event {
            outcome.events.push(Event {
                kind,
                seat: seat as u8,
                value: worth(env)[usize::from(kind)],
            });
        }
    }
    if !outcome.events.is_empty() {
        pay(env, state, outcome);
    }
    state.steps = state.steps.saturating_add(1);
}

/// Pays the events to both cooks, kind by kind, and counts the soups that were delivered in time.
fn pay(env: &Overcooked, state: &mut State, outcome: &mut Outcome) {
    let mut reward = 0.0;
    for (kind, worth) in (DELIVERY..).zip(worth(env)) {
        let count = outcome
            .events
            .iter()
            .filter(|event| event.kind == kind)
            .count() as u8;
        reward += f32::from(count) * worth;
        if kind == DELIVERY && !env.over(state) {
            state.soups = state.soups.saturating_add(u32::from(count));
        }
    }
    outcome.rewards[..SEATS].fill(reward);
}

/// What each kind of event pays.
fn worth(env: &Overcooked) -> [f32; 3] {
    let rewards = &env.params.rewards;
    [rewards.delivery, rewards.onion_in_pot, rewards.soup_in_dish]
}

#[inline]
fn cook<const COGRID: bool>(pot: &mut Pot) {
    pot.timer -= u8::from(pot.cooking());
    if COGRID {
        // CoGrid: the number is made before the cooks act, so it lags the contents by a step.
        pot.shown = pot.onions * (1 + pot.timer);
    }
}

/// Draws who moves first.
#[inline]
fn first_seat(state: &mut State) -> usize {
    let drawn = match (state.injected.take(), &mut state.draws) {
        (Some(seat), _) => seat & 1,
        (None, Draws::Xoshiro(rng)) => u8::from(rng.flip()),
        (None, Draws::Numpy(generator)) => first_by_numpy(generator),
    };
    usize::from(drawn)
}

/// Source: CoGrid 0.3.2, `cogrid_env.py:493`, `core/pipeline/movement.py`.
fn first_by_numpy(generator: &mut numpy::Generator) -> u8 {
    let mut step = numpy::Generator::new(generator.integers(1 << 31));
    step.integers((1 << 63) - 1);
    let mut ranks = [0, 1];
    step.permute(&mut ranks);
    ranks[0]
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
fn reach<const COGRID: bool>(env: &Overcooked, state: &mut State, seat: usize) -> Option<u16> {
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
            if COGRID {
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
