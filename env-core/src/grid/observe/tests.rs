//! Every feature against states made by hand, and the laws in random play.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::contract::{Environment, ParamError, StepOutcome};
use crate::envs::kitchen::MAX_ORDERS;
use crate::envs::kitchen::features::{KitchenFacts, KitchenFeatures, KitchenNow, ShownOrder};
use crate::grid::state::SLOTS;
use crate::grid::state::{COUNT, TIMER};
use crate::grid::{
    Direction, Draws, Grid, GridWorld, Kind, KindId, KindSet, Layout, Names, OwnFeature, Recipe,
    RuleSet, State, Tables, Use, WorldPlan,
};
use crate::observer::BatchObserver as _;
use crate::rng::Rng;

mod laws;
mod world;

use world::{Extra, Params, World};

/// The kinds of CoGrid's first kitchen, in its order.
const KINDS: [&str; 18] = [
    "free_space",
    "counter",
    "door",
    "floor",
    "key",
    "wall",
    "delivery_zone",
    "onion",
    "onion_soup",
    "onion_soup_stack",
    "onion_stack",
    "plate",
    "plate_stack",
    "pot",
    "tomato",
    "tomato_soup",
    "tomato_soup_stack",
    "tomato_stack",
];
const COUNTER: KindId = 2;
const ONION: KindId = 8;
const ONION_SOUP: KindId = 9;
const PLATE: KindId = 12;
const TOMATO: KindId = 15;

/// Every feature that a kitchen with orders has.
const ALL: [&str; 19] = [
    "agent_dir",
    "agent_position",
    "can_move_direction",
    "inventory",
    "overcooked_inventory",
    "next_to_counter",
    "next_to_pot",
    "ordered_pot_features",
    "dist_to_other_players",
    "steps_done",
    "closest_onion",
    "closest_counter",
    "closest_objects",
    "local_view",
    "object_type_masks",
    "order_observation",
    "layout_id",
    "environment_layout",
    "full_map_encoding",
];

/// Four rows of free cells, counters, a pot, onions, plates, a delivery zone and a button.
const ROOM: [&str; 4] = ["CUCC", "O  @", "C= C", "CLRC"];

type Env = Grid<World<false>>;

fn params(rules: RuleSet, features: &[&str]) -> Params {
    Params {
        rules,
        features: features.iter().map(|&name| name.into()).collect(),
        ..Params::default()
    }
}

/// Seat 0 in row 1, column 1, looks up and holds an onion; seat 1 in row 2, column 2, looks left and holds a plate.
fn state(env: &Env) -> State<Extra> {
    let mut state = env.reset(0);
    let agents = [(5, Direction::Up, ONION), (10, Direction::Left, PLATE)];
    for (agent, (cell, facing, held)) in state.agents.iter_mut().zip(agents) {
        (agent.cell, agent.facing, agent.held) = (cell, facing, held);
    }
    state
}

/// Fills the fixture with a number.
fn fill(env: &Env, state: &mut State<Extra>, index: usize, contents: &[KindId], timer: u8) {
    let place = env.tables().fixture_place(index);
    state.memory[place + COUNT] = contents.len() as u8;
    state.memory[place + TIMER] = timer;
    state.memory[place + SLOTS..][..contents.len()].copy_from_slice(contents);
}

/// The shape and values of one feature as a seat sees it, after a change of the state.
fn see(
    params: Params,
    seat: usize,
    change: impl FnOnce(&Env, &mut State<Extra>),
) -> (Vec<u32>, Vec<f32>) {
    let env = Env::new(params).unwrap();
    let mut state = state(&env);
    change(&env, &mut state);
    let spec = env.spec();
    let mut out = vec![f32::NAN; spec.observation_len()];
    env.observe(&state, seat, &mut out);
    let shape = spec.observation[0].shape.clone();
    out.truncate(shape.iter().product::<u32>() as usize);
    (shape, out)
}

fn nothing(_: &Env, _: &mut State<Extra>) {}

/// Both sets of rules show the same, to both seats.
fn both(name: &str, shape: &[u32], first: &[f32], second: &[f32]) {
    for rules in [RuleSet::Cogrid, RuleSet::Corrected] {
        for (seat, expected) in [first, second].into_iter().enumerate() {
            let (seen_shape, seen) = see(params(rules, &[name]), seat, nothing);
            assert_eq!(seen_shape, shape, "{name}");
            assert_eq!(seen, expected, "{name} of seat {seat} by {rules:?}");
        }
    }
}

