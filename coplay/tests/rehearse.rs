//! Rehearsals of a study that has every kind of stage, short enough for every day. The long ones are
//! `cargo xtask rehearse`.

#![allow(
    clippy::unwrap_used,
    reason = "clippy knows the helpers of a test only inside its function"
)]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

fn study() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/rehearsal")
}

fn rehearse(study: &Path, args: &[&str]) -> (Option<i32>, Value, String) {
    let done = Command::new(env!("CARGO_BIN_EXE_coplay"))
        .arg("rehearse")
        .arg(study)
        .args(args)
        .arg("--json")
        .output()
        .unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    let report = serde_json::from_slice(&done.stdout).unwrap_or(Value::Null);
    (done.status.code(), report, said)
}

#[test]
fn every_session_ends_whatever_goes_wrong_and_although_the_server_dies() {
    let args = [
        "--sessions",
        "24",
        "--faults",
        "all",
        "--kills",
        "2",
        "--arrivals-per-min",
        "60",
    ];
    let (code, report, said) = rehearse(&study(), &args);
    assert_eq!(code, Some(0), "{report:#} {said}");
    let ended = report["outcomes"].as_object().unwrap().values();
    let ended: u64 = ended.map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(ended + report["left_open"].as_u64().unwrap(), 24);
    assert!(
        report["outcomes"]["completed"].as_u64() >= Some(8),
        "{report:#}"
    );
    assert_eq!(
        report["faults"].as_object().unwrap().len(),
        12,
        "{report:#}"
    );
    assert_eq!(report["kills"], 2);
    let cells = report["cells"].as_object().unwrap();
    assert!(
        cells
            .keys()
            .any(|cell| cell.starts_with("cramped_room/kitchen #")),
        "{cells:?}"
    );
    for figure in [
        "/minutes/median",
        "/lobby/wait_s/p90",
        "/machine/server_cpu_s",
    ] {
        assert!(
            report.pointer(figure).unwrap().as_f64() > Some(0.0),
            "{figure}"
        );
    }
    let cost = &report["cost"]["GBP"];
    let payments = cost["payments"].as_u64().unwrap();
    assert!((8..=ended).contains(&payments), "{cost}");
    assert!(
        cost["total"].as_str().unwrap().parse::<f64>().unwrap() >= 1.5 * 8.0,
        "{cost}"
    );
    let acknowledged = report["tables"]["acknowledged"].as_u64().unwrap();
    let rows = |table: &str| report["tables"]["rows"][table].as_u64().unwrap();
    assert!(rows("responses") >= acknowledged && acknowledged > 100);
    assert_eq!(
        (
            rows("sessions"),
            report["tables"]["rows"].as_object().unwrap().len()
        ),
        (24, 14)
    );
    for (table, least) in [
        ("steps", 2_000),
        ("lobby", 16),
        ("groups", 16),
        ("pages", 100),
        ("chat", 60),
    ] {
        assert!(rows(table) > least, "{table}: {report:#}");
    }
}

#[test]
fn a_rehearsal_that_is_stopped_leaves_nothing_behind() {
    let scratch = tempfile::tempdir().unwrap();
    let mut rehearsal = Command::new(env!("CARGO_BIN_EXE_coplay"))
        .arg("rehearse")
        .arg(study())
        .args([
            "--sessions",
            "40",
            "--arrivals-per-min",
            "1",
            "--speed",
            "1",
        ])
        .env("TMPDIR", scratch.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut progress = String::new();
    let mut said = BufReader::new(rehearsal.stderr.take().unwrap());
    said.read_line(&mut progress).unwrap();
    assert!(progress.contains("0 of 40 done"), "{progress}");
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1);
    let pid = rehearsal.id().to_string();
    let asked = Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert!(asked.success());
    assert_eq!(rehearsal.wait().unwrap().code(), Some(1));
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
}

