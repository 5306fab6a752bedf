//! The recordings that the repository carries are played without a mismatch, and a mismatch is seen.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod files;

use std::collections::BTreeSet;

use parity::{FileReport, Modules, Report, run};
use serde_json::{Value, json};

use files::{Lines, golden, replay};

/// Recordings of Overcooked dialects that the repository has.
const DIALECTS: usize = 23;

/// Our environments of which CoGrid is not the original.
const OTHERS: [&str; 3] = ["overcooked_ai", "hanabi", "overcooked_jaxmarl_v2"];

/// The environment of a recording that was played.
fn environment(report: &FileReport) -> &str {
    match &report.report {
        Report::Compared { environment, .. } => environment,
        _ => "",
    }
}

#[test]
fn every_recording_is_played_without_a_mismatch() {
    let mut reports = Vec::new();
    run(&golden(), &mut Modules::default(), |report| {
        reports.push(report)
    })
    .unwrap();
    let (others, reports): (Vec<_>, Vec<_>) = reports
        .into_iter()
        .partition(|report| OTHERS.contains(&environment(report)));
    assert_eq!(reports.len(), 26);
    let of_dialects = others
        .iter()
        .filter(|report| environment(report) == OTHERS[0]);
    assert_eq!(of_dialects.count(), DIALECTS);
    for report in &others {
        assert!(report.is_equal(), "{report:#?}");
    }
    for report in &reports {
        assert!(report.is_equal(), "{report:#?}");
        let Report::Compared { episodes, .. } = report.report else {
            panic!("{report:?}")
        };
        assert_eq!(episodes, 2, "{report:?}");
    }
    assert_eq!(reports.iter().map(FileReport::steps).sum::<u64>(), 18_760);
}