#[test]
fn an_agent_sees_itself() {
    both("agent_dir", &[4], &[0., 0., 0., 1.], &[0., 0., 1., 0.]);
    both("agent_position", &[2], &[1., 1.], &[2., 2.]);
    both(
        "can_move_direction",
        &[4],
        &[1., 0., 0., 0.],
        &[0., 0., 0., 1.],
    );
    both("inventory", &[1], &[9.], &[13.]);
    both(
        "overcooked_inventory",
        &[5],
        &[1., 0., 0., 0., 0.],
        &[0., 0., 1., 0., 0.],
    );
    both("next_to_counter", &[4], &[0.; 4], &[1., 0., 0., 0.]);
    both("dist_to_other_players", &[1, 2], &[-1., -1.], &[1., 1.]);
    both("steps_done", &[1], &[0.], &[1.]);
}

#[test]
fn what_lies_on_the_floor_is_in_the_way() {
    for rules in [RuleSet::Cogrid, RuleSet::Corrected] {
        let (_, seen) = see(params(rules, &["can_move_direction"]), 0, |_, state| {
            state.set_kind(6, ONION);
        });
        assert_eq!(seen, [0.; 4]);
    }
}

#[test]
fn the_stage_of_a_pot_is_seen_beside_it() {
    let stages: [(&[KindId], u8, usize); 4] = [
        (&[], 30, 0),
        (&[ONION, ONION], 30, 1),
        (&[ONION; 3], 7, 2),
        (&[ONION; 3], 0, 3),
    ];
    for rules in [RuleSet::Cogrid, RuleSet::Corrected] {
        for (contents, timer, stage) in stages {
            let change = |env: &Env, state: &mut State<Extra>| fill(env, state, 0, contents, timer);
            let (shape, seen) = see(params(rules, &["next_to_pot"]), 0, change);
            let mut expected = [0.; 16];
            expected[4 * stage + 3] = 1.0;
            assert_eq!((shape, seen), (vec![4, 4], expected.to_vec()));
            let (_, far) = see(params(rules, &["next_to_pot"]), 1, change);
            assert_eq!(far, [0.; 16]);
        }
    }
}

#[test]
fn pots_are_told_in_order() {
    let pots = |rules, rows: &[&str]| Params {
        rows: rows.iter().map(|&row| row.into()).collect(),
        ..params(rules, &["ordered_pot_features"])
    };
    let change = |env: &Env, state: &mut State<Extra>| {
        fill(env, state, 0, &[TOMATO, ONION], 30);
        fill(env, state, 1, &[ONION; 3], 7);
    };
    let first = [1., 0., 0., 0., 1., 1., 1., -1., 1., 0., 0., 1.];
    let second = [1., 0., 0., 1., 0., 3., 0., 7., 1., -1., 0., 2.];
    let third = [1., 0., 1., 0., 0., 0., 0., -1., -1., 1., 2., 0.];
    let rows = ["CUUC", "O  @", "U= C"];
    let (shape, seen) = see(pots(RuleSet::Cogrid, &rows), 0, change);
    assert_eq!((shape, seen), (vec![2, 12], [first, second].concat()));
    let (shape, seen) = see(pots(RuleSet::Corrected, &rows), 0, change);
    assert_eq!(
        (shape, seen),
        (vec![3, 12], [first, second, third].concat())
    );
    // CoGrid: room for two, whatever there is.
    let (_, seen) = see(pots(RuleSet::Cogrid, &ROOM), 0, nothing);
    assert_eq!(seen[12..], [0.; 12]);
    let (shape, _) = see(pots(RuleSet::Corrected, &ROOM), 0, nothing);
    assert_eq!(shape, [1, 12]);
}

#[test]
fn the_nearest_come_first_and_of_equals_the_first_in_reading_order() {
    for rules in [RuleSet::Cogrid, RuleSet::Corrected] {
        let (shape, seen) = see(params(rules, &["closest_onion"]), 0, |env, state| {
            state.set_kind(6, ONION);
            state.set_value(env.tables(), 3, ONION);
            state.set_value(env.tables(), 8, ONION);
        });
        let expected = [0., -1., -1., 1., 1., -2., 0., 0.];
        assert_eq!((shape, seen), (vec![4, 2], expected.to_vec()));
        let (_, seen) = see(params(rules, &["closest_counter"]), 0, nothing);
        assert_eq!(seen, [1., 1., 1., -1., -1., 1., 1., -2.]);
        let (shape, seen) = see(params(rules, &["closest_objects"]), 0, nothing);
        assert_eq!(shape, [22, 2]);
        assert_eq!(seen[8..12], [0., -2., 0., 0.], "the delivery zone");
        assert_eq!(seen[28..32], [0., 1., 0., 0.], "the onions");
    }
}

