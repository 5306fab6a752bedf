//! The goal jumps every few steps, hands collect it, and agents see how many they have:
//! a tick, a state, a count and a feature of the world's own.

use env_core::MAX_SEATS;
use env_core::contract::ParamError;
use env_core::draw::Sprite;
use env_core::grid::*;
use serde::{Deserialize, Serialize};

/// The environment.
pub type MovingGoal = Grid<World>;

/// Steps between two jumps.
const JUMPS_EVERY: u32 = 10;

/// The facts that the plan fixes.
#[derive(Debug)]
pub struct World {
    goal: KindId,
}

/// The part of the state beside the grid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Collected {
    /// Goals by seat.
    pub goals: [u16; MAX_SEATS],
}

impl GridWorld for World {
    const ID: &'static str = "moving_goal";
    const VERSION: &'static str = "1.0.0";
    const TITLE: &'static str = "Catch the goal";
    type Params = NoParams;
    type Extra = Collected;

    fn sprites() -> &'static [Sprite] {
        env_core::art![
            "floor_*", "shade_*", "goal", "wall", "robot_*", "torso_*", "hat_*"
        ]
    }

    fn plan(_: &NoParams) -> Result<WorldPlan, ParamError> {
        let goal = || Names::of(&["goal"]);
        let (act, item, at) = (Act::Take, goal(), goal());
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
            horizon: 200,
            kinds: vec![
                Kind::new("goal")
                    .symbol('g')
                    .usage(Use::Collect)
                    .sprite("goal"),
                Kind::new("wall").symbol('#').wall().on("wall"),
            ],
            layout,
            features: ["agent_position", "agent_dir", "collected"]
                .map(Into::into)
                .into(),
            rewards: vec![
                Reward::new("goal", 1.0, When::Does { act, item, at })
                    .own()
                    .scored(),
            ],
            ..WorldPlan::default()
        })
    }

    fn new(_: NoParams, tables: &Tables) -> Result<Self, ParamError> {
        let goal = tables.find_kind("goal", "kinds")?;
        Ok(Self { goal })
    }

    fn start(&self, _: &Tables, _: &mut Draws) -> Collected {
        Collected::default()
    }

    /// After a jump there is one goal, on free floor.
    fn tick(
        &self,
        tables: &Tables,
        state: &mut State<Collected>,
        random: &mut StepDraws,
        _: &mut Pay<'_>,
    ) {
        if state.steps == 0 || !state.steps.is_multiple_of(JUMPS_EVERY) {
            return;
        }
        let cells = || 0..tables.cells as u16;
        if let Some(old) = cells().find(|&cell| state.kind(cell) == self.goal) {
            state.set_kind(old, EMPTY);
        }
        let is_free = |&cell: &u16| state.kind(cell) == EMPTY && !state.occupied(tables, cell);
        let free: Vec<u16> = cells().filter(is_free).collect();
        let chosen = random.choose(&mut state.draws, free.len() as u32);
        state.set_kind(free[chosen as usize], self.goal);
    }

    /// Counts each goal that an agent collects, and pays it as it is declared.
    fn earn(
        &self,
        tables: &Tables,
        state: &mut State<Collected>,
        did: &Interaction,
        pay: &mut Pay<'_>,
    ) {
        state.extra.goals[usize::from(did.seat)] += u16::from(did.at == self.goal);
        pay.declared(tables, did);
    }

    fn feature(&self, _: &Tables, name: &str) -> Option<OwnFeature> {
        (name == "collected").then(|| OwnFeature::agent(&[1]))
    }

    fn observe(&self, _: &Tables, state: &State<Collected>, _: &str, seat: usize, out: &mut [f32]) {
        out[0] = f32::from(state.extra.goals[seat]);
    }

    fn describe(&self, _: &Tables, state: &State<Collected>, seat: usize, out: &mut String) {
        *out += &format!("Goals you have: {}.\n", state.extra.goals[seat]);
    }
}
