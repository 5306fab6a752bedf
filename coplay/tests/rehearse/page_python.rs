//! An environment in the Python of pages, with people who leave, reload and come back, and AI partners who take over.

use std::fs;

use super::*;

/// Two people race; an AI partner replaces a person who is away, and the person comes back.
const STUDY: &str = "format: 1
study: {id: race, version: 1.0.0, title: A race, contact: lab@example.edu}
timeline:
  - {id: lobby, type: lobby, group_size: 2, timeout_s: 60, on_timeout: leave}
  - id: play
    type: env
    env: {python: race.py:make, horizon: 120}
    run: page
    players: [self, partner]
    on_disconnect: {grace_s: 10, meanwhile: bot, then: bot, bot: {policy: random}}
  - {id: thanks, type: end, file: thanks.md}
";

/// The program, with the release of Pyodide that `cargo xtask setup` puts beside the source code.
pub(super) fn coplay(args: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_coplay"))
        .args(args)
        .env(
            "COPLAY_HOME",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("page-python"),
        )
        .output()
        .unwrap()
}

pub(super) fn read(output: &std::process::Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

#[test]
fn seats_change_hands_and_episodes_replay_in_the_python_of_pages() {
    let dir = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (study, data) = (dir.path().join("study"), dir.path().join("data"));
    fs::create_dir(&study).unwrap();
    fs::write(study.join("study.yaml"), STUDY).unwrap();
    fs::write(study.join("thanks.md"), "# Thanks\n").unwrap();
    fs::copy(
        root.join("page-python/tests/games/race.py"),
        study.join("race.py"),
    )
    .unwrap();
    let (study, data) = (study.to_str().unwrap(), data.to_str().unwrap());
    let release = root.join(".tools/pyodide");
    let installed = coplay(&["pyodide", "install", "--from", release.to_str().unwrap()]);
    assert!(installed.status.success(), "{installed:?}");

    let args = ["rehearse", study, "--json", "--data", data, "--seed", "7"];
    let people = [
        "--sessions",
        "10",
        "--arrivals-per-min",
        "60",
        "--faults",
        "all",
    ];
    let rehearsed = coplay(&[&args[..], &people].concat());
    let report = read(&rehearsed);
    assert!(rehearsed.status.success(), "{report:#}");

    let report = read(&coplay(&["verify", "--json", "--data", data]));
    let episodes = report["episodes"].as_array().unwrap();
    for episode in episodes {
        let found = (&episode["way"], &episode["verdict"]);
        assert_eq!(found, (&"page".into(), &"equal".into()), "{episode:#}");
        assert!(
            episode["frames"].as_u64() > Some(0),
            "what pages showed is rebuilt"
        );
    }
    let changed = episodes
        .iter()
        .find(|episode| episode["changes"].as_u64() > Some(1));
    let changed = changed.expect("somebody was replaced, and came back");
    let (id, out) = (
        changed["episode"].as_str().unwrap(),
        dir.path().join("replay.html"),
    );
    let shown = coplay(&[
        "replay",
        id,
        "--data",
        data,
        "--html",
        out.to_str().unwrap(),
    ]);
    assert!(shown.status.success(), "{shown:?}");
    let page = fs::read_to_string(out).unwrap();
    assert!(page.starts_with("<!doctype html>"), "{}", &page[..80]);
}