#[test]
fn masks_have_the_shape_of_the_grid() {
    let change = |env: &Env, state: &mut State<Extra>| {
        state.set_kind(6, TOMATO);
        state.set_value(env.tables(), 3, ONION);
    };
    let cells = |seen: &[f32], mask: usize, rows: usize, cols: usize| -> Vec<usize> {
        let mask = &seen[mask * rows * cols..][..rows * cols];
        (0..mask.len()).filter(|&cell| mask[cell] > 0.0).collect()
    };
    let (shape, seen) = see(
        params(RuleSet::Corrected, &["object_type_masks"]),
        0,
        change,
    );
    assert_eq!(shape, [10, 4, 4]);
    assert_eq!(cells(&seen, 0, 4, 4), [0, 2, 3, 8, 11, 12, 15], "counters");
    assert_eq!(cells(&seen, 1, 4, 4), [7], "delivery zone");
    assert_eq!(cells(&seen, 2, 4, 4), [3], "the onion on the counter");
    assert_eq!(cells(&seen, 7, 4, 4), [6], "the tomato on the floor");
    assert_eq!(seen.iter().sum::<f32>(), 12.0);
    let (shape, seen) = see(params(RuleSet::Cogrid, &["object_type_masks"]), 0, change);
    assert_eq!(shape, [10, 7, 11]);
    assert_eq!(cells(&seen, 2, 7, 11), [3]);
    assert_eq!(cells(&seen, 7, 7, 11), [11 + 2]);
    // CoGrid: rows of 7 for columns up to 11.
    let (shape, seen) = see(params(RuleSet::Cogrid, &["environment_layout"]), 0, change);
    assert_eq!(shape, [6, 11, 7]);
    assert_eq!(cells(&seen, 5, 11, 7), [2 * 7 + 1], "plates");
    let (shape, seen) = see(
        params(RuleSet::Corrected, &["environment_layout"]),
        0,
        change,
    );
    assert_eq!(shape, [6, 4, 4]);
    assert_eq!(cells(&seen, 1, 4, 4), [1], "the pot");
    assert_eq!(cells(&seen, 2, 4, 4), [0; 0], "no onion stands in a cell");
}

#[test]
fn only_cogrid_takes_a_number_for_a_thing() {
    // A pot with three onions and 4 steps to go shows 15, which is the number of tomatoes.
    let change = |env: &Env, state: &mut State<Extra>| state.set_value(env.tables(), 1, TOMATO);
    let tomato = |rules| {
        let (_, masks) = see(params(rules, &["object_type_masks"]), 0, change);
        let plane = masks.len() / 10;
        let (_, closest) = see(params(rules, &["closest_tomato"]), 0, change);
        (masks[7 * plane + 1], closest[..2].to_vec())
    };
    assert_eq!(tomato(RuleSet::Cogrid), (1.0, vec![1., 0.]));
    assert_eq!(tomato(RuleSet::Corrected), (0.0, vec![0., 0.]));
    // Even a number of what never moves: two items and no time left show 2, which is a counter.
    let change = |env: &Env, state: &mut State<Extra>| state.set_value(env.tables(), 1, COUNTER);
    let counter = |rules| see(params(rules, &["object_type_masks"]), 0, change).1[1];
    assert_eq!(counter(RuleSet::Cogrid), 1.0);
    assert_eq!(counter(RuleSet::Corrected), 0.0);
}

#[test]
fn orders_tell_recipe_and_time() {
    let change = |_: &Env, state: &mut State<Extra>| {
        state.extra.orders = vec![Some((1, 25)), None];
    };
    for rules in [RuleSet::Cogrid, RuleSet::Corrected] {
        let (shape, seen) = see(params(rules, &["order_observation"]), 0, change);
        assert_eq!((shape, seen), (vec![2, 3], vec![0., 1., 0.25, 0., 0., 0.]));
    }
    let none = Params {
        orders: 0,
        ..params(RuleSet::Cogrid, &["order_observation"])
    };
    assert_eq!(see(none, 0, nothing), (vec![3, 3], vec![0.; 9]));
}

