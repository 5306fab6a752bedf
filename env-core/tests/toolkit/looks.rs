//! The picture and the words of a grid.

use std::collections::BTreeSet;

use env_core::conformance::sane;
use env_core::contract::ParamError;
use env_core::draw::{DrawList, Shape, Sprite};
use env_core::grid::{
    Direction, Draws, Grid, GridWorld, Kind, Layout, Names, Recipe, State, Tables, Use, WorldPlan,
};
use env_core::{Environment as _, MAX_SEATS, StepOutcome};
use serde::{Deserialize, Serialize};

use super::world::{Anything, Params};

const REACH: u16 = 4;
const TOGGLE: u16 = 5;
const NOOP: u16 = 6;

/// A kitchen with one of everything that has a look.
type Kitchen = Grid<World>;

#[derive(Debug)]
struct World;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Seats {
    seats: usize,
}

impl Default for Seats {
    fn default() -> Self {
        Self { seats: 2 }
    }
}

impl GridWorld for World {
    const ID: &'static str = "kitchen_of_looks";
    const VERSION: &'static str = "1.0.0";
    const TITLE: &'static str = "Kitchen";
    type Params = Seats;
    type Extra = ();

    fn sprites() -> &'static [Sprite] {
        env_core::art![
            "floor_*",
            "shade_*",
            "counter",
            "counter_front",
            "wall",
            "pot",
            "onion",
            "onion_piece",
            "onion_broth",
            "onion_soup",
            "plate",
            "button",
            "button_lit",
            "steam",
            "ready",
            "cook_*",
            "torso_*",
            "hat_*"
        ]
    }

    fn plan(params: &Seats) -> Result<WorldPlan, ParamError> {
        let recipe = Recipe {
            ingredients: ["onion", "onion"].map(Into::into).into(),
            result: "soup".into(),
            time: 4,
        };
        let pot = Use::Container {
            capacity: 2,
            with: Names::of(&["plate"]),
            recipes: vec![recipe],
        };
        let on = |name: &str, symbol| Kind::new(name).symbol(symbol).on("counter");
        Ok(WorldPlan {
            seats: params.seats,
            kinds: vec![
                on("counter", 'C').usage(Use::Surface(Names::Any)),
                on("pot", 'U').sprite("pot").usage(pot),
                on("button", 'B')
                    .sprite("button")
                    .lit("button_lit")
                    .usage(Use::Switch { time: 3 }),
                Kind::new("onion")
                    .symbol('o')
                    .usage(Use::Loose)
                    .sprite("onion")
                    .inside("onion_piece"),
                Kind::new("plate").usage(Use::Loose).sprite("plate"),
                Kind::new("soup")
                    .usage(Use::Loose)
                    .sprite("onion_soup")
                    .inside("onion_broth")
                    .words("a plate of onion soup"),
                Kind::new("wall").symbol('#').wall().on("wall"),
                Kind::new("floor").walkable(),
                Kind::new("exit").symbol('E').words("the exit"),
            ],
            layout: Layout::fixed(&["#CUB#", "C++oE", "C   C", "CCCCC"]),
            ..WorldPlan::default()
        })
    }

    fn new(_: Seats, _: &Tables) -> Result<Self, ParamError> {
        Ok(Self)
    }

    fn start(&self, _: &Tables, _: &mut Draws) {}
}

struct Scene {
    env: Kitchen,
    state: State<()>,
}

impl Scene {
    /// Two cooks beside each other, both looking down.
    fn new() -> Self {
        let env = Kitchen::new(Seats::default()).unwrap();
        let mut state = env.reset(1);
        for agent in &mut state.agents[..2] {
            agent.facing = Direction::Down;
        }
        Self { env, state }
    }

    fn id(&self, name: &str) -> u8 {
        self.env.tables().id(name).unwrap()
    }

    /// A cook looks somewhere, with something in the hand, and acts.
    fn act(&mut self, seat: usize, facing: Direction, held: &str, action: u16) {
        let held = if held.is_empty() { 0 } else { self.id(held) };
        let agent = &mut self.state.agents[seat];
        (agent.facing, agent.held) = (facing, held);
        let mut actions = [NOOP; 2];
        actions[seat] = action;
        self.env
            .step(&mut self.state, &actions, &mut StepOutcome::default());
    }

    fn wait(&mut self) {
        self.env
            .step(&mut self.state, &[NOOP; 2], &mut StepOutcome::default());
    }

    fn picture(&self) -> DrawList {
        let mut list = DrawList::default();
        self.env.draw(&self.state, None, &mut list);
        list
    }

