//! Every environment keeps the laws, with every kind of parameters.

use env_core::conformance::check;
use env_core::envs::goal_finding::{self, GoalFinding};
use env_core::envs::goal_seeking::{self, GoalSeeking};
use env_core::envs::overcooked::kitchen::Layout;
use env_core::envs::overcooked::{Overcooked, Params, Rules};
use env_core::envs::search_rescue::{self, SearchRescue};
use env_core::grid::{self, Chart};

#[test]
fn overcooked_keeps_the_laws() {
    let kinds = Layout::ALL
        .into_iter()
        .flat_map(|layout| [Rules::Cogrid, Rules::Corrected].map(|rules| (layout, rules)));
    check::<Overcooked>(kinds.map(|(layout, rules)| Params {
        layout,
        rules,
        horizon: 150,
        ..Params::default()
    }))
    .unwrap();
}

#[test]
fn goal_finding_keeps_the_laws() {
    let kinds = [grid::Rules::Cogrid, grid::Rules::Corrected]
        .into_iter()
        .flat_map(|rules| [(rules, 0), (rules, 3)]);
    check::<GoalFinding>(kinds.map(|(rules, goal_moves_every)| goal_finding::Params {
        rules,
        goal_moves_every,
        features: ["agent_position", "goals_collected"].map(Into::into).into(),
        ..goal_finding::Params::default()
    }))
    .unwrap();
}

#[test]
fn goal_seeking_keeps_the_laws() {
    check::<GoalSeeking>([1, 3].map(|seats| goal_seeking::Params {
        seats,
        ..goal_seeking::Params::default()
    }))
    .unwrap();
}

#[test]
fn search_rescue_keeps_the_laws() {
    let kinds = [
        (grid::Rules::Cogrid, "test", 2),
        (grid::Rules::Corrected, "test", 2),
        (grid::Rules::Corrected, "two_rooms", 3),
        (grid::Rules::Corrected, search_rescue::GENERATED, 4),
    ];
    check::<SearchRescue>(kinds.map(|(rules, layout, seats)| search_rescue::Params {
        rules,
        layout: Chart::named(layout),
        seats,
        roles: vec![search_rescue::Role::Medic],
        horizon: 300,
        ..search_rescue::Params::default()
    }))
    .unwrap();
}
