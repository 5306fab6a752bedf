//! The kitchens of overcooked_ai: laws, layouts, refusals, and what a person sees.

mod playthrough;

use env_core::conformance::check_batch;
use env_core::envs::overcooked_ai::generate::generate;
use env_core::envs::overcooked_ai::ground::Tile;
use env_core::envs::overcooked_ai::layouts::named_kitchens;
use env_core::envs::overcooked_ai::{Dialect, Encoding, INTERACT, OvercookedAi, Params, STAY};
use env_core::{Environment, StepOutcome};

const RULES: [Dialect; 6] = [
    Dialect::New,
    Dialect::Old,
    Dialect::Jaxmarl,
    Dialect::Cec,
    Dialect::Neurips2019,
    Dialect::Zsc,
];

fn params(rules: Dialect, layout: &str) -> Params {
    Params {
        layout: layout.into(),
        rules,
        ..Params::default()
    }
}

#[test]
fn every_set_of_rules_keeps_the_laws() {
    let kitchens = [
        (
            Dialect::New,
            "cramped_room_tomato",
            vec![Encoding::Features, Encoding::Lossless],
        ),
        (Dialect::Old, "forced_coordination", vec![]),
        (
            Dialect::Jaxmarl,
            "counter_circuit",
            vec![Encoding::Jaxmarl, Encoding::Cec],
        ),
        (Dialect::Cec, "asymm_advantages_9", vec![]),
        (
            Dialect::Cec,
            "generated",
            vec![Encoding::Cec, Encoding::Neurips2019Features],
        ),
        (
            Dialect::Neurips2019,
            "simple",
            vec![Encoding::Neurips2019, Encoding::Neurips2019Features],
        ),
        (Dialect::Zsc, "random0_m", vec![]),
        (Dialect::New, "multiplayer_schelling", vec![]),
        (Dialect::Neurips2019, "simple_single", vec![]),
    ];
    check_batch::<OvercookedAi>(kitchens.map(|(rules, layout, observation)| Params {
        observation,
        horizon: 120,
        ..params(rules, layout)
    }))
    .unwrap();
}

#[test]
fn every_kitchen_opens_by_its_name_or_says_what_the_rules_lack() {
    let mut opened = [0; 6];
    for (rules, count) in RULES.into_iter().zip(&mut opened) {
        for named in named_kitchens(rules) {
            match OvercookedAi::new(params(rules, named.name)) {
                Ok(env) => {
                    env.reset(1);
                    *count += 1;
                }
                Err(error) => {
                    assert_eq!(rules, Dialect::Old, "{}: {error}", named.name);
                    assert!(error.reason.contains("three ingredients"), "{error}");
                }
            }
        }
    }
    assert_eq!(opened, [45, 34, 5, 5, 28, 60]);
}

#[test]
fn a_fault_in_a_layout_is_told_with_its_key_and_line() {
    for (rules, layout, told) in [
        (Dialect::New, "cramped_rom", "did you mean `cramped_room`?"),
        (
            Dialect::New,
            "{'grid': 'XX'",
            "line 1: `,` or `}` is missing",
        ),
        (
            Dialect::New,
            "{'grid': '''XPX\nX1\nDSO'''}",
            "grid: row 2 has another length",
        ),
        (
            Dialect::New,
            "{'grid': '''XPX\nX1O\nDXX'''}",
            "grid: the kitchen needs a place to serve",
        ),
        (
            Dialect::New,
            "{'grid': '''XPX\n1 O\nDSX'''}",
            "row 2, column 1: the border must not be floor",
        ),
        (
            Dialect::New,
            "{'grid': '''XPX\nX1O\nDSX''', 'cook_time': 3, 'recipe_times': [3]}",
            "exclude each other",
        ),
        (
            Dialect::Old,
            "cramped_room_o_3orders",
            "orders of three ingredients only",
        ),
        (Dialect::Jaxmarl, "{'grid': ''}", "rows of letters"),
        (Dialect::Jaxmarl, "WPW\nO X\nWBW", "needs a start of a cook"),
        (
            Dialect::Neurips2019,
            "{'grid': '''XPX\nX1O\nDSX''', 'start_order_list': ['any']}",
            "must be None",
        ),
    ] {
        let error = OvercookedAi::new(params(rules, layout)).unwrap_err();
        assert_eq!(error.field, "layout");
        assert!(error.reason.contains(told), "{layout}: {error}");
    }
}

