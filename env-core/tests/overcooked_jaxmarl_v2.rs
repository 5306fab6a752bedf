//! Overcooked V2 of JaxMARL: settings, layouts and sight; recordings of the original hold the rules.

use std::fmt::Write as _;

use env_core::digest::digest;
use env_core::draw::DrawList;
use env_core::envs::overcooked_jaxmarl_v2::items::{PLATE, plated_recipe, recipe};
use env_core::envs::overcooked_jaxmarl_v2::{
    INTERACT, LAYOUTS, OvercookedJaxmarlV2, Params, STAY, State, Tile,
};
use env_core::grid::Chart;
use env_core::{Action, Environment, StepOutcome};

use crate::story;

fn kitchen(params: Params) -> OvercookedJaxmarlV2 {
    OvercookedJaxmarlV2::new(params).unwrap()
}

fn rows(rows: &[&str]) -> Chart {
    Chart::Rows(rows.iter().map(|&row| row.into()).collect())
}

fn step(env: &OvercookedJaxmarlV2, state: &mut State, actions: &[Action]) -> StepOutcome {
    let mut outcome = StepOutcome::default();
    env.step(state, actions, &mut outcome);
    outcome
}

/// One cook between a pile, a pot, plates, a goal and a button.
fn single(params: Params) -> OvercookedJaxmarlV2 {
    kitchen(Params {
        layout: rows(&["WPW", "0AX", "WLW"]),
        recipes: Some(vec![[0, 0, 0]]),
        ..params
    })
}

#[test]
fn a_wrong_soup_costs_only_with_negative_rewards() {
    for (negative_rewards, cost) in [(false, 0.0), (true, -20.0)] {
        let env = single(Params {
            negative_rewards,
            ..Params::default()
        });
        let mut state = env.reset(0);
        state.cooks[0].held = plated_recipe(recipe([0, 0, 0]) - 4);
        let mut wrong = state.clone();
        step(&env, &mut wrong, &[0]);
        let outcome = step(&env, &mut wrong, &[INTERACT]);
        assert_eq!((outcome.rewards[0], wrong.delivered), (cost, false));
        assert_eq!(env.score(&wrong), cost as i64);
        state.cooks[0].held = plated_recipe(recipe([0, 0, 0]));
        step(&env, &mut state, &[0]);
        let outcome = step(&env, &mut state, &[INTERACT]);
        assert_eq!((outcome.rewards[0], state.delivered), (20.0, true));
    }
}

#[test]
fn each_press_of_a_button_costs() {
    let env = single(Params::default());
    let mut state = env.reset(0);
    step(&env, &mut state, &[1]);
    for _ in 0..2 {
        let outcome = step(&env, &mut state, &[INTERACT]);
        assert_eq!(outcome.rewards[0], -5.0);
        assert_eq!(outcome.components, [0.0, -5.0, 0.0]);
        assert_eq!(state.cells[7].timer, 9);
    }
    for _ in 0..9 {
        step(&env, &mut state, &[STAY]);
    }
    assert_eq!(state.cells[7].timer, 0);
}

#[test]
fn shaped_reward_is_paid_in_parts_if_asked() {
    for (shaping, paid) in [(0.0, 0.0), (0.5, 1.5)] {
        let env = single(Params {
            shaping,
            ..Params::default()
        });
        let mut state = env.reset(0);
        state.cooks[0].held = recipe([0, 0, 0]) & 4;
        let outcome = step(&env, &mut state, &[INTERACT]);
        assert_eq!((outcome.events[0].kind, outcome.events[0].value), (3, 3.0));
        assert_eq!(outcome.rewards[0], paid);
    }
}

#[test]
fn a_recipe_is_drawn_after_a_delivery_or_given() {
    let env = kitchen(Params {
        layout: rows(&["WRW", "0AX", "1PW"]),
        sample_recipe_on_delivery: true,
        ..Params::default()
    });
    assert_eq!(env.kitchen().recipes.len(), 4);
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..40 {
        let mut state = env.reset(seed);
        seen.insert(state.recipe);
        state.cooks[0].held = plated_recipe(state.recipe);
        step(&env, &mut state, &[0]);
        let mut given = state.clone();
        env.inject(&mut given, &[recipe([1, 1, 1])]);
        step(&env, &mut given, &[INTERACT]);
        assert_eq!((given.recipe, given.next), (recipe([1, 1, 1]), None));
        env.inject(&mut state, &[1]);
        step(&env, &mut state, &[INTERACT]);
        seen.insert(state.recipe);
    }
    assert_eq!(seen.len(), 4);
}

