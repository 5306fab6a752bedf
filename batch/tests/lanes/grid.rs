//! Grids.

use batch::{Autoreset, BatchOptions};
use env_core::Environment as _;
use env_core::contract::ParamError;
use env_core::grid::{
    Act, Draws, Grid, GridWorld, Kind, Layout, Names, OwnFeature, Recipe, Reward, Tables, Use,
    When, WorldPlan,
};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::player::{compare_batches, whole};

/// A kitchen that only declares.
#[derive(Debug)]
struct Kitchen;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Params {
    seats: usize,
    layout: Vec<String>,
    horizon: u32,
    capacity: u8,
    time: u8,
    common: bool,
    features: Vec<String>,
}

/// Features, of which lanes write all but the last.
const FEATURES: [&str; 12] = [
    "agent_dir",
    "inventory",
    "hand",
    "next_to_counter",
    "next_to_pot",
    "ordered_pot_features",
    "agent_position",
    "can_move_direction",
    "masks",
    "ground_masks",
    "corner",
    "closest_onion",
];

/// Every kind of a world.
fn all_kinds(tables: &Tables) -> Vec<u8> {
    (1..=tables.kinds.len() as u8).collect()
}

fn recipe(ingredient: &str, result: &str, params: &Params, time: u8) -> Recipe {
    Recipe {
        ingredients: vec![ingredient.into(); usize::from(params.capacity)],
        result: result.into(),
        time,
    }
}

fn kinds(params: &Params) -> Vec<Kind> {
    let loose = |name, symbol| Kind::new(name).symbol(symbol).usage(Use::Loose);
    let pot = Use::Container {
        capacity: params.capacity,
        with: Names::of(&["plate"]),
        recipes: vec![
            recipe("onion", "onion_soup", params, params.time),
            recipe("tomato", "tomato_soup", params, params.time / 2),
        ],
    };
    vec![
        Kind::new("wall").symbol('#').wall(),
        Kind::new("counter")
            .symbol('C')
            .usage(Use::Surface(Names::Any)),
        Kind::new("table")
            .symbol('A')
            .usage(Use::Surface(Names::Any)),
        loose("onion", 'o'),
        loose("tomato", 't'),
        loose("plate", 'p'),
        loose("onion_soup", 's'),
        loose("tomato_soup", 'm'),
        Kind::new("onion_stack")
            .symbol('O')
            .usage(Use::Source("onion".into())),
        Kind::new("tomato_stack")
            .symbol('T')
            .usage(Use::Source("tomato".into())),
        Kind::new("plate_stack")
            .symbol('=')
            .usage(Use::Source("plate".into())),
        Kind::new("pot").symbol('U').usage(pot),
        Kind::new("zone")
            .symbol('@')
            .usage(Use::Sink(Names::of(&["onion_soup", "tomato_soup"]))),
        Kind::new("bin").symbol('X').usage(Use::Sink(Names::Any)),
    ]
}

impl GridWorld for Kitchen {
    const ID: &'static str = "kitchen";
    const VERSION: &'static str = "1.0.0";
    const TITLE: &'static str = "Kitchen";
    type Params = Params;
    type Extra = ();

    fn params_schema() -> &'static str {
        "{}"
    }

    fn plan(params: &Params) -> Result<WorldPlan, ParamError> {
        let does = |act, item: &[&str], at: Names| When::Does {
            act,
            item: Names::of(item),
            at,
        };
        let at = |name: &str| Names::of(&[name]);
        let soups = ["onion_soup", "tomato_soup"];
        let any = |act| When::Does {
            act,
            item: Names::Any,
            at: Names::Any,
        };
        let mut rewards = vec![
            Reward::new("delivery", 20.1, does(Act::Deliver, &soups, at("zone"))).scored(),
            Reward::new("onion_in_pot", 3.3, does(Act::Add, &["onion"], at("pot"))),
            Reward::new("soup_in_dish", 5.7, does(Act::Serve, &soups, at("pot"))).scored(),
            Reward::new(
                "waste",
                -0.7,
                does(Act::Deliver, &["plate", "onion_soup"], at("bin")),
            )
            .own(),
            Reward::new("lifted", 0.013, any(Act::Take)).own(),
            Reward::new(
                "placed",
                0.017,
                does(Act::Place, &["onion", "plate"], at("table")),
            )
            .scored(),
        ];
        rewards
            .iter_mut()
            .for_each(|reward| reward.common &= params.common);
        Ok(WorldPlan {
            seats: params.seats,
            horizon: params.horizon,
            kinds: kinds(params),
            layout: Layout::Fixed(params.layout.clone()),
            rewards,
            features: params.features.clone(),
            ..WorldPlan::default()
        })
    }

    fn new(_: Params, _: &Tables) -> Result<Self, ParamError> {
        Ok(Self)
    }

    fn feature(&self, tables: &Tables, name: &str) -> Option<OwnFeature> {
        let masks = |lying| OwnFeature::Masks {
            kinds: all_kinds(tables),
            cogrid: [1, 1],
            lying,
        };
        match name {
            "hand" => Some(OwnFeature::Held(all_kinds(tables))),
            "masks" => Some(masks(true)),
            "ground_masks" => Some(masks(false)),
            "corner" => Some(OwnFeature::OneOf { index: 2, len: 5 }),
            _ => None,
        }
    }

    fn start(&self, _: &Tables, _: &mut Draws) {}

    fn is_declared(&self) -> bool {
        true
    }
}