#[test]
fn an_observation_that_does_not_fit_is_refused_with_the_reason() {
    for (layout, encoding, told) in [
        ("cramped_room_tomato", Encoding::Jaxmarl, "has no tomatoes"),
        (
            "multiplayer_schelling",
            Encoding::ZscEval,
            "is for two cooks",
        ),
        (
            "corridor",
            Encoding::Cec,
            "9 by 9 cells, and this kitchen 14 by 9",
        ),
    ] {
        let error = OvercookedAi::new(Params {
            observation: vec![Encoding::Features, encoding],
            ..params(Dialect::New, layout)
        })
        .unwrap_err();
        assert_eq!(error.field, "observation[1]");
        assert!(error.reason.contains(told), "{error}");
    }
    let generated = Params {
        observation: vec![Encoding::Lossless],
        ..params(Dialect::Cec, "generated")
    };
    let error = OvercookedAi::new(generated).unwrap_err();
    assert!(error.reason.contains("from episode to episode"), "{error}");
}

#[test]
fn a_seat_observes_in_the_words_of_several_originals_at_once() {
    let env = OvercookedAi::new(Params {
        observation: vec![Encoding::ZscEval, Encoding::Jaxmarl, Encoding::Neurips2019],
        ..params(Dialect::Old, "cramped_room")
    })
    .unwrap();
    let spec = env.spec();
    let names: Vec<&str> = spec
        .observation
        .iter()
        .map(|field| field.name.as_str())
        .collect();
    assert_eq!(names, ["zsc_eval", "jaxmarl", "neurips2019"]);
    let mut values = vec![0.0; spec.observation_len()];
    env.observe(&env.reset(0), 0, &mut values);
    let sums: Vec<f32> = [(0, 500), (500, 1020), (1020, 1420)]
        .into_iter()
        .map(|(from, to)| values[from..to].iter().sum())
        .collect();
    // Two cooks with their directions, and the fourteen cells that are no floor.
    assert_eq!(sums, [18.0 * 255.0, 18.0, 18.0]);
}

#[test]
fn seats_of_2019_see_one_other_cook_at_most() {
    let env = OvercookedAi::new(params(Dialect::Neurips2019, "multiplayer_schelling")).unwrap();
    assert_eq!(env.spec().observation[0].name, "neurips2019");
    let state = env.reset(0);
    let mut values = vec![0.0; env.spec().observation_len()];
    let sum =
        |values: &[f32], channel: usize| -> f32 { values.iter().skip(channel).step_by(20).sum() };
    for (seat, others) in [(0, 1.0), (1, 1.0), (2, 0.0), (3, 0.0)] {
        env.observe(&state, seat, &mut values);
        let seen = [0, 1, 6].map(|channel| sum(&values, channel));
        assert_eq!(seen, [1.0, others, others], "{seat}");
    }
}

/// A kitchen with a soup in the pot at the start.
fn begun(soup: &str) -> String {
    format!(
        "{{'grid': '''XXPXX\nO  2O\nX1  X\nXDXSX''', 'cook_time': 25, 'start_state': {{
        'players': [{{'position': (1, 2), 'orientation': (0, -1), 'held_object': None}},
                    {{'position': (3, 1), 'orientation': (1, 0), 'held_object': None}}],
        'objects': [{{'name': 'soup', 'position': (2, 0), {soup}}}]}}}}"
    )
}