#[test]
fn a_cook_sees_no_farther_in_its_picture_and_words_than_in_its_observation() {
    let env = kitchen(Params {
        layout: Chart::named("grounded_coord_simple"),
        view_radius: Some(2),
        ..Params::default()
    });
    assert!(!env.spec().perfect_information);
    let state = env.reset(0);
    let far = (0..env.kitchen().cells() as u16)
        .filter(|&cell| !env.kitchen().can_see(Some(2), state.cooks[1].cell, cell));
    let look = |state: &State| {
        let (mut picture, mut words) = (DrawList::default(), String::new());
        env.draw(state, Some(1), &mut picture);
        env.describe(state, 1, &mut words);
        let mut values = vec![0.0; env.spec().observation_len()];
        env.observe(state, 1, &mut values);
        (picture, words, values)
    };
    let (before, mut changed) = (look(&state), 0);
    for cell in far {
        let mut other = state.clone();
        match env.kitchen().tiles[usize::from(cell)] {
            Tile::Counter => other.cells[usize::from(cell)].items = PLATE,
            Tile::Floor => other.cooks[0].cell = cell,
            _ => continue,
        }
        assert!(env.valid(&other) && other != state || other.cooks == state.cooks);
        assert_eq!(look(&other), before);
        changed += 1;
    }
    assert!(changed > 10, "{changed}");
    // The recipe is on the display at the left, which only the first cook sees.
    let mut other = state.clone();
    other.recipe = env.kitchen().recipes[usize::from(state.recipe == env.kitchen().recipes[0])];
    assert_ne!(other.recipe, state.recipe);
    assert_eq!(look(&other), before);
}

#[test]
fn layouts_are_read_by_name_as_text_and_as_rows() {
    for layout in LAYOUTS {
        let named = kitchen(Params {
            layout: Chart::named(layout.name),
            ..Params::default()
        });
        let recipes = (!layout.recipes.is_empty()).then(|| layout.recipes.to_vec());
        for text in [false, true] {
            let own = kitchen(Params {
                layout: match text {
                    true => Chart::Name(format!("\n{}\n", layout.rows.join("\n"))),
                    false => rows(layout.rows),
                },
                recipes: recipes.clone(),
                swap_agents: layout.swapped,
                ..Params::default()
            });
            assert_eq!(own.reset(5), named.reset(5), "{}", layout.name);
            assert_eq!(own.kitchen().tiles, named.kitchen().tiles);
        }
    }
    assert_eq!(LAYOUTS.len(), 23);
}

#[test]
fn random_starts_stay_in_their_part_and_are_states() {
    for layout in ["forced_coord", "grounded_coord_ring"] {
        let env = kitchen(Params {
            layout: Chart::named(layout),
            random_reset: true,
            ..Params::default()
        });
        let mut full = 0;
        for seed in 0..100 {
            let state = env.reset(seed);
            assert!(env.valid(&state), "{state:?}");
            for (cook, &start) in state.cooks.iter().zip(&env.kitchen().starts) {
                assert_eq!(env.kitchen().part(cook.cell), env.kitchen().part(start));
                full += u32::from(cook.held != 0);
            }
        }
        assert!((60..140).contains(&full), "{full}");
    }
}

