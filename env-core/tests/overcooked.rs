//! What the corrected rules mend of CoGrid 0.3.2, fix by fix, and what both rules share.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use env_core::envs::overcooked::kitchen::{COLS, Kitchen, Layout};
use env_core::envs::overcooked::state::{COOK_STEPS, Direction, Item, Pot, State};
use env_core::envs::overcooked::{
    DELIVERY, MOVE_LEFT, MOVE_RIGHT, NOOP, ONION_IN_POT, Overcooked, PICK_UP_OR_DROP, Params,
    Rules, SOUP_IN_DISH,
};
use env_core::rng::Rng;
use env_core::{Environment, Outcome};

/// Both rules over the same kitchen: CoGrid's first.
fn both(layout: Layout) -> [Overcooked; 2] {
    [Rules::Cogrid, Rules::Corrected].map(|rules| {
        Overcooked::new(Params {
            layout,
            rules,
            horizon: 200,
            ..Params::default()
        })
        .unwrap()
    })
}

fn cell(row: usize, col: usize) -> u8 {
    (row * COLS + col) as u8
}

/// The first state, with a cook at a place.
fn put(state: &mut State, seat: usize, at: u8, facing: Direction, held: Item) {
    let chef = &mut state.chefs[seat];
    (chef.cell, chef.facing, chef.held) = (at, facing, held);
}

/// Kinds and seats of the events, and the reward of a cook.
fn step(env: &Overcooked, state: &mut State, actions: [u16; 2]) -> (Vec<(u16, u8)>, f32) {
    let mut outcome = Outcome::default();
    env.step(state, &actions, &mut outcome);
    assert_eq!(outcome.rewards[0], outcome.rewards[1]);
    (
        outcome
            .events
            .iter()
            .map(|event| (event.kind, event.seat))
            .collect(),
        outcome.rewards[0],
    )
}

/// Whether an observation shows an object type at a place; `mask` counts CoGrid's ten masks.
fn shows(env: &Overcooked, state: &State, mask: usize, row: usize, col: usize) -> bool {
    let mut values = vec![0.0; env.spec().observation_len()];
    env.observe(state, 0, &mut values);
    values[122 + mask * 77 + row * 11 + col] == 1.0
}

const ONION_SOUP: usize = 3;

#[test]
fn a_delivered_soup_is_gone() {
    for (env, stays) in both(Layout::CrampedRoom).into_iter().zip([true, false]) {
        let mut state = env.reset(0);
        put(&mut state, 0, cell(2, 3), Direction::Down, Item::Soup);
        put(&mut state, 1, cell(1, 1), Direction::Up, Item::Empty);
        assert_eq!(
            step(&env, &mut state, [PICK_UP_OR_DROP, NOOP]),
            (vec![(DELIVERY, 0)], 20.0)
        );
        assert_eq!(shows(&env, &state, ONION_SOUP, 3, 3), stays);
        assert_eq!((state.chefs[0].held, env.score(&state)), (Item::Empty, 20));
    }
}

#[test]
fn only_the_onion_that_goes_in_is_paid() {
    let paid = [
        (vec![(ONION_IN_POT, 0), (ONION_IN_POT, 1)], 6.0),
        (vec![(ONION_IN_POT, 0)], 3.0),
    ];
    for (env, paid) in both(Layout::AsymmetricAdvantages).into_iter().zip(paid) {
        let mut state = env.reset(0);
        put(&mut state, 0, cell(2, 3), Direction::Right, Item::Onion);
        put(&mut state, 1, cell(2, 5), Direction::Left, Item::Onion);
        state.pots[0].onions = 2;
        assert_eq!(step(&env, &mut state, [PICK_UP_OR_DROP; 2]), paid);
        assert_eq!(
            state.chefs.map(|chef| chef.held),
            [Item::Empty, Item::Onion]
        );
        assert_eq!(state.pots[0].onions, 3);
    }
}

#[test]
fn only_the_soup_that_comes_out_is_paid() {
    let paid = [
        (vec![(SOUP_IN_DISH, 0), (SOUP_IN_DISH, 1)], 10.0),
        (vec![(SOUP_IN_DISH, 0)], 5.0),
    ];
    for (env, paid) in both(Layout::AsymmetricAdvantages).into_iter().zip(paid) {
        let mut state = env.reset(0);
        put(&mut state, 0, cell(2, 3), Direction::Right, Item::Plate);
        put(&mut state, 1, cell(2, 5), Direction::Left, Item::Plate);
        state.pots[0] = Pot {
            onions: 3,
            timer: 0,
            shown: 0,
        };
        assert_eq!(step(&env, &mut state, [PICK_UP_OR_DROP; 2]), paid);
        assert_eq!(state.chefs.map(|chef| chef.held), [Item::Soup, Item::Plate]);
    }
}

