//! Goal finding: agents walk to a goal, which may move. The smallest grid world, and a model for others.
//!
//! Source: the tutorials of CoGrid 0.3.2 (`examples/goal_finding.py`, `docs/advanced-patterns.md`).

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::MAX_SEATS;
use crate::contract::ParamError;
use crate::draw::Sprite;
use crate::grid::{
    Act, ActionSet, Appearance, Chart, CogridRules, Draws, EMPTY, Fog, Grid, GridWorld,
    Interaction, Kind, KindId, Layout, Motion, Names, OwnFeature, Pay, Reward, RuleSet, State,
    StepDraws, Tables, When, WorldPlan,
};

/// The environment.
pub type GoalFinding = Grid<World, CogridGoals>;

/// The layouts that have a name.
pub const LAYOUTS: [(&str, &[&str]); 2] = [
    (
        "simple",
        &[
            "#######", "#  g  #", "#     #", "#     #", "#     #", "# +  +#", "#######",
        ],
    ),
    (
        "maze",
        &[
            "#######", "#  g  #", "# # # #", "#     #", "# # # #", "#+ + +#", "#######",
        ],
    ),
];

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Which rules hold.
    pub rules: RuleSet,
    /// Name of a layout, or its rows: `g` goal, `#` wall, `+` start.
    pub layout: Chart,
    /// Number of agents.
    pub seats: u8,
    /// How agents move.
    pub actions: ActionSet,
    /// Steps after which the episode is truncated.
    pub horizon: u32,
    /// Steps per second; 0 for turns.
    pub tick_hz: u16,
    /// Steps between two moves of the goal; 0 for a goal that stays.
    pub goal_moves_every: u32,
    /// The rewards.
    pub rewards: Rewards,
    /// The observation: names of features, in order.
    pub features: Vec<String>,
    /// Cells that `local_view` sees in each direction; `None` for the whole grid.
    pub view_radius: Option<u8>,
    /// Its look and its names; changes no rule, state or observation.
    pub appearance: Appearance,
}

/// The rewards, and who gets them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rewards {
    /// For reaching a goal.
    pub goal: f32,
    /// For taking away the goal in front; nothing by the rules of CoGrid.
    pub collect: f32,
    /// True if every agent gets it, false if only the one that earned it.
    pub common: bool,
}

impl Default for Rewards {
    fn default() -> Self {
        Self {
            goal: 1.0,
            collect: 1.0,
            common: true,
        }
    }
}

impl Default for Params {
    fn default() -> Self {
        let WorldPlan {
            features,
            view_radius,
            tick_hz,
            ..
        } = WorldPlan::default();
        Self {
            rules: RuleSet::default(),
            layout: Chart::named("simple"),
            seats: 2,
            actions: ActionSet::default(),
            horizon: 50,
            tick_hz,
            goal_moves_every: 0,
            rewards: Rewards::default(),
            features,
            view_radius,
            appearance: Appearance::default(),
        }
    }
}

/// The part of the state beside the grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collected {
    /// Goals that each seat took away with its hands.
    pub goals: [u32; MAX_SEATS],
}

/// The rules that the declarations cannot say.
#[derive(Clone, Copy, Debug)]
pub struct World {
    goal: KindId,
    moves_every: u32,
    horizon: u32,
}

impl World {
    fn moves(&self, steps: u32) -> bool {
        steps > 0 && steps.checked_rem(self.moves_every) == Some(0)
    }

    /// Puts every goal of the layout on free floor, drawn evenly.
    fn move_goals(&self, tables: &Tables, state: &mut State<Collected>, random: &mut StepDraws) {
        let ground = tables
            .ground
            .as_ref()
            .map_or(&[][..], |ground| &ground.kinds);
        let is_free =
            |state: &State<_>, cell| state.kind(cell) == EMPTY && !state.occupied(tables, cell);
        let cells = 0..tables.cells as u16;
        let free: Vec<u16> = cells.clone().filter(|&cell| is_free(state, cell)).collect();
        for cell in cells
            .filter(|&cell| state.kind(cell) == self.goal)
            .collect::<Vec<_>>()
        {
            state.set_kind(cell, EMPTY);
        }
        let mut free = free;
        for _ in ground.iter().filter(|&&kind| kind == self.goal) {
            if free.is_empty() {
                return;
            }
            let chosen = random.choose(&mut state.draws, free.len() as u32);
            state.set_kind(free.swap_remove(chosen as usize), self.goal);
        }
    }

    /// Adds another goal at a place that only the clock decides, whatever is there but a wall.
    fn add_goal_cogrid(&self, tables: &Tables, state: &mut State<Collected>) {
        let (row, col) = (
            u64::from(state.steps) * 3 + 1,
            u64::from(state.steps) * 7 + 3,
        );
        let (rows, cols) = (tables.rows as u64, tables.cols as u64);
        let cell = (row % rows * cols + col % cols) as u16;
        if !tables.walls.has(state.kind(cell)) {
            state.set_kind(cell, self.goal);
        }
    }

    fn collect(
        &self,
        state: &mut State<Collected>,
        seat: usize,
        cell: u16,
        motion: Motion,
    ) -> bool {
        let collects = motion == Motion::Reach && state.kind(cell) == self.goal;
        if collects {
            state.set_kind(cell, EMPTY);
            let goals = &mut state.extra.goals[seat];
            *goals = goals.saturating_add(1);
        }
        collects
    }
}

