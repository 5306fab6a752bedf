//! Shows each fix of CoGrid 0.3.2 in Overcooked by the corrected rules, and what both rules share.

mod orders;

use env_core::draw::{DrawItem, DrawList, Shape};
use env_core::envs::kitchen::layouts;
use env_core::envs::overcooked::{
    Chart, Earning, KitchenOrder, KitchenReward, MOVE_LEFT, MOVE_RIGHT, NOOP, OrderParams,
    Overcooked, PICK_UP_OR_DROP, Params, RuleSet, Spawn,
};
use env_core::grid::{ActionSet, Direction};
use env_core::rng::Rng;
use env_core::{Environment, StepOutcome};

use crate::kitchen::{Scene, State, both, event};

fn layout(name: &str) -> Params {
    Params {
        layout: Chart::from(name),
        horizon: 200,
        ..Params::default()
    }
}

/// Checks whether an observation shows an object type at a place; `mask` counts CoGrid's ten masks.
fn shows(
    scene: &Scene<env_core::envs::kitchen::params::First>,
    mask: usize,
    at: [usize; 2],
) -> bool {
    // CoGrid's masks have one size; ours have the kitchen's size.
    let (rows, cols) = if scene.env.tables().is_cogrid() {
        (7, 11)
    } else {
        (4, 5)
    };
    scene.field(0, "object_type_masks")[(mask * rows + at[0]) * cols + at[1]] == 1.0
}

const ONION_SOUP: usize = 3;

#[test]
fn a_delivered_soup_is_gone() {
    for (mut scene, stays) in both(&layout("cramped_room")).into_iter().zip([true, false]) {
        scene.put(0, [2, 3], Direction::Down, "onion_soup");
        scene.put(1, [1, 1], Direction::Up, "");
        let told = scene.step(&[PICK_UP_OR_DROP, NOOP]);
        assert_eq!(told, (vec![event("delivery", 0, 20.0)], vec![20.0; 2]));
        assert_eq!(shows(&scene, ONION_SOUP, [3, 3]), stays);
        assert_eq!((scene.held(0), scene.env.score(&scene.state)), ("", 20));
    }
}

#[test]
fn only_the_onion_that_goes_in_is_paid() {
    let one = event("onion_in_pot", 0, 3.0);
    let paid = [
        (
            vec![one.clone(), event("onion_in_pot", 1, 3.0)],
            vec![6.0; 2],
        ),
        (vec![one], vec![3.0; 2]),
    ];
    for (mut scene, paid) in both(&layout("asymmetric_advantages")).into_iter().zip(paid) {
        scene.put(0, [2, 3], Direction::Right, "onion");
        scene.put(1, [2, 5], Direction::Left, "onion");
        scene.fill([2, 4], &["onion", "onion"], 30);
        assert_eq!(scene.step(&[PICK_UP_OR_DROP; 2]), paid);
        assert_eq!([scene.held(0), scene.held(1)], ["", "onion"]);
        assert_eq!(scene.pot([2, 4]), (3, 30));
    }
}

#[test]
fn only_the_soup_that_comes_out_is_paid() {
    let one = event("soup_in_dish", 0, 5.0);
    let paid = [
        (
            vec![one.clone(), event("soup_in_dish", 1, 5.0)],
            vec![10.0; 2],
        ),
        (vec![one], vec![5.0; 2]),
    ];
    for (mut scene, paid) in both(&layout("asymmetric_advantages")).into_iter().zip(paid) {
        scene.put(0, [2, 3], Direction::Right, "plate");
        scene.put(1, [2, 5], Direction::Left, "plate");
        scene.fill([2, 4], &["onion"; 3], 0);
        assert_eq!(scene.step(&[PICK_UP_OR_DROP; 2]), paid);
        assert_eq!([scene.held(0), scene.held(1)], ["onion_soup", "plate"]);
    }
}

