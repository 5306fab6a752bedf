//! CoGrid's goal-finding example in Rust: `docs/porting.md` walks through it line by line.

use env_core::contract::ParamError;
use env_core::grid::*;

/// The environment.
pub type Ported = Grid<World>;

/// No rules but those that are declared.
#[derive(Debug)]
pub struct World;

/// The ground: `#` wall, `+` start, `g` goal.
#[rustfmt::skip]
const LAYOUT: [&str; 7] = [
    "#######",
    "#  g  #",
    "#     #",
    "#     #",
    "#     #",
    "# +  +#",
    "#######",
];

impl GridWorld for World {
    const ID: &'static str = "ported_goal";
    const VERSION: &'static str = "1.0.0";
    const TITLE: &'static str = "Find the goal";
    type Params = NoParams;
    type Extra = ();

    fn plan(_: &NoParams) -> Result<WorldPlan, ParamError> {
        let goal = Kind::new("goal")
            .symbol('g')
            .color(0x2e9e_58ff)
            .walkable()
            .terminal()
            .usage(Use::Collect);
        let on_goal = When::Stands(Names::of(&["goal"]));
        Ok(WorldPlan {
            seats: 2,
            actions: ActionSet::Cardinal,
            horizon: 50,
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
            ..WorldPlan::default()
        })
    }

    fn new(_: NoParams, _: &Tables) -> Result<Self, ParamError> {
        Ok(Self)
    }

    fn start(&self, _: &Tables, _: &mut Draws) {}
}
