//! The look and the names of a grid change only its pictures and words.

use env_core::draw::{DrawList, Shape};
use env_core::{World, envs};

/// Every grid world, with kinds that can have each other's look.
const WORLDS: [(&str, [&str; 2]); 6] = [
    ("goal_finding", ["goal", "wall"]),
    ("goal_seeking", ["target_a", "target_b"]),
    ("overcooked", ["onion", "tomato"]),
    ("overcooked_v2", ["onion", "tomato"]),
    ("search_rescue", ["green_victim", "yellow_victim"]),
    ("grid", ["goal", "wall"]),
];

fn open(id: &str, appearance: &str) -> Box<dyn World + Send> {
    let params = format!(r#"{{"seats":2,"horizon":200,"appearance":{appearance}}}"#);
    envs::open(id, &params).unwrap_or_else(|error| panic!("{id}: {error}"))
}

fn picture(world: &mut dyn World, seat: Option<usize>) -> DrawList {
    let mut list = DrawList::default();
    world.draw(seat, &mut list);
    list
}

fn words(world: &mut dyn World, seat: usize) -> String {
    let mut words = String::new();
    world.describe(seat, &mut words);
    words
}

fn refusal(id: &str, appearance: &str) -> String {
    let params = format!(r#"{{"appearance":{appearance}}}"#);
    envs::open(id, &params).err().unwrap().to_string()
}

/// The kinds of a world, as the refusal of an unknown one lists them.
fn kinds(id: &str) -> String {
    refusal(id, r#"{"kinds":{"no such kind":"x"}}"#)
}

#[test]
fn appearance_changes_no_state_observation_or_reward() {
    for (id, [one, two]) in WORLDS {
        let known = kinds(id);
        assert!(known.contains(one) && known.contains(two), "{id}: {known}");
        let dressed = format!(
            r#"{{"agents":[5,4],"names":["Ada","Ben"],"kinds":{{"{one}":"{two}","{two}":"{one}"}}}}"#
        );
        let (mut plain, mut dressed) = (open(id, "{}"), open(id, &dressed));
        let actions = plain.spec().actions.len() as u32;
        let (mut seen, mut seen_dressed) = (Vec::new(), Vec::new());
        let mut random = 7_u32;
        for seed in 0..3 {
            plain.reset(seed);
            dressed.reset(seed);
            let mut differ = false;
            for step in 0..200 {
                let moves = [0, 1].map(|_| {
                    random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    ((random >> 16) % actions) as u16
                });
                let outcome = plain.step(&moves).clone();
                assert_eq!(
                    *dressed.step(&moves),
                    outcome,
                    "{id}, seed {seed}, step {step}"
                );
                assert_eq!(
                    dressed.digest(),
                    plain.digest(),
                    "{id}, seed {seed}, step {step}"
                );
                for seat in 0..2 {
                    plain.observe(seat, &mut seen);
                    dressed.observe(seat, &mut seen_dressed);
                    assert_eq!(seen_dressed, seen);
                    assert_eq!(dressed.mask(seat), plain.mask(seat));
                }
                differ |= picture(&mut *dressed, Some(0)) != picture(&mut *plain, Some(0));
            }
            assert!(differ, "{id} looks the same");
        }
        assert_eq!(dressed.spec(), plain.spec(), "{id}");
    }
}

#[test]
fn agents_can_swap_their_looks() {
    let (mut plain, mut swapped) = (
        open("overcooked", "{}"),
        open("overcooked", r#"{"agents":[1,0]}"#),
    );
    plain.reset(1);
    swapped.reset(1);
    // Both look up.
    plain.step(&[0, 0]);
    swapped.step(&[0, 0]);
    let body = |list: &DrawList, seat: u32| {
        let item = list.items.iter().find(|item| item.id == 1 + seat);
        item.map(|item| item.shape.clone()).unwrap()
    };
    let (before, after) = (picture(&mut *plain, None), picture(&mut *swapped, None));
    assert_ne!(body(&before, 0), body(&before, 1));
    assert_eq!(body(&after, 0), body(&before, 1));
    assert_eq!(body(&after, 1), body(&before, 0));
}

#[test]
fn agents_are_called_by_their_names() {
    let mut world = open("overcooked", r#"{"names":["Ada","Ben"]}"#);
    world.reset(1);
    let told = [words(&mut *world, 0), words(&mut *world, 1)];
    assert!(told[0].starts_with("You are Ada, at row"), "{}", told[0]);
    assert!(told[0].contains("\nBen is at"), "{}", told[0]);
    assert!(told[1].starts_with("You are Ben, at row"), "{}", told[1]);
    assert!(told.iter().all(|words| !words.contains("partner")));
    let list = picture(&mut *world, None);
    let texts: Vec<&str> = list
        .items
        .iter()
        .filter_map(|item| match &item.shape {
            Shape::Text { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["Ada", "Ben"]);
}

#[test]
fn a_thing_with_another_look_has_its_words_too() {
    let swap = r#"{"kinds":{"onion":"tomato","tomato":"onion","onion_stack":"tomato_stack"}}"#;
    let (mut world, mut plain) = (open("overcooked", swap), open("overcooked", "{}"));
    world.reset(1);
    plain.reset(1);
    let (told, before) = (words(&mut *world, 0), words(&mut *plain, 0));
    assert!(before.contains("(onion or tomato)") && before.contains("The onions: row 2"));
    assert!(told.contains("(tomato or onion)") && told.contains("The tomatoes: row 2"));
    assert!(!told.contains("The onions"), "{told}");
}

#[test]
fn nobody_out_of_sight_is_named_in_a_picture() {
    let params = r#"{"view_radius":1,"layout":"grounded_coord_simple","appearance":{"names":["Ada","Ben"]}}"#;
    let mut world = envs::open("overcooked_v2", params).unwrap();
    world.reset(1);
    assert!(words(&mut *world, 0).contains("Ben is out of sight"));
    let names = |list: &DrawList| -> Vec<String> {
        let texts = list.items.iter().filter_map(|item| match &item.shape {
            Shape::Text { text, .. } => Some(text.clone()),
            _ => None,
        });
        texts
            .filter(|text| text == "Ada" || text == "Ben")
            .collect()
    };
    assert_eq!(names(&picture(&mut *world, None)), ["Ada", "Ben"]);
    assert_eq!(names(&picture(&mut *world, Some(0))), ["Ada"]);
    assert_eq!(names(&picture(&mut *world, Some(1))), ["Ben"]);
}

#[test]
fn what_cannot_be_is_refused_at_its_field() {
    for (appearance, told) in [
        (
            r#"{"agents":[0,1,2]}"#,
            "appearance.agents: must have at most 2: one a seat",
        ),
        (
            r#"{"agents":[16]}"#,
            "appearance.agents: there is no look 16: take 0 to 15",
        ),
        (
            r#"{"names":["Ada","Ada"]}"#,
            "appearance.names[1]: `Ada` is the name of another seat already",
        ),
        (
            r#"{"names":[""]}"#,
            "appearance.names[0]: must have 1 to 12 letters",
        ),
        (
            r#"{"names":["a\nb"]}"#,
            "appearance.names[0]: must have 1 to 12 letters",
        ),
    ] {
        assert_eq!(refusal("overcooked", appearance), told);
    }
    let told = refusal("overcooked", r#"{"kinds":{"onion":"tomatto"}}"#);
    assert!(told.starts_with("appearance.kinds.onion: "), "{told}");
    assert!(told.contains("did you mean `tomato`?"), "{told}");
}
