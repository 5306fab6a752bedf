//! Goal finding by both sets of rules: the fixes of the corrected ones, and a playthrough by each.

use env_core::envs::goal_finding::{GoalFinding, Params, Rewards, World};
use env_core::grid::{Chart, RuleSet};
use env_core::{Environment, StepOutcome};

use crate::story;

const BOTH: [RuleSet; 2] = [RuleSet::Cogrid, RuleSet::Corrected];

fn rows(rows: &[&str]) -> Chart {
    Chart::Rows(rows.iter().map(|&row| row.into()).collect())
}

/// The rewards and terminations of each step.
fn play(params: Params, play: &[&str]) -> Vec<([f32; 2], u16)> {
    let env = GoalFinding::new(params).unwrap();
    let mut state = env.reset(3);
    let mut outcome = StepOutcome::default();
    (0..play[0].len())
        .map(|step| {
            env.step(&mut state, &story::actions(play, step), &mut outcome);
            ([outcome.rewards[0], outcome.rewards[1]], outcome.terminated)
        })
        .collect()
}

#[test]
fn who_arrives_is_paid_once() {
    let params = |rules| Params {
        rules,
        layout: rows(&["#####", "#+g #", "#  +#", "#####"]),
        ..Params::default()
    };
    let [cogrid, corrected] = BOTH.map(|rules| play(params(rules), &[">..", "..."]));
    // There only the other is paid, a step later, and for every step that the first one stands there.
    assert_eq!(cogrid, [([0.0, 0.0], 1), ([0.0, 1.0], 1), ([0.0, 1.0], 1)]);
    assert_eq!(
        corrected,
        [([1.0, 1.0], 3), ([0.0, 0.0], 0), ([0.0, 0.0], 0)].map(|step| match step {
            // Nothing is left to find, so it is over for both.
            (rewards, 0) => (rewards, 3),
            step => step,
        })
    );
}

#[test]
fn a_goal_that_is_taken_away_is_paid() {
    let params = |rules| Params {
        rules,
        layout: rows(&["######", "#+ g+#", "######"]),
        rewards: Rewards {
            common: false,
            ..Rewards::default()
        },
        ..Params::default()
    };
    let [cogrid, corrected] = BOTH.map(|rules| play(params(rules), &[">x.", "..."]));
    assert_eq!(cogrid, [([0.0, 0.0], 0); 3]);
    assert_eq!(corrected[1], ([1.0, 0.0], 3));
}

#[test]
fn there_is_one_goal_and_it_is_on_free_floor() {
    for rules in BOTH {
        let env = GoalFinding::new(Params {
            rules,
            layout: rows(&["########", "#g    +#", "# #### #", "#     +#", "########"]),
            goal_moves_every: 1,
            ..Params::default()
        })
        .unwrap();
        let goal = env.tables().id("goal").unwrap();
        let mut state = env.reset(0);
        let (mut outcome, mut most, mut under) = (StepOutcome::default(), 0, false);
        for _ in 0..49 {
            env.step(&mut state, &[6, 6], &mut outcome);
            most = most.max(
                state
                    .kinds(env.tables())
                    .iter()
                    .filter(|&&kind| kind == goal)
                    .count(),
            );
            under |= state.agents[..2]
                .iter()
                .any(|agent| state.kind(agent.cell) == goal);
        }
        // There a goal is added at a place that only the clock decides, agents or not, and none is taken away.
        assert_eq!(
            (most > 1, under),
            (rules == RuleSet::Cogrid, rules == RuleSet::Cogrid),
            "{rules:?}"
        );
    }
}

#[test]
fn the_way_of_the_goal_comes_from_the_seed() {
    let places = |rules, seed| {
        let env = GoalFinding::new(Params {
            rules,
            goal_moves_every: 5,
            ..Params::default()
        })
        .unwrap();
        let goal = env.tables().id("goal").unwrap();
        let (mut state, mut outcome) = (env.reset(seed), StepOutcome::default());
        (0..40).for_each(|_| env.step(&mut state, &[6, 6], &mut outcome));
        let kinds = state.kinds(env.tables()).iter();
        kinds.map(|&kind| kind == goal).collect::<Vec<_>>()
    };
    assert_eq!(places(RuleSet::Cogrid, 1), places(RuleSet::Cogrid, 2));
    assert_ne!(places(RuleSet::Corrected, 1), places(RuleSet::Corrected, 2));
}

#[test]
fn bad_parameters_are_refused_with_their_place() {
    let refused = |json: &str| {
        env_core::envs::build_environment::<GoalFinding>(json.as_bytes())
            .unwrap_err()
            .to_string()
    };
    assert!(
        refused(r#"{"layout":"simpel"}"#)
            .starts_with("layout: there is no layout `simpel`; did you mean `simple`?")
    );
    assert!(
        refused(r##"{"layout":["#g#","#"]}"##)
            .starts_with("layout[1]: row 2 has 1 symbols and row 1 has 3")
    );
    assert!(
        refused(r#"{"layout":7}"#)
            .contains("the name of a layout, or its rows as an array of strings")
    );
    assert!(refused(r#"{"seats":0}"#).starts_with("seats: must be 1 to 16"));
    assert!(refused(r#"{"rewards":{"gaol":1}}"#).contains("gaol"));
    let said = refused(r#"{"features":["goals_colected"]}"#);
    assert!(
        said.starts_with(
            "features[0]: there is no feature `goals_colected`; did you mean `goals_collected`?"
        ),
        "{said}"
    );
}

#[test]
fn playthroughs_are_as_recorded() {
    let maze = |rules| Params {
        rules,
        layout: Chart::named("maze"),
        goal_moves_every: 8,
        horizon: 20,
        ..Params::default()
    };
    let told = BOTH.map(|rules| {
        story::tell::<World>(
            maze(rules),
            7,
            &["^^>>^^>>x<<vv>>.....", "<.^^^.>.x..........."],
        )
    });
    story::check("goal_finding", &told.join("\n"));
}