#[test]
fn a_soup_taken_as_it_becomes_ready_is_paid() {
    for (env, paid) in both(Layout::CrampedRoom)
        .into_iter()
        .zip([(vec![], 0.0), (vec![(SOUP_IN_DISH, 0)], 5.0)])
    {
        let mut state = env.reset(0);
        put(&mut state, 0, cell(1, 2), Direction::Up, Item::Plate);
        put(&mut state, 1, cell(2, 1), Direction::Up, Item::Empty);
        state.pots[0] = Pot {
            onions: 3,
            timer: 1,
            shown: 0,
        };
        assert_eq!(step(&env, &mut state, [PICK_UP_OR_DROP, NOOP]), paid);
        assert_eq!((state.chefs[0].held, state.pots[0].onions), (Item::Soup, 0));
    }
}

#[test]
fn a_cooking_pot_never_looks_like_an_item() {
    for (env, looks) in both(Layout::CrampedRoom).into_iter().zip([true, false]) {
        let mut state = env.reset(0);
        state.pots[0] = Pot {
            onions: 3,
            timer: 3,
            shown: 0,
        };
        step(&env, &mut state, [NOOP; 2]);
        // Three onions and two steps left make 9, CoGrid's type id of onion soup.
        assert_eq!(shows(&env, &state, ONION_SOUP, 0, 2), looks);
    }
}

#[test]
fn a_pot_has_no_second_number_that_lags() {
    for (env, [at_once, later]) in both(Layout::CrampedRoom).into_iter().zip([[0, 31], [0, 0]]) {
        let mut state = env.reset(0);
        put(&mut state, 0, cell(1, 2), Direction::Up, Item::Onion);
        put(&mut state, 1, cell(2, 1), Direction::Up, Item::Empty);
        step(&env, &mut state, [PICK_UP_OR_DROP, NOOP]);
        assert_eq!((state.pots[0].onions, state.pots[0].shown), (1, at_once));
        step(&env, &mut state, [NOOP; 2]);
        assert_eq!((state.pots[0].onions, state.pots[0].shown), (1, later));
    }
}

#[test]
fn the_world_stands_still_after_the_end() {
    for (env, goes_on) in both(Layout::CrampedRoom).into_iter().zip([true, false]) {
        let mut state = env.reset(0);
        state.steps = 200;
        put(&mut state, 0, cell(2, 3), Direction::Down, Item::Soup);
        put(&mut state, 1, cell(1, 1), Direction::Up, Item::Empty);
        let before = state.clone();
        let (events, reward) = step(&env, &mut state, [PICK_UP_OR_DROP, NOOP]);
        assert_eq!((reward, env.score(&state)), (0.0, 0));
        assert_eq!((state != before, !events.is_empty()), (goes_on, goes_on));
    }
}

#[test]
fn both_rules_move_the_same_world() {
    for layout in Layout::ALL {
        let [cogrid, corrected] = both(layout);
        let mut rng = Rng::new(layout as u64);
        let mut one = cogrid.reset(4);
        let mut two = State {
            draws: corrected.reset(4).draws,
            ..one.clone()
        };
        for _ in 0..200 {
            let actions = [(); 2].map(|()| [0, 1, 2, 3, 4, 4, 4][rng.below(7) as usize]);
            let first = rng.below(2);
            for (env, state) in [(&cogrid, &mut one), (&corrected, &mut two)] {
                env.inject(state, &[first, 1 - first]);
                step(env, state, actions);
            }
            let world = |state: &State| {
                (
                    state.chefs,
                    state.pots.map(|pot| (pot.onions, pot.timer)),
                    state.soups,
                )
            };
            assert_eq!(world(&one), world(&two));
            let zones = |at: u8| Kitchen::new(layout).is_floor(at);
            assert!(
                (0..45)
                    .filter(|&at| zones(at))
                    .all(|at| one.item(at) == two.item(at))
            );
        }
    }
}

