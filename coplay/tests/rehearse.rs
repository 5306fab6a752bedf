//! Rehearsals of a study that has every kind of stage, and of every example, short enough for every day: on a virtual
//! clock, and with the real program. The long ones are `cargo xtask rehearse`.

mod host_record;
mod page_python;
mod quota;
mod webrtc;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{PoisonError, RwLock};

use serde_json::Value;

fn study() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/rehearsal")
}

/// The option with which the real program is rehearsed.
const PROCESS: &str = "--process";

/// Rehearsals that run now.
static REHEARSALS: RwLock<()> = RwLock::new(());

/// Rehearses beside others.
fn rehearse(study: &Path, args: &[&str]) -> (Option<i32>, Value, String) {
    let _beside = REHEARSALS.read().unwrap_or_else(PoisonError::into_inner);
    run(study, args)
}

/// Rehearses while no other rehearsal takes the processor: the real program keeps time, and what its bots do in an
/// instant that is long past comes out otherwise.
fn rehearse_alone(study: &Path, args: &[&str]) -> (Option<i32>, Value, String) {
    let _alone = REHEARSALS.write().unwrap_or_else(PoisonError::into_inner);
    run(study, args)
}

fn run(study: &Path, args: &[&str]) -> (Option<i32>, Value, String) {
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

/// The sum of a report's outcomes, and of one of them.
fn ended(report: &Value) -> (u64, u64) {
    let outcomes = report["outcomes"].as_object().unwrap();
    let ended = outcomes.values().map(|count| count.as_u64().unwrap()).sum();
    (ended, outcomes["completed"].as_u64().unwrap())
}

/// Checks the report of 24 sessions with every fault and two deaths of the server.
fn assert_whole(report: &Value, mode: &str) {
    assert_eq!(report["mode"], mode);
    let (ended, completed) = ended(report);
    assert_eq!(ended + report["left_open"].as_u64().unwrap(), 24);
    assert!(completed >= 8, "{report:#}");
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
            .any(|cell| cell.starts_with("cramped_room/order ")),
        "{cells:?}"
    );
    for figure in ["/minutes/median", "/lobby/wait_s/p90", "/machine/study_min"] {
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
    // People who left permanently before they had passed a stage are forgotten.
    assert!((ended..=24).contains(&rows("sessions")), "{report:#}");
    // Not the tables alone that every study has.
    for table in ["rewards", "quality", "step_events"] {
        assert!(
            report["tables"]["rows"][table].is_u64(),
            "{table}: {report:#}"
        );
    }
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

/// The options of a rehearsal with everything that can go wrong.
const EVERYTHING: [&str; 8] = [
    "--sessions",
    "24",
    "--faults",
    "all",
    "--kills",
    "2",
    "--arrivals-per-min",
    "60",
];

#[test]
fn every_session_ends_whatever_goes_wrong_and_although_the_server_dies() {
    let args = [&EVERYTHING[..], &[PROCESS]].concat();
    let (code, report, said) = rehearse(&study(), &args);
    assert_eq!(code, Some(0), "{report:#} {said}");
    assert_whole(&report, "process");
    let cpu_s = report.pointer("/machine/server_cpu_s").unwrap().as_f64();
    assert!(cpu_s > Some(0.0));
}

fn every_session_ends_on_a_virtual_clock(seeds: [&str; 2]) {
    for seed in seeds {
        let args = [&EVERYTHING[..], &["--seed", seed]].concat();
        let (code, report, said) = rehearse(&study(), &args);
        assert_eq!(code, Some(0), "{report:#} {said}");
        assert_whole(&report, "virtual");
    }
}

#[test]
fn every_session_ends_on_a_virtual_clock_whatever_goes_wrong_and_although_the_server_dies() {
    every_session_ends_on_a_virtual_clock(["1", "2"]);
}

#[test]
fn every_session_ends_on_a_virtual_clock_with_other_mishaps() {
    every_session_ends_on_a_virtual_clock(["3", "4"]);
}

#[test]
fn the_same_seed_gives_the_same_report_to_the_byte_and_another_one_another() {
    let run = |seed: &str| {
        let args = [&EVERYTHING[..], &["--seed", seed, "--json"]].concat();
        let done = Command::new(env!("CARGO_BIN_EXE_coplay"))
            .arg("rehearse")
            .arg(study())
            .args(args)
            .output()
            .unwrap();
        assert_eq!(done.status.code(), Some(0));
        assert_whole(&serde_json::from_slice(&done.stdout).unwrap(), "virtual");
        String::from_utf8(done.stdout).unwrap()
    };
    let first = run("5");
    assert_eq!(run("5"), first);
    let other = run("6").replace("\"seed\":6", "\"seed\":5");
    assert_ne!(other, first);
}

#[test]
fn faults_that_nobody_had_are_named() {
    let args = ["--sessions", "2", "--faults", "reload,withdraw,server"];
    let (code, report, said) = rehearse(&study(), &args);
    assert_eq!(code, Some(0), "{report:#} {said}");
    let tried = report["faults"].as_object().unwrap().keys();
    let mut named: Vec<&str> = tried.map(String::as_str).collect();
    assert_eq!(named.len(), 1, "one of two sessions has a fault");
    let untried = report["untried"].as_array().unwrap();
    named.extend(untried.iter().map(|name| name.as_str().unwrap()));
    named.sort_unstable();
    assert_eq!(named, ["reload", "withdraw"]);
}

#[test]
fn people_do_not_join_the_data_of_bots() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("trial");
    let args = ["--sessions", "2", "--faults", "none", "--data"];
    let (code, report, said) = rehearse(&study(), &[&args[..], &[data.to_str().unwrap()]].concat());
    assert_eq!(code, Some(0), "{report:#} {said}");
    let served = Command::new(env!("CARGO_BIN_EXE_coplay"))
        .args(["serve", "--listen", "127.0.0.1:0"])
        .arg(study())
        .arg("--data")
        .arg(&data)
        .output()
        .unwrap();
    let said = String::from_utf8(served.stderr).unwrap();
    assert_eq!(served.status.code(), Some(1), "{said}");
    assert!(said.contains("has data of bots or agents"), "{said}");
}

fn hosted() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/hosted")
}

