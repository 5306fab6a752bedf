//! Kitchens of the published agents.

use batch::{Autoreset, BatchOptions};
use env_core::Environment as _;
use env_core::envs::overcooked_ai::layouts::named_kitchens;
use env_core::envs::overcooked_ai::{Dialect, Encoding, OvercookedAi, Params};
use proptest::prelude::*;

use super::player::{compare_batches, whole};

const RULES: [Dialect; 6] = [
    Dialect::New,
    Dialect::Old,
    Dialect::Jaxmarl,
    Dialect::Cec,
    Dialect::Neurips2019,
    Dialect::Zsc,
];

/// Up, down, right, left, stay, interact: hands are busier than feet.
const ACTIONS: [u16; 9] = [0, 1, 2, 3, 4, 5, 5, 5, 5];

/// Plays a kitchen in lanes and one by one, and returns the earnings; `None` if there is no such kitchen.
fn compare(params: &Params, options: BatchOptions, steps: usize, seed: u64) -> Option<f32> {
    let kitchen = || OvercookedAi::new(params.clone()).ok();
    let batches = [
        batch::of_kitchen(kitchen()?, options),
        batch::of_environment(kitchen()?, whole(options)),
    ];
    let batches = batches.map(Result::unwrap);
    Some(compare_batches(batches, &ACTIONS, steps, seed))
}

/// The kitchens of an original that it can play itself.
fn playable(rules: Dialect) -> Vec<&'static str> {
    let names = named_kitchens(rules).map(|named| named.name);
    let plays = |name: &&str| {
        let layout = (*name).into();
        let params = Params {
            rules,
            layout,
            ..Params::default()
        };
        OvercookedAi::new(params).is_ok()
    };
    names.filter(plays).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn kitchens_in_lanes_equal_single_instances(
        seed: u64, rules in 0..6_usize, layout in any::<prop::sample::Index>(), encoding in prop::option::of(0..9_usize),
        instances in 14..150_usize, threads in 1..3_usize, mode in 0..3_usize, in_place: bool,
        horizon in prop_oneof![1..4_u32, 20..90_u32], time in prop::option::of(0..9_u16), shaping in 0..3_u8,
    ) {
        let rules = RULES[rules];
        let layouts = playable(rules);
        let autoreset = [Autoreset::NextStep, Autoreset::SameStep, Autoreset::Disabled][mode];
        let params = Params {
            rules,
            layout: layouts[layout.index(layouts.len())].into(),
            observation: encoding.map(|encoding| Encoding::ALL[encoding]).into_iter().collect(),
            horizon,
            cook_time: time.filter(|_| !rules.is_onions_only()),
            shaping: f32::from(shaping) * 0.7,
            ..Params::default()
        };
        let options = BatchOptions { instances, threads, autoreset, in_place };
        // Not every kitchen can be seen in every way, and some have times of their own.
        let plain = Params { observation: Vec::new(), cook_time: None, ..params.clone() };
        let mut earned = [&params, &plain].into_iter().filter_map(|params| compare(params, options, 60, seed));
        prop_assert!(earned.next().is_some(), "{}", params.layout);
    }
}

/// A kitchen in which nobody has far to go.
const SMALL: &str = "WPBW\nOAAX\nO  X\nWWWW";

#[test]
fn kitchens_in_lanes_cook_and_deliver() {
    for rules in RULES {
        let params = Params {
            rules,
            layout: SMALL.into(),
            cook_time: (!rules.is_onions_only()).then_some(3),
            shaping: 0.0,
            ..Params::default()
        };
        let options = BatchOptions {
            instances: 130,
            threads: 2,
            in_place: true,
            ..BatchOptions::default()
        };
        // ZSC-Eval takes points away for soups that nobody ordered.
        let earned = compare(&params, options, 500, 1).unwrap();
        assert!(earned.abs() > 100.0, "{rules:?}: {earned}");
    }
}
