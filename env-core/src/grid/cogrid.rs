//! The rules of CoGrid for worlds with their own rules: acts that the declared uses do not say, and pay for attempted
//! acts.
//!
//! Only a world that plays recordings of CoGrid needs this. Its environment is `Grid<World, RuleSet>`; a `Grid<World>`
//! plays what it declares by either set of rules.

use core::fmt::Debug;

use super::GridWorld;
use super::kind::KindId;
use super::motion::Motion;
use super::reward::{Act, CompiledWhen, Pay};
use super::state::{Direction, State};
use super::tables::Tables;
use crate::contract::{Action, MAX_SEATS};

/// The rules of a world by [`super::RuleSet::Cogrid`] that its plan does not declare.
pub trait CogridRules<W: GridWorld>: Debug + Send + Sync + 'static {
    /// Lets an agent act, before the declared uses; returns true if nothing else must be tried. Nobody stands in
    /// `cell`.
    fn act(
        _world: &W,
        _tables: &Tables,
        _state: &mut State<W::Extra>,
        _seat: usize,
        _cell: u16,
        _motion: Motion,
    ) -> bool {
        false
    }

    /// Pays at the end of the step: by default the declared rewards.
    /// `sights` is what each seat faced before the step, `before` the extra state as it was then.
    fn earn(
        _world: &W,
        tables: &Tables,
        _state: &mut State<W::Extra>,
        sights: &[Sight],
        _before: &W::Extra,
        pay: &mut Pay<'_>,
    ) {
        earn_declared(tables, sights, pay);
    }
}

/// The rules of a world that does what it declares, and nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Declared;

impl<W: GridWorld> CogridRules<W> for Declared {}

/// The view and the attempt of an agent before the step, which the rewards of CoGrid look at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sight {
    /// True if it tried to pick up or drop.
    pub reaches: bool,
    /// The kind that it held.
    pub held: KindId,
    /// Where it looked.
    pub facing: Direction,
    /// The kind that it faced; `None` outside the grid.
    pub at: Option<KindId>,
    /// The kind that it stood on.
    pub on: KindId,
    /// Contents of the container that it faced, in order of arrival.
    pub contents: [KindId; 8],
    /// The number of contents; `None` if it faced no container.
    pub count: Option<u8>,
    /// The timer of that container.
    pub timer: u8,
}

impl Sight {
    /// The contents of the container that it faced.
    pub fn contents(&self) -> &[KindId] {
        &self.contents[..usize::from(self.count.unwrap_or(0)).min(8)]
    }
}

/// Records the view and the attempt of each agent before the step.
#[inline]
pub(super) fn record_sights<X>(
    tables: &Tables,
    state: &State<X>,
    actions: &[Action],
) -> [Sight; MAX_SEATS] {
    let mut sights = [Sight::default(); MAX_SEATS];
    for (seat, sight) in sights[..tables.seats].iter_mut().enumerate() {
        let agent = state.agents[seat];
        let front = tables.cell_in_front(agent.cell, agent.facing);
        *sight = Sight {
            reaches: tables.motion_of(actions, seat) == Motion::Reach,
            held: agent.held,
            facing: agent.facing,
            at: (front != agent.cell).then(|| state.kind(front)),
            on: state.kind(agent.cell),
            ..Sight::default()
        };
        if let Some(index) = state
            .fixture_in(tables, front)
            .filter(|_| front != agent.cell)
        {
            let fixture = state.fixture(tables, index);
            let contents: &[KindId] = fixture.contents();
            sight.contents[..contents.len()].copy_from_slice(contents);
            (sight.count, sight.timer) = (Some(fixture.count()), fixture.timer());
        }
    }
    sights
}

/// Pays the declared rewards by the state before the step, whatever the act achieved.
#[inline]
fn earn_declared(tables: &Tables, sights: &[Sight], pay: &mut Pay<'_>) {
    for (index, paid) in tables.rewards.iter().enumerate() {
        for (seat, sight) in sights.iter().enumerate() {
            let due = match paid.due {
                CompiledWhen::Does {
                    act: Act::Toggle, ..
                }
                | CompiledWhen::Own => false,
                CompiledWhen::Does { item, at, .. } => {
                    sight.reaches
                        && item.has(sight.held)
                        && sight.at.is_some_and(|kind| at.has(kind))
                }
                CompiledWhen::Stands(on) => on.has(sight.on),
            };
            if due && paid.is_for(sight.facing) {
                pay.give(tables, index, seat as u8, paid.worth);
            }
        }
    }
}