#[test]
fn a_soup_at_the_start_can_be_written_as_in_2019() {
    for (state, contents, tick) in [
        ("'state': ('onion', 2, 0)", [2, 0], None),
        ("'state': ('tomato', 3, 4)", [0, 3], Some(4)),
        ("'state': ('onion', 3, 20)", [3, 0], Some(25)),
    ] {
        let env = OvercookedAi::new(params(Dialect::New, &begun(state))).unwrap();
        let pot = env.reset(0).pots[0];
        let made = [pot.contents.onions, pot.contents.tomatoes];
        assert_eq!((made, pot.tick()), (contents, tick), "{state}");
    }
    let long = "'_ingredients': [{'name': 'onion', 'position': (2, 0)}], 'cooking_tick': 26";
    let error = OvercookedAi::new(params(Dialect::New, &begun(long))).unwrap_err();
    assert!(error.reason.contains("cooked longer"), "{error}");
}

/// Plays the actions of one cook in `simple_single`, and returns the points.
fn deliver(rules: Dialect, layout: &str, starts: bool) -> (i64, Vec<f32>) {
    let env = OvercookedAi::new(params(rules, layout)).unwrap();
    let (mut state, mut outcome) = (env.reset(0), StepOutcome::default());
    // From the start: three onions from the left, the soup with a dish from below, to the window.
    let mut play = String::new();
    for _ in 0..3 {
        play += "^<x>^x";
    }
    if starts {
        play += "x";
    }
    play += "....................<vvx>^^xvv>vx";
    let mut paid = Vec::new();
    for sign in play.chars() {
        let action = match sign {
            '^' => 0,
            'v' => 1,
            '>' => 2,
            '<' => 3,
            'x' => INTERACT,
            _ => STAY,
        };
        env.step(&mut state, &[action], &mut outcome);
        paid.push(outcome.rewards[0]);
    }
    (
        env.score(&state),
        paid.into_iter().filter(|&points| points != 0.0).collect(),
    )
}

#[test]
fn a_soup_is_cooked_and_paid_by_the_rules_of_each_original() {
    let (score, paid) = deliver(Dialect::New, "cramped_room_single", true);
    assert_eq!((score, paid), (20, vec![3.0, 3.0, 3.0, 5.0, 20.0]));
    // Without the action that starts the cooking, there is no soup.
    assert_eq!(deliver(Dialect::New, "cramped_room_single", false).0, 0);
    let (score, paid) = deliver(Dialect::Old, "cramped_room_single", false);
    assert_eq!((score, paid), (20, vec![3.0, 3.0, 3.0, 5.0, 20.0]));
    // A dish is paid here however few cooks there are; the layout shapes nothing.
    let (score, paid) = deliver(Dialect::Neurips2019, "simple_single", false);
    assert_eq!((score, paid), (20, vec![20.0]));
}

#[test]
fn a_generated_kitchen_is_that_of_the_specification() {
    #[derive(serde::Deserialize)]
    struct Made {
        draws: Vec<u32>,
        rows: Vec<String>,
    }
    let made: Vec<Made> = serde_json::from_str(include_str!(
        "../../../tests/golden/dialects/cec_generated.json"
    ))
    .unwrap();
    assert_eq!(made.len(), 40);
    for Made { draws, rows } in made {
        let mut left = draws.iter().copied();
        let (ground, starts) = generate(|bound| {
            let draw = left.next().unwrap();
            assert!(draw < bound);
            draw
        });
        assert_eq!(left.next(), None);
        let sign = |x: usize, y: usize| {
            let cell = ((y + 1) * 11 + x + 1) as u16;
            match ground.tile(cell) {
                Tile::Floor if starts.contains(&cell) => 'A',
                Tile::Floor => ' ',
                Tile::Counter | Tile::Wall => 'W',
                Tile::Pot => 'P',
                Tile::Onions => 'O',
                Tile::Tomatoes => 'T',
                Tile::Dishes => 'B',
                Tile::Serving => 'X',
            }
        };
        let ours: Vec<String> = (0..9)
            .map(|y| (0..9).map(|x| sign(x, y)).collect())
            .collect();
        assert_eq!(ours, rows, "{draws:?}");
    }
}
