//! Shows each fix of CoGrid 0.3.2 in Overcooked V2 by the corrected rules.

use std::collections::BTreeSet;

use env_core::Environment as _;
use env_core::draw::{DrawList, Shape};
use env_core::envs::kitchen::params::Second;
use env_core::envs::overcooked::{NOOP, PICK_UP_OR_DROP, RuleSet, TOGGLE};
use env_core::envs::overcooked_v2::{Chart, Earning, KitchenReward, OvercookedV2, Params};
use env_core::grid::Direction;

use crate::kitchen::{Scene, both, event};

fn layout(name: &str) -> Params {
    Params {
        layout: Chart::from(name),
        ..Params::default()
    }
}

/// Makes the soup with this number the wanted one in the next step, and sets the next choice after that.
fn want(scene: &mut Scene<Second>, target: u8, next: u32) {
    scene.state.extra.target = target;
    let half = 0.5_f32.to_bits();
    let words = [[0, 1].as_slice(), &[half; 8], &[next]].concat();
    scene.env.inject(&mut scene.state, &words);
}

/// The first cook before the open delivery zone of `grounded_coord_simple`, the other out of the way.
fn delivery(scene: &mut Scene<Second>, soup: &str) {
    scene.put(0, [2, 6], Direction::Right, soup);
    scene.put(1, [1, 1], Direction::Up, "");
}

#[test]
fn a_mixed_soup_is_judged_like_any_other() {
    let paid = [vec![], vec![event("target_delivery", 0, -20.0)]];
    for (mut scene, paid) in both(&layout("grounded_coord_simple")).into_iter().zip(paid) {
        delivery(&mut scene, "soup_onion_onion_tomato");
        want(&mut scene, 0, 0);
        assert_eq!(scene.step(&[PICK_UP_OR_DROP, NOOP]).0, paid);
        assert_eq!(scene.held(0), "");
    }
}

#[test]
fn a_mixed_soup_can_be_wanted() {
    let mixed = "soup_broccoli_onion_tomato";
    let params = Params {
        targets: ["onion_soup", mixed].map(Into::into).into(),
        ..layout("grounded_coord_simple")
    };
    for (mut scene, paid) in both(&params).into_iter().zip([0.0, 20.0]) {
        delivery(&mut scene, mixed);
        want(&mut scene, 1, 0);
        let told = scene.step(&[PICK_UP_OR_DROP, NOOP]);
        assert_eq!(told.1, [paid; 2]);
    }
}

#[test]
fn a_zone_of_the_first_version_takes_mixed_soups() {
    let params = Params {
        layout: Chart::Rows(["CC@CC", "O + O", "= + u", "CCRCC"].map(Into::into).into()),
        ..Params::default()
    };
    for (mut scene, held) in both(&params)
        .into_iter()
        .zip(["soup_onion_onion_tomato", ""])
    {
        scene.put(0, [1, 2], Direction::Up, "soup_onion_onion_tomato");
        scene.put(1, [2, 3], Direction::Up, "");
        scene.step(&[PICK_UP_OR_DROP, NOOP]);
        assert_eq!(scene.held(0), held);
    }
}

#[test]
fn what_no_pot_takes_costs_nothing() {
    let wrong = event("target_ingredient_in_pot", 0, -3.0);
    for (mut scene, paid) in both(&layout("grounded_coord_simple"))
        .into_iter()
        .zip([vec![wrong], vec![]])
    {
        scene.put(0, [2, 5], Direction::Left, "plate");
        scene.put(1, [1, 1], Direction::Up, "");
        want(&mut scene, 0, 0);
        assert_eq!(scene.step(&[PICK_UP_OR_DROP, NOOP]).0, paid);
        assert_eq!(scene.held(0), "plate");
    }
}

#[test]
fn an_ingredient_of_the_wanted_soup_is_paid_and_any_other_costs() {
    for mut scene in both(&layout("grounded_coord_simple")) {
        for (held, target, worth) in [("onion", 0, 3.0), ("tomato", 0, -3.0), ("tomato", 1, 3.0)] {
            scene.put(0, [2, 5], Direction::Left, held);
            scene.put(1, [1, 1], Direction::Up, "");
            scene.fill([2, 4], &[], 20);
            want(&mut scene, target, 0);
            let told = scene.step(&[PICK_UP_OR_DROP, NOOP]);
            assert_eq!(told.0, [event("target_ingredient_in_pot", 0, worth)]);
        }
    }
}

