//! CoGrid's goal-finding example in Rust: `docs/porting.md` walks through it line by line.

use env_core::contract::ParamError;
use env_core::grid::*;
use serde::{Deserialize, Serialize};

/// The environment.
pub type Ported = Grid<World>;

/// No rules but those that are declared.
#[derive(Debug)]
pub struct World;

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Number of agents.
    pub seats: usize,
    /// Steps after which the episode is truncated.
    pub horizon: u32,
}

impl Default for Params {
    fn default() -> Self {
        let (seats, horizon) = (2, 50);
        Self { seats, horizon }
    }
}

/// The ground: `#` wall, `+` start, `g` goal.
const LAYOUT: [&str; 7] = [
    "#######", "#  g  #", "#     #", "#     #", "#     #", "# +  +#", "#######",
];

impl GridWorld for World {
    const ID: &'static str = "ported_goal";
    const VERSION: &'static str = "1.0.0";
    const TITLE: &'static str = "Find the goal";
    type Params = Params;
    type Extra = ();

    fn plan(params: &Params) -> Result<Plan, ParamError> {
        let goal = Kind::new("goal")
            .symbol('g')
            .color(0x2e9e_58ff)
            .walkable()
            .terminal()
            .usage(Use::Collect);
        let on_goal = When::Stands(Names::of(&["goal"]));
        Ok(Plan {
            seats: params.seats,
            actions: ActionSet::Cardinal,
            horizon: params.horizon,
            kinds: vec![goal, Kind::new("wall").symbol('#').wall()],
            layout: Layout::fixed(&LAYOUT),
            features: [
                "agent_dir",
                "agent_position",
                "can_move_direction",
                "inventory",
            ]
            .map(Into::into)
            .into(),
            rewards: vec![Reward::new("goal", 1.0, on_goal).scored()],
            ..Plan::default()
        })
    }

    fn new(_: Params, _: &Tables) -> Result<Self, ParamError> {
        Ok(Self)
    }

    fn start(&self, _: &Tables, _: &mut Draws) {}
}
