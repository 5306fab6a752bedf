//! Grid worlds that are written as data.

use env_core::conformance::check_batch;
use env_core::draw::DrawList;
use env_core::envs;
use env_core::envs::grid::{GridFile, Params};
use env_core::grid::Chart;
use env_core::{Action, World};
use serde_json::{Value, json};

const UP: Action = 0;
const DOWN: Action = 1;
const LEFT: Action = 2;
const RIGHT: Action = 3;
const REACH: Action = 4;
const STAY: Action = 6;

/// A world with one of everything that a file can declare.
fn workshop() -> Value {
    serde_json::from_str(include_str!("workshop.json")).unwrap()
}

fn open(params: &Value) -> Box<dyn World + Send> {
    envs::open("grid", &params.to_string()).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(params: &Value) -> String {
    let opened = envs::open("grid", &params.to_string());
    opened.err().expect("it is refused").to_string()
}

/// The workshop with other parameters.
fn with(changes: Value) -> Value {
    let mut params = workshop();
    let all = params.as_object_mut().unwrap();
    all.extend(changes.as_object().unwrap().clone());
    params
}

fn words(world: &mut dyn World, seat: usize) -> String {
    let mut words = String::new();
    world.describe(seat, &mut words);
    words
}

fn play(world: &mut dyn World, seat: usize, actions: &[Action]) -> Vec<f32> {
    let mut sums = vec![0.0; 2];
    for &action in actions {
        let mut all = [STAY; 2];
        all[seat] = action;
        let outcome = world.step(&all);
        (0..2).for_each(|seat| sums[seat] += outcome.rewards[seat]);
    }
    sums
}

#[test]
fn a_world_of_data_keeps_the_laws() {
    let worlds = [
        json!({}),
        json!({"layout": "generated"}),
        json!({"layout": "generated", "seats": 4, "actions": "rotation", "horizon": 120}),
        json!({"layout": "generated", "fog": true, "tick_hz": 0}),
    ];
    let read = |changes| serde_json::from_value::<Params>(with(changes)).unwrap();
    let alone = Params {
        seats: 1,
        ..Params::default()
    };
    let params = worlds.map(read).into_iter();
    check_batch::<GridFile>(params.chain([Params::default(), alone])).unwrap();
}

#[test]
fn parameters_survive_being_written() {
    let params: Params = serde_json::from_value(workshop()).unwrap();
    let written = serde_json::to_value(&params).unwrap();
    assert_eq!(serde_json::from_value::<Params>(written).unwrap(), params);
}

#[test]
fn the_schema_names_every_parameter_with_its_default() {
    let world = open(&json!({}));
    assert_eq!(world.spec().title, "Grid world");
    let schema: Value =
        serde_json::from_str(<GridFile as env_core::Environment>::params_schema()).unwrap();
    let defaults = serde_json::to_value(Params::default()).unwrap();
    let (named, defaults) = (
        schema["properties"].as_object().unwrap(),
        defaults.as_object().unwrap(),
    );
    assert!(named.keys().eq(defaults.keys()));
    for (name, value) in defaults {
        let said = &named[name];
        if said["properties"].is_null() || !said["default"].is_null() {
            assert_eq!(said["default"].to_string(), value.to_string(), "{name}");
        }
    }
}

#[test]
fn things_are_used_by_the_seats_that_may() {
    let mut world = open(&workshop());
    world.reset(1);
    // Seat 0 takes the gem, which seat 1 cannot.
    let paid = play(world.as_mut(), 1, &[DOWN, REACH, REACH]);
    assert_eq!(paid, [0.0, 0.0]);
    assert!(words(world.as_mut(), 1).contains("gem"));
    let paid = play(world.as_mut(), 1, &[RIGHT, UP, STAY]);
    assert_eq!(paid, [0.0, 0.0]);
    let paid = play(world.as_mut(), 0, &[RIGHT, RIGHT, DOWN, REACH]);
    assert_eq!(paid, [0.5, 0.0], "{}", words(world.as_mut(), 0));
}

#[test]
fn the_oven_bakes_what_its_recipes_say() {
    let mut world = open(&workshop());
    world.reset(1);
    // Seat 0 leaves the ore, tries the oven with empty hands on its way, and cannot use it.
    play(world.as_mut(), 0, &[UP, UP, REACH, RIGHT, RIGHT]);
    let fetch_and_bring = [LEFT, REACH, UP, UP, REACH];
    play(world.as_mut(), 1, &[LEFT, LEFT]);
    play(world.as_mut(), 1, &fetch_and_bring);
    play(world.as_mut(), 1, &[DOWN]);
    play(world.as_mut(), 1, &fetch_and_bring);
    // It bakes for three steps, and is asked too early at first.
    let deliver = [REACH, STAY, STAY, REACH, RIGHT, UP, REACH];
    assert_eq!(play(world.as_mut(), 1, &deliver), [1.0, 1.0]);
    assert_eq!(world.score(), 1);
}

#[test]
fn an_episode_ends_when_what_must_be_gone_is_gone() {
    let params = with(json!({
        "layout": ["#####", "#+g+#", "#####"],
        "ends": {"when_gone": ["gem"]},
    }));
    let mut world = open(&params);
    world.reset(3);
    assert!(!world.step(&[RIGHT, STAY]).over);
    let outcome = world.step(&[REACH, STAY]);
    assert!(outcome.over && outcome.terminated == 0b11);

    let params = with(json!({
        "layout": ["#####", "#+X+#", "#####"],
        "ends": {"at_score": 0},
    }));
    let mut world = open(&params);
    world.reset(3);
    assert!(world.step(&[STAY, STAY]).over);
}

#[test]
fn only_seats_in_the_fog_see_less() {
    let params = with(json!({
        "layout": ["##########", "#+      +#", "#g      g#", "##########"],
    }));
    let mut world = open(&params);
    world.reset(1);
    let told = [0, 1].map(|seat| words(world.as_mut(), seat));
    assert!(
        told[1].contains("Your partner is out of sight"),
        "{}",
        told[1]
    );
    assert!(told[0].contains("Your partner is at"), "{}", told[0]);
    let gems = |told: &str| {
        told.lines()
            .find(|line| line.contains("gem"))
            .unwrap()
            .matches("row")
            .count()
    };
    assert_eq!([gems(&told[0]), gems(&told[1])], [2, 1]);
    let items = |world: &mut dyn World, seat| {
        let mut list = DrawList::default();
        world.draw(seat, &mut list);
        list.items
    };
    assert_eq!(items(world.as_mut(), Some(0)), items(world.as_mut(), None));
    assert_ne!(items(world.as_mut(), Some(1)), items(world.as_mut(), None));
    assert!(!world.spec().perfect_information);
}

#[test]
fn generated_maps_have_everything_within_reach() {
    let params = with(json!({"layout": "generated", "ends": {}, "fog": false}));
    let mut world = open(&params);
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..200 {
        world.reset(seed);
        let told = words(world.as_mut(), 0);
        let count = |name: &str| {
            let line = told.lines().find(|line| line.starts_with(name));
            line.map_or(0, |line| line.matches("row").count())
        };
        assert_eq!(count("A gem"), 5, "{told}");
        assert_eq!(count("An ore pile"), 2, "{told}");
        seen.insert(told);
    }
    assert!(seen.len() > 190);
    // More walls than there is room for leave some out, and nothing else.
    let crowded = with(json!({"layout": "generated", "map": {
        "rows": 7, "cols": 7, "border": "wall",
        "things": [{"kind": "wall", "count": 20}, {"kind": "gem", "count": 1}],
    }}));
    let mut world = open(&crowded);
    for seed in 0..50 {
        world.reset(seed);
    }
}

#[test]
fn what_cannot_be_is_refused_at_its_place() {
    let kind = |value: Value| {
        let mut params = workshop();
        params["kinds"].as_array_mut().unwrap().push(value);
        refusal(&params)
    };
    for (told, start) in [
        (
            refusal(&json!({"kinds": [{"name": "wall", "wall": true}]})),
            "layout: there is none",
        ),
        (
            refusal(&json!({"layout": ["  "]})),
            "kinds: there is no kind",
        ),
        (
            refusal(&with(json!({"layout": "smal"}))),
            "layout: there is no layout `smal`; did you mean `small`?",
        ),
        (
            refusal(&with(json!({"layout": "generated", "map": null}))),
            "map: a generated layout needs `map`",
        ),
        (
            kind(json!({"name": "any", "symbol": "a"})),
            "kinds.any: `any` is no name for a kind",
        ),
        (
            kind(json!({"name": "Big Door"})),
            "kinds[13].name: `Big Door` is no name",
        ),
        (
            kind(json!({"name": "ghost", "by": [2]})),
            "kinds.ghost.by: there is no seat 2: the seats are 0 to 1",
        ),
        (
            kind(json!({"name": "ghost", "by": []})),
            "kinds.ghost.by: names no seat",
        ),
        (
            kind(json!({"name": "ghost", "picture": "gost"})),
            "kinds.ghost: there is no picture `gost`",
        ),
        (
            kind(json!({"name": "ghost", "use": {"sourse": "ore"}})),
            "kinds[13].use.sourse: there is no choice `sourse`; did you mean `source`?",
        ),
        (
            kind(json!({"name": "ghost", "color": "red"})),
            "kinds[13].color: `red` is no colour",
        ),
        (
            kind(json!({"name": "ghost", "simbol": "x"})),
            "kinds[13].simbol: there is no parameter `simbol`; did you mean `symbol`?",
        ),
        (
            refusal(&with(
                json!({"fog": true, "view_radius": null, "features": ["agent_dir"]}),
            )),
            "fog: needs `view_radius`",
        ),
        (
            refusal(&with(json!({"fog": [2]}))),
            "fog: there is no seat 2",
        ),
        (
            refusal(&with(json!({"ends": {"when_gone": ["gems"]}}))),
            "ends.when_gone: there is no kind `gems`; did you mean `gem`?",
        ),
        (
            refusal(&with(json!({"layout": "generated", "map": {
                "rows": 5, "cols": 5, "border": "wall", "things": [{"kind": "steel", "count": 1}],
            }}))),
            "map.things[0].kind: `steel` has no symbol",
        ),
        (
            refusal(&with(json!({"layout": "generated", "map": {
                "rows": 5, "cols": 5, "border": "wall", "things": [{"kind": "gem", "count": 8}],
            }}))),
            "map.things: 8 things within the border, and there is room for 7 beside 2 agents",
        ),
        (
            refusal(&with(json!({"rewards": [
                {"name": "x", "when": {"does": {"act": "delivr"}}, "worth": 1},
            ]}))),
            "rewards[0].when.does.act: there is no choice `delivr`; did you mean `deliver`?",
        ),
    ] {
        assert!(told.starts_with(start), "{told}\n  is not\n{start}");
    }
}

#[test]
fn a_layout_can_be_drawn_in_the_parameters() {
    let params: Params = serde_json::from_value(workshop()).unwrap();
    assert_eq!(params.layout, Chart::named("small"));
    let drawn = with(json!({"layout": workshop()["layouts"]["small"]}));
    let (mut named, mut drawn) = (open(&workshop()), open(&drawn));
    named.reset(5);
    drawn.reset(5);
    assert_eq!(named.digest(), drawn.digest());
}
