//! An environment on a host that never comes out the same: its episodes are shown and observed as they were recorded.

use std::fs;

use super::page_python::{coplay, read};

const STUDY: &str = "format: 1
study: {id: luck, version: 1.0.0, title: Luck, contact: lab@example.edu}
timeline:
  - {id: lobby, type: lobby, group_size: 2, timeout_s: 60, on_timeout: leave}
  - id: play
    type: env
    env: {python: luck.py:make, horizon: 60}
    players: [self, partner]
    record_observations: true
  - {id: thanks, type: end, file: thanks.md}
";

/// The race, in which the coin lies where the operating system says, not the seed.
const LUCK: &str = "import random

from race import Race


class Luck(Race):
    def reset(self, seed=None, options=None):
        seen = super().reset(seed, options)
        self.rng = random.SystemRandom()
        self.place_coin()
        return self.observe_all(), seen[1]

    def place_coin(self):
        # No two runs have it at the same place, not even by chance.
        self.coin = [self.rng.uniform(0, self.size), self.rng.uniform(0, self.size)]


def make(size=5):
    return Luck(size)
";

#[test]
fn episodes_that_never_come_out_the_same_are_shown_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let (study, data) = (dir.path().join("study"), dir.path().join("data"));
    fs::create_dir(&study).unwrap();
    let race = include_str!("../../../page-python/tests/games/race.py");
    for (name, text) in [
        ("study.yaml", STUDY),
        ("thanks.md", "# Thanks\n"),
        ("race.py", race),
        ("luck.py", LUCK),
    ] {
        fs::write(study.join(name), text).unwrap();
    }
    let (study, data) = (study.to_str().unwrap(), data.to_str().unwrap());
    let people = ["--sessions", "4", "--arrivals-per-min", "60"];
    let rehearsed = coplay(
        &[
            &["rehearse", study, "--json", "--data", data][..],
            &people[..],
        ]
        .concat(),
    );
    let report = read(&rehearsed);
    assert!(rehearsed.status.success(), "{report:#}");
    let verdicts = &report["verdicts"];
    assert_eq!(verdicts["verified"], 0, "{verdicts}");
    assert_eq!(verdicts["recorded"], verdicts["episodes"], "{verdicts}");

    let report = read(&coplay(&["verify", "--json", "--data", data]));
    let episodes = report["episodes"].as_array().unwrap();
    assert!(!episodes.is_empty());
    for episode in episodes {
        assert_eq!(episode["verdict"], "recorded", "{episode:#}");
    }
    let id = episodes[0]["episode"].as_str().unwrap();
    let ticks = episodes[0]["ticks"].as_u64().unwrap() as usize;

    let html = dir.path().join("replay.html");
    let shown = coplay(&[
        "replay",
        id,
        "--data",
        data,
        "--html",
        html.to_str().unwrap(),
    ]);
    assert!(shown.status.success(), "{shown:?}");
    assert!(fs::metadata(html).unwrap().len() > 10_000);

    let out = dir.path().join("tables");
    let order = ["export", "--data", data, "--out", out.to_str().unwrap()];
    let wanted = ["--observations", "features,pixels", "--json"];
    let exported = coplay(&[&order[..], &wanted[..]].concat());
    assert!(exported.status.success(), "{exported:?}");
    let rows = |table: &str| {
        let text = fs::read_to_string(out.join(table)).unwrap();
        let rows: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
        rows.into_iter()
            .filter(|row| row.contains(id))
            .collect::<Vec<_>>()
    };
    let sets = dir.path().join("sets");
    let order = ["export", "--data", data, "--out", sets.to_str().unwrap()];
    let written = read(&coplay(
        &[&order[..], &["--format", "minari", "--json"]].concat(),
    ));
    assert_eq!(
        written["skipped"].as_array().unwrap().len(),
        0,
        "{written:#}"
    );
    assert_eq!(
        written["datasets"].as_array().unwrap().len(),
        3,
        "{written:#}"
    );
    // Of the first state and after every tick, for both.
    assert_eq!(rows("observations.csv").len(), 2 * (ticks + 1));
    let pictures: std::collections::BTreeSet<String> = rows("pixels.csv")
        .iter()
        .map(|row| row.rsplit(',').next().unwrap().to_owned())
        .collect();
    assert!(pictures.len() > 10, "{} pictures", pictures.len());
}

#[test]
fn observations_are_recorded_on_hosts_alone() {
    let dir = tempfile::tempdir().unwrap();
    let study = STUDY.replace("{python: luck.py:make, horizon: 60}", "overcooked@2.0.0");
    fs::write(dir.path().join("study.yaml"), study).unwrap();
    fs::write(dir.path().join("thanks.md"), "# Thanks\n").unwrap();
    let linted = coplay(&["lint", dir.path().to_str().unwrap()]);
    let told = String::from_utf8_lossy(&linted.stdout).into_owned();
    let told = told + &String::from_utf8_lossy(&linted.stderr);
    assert_eq!(linted.status.code(), Some(2), "{told}");
    assert!(
        told.contains("`record_observations` is for `run: host`"),
        "{told}"
    );
}
