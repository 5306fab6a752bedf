//! The examples keep the laws, and do what their page says.

use env_core::conformance::check;
use env_core::grid::{ActionSet, Chart};
use example_environments::{goal, moving_goal, rooms, smithy};

#[test]
fn goal_keeps_the_laws() {
    check::<goal::Goal>([goal::Params::default()]).unwrap();
}

#[test]
fn moving_goal_keeps_the_laws() {
    check::<moving_goal::MovingGoal>([1, 2, 16].map(|seats| moving_goal::Params {
        seats,
        ..moving_goal::Params::default()
    }))
    .unwrap();
}

#[test]
fn rooms_keep_the_laws() {
    check::<rooms::Rooms>(["key", "gate", "maze"].map(|name| rooms::Params {
        layout: Chart::named(name),
        ..rooms::Params::default()
    }))
    .unwrap();
}

#[test]
fn smithy_keeps_the_laws() {
    check::<smithy::Smithy>([ActionSet::Cardinal, ActionSet::Rotation].map(|actions| {
        smithy::Params {
            actions,
            ..smithy::Params::default()
        }
    }))
    .unwrap();
}