    /// The names of what is drawn with a corner in a cell, back to front.
    fn names_in(&self, row: usize, col: usize) -> Vec<&'static str> {
        let items = self.picture().items;
        let inside = |at: f32, cell: usize| at >= cell as f32 && at < cell as f32 + 0.99;
        items
            .iter()
            .filter(|item| item.id == 0 && inside(item.x, col) && inside(item.y, row))
            .map(|item| match item.shape {
                Shape::Sprite(index) => World::sprites()[usize::from(index)].name,
                Shape::Progress { .. } => "ring",
                Shape::Rect { .. } => "block",
                Shape::Text { .. } => "letter",
                Shape::Ellipse { .. } => "disc",
                Shape::Pixels { .. } => "pixels",
            })
            .collect()
    }

    fn words(&self, seat: usize) -> String {
        let mut text = String::new();
        self.env.describe(&self.state, seat, &mut text);
        text
    }
}

/// Puts two onions into the pot above seat 1.
fn filled() -> Scene {
    let mut scene = Scene::new();
    for _ in 0..2 {
        scene.act(1, Direction::Up, "onion", REACH);
    }
    scene
}

#[test]
fn things_stand_on_counters_and_shadows_fall_on_the_floor() {
    let scene = Scene::new();
    assert_eq!(scene.names_in(0, 0), ["wall"]);
    assert_eq!(scene.names_in(0, 1), ["counter", "counter_front"]);
    assert_eq!(scene.names_in(0, 2), ["counter", "counter_front", "pot"]);
    assert_eq!(scene.names_in(1, 0), ["counter"]);
    assert_eq!(
        scene.names_in(1, 1),
        ["floor_dark", "shade_top", "shade_left"]
    );
    assert_eq!(scene.names_in(1, 3), ["floor_dark", "shade_top", "onion"]);
    assert_eq!(scene.names_in(2, 2), ["floor_dark"]);
    assert_eq!(scene.names_in(3, 2), ["counter", "counter_front"]);
    // Without a picture: a block with its symbol.
    assert_eq!(
        scene.names_in(1, 4),
        ["floor_light", "shade_top", "block", "letter"]
    );
}

#[test]
fn a_kind_that_is_floor_is_not_drawn_as_a_thing() {
    let mut scene = Scene::new();
    let floor = scene.id("floor");
    scene.state.set_kind(12, floor);
    assert_eq!(scene.names_in(2, 2), ["floor_dark"]);
    assert!(!scene.words(0).contains("A floor"), "{}", scene.words(0));
}

#[test]
fn what_lies_on_a_counter_is_drawn_on_it_and_told() {
    let mut scene = Scene::new();
    scene.act(0, Direction::Up, "plate", REACH);
    assert_eq!(scene.names_in(0, 1), ["counter", "counter_front", "plate"]);
    let words = scene.words(0);
    assert!(
        words.contains("facing up towards a counter with a plate on it, holding nothing."),
        "{words}"
    );
    assert!(
        words.contains("A plate on a counter: row 1, column 2.\n"),
        "{words}"
    );
    assert!(
        words.contains("An onion on the floor: row 2, column 4.\n"),
        "{words}"
    );
    assert!(words.contains("The exit: row 2, column 5.\n"), "{words}");
}

#[test]
fn a_pot_shows_its_contents_its_progress_and_that_it_is_ready() {
    let mut scene = Scene::new();
    assert!(
        scene
            .words(0)
            .contains("The pot at row 1, column 3 is empty: it needs 2 ingredients (onion).\n")
    );
    scene.act(1, Direction::Up, "onion", REACH);
    assert_eq!(scene.names_in(0, 2)[2..], ["pot", "onion_piece"]);
    assert!(scene.words(0).contains(
        "The pot at row 1, column 3 has an onion: it needs 1 more ingredient (onion).\n"
    ));
    scene.act(1, Direction::Up, "onion", REACH);
    let cooking = [
        "pot",
        "onion_broth",
        "onion_piece",
        "onion_piece",
        "ring",
        "ring",
    ];
    let shown: Vec<_> = scene
        .names_in(0, 2)
        .into_iter()
        .filter(|name| *name != "disc")
        .collect();
    assert_eq!(shown[2..], cooking);
    let mut parts = Vec::new();
    for left in (1..=4).rev() {
        let is = format!("is making onion soup: ready in {left} step");
        assert!(scene.words(0).contains(&is), "{}", scene.words(0));
        parts.extend(
            scene
                .picture()
                .items
                .iter()
                .filter_map(|item| match item.shape {
                    Shape::Progress {
                        part,
                        color: 0xffd2_57ff,
                    } => Some(part),
                    _ => None,
                }),
        );
        scene.wait();
    }
    assert_eq!(parts, [0.0, 0.25, 0.5, 0.75]);
    assert_eq!(scene.names_in(0, 2)[6..], ["steam", "ready"]);
    let ready = "The pot at row 1, column 3 has onion soup ready: take it with a plate.\n";
    assert!(scene.words(0).contains(ready), "{}", scene.words(0));
}

#[test]
fn the_soup_is_in_the_hand_once_it_is_taken() {
    let mut scene = filled();
    (0..4).for_each(|_| scene.wait());
    scene.act(1, Direction::Up, "plate", REACH);
    assert_eq!(scene.names_in(0, 2)[2..], ["pot"]);
    assert!(
        scene
            .words(1)
            .contains("towards a pot, holding a plate of onion soup."),
        "{}",
        scene.words(1)
    );
}