#[test]
fn a_soup_taken_as_it_becomes_ready_is_paid() {
    let paid = [
        (vec![], vec![0.0; 2]),
        (vec![event("soup_in_dish", 0, 5.0)], vec![5.0; 2]),
    ];
    for (mut scene, paid) in both(&layout("cramped_room")).into_iter().zip(paid) {
        scene.put(0, [1, 2], Direction::Up, "plate");
        scene.put(1, [2, 1], Direction::Up, "");
        scene.fill([0, 2], &["onion"; 3], 1);
        assert_eq!(scene.step(&[PICK_UP_OR_DROP, NOOP]), paid);
        assert_eq!((scene.held(0), scene.pot([0, 2]).0), ("onion_soup", 0));
    }
}

#[test]
fn a_cooking_pot_never_looks_like_an_item() {
    for (mut scene, looks) in both(&layout("cramped_room")).into_iter().zip([true, false]) {
        scene.fill([0, 2], &["onion"; 3], 3);
        scene.step(&[NOOP; 2]);
        // Three onions and two steps left make 9, CoGrid's number of onion soup.
        assert_eq!(shows(&scene, ONION_SOUP, [0, 2]), looks);
    }
}

#[test]
fn a_pot_has_no_second_number_that_lags() {
    for (mut scene, [at_once, later]) in both(&layout("cramped_room"))
        .into_iter()
        .zip([[0, 31], [0, 0]])
    {
        scene.put(0, [1, 2], Direction::Up, "onion");
        scene.put(1, [2, 1], Direction::Up, "");
        scene.step(&[PICK_UP_OR_DROP, NOOP]);
        assert_eq!((scene.pot([0, 2]).0, scene.value([0, 2])), (1, at_once));
        scene.step(&[NOOP; 2]);
        assert_eq!((scene.pot([0, 2]).0, scene.value([0, 2])), (1, later));
    }
}

#[test]
fn the_world_stands_still_after_the_end() {
    for (mut scene, goes_on) in both(&layout("cramped_room")).into_iter().zip([true, false]) {
        scene.put(0, [2, 3], Direction::Down, "onion_soup");
        scene.put(1, [1, 1], Direction::Up, "");
        scene.state.steps = 199;
        scene.step(&[NOOP; 2]);
        let before = scene.state.clone();
        let (events, rewards) = scene.step(&[PICK_UP_OR_DROP, NOOP]);
        assert_eq!((rewards, scene.env.score(&scene.state)), (vec![0.0; 2], 0));
        assert_eq!(
            (scene.state != before, !events.is_empty()),
            (goes_on, goes_on)
        );
    }
}

#[test]
fn four_in_a_file_never_overlap() {
    let params = Params {
        layout: Chart::Rows(["CCCCCCC", "C++++ C", "CCCUCCC"].map(Into::into).into()),
        seats: 4,
        features: ["agent_position".into()].into(),
        ..Params::default()
    };
    let mut overlaps = [0; 2];
    for (mut scene, overlaps) in both(&params).into_iter().zip(&mut overlaps) {
        let mut rng = Rng::new(3);
        for _ in 0..600 {
            let action = if rng.flip() { MOVE_LEFT } else { MOVE_RIGHT };
            scene.step(&[action; 4]);
            let cells = scene.state.agents[..4].iter().map(|agent| agent.cell);
            let distinct = cells.collect::<std::collections::BTreeSet<_>>().len();
            *overlaps += usize::from(distinct < 4);
        }
    }
    assert!(overlaps[0] > 0 && overlaps[1] == 0, "{overlaps:?}");
}

#[test]
fn a_cook_that_turns_is_turned() {
    let params = Params {
        actions: ActionSet::Rotation,
        ..layout("cramped_room")
    };
    let turned = [[Direction::Up; 2], [Direction::Right, Direction::Up]];
    for (mut scene, turned) in both(&params).into_iter().zip(turned) {
        scene.put(0, [1, 2], Direction::Up, "");
        scene.put(1, [2, 1], Direction::Up, "");
        let (left, right) = (4, 5);
        for facing in turned {
            scene.step(&[if facing == turned[0] { right } else { left }, 3]);
            assert_eq!(scene.state.agents[0].facing, facing);
        }
    }
}