#[test]
fn a_study_without_a_recruiter_is_rehearsed_and_its_data_are_kept_where_they_are_wanted() {
    let scratch = tempfile::tempdir().unwrap();
    std::fs::write(scratch.path().join("thanks.md"), "# Thanks\n").unwrap();
    let text = "format: 1
study: {id: plain, version: 1.0.0, title: Plain, contact: lab@example.edu}
timeline:
  - {id: form, type: survey, surveyjs: {elements: [{type: comment, name: why, isRequired: true}]}}
  - {id: thanks, type: end, file: thanks.md}
";
    std::fs::write(scratch.path().join("study.yaml"), text).unwrap();
    let data = scratch.path().join("data");
    let args = [
        "--sessions",
        "4",
        "--faults",
        "none",
        "--data",
        data.to_str().unwrap(),
    ];
    let (code, report, said) = rehearse(scratch.path(), &args);
    assert_eq!(code, Some(0), "{report:#} {said}");
    assert_eq!(report["outcomes"]["completed"], 4);
    assert_eq!(report["tables"]["acknowledged"], 4);
    assert!(data.join("coplay.sqlite").exists());
}

/// AI partners complete groups of two when their people go: the study continues until its groups of people are there.
const QUOTA: &str = "format: 1
study: {id: quota, version: 1.0.0, title: Quota, contact: lab@example.edu, expires_h: 1}
recruitment: {provider: prolific}
design:
  unit: group
  quota: 3
  between:
    layout: {levels: [cramped_room, coordination_ring]}
timeline:
  - id: lobby
    type: lobby
    group_size: 2
    timeout_s: 10
    on_timeout: bot
    bot: {policy: cook}
  - id: play
    type: env
    env: overcooked@2.0.0
    players: [self, partner]
    config: {layout: \"{{ layout }}\", horizon: 60, tick_hz: 10}
    countdown_s: 0
    on_disconnect: {grace_s: 2, then: bot, bot: {policy: cook}}
  - {id: thanks, type: end, file: thanks.md}
";

#[test]
fn groups_that_an_ai_partner_completed_take_no_place_of_a_quota_although_the_server_dies() {
    let scratch = tempfile::tempdir().unwrap();
    std::fs::write(scratch.path().join("thanks.md"), "# Thanks\n").unwrap();
    std::fs::write(scratch.path().join("study.yaml"), QUOTA).unwrap();
    let args = [
        "--sessions",
        "40",
        "--faults",
        "drop-play,server",
        "--kills",
        "4",
        "--arrivals-per-min",
        "12",
        "--seed",
        "4",
    ];
    let (code, report, said) = rehearse(scratch.path(), &args);
    assert_eq!(code, Some(0), "{report:#} {said}");
    let cells = report["cells"].as_object().unwrap().values();
    let count = |of: &str| -> u64 { cells.clone().map(|cell| cell[of].as_u64().unwrap()).sum() };
    assert!(
        count("with_ai") > 0 && count("completed") >= 3,
        "{report:#}"
    );
    assert!(
        report["outcomes"]["study_full"].as_u64() > Some(0),
        "{report:#}"
    );
    assert!(report["kills"].as_u64() > Some(0), "{report:#}");
}

#[test]
fn what_cannot_be_rehearsed_is_told_before_anything_runs() {
    let (code, _, said) = rehearse(&study(), &["--faults", "all,relod"]);
    assert_eq!(code, Some(2));
    assert!(
        said.contains("`all`") && said.contains("second-tab"),
        "{said}"
    );

    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("coplay.sqlite");
    std::fs::write(&file, "somebody's data").unwrap();
    let (code, _, said) = rehearse(&study(), &["--data", scratch.path().to_str().unwrap()]);
    assert_eq!(code, Some(1));
    assert!(said.contains("holds data already"), "{said}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "somebody's data");

    let (code, _, said) = rehearse(scratch.path(), &[]);
    assert_eq!(code, Some(2));
    assert!(said.contains("study.yaml"), "{said}");
}
