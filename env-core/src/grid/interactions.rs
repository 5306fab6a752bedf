//! Hands: what picking up, dropping and toggling do to what an agent faces.

use super::cogrid::CogridRules;
use super::kind::{EMPTY, KindId};
use super::motion::Motion;
use super::reward::{Act, Interaction};
use super::state::{COUNT, Fixture, SLOTS, State, TIMER};
use super::tables::{Container, Dish, Hand, Tables};
use super::{Grid, GridWorld};

/// The effect of an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// The hand takes the thing of the cell.
    Lift,
    /// The thing of the cell is gone, and the hand is unchanged.
    Collect,
    /// The hand drops what it holds into the free cell.
    Drop,
    /// The hand takes the thing from the surface.
    Take,
    /// The hand puts its thing on the surface.
    Place,
    /// The hand gets one of these.
    Get(KindId),
    /// The fixture takes the thing from the hand; it will be ready after this many steps.
    Add { fixture: usize, timer: u8 },
    /// The hand gets the result of the fixture, which is empty then.
    Serve {
        fixture: usize,
        result: KindId,
        idle: u8,
    },
    /// The thing in the hand is gone.
    Deliver,
    /// The fixture is lit for this many steps.
    Light { fixture: usize, time: u8 },
    /// The thing becomes another.
    Become { into: KindId, keeps: bool },
}

/// Lets an agent act, and returns what it did.
#[inline]
pub(super) fn perform_act<W: GridWorld, C: CogridRules<W>, const COGRID: bool>(
    grid: &Grid<W, C>,
    state: &mut State<W::Extra>,
    seat: usize,
    motion: Motion,
) -> Option<Interaction> {
    let tables = &grid.tables;
    let agent = state.agents[seat];
    let cell = tables.cell_in_front(agent.cell, agent.facing);
    let taken = (0..tables.seats).any(|other| other != seat && state.agents[other].cell == cell);
    if taken {
        return None;
    }
    if COGRID {
        if !C::act(&grid.world, tables, state, seat, cell, motion) && motion == Motion::Reach {
            reach_cogrid(tables, state, seat, cell);
        }
        return None;
    }
    // CoGrid: at an open border, an agent faces its own cell, and may drop its thing there.
    if cell == agent.cell {
        return None;
    }
    if let Some(did) = grid.world.act(tables, state, seat, cell, motion) {
        return Some(did);
    }
    let effect = decide::<_, 0>(tables, state, seat, cell, motion)?;
    Some(apply(tables, state, seat, cell, effect))
}

/// Checks whether an act of an agent would do something if nobody moved.
pub(super) fn would_act<W: GridWorld, C>(
    grid: &Grid<W, C>,
    state: &State<W::Extra>,
    seat: usize,
    motion: Motion,
) -> bool {
    let tables = &grid.tables;
    if tables.is_cogrid() {
        // CoGrid: there are no masks, and even an act that fails may be paid.
        return true;
    }
    let agent = state.agents[seat];
    let cell = tables.cell_in_front(agent.cell, agent.facing);
    if cell == agent.cell || state.done >> seat & 1 == 1 || state.occupied(tables, cell) {
        return false;
    }
    grid.world.may_act(tables, state, seat, cell, motion)
        || decide::<_, 1>(tables, state, seat, cell, motion).is_some()
}

/// Decides the effect of an act `AHEAD` steps from now, when timers have run on.
#[inline]
fn decide<X, const AHEAD: u8>(
    tables: &Tables,
    state: &State<X>,
    seat: usize,
    cell: u16,
    motion: Motion,
) -> Option<Effect> {
    let (held, kind) = (state.agents[seat].held, usize::from(state.kind(cell)) & 63);
    if tables.reach[kind] >> seat & 1 == 0 {
        return None;
    }
    let hand = tables.hands[kind];
    if motion == Motion::Toggle {
        return match hand {
            Hand::Switch(time) => light::<_, AHEAD>(tables, state, cell, held, time),
            Hand::Becomes { with, keeps, into } if with.has(held) => {
                Some(Effect::Become { into, keeps })
            }
            _ => None,
        };
    }
    match hand {
        Hand::Floor => (held != EMPTY).then_some(Effect::Drop),
        Hand::Loose => (held == EMPTY).then_some(Effect::Lift),
        Hand::Collect => Some(Effect::Collect),
        Hand::Surface(accepts) => match (held, state.value(tables, cell)) {
            (EMPTY, EMPTY) => None,
            (EMPTY, _) => Some(Effect::Take),
            (_, EMPTY) if accepts.has(held) => Some(Effect::Place),
            _ => None,
        },
        Hand::Source(gives) => (held == EMPTY).then_some(Effect::Get(gives)),
        Hand::Container(index) => {
            let container = &tables.containers[usize::from(index)];
            reach_container::<_, AHEAD>(tables, state, container, cell, held)
        }
        Hand::Sink(accepts) => (held != EMPTY && accepts.has(held)).then_some(Effect::Deliver),
        Hand::Inert | Hand::Switch(_) | Hand::Becomes { .. } => None,
    }
}