/// The kinds, by the rules of CoGrid with the numbers that they have there.
fn kinds(rules: RuleSet) -> Vec<Kind> {
    let goal = Kind::new("goal")
        .symbol('g')
        .walkable()
        .terminal()
        .sprite("goal");
    let wall = Kind::new("wall").symbol('#').wall().sprite("wall");
    if rules == RuleSet::Corrected {
        return vec![goal, wall];
    }
    vec![
        Kind::new("free_space").walkable(),
        Kind::new("counter").symbol('C').sprite("counter"),
        Kind::new("door").symbol('D').sprite("door_locked"),
        Kind::new("floor").walkable(),
        goal,
        Kind::new("key").symbol('K').sprite("key"),
        wall,
    ]
}

impl GridWorld for World {
    const ID: &'static str = "goal_finding";
    const VERSION: &'static str = "1.0.0";
    const TITLE: &'static str = "Goal finding";
    const TERMINATES: bool = true;

    type Params = Params;
    type Extra = Collected;

    fn params_schema() -> &'static str {
        include_str!("params.schema.json")
    }

    fn sprites() -> &'static [Sprite] {
        crate::art![
            "floor_light",
            "goal",
            "wall",
            "counter",
            "door_locked",
            "key",
            "robot_*",
            "torso_*",
            "hat_*",
            "shade_*",
        ]
    }

    fn plan(params: &Params) -> Result<WorldPlan, ParamError> {
        let Rewards {
            goal,
            collect,
            common,
        } = params.rewards;
        let goals = || Names::of(&["goal"]);
        let took = When::Does {
            act: Act::Take,
            item: goals(),
            at: goals(),
        };
        let mut rewards = vec![Reward::new("goal", goal, When::Stands(goals())).scored()];
        if params.rules == RuleSet::Corrected {
            rewards.push(Reward::new("collect", collect, took).scored());
        }
        rewards.iter_mut().for_each(|reward| reward.common = common);
        Ok(WorldPlan {
            title: None,
            rules: params.rules,
            seats: params.seats.into(),
            actions: params.actions,
            horizon: params.horizon,
            tick_hz: params.tick_hz,
            kinds: kinds(params.rules),
            layout: Layout::Fixed(params.layout.rows(&LAYOUTS)?),
            features: params.features.clone(),
            view_radius: params.view_radius,
            fog: Fog::default(),
            rewards,
            figures: None,
            appearance: params.appearance.clone(),
        })
    }

    fn new(params: Params, tables: &Tables) -> Result<Self, ParamError> {
        Ok(Self {
            goal: tables.find_kind("goal", "kinds")?,
            moves_every: params.goal_moves_every,
            horizon: params.horizon,
        })
    }

    fn start(&self, _tables: &Tables, _draws: &mut Draws) -> Collected {
        Collected::default()
    }

    fn tick(
        &self,
        tables: &Tables,
        state: &mut State<Collected>,
        random: &mut StepDraws,
        _pay: &mut Pay<'_>,
    ) {
        if self.moves(state.steps) {
            if tables.is_cogrid() {
                self.add_goal_cogrid(tables, state);
            } else {
                self.move_goals(tables, state, random);
            }
        }
    }

    fn act(
        &self,
        _tables: &Tables,
        state: &mut State<Collected>,
        seat: usize,
        cell: u16,
        motion: Motion,
    ) -> Option<Interaction> {
        self.collect(state, seat, cell, motion)
            .then_some(Interaction {
                seat: seat as u8,
                act: Act::Take,
                item: self.goal,
                at: self.goal,
                cell,
            })
    }

    fn may_act(
        &self,
        _tables: &Tables,
        state: &State<Collected>,
        _seat: usize,
        cell: u16,
        motion: Motion,
    ) -> bool {
        motion == Motion::Reach && state.kind(cell) == self.goal
    }

    fn reward_bounds(&self, tables: &Tables, reward: usize) -> Option<[f64; 2]> {
        tables.declared_bounds(reward)
    }

    fn terminated(&self, tables: &Tables, state: &State<Collected>, seat: usize) -> bool {
        if tables.terminal.has(state.kind(state.agents[seat].cell)) {
            return true;
        }
        // CoGrid: the others continue without a goal that they could reach.
        let mut goals = (0..tables.cells as u16).filter(|&cell| state.kind(cell) == self.goal);
        !tables.is_cogrid()
            && self.moves_every == 0
            && goals.all(|cell| state.occupied(tables, cell))
    }

    fn feature(&self, _tables: &Tables, name: &str) -> Option<OwnFeature> {
        (name == "goals_collected").then(|| OwnFeature::agent(&[1]))
    }

    fn features() -> &'static [&'static str] {
        &["goals_collected"]
    }

    /// An agent takes one goal away in a step.
    fn feature_range(&self, _tables: &Tables, _name: &str) -> Option<[f32; 2]> {
        Some([0.0, self.horizon as f32])
    }

    fn observe(
        &self,
        _tables: &Tables,
        state: &State<Collected>,
        _name: &str,
        seat: usize,
        out: &mut [f32],
    ) {
        out[0] = state.extra.goals[seat] as f32;
    }

    fn is_of_use(&self, motion: Motion) -> bool {
        motion != Motion::Toggle
    }

    fn describe(&self, _tables: &Tables, state: &State<Collected>, seat: usize, out: &mut String) {
        // Writing into a String cannot fail.
        let _ = writeln!(out, "Goals you took away: {}.", state.extra.goals[seat]);
    }
}

/// The acts by the rules of CoGrid: agents collect goals, and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CogridGoals;

impl CogridRules<World> for CogridGoals {
    fn act(
        world: &World,
        _tables: &Tables,
        state: &mut State<Collected>,
        seat: usize,
        cell: u16,
        motion: Motion,
    ) -> bool {
        world.collect(state, seat, cell, motion);
        // CoGrid: a world with its own acts has no others.
        true
    }
}
