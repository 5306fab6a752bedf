//! Orders: their arrival, their expiry, and their pay.

use super::*;

/// A kitchen with orders that come only if the test injects them, and the rewards of CoGrid's mixed kitchen.
fn ordered() -> Params {
    Params {
        orders: Some(OrderParams {
            max_active: 2,
            time_limit: 100,
            spawn: Spawn {
                onion_soup: 0.25,
                tomato_soup: 0.25,
            },
        }),
        rewards: vec![
            KitchenReward {
                tip: 10.0,
                ..KitchenReward::new(Earning::OrderDelivery, 20.0).penalized()
            },
            KitchenReward::new(Earning::OrderIngredientInPot, 3.0),
            KitchenReward::new(Earning::ExpiredOrder, -5.0),
        ],
        ..layout("cramped_mixed_kitchen")
    }
}

const ONION_ORDER: u8 = 1;
const TOMATO_ORDER: u8 = 2;

/// Sets an order, and lets no other come in the next step.
fn order(scene: &mut Scene<env_core::envs::kitchen::params::First>, soup: u8, left: u16) {
    (
        scene.state.extra.orders[0].soup,
        scene.state.extra.orders[0].left,
    ) = (soup, left);
    let never = 0.99_f32.to_bits();
    scene
        .env
        .inject(&mut scene.state, &[[0, 1].as_slice(), &[never; 8]].concat());
}

#[test]
fn an_order_that_expires_is_not_delivered() {
    for (mut scene, rewards) in both(&ordered()).into_iter().zip([15.0, -25.0]) {
        // Tomato soup is delivered in the step in which the order of onion soup expires.
        scene.put(0, [2, 2], Direction::Down, "tomato_soup");
        scene.put(1, [1, 1], Direction::Up, "");
        order(&mut scene, ONION_ORDER, 1);
        assert_eq!(scene.step(&[PICK_UP_OR_DROP, NOOP]).1, vec![rewards; 2]);
        assert_eq!((scene.held(0), scene.state.extra.expired), ("", 1));
    }
}

#[test]
fn an_order_that_is_delivered_in_time_pays_a_tip() {
    for (mut scene, reward) in both(&ordered()).into_iter().zip([20.0, 25.0]) {
        scene.put(0, [2, 2], Direction::Down, "tomato_soup");
        scene.put(1, [1, 1], Direction::Up, "");
        order(&mut scene, TOMATO_ORDER, 51);
        assert_eq!(scene.step(&[PICK_UP_OR_DROP, NOOP]).1, vec![reward; 2]);
        assert_eq!(scene.state.extra.orders[0], Default::default());
    }
}

#[test]
fn only_the_soup_that_fills_an_order_is_paid() {
    // Both deliver tomato soup, and one order asks for it: CoGrid pays both.
    let params = Params {
        layout: Chart::Rows(["CUCUC", "O+ +T", "C   C", "C@C@C"].map(Into::into).into()),
        ..ordered()
    };
    for (mut scene, events) in both(&params).into_iter().zip([[20.0, 20.0], [29.0, -20.0]]) {
        scene.put(0, [2, 1], Direction::Down, "tomato_soup");
        scene.put(1, [2, 3], Direction::Down, "tomato_soup");
        order(&mut scene, TOMATO_ORDER, 91);
        let (told, rewards) = scene.step(&[PICK_UP_OR_DROP; 2]);
        let [one, two] = events;
        assert_eq!(
            told,
            [
                event("order_delivery", 0, one),
                event("order_delivery", 1, two)
            ]
        );
        assert_eq!(rewards, [one + two; 2]);
    }
}

#[test]
fn a_soup_that_nobody_ordered_is_gone_and_costs_what_the_reward_says() {
    for mut scene in both(&ordered()) {
        scene.put(0, [2, 2], Direction::Down, "onion_soup");
        scene.put(1, [1, 1], Direction::Up, "");
        order(&mut scene, TOMATO_ORDER, 50);
        let (_, rewards) = scene.step(&[PICK_UP_OR_DROP, NOOP]);
        assert_eq!((scene.held(0), rewards), ("", vec![-20.0; 2]));
        assert_eq!(scene.env.score(&scene.state), -20);
    }
}

#[test]
fn an_ingredient_is_paid_while_its_soup_is_ordered() {
    for (soup, paid) in [(ONION_ORDER, 3.0), (TOMATO_ORDER, 0.0)] {
        for mut scene in both(&ordered()) {
            scene.put(0, [1, 1], Direction::Up, "onion");
            scene.put(1, [2, 2], Direction::Up, "");
            order(&mut scene, soup, 50);
            assert_eq!(scene.step(&[PICK_UP_OR_DROP, NOOP]).1, vec![paid; 2]);
        }
    }
}

#[test]
fn orders_come_as_often_as_they_should() {
    for mut scene in both(&ordered()) {
        let mut came = [0; 2];
        for _ in 0..150 {
            scene.state.extra.orders = Default::default();
            scene.step(&[NOOP; 2]);
            for order in &scene.state.extra.orders {
                if let Some(recipe) = order.soup.checked_sub(1) {
                    came[usize::from(recipe)] += 1;
                    assert_eq!(order.left, 100);
                }
            }
        }
        // Of 300 places a quarter each; the bounds are five standard deviations away.
        assert!(
            came.iter().all(|came| (37..=113).contains(came)),
            "{came:?}"
        );
    }
}

#[test]
fn orders_are_cards_below_the_kitchen_with_the_time_that_is_left() {
    let mut scene = Scene::new(ordered());
    scene.state.extra.orders[1] = KitchenOrder { soup: 2, left: 25 };
    let mut list = DrawList::default();
    scene.env.draw(&scene.state, None, &mut list);
    assert_eq!([list.width, list.height], [5.0, 5.0]);
    let strip: Vec<&DrawItem> = list.items.iter().filter(|item| item.y >= 4.0).collect();
    let sprites = Overcooked::sprites();
    let pictures = strip.iter().filter_map(|item| match item.shape {
        Shape::Sprite(index) => Some(sprites[usize::from(index)].name),
        _ => None,
    });
    assert_eq!(pictures.collect::<Vec<_>>(), ["order_card", "tomato_soup"]);
    let bars = strip
        .iter()
        .filter(|item| matches!(item.shape, Shape::Rect { .. }));
    let widths: Vec<f32> = bars.map(|item| item.w).collect();
    assert_eq!(widths[1] / widths[0], 0.25);
}
