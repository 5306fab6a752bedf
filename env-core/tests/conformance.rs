//! Every environment keeps the laws, with every kind of parameters.

use env_core::conformance::check;
use env_core::envs::overcooked::kitchen::Layout;
use env_core::envs::overcooked::{Overcooked, Params, Rules};

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