#[test]
fn a_button_is_lit_and_goes_out() {
    let mut scene = Scene::new();
    scene.state.agents[1].cell = 8;
    scene.state.set_kind(8, 0);
    assert!(
        scene
            .words(0)
            .contains("The button at row 1, column 4 is not lit.\n")
    );
    scene.act(1, Direction::Up, "", TOGGLE);
    assert!(scene.names_in(0, 3).contains(&"button_lit"));
    assert!(
        scene
            .words(0)
            .contains("The button at row 1, column 4 is lit for 3 more steps.\n")
    );
    (0..3).for_each(|_| scene.wait());
    assert_eq!(scene.names_in(0, 3)[2..], ["button"]);
}

#[test]
fn partners_are_told_with_the_way_to_them() {
    let mut scene = Scene::new();
    scene.state.agents[1].cell = 13;
    let words = scene.words(0);
    assert!(
        words.starts_with(
            "You are at row 2, column 2, facing down towards free floor, holding nothing.\n"
        ),
        "{words}"
    );
    assert!(
        words.contains(
            "Your partner is at row 3, column 4 (1 down, 2 right), facing down, holding nothing.\n"
        ),
        "{words}"
    );
    assert!(words.ends_with("Steps left: 1000.\n"), "{words}");
    scene.state.agents[1].cell = 7;
    scene.state.agents[0].facing = Direction::Right;
    assert!(
        scene.words(0).contains("towards your partner"),
        "{}",
        scene.words(0)
    );
}

#[test]
fn more_than_two_agents_have_numbers_and_are_drawn_from_back_to_front() {
    for seats in [1, 5] {
        let env = Kitchen::new(Seats { seats }).unwrap();
        let mut state = env.reset(4);
        let mut held = BTreeSet::new();
        for (seat, agent) in state.agents[..seats].iter_mut().enumerate() {
            agent.held = if seat % 2 == 0 {
                env.tables().id("onion").unwrap()
            } else {
                0
            };
            held.extend((seat % 2 == 0).then_some((17 + seat) as u32));
        }
        let mut list = DrawList::default();
        env.draw(&state, None, &mut list);
        sane::check_picture(&list, World::sprites().len()).unwrap();
        let rows: Vec<f32> = list
            .items
            .iter()
            .filter(|item| (1..=16).contains(&item.id))
            .map(|item| item.y)
            .collect();
        assert!(rows.len() == seats && rows.is_sorted(), "{rows:?}");
        let shown: BTreeSet<u32> = list
            .items
            .iter()
            .map(|item| item.id)
            .filter(|id| (17..=32).contains(id))
            .collect();
        assert_eq!(shown, held);
        let mut words = String::new();
        env.describe(&state, seats - 1, &mut words);
        assert_eq!(words.contains("You are agent 5, at"), seats == 5, "{words}");
        assert_eq!(words.matches("\nAgent ").count(), seats - 1, "{words}");
    }
}

#[test]
fn agents_keep_their_identities_wherever_they_go() {
    let scene = Scene::new();
    let mut moved = Scene::new();
    moved.state.agents[0].cell = 12;
    let ids = |scene: &Scene| -> BTreeSet<u32> {
        scene
            .picture()
            .items
            .iter()
            .map(|item| item.id)
            .filter(|&id| id != 0)
            .collect()
    };
    assert_eq!(ids(&scene), ids(&moved));
    assert!(ids(&scene).contains(&1) && ids(&scene).iter().all(|&id| id <= 4 * MAX_SEATS as u32));
}

#[test]
fn a_picture_that_the_world_does_not_bring_is_named() {
    let tables = Kitchen::new(Seats::default()).unwrap().tables().clone();
    let sprites = env_core::art!["counter", "pot", "button", "button_lit", "onion"];
    let error = env_core::grid::draw::Pictures::new(&tables, sprites, None).unwrap_err();
    assert_eq!(error.field, "kinds.onion");
    assert!(
        error
            .reason
            .starts_with("there is no picture `onion_piece`"),
        "{error}"
    );
}

#[test]
fn any_world_has_a_picture_and_words() {
    for params in Params::many(40) {
        let env = Anything::new(params).unwrap();
        let mut state = env.reset(2);
        let (mut list, mut words) = (DrawList::default(), String::new());
        for step in 0..60_u16 {
            let actions: Vec<u16> = (0..16).map(|seat| (step * 3 + seat * 5) % 7).collect();
            env.step(&mut state, &actions, &mut StepOutcome::default());
            env.draw(&state, None, &mut list);
            sane::check_picture(&list, 0).unwrap();
            words.clear();
            env.describe(&state, 0, &mut words);
            assert!(
                words.starts_with("You are ") && words.ends_with(".\n"),
                "{words}"
            );
        }
    }
}
