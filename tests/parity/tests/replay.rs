//! The recordings that the repository carries are played without a mismatch, and a mismatch is seen.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use parity::host::Native;
use parity::{Report, replay_bytes, run};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden")
}

/// The first episode of the cramped room, line by line.
fn lines() -> Vec<String> {
    let file = std::fs::File::open(golden().join("Overcooked-CrampedRoom-V0.jsonl.gz")).unwrap();
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let second = text.match_indices("\"type\"").nth(1).unwrap().0;
    text[..second]
        .lines()
        .filter(|line| line.ends_with('}'))
        .map(String::from)
        .collect()
}

fn pack(lines: &[String]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    out.write_all(lines.join("\n").as_bytes()).unwrap();
    out.finish().unwrap()
}

fn replay(lines: &[String]) -> anyhow::Result<Report> {
    replay_bytes(&pack(lines)[..], &mut Native)
}

#[test]
fn every_recording_is_played_without_a_mismatch() {
    let reports = run(&golden(), None).unwrap();
    assert_eq!(reports.len(), 6);
    for report in reports {
        let Report::Compared {
            episodes,
            steps,
            mismatches,
            first,
            ..
        } = report.report
        else {
            panic!("{}: {:?}", report.file, report.report)
        };
        assert_eq!(
            (episodes, mismatches),
            (10, 0),
            "{}: {first:#?}",
            report.file
        );
        assert!(steps == 4000 || steps == 800);
    }
}

#[test]
fn every_changed_field_is_seen() {
    let lines = lines();
    let good = replay(&lines).unwrap();
    assert!(
        matches!(
            good,
            Report::Compared {
                episodes: 1,
                steps: 400,
                mismatches: 0,
                ..
            }
        ),
        "{good:?}"
    );
    for field in [
        "pos", "dir", "inv", "otm", "osm", "x", "r", "te", "tr", "done", "oh", "obs",
    ] {
        let mut lines = lines.clone();
        let at = lines
            .iter()
            .rposition(|line| line.contains(&format!("\"{field}\":")))
            .unwrap();
        let mut step: serde_json::Value = serde_json::from_str(&lines[at]).unwrap();
        change(&mut step[field]);
        lines[at] = step.to_string();
        let Report::Compared {
            mismatches, first, ..
        } = replay(&lines).unwrap()
        else {
            panic!("{field}")
        };
        // Once from the seed and once with injected draws.
        assert_eq!((mismatches, first.len()), (2, 2), "{field}: {first:?}");
        assert!(
            first[0].starts_with(&format!("episode 0, step {at}, from the seed: `{field}")),
            "{first:?}"
        );
    }
}

/// Changes the first number or hash that it finds.
fn change(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Array(items) => change(&mut items[0]),
        serde_json::Value::Object(map) => change(map.values_mut().next().unwrap()),
        serde_json::Value::String(text) => text.insert(0, 'f'),
        number => *number = (number.as_f64().unwrap() as i64 + 1).into(),
    }
}

#[test]
fn a_changed_action_or_reward_component_is_seen() {
    let lines = lines();
    let paid = lines
        .iter()
        .position(|line| line.contains("\"rc\":"))
        .unwrap();
    for field in ["a", "rc"] {
        let mut lines = lines.clone();
        let mut step: serde_json::Value = serde_json::from_str(&lines[paid]).unwrap();
        if field == "a" {
            step["a"] = serde_json::json!([6, 6]);
        } else {
            change(&mut step["rc"]);
        }
        lines[paid] = step.to_string();
        assert!(
            matches!(
                replay(&lines).unwrap(),
                Report::Compared {
                    mismatches: 2..,
                    ..
                }
            ),
            "{field}"
        );
    }
}

#[test]
fn a_changed_seed_is_seen_in_one_mode_and_a_changed_draw_in_the_other() {
    let lines = lines();
    let mut other_seed = lines.clone();
    other_seed[0] = lines[0].replacen("\"seed\":1000", "\"seed\":1001", 1);
    let Report::Compared { first, .. } = replay(&other_seed).unwrap() else {
        panic!()
    };
    assert!(
        first.iter().all(|line| line.contains("from the seed")) && !first.is_empty(),
        "{first:?}"
    );
    let mut other_draws = lines.clone();
    for line in &mut other_draws[1..] {
        *line = line.replace("\"prio\":[0,1]", "\"prio\":[2,1]");
    }
    let Report::Compared { first, .. } = replay(&other_draws).unwrap() else {
        panic!()
    };
    assert!(
        first
            .iter()
            .all(|line| line.contains("with injected draws"))
            && !first.is_empty(),
        "{first:?}"
    );
}

#[test]
fn an_environment_that_is_not_there_is_said_so() {
    let mut lines = lines();
    lines[0] = lines[0].replace("\"C   C\"", "\"C # C\"");
    assert_eq!(
        replay(&lines).unwrap(),
        Report::Unknown {
            env: "Overcooked-CrampedRoom-V0".into()
        }
    );
}

#[test]
fn a_malformed_recording_is_refused_with_its_line() {
    let lines = lines();
    let refused = |lines: &[String]| format!("{:#}", replay(lines).unwrap_err());
    let mut cut = lines.clone();
    cut[7].truncate(40);
    assert!(
        refused(&cut).starts_with("line 8: not what the format says"),
        "{}",
        refused(&cut)
    );
    assert_eq!(refused(&lines[1..]), "line 1: a step before any episode");
    assert_eq!(refused(&[]), "line 1: there is no episode");
    let mut short = lines.clone();
    short[3] = lines[3].replacen("\"a\":[", "\"a\":[6,", 1);
    assert_eq!(
        refused(&short),
        "episode 0: step 3: `a` needs one action for each agent"
    );
    let mut elsewhere = lines.clone();
    elsewhere[0] = lines[0].replacen("\"pos\":[[1,2]", "\"pos\":[[9,9]", 1);
    assert_eq!(
        refused(&elsewhere),
        "episode 0: `pos` is outside of the grid"
    );
    let bytes = replay_bytes(&b"not gzip"[..], &mut Native).unwrap_err();
    assert!(
        format!("{bytes:#}").starts_with("line 1: cannot be unpacked"),
        "{bytes:#}"
    );
}
