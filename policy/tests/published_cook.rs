//! The scripted cook in the kitchens of published agents.

use env_core::{Action, Policy, World, choose_action, envs};

/// The number of the event that a soup is delivered.
const DELIVERY: u16 = 15;

/// A kitchen with a policy in each seat.
struct Match {
    world: Box<dyn World + Send>,
    cooks: Vec<Box<dyn Policy>>,
    soups: usize,
    points: f32,
}

impl Match {
    /// `names` come in turn, one for each seat.
    fn new(params: &str, names: &[&str], seed: u64) -> Self {
        let mut world = envs::open("overcooked_ai", params).expect(params);
        world.reset(seed);
        let seats = usize::from(world.spec().seats);
        let open = |(seat, name): (usize, &&str)| {
            let mut cook = policy::by_name(name, world.spec()).expect("a policy for it");
            cook.reset(seat, seed);
            cook
        };
        let cooks = names.iter().cycle().enumerate().take(seats);
        Self {
            cooks: cooks.map(open).collect(),
            world,
            soups: 0,
            points: 0.0,
        }
    }

    fn tick(&mut self) -> Vec<Action> {
        let mut seen = Vec::new();
        let world = &mut *self.world;
        let cooks = self.cooks.iter_mut().enumerate();
        let actions: Vec<Action> = cooks
            .map(|(seat, cook)| choose_action(world, &mut **cook, seat, &mut seen))
            .collect();
        let delivered = world.step(&actions).events.iter();
        let delivered = delivered.filter(|event| event.kind == DELIVERY);
        for event in delivered {
            self.soups += 1;
            self.points += event.value;
        }
        actions
    }

    fn play(&mut self, ticks: u32) -> usize {
        (0..ticks).for_each(|_| drop(self.tick()));
        self.soups
    }

    fn digests(&mut self) -> Vec<u64> {
        let cooks = self.cooks.iter().map(|cook| cook.digest());
        let cooks: Vec<u64> = cooks.collect();
        [cooks, vec![self.world.digest()]].concat()
    }
}

