//! Goal seeking: rewards, maps that are made for each episode, and a playthrough.

use std::collections::{BTreeSet, VecDeque};

use env_core::envs::goal_seeking::{GoalSeeking, Params, World};
use env_core::grid::{Chart, Direction};
use env_core::{Environment, StepOutcome};

use crate::story;

fn rows(rows: &[&str]) -> Chart {
    Chart::Rows(rows.iter().map(|&row| row.into()).collect())
}

#[test]
fn steps_collisions_and_targets_are_paid_to_whom_they_belong() {
    let env = GoalSeeking::new(Params {
        layout: rows(&["######", "#+ A+#", "######"]),
        seats: 2,
        ..Params::default()
    })
    .unwrap();
    let (mut state, mut outcome) = (env.reset(0), StepOutcome::default());
    let mut step = |actions: [u16; 2]| {
        env.step(&mut state, &actions, &mut outcome);
        (
            [outcome.rewards[0], outcome.rewards[1]],
            outcome.terminated,
            outcome.over,
        )
    };
    // Against a wall; into another; nowhere.
    assert_eq!(step([0, 6]), ([-0.01 - 0.05, -0.01], 0, false));
    assert_eq!(step([3, 6]), ([-0.01, -0.01], 0, false));
    let arrived = -0.01 + 1.0;
    assert_eq!(step([3, 6]), ([arrived, -0.01], 1, false));
    // Who is done pays nothing more, and is in the way.
    assert_eq!(step([3, 2]), ([0.0, -0.01 - 0.05], 1, false));
    assert_eq!(env.score(&state), 100);
}

#[test]
fn every_target_counts_for_the_score_in_hundredths() {
    for (value, score) in [(0.75, 75), (0.1, 10), (0.29, 29), (2.5, 250), (-0.5, -50)] {
        let env = GoalSeeking::new(Params {
            layout: rows(&["####", "#+A#", "####"]),
            values: vec![value],
            ..Params::default()
        })
        .unwrap();
        let (mut state, mut outcome) = (env.reset(0), StepOutcome::default());
        env.step(&mut state, &[3], &mut outcome);
        assert_eq!(env.score(&state), score, "{value}");
    }
}

#[test]
fn every_target_of_a_generated_map_can_be_reached_past_the_others() {
    let env = GoalSeeking::new(Params {
        seats: 2,
        ..Params::default()
    })
    .unwrap();
    let tables = env.tables();
    let wall = tables.id("wall").unwrap();
    let mut maps = BTreeSet::new();
    for seed in 0..50 {
        let state = env.reset(seed);
        let mut seen = BTreeSet::from([state.agents[0].cell]);
        let mut queue = VecDeque::from([state.agents[0].cell]);
        while let Some(cell) = queue.pop_front() {
            let free = state.kind(cell) == 0;
            for next in Direction::ALL.map(|direction| tables.cell_in_front(cell, direction)) {
                if free && state.kind(next) != wall && seen.insert(next) {
                    queue.push_back(next);
                }
            }
        }
        let targets = seen.iter().filter(|&&cell| state.kind(cell) != 0).count();
        assert_eq!(targets, 4, "seed {seed}");
        assert!(seen.contains(&state.agents[1].cell));
        let walls = state
            .kinds(tables)
            .iter()
            .filter(|&&kind| kind == wall)
            .count();
        assert_eq!(walls, 40 + 20, "seed {seed}");
        maps.insert(state.kinds(tables).to_vec());
    }
    assert_eq!(maps.len(), 50);
}

#[test]
fn an_agent_sees_where_the_targets_are_and_what_they_are_worth() {
    let env = GoalSeeking::new(Params {
        layout: rows(&["#####", "#B +#", "# A #", "#####"]),
        values: vec![2.0, 0.5, 7.0],
        features: vec!["targets".into()],
        ..Params::default()
    })
    .unwrap();
    let mut seen = [9.0; 9];
    env.observe(&env.reset(0), 0, &mut seen);
    assert_eq!(seen, [1.0, -1.0, 2.0, 0.0, -2.0, 0.5, 0.0, 0.0, 0.0]);
}

#[test]
fn bad_parameters_are_refused_with_their_place() {
    let refused = |json: &str| {
        env_core::envs::build_environment::<GoalSeeking>(json.as_bytes())
            .unwrap_err()
            .to_string()
    };
    assert!(
        refused(r#"{"rules":"cogrid-0.3.2"}"#)
            .starts_with("rules: CoGrid 0.3.2 cannot build this environment")
    );
    assert!(refused(r#"{"values":[]}"#).starts_with("values: needs the values of 1 to 8 targets"));
    assert!(refused(r#"{"map":{"walls":80}}"#).contains("leave room for 76 walls in 81 cells"));
    assert!(refused(r#"{"layout":"maze"}"#).contains("there is no layout `maze`"));
}

#[test]
fn the_playthrough_is_as_recorded() {
    let params = Params {
        seats: 2,
        horizon: 12,
        ..Params::default()
    };
    story::check(
        "goal_seeking",
        &story::tell::<World>(params, 7, &["^^<<vv>>^^..", "vv>>^^<<vv.."]),
    );
}