fn light<X, const AHEAD: u8>(
    tables: &Tables,
    state: &State<X>,
    cell: u16,
    held: KindId,
    time: u8,
) -> Option<Effect> {
    let fixture = state.fixture_in(tables, cell)?;
    let dark = state.fixture(tables, fixture).timer() <= AHEAD;
    (dark && held == EMPTY).then_some(Effect::Light { fixture, time })
}

fn reach_container<X, const AHEAD: u8>(
    tables: &Tables,
    state: &State<X>,
    container: &Container,
    cell: u16,
    held: KindId,
) -> Option<Effect> {
    let fixture = state.fixture_in(tables, cell)?;
    let record = state.fixture(tables, fixture);
    if record.count() == record.capacity() && record.timer() <= AHEAD {
        let result = container
            .with
            .has(held)
            .then(|| container.result(record.contents()))??;
        return Some(Effect::Serve {
            fixture,
            result,
            idle: container.idle,
        });
    }
    if held == EMPTY || record.count() >= record.capacity() || !container.accepts.has(held) {
        return None;
    }
    let timer = container.after(record.contents(), held)?;
    Some(Effect::Add { fixture, timer })
}

impl Tables {
    /// The dish that a fixture is making or has made, if it is a container that is full.
    pub fn dish(&self, fixture: Fixture<'_>) -> Option<&Dish> {
        match self.hands[usize::from(fixture.kind()) & 63] {
            Hand::Container(index) => self.containers[usize::from(index)].dish(fixture.contents()),
            _ => None,
        }
    }
}

impl Container {
    /// The dish of complete contents, in any order.
    pub fn dish(&self, contents: &[KindId]) -> Option<&Dish> {
        let (sorted, count) = sorted(contents, None);
        let made = |dish: &&Dish| dish.ingredients == sorted[..count];
        self.dishes.iter().find(made)
    }

    /// The result of complete contents.
    pub fn result(&self, contents: &[KindId]) -> Option<KindId> {
        self.dish(contents).map(|dish| dish.result)
    }

    /// Returns the timer after one more ingredient; `None` if no recipe has these together.
    pub(super) fn after(&self, contents: &[KindId], more: KindId) -> Option<u8> {
        let (sorted, count) = sorted(contents, Some(more));
        let within = |ingredients: &[KindId]| {
            let mut rest = ingredients.iter();
            sorted[..count]
                .iter()
                .all(|kind| rest.any(|other| other == kind))
        };
        let dish = self.dishes.iter().find(|dish| within(&dish.ingredients))?;
        let full = count == usize::from(self.capacity);
        Some(if full { dish.time } else { self.idle })
    }

    /// The same by the rules of CoGrid: together they must begin a sorted recipe.
    fn after_cogrid(&self, contents: &[KindId], more: KindId) -> Option<u8> {
        let (sorted, count) = sorted(contents, Some(more));
        let begins = |dish: &&Dish| dish.ingredients.starts_with(&sorted[..count]);
        let dish = self.dishes.iter().find(begins)?;
        let full = count == usize::from(self.capacity);
        Some(if full { dish.time } else { self.idle })
    }
}

/// Contents in the order of their kinds, and how many.
fn sorted(contents: &[KindId], more: Option<KindId>) -> ([KindId; 9], usize) {
    let mut all = [EMPTY; 9];
    let mut count = 0;
    for &kind in contents.iter().chain(&more).take(all.len()) {
        all[count] = kind;
        count += 1;
    }
    all[..count].sort_unstable();
    (all, count)
}

