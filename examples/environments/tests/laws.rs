//! The examples keep the laws, and do what their page says.

use env_core::conformance::check;
use env_core::grid::{ActionSet, Chart, NoParams};
use example_environments::{goal, moving_goal, ported, public_goods, rooms, smithy};

#[test]
fn goal_keeps_the_laws() {
    check::<goal::Goal>([NoParams::default()]).unwrap();
}

#[test]
fn moving_goal_keeps_the_laws() {
    check::<moving_goal::MovingGoal>([NoParams::default()]).unwrap();
}

#[test]
fn rooms_keep_the_laws() {
    check::<rooms::Rooms>(["key", "gate", "block", "maze"].map(|name| rooms::Params {
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

#[test]
fn ported_keeps_the_laws() {
    check::<ported::Ported>([NoParams::default()]).unwrap();
}

#[test]
fn public_goods_keep_the_laws() {
    check::<public_goods::PublicGoods>([2, 4, 16].map(|seats| public_goods::Params {
        seats,
        ..public_goods::Params::default()
    }))
    .unwrap();
}
