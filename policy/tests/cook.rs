//! The policies in every kitchen.

use env_core::envs::overcooked::{Overcooked, Params};
use env_core::{Action, Environment, Policy, StepOutcome, World, envs};

const LAYOUTS: [&str; 5] = [
    "cramped_room",
    "asymmetric_advantages",
    "coordination_ring",
    "forced_coordination",
    "counter_circuit",
];

/// A kitchen with a policy in each seat.
struct Match {
    world: Box<dyn World + Send>,
    cooks: [Box<dyn Policy>; 2],
    soups: u32,
}

impl Match {
    fn new(layout: &str, rules: &str, names: [&str; 2], seed: u64) -> Self {
        let params = format!(r#"{{"layout": "{layout}", "rules": "{rules}", "horizon": 900}}"#);
        let mut world = envs::open("overcooked", &params).expect("parameters of the environment");
        world.reset(seed);
        let mut cooks =
            names.map(|name| policy::by_name(name, world.spec()).expect("a known policy"));
        for (seat, cook) in cooks.iter_mut().enumerate() {
            cook.reset(seat, seed);
        }
        Self {
            world,
            cooks,
            soups: 0,
        }
    }

    fn observation(&mut self, seat: usize) -> Vec<f32> {
        let mut seen = Vec::new();
        self.world.observe(seat, &mut seen);
        seen
    }

    /// Row and column of a cook.
    fn place(&mut self, seat: usize) -> [f32; 2] {
        let seen = self.observation(seat);
        let mut fields = self.world.spec().observation.iter();
        let before = fields
            .by_ref()
            .take_while(|field| field.name != "agent_position");
        let start: u32 = before
            .map(|field| field.shape.iter().product::<u32>())
            .sum();
        [seen[start as usize], seen[start as usize + 1]]
    }

    fn tick(&mut self) -> [Action; 2] {
        let actions = [0, 1].map(|seat| {
            let seen = self.observation(seat);
            self.cooks[seat].act(&seen)
        });
        let outcome = self.world.step(&actions);
        self.soups += u32::try_from(
            outcome
                .events
                .iter()
                .filter(|event| event.kind == 0)
                .count(),
        )
        .expect("few events");
        actions
    }

    fn play(mut self, ticks: u32) -> u32 {
        for _ in 0..ticks {
            self.tick();
        }
        self.soups
    }

    fn digests(&mut self) -> [u64; 3] {
        [
            self.world.digest(),
            self.cooks[0].digest(),
            self.cooks[1].digest(),
        ]
    }
}

#[test]
fn two_cooks_deliver_in_every_kitchen() {
    for (layout, least) in LAYOUTS.into_iter().zip([12, 15, 10, 13, 7]) {
        for (rules, seed) in [("corrected", 1), ("corrected", 2), ("cogrid-0.3.2", 3)] {
            let soups = Match::new(layout, rules, ["cook", "cook"], seed).play(900);
            assert!(
                soups >= least,
                "{layout} {rules} seed {seed}: {soups} soups"
            );
        }
    }
}

#[test]
fn a_cook_delivers_alone_among_tomatoes_and_in_a_crowd() {
    for (params, least) in [
        (r#"{"seats": 1, "horizon": 900}"#, 5),
        (r#"{"layout": "cramped_mixed_kitchen", "horizon": 900}"#, 5),
        (
            r#"{"layout": "open_kitchen", "seats": 3, "horizon": 900}"#,
            5,
        ),
        (r#"{"layout": "banquet", "seats": 4, "horizon": 900}"#, 5),
    ] {
        let mut world = envs::open("overcooked", params).expect("parameters of the environment");
        world.reset(4);
        let seats = usize::from(world.spec().seats);
        let mut cooks: Vec<_> = (0..seats)
            .map(|seat| {
                let mut cook = policy::by_name("cook", world.spec()).expect("a known policy");
                cook.reset(seat, 4);
                cook
            })
            .collect();
        let (mut seen, mut soups) = (Vec::new(), 0);
        for _ in 0..900 {
            let mut actions = Vec::new();
            for (seat, cook) in cooks.iter_mut().enumerate() {
                world.observe(seat, &mut seen);
                actions.push(cook.act(&seen));
            }
            let events = &world.step(&actions).events;
            soups += events.iter().filter(|event| event.kind == 0).count();
        }
        assert!(soups >= least, "{params}: {soups} soups");
    }
}

#[test]
fn a_cook_delivers_beside_an_idle_partner_in_either_seat() {
    let mut played = [0, 0];
    for seed in 0..12 {
        for (cook, names) in [["cook", "idle"], ["idle", "cook"]].into_iter().enumerate() {
            let mut game = Match::new("cramped_room", "corrected", names, seed);
            // A cook who stands at the pot, the plates or the delivery zone of this kitchen blocks it permanently.
            if [[1.0, 2.0], [2.0, 1.0], [2.0, 3.0]].contains(&game.place(1 - cook)) {
                continue;
            }
            played[cook] += 1;
            let soups = game.play(900);
            assert!(soups >= 3, "{names:?} seed {seed}: {soups} soups");
        }
    }
    assert!(played.iter().all(|count| *count > 2), "{played:?}");
}

#[test]
fn a_cook_delivers_beside_a_random_partner() {
    for layout in [
        "cramped_room",
        "asymmetric_advantages",
        "coordination_ring",
        "counter_circuit",
    ] {
        for seed in 0..3 {
            let soups = Match::new(layout, "corrected", ["random", "cook"], seed).play(900);
            assert!(soups >= 1, "{layout} seed {seed}: {soups} soups");
        }
    }
}

#[test]
fn a_rolled_back_policy_plays_the_same_again() {
    for (layout, names) in LAYOUTS
        .into_iter()
        .zip([["cook", "cook"], ["cook", "random"]].into_iter().cycle())
    {
        let mut game = Match::new(layout, "corrected", names, 5);
        for round in 0..20 {
            let slot = round % 3;
            game.world.save(slot);
            game.cooks.iter_mut().for_each(|cook| cook.save(slot));
            let before = game.digests();
            let first: Vec<[Action; 2]> = (0..17).map(|_| game.tick()).collect();
            let after = game.digests();
            game.world.load(slot);
            game.cooks.iter_mut().for_each(|cook| cook.load(slot));
            assert_eq!(game.digests(), before);
            let again: Vec<[Action; 2]> = (0..17).map(|_| game.tick()).collect();
            assert_eq!((again, game.digests()), (first, after));
            assert_ne!(before, after);
        }
    }
}

#[test]
fn a_cook_needs_the_kitchen_s_observation_and_actions() {
    let world = envs::open("overcooked", "").expect("defaults are good");
    let mut spec = world.spec().clone();
    assert!(
        policy::NAMES
            .iter()
            .all(|name| policy::by_name(name, &spec).is_some())
    );
    assert!(policy::by_name("chef", &spec).is_none());
    spec.observation.pop();
    assert!(policy::by_name("cook", &spec).is_none());
    assert!(policy::by_name("idle", &spec).is_some());
}

#[test]
fn an_observation_of_another_length_is_answered_with_the_no_op() {
    let world = envs::open("overcooked", "").expect("defaults are good");
    let mut cook = policy::by_name("cook", world.spec()).expect("a known policy");
    cook.reset(0, 1);
    assert_eq!(cook.act(&[]), world.spec().noop);
    let odd = vec![f32::NAN; world.spec().observation_len()];
    for _ in 0..8 {
        assert!(usize::from(cook.act(&odd)) < world.spec().actions.len());
    }
    let huge = vec![1e30; world.spec().observation_len()];
    for _ in 0..8 {
        assert!(usize::from(cook.act(&huge)) < world.spec().actions.len());
    }
}

#[test]
fn an_onion_on_the_only_way_to_the_pot_is_cleared_away() {
    let kitchen = Overcooked::new(Params::default()).expect("defaults hold");
    let tables = kitchen.tables();
    let onion = tables.id("onion").expect("there are onions");
    let mut state = kitchen.reset(1);
    // The soup is ready; the cook stands below the cell before the pot, the partner to the right of it, idle.
    state.set_fixture(tables, 0, 0, &[onion; 3]);
    (state.agents[0].cell, state.agents[1].cell) = (12, 8);
    state.set_kind(7, onion);
    let spec = kitchen.spec();
    let mut cook = policy::by_name("cook", &spec).expect("a known policy");
    cook.reset(0, 1);
    let mut seen = vec![0.0; spec.observation_len()];
    let mut outcome = StepOutcome::default();
    for _ in 0..400 {
        kitchen.observe(&state, 0, &mut seen);
        let action = cook.act(&seen);
        kitchen.step(&mut state, &[action, spec.noop], &mut outcome);
    }
    assert_eq!(state.kind(7), 0, "the way is free");
    assert!(kitchen.score(&state) > 0, "and soup is served");
}

#[test]
fn a_state_from_bytes_plays_on_as_if_it_had_never_left() {
    let mut game = Match::new("coordination_ring", "corrected", ["cook", "random"], 5);
    for _ in 0..137 {
        game.tick();
    }
    let (mut world, mut cooks) = (Vec::new(), [Vec::new(), Vec::new()]);
    game.world.state(&mut world);
    for (cook, bytes) in game.cooks.iter().zip(&mut cooks) {
        cook.state(bytes);
    }
    let mut other = Match::new("coordination_ring", "corrected", ["cook", "random"], 6);
    other.world.restore(&world).expect("a state");
    for (cook, bytes) in other.cooks.iter_mut().zip(&cooks) {
        assert!(cook.restore(&bytes[..bytes.len() - 1]).is_err());
        cook.restore(bytes).expect("a state");
    }
    for _ in 0..200 {
        assert_eq!(game.tick(), other.tick());
    }
    assert_eq!(game.digests(), other.digests());
}