fn apply<X>(
    tables: &Tables,
    state: &mut State<X>,
    seat: usize,
    cell: u16,
    effect: Effect,
) -> Interaction {
    let (at, held) = (state.kind(cell), state.agents[seat].held);
    let (act, item, now) = match effect {
        Effect::Lift => {
            state.set_kind(cell, EMPTY);
            (Act::Take, at, at)
        }
        Effect::Collect => {
            state.set_kind(cell, EMPTY);
            (Act::Take, at, held)
        }
        Effect::Drop => {
            state.set_kind(cell, held);
            (Act::Drop, held, EMPTY)
        }
        Effect::Take => {
            let lying = state.value(tables, cell);
            state.set_value(tables, cell, EMPTY);
            (Act::Take, lying, lying)
        }
        Effect::Place => {
            state.set_value(tables, cell, held);
            (Act::Place, held, EMPTY)
        }
        Effect::Get(kind) => (Act::Take, kind, kind),
        Effect::Add { fixture, timer } => {
            add(tables, state, fixture, held, timer);
            (Act::Add, held, EMPTY)
        }
        Effect::Serve {
            fixture,
            result,
            idle,
        } => {
            clear(tables, state, fixture, idle);
            (Act::Serve, result, result)
        }
        Effect::Deliver => (Act::Deliver, held, EMPTY),
        Effect::Light { fixture, time } => {
            let place = tables.fixture_place(fixture);
            state.memory[place + TIMER] = time;
            (Act::Toggle, held, held)
        }
        Effect::Become { into, keeps } => {
            state.set_kind(cell, into);
            (Act::Toggle, held, if keeps { held } else { EMPTY })
        }
    };
    state.agents[seat].held = now;
    Interaction {
        seat: seat as u8,
        act,
        item,
        at,
        cell,
    }
}

fn add<X>(tables: &Tables, state: &mut State<X>, fixture: usize, held: KindId, timer: u8) {
    let place = tables.fixture_place(fixture);
    let record = &mut state.memory[place..place + tables.stride];
    let slot = SLOTS + usize::from(record[COUNT]);
    record[slot] = held;
    record[COUNT] += 1;
    record[TIMER] = timer;
}

fn clear<X>(tables: &Tables, state: &mut State<X>, fixture: usize, idle: u8) {
    let place = tables.fixture_place(fixture);
    let record = &mut state.memory[place..place + tables.stride];
    record[SLOTS..].fill(EMPTY);
    (record[COUNT], record[TIMER]) = (0, idle);
}

/// CoGrid: every branch looks at the cell and the hand as they were, and later branches overwrite earlier ones.
///
/// Source: CoGrid 0.3.2, `core/pipeline/interactions.py:690-783`.
fn reach_cogrid<X>(tables: &Tables, state: &mut State<X>, seat: usize, cell: u16) {
    let (at, lying, held) = (
        state.kind(cell),
        state.value(tables, cell),
        state.agents[seat].held,
    );
    let hand = tables.hands[usize::from(at) & 63];
    let container = match hand {
        Hand::Container(index) => Some(&tables.containers[usize::from(index)]),
        _ => None,
    };
    let wired = container.filter(|container| container.kind == tables.wired);
    let mut now = held;
    match hand {
        Hand::Loose if held == EMPTY => {
            state.set_kind(cell, EMPTY);
            state.set_value(tables, cell, EMPTY);
            now = at;
        }
        Hand::Floor if held != EMPTY => {
            state.set_kind(cell, held);
            state.set_value(tables, cell, EMPTY);
            now = EMPTY;
        }
        Hand::Source(gives) if held == EMPTY => now = gives,
        Hand::Surface(_) if held == EMPTY && lying != EMPTY => {
            state.set_value(tables, cell, EMPTY);
            now = lying;
        }
        _ => {}
    }
    if let Some(container) = wired {
        now = reach_wired(tables, state, container, cell, held);
    } else if lying != EMPTY && container.is_some_and(|container| container.with.has(held)) {
        // CoGrid: a container of another kind is a shelf that the next tick sweeps.
        state.set_value(tables, cell, EMPTY);
        now = lying;
    }
    let accepts = match (hand, container) {
        (Hand::Surface(accepts) | Hand::Sink(accepts), _) => accepts,
        (_, Some(container)) if wired.is_none() => container.accepts,
        _ => return state.agents[seat].held = now,
    };
    if held != EMPTY && accepts.has(held) {
        if matches!(hand, Hand::Sink(_)) {
            now = EMPTY;
        }
        if lying == EMPTY {
            // CoGrid: sinks too; the first thing delivered stays, seen and out of reach.
            state.set_value(tables, cell, held);
            now = EMPTY;
        }
    }
    state.agents[seat].held = now;
}

/// Reaches the container that CoGrid has wired, and returns the kind that the hand holds then.
fn reach_wired<X>(
    tables: &Tables,
    state: &mut State<X>,
    container: &Container,
    cell: u16,
    held: KindId,
) -> KindId {
    let Some(fixture) = state.fixture_in(tables, cell) else {
        return held;
    };
    let record = state.fixture(tables, fixture);
    if container.with.has(held)
        && record.count() > 0
        && record.timer() == 0
        && let Some(result) = container.result(record.contents())
    {
        clear(tables, state, fixture, container.idle);
        return result;
    }
    if held != EMPTY
        && container.accepts.has(held)
        && record.count() < record.capacity()
        && let Some(timer) = container.after_cogrid(record.contents(), held)
    {
        add(tables, state, fixture, held, timer);
        return EMPTY;
    }
    held
}