/// Every episode of a data folder, with the way and the verdict of `coplay verify`.
fn verified(data: &Path) -> Vec<(String, String)> {
    let done = Command::new(env!("CARGO_BIN_EXE_coplay"))
        .args(["verify", "--json", "--data"])
        .arg(data)
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    let episodes = report["episodes"].as_array().unwrap().iter();
    let said = |episode: &Value, key: &str| episode[key].as_str().unwrap().to_owned();
    episodes
        .map(|episode| (said(episode, "way"), said(episode, "verdict")))
        .collect()
}

#[test]
fn worlds_on_a_host_are_rehearsed_on_a_virtual_clock_and_seeds_reproduce() {
    let dir = tempfile::tempdir().unwrap();
    let run = |name: &str| {
        let data = dir.path().join(name);
        let args = [
            "--sessions",
            "12",
            "--seed",
            "7",
            "--arrivals-per-min",
            "60",
        ];
        let args = [&args[..], &["--faults", "all", "--kills", "1", "--data"]].concat();
        let (code, report, said) =
            rehearse(&hosted(), &[&args[..], &[data.to_str().unwrap()]].concat());
        assert_eq!(code, Some(0), "{report:#} {said}");
        (report, verified(&data))
    };
    let (report, episodes) = run("first");
    assert_eq!(report["kills"], 1);
    assert!(ended(&report).1 >= 4, "{report:#}");
    let is_fine = |(way, verdict): &(String, String)| (&way[..], &verdict[..]) == ("host", "equal");
    assert!(
        episodes.len() > 6 && episodes.iter().all(is_fine),
        "{episodes:?}"
    );
    assert_eq!(run("again"), (report, episodes));
}

#[test]
fn worlds_on_a_host_are_rehearsed_with_the_real_program() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let args = [
        PROCESS,
        "--sessions",
        "4",
        "--kills",
        "1",
        "--data",
        data.to_str().unwrap(),
    ];
    let (code, report, said) = rehearse_alone(&hosted(), &args);
    assert_eq!(code, Some(0), "{report:#} {said}");
    let episodes = verified(&data);
    assert!(!episodes.is_empty());
    assert!(
        episodes
            .iter()
            .all(|(way, verdict)| way == "host" && verdict == "equal"),
        "{episodes:?}"
    );
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
}