#[test]
fn cooks_never_share_a_cell_and_never_swap() {
    for env in Layout::ALL.into_iter().flat_map(both) {
        let mut rng = Rng::new(11);
        let mut state = env.reset(11);
        for _ in 0..200 {
            let [a, b] = state.chefs.map(|chef| chef.cell);
            step(
                &env,
                &mut state,
                [(); 2].map(|()| rng.below(u32::from(MOVE_RIGHT) + 1) as u16),
            );
            let [c, d] = state.chefs.map(|chef| chef.cell);
            assert!(c != d && [c, d] != [b, a]);
        }
    }
}

#[test]
fn the_one_who_moves_first_wins_a_shared_target_and_can_be_followed() {
    for env in both(Layout::CrampedRoom) {
        for (ranks, shared, file) in [([0, 1], [2, 3], [1, 3]), ([1, 0], [1, 2], [2, 3])] {
            let ends = |from: [usize; 2], actions| {
                let mut state = env.reset(0);
                put(&mut state, 0, cell(1, from[0]), Direction::Up, Item::Empty);
                put(&mut state, 1, cell(1, from[1]), Direction::Up, Item::Empty);
                env.inject(&mut state, &ranks);
                step(&env, &mut state, actions);
                state.chefs.map(|chef| usize::from(chef.cell) - COLS)
            };
            assert_eq!(ends([1, 3], [MOVE_RIGHT, MOVE_LEFT]), shared);
            assert_eq!(ends([1, 2], [MOVE_RIGHT, MOVE_RIGHT]), file);
        }
    }
}

#[test]
fn an_injected_draw_holds_for_one_step() {
    for env in both(Layout::CrampedRoom) {
        let mut state = env.reset(0);
        let draws = state.draws.clone();
        env.inject(&mut state, &[1, 0]);
        step(&env, &mut state, [NOOP; 2]);
        assert!(state.injected.is_none() && state.draws == draws);
        step(&env, &mut state, [NOOP; 2]);
        assert!(state.draws != draws);
    }
}

#[test]
fn items_lie_on_counters_and_on_the_floor() {
    for env in both(Layout::CrampedRoom) {
        let mut state = env.reset(0);
        put(&mut state, 0, cell(1, 1), Direction::Right, Item::Onion);
        put(&mut state, 1, cell(2, 3), Direction::Up, Item::Empty);
        step(&env, &mut state, [PICK_UP_OR_DROP, NOOP]);
        assert_eq!(
            (state.chefs[0].held, state.item(cell(1, 2))),
            (Item::Empty, Item::Onion)
        );
        step(&env, &mut state, [MOVE_RIGHT, NOOP]);
        assert_eq!(
            state.chefs[0].cell,
            cell(1, 1),
            "an item on the floor is in the way"
        );
        step(&env, &mut state, [PICK_UP_OR_DROP, NOOP]);
        assert_eq!(
            (state.chefs[0].held, state.item(cell(1, 2))),
            (Item::Onion, Item::Empty)
        );
    }
}

#[test]
fn a_full_pot_cooks_for_thirty_steps() {
    for env in both(Layout::CrampedRoom) {
        let mut state = env.reset(0);
        put(&mut state, 0, cell(1, 2), Direction::Up, Item::Onion);
        put(&mut state, 1, cell(2, 1), Direction::Up, Item::Empty);
        state.pots[0].onions = 2;
        step(&env, &mut state, [PICK_UP_OR_DROP, NOOP]);
        assert_eq!(state.pots[0].timer, COOK_STEPS);
        for _ in 0..COOK_STEPS {
            assert!(!state.pots[0].ready());
            step(&env, &mut state, [NOOP; 2]);
        }
        assert!(state.pots[0].ready());
    }
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
        (r#"{"layot":"cramped_room"}"#, "layot: unknown field"),
        (r#"{"layout":"kitchen"}"#, "layout: unknown variant"),
        (r#"{"horizon":0}"#, "horizon: an episode needs"),
        (r#"{"horizon":"long"}"#, "horizon: invalid type"),
        (r#"{"tick_hz":61}"#, "tick_hz: must be 1 to 60"),
        (r#"{"rules":"fair","horizon":3}"#, "rules: unknown variant"),
        (
            r#"{"rewards":{"delivery":1e9}}"#,
            "rewards.delivery: must be",
        ),
        (r#"{"rewards":{"onion":1}}"#, "rewards.onion: unknown field"),
        ("[]", "params: must be an object"),
        ("{", "params: EOF"),
    ] {
        assert!(refused(json).starts_with(start), "{}", refused(json));
    }
    let unknown = env_core::envs::open("chess", "").err().unwrap().to_string();
    assert_eq!(
        unknown,
        "environment: there is no environment `chess`; there is: overcooked"
    );
}