fn params(rules: &str, layout: &str) -> String {
    format!(r#"{{"rules": "{rules}", "layout": "{layout}"}}"#)
}

/// Every set of rules with the names of its cramped room, coordination ring and asymmetric advantages.
const KITCHENS: [(&str, [&str; 3]); 6] = [
    (
        "overcooked-ai-1.1.0",
        ["cramped_room", "coordination_ring", "asymmetric_advantages"],
    ),
    (
        "overcooked-ai-old",
        ["cramped_room", "coordination_ring", "asymmetric_advantages"],
    ),
    (
        "jaxmarl-0.2.0",
        ["cramped_room", "coord_ring", "asymm_advantages"],
    ),
    (
        "cec",
        ["cramped_room_9", "coord_ring_9", "asymm_advantages_9"],
    ),
    ("neurips2019", ["simple", "random1", "unident_s"]),
    (
        "zsc-eval",
        ["cramped_room", "coordination_ring", "asymmetric_advantages"],
    ),
];

/// Plays some seeds, and returns the fewest soups.
fn fewest(params: &str, names: &[&str]) -> usize {
    let soups = (0..3).map(|seed| Match::new(params, names, seed).play(400));
    soups.min().unwrap_or_default()
}

#[test]
fn two_cooks_deliver_under_all_rules() {
    let mut few = Vec::new();
    for (rules, layouts) in KITCHENS {
        for (layout, least) in layouts.into_iter().zip([8, 5, 12]) {
            let soups = fewest(&params(rules, layout), &["cook"]);
            if soups < least {
                few.push(format!("{rules} {layout}: {soups}"));
            }
        }
    }
    assert!(few.is_empty(), "{few:?}");
}

#[test]
fn a_cook_delivers_beside_an_idle_partner() {
    let mut few = Vec::new();
    for (rules, layouts) in KITCHENS {
        for layout in layouts {
            let text = params(rules, layout);
            // In some kitchens one of the two starts is the only place before the dishes.
            let soups = [["cook", "idle"], ["idle", "cook"]].map(|names| fewest(&text, &names));
            if soups[0].max(soups[1]) < 6 {
                few.push(format!("{rules} {layout}: {soups:?}"));
            }
        }
    }
    assert!(few.is_empty(), "{few:?}");
}

#[test]
fn cooks_hand_things_over_cook_what_is_ordered_and_play_in_any_number() {
    let open = r#"XXXXPXXXX\\nO 1 2 3 O\\nX       X\\nO       S\\nXDXXPXXXX"#;
    let crowd = format!(
        r#"{{"layout": "{{'grid': '''{open}''', 'start_all_orders': [{{'ingredients': ['onion', 'onion', 'onion']}}]}}"}}"#
    );
    let mut few = Vec::new();
    for (text, least) in [
        (params("overcooked-ai-1.1.0", "forced_coordination"), 8),
        (params("jaxmarl-0.2.0", "forced_coord"), 8),
        (params("neurips2019", "random0"), 8),
        (params("zsc-eval", "simple_tomato"), 8),
        (params("overcooked-ai-1.1.0", "soup_coordination"), 4),
        (params("overcooked-ai-1.1.0", "tutorial_0"), 4),
        (crowd, 4),
    ] {
        let mut game = Match::new(&text, &["cook"], 1);
        let soups = game.play(400);
        if soups < least || game.points <= 0.0 {
            few.push(format!("{text}: {soups} soups, {} points", game.points));
        }
    }
    assert!(few.is_empty(), "{few:?}");
}

#[test]
fn cooks_deliver_in_generated_kitchens() {
    let mut soups = Vec::new();
    for seed in 0..12 {
        let text = params("cec", "generated");
        soups.push(Match::new(&text, &["cook"], seed).play(400));
    }
    // In some of them, one side lacks things that nobody can bring.
    let served = soups.iter().filter(|soups| **soups >= 2).count();
    assert!(served >= 7, "{soups:?}");
}

#[test]
fn a_rolled_back_cook_plays_the_same_again() {
    for (rules, layouts) in KITCHENS {
        let mut game = Match::new(&params(rules, layouts[1]), &["cook"], 5);
        for round in 0..8 {
            let slot = round % 3;
            game.world.save(slot);
            game.cooks.iter_mut().for_each(|cook| cook.save(slot));
            let mut bytes = vec![Vec::new(); 2];
            for (cook, bytes) in game.cooks.iter().zip(&mut bytes) {
                cook.state(bytes);
            }
            let before = game.digests();
            let first: Vec<_> = (0..17).map(|_| game.tick()).collect();
            let after = game.digests();
            game.world.load(slot);
            game.cooks.iter_mut().for_each(|cook| cook.load(slot));
            assert_eq!(game.digests(), before);
            let again: Vec<_> = (0..17).map(|_| game.tick()).collect();
            assert_eq!((again, game.digests()), (first.clone(), after.clone()));
            game.world.load(slot);
            for (cook, bytes) in game.cooks.iter_mut().zip(&bytes) {
                cook.restore(bytes).expect("a state");
            }
            let again: Vec<_> = (0..17).map(|_| game.tick()).collect();
            assert_eq!((again, game.digests()), (first, after));
        }
    }
}

#[test]
fn the_cook_and_its_directives_are_known_where_it_reads_the_observation() {
    let names = |text: &str| {
        let world = envs::open("overcooked_ai", text).expect(text);
        policy::list_names(world.spec())
    };
    for (rules, layouts) in KITCHENS {
        assert!(
            names(&params(rules, layouts[0])).contains(&"cook"),
            "{rules}"
        );
    }
    assert!(names(r#"{"observation": ["features", "lossless"]}"#).contains(&"cook"));
    assert!(!names(r#"{"observation": ["features"]}"#).contains(&"cook"));
    let mut game = Match::new("{}", &["cook:wait"], 1);
    let mut told = |word: &str, ticks: u32| {
        let name = policy::name_with_directive("cook:wait", word, game.world.spec(), 1);
        let name = name.expect("a directive");
        assert!(
            policy::can_follow(&name, word, &mut *game.world, 1),
            "{word}"
        );
        game.cooks[1] = policy::by_name(&name, game.world.spec()).expect("a policy");
        game.cooks[1].reset(1, 1);
        game.play(ticks)
    };
    told("fill_pot", 100);
    told("wait", 30);
    assert_eq!(told("fetch_onion", 20), 0);
}