#[test]
fn a_pot_cooks_as_long_as_it_is_told() {
    let corrected = Params {
        cook_time: Some(5),
        ..layout("cramped_room")
    };
    let cogrid = Params {
        rules: RuleSet::Cogrid,
        ..corrected.clone()
    };
    let refused = Overcooked::new(cogrid).err().unwrap();
    assert!(
        refused.to_string().starts_with("cook_time: is 30 steps"),
        "{refused}"
    );
    let mut scene = Scene::new(corrected);
    scene.put(0, [1, 2], Direction::Up, "onion");
    scene.put(1, [2, 1], Direction::Up, "");
    scene.fill([0, 2], &["onion"; 2], 5);
    scene.step(&[PICK_UP_OR_DROP, NOOP]);
    for left in (0..5).rev() {
        scene.step(&[NOOP; 2]);
        assert_eq!(scene.pot([0, 2]), (3, left));
    }
}

#[test]
fn a_cook_may_be_alone_and_there_may_be_sixteen() {
    for seats in [1, 3, 8] {
        for (name, _) in layouts::CLASSIC {
            let params = Params {
                seats,
                ..layout(name)
            };
            let Ok(env) = Overcooked::new(params) else {
                assert!(seats > 3, "{name} has room for {seats}");
                continue;
            };
            let state = env.reset(9);
            assert!(env.valid(&state));
            let mut seen = vec![0.0; env.spec().observation_len()];
            (0..usize::from(seats)).for_each(|seat| env.observe(&state, seat, &mut seen));
        }
    }
    let sixteen = Params {
        seats: 16,
        ..layout("banquet")
    };
    let mut outcome = StepOutcome::default();
    let env = Overcooked::new(sixteen).unwrap();
    let mut state = env.reset(1);
    env.step(&mut state, &[MOVE_LEFT; 16], &mut outcome);
    assert!(env.valid(&state));
}

#[test]
fn both_rules_move_the_same_world() {
    for (number, (name, _)) in (0..).zip(&layouts::CLASSIC[..5]) {
        let [mut cogrid, mut corrected] = both(&layout(name));
        let mut rng = Rng::new(number);
        corrected.state = State {
            draws: corrected.state.draws.clone(),
            ..cogrid.state.clone()
        };
        for _ in 0..200 {
            let actions = [(); 2].map(|()| [0, 1, 2, 3, 4, 4, 4][rng.below(7) as usize]);
            let first = rng.below(2);
            for scene in [&mut cogrid, &mut corrected] {
                scene.env.inject(&mut scene.state, &[first, 1 - first]);
                scene.step(&actions);
            }
            let tables = cogrid.env.tables();
            assert_eq!(cogrid.state.agents, corrected.state.agents);
            assert_eq!(cogrid.state.kinds(tables), corrected.state.kinds(tables));
            assert!(
                cogrid
                    .state
                    .fixtures(tables)
                    .eq(corrected.state.fixtures(tables))
            );
            let counter = tables.id("counter").unwrap();
            let counters =
                (0..tables.cells as u16).filter(|&cell| cogrid.state.kind(cell) == counter);
            for cell in counters {
                assert_eq!(
                    cogrid.state.value(tables, cell),
                    corrected.state.value(tables, cell)
                );
            }
        }
    }
}

#[test]
fn cooks_never_share_a_cell_and_never_swap() {
    let blind = |name| Params {
        features: Vec::new(),
        ..layout(name)
    };
    for mut scene in layouts::CLASSIC
        .iter()
        .flat_map(|(name, _)| both(&blind(name)))
    {
        let mut rng = Rng::new(11);
        for _ in 0..200 {
            let [a, b] = [0, 1].map(|seat| scene.state.agents[seat].cell);
            scene.step(&[(); 2].map(|()| rng.below(u32::from(MOVE_RIGHT) + 1) as u16));
            let [c, d] = [0, 1].map(|seat| scene.state.agents[seat].cell);
            assert!(c != d && [c, d] != [b, a]);
        }
    }
}