#[test]
fn a_layout_is_one_of_many() {
    let (_, seen) = see(params(RuleSet::Cogrid, &["layout_id"]), 0, nothing);
    assert_eq!(seen, [0., 0., 0., 1., 0., 0., 0.]);
    let (_, seen) = see(params(RuleSet::Corrected, &["layout_id"]), 0, nothing);
    assert_eq!(seen, [0., 0., 0., 1., 0.]);
}

#[test]
fn a_map_tells_everything() {
    let change = |env: &Env, state: &mut State<Extra>| {
        fill(env, state, 0, &[ONION; 3], 7);
        state.set_value(env.tables(), 1, 24);
        state.set_value(env.tables(), 3, ONION);
    };
    let (shape, seen) = see(
        params(RuleSet::Corrected, &["full_map_encoding"]),
        0,
        change,
    );
    assert_eq!(shape, [4, 4, 6]);
    assert_eq!(seen[6..12], [14., 0., 3., 7., 0., 0.], "the pot");
    assert_eq!(
        seen[18..24],
        [2., 8., 0., 0., 0., 0.],
        "an onion on a counter"
    );
    assert_eq!(seen[30..36], [0., 0., 0., 0., 4., 8.], "seat 0");
    let (shape, seen) = see(params(RuleSet::Cogrid, &["full_map_encoding"]), 0, change);
    assert_eq!(shape, [12, 12, 3]);
    assert_eq!(seen[3..6], [14., 0., 24.], "the pot");
    // 20 kinds: agents that look up, right, down, left have the numbers 21 to 24.
    assert_eq!(seen[(12 + 1) * 3..][..3], [21., 0., 8.], "seat 0");
    assert_eq!(seen[(24 + 2) * 3..][..3], [24., 0., 12.], "seat 1");
}

#[test]
fn a_view_has_channels_for_what_is_in_a_cell() {
    let change = |env: &Env, state: &mut State<Extra>| {
        fill(env, state, 0, &[ONION, ONION], 30);
        state.set_value(env.tables(), 3, ONION);
        (state.extra.target, state.extra.delivered) = (1, true);
    };
    let view = |rules, radius| Params {
        radius,
        ..params(rules, &["local_view"])
    };
    let (shape, seen) = see(view(RuleSet::Corrected, None), 0, change);
    assert_eq!(shape, [4, 4, 27]);
    let cell = |cell: usize| &seen[cell * 27..][..27];
    let third = 1.0 / 3.0;
    // The kind; here, direction, held of both; what lies there; working, ready, full, time; onions, tomatoes.
    let mut pot = vec![0.0; 27];
    (pot[0], pot[10], pot[12]) = (14. / 20., 2. * third, 2. * third);
    assert_eq!(cell(1), pot);
    let mut own = vec![0.0; 27];
    (own[1], own[3], own[5], own[16]) = (1., 1., 8. / 20., 1.);
    assert_eq!(cell(5), own);
    let mut counter = vec![0.0; 27];
    (counter[0], counter[7]) = (2. / 20., 8. / 20.);
    assert_eq!(cell(3), counter);
    assert_eq!(cell(7)[26], 1.0, "a delivery");
    assert_eq!(
        cell(14)[22..26],
        [1., 1., 0., 1.],
        "the indicator wants tomato soup"
    );
    assert_eq!(cell(13)[22..26], [0.; 4], "the button is dark");
    // A window of 3 by 3 around row 1, column 1 begins at the corner.
    let (shape, window) = see(view(RuleSet::Corrected, Some(1)), 0, change);
    assert_eq!(shape, [3, 3, 27]);
    assert_eq!(window[4 * 27..5 * 27], *cell(5));
    assert_eq!(window[27..2 * 27], *cell(1));
    // CoGrid: two empty slots, or one, are the ingredients that the kitchen does not have, idle pots have a time.
    let (shape, seen) = see(view(RuleSet::Cogrid, None), 0, change);
    assert_eq!(shape, [4, 4, 35]);
    let pot = &seen[35..70];
    assert_eq!(pot[0], 14. / 21.);
    assert_eq!(
        pot[8..16],
        [0., 0., 2. / 3., 1.5, 2. / 3., 0., 1. / 3., 1. / 3.]
    );
    assert_eq!(seen[5 * 35 + 5], 9. / 21.);
}

