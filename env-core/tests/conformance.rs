//! Every environment keeps the laws, with every kind of parameters.

use env_core::conformance::check;
use env_core::envs::goal_finding::{self, GoalFinding};
use env_core::envs::overcooked::kitchen::Layout;
use env_core::envs::overcooked::{Overcooked, Params, Rules};
use env_core::grid;

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
        ..goal_finding::Params::default()
    }))
    .unwrap();
}