#[test]
fn the_one_who_moves_first_wins_a_shared_target_and_can_be_followed() {
    for mut scene in both(&layout("cramped_room")) {
        let first = scene.state.clone();
        for (ranks, shared, file) in [([0, 1], [2, 3], [1, 3]), ([1, 0], [1, 2], [2, 3])] {
            let mut ends = |from: [usize; 2], actions: [u16; 2]| {
                scene.state = first.clone();
                scene.put(0, [1, from[0]], Direction::Up, "");
                scene.put(1, [1, from[1]], Direction::Up, "");
                scene.env.inject(&mut scene.state, &ranks);
                scene.step(&actions);
                [0, 1].map(|seat| usize::from(scene.state.agents[seat].cell) - 5)
            };
            assert_eq!(ends([1, 3], [MOVE_RIGHT, MOVE_LEFT]), shared);
            assert_eq!(ends([1, 2], [MOVE_RIGHT, MOVE_RIGHT]), file);
        }
    }
}

#[test]
fn an_injected_draw_holds_for_one_step() {
    for mut scene in both(&layout("cramped_room")) {
        let before = scene.state.draws.clone();
        scene.env.inject(&mut scene.state, &[1, 0]);
        scene.step(&[NOOP; 2]);
        assert!(scene.state.injected.is_none());
        // CoGrid draws the key of every step, whatever is injected.
        let cogrid = scene.env.tables().is_cogrid();
        assert_eq!(scene.state.draws != before, cogrid);
        let before = scene.state.draws.clone();
        scene.step(&[NOOP; 2]);
        assert!(scene.state.draws != before);
    }
}

#[test]
fn items_lie_on_counters_and_on_the_floor() {
    for mut scene in both(&layout("cramped_room")) {
        scene.put(0, [1, 1], Direction::Right, "onion");
        scene.put(1, [2, 3], Direction::Up, "");
        let (floor, start) = (scene.cell(1, 2), scene.cell(1, 1));
        scene.step(&[PICK_UP_OR_DROP, NOOP]);
        assert_eq!(
            (scene.held(0), scene.name(scene.state.kind(floor))),
            ("", "onion")
        );
        scene.step(&[MOVE_RIGHT, NOOP]);
        assert_eq!(
            scene.state.agents[0].cell, start,
            "an item on the floor is in the way"
        );
        scene.step(&[PICK_UP_OR_DROP, NOOP]);
        assert_eq!((scene.held(0), scene.state.kind(floor)), ("onion", 0));
    }
}

#[test]
fn a_full_pot_cooks_for_thirty_steps() {
    for mut scene in both(&layout("cramped_room")) {
        scene.put(0, [1, 2], Direction::Up, "onion");
        scene.put(1, [2, 1], Direction::Up, "");
        scene.fill([0, 2], &["onion"; 2], 30);
        scene.step(&[PICK_UP_OR_DROP, NOOP]);
        for left in (1..=30).rev() {
            assert_eq!(scene.pot([0, 2]), (3, left));
            scene.step(&[NOOP; 2]);
        }
        assert_eq!(scene.pot([0, 2]), (3, 0));
    }
}

