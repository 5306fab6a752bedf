//! The grid worlds of the example study: what is written as data plays as it says.

#![allow(
    clippy::unwrap_used,
    reason = "clippy knows the helpers of a test only inside its function"
)]

use std::fs;
use std::path::{Path, PathBuf};

use catalog::{open_world, read_study};
use env_core::draw::DrawList;
use env_core::{World, envs};
use study::StageKind;

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/grid-worlds")
}

/// Opens the world of a stage of the example.
fn world(id: &str) -> Box<dyn World> {
    let (study, _) = read_study(&example()).unwrap();
    let stage = study.timeline.iter().find(|stage| stage.id == id).unwrap();
    match &stage.kind {
        StageKind::Env(env) => open_world(env).unwrap(),
        _ => panic!("{id} is no env stage"),
    }
}

fn words(world: &mut dyn World, seat: usize) -> String {
    let mut words = String::new();
    world.describe(seat, &mut words);
    words
}

#[test]
fn a_kitchen_of_data_equals_the_built_in_kitchen() {
    let mut written = world("kitchen");
    let mut built_in = envs::open("overcooked", r#"{"horizon":600}"#).unwrap();
    let mut delivered = 0;
    for seed in 0..6 {
        written.reset(seed);
        built_in.reset(seed);
        let cook = |seat| {
            let name = if seed < 4 { "cook" } else { "random" };
            let mut policy = policy::by_name(name, built_in.spec()).unwrap();
            policy.reset(seat, seed);
            policy
        };
        let mut cooks = [cook(0), cook(1)];
        let mut seen = Vec::new();
        for step in 0..600 {
            let actions = [0, 1].map(|seat| {
                built_in.observe(seat, &mut seen);
                cooks[seat].act(&seen)
            });
            let (one, two) = (written.step(&actions), built_in.step(&actions));
            let place = format!("seed {seed}, step {step}");
            assert_eq!(one, two, "{place}");
            delivered += two.events.len();
            assert_eq!(written.digest(), built_in.digest(), "{place}");
            for seat in [0, 1] {
                assert_eq!(written.mask(seat), built_in.mask(seat), "{place}");
            }
        }
        assert_eq!(written.score(), built_in.score());
    }
    assert!(delivered > 40, "{delivered} soups");
}

#[test]
fn a_leader_sees_the_chests_and_a_follower_opens_them() {
    let mut hunt = world("hunt");
    hunt.reset(4);
    let chests = |told: &str| {
        let line = told.lines().find(|line| line.starts_with("A chest"));
        line.map_or(0, |line| line.matches("row").count())
    };
    assert_eq!(chests(&words(&mut *hunt, 0)), 4);
    assert!(chests(&words(&mut *hunt, 1)) < 4);
    let mut picture = DrawList::default();
    hunt.draw(Some(1), &mut picture);
    let mut whole = DrawList::default();
    hunt.draw(Some(0), &mut whole);
    assert_ne!(picture.items, whole.items);
    assert!(!hunt.spec().perfect_information);
}

#[test]
fn a_fault_of_a_world_is_told_where_it_stands_in_its_file() {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(example()).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    let file = folder.path().join("public_goods_walk.yaml");
    let whole = fs::read_to_string(&file).unwrap();
    let faults = |from: &str, to: &str| {
        assert!(whole.contains(from));
        fs::write(&file, whole.replacen(from, to, 1)).unwrap();
        let problems = read_study(folder.path()).unwrap_err();
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        told.join("\n")
    };
    for (from, to, told) in [
        (
            "picture: mine",
            "picture: mien",
            "public_goods_walk.yaml:15:5: kinds.mine: there is no picture `mien`; did you mean `mine`?",
        ),
        (
            "use: {source: coin}",
            "use: {source: coins}",
            "public_goods_walk.yaml:15:5: kinds.mine: there is no kind `coins`; did you mean `coin`?",
        ),
        (
            "at: pool",
            "at: pol",
            "public_goods_walk.yaml:23:5: rewards.share: there is no kind `pol`; did you mean `pool`?",
        ),
        (
            "\"A +     + B\"",
            "\"A +     +B\"",
            "public_goods_walk.yaml:9:5: layout[2]: row 3 has 10 symbols and row 1 has 11",
        ),
        (
            "horizon: 480",
            "horizn: 480",
            "public_goods_walk.yaml:3:1: horizn: there is no parameter `horizn`; did you mean `horizon`?",
        ),
        (
            "tick_hz: 6",
            "tick_hz: [6]",
            "public_goods_walk.yaml:4:1: tick_hz: expected a whole number from 0 to 65535, found a list",
        ),
        (
            "title: Coins",
            "title: Coins: and chests",
            "public_goods_walk.yaml:2:",
        ),
    ] {
        let found = faults(from, to);
        assert!(found.contains(told), "{found}\n  has not\n{told}");
    }
    fs::remove_file(&file).unwrap();
    let problems = read_study(folder.path()).unwrap_err();
    let told = problems[0].to_string();
    assert!(
        told.contains("env.grid: there is no file `public_goods_walk.yaml`"),
        "{told}"
    );
}

/// The worlds of the documents, each with its line.
fn documented() -> Vec<(usize, String)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/environments/without-code.md");
    let page = fs::read_to_string(page).unwrap();
    let mut blocks = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        if line == "```yaml" {
            let block = lines.by_ref().map(|(_, line)| line);
            let block: Vec<&str> = block.take_while(|line| *line != "```").collect();
            blocks.push((at + 2, block.join("\n")));
        }
    }
    blocks.retain(|(_, block)| block.contains("kinds:"));
    blocks
}

#[test]
fn the_documented_worlds_can_be_played() {
    let folder = tempfile::tempdir().unwrap();
    let study = "format: 1
study: {id: docs, version: 1.0.0, title: Docs, contact: lab@example.edu}
timeline:
  - {id: lobby, type: lobby, group_size: 2, timeout_s: 60, on_timeout: leave}
  - {id: play, type: env, env: {grid: world.yaml}, players: [self, partner]}
  - {id: bye, type: end, outcome: completed, file: bye.md}
";
    fs::write(folder.path().join("study.yaml"), study).unwrap();
    fs::write(folder.path().join("bye.md"), "# Bye").unwrap();
    let worlds = documented();
    assert!(worlds.len() >= 5);
    for (line, world) in worlds {
        fs::write(folder.path().join("world.yaml"), world).unwrap();
        let read = read_study(folder.path());
        assert!(read.is_ok(), "line {line}: {:?}", read.err());
    }
}