#[test]
fn the_wanted_soup_is_paid_as_it_becomes_ready() {
    for (mut scene, paid) in both(&layout("grounded_coord_simple"))
        .into_iter()
        .zip([0.0, 5.0])
    {
        scene.put(0, [2, 5], Direction::Left, "plate");
        scene.put(1, [1, 1], Direction::Up, "");
        scene.fill([2, 4], &["onion"; 3], 1);
        want(&mut scene, 0, 0);
        assert_eq!(scene.step(&[PICK_UP_OR_DROP, NOOP]).1, [paid; 2]);
        assert_eq!(scene.held(0), "onion_soup");
    }
}

/// The first cook before the button of `grounded_coord_simple`.
fn button(scene: &mut Scene<Second>, timer: u8) {
    scene.put(0, [2, 2], Direction::Right, "");
    scene.put(1, [1, 6], Direction::Up, "");
    scene.fill([2, 3], &[], timer);
    let lit = scene.env.tables().is_cogrid() && timer > 0;
    let index = scene
        .state
        .fixture_in(scene.env.tables(), scene.cell(2, 3))
        .unwrap();
    scene.state.extra.lit = u64::from(lit) << index;
}

#[test]
fn a_button_pressed_as_it_goes_out_is_not_free() {
    let cost = event("button", 0, -5.0);
    for (mut scene, paid) in both(&layout("grounded_coord_simple"))
        .into_iter()
        .zip([vec![], vec![cost.clone()]])
    {
        button(&mut scene, 1);
        assert_eq!(scene.step(&[TOGGLE, NOOP]).0, paid);
        assert_eq!(scene.pot([2, 3]), (0, 10));
        // A button that is lit is not pressed, and one that is dark costs by both rules.
        assert_eq!(scene.step(&[TOGGLE, NOOP]).0, []);
        button(&mut scene, 0);
        assert_eq!(scene.step(&[TOGGLE, NOOP]).0, std::slice::from_ref(&cost));
    }
}

#[test]
fn a_button_that_costs_nothing_works() {
    let params = Params {
        rewards: [KitchenReward::new(Earning::TargetDelivery, 20.0)].into(),
        ..layout("grounded_coord_simple")
    };
    for (mut scene, timer) in both(&params).into_iter().zip([0, 10]) {
        button(&mut scene, 0);
        scene.step(&[TOGGLE, NOOP]);
        assert_eq!(scene.pot([2, 3]), (0, timer));
    }
}

#[test]
fn a_display_shows_what_is_wanted_without_lag() {
    let params = Params {
        view_radius: None,
        ..layout("grounded_coord_simple")
    };
    // CoGrid's number of the display is one step late; ours is not a number, and it shows the wanted soup.
    for (mut scene, late) in both(&params).into_iter().zip([[1, 1, 2], [0, 0, 0]]) {
        delivery(&mut scene, "onion_soup");
        let mut shown = Vec::new();
        for action in [PICK_UP_OR_DROP, NOOP, NOOP] {
            if action == PICK_UP_OR_DROP {
                want(&mut scene, 0, 1);
            } else {
                let target = scene.state.extra.target;
                want(&mut scene, target, 1);
            }
            scene.step(&[action, NOOP]);
            shown.push((scene.value([2, 0]), scene.state.extra.target));
        }
        let [a, b, c] = late;
        assert_eq!(shown, [(a, 0), (b, 1), (c, 1)]);
    }
}

#[test]
fn what_is_wanted_comes_from_the_seed() {
    // In CoGrid, it comes from a generator that no seed fixes; here, a recording determines it.
    for rules in [RuleSet::Cogrid, RuleSet::Corrected] {
        let env = OvercookedV2::new(Params {
            rules,
            ..Params::default()
        })
        .unwrap();
        let wanted = |seed| env.reset(seed).extra.target;
        assert!((0..20).all(|seed| wanted(seed) == wanted(seed)));
        let all: BTreeSet<u8> = (0..20).map(wanted).collect();
        assert_eq!(all.len(), 2, "every soup is wanted sometimes");
    }
}

#[test]
fn a_pot_beside_an_open_pot_is_a_pot() {
    let params = Params {
        layout: Chart::Rows(["CCUCC", "O + O", "= + u", "CCRXC"].map(Into::into).into()),
        rewards: [KitchenReward::new(Earning::OnionInPot, 3.0)].into(),
        ..Params::default()
    };
    // CoGrid takes and pays one onion after the other, and the pot stays empty.
    for (mut scene, count) in both(&params).into_iter().zip([0, 1]) {
        scene.put(0, [1, 2], Direction::Up, "onion");
        scene.put(1, [2, 3], Direction::Up, "");
        let (_, rewards) = scene.step(&[PICK_UP_OR_DROP, NOOP]);
        assert_eq!((scene.held(0), scene.pot([0, 2]).0), ("", count));
        assert_eq!(rewards, [3.0; 2]);
    }
}

