//! Kitchens of JaxMARL's Overcooked V2.

use batch::{Autoreset, BatchOptions};
use env_core::Environment as _;
use env_core::envs::overcooked_jaxmarl_v2::{LAYOUTS, OvercookedJaxmarlV2, Params};
use env_core::grid::Chart;
use proptest::prelude::*;

use super::player::{compare_batches, whole};

/// Right, down, left, up, stay, interact: hands are busier than feet.
const ACTIONS: [u16; 9] = [0, 1, 2, 3, 4, 5, 5, 5, 5];

/// Kitchens where three or four cooks follow each other, turn in a ring, and are in each other's way.
const CROWDED: [&[&str]; 3] = [
    &["WWWWWW", "0AAA W", "WWPWXB", "WWRWWW"],
    &["WPWW", "0AAW", "WAAX", "WBRW"],
    &["WWPWWW", "1A A W", "0 A AX", "WBLRWW"],
];

/// Plays a kitchen in lanes and one by one, and returns the earnings.
fn compare(params: &Params, options: BatchOptions, steps: usize, seed: u64) -> f32 {
    let kitchen = || OvercookedJaxmarlV2::new(params.clone()).unwrap();
    let batches = [
        batch::of_kitchen_v2(kitchen(), options),
        batch::of_environment(kitchen(), whole(options)),
    ];
    compare_batches(batches.map(Result::unwrap), &ACTIONS, steps, seed)
}

/// The layout of a crowded kitchen.
fn crowded(number: usize) -> Chart {
    let rows = CROWDED[number % CROWDED.len()];
    Chart::Rows(rows.iter().map(|&row| row.into()).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn kitchens_of_v2_in_lanes_equal_single_instances(
        seed: u64, layout in any::<prop::sample::Index>(), instances in 14..150_usize, threads in 1..3_usize, mode in 0..3_usize,
        in_place: bool, horizon in prop_oneof![1..4_u32, 20..90_u32], switches: u8, shaping in 0..3_u8,
    ) {
        let autoreset = [Autoreset::NextStep, Autoreset::SameStep, Autoreset::Disabled][mode];
        let is_on = |bit: u8| switches >> bit & 1 == 1;
        let number = layout.index(LAYOUTS.len() + 2 * CROWDED.len());
        let params = Params {
            layout: match LAYOUTS.get(number) {
                Some(layout) => Chart::named(layout.name),
                None => crowded(number - LAYOUTS.len()),
            },
            view_radius: (switches >> 6 == 3).then_some(2),
            start_cooking_interaction: is_on(0),
            negative_rewards: is_on(1),
            sample_recipe_on_delivery: is_on(2),
            indicate_successful_delivery: is_on(3),
            random_agent_positions: is_on(4),
            random_reset: is_on(5),
            shaping: f32::from(shaping) * 0.7,
            horizon,
            ..Params::default()
        };
        let options = BatchOptions { instances, threads, autoreset, in_place };
        compare(&params, options, 60, seed);
    }
}

#[test]
fn crowds_of_v2_in_lanes_equal_single_instances() {
    for number in 0..CROWDED.len() {
        let params = Params {
            layout: crowded(number),
            shaping: 1.0,
            ..Params::default()
        };
        let options = BatchOptions {
            instances: 130,
            threads: 2,
            ..BatchOptions::default()
        };
        let earned = compare(&params, options, 500, 2);
        assert!(earned.abs() > 0.0, "{number}");
    }
}

#[test]
fn kitchens_of_v2_in_lanes_cook_and_deliver() {
    let params = Params {
        layout: Chart::Rows(["WPBW", "OAAX", "1 LX", "WRWW"].map(Into::into).to_vec()),
        start_cooking_interaction: true,
        negative_rewards: true,
        sample_recipe_on_delivery: true,
        indicate_successful_delivery: true,
        ..Params::default()
    };
    let options = BatchOptions {
        instances: 130,
        threads: 2,
        in_place: true,
        ..BatchOptions::default()
    };
    let earned = compare(&params, options, 500, 1);
    assert!(earned.abs() > 100.0, "{earned}");
}
