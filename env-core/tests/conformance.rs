//! Every environment keeps the laws, with every kind of parameters.

use env_core::conformance::check_batch;
use env_core::envs::goal_finding::{self, GoalFinding};
use env_core::envs::goal_seeking::{self, GoalSeeking};
use env_core::envs::hanabi::{self, Hanabi};
use env_core::envs::kitchen::layouts;
use env_core::envs::overcooked::{
    self, Earning, KitchenReward, OrderParams, Overcooked, RuleSet, Spawn,
};
use env_core::envs::overcooked_jaxmarl_v2::{self, OvercookedJaxmarlV2};
use env_core::envs::overcooked_v2::{self, OvercookedV2};
use env_core::envs::search_rescue::{self, SearchRescue};
use env_core::grid::{self, Chart};

const RULES: [RuleSet; 2] = [RuleSet::Cogrid, RuleSet::Corrected];

#[test]
fn overcooked_keeps_the_laws() {
    let classic = layouts::CLASSIC[..6].iter();
    let kinds = classic.flat_map(|(layout, _)| RULES.map(|rules| (*layout, rules)));
    check_batch::<Overcooked>(kinds.map(|(layout, rules)| overcooked::Params {
        layout: layout.into(),
        rules,
        horizon: 150,
        ..overcooked::Params::default()
    }))
    .unwrap();
}

/// Every kind of reward, with orders and a soup that is wanted.
fn rewards() -> Vec<KitchenReward> {
    [
        KitchenReward::new(Earning::Delivery, 7.0),
        KitchenReward::new(Earning::OnionSoupDelivery, 1.5),
        KitchenReward {
            tip: 2.0,
            ..KitchenReward::new(Earning::OrderDelivery, 20.0).penalized()
        },
        KitchenReward::new(Earning::TargetDelivery, 10.0).penalized(),
        KitchenReward::new(Earning::OnionInPot, 3.0),
        KitchenReward {
            common: false,
            ..KitchenReward::new(Earning::OrderIngredientInPot, 3.0)
        },
        KitchenReward::new(Earning::TargetIngredientInPot, 1.0),
        KitchenReward::new(Earning::SoupInDish, 5.0),
        KitchenReward {
            common: false,
            ..KitchenReward::new(Earning::OrderSoupInDish, 4.0)
        },
        KitchenReward::new(Earning::TargetSoupInDish, 2.0),
        KitchenReward::new(Earning::ExpiredOrder, -5.0),
        KitchenReward::new(Earning::Button, -1.0),
    ]
    .into()
}

fn orders() -> Option<OrderParams> {
    Some(OrderParams {
        max_active: 3,
        time_limit: 20,
        spawn: Spawn {
            onion_soup: 0.1,
            tomato_soup: 0.2,
        },
    })
}

#[test]
fn overcooked_keeps_the_laws_with_orders_crowds_and_turns() {
    let kinds = RULES
        .into_iter()
        .flat_map(|rules| [1, 3, 5].map(|seats| (rules, seats)));
    check_batch::<Overcooked>(kinds.map(|(rules, seats)| {
        overcooked::Params {
            layout: "cramped_mixed_kitchen".into(),
            rules,
            seats,
            actions: grid::ActionSet::Rotation,
            horizon: 120,
            features: ["agent_dir", "order_observation", "local_view"]
                .map(Into::into)
                .into(),
            view_radius: Some(1),
            orders: orders(),
            targets: ["tomato_soup".into()].into(),
            rewards: rewards(),
            ..overcooked::Params::default()
        }
    }))
    .unwrap();
}

#[test]
fn overcooked_v2_keeps_the_laws() {
    let kinds = layouts::V2
        .iter()
        .flat_map(|(layout, _)| RULES.map(|rules| (*layout, rules)));
    check_batch::<OvercookedV2>(kinds.map(|(layout, rules)| overcooked_v2::Params {
        layout: layout.into(),
        rules,
        horizon: 120,
        orders: orders(),
        rewards: rewards(),
        ..overcooked_v2::Params::default()
    }))
    .unwrap();
}

#[test]
fn goal_finding_keeps_the_laws() {
    let kinds = [grid::RuleSet::Cogrid, grid::RuleSet::Corrected]
        .into_iter()
        .flat_map(|rules| [(rules, 0), (rules, 3)]);
    check_batch::<GoalFinding>(kinds.map(|(rules, goal_moves_every)| goal_finding::Params {
        rules,
        goal_moves_every,
        features: ["agent_position", "goals_collected"].map(Into::into).into(),
        ..goal_finding::Params::default()
    }))
    .unwrap();
}