/// Rehearses examples with every fault, each in its own test.
macro_rules! rehearse_examples {
    ($($name:ident $folder:literal),+) => {
        $(
            #[test]
            fn $name() {
                let args = ["--sessions", "20", "--arrivals-per-min", "30", "--faults", "all"];
                let (code, report, said) = rehearse(&examples().join($folder), &args);
                assert_eq!(code, Some(0), "{report:#} {said}");
                let (ended, completed) = ended(&report);
                assert_eq!(ended + report["left_open"].as_u64().unwrap(), 20);
                assert!(completed >= 8, "{report:#}");
            }
        )+

        #[test]
        fn every_example_is_rehearsed() {
            let all = std::fs::read_dir(examples()).unwrap();
            let all = all.map(|entry| entry.unwrap().path());
            let studies = all.filter(|path| path.join("study.yaml").exists());
            let mut studies: Vec<String> = studies
                .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
                .collect();
            studies.sort();
            assert_eq!(studies, [$($folder),+]);
        }
    };
}

rehearse_examples! {
    directed_cook_is_rehearsed "directed-cook",
    grid_worlds_are_rehearsed "grid-worlds",
    knowing_assistant_is_rehearsed "knowing-assistant",
    looking_back_is_rehearsed "looking-back",
    mazes_are_rehearsed "mazes",
    overcooked_blind_is_rehearsed "overcooked-blind",
    overcooked_coord_is_rehearsed "overcooked-coord",
    overcooked_dyad_is_rehearsed "overcooked-dyad",
    overcooked_pairs_is_rehearsed "overcooked-pairs",
    seven_partners_is_rehearsed "seven-partners",
    shared_seat_is_rehearsed "shared-seat",
    three_cooks_is_rehearsed "three-cooks"
}

/// A study in which nobody's outcome depends on other people.
const ALIKE: &str = "format: 1
study: {id: alike, version: 1.0.0, title: Alike, contact: lab@example.edu, expires_h: 1}
recruitment:
  provider: prolific
  currency: GBP
  base: 2.00
  outcomes:
    completed: {do: approve, pay: base}
    failed_quiz: {do: return_then_pay, pay: none}
    no_consent: {do: return, pay: none}
timeline:
  - {id: consent, type: consent, file: consent.md}
  - id: quiz
    type: quiz
    attempts: 2
    items:
      - {name: soup, ask: How many onions make a soup?, choices: [1, 2, 3], answer: 3}
  - id: lobby
    type: lobby
    group_size: 2
    timeout_s: 20
    on_timeout: bot
    bot: {policy: cook}
  - id: play
    type: env
    env: overcooked@2.0.0
    players: [self, partner]
    config: {layout: cramped_room, horizon: 60, tick_hz: 10}
    on_disconnect: {grace_s: 5, then: bot, bot: {policy: cook}}
  - {id: form, type: survey, surveyjs: {elements: [{type: comment, name: why, isRequired: true}]}}
  - {id: thanks, type: end, file: thanks.md}
";

/// The folder of that study.
fn study_alike() -> tempfile::TempDir {
    let scratch = tempfile::tempdir().unwrap();
    for page in ["consent.md", "thanks.md"] {
        std::fs::write(scratch.path().join(page), "# Hello\n").unwrap();
    }
    std::fs::write(scratch.path().join("study.yaml"), ALIKE).unwrap();
    scratch
}

/// A hundred sessions are played on two threads, fewer on one.
#[test]
fn many_people_on_two_threads_repeat_themselves_too() {
    let scratch = study_alike();
    let args = ["--sessions", "100", "--arrivals-per-min", "120"];
    let args = [
        &args[..],
        &["--faults", "all", "--kills", "1", "--seed", "8"],
    ]
    .concat();
    let (code, first, said) = rehearse(scratch.path(), &args);
    assert_eq!(code, Some(0), "{first:#} {said}");
    assert!(ended(&first).1 >= 40, "{first:#}");
    let (code, again, said) = rehearse(scratch.path(), &args);
    assert_eq!((code, &again), (Some(0), &first), "{said}");
}

