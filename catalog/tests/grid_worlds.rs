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
            "use: source",
            "public_goods_walk.yaml:15:61: kinds[1].use: `source` needs a value; write `{source: …}`",
        ),
        (
            "use: {source: coin}",
            "use: {loose: coin}",
            "kinds[1].use.loose: `loose` takes no value; write `loose` alone",
        ),
        (
            "use: {source: coin}",
            "use: {source: coin, sink: coin}",
            "kinds[1].use.sink: expected one key, which says what it is",
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

#[test]
fn a_wrong_picture_is_told_with_the_pictures_of_the_page_alone() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/environments/without-code.md");
    let page = fs::read_to_string(page).unwrap();
    let refused = env_core::envs::open(
        "grid",
        r#"{"kinds": [{"name": "a", "symbol": "a", "picture": "zzzzzz"}], "layout": ["+ a +"]}"#,
    );
    let reason = refused.err().expect("there is no such picture").reason;
    let list = reason.split_once("(there is: ").unwrap().1;
    let names: Vec<&str> = list.trim_end_matches(')').split(", ").collect();
    assert!(names.len() > 40, "{reason}");
    for name in names {
        let stem = name.trim_end_matches("_crate").trim_end_matches("_piece");
        assert!(
            page.contains(&format!("`{name}`")) || page.contains(&format!("`{stem}`")),
            "the page does not have `{name}`"
        );
    }
}

#[test]
fn a_fault_of_a_world_outside_of_a_study_names_its_file_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("world.yaml");
    fs::write(
        &file,
        "kinds: [{name: wall, use: container}]\nlayout: [\"++\"]\n",
    )
    .unwrap();
    let name = file.display().to_string();
    let error = catalog::env::describe_environment(&name, "").unwrap_err();
    let told = format!("{error:#}");
    let wanted =
        format!("{name}:1:22: kinds[0].use: `container` needs a value; write `{{container: …}}`");
    assert_eq!(told, wanted);
}

/// The warnings of a study that plays a world in one layout.
fn warned(world: &str) -> Vec<String> {
    warned_in(world, &["{grid: world.yaml}"])
}

/// The warnings of a study that plays a world in several stages.
fn warned_in(world: &str, envs: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let mut study = "format: 1
study: {id: odd, version: 1.0.0, title: Odd, contact: lab@example.edu}
timeline:
  - {id: lobby, type: lobby, group_size: 2, timeout_s: 60, on_timeout: leave}
"
    .to_owned();
    for (index, env) in envs.iter().enumerate() {
        study +=
            &format!("  - {{id: play{index}, type: env, env: {env}, players: [self, partner]}}\n");
    }
    study += "  - {id: bye, type: end, outcome: completed, file: bye.md}\n";
    fs::write(folder.path().join("study.yaml"), study).unwrap();
    fs::write(folder.path().join("bye.md"), "# Bye").unwrap();
    fs::write(folder.path().join("world.yaml"), world).unwrap();
    let linted = catalog::lint::lint_study(folder.path());
    assert!(linted.is_fine(), "{linted}");
    let warnings = linted.warnings.iter();
    warnings.map(|found| found.problem.to_string()).collect()
}

const GEMS: &str = "kinds:
  - {name: wall, symbol: \"#\", wall: true}
  - {name: gem, symbol: g, use: collect}
  - {name: coin, symbol: c, use: loose}
  - {name: pool, symbol: P, use: {sink: coin}}
  - {name: token, symbol: t, use: loose}
layout: [\"#+gcP+#\"]
rewards:
  - {name: paid, when: {does: {act: take, at: gem}}, worth: 1, scored: true}
ends: {when_gone: [gem]}
";

#[test]
fn what_can_never_happen_in_a_world_is_a_warning() {
    assert_eq!(warned(GEMS), [""; 0]);
    for (from, to, told) in [
        (
            "+gcP+",
            "+ cP+",
            "world.yaml:9:5: rewards.paid: is never paid: `gem` is nowhere, as the layout has none and nothing makes one; draw one in the layout",
        ),
        (
            "+gcP+",
            "+ cP+",
            "world.yaml:10:8: ends.when_gone: the layout has no `gem`, so every episode ends after its first step; draw one in the layout",
        ),
        (
            "[gem]}",
            "[gem, token]}",
            "world.yaml:10:8: ends.when_gone: `token` is nowhere, as the layout has none and nothing makes one; leave it out here, or draw one in the layout",
        ),
        (
            "act: take, at: gem",
            "act: deliver, at: gem",
            "world.yaml:9:5: rewards.paid: is never paid: no hand can ever `deliver` at `gem`; hands can only `take`",
        ),
        (
            "act: take, at: gem",
            "act: deliver, item: gem, at: pool",
            "world.yaml:9:5: rewards.paid: is never paid: `item` of `deliver` can only be `coin` there",
        ),
        (
            "{does: {act: take, at: gem}}",
            "{stands_on: gem}",
            "world.yaml:9:5: rewards.paid: is never paid: agents cannot stand on `gem`; write `walkable: true` for it",
        ),
        (
            "ends: {when_gone: [gem]}",
            "ends: {at_score: 0}",
            "world.yaml:10:8: ends.at_score: the score begins at 0, so every episode ends after its first step; write a larger number",
        ),
        (
            ", scored: true}\nends: {when_gone: [gem]}",
            "}\nends: {at_score: 5}",
            "ends.at_score: is never reached: no reward that can be paid raises the score; write `scored: true` for one",
        ),
    ] {
        assert!(GEMS.contains(from), "{from}");
        let warnings = warned(&GEMS.replacen(from, to, 1)).join("\n");
        assert!(warnings.contains(told), "{warnings}\n  has not\n{told}");
    }
}

#[test]
fn what_some_of_the_conditions_of_a_world_have_is_no_warning() {
    let world = GEMS.replace("layout: [", "layouts: {poor: [\"#+ cP+#\"]}\nlayout: [");
    let poor = "{grid: world.yaml}, config: {layout: poor}";
    assert_eq!(warned_in(&world, &["{grid: world.yaml}", poor]), [""; 0]);
    assert_eq!(
        warned_in(&world, &[poor]).len(),
        2,
        "the reward and the end"
    );
}

#[test]
fn the_worlds_of_the_example_have_no_oddities() {
    let linted = catalog::lint::lint_study(&example());
    assert!(linted.is_fine() && linted.warnings.is_empty(), "{linted}");
}
