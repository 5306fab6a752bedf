//! The examples keep the laws, and do what their page says.

use env_core::conformance::{check, check_batch};
use env_core::grid::{ActionSet, Chart, NoParams};
use env_core::{Instance, World as _};
use example_environments::{
    errands, goal, matrix_game, moving_goal, ported, public_goods, rooms, smithy,
};

#[test]
fn goal_keeps_the_laws() {
    check::<goal::Goal>([NoParams::default()]).unwrap();
}

#[test]
fn a_batch_observes_the_goal_as_a_session_does() {
    check_batch::<goal::Goal>([NoParams::default()]).unwrap();
}

#[test]
fn moving_goal_keeps_the_laws() {
    check_batch::<moving_goal::MovingGoal>([NoParams::default()]).unwrap();
}

#[test]
fn rooms_keep_the_laws() {
    check_batch::<rooms::Rooms>(["key", "gate", "block", "maze"].map(|name| rooms::Params {
        layout: Chart::named(name),
        ..rooms::Params::default()
    }))
    .unwrap();
}

#[test]
fn smithy_keeps_the_laws() {
    check_batch::<smithy::Smithy>([ActionSet::Cardinal, ActionSet::Rotation].map(|actions| {
        smithy::Params {
            actions,
            ..smithy::Params::default()
        }
    }))
    .unwrap();
}

#[test]
fn ported_keeps_the_laws() {
    check_batch::<ported::Ported>([NoParams::default()]).unwrap();
}

#[test]
fn matrix_games_keep_the_laws() {
    let zero_sum = matrix_game::Params {
        choices: ["rock", "paper", "scissors"].map(String::from).into(),
        payoffs: vec![
            vec![0.0, -1.0, 1.0],
            vec![1.0, 0.0, -1.0],
            vec![-1.0, 1.0, 0.0],
        ],
        ..matrix_game::Params::default()
    };
    let of_sexes = matrix_game::Params {
        payoffs: vec![vec![3.0, 0.0], vec![0.0, 2.0]],
        payoffs_second: vec![vec![2.0, 0.0], vec![0.0, 3.0]],
        ..matrix_game::Params::default()
    };
    let of_four = matrix_game::Params {
        seats: 4,
        ..matrix_game::Params::default()
    };
    let games = [matrix_game::Params::default(), zero_sum, of_sexes, of_four];
    check::<matrix_game::MatrixGame>(games).unwrap();
}

#[test]
fn public_goods_keep_the_laws() {
    check::<public_goods::PublicGoods>([2, 4, 16].map(|seats| public_goods::Params {
        seats,
        ..public_goods::Params::default()
    }))
    .unwrap();
}

#[test]
fn errands_keep_the_laws() {
    check::<errands::Errands>([1, 2, 4].map(|seats| errands::Params {
        seats,
        ..errands::Params::default()
    }))
    .unwrap();
}

/// True if an agent is on its way by a directive, as it observes it.
fn is_on_the_way(world: &mut Instance<errands::Errands>) -> bool {
    let mut seen = Vec::new();
    world.observe(0, &mut seen);
    seen[seen.len() - 3..].contains(&1.0)
}

#[test]
fn a_directive_goes_on_until_it_is_done_or_another_action_comes() {
    let params = errands::Params {
        seats: 1,
        ..errands::Params::default()
    };
    let env = env_core::Environment::new(params).unwrap();
    let mut world = Instance::<errands::Errands>::new(env);
    let spec = world.spec().clone();
    let action = |name: &str| {
        let at = spec.actions.iter().position(|action| action.name == name);
        at.unwrap() as u16
    };
    assert!(spec.actions[usize::from(action("go_b"))].directive);
    world.reset(1);
    world.step(&[action("go_b")]);
    let mut steps = 1;
    while is_on_the_way(&mut world) {
        // It is saved and loaded like everything else of the state.
        world.save(0);
        world.step(&[action("move_left")]);
        assert!(!is_on_the_way(&mut world), "another action ends it");
        world.load(0);
        world.step(&[spec.noop]);
        steps += 1;
    }
    // From row 3, column 2 to row 1, column 8.
    assert_eq!(steps, 8);
    let before = world.digest();
    world.step(&[action("go_b")]);
    assert!(!is_on_the_way(&mut world), "who is there has nowhere to go");
    assert_ne!(world.digest(), before, "time goes on");
}

#[test]
fn a_point_on_a_station_is_the_directive_to_go_there() {
    let env = env_core::Environment::new(errands::Params::default()).unwrap();
    let mut world = Instance::<errands::Errands>::new(env);
    world.reset(1);
    let at = |world: &mut Instance<errands::Errands>, x, y| {
        let action = world.point(0, [x, y])?;
        Some(world.spec().actions[usize::from(action)].name.clone())
    };
    assert_eq!(at(&mut world, 7.5, 0.5).as_deref(), Some("go_b"));
    assert_eq!(at(&mut world, 4.1, 4.9).as_deref(), Some("go_c"));
    assert_eq!(at(&mut world, 3.5, 2.5), None);
}

#[test]
fn in_a_matrix_game_of_four_each_plays_against_each_other_one() {
    let params = matrix_game::Params {
        seats: 4,
        ..matrix_game::Params::default()
    };
    let env = env_core::Environment::new(params).unwrap();
    let mut world = Instance::<matrix_game::MatrixGame>::new(env);
    world.reset(1);
    let (cooperate, defect) = (1, 2);
    let outcome = world.step(&[cooperate, cooperate, defect, 0]);
    // 3 from the other who cooperates and nothing from the rest; 5 from each of two; nothing chosen, nothing earned.
    assert_eq!(outcome.rewards[..4], [3.0, 3.0, 10.0, 0.0]);
    assert!(outcome.events.iter().all(|event| event.to.is_none()));
    let (mut words, mut seen) = (String::new(), Vec::new());
    world.describe(2, &mut words);
    assert!(
        words.contains("You chose defect, the others cooperate, cooperate, nothing."),
        "{words}"
    );
    world.observe(2, &mut seen);
    assert_eq!(seen[..8], [2.0, 1.0, 1.0, 0.0, 10.0, 3.0, 3.0, 0.0]);
}