#[test]
fn goal_seeking_keeps_the_laws() {
    check_batch::<GoalSeeking>([1, 3].map(|seats| goal_seeking::Params {
        seats,
        ..goal_seeking::Params::default()
    }))
    .unwrap();
}

#[test]
fn search_rescue_keeps_the_laws() {
    let kinds = [
        (grid::RuleSet::Cogrid, "test", 2),
        (grid::RuleSet::Corrected, "test", 2),
        (grid::RuleSet::Corrected, "two_rooms", 3),
        (grid::RuleSet::Corrected, search_rescue::GENERATED, 4),
    ];
    check_batch::<SearchRescue>(kinds.map(|(rules, layout, seats)| search_rescue::Params {
        rules,
        layout: Chart::named(layout),
        seats,
        roles: vec![search_rescue::Role::Medic],
        horizon: 300,
        ..search_rescue::Params::default()
    }))
    .unwrap();
}

#[test]
fn hanabi_keeps_the_laws() {
    let small = hanabi::Params {
        colors: 6,
        copies: vec![2, 1, 1],
        hand_size: Some(3),
        hints: 2,
        lives: 1,
        horizon: 60,
        ..hanabi::Params::default()
    };
    let kinds = [2, 3, 4, 5].map(|seats| hanabi::Params {
        seats,
        horizon: 60,
        ..hanabi::Params::default()
    });
    check_batch::<Hanabi>(kinds.into_iter().chain([small])).unwrap();
}

#[test]
fn overcooked_jaxmarl_v2_keeps_the_laws() {
    let plain = |layout: &str| overcooked_jaxmarl_v2::Params {
        layout: Chart::named(layout),
        horizon: 60,
        ..overcooked_jaxmarl_v2::Params::default()
    };
    let crowd = ["0AAP R 1", "WA  AA X", "LB1PW2WW"].map(String::from);
    check_batch::<OvercookedJaxmarlV2>([
        plain("cramped_room"),
        plain("fun_coordination"),
        overcooked_jaxmarl_v2::Params {
            view_radius: Some(2),
            negative_rewards: true,
            sample_recipe_on_delivery: true,
            indicate_successful_delivery: true,
            shaping: -1.0,
            ..plain("grounded_coord_ring")
        },
        overcooked_jaxmarl_v2::Params {
            layout: Chart::Rows(crowd.into()),
            start_cooking_interaction: true,
            random_reset: true,
            sample_recipe_on_delivery: true,
            ..plain("")
        },
    ])
    .unwrap();
}

#[test]
fn every_environment_states_the_ranges_of_rewards_and_observations() {
    for id in env_core::envs::IDS {
        let world = env_core::envs::open(id, "{}").unwrap();
        let spec = world.spec();
        let [least, most] = spec.reward_range.unwrap();
        assert!(least < most, "{id}: rewards from {least} to {most}");
        for field in &spec.observation {
            assert!(field.range.is_some(), "{id}: {}", field.name);
        }
    }
}

#[test]
fn worlds_of_one_environment_have_states_of_their_own() {
    for id in env_core::envs::IDS {
        let open = env_core::envs::find_opener(id, "{}").unwrap();
        let (mut played, mut alone) = (open(), env_core::envs::open(id, "{}").unwrap());
        let seats = usize::from(played.spec().seats);
        for world in [&mut played, &mut alone] {
            world.reset(7);
            for tick in 0..50_u16 {
                let actions = world.spec().actions.len() as u16;
                let row: Vec<u16> = (0..seats as u16)
                    .map(|seat| (tick + seat) % actions)
                    .collect();
                world.step(&row);
            }
        }
        let digest = alone.digest();
        assert_eq!(played.digest(), digest, "{id}");
        let mut other = open();
        assert_eq!(other.spec(), played.spec());
        other.reset(8);
        other.step(&vec![0; seats]);
        other.reset(7);
        assert_eq!(played.digest(), digest, "{id}");
        let mut first = env_core::envs::open(id, "{}").unwrap();
        first.reset(7);
        assert_eq!(other.digest(), first.digest(), "{id}");
    }
}
