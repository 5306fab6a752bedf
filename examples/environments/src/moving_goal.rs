//! The goal jumps every few steps, hands can collect it, and agents see how many they have:
//! a tick, an act, a state and a feature of the world's own.

use env_core::MAX_SEATS;
use env_core::contract::{FieldSpec, ParamError};
use env_core::draw::Sprite;
use env_core::grid::{
    Act, Did, Draws, EMPTY, Grid, GridWorld, Kind, KindId, Layout, Luck, Motion, Names, Pay, Plan,
    Reward, State, Tables, When,
};
use serde::{Deserialize, Serialize};

/// The environment.
pub type MovingGoal = Grid<World>;

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Steps between two jumps.
    pub jumps_every: u32,
    /// Number of agents.
    pub seats: usize,
}

impl Default for Params {
    fn default() -> Self {
        let (jumps_every, seats) = (10, 2);
        Self { jumps_every, seats }
    }
}

/// What the parameters fix.
#[derive(Debug)]
pub struct World {
    goal: KindId,
    jumps_every: u32,
}

/// What the state has beside the grid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Collected {
    /// Goals by seat.
    pub goals: [u16; MAX_SEATS],
}

impl GridWorld for World {
    const ID: &'static str = "moving_goal";
    const VERSION: &'static str = "1.0.0";
    const TITLE: &'static str = "Catch the goal";
    type Params = Params;
    type Extra = Collected;

    fn sprites() -> &'static [Sprite] {
        env_core::art![
            "floor_*", "shade_*", "goal", "wall", "robot_*", "torso_*", "hat_*"
        ]
    }

    fn plan(params: &Params) -> Result<Plan, ParamError> {
        let (act, item, at) = (Act::Take, Names::Any, Names::of(&["goal"]));
        Ok(Plan {
            seats: params.seats,
            horizon: 200,
            kinds: vec![
                Kind::new("goal").symbol('g').sprite("goal"),
                Kind::new("wall").symbol('#').wall().sprite("wall"),
            ],
            layout: Layout::fixed(&[
                "#######", "#  g  #", "# # # #", "#     #", "# # # #", "#+ + +#", "#######",
            ]),
            features: ["agent_position", "agent_dir", "collected"]
                .map(Into::into)
                .into(),
            rewards: vec![
                Reward::new("goal", 1.0, When::Does { act, item, at })
                    .own()
                    .scored(),
            ],
            ..Plan::default()
        })
    }

    fn new(params: Params, tables: &Tables) -> Result<Self, ParamError> {
        Ok(Self {
            goal: tables.named("goal", "kinds")?,
            jumps_every: params.jumps_every.max(1),
        })
    }

    fn start(&self, _: &Tables, _: &mut Draws) -> Collected {
        Collected::default()
    }

    /// At a jump there is one goal, on free floor.
    fn tick(
        &self,
        tables: &Tables,
        state: &mut State<Collected>,
        luck: &mut Luck,
        _: &mut Pay<'_>,
    ) {
        if state.steps == 0 || !state.steps.is_multiple_of(self.jumps_every) {
            return;
        }
        let cells = || 0..tables.cells as u16;
        if let Some(old) = cells().find(|&cell| state.kind(cell) == self.goal) {
            state.set_kind(old, EMPTY);
        }
        let is_free = |&cell: &u16| state.kind(cell) == EMPTY && !state.occupied(tables, cell);
        let free: Vec<u16> = cells().filter(is_free).collect();
        let chosen = luck.choose(&mut state.draws, free.len() as u32);
        if let Some(&cell) = free.get(chosen as usize) {
            state.set_kind(cell, self.goal);
        }
    }

    /// Hands take the goal away, and hold nothing for it.
    fn act(
        &self,
        tables: &Tables,
        state: &mut State<Collected>,
        seat: usize,
        cell: u16,
        motion: Motion,
    ) -> Option<Did> {
        if !self.may_act(tables, state, seat, cell, motion) {
            return None;
        }
        state.set_kind(cell, EMPTY);
        state.extra.goals[seat] += 1;
        Some(Did {
            seat: seat as u8,
            act: Act::Take,
            item: self.goal,
            at: self.goal,
            cell,
        })
    }

    fn may_act(
        &self,
        _: &Tables,
        state: &State<Collected>,
        _: usize,
        cell: u16,
        motion: Motion,
    ) -> bool {
        motion == Motion::Reach && state.kind(cell) == self.goal
    }

    fn feature(&self, _: &Tables, name: &str) -> Option<FieldSpec> {
        let (name, shape) = ((name == "collected").then(|| name.into())?, vec![1]);
        Some(FieldSpec { name, shape })
    }

    fn observe(&self, _: &Tables, state: &State<Collected>, _: &str, seat: usize, out: &mut [f32]) {
        out[0] = f32::from(state.extra.goals[seat]);
    }

    fn describe(&self, _: &Tables, state: &State<Collected>, seat: usize, out: &mut String) {
        *out += &format!("Goals you have: {}.\n", state.extra.goals[seat]);
    }
}
