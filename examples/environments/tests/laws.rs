//! The examples keep the laws, and do what their page says.

use env_core::conformance::{check, check_batch};
use env_core::grid::{ActionSet, Chart, NoParams};
use example_environments::{goal, matrix_game, moving_goal, ported, public_goods, rooms, smithy};

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
    let games = [matrix_game::Params::default(), zero_sum, of_sexes];
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