#[test]
fn the_recordings_cover_every_environment_reward_and_action_set() {
    let (mut scopes, mut classes, mut actions) =
        (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for entry in golden().read_dir().unwrap() {
        let path = entry.unwrap().path();
        if !path.to_string_lossy().ends_with(".gz") {
            continue;
        }
        let header = Lines::of(&path).json(0);
        if header["format"] == 2 {
            continue;
        }
        scopes.insert(header["scope"].as_str().unwrap().to_owned());
        actions.insert(header["actions"][0].as_str().unwrap().to_owned());
        for reward in header["rewards"].as_array().unwrap() {
            classes.insert(reward["class"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(
        Vec::from_iter(scopes),
        ["global", "overcooked", "search_rescue"]
    );
    assert_eq!(Vec::from_iter(actions), ["move_forward", "move_up"]);
    assert_eq!(
        Vec::from_iter(classes),
        [
            "ButtonActivationCost",
            "DeliveryReward",
            "ExpiredOrderPenalty",
            "GoalReward",
            "OnionInPotReward",
            "OrderDeliveryReward",
            "OrderGatedIngredientInPotReward",
            "OrderGatedSoupInDishReward",
            "SoupInDishReward",
            "TargetRecipeDeliveryReward",
            "TargetRecipeIngredientInPotReward",
            "TargetRecipeSoupInDishReward",
        ]
    );
}

/// Changes the first number, hash or flag that it finds.
fn change(value: &mut Value) {
    match value {
        Value::Array(items) => change(&mut items[0]),
        Value::Object(map) => change(map.values_mut().next().unwrap()),
        Value::String(text) => text.insert(0, 'f'),
        number => *number = (number.as_f64().unwrap() as i64 + 1).into(),
    }
}

/// Changes a field in the last line that has it, and gives what is then said to differ.
fn changed(file: &str, path: &[&str]) -> (u64, Vec<String>) {
    let mut lines = Lines::golden(file);
    let at = (1..lines.0.len())
        .rev()
        .find(|&at| {
            !path
                .iter()
                .fold(&lines.json(at), |value, key| &value[key])
                .is_null()
        })
        .unwrap();
    let mut step = lines.json(at);
    let field = path.iter().fold(&mut step, |value, key| &mut value[key]);
    change(field);
    lines.0[at] = step.to_string();
    match replay(&lines) {
        Report::Compared {
            differing, first, ..
        } => (differing.values().sum(), first),
        other => panic!("{path:?}: {other:?}"),
    }
}

#[test]
fn every_changed_field_of_a_state_or_an_outcome_is_seen() {
    let kitchen = "Overcooked-CrampedRoom-V0";
    let fields: [(&str, &[&str]); 21] = [
        (kitchen, &["pos"]),
        (kitchen, &["dir"]),
        (kitchen, &["inv"]),
        (kitchen, &["otm"]),
        (kitchen, &["osm"]),
        (kitchen, &["x", "pot_contents"]),
        (kitchen, &["x", "pot_timer"]),
        (kitchen, &["oh"]),
        (kitchen, &["obs"]),
        (kitchen, &["r"]),
        (kitchen, &["rc"]),
        (kitchen, &["te"]),
        (kitchen, &["tr"]),
        (kitchen, &["done"]),
        ("X-MixedKitchen-DenseOrders", &["x", "order_recipe"]),
        ("X-MixedKitchen-DenseOrders", &["x", "order_timer"]),
        ("X-MixedKitchen-DenseOrders", &["x", "order_n_expired"]),
        (
            "OvercookedV2-GroundedCoordRing-V0",
            &["x", "open_pot_timer"],
        ),
        (
            "OvercookedV2-GroundedCoordRing-V0",
            &["x", "delivery_occurred"],
        ),
        ("OvercookedV2-GroundedCoordRing-V0", &["x", "button_timer"]),
        ("X-GoalFinding-Moving", &["x", "goals_collected"]),
    ];
    for (file, path) in fields {
        let (mismatches, first) = changed(file, path);
        // Once from the seed and once with injected draws.
        assert_eq!(mismatches, 2, "{path:?}: {first:?}");
        let named = format!("`{}", path.join("."));
        assert!(
            first.iter().all(|line| line.contains(&named)),
            "{path:?}: {first:?}"
        );
        assert!(
            first[0].contains("from the seed") && first[1].contains("with injected draws"),
            "{first:?}"
        );
    }
}

#[test]
fn a_changed_draw_is_seen_against_the_seed() {
    let orders = "X-MixedKitchen-DenseOrders";
    let (mismatches, first) = changed(orders, &["key"]);
    assert_eq!(mismatches, 1, "{first:?}");
    assert!(first[0].contains("from the seed: `key`"), "{first:?}");
    // These are injected as well, and may change the course.
    let mut lines = Lines::golden(orders);
    let last = lines.0.len() - 1;
    let mut step = lines.json(last);
    step["rolls"][0] = json!(0.9999);
    lines.0[last] = step.to_string();
    let Report::Compared { first, .. } = replay(&lines) else {
        panic!()
    };
    assert!(first[0].contains("from the seed: `rolls`"), "{first:?}");
    let mut step = lines.json(last);
    step["prio"].as_array_mut().unwrap().reverse();
    lines.0[last] = step.to_string();
    let Report::Compared { first, .. } = replay(&lines) else {
        panic!()
    };
    assert!(first[0].contains("from the seed: `prio`"), "{first:?}");
}

#[test]
fn a_changed_header_is_seen() {
    for (field, value) in [
        ("obs_dim", json!(893)),
        ("max_steps", json!(60)),
        ("seed", json!(1001)),
    ] {
        let mut lines = Lines::golden("Overcooked-CrampedRoom-V0");
        let mut header = lines.json(0);
        header[field] = value;
        lines.0[0] = header.to_string();
        let Report::Compared {
            differing, first, ..
        } = replay(&lines)
        else {
            panic!("{field}")
        };
        assert!(!differing.is_empty(), "{field}");
        match field {
            "obs_dim" => assert_eq!(Vec::from_iter(differing.keys()), ["obs_dim"]),
            "max_steps" => {
                assert!(differing.contains_key("tr") && differing.contains_key("done"))
            }
            _ => assert!(
                first.iter().all(|line| line.contains("from the seed")),
                "{first:?}"
            ),
        }
    }
    let mut lines = Lines::golden("X-GoalFinding-Simple");
    let mut header = lines.json(0);
    header["wall_map"][10] = json!(1);
    lines.0[0] = header.to_string();
    let Report::Compared { differing, .. } = replay(&lines) else {
        panic!()
    };
    assert_eq!(Vec::from_iter(differing.keys()), ["wall_map"]);
}

#[test]
fn a_changed_action_is_seen() {
    let mut lines = Lines::golden("Overcooked-CrampedRoom-V0");
    let paid = (1..lines.0.len())
        .find(|&at| !lines.json(at)["rc"].is_null())
        .unwrap();
    let mut step = lines.json(paid);
    step["a"] = json!([6, 6]);
    lines.0[paid] = step.to_string();
    let Report::Compared { differing, .. } = replay(&lines) else {
        panic!()
    };
    assert!(differing.contains_key("r"), "{differing:?}");
}

#[test]
fn what_is_not_ours_is_named() {
    let changes: [(&str, Value, &str); 7] = [
        ("scope", json!("mine"), "the scope `mine`"),
        (
            "rewards",
            json!([
                {"class": "MyReward", "coefficient": 1},
                {"class": "OnionInPotReward", "coefficient": 1},
                {"class": "SoupInDishReward", "coefficient": 1}
            ]),
            "the reward `MyReward`",
        ),
        (
            "features",
            json!(["agent_dir", "smell"]),
            "there is no feature `smell`",
        ),
        (
            "actions",
            json!(["jump", "move_up", "b", "c", "d", "e", "f"]),
            "the actions",
        ),
        ("config", json!({"gravity": 9}), "`config.gravity`"),
        ("config", json!({"n_agents": 3}), "`config.n_agents`"),
        (
            "layout",
            json!(["CCUCC", "O   O", "C z C", "C=C@C"]),
            "no kind has the symbol `z`",
        ),
    ];
    for (field, value, reason) in changes {
        let mut lines = Lines::golden("Overcooked-CrampedRoom-V0");
        let mut header = lines.json(0);
        header[field] = value;
        lines.0[0] = header.to_string();
        let Report::Unsupported { env, reason: said } = replay(&lines) else {
            panic!("{field}: {:?}", replay(&lines))
        };
        assert_eq!(env, "Overcooked-CrampedRoom-V0");
        assert!(said.contains(reason), "{said}");
    }
}

#[test]
fn every_changed_field_of_a_recording_of_jaxmarl_is_seen() {
    let (cards, kitchen) = ("Hanabi-2", "OvercookedV2-jaxmarl-cramped_room");
    let of_cards = [
        "hands",
        "known",
        "color",
        "rank",
        "fireworks",
        "info",
        "lives",
        "turn",
        "last_round",
        "score",
        "step",
        "done",
        "out_of_lives",
        "discards",
    ];
    let of_kitchens = ["pos", "dir", "inv", "items", "timer", "delivered", "step"];
    let state = of_cards.map(|name| (cards, name));
    for (file, name) in state
        .into_iter()
        .chain(of_kitchens.map(|name| (kitchen, name)))
    {
        let (mismatches, first) = changed(file, &["x", name]);
        // Each is played from its recorded start, and from the start of its deck or layout.
        assert_eq!(mismatches, 2, "{name}: {first:?}");
    }
    for (file, name) in [
        (cards, "oh"),
        (cards, "legal"),
        (cards, "r"),
        (cards, "te"),
        (kitchen, "oh"),
        (kitchen, "r"),
        (kitchen, "shaped"),
        (kitchen, "tr"),
    ] {
        let (mismatches, first) = changed(file, &[name]);
        assert!(mismatches > 0, "{name}: {first:?}");
    }
}
#[test]
fn every_changed_field_of_a_dialect_is_seen() {
    let name = "dialects/overcooked-ai-1.1.0-cramped_room";
    let fields: [(&[&str], &str); 7] = [
        (&["players"], "players"),
        (&["pots"], "pots"),
        (&["t"], "t"),
        (&["r"], "r"),
        (&["sr"], "sr"),
        (&["oh"], "observation lossless of seat 0"),
        (&["obs"], "observation lossless of seat 0, whole"),
    ];
    for (path, named) in fields {
        let (mismatches, first) = changed(name, path);
        assert_eq!(mismatches, 1, "{path:?}: {first:?}");
        assert!(first[0].contains(&format!("`{named}`")), "{first:?}");
    }
}

#[test]
fn a_dialect_that_cannot_be_played_is_named() {
    let mut lines = Lines::golden("dialects/overcooked-ai-1.1.0-cramped_room");
    let mut header = lines.json(0);
    header["layout"] = json!("cramped_rom");
    lines.0[0] = header.to_string();
    let Report::Unsupported { reason, .. } = replay(&lines) else {
        panic!("{:?}", replay(&lines))
    };
    assert!(reason.contains("did you mean `cramped_room`?"), "{reason}");
}
