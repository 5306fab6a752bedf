//! Shows that bytes which are no recording are refused with line and field, and nothing panics.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod files;

use env_core::rng::Rng;
use parity::host::Native;
use parity::{Report, replay_bytes};
use serde_json::{Value, json};

use files::{Lines, replay};

const FILE: &str = "Overcooked-CrampedRoom-V0";

fn refused(lines: &Lines) -> String {
    match replay(lines) {
        Report::Malformed { reason } => reason,
        other => panic!("{other:?}"),
    }
}

/// The refusal once a line is changed.
fn with(line: usize, change: impl Fn(&mut Value)) -> String {
    let mut lines = Lines::golden(FILE);
    let mut value = lines.json(line);
    change(&mut value);
    lines.0[line] = value.to_string();
    refused(&lines)
}

#[test]
fn a_malformed_line_is_refused_with_its_number_and_field() {
    let cases = [
        (
            with(3, |step| step["a"] = json!([6])),
            "line 4: field `a` has 1 entries and needs 2",
        ),
        (
            with(3, |step| step["a"] = json!([6, 7])),
            "line 4: field `a` has an action over 6",
        ),
        (
            with(3, |step| step["t"] = json!(9)),
            "line 4: field `t` is 9, and this is step 3",
        ),
        (
            with(3, |step| step["prio"] = json!([0, 0])),
            "line 4: field `prio` is no order of 2 agents",
        ),
        (
            with(3, |step| step["dir"] = json!(["up", 1])),
            "line 4: field `dir`: invalid type",
        ),
        (
            with(3, |step| step["smell"] = json!(1)),
            "line 4: field `smell` is not one of the format",
        ),
        (
            with(3, |step| drop(step.as_object_mut().unwrap().remove("osm"))),
            "line 4: field `osm` is missing",
        ),
        (
            with(3, |step| *step = json!([1])),
            "line 4: is no JSON object",
        ),
        (
            with(0, |header| header["n_agents"] = json!(0)),
            "line 1: field `n_agents` is 0",
        ),
        (
            with(0, |header| header["H"] = json!(5)),
            "line 1: field `reset`: field `otm` has 20 entries and needs 25",
        ),
        (
            with(0, |header| header["reset"]["pos"][0] = json!([9, 9])),
            "episode 0: line 1: field `reset`: field `pos` is outside of the grid",
        ),
        (
            with(0, |header| header["reset"]["otm"][2] = json!(2)),
            "episode 0: line 1: field `reset`: field `otm` has something else in place of a pot",
        ),
        (
            with(0, |header| header["reset"]["x"]["pot_timer"] = json!([-1])),
            "episode 0: line 1: field `reset`: field `pot_timer`: -1 is out of range",
        ),
        (
            with(0, |header| header["reset"]["inv"][0] = json!(22)),
            "episode 0: line 1: field `reset`: field `inv`: 22 is no type of thing",
        ),
        (
            with(0, |header| header["type"] = json!("film")),
            "line 1: field `type` is `film`",
        ),
    ];
    for (refusal, expected) in cases {
        assert!(
            refusal.starts_with(expected),
            "{refusal}\n    is not\n{expected}"
        );
    }
}

#[test]
fn a_file_that_is_none_is_refused() {
    let lines = Lines::golden(FILE);
    assert_eq!(
        refused(&Lines(lines.0[1..].to_vec())),
        "line 1: a step before any episode"
    );
    assert_eq!(refused(&Lines(Vec::new())), "there is no step to compare");
    assert_eq!(
        refused(&Lines(lines.0[..1].to_vec())),
        "there is no step to compare"
    );
    let mut cut = lines.clone();
    cut.0[7].truncate(40);
    assert!(
        refused(&cut).starts_with("line 8: is no JSON"),
        "{}",
        refused(&cut)
    );
    let Report::Malformed { reason } = replay_bytes(&b"not gzip"[..], &mut Native) else {
        panic!()
    };
    assert!(reason.starts_with("line 1: cannot be unpacked"), "{reason}");
}

/// Every value of a line by its path, changed into something of the wrong kind, size or sign.
fn mutate(value: &mut Value, rng: &mut Rng) {
    match value {
        Value::Array(items) if !items.is_empty() && rng.below(4) != 0 => {
            let at = rng.below(items.len() as u32) as usize;
            mutate(&mut items[at], rng);
        }
        Value::Object(map) if !map.is_empty() && rng.below(8) != 0 => {
            let at = rng.below(map.len() as u32) as usize;
            mutate(map.values_mut().nth(at).unwrap(), rng);
        }
        other => {
            let wrong = [
                json!(null),
                json!(-1),
                json!(i64::MIN),
                json!(u64::MAX),
                json!(255),
                json!(1e300),
                json!(""),
                json!("\u{1f373}"),
                json!([]),
                json!([[[]]]),
                json!({}),
                json!(true),
            ];
            *other = wrong[rng.below(wrong.len() as u32) as usize].clone();
        }
    }
}

#[test]
fn no_mutation_of_a_recording_panics_or_passes_for_another() {
    for (file, seed) in [
        (FILE, 1),
        ("X-MixedKitchen-DenseOrders", 2),
        ("OvercookedV2-GroundedCoordRing-V0", 3),
        ("X-GoalFinding-Moving", 4),
    ] {
        let mut short = Lines::golden(file);
        short.0.truncate(8);
        let mut rng = Rng::new(seed);
        for _ in 0..150 {
            let mut lines = short.clone();
            let at = rng.below(lines.0.len() as u32) as usize;
            let mut value = lines.json(at);
            mutate(&mut value, &mut rng);
            lines.0[at] = value.to_string();
            // It says something; which of its three answers is of no matter here.
            let _ = replay(&lines);
        }
        for _ in 0..50 {
            let mut bytes = files::pack(&short.0);
            let at = rng.below(bytes.len() as u32) as usize;
            bytes[at] ^= 1 << rng.below(8);
            let _ = replay_bytes(&bytes[..], &mut Native);
        }
    }
}
