//! A reward that asks where the agent looks.

use env_core::contract::ParamError;
use env_core::grid::{
    Act, Draws, Grid, GridWorld, Kind, Layout, Names, Reward, RuleSet, Tables, Use, When, WorldPlan,
};
use env_core::{Environment, StepOutcome};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Params {
    rules: RuleSet,
}

#[derive(Debug)]
struct Shelf;

impl GridWorld for Shelf {
    const ID: &'static str = "shelf";
    const VERSION: &'static str = "1.0.0";
    const TITLE: &'static str = "Shelf";
    type Params = Params;
    type Extra = ();

    fn plan(params: &Params) -> Result<WorldPlan, ParamError> {
        let taken = When::Does {
            act: Act::Take,
            // By the rules of CoGrid it is the hand before the step that counts.
            item: match params.rules {
                RuleSet::Cogrid => Names::EmptyHand,
                RuleSet::Corrected => Names::Any,
            },
            at: Names::Any,
        };
        Ok(WorldPlan {
            rules: params.rules,
            seats: 1,
            kinds: vec![
                Kind::new("book").usage(Use::Loose),
                Kind::new("shelf")
                    .symbol('S')
                    .usage(Use::Source("book".into())),
            ],
            layout: Layout::fixed(&["S+S"]),
            rewards: vec![
                Reward::new("right", 2.0, taken).facing(env_core::grid::Direction::Right),
            ],
            ..WorldPlan::default()
        })
    }

    fn new(_: Params, _: &Tables) -> Result<Self, ParamError> {
        Ok(Self)
    }

    fn start(&self, _: &Tables, _: &mut Draws) {}
}

#[test]
fn only_an_agent_that_looks_there_is_paid() {
    const LEFT: u16 = 2;
    const RIGHT: u16 = 3;
    const TAKE: u16 = 4;
    for rules in [RuleSet::Corrected, RuleSet::Cogrid] {
        let env = Grid::<Shelf>::new(Params { rules }).unwrap();
        for (turn, paid) in [(LEFT, 0.0), (RIGHT, 2.0)] {
            let (mut state, mut outcome) = (env.reset(1), StepOutcome::default());
            env.step(&mut state, &[turn], &mut outcome);
            env.step(&mut state, &[TAKE], &mut outcome);
            assert!(state.agents[0].held != 0, "the book is taken either way");
            assert_eq!(outcome.rewards[0], paid, "{rules:?} {turn}");
        }
    }
}