#[test]
fn the_second_version_leaves_the_first_alone() {
    // In CoGrid, a kitchen of the second version changes those of the first for the rest of the process.
    for rules in ["cogrid-0.3.2", "corrected"] {
        let params = format!(r#"{{"rules":"{rules}"}}"#);
        let play = |with_second: bool| {
            let mut first = env_core::envs::open("overcooked", &params).unwrap();
            let mut second = env_core::envs::open("overcooked_v2", &params).unwrap();
            (0..200).for_each(|step: u16| {
                first.step(&[step % 7, step % 5]);
                if with_second {
                    second.step(&[step % 7, step % 5]);
                }
            });
            first.digest()
        };
        assert_eq!(play(true), play(false));
    }
}

#[test]
fn displays_and_lit_buttons_show_the_soup_that_is_wanted() {
    let mut scene = Scene::new(layout("grounded_coord_ring"));
    let shown = |scene: &Scene<Second>| {
        let mut list = DrawList::default();
        scene.env.draw(&scene.state, None, &mut list);
        let soups = list.items.iter().filter(|item| match item.shape {
            Shape::Sprite(index) => {
                OvercookedV2::sprites()[usize::from(index)].name == "tomato_soup"
            }
            _ => false,
        });
        soups.count()
    };
    scene.state.extra.target = 1;
    assert_eq!(shown(&scene), 4, "four displays");
    scene.fill([2, 4], &[], 5);
    assert_eq!(shown(&scene), 5, "and a button");
    scene.state.extra.target = 0;
    assert_eq!(shown(&scene), 0);
}

#[test]
fn people_see_no_farther_than_policies() {
    let mut scene = Scene::new(layout("grounded_coord_ring"));
    let cells = |scene: &Scene<Second>, seat| {
        let mut list = DrawList::default();
        scene.env.draw(&scene.state, seat, &mut list);
        let agents = list
            .items
            .iter()
            .filter(|item| item.id == 1 || item.id == 2);
        (agents.count(), list.items.len())
    };
    let words = |scene: &Scene<Second>, seat| {
        let mut words = String::new();
        scene.env.describe(&scene.state, seat, &mut words);
        words
    };
    let cell = |row: u16, col: u16| 9 * row + col;
    // In opposite corners of the ring; a display is two cells from the first cook.
    scene.state.agents[0].cell = cell(2, 1);
    scene.state.agents[1].cell = cell(7, 7);
    assert_eq!(cells(&scene, None).0, 2, "the whole kitchen has both cooks");
    assert_eq!(cells(&scene, Some(0)).0, 1, "a cook sees itself alone");
    assert!(words(&scene, 0).contains("Your partner is out of sight."));
    assert!(words(&scene, 0).contains("Wanted now"));
    scene.state.agents[1].cell = cell(3, 1);
    assert_eq!(cells(&scene, Some(0)).0, 2, "and a cook beside it");
    assert!(words(&scene, 1).contains("Your partner is at"));

    let everything = r#"{"layout": "grounded_coord_ring", "view_radius": null}"#;
    let mut world = env_core::envs::open("overcooked_v2", everything).unwrap();
    let (mut own, mut whole) = (DrawList::default(), DrawList::default());
    world.draw(Some(0), &mut own);
    world.draw(None, &mut whole);
    assert_eq!(own, whole);
    assert!(world.spec().perfect_information);
}

#[test]
fn other_features_need_no_other_radius() {
    let params = r#"{"features": ["agent_position", "inventory"]}"#;
    let world = env_core::envs::open("overcooked_v2", params).unwrap();
    assert_eq!(world.spec().observation_len(), 6);
}

#[test]
fn wrong_parameters_are_named() {
    for (json, start) in [
        (
            r#"{"layout":"cramped_room"}"#,
            "layout: `cramped_room` is a kitchen of the environment `overcooked`",
        ),
        (
            r#"{"layout":["CCRC","O++=","C@OC"]}"#,
            "targets: no pot of this kitchen makes `onion_soup`",
        ),
        (
            r#"{"targets":[]}"#,
            "rewards[0]: `target_delivery` is paid for the soup that is wanted, and `targets` is empty",
        ),
        (
            r#"{"targets":["soup_onion_onion_tomatoe"]}"#,
            "targets: there is no soup `soup_onion_onion_tomatoe`; did you mean `soup_onion_onion_tomato`?",
        ),
        (
            r#"{"targets":["onion_soup","onion_soup"]}"#,
            "targets: `onion_soup` is listed twice",
        ),
    ] {
        let refused = env_core::envs::open("overcooked_v2", json)
            .err()
            .unwrap()
            .to_string();
        assert!(refused.starts_with(start), "{refused}");
    }
}