#[test]
fn a_lit_button_shows_what_is_wanted() {
    let (_, seen) = see(
        params(RuleSet::Corrected, &["local_view"]),
        0,
        |env, state| {
            fill(env, state, 1, &[], 3);
        },
    );
    assert_eq!(seen[13 * 27 + 22..][..4], [1., 1., 1., 0.]);
}

#[test]
fn any_number_of_agents_is_seen() {
    let many = |rules| Params {
        seats: 3,
        rows: ["C   C", "U   @"].map(Into::into).into(),
        ..params(rules, &["agent_position", "dist_to_other_players"])
    };
    let env = Env::new(many(RuleSet::Corrected)).unwrap();
    let mut state = env.reset(0);
    for (agent, cell) in state.agents.iter_mut().zip([1, 7, 3]) {
        agent.cell = cell;
    }
    let names: Vec<_> = env
        .spec()
        .observation
        .into_iter()
        .map(|field| (field.name, field.shape))
        .collect();
    let name = |name: &str, shape: &[u32]| (String::from(name), shape.to_vec());
    assert_eq!(
        names,
        [
            name("agent_position", &[2]),
            name("dist_to_other_players", &[2, 2]),
            name("other.agent_position", &[2]),
            name("other.dist_to_other_players", &[2, 2]),
            name("other2.agent_position", &[2]),
            name("other2.dist_to_other_players", &[2, 2]),
        ]
    );
    let mut seen = [0.0; 18];
    env.observe(&state, 1, &mut seen);
    assert_eq!(seen[..6], [1., 2., 1., 1., 1., -1.]);
    assert_eq!(seen[6..12], [0., 1., -1., -1., 0., -2.]);
    assert_eq!(seen[12..], [0., 3., 0., 2., -1., 1.]);
    // CoGrid: everyone describes the first two, so these two describe one.
    let env = Env::new(many(RuleSet::Cogrid)).unwrap();
    let mut state = env.reset(0);
    for (agent, cell) in state.agents.iter_mut().zip([1, 7, 3]) {
        agent.cell = cell;
    }
    assert_eq!(env.spec().observation_len(), 14);
    let mut seen = [0.0; 14];
    env.observe(&state, 1, &mut seen);
    assert_eq!(
        seen,
        [1., 2., 1., 1., 0., 1., -1., -1., 0., 3., 0., 2., -1., 1.]
    );
    env.observe(&state, 2, &mut seen);
    assert_eq!(
        seen,
        [0., 3., 0., 2., -1., 1., 0., 1., -1., -1., 1., 2., 1., 1.]
    );
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let refused = |params: Params| {
        let error = Env::new(params).unwrap_err();
        (error.field, error.reason)
    };
    let of = |names: &[&str]| params(RuleSet::Corrected, names);
    let cases: [(Params, &str, &str); 8] = [
        (
            of(&["agent_pos1tion"]),
            "features",
            "did you mean `agent_position`",
        ),
        (
            of(&["closest_onoin"]),
            "features",
            "did you mean `closest_onion`",
        ),
        (of(&["inventory", "inventory"]), "features", "twice"),
        (
            Params {
                orders: 0,
                ..of(&["order_observation"])
            },
            "features",
            "add orders",
        ),
        (
            Params {
                radius: Some(2),
                ..of(&["inventory"])
            },
            "view_radius",
            "local_view",
        ),
        (
            Params {
                radius: Some(65),
                ..of(&["local_view"])
            },
            "view_radius",
            "0 to 64",
        ),
        (
            Params {
                seats: 1,
                ..of(&["dist_to_other_players"])
            },
            "features",
            "another seat",
        ),
        (
            Params {
                rows: ["C  C"].map(Into::into).into(),
                ..of(&["next_to_pot"])
            },
            "features",
            "containers",
        ),
    ];
    for (params, field, words) in cases {
        let (seen_field, reason) = refused(params);
        assert!(seen_field.starts_with(field), "{seen_field}");
        assert!(reason.contains(words), "{reason}");
    }
    let wide = Params {
        rows: vec!["C          C".into(); 3],
        ..params(RuleSet::Cogrid, &["object_type_masks"])
    };
    assert!(refused(wide).1.contains("corrected rules"));
}