const LAYOUTS: [&[&str]; 5] = [
    &["CCUCC", "O   O", "C   C", "C=C@C"],
    &["CAUAC", "O+p @", "T s+X", "CA=UC"],
    &["#UOU#", "=+ +T", "##@##"],
    &[
        "#######", "#+ o  #", "O  #  @", "U p#  =", "T  t +U", "#AA#CC#",
    ],
    // Never a lane's: it is open.
    &["OU@", "+=+"],
];

/// Plays a room in lanes and one by one, and returns the earnings.
fn compare(params: &Params, options: BatchOptions, seed: u64) -> f32 {
    let grid = || Grid::<Kitchen>::new(params.clone()).unwrap();
    let batches = [
        batch::of_grid(grid(), options),
        batch::of_environment(grid(), whole(options)),
    ];
    // Hands are busier than feet.
    let actions = [0, 1, 2, 3, 4, 4, 4, 5, 6];
    compare_batches(batches.map(Result::unwrap), &actions, 120, seed)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn lanes_equal_single_instances(
        seed: u64, seats in 1..5_usize, layout in 0..LAYOUTS.len(), instances in 14..220_usize, threads in 1..4_usize, mode in 0..3_usize,
        horizon in prop_oneof![1..4_u32, 20..90_u32], capacity in 1..4_u8, time in 0..9_u8, common: bool, in_place: bool,
        features in prop_oneof![1 => 1..1_u32 << 12, 4 => 1..1_u32 << 11],
    ) {
        let layout: Vec<String> = LAYOUTS[layout].iter().map(|&row| row.into()).collect();
        let floor = layout.iter().flat_map(|row| row.chars()).filter(|sign| " +".contains(*sign));
        let seats = seats.min(floor.count());
        let autoreset = [Autoreset::NextStep, Autoreset::SameStep, Autoreset::Disabled][mode];
        let options = BatchOptions { instances, threads, autoreset, in_place };
        let mut features = features_of(features);
        if seats > 1 {
            features.push("dist_to_other_players".into());
        }
        compare(&Params { seats, layout, horizon, capacity, time, common, features }, options, seed);
    }
}

fn features_of(bits: u32) -> Vec<String> {
    let chosen = FEATURES.iter().enumerate();
    let chosen = chosen.filter(|(index, _)| bits >> index & 1 == 1);
    chosen.map(|(_, &name)| name.into()).collect()
}

#[test]
fn lanes_cook_and_deliver() {
    for (seats, layout) in [(1, 2), (2, 2), (3, 3), (4, 3)] {
        let earned = cook(seats, LAYOUTS[layout]);
        assert!(earned > 50.0, "{seats} cooks: {earned}");
    }
}

/// Compares what cooks earn in a room.
fn cook(seats: usize, layout: &[&str]) -> f32 {
    let params = Params {
        seats,
        layout: layout.iter().map(|&row| row.into()).collect(),
        horizon: 100,
        capacity: 1,
        time: 2,
        common: true,
        features: features_of((1 << 11) - 1),
    };
    let options = BatchOptions {
        instances: 130,
        threads: 2,
        ..BatchOptions::default()
    };
    compare(&params, options, 1)
}