#[test]
fn the_virtual_and_the_process_run_of_a_study_come_to_the_same_outcomes_and_judgement() {
    let scratch = study_alike();
    let faults = "refuse,fail-quiz,drop-play,return,reload,close-survey,second-tab,slow-network,malformed,server";
    let args = [
        "--sessions",
        "36",
        "--faults",
        faults,
        "--kills",
        "2",
        "--arrivals-per-min",
        "60",
        "--seed",
        "3",
    ];
    let (code, by_clock, said) = rehearse(scratch.path(), &args);
    assert_eq!(code, Some(0), "{by_clock:#} {said}");
    let args = [&args[..], &[PROCESS]].concat();
    let (code, by_process, said) = rehearse_alone(scratch.path(), &args);
    assert_eq!(code, Some(0), "{by_process:#} {said}");
    assert_eq!(
        (&by_clock["mode"], &by_process["mode"]),
        (&Value::from("virtual"), &Value::from("process"))
    );
    for same in [
        "study",
        "seed",
        "sessions",
        "outcomes",
        "left_open",
        "stuck",
        "wrong",
        "kills",
        "cells",
    ] {
        assert_eq!(by_clock[same], by_process[same], "{same}");
    }
    for report in [&by_clock, &by_process] {
        let verdicts = &report["verdicts"];
        assert!(verdicts["episodes"].as_u64() > Some(0), "{verdicts}");
        assert_eq!(verdicts["verified"], verdicts["episodes"], "{verdicts}");
    }
    for same in ["/cost/GBP/total", "/cost/GBP/payments"] {
        assert!(by_clock.pointer(same).is_some());
        assert_eq!(by_clock.pointer(same), by_process.pointer(same), "{same}");
    }
    let given = |report: &Value| {
        let faults = report["faults"].as_object().unwrap().clone();
        let given = faults.into_iter();
        given
            .map(|(name, of)| (name, of["sessions"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(given(&by_clock), given(&by_process));
    let tables = |report: &Value| {
        let rows = report["tables"]["rows"].as_object().unwrap();
        rows.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(tables(&by_clock), tables(&by_process));
    let outcomes = by_clock["outcomes"].as_object().unwrap();
    assert_eq!(outcomes["no_consent"], 2, "{outcomes:?}");
    assert!(outcomes["completed"].as_u64() >= Some(18), "{outcomes:?}");
}

/// Waits for the first word of a rehearsal's progress, stops it, and sees that it leaves nothing in a folder.
fn assert_stops(mut rehearsal: Child, scratch: &Path, word: &str) {
    let mut progress = String::new();
    let mut said = BufReader::new(rehearsal.stderr.take().unwrap());
    said.read_line(&mut progress).unwrap();
    assert!(progress.contains(word), "{progress}");
    assert_eq!(std::fs::read_dir(scratch).unwrap().count(), 1);
    let pid = rehearsal.id().to_string();
    let asked = Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert!(asked.success());
    assert_eq!(rehearsal.wait().unwrap().code(), Some(1));
    assert_eq!(std::fs::read_dir(scratch).unwrap().count(), 0);
}

#[test]
fn a_rehearsal_that_is_stopped_leaves_nothing_behind() {
    let of_process = ["--sessions", "40", "--speed", "1", PROCESS];
    let by_clock = ["--sessions", "9000"];
    for (args, word) in [
        (&of_process[..], "0 of 40 done"),
        (&by_clock, "of 9000 done"),
    ] {
        let (scratch, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let rehearsal = Command::new(env!("CARGO_BIN_EXE_coplay"))
            .arg("rehearse")
            .arg(study())
            .args(["--arrivals-per-min", "1"])
            .arg("--data")
            .arg(kept.path().join("data"))
            .args(args)
            .env("TMPDIR", scratch.path())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        assert_stops(rehearsal, scratch.path(), word);
        assert_eq!(std::fs::read_dir(kept.path()).unwrap().count(), 0);
    }
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
    for way in [&[][..], &[PROCESS]] {
        let data = scratch.path().join(format!("data{}", way.len()));
        let args = [
            "--sessions",
            "4",
            "--faults",
            "none",
            "--data",
            data.to_str().unwrap(),
        ];
        let (code, report, said) = rehearse(scratch.path(), &[&args[..], way].concat());
        assert_eq!(code, Some(0), "{report:#} {said}");
        assert_eq!(report["outcomes"]["completed"], 4);
        assert_eq!(report["tables"]["acknowledged"], 4);
        assert!(data.join("coplay.sqlite").exists());
        let verified = Command::new(env!("CARGO_BIN_EXE_coplay"))
            .arg("verify")
            .arg("--data")
            .arg(&data)
            .status();
        assert!(verified.unwrap().success(), "{way:?}");
    }
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

    for (args, word) in [
        (["--browsers", "2"], "browser"),
        (["--speed", "4"], "--speed"),
    ] {
        let (code, _, said) = rehearse(&study(), &args);
        assert_eq!(code, Some(2));
        assert!(said.contains(word) && said.contains(PROCESS), "{said}");
    }
}