#[test]
fn the_schema_names_every_parameter_with_its_default() {
    fn keeps<E: Environment>() {
        let schema: serde_json::Value = serde_json::from_str(E::params_schema()).unwrap();
        let defaults = serde_json::to_value(E::Params::default()).unwrap();
        let named = schema["properties"].as_object().unwrap();
        let defaults = defaults.as_object().unwrap();
        assert!(named.keys().eq(defaults.keys()));
        for (name, value) in defaults {
            let text = |value: &serde_json::Value| value.to_string().replace(".0", "");
            assert_eq!(text(&named[name]["default"]), text(value), "{name}");
        }
        let layouts = named
            .get("layout")
            .map(|layout| &layout["anyOf"][0]["enum"]);
        for layout in layouts.iter().flat_map(|names| names.as_array().unwrap()) {
            let params = format!(r#"{{"layout":{layout}}}"#);
            env_core::envs::build_environment::<E>(params.as_bytes()).unwrap();
        }
    }
    keeps::<Overcooked>();
    keeps::<env_core::envs::overcooked_v2::OvercookedV2>();
    keeps::<env_core::envs::overcooked_jaxmarl_v2::OvercookedJaxmarlV2>();
    keeps::<env_core::envs::hanabi::Hanabi>();
}

#[test]
fn wrong_parameters_are_named() {
    let refused = |json: &str| {
        env_core::envs::open("overcooked", json)
            .err()
            .unwrap()
            .to_string()
    };
    for (json, start) in [
        (
            r#"{"layot":"cramped_room"}"#,
            "layot: there is no parameter `layot`; did you mean `layout`?",
        ),
        (
            r#"{"layout":"cramped_rom"}"#,
            "layout: there is no layout `cramped_rom`; did you mean `cramped_room`?",
        ),
        (
            r#"{"layout":"test_time_wide"}"#,
            "layout: `test_time_wide` is a kitchen of the environment `overcooked_v2`",
        ),
        (
            r#"{"layout":["CC","C"]}"#,
            "layout[1]: row 2 has 1 symbols and row 1 has 2",
        ),
        (
            r#"{"layout":["CCC","CuC"]}"#,
            "layout[1]: row 2, column 2: no kind has the symbol `u`; did you mean `U` (pot)",
        ),
        (
            r#"{"layout":7}"#,
            "layout: invalid type: integer `7`, expected the name of a layout",
        ),
        (r#"{"seats":17}"#, "seats: must be 1 to 16"),
        (
            r#"{"seats":7}"#,
            "layout: has 6 free cells, and there are 7 seats",
        ),
        (r#"{"horizon":0}"#, "horizon: must be 1 to"),
        (r#"{"horizon":"long"}"#, "horizon: invalid type"),
        (r#"{"tick_hz":61}"#, "tick_hz: must be 1 to 60"),
        (
            r#"{"rules":"fair","horizon":3}"#,
            "rules: there is no choice `fair`",
        ),
        (r#"{"cook_time":0}"#, "cook_time: must be 1 to 255 steps"),
        (
            r#"{"features":["agent_dirr"]}"#,
            "features[0]: there is no feature `agent_dirr`; did you mean `agent_dir`?",
        ),
        (
            r#"{"rewards":[{"kind":"delivery","worth":1e9}]}"#,
            "rewards.delivery: must be",
        ),
        (
            r#"{"rewards":{"delivery":1}}"#,
            "rewards: invalid type: map, expected a sequence",
        ),
        (
            r#"{"rewards":[{"kind":"delivery"}]}"#,
            "rewards[0]: missing field `worth`",
        ),
        (
            r#"{"rewards":[{"kind":"delivery","worth":1},{"kind":"delivery","worth":2}]}"#,
            "rewards[1]: `delivery` is listed twice",
        ),
        (
            r#"{"rewards":[{"kind":"order_delivery","worth":1}]}"#,
            "rewards[0]: `order_delivery` is paid for orders, and there are none",
        ),
        (
            r#"{"rewards":[{"kind":"target_delivery","worth":1}]}"#,
            "rewards[0]: `target_delivery` is paid for the soup that is wanted",
        ),
        (
            r#"{"rewards":[{"kind":"delivery","worth":1,"tip":1}]}"#,
            "rewards[0]: `tip` belongs to `order_delivery`",
        ),
        (
            r#"{"orders":{"max_active":9,"time_limit":5,"spawn":{}}}"#,
            "orders.max_active: must be 1 to 8",
        ),
        (
            r#"{"orders":{"max_active":2,"time_limit":5,"spawn":{"onion_soup":0.6,"tomato_soup":0.6}}}"#,
            "orders.spawn: must be probabilities",
        ),
        (
            r#"{"targets":["onion_sop"]}"#,
            "targets: there is no soup `onion_sop`; did you mean `onion_soup`?",
        ),
        ("[]", "params: must be an object"),
        ("{", "params: EOF"),
    ] {
        assert!(
            refused(json).starts_with(start),
            "{}\n{start}",
            refused(json)
        );
    }
    let unknown = env_core::envs::open("overcoked", "")
        .err()
        .unwrap()
        .to_string();
    assert_eq!(
        unknown,
        "environment: there is no environment `overcoked`; did you mean `overcooked`? (there is: overcooked, \
         overcooked_v2, goal_finding, goal_seeking, search_rescue, grid, overcooked_ai, dual_destination, hanabi, overcooked_jaxmarl_v2)"
    );
}