#[test]
fn bad_parameters_are_refused_with_their_place() {
    let refused = |json: &str| {
        let refused = env_core::envs::build_environment::<OvercookedJaxmarlV2>(json.as_bytes());
        refused.unwrap_err().to_string()
    };
    for (json, start) in [
        (
            r#"{"layout":"coord"}"#,
            "layout: there is no layout `coord`",
        ),
        (
            r#"{"layout":["WQW"]}"#,
            "layout[0]: row 1, column 2: there is no symbol `Q`",
        ),
        (
            r#"{"layout":["W0W"]}"#,
            "layout: has 0 cooks (`A`) and needs 1 to 16",
        ),
        (r#"{"layout":["WAW"]}"#, "layout: has no ingredient"),
        (r#"{"layout":["WA0"]}"#, "recipes: are missing"),
        (
            r#"{"layout":["WA0"],"recipes":[[0,0,1]]}"#,
            "recipes[0]: there is no ingredient 1: the kitchen has 0 to 0",
        ),
        (r#"{"view_radius":0}"#, "view_radius: must be 1 to 64"),
    ] {
        assert!(
            refused(json).starts_with(start),
            "{}\n{start}",
            refused(json)
        );
    }
}

/// A sign for each action: right, down, left, up, nothing, hands.
const SIGNS: &str = ">v<^.x";
/// The first cook presses the button twice; the second makes the soup of three of ingredient 0, and delivers it.
const PLAY: [&str; 2] = [
    ">x.........x................................",
    "^>xv<x^>xv<x^>xv<x^<xv<..............x>x....",
];

fn picture(env: &OvercookedJaxmarlV2, state: &State) -> String {
    let kitchen = env.kitchen();
    let mut out = String::new();
    for row in 0..kitchen.rows {
        let cells: String = (0..kitchen.cols)
            .map(|col| {
                let at = row * kitchen.cols + col;
                let cook = state.cooks.iter().find(|cook| usize::from(cook.cell) == at);
                match (cook, kitchen.tiles[at]) {
                    (Some(cook), _) => b"^v><"[usize::from(cook.facing)] as char,
                    (None, Tile::Floor) => ' ',
                    (None, Tile::Counter) => 'W',
                    (None, Tile::Goal) => 'X',
                    (None, Tile::Pot) => 'P',
                    (None, Tile::Indicator) => 'R',
                    (None, Tile::Button) => 'L',
                    (None, Tile::Plates) => 'B',
                    (None, Tile::Pile(number)) => (b'0' + number) as char,
                }
            })
            .collect();
        writeln!(out, "    {cells}").unwrap();
    }
    out
}

#[test]
fn the_playthrough_is_as_recorded() {
    let env = kitchen(Params {
        layout: Chart::named("grounded_coord_simple"),
        recipes: Some(vec![[0, 0, 0]]),
        horizon: PLAY[0].len() as u32,
        ..Params::default()
    });
    let (spec, mut state) = (env.spec(), env.reset(7));
    let mut shown = picture(&env, &state);
    let mut told = format!("# {} {}, seed 7\n\n{shown}", spec.id, spec.version);
    for number in 0..PLAY[0].len() {
        let actions = PLAY.map(|play| SIGNS.find(play.as_bytes()[number] as char).unwrap() as u16);
        let outcome = step(&env, &mut state, &actions);
        let names = actions.map(|action| spec.actions[usize::from(action)].name.as_str());
        write!(told, "{}: {}, {}", number + 1, names[0], names[1]).unwrap();
        for event in &outcome.events {
            let kind = &spec.events[usize::from(event.kind)];
            write!(told, "; {kind} by {} {:+}", event.seat, event.value).unwrap();
        }
        let busy = state
            .cells
            .iter()
            .filter(|cell| cell.items != 0 || cell.timer != 0);
        let busy: Vec<String> = busy
            .map(|cell| format!("{}/{}", cell.items, cell.timer))
            .collect();
        writeln!(
            told,
            "; hands {} {}; cells {}",
            state.cooks[0].held,
            state.cooks[1].held,
            busy.join(" ")
        )
        .unwrap();
        let now = picture(&env, &state);
        if now != shown {
            told += &now;
            shown = now;
        }
    }
    let (score, digest) = (env.score(&state), digest(&state));
    writeln!(told, "score {score}, digest {digest:016x}\n").unwrap();
    for seat in 0..2 {
        env.describe(&state, seat, &mut told);
        told.push('\n');
    }
    assert_eq!(score, 10, "{told}");
    story::check("overcooked_jaxmarl_v2", &told);
}
