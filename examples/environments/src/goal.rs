//! Two agents look for a goal. Whoever stands on it is done, and both are paid.

use env_core::contract::ParamError;
use env_core::grid::*;

/// The environment.
pub type Goal = Grid<World>;

/// No rules but those that are declared.
#[derive(Debug)]
pub struct World;

impl GridWorld for World {
    const ID: &'static str = "goal";
    const VERSION: &'static str = "1.0.0";
    const TITLE: &'static str = "Find the goal";
    type Params = NoParams;
    type Extra = ();

    fn plan(_: &NoParams) -> Result<WorldPlan, ParamError> {
        let on_goal = When::Stands(Names::of(&["goal"]));
        #[rustfmt::skip]
        let layout = Layout::fixed(&[
            "#######",
            "#  g  #",
            "# # # #",
            "#     #",
            "# # # #",
            "#+ + +#",
            "#######",
        ]);
        Ok(WorldPlan {
            horizon: 50,
            kinds: vec![
                Kind::new("goal")
                    .symbol('g')
                    .walkable()
                    .terminal()
                    .color(0x2e9e_58ff),
                Kind::new("wall").symbol('#').wall(),
            ],
            layout,
            rewards: vec![Reward::new("goal", 1.0, on_goal).scored()],
            ..WorldPlan::default()
        })
    }

    fn new(_: NoParams, _: &Tables) -> Result<Self, ParamError> {
        Ok(Self)
    }

    fn start(&self, _: &Tables, _: &mut Draws) {}
}
