//! Studies of AI partners: the template, the example with its analysis, the guide, and what pages and tables have of a
//! partner.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const GUIDE: &str = include_str!("../../docs/human-ai.md");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn coplay(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coplay"));
    command.args(args).current_dir(dir);
    command.output().unwrap()
}

/// Rehearses a study with its data kept, and exports the tables.
fn play(dir: &Path, study: &str, sessions: &str, faults: &str) {
    let data = dir.join("data").display().to_string();
    let args = [
        "rehearse",
        study,
        "--sessions",
        sessions,
        "--arrivals-per-min",
        "20",
        "--faults",
        faults,
        "--data",
        &data,
        "--json",
    ];
    let done = coplay(dir, &args);
    assert!(done.status.success(), "{done:?}");
    let done = coplay(dir, &["export", "--data", "data", "--out", "tables"]);
    assert!(done.status.success(), "{done:?}");
}

/// The rows of a table, with their cells by the names of the columns.
fn rows(dir: &Path, table: &str) -> Vec<Value> {
    let file = dir.join("tables").join(format!("{table}.csv"));
    let mut reader = csv::Reader::from_path(file).unwrap();
    let names: Vec<String> = reader
        .headers()
        .unwrap()
        .iter()
        .map(str::to_owned)
        .collect();
    let row = |row: csv::StringRecord| {
        let cells = names.iter().cloned().zip(row.iter().map(Value::from));
        Value::Object(cells.collect())
    };
    reader
        .records()
        .map(|record| row(record.unwrap()))
        .collect()
}

/// Compares the partners in the exported tables by the analysis of a study.
fn analyse(study: &Path, dir: &Path) -> Value {
    let mut python = Command::new("python3");
    python.arg(study.join("analysis.py"));
    python.arg(dir.join("tables")).arg("--json");
    let done = python.output().unwrap();
    assert!(done.status.success(), "{done:?}");
    serde_json::from_slice(&done.stdout).unwrap()
}

#[test]
fn the_example_is_played_and_its_analysis_finds_every_partner() {
    let home = tempfile::tempdir().unwrap();
    let example = root().join("examples/seven-partners");
    let lines = std::fs::read_to_string(example.join("study.yaml"))
        .unwrap()
        .lines()
        .count();
    assert!(lines < 80, "{lines} lines");
    play(home.path(), &example.display().to_string(), "6", "none");
    let found = analyse(&example, home.path());
    let partners = [
        "cec",
        "cec_tuned",
        "e3t",
        "fcp",
        "sp",
        "wrong_cec",
        "wrong_sp",
    ];
    let mut lefts = 0;
    for partner in partners {
        let line = &found[partner];
        assert_eq!(line["rounds"], 6, "{partner}: {found:#}");
        for item in ["score", "adapted", "enjoyed", "quality"] {
            assert_eq!(line[item]["people"], 6, "{partner} {item}: {line}");
        }
        // Six people in two kitchens: each of three checkpoints was drawn in both.
        assert_eq!(line["checkpoints"].as_array().unwrap().len(), 3, "{line}");
        let left = line["left"].as_u64().unwrap();
        lefts += left;
    }
    // Of 42 rounds, each on one of two sides by chance.
    assert!((8..35).contains(&lefts), "{lefts}");
    assert_eq!(found.as_object().unwrap().len(), partners.len());
    let models = rows(home.path(), "seats");
    let clones = models
        .iter()
        .filter(|row| row["partner"].as_str().unwrap().starts_with("fcp"));
    let hashes: BTreeSet<&str> = clones
        .map(|row| row["model_sha256"].as_str().unwrap())
        .collect();
    assert_eq!(hashes.len(), 3, "a model for each temperature");
    // Pages and data name no file of a model that is not disclosed.
    let controllers = models.iter().map(|row| row["controller"].as_str().unwrap());
    for name in controllers {
        assert!(!name.contains("clone"), "{name}");
    }
}

#[test]
fn agents_of_two_projects_and_the_cook_are_partners_in_one_kitchen() {
    let home = tempfile::tempdir().unwrap();
    let models = root().join("catalog/tests/models");
    let [own, other] =
        ["lossless.onnx", "jaxmarl.onnx"].map(|it| models.join(it).display().to_string());
    let args = [
        "new",
        "human-ai",
        "study",
        "--rules",
        "overcooked-ai-1.1.0",
        "--agents",
        &own,
        &other,
        "cook",
        "--layouts",
        "cramped_room",
    ];
    let done = coplay(home.path(), &args);
    assert!(done.status.success(), "{done:?}");
    let done = coplay(home.path(), &["lint", "study"]);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        done.status.success() && said.contains("no faults, no warnings"),
        "{said}"
    );
    assert!(
        said.contains("jaxmarl.onnx (play) takes jaxmarl [4, 5, 26]"),
        "{said}"
    );
    play(home.path(), "study", "4", "all");
    let played = rows(home.path(), "seats");
    let partners = played.iter().filter(|row| row["stage_id"] == "play");
    let partners: BTreeSet<&str> = partners.filter_map(|row| row["partner"].as_str()).collect();
    assert!(
        partners.is_superset(&["cook", "jaxmarl", "lossless"].into()),
        "{partners:?}"
    );
}

#[test]
fn agents_of_overcooked_v2_are_partners_in_its_kitchens() {
    let home = tempfile::tempdir().unwrap();
    let model = root().join("catalog/tests/models/jaxmarl_v2_near.onnx");
    let model = model.display().to_string();
    let args = [
        "new",
        "human-ai",
        "study",
        "--rules",
        "jaxmarl-v2",
        "--params",
        r#"{"view_radius": 2}"#,
        "--agents",
        &model,
        "random",
        "--layouts",
        "grounded_coord_simple",
    ];
    let done = coplay(home.path(), &args);
    assert!(done.status.success(), "{done:?}");
    let done = coplay(home.path(), &["lint", "study"]);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let has = |words: &str| said.contains(words);
    assert!(
        has("no faults, no warnings") && has("(play) takes kitchen [5, 5, 40]"),
        "{said}"
    );
    play(home.path(), "study", "4", "all");
    let played = rows(home.path(), "seats");
    let partners = played.iter().filter(|row| row["stage_id"] == "play");
    let partners: BTreeSet<&str> = partners.filter_map(|row| row["partner"].as_str()).collect();
    assert!(
        partners.is_superset(&["jaxmarl_v2_near", "random"].into()),
        "{partners:?}"
    );
}

#[test]
fn a_new_study_of_agents_is_clean_and_played_with_every_fault() {
    let home = tempfile::tempdir().unwrap();
    let model = root().join("examples/overcooked-coord/cook_clone.onnx");
    let model = model.display().to_string();
    let args = [
        "new",
        "human-ai",
        "study",
        "--agents",
        &model,
        "cook",
        "random",
        "--layouts",
        "cramped_room",
    ];
    let done = coplay(home.path(), &args);
    assert!(done.status.success(), "{done:?}");
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        said.contains("3 partners (cook_clone, cook, random) in cramped_room."),
        "{said}"
    );
    let done = coplay(home.path(), &["lint", "study"]);
    assert!(done.status.success(), "{done:?}");
    play(home.path(), "study", "8", "all");
    let played = rows(home.path(), "seats");
    let partners = played.iter().filter(|row| row["stage_id"] == "play");
    let partners: BTreeSet<&str> = partners
        .map(|row| row["partner"].as_str().unwrap())
        .collect();
    assert_eq!(
        partners,
        BTreeSet::from(["", "cook", "cook_clone", "random"])
    );
    let found = analyse(&home.path().join("study"), home.path());
    assert_eq!(found.as_object().unwrap().len(), 3, "{found:#}");
    for (partner, line) in found.as_object().unwrap() {
        for item in ["score", "adapted", "quality", "fluent"] {
            assert!(
                line[item]["people"].as_u64() > Some(0),
                "{partner} {item}: {line}"
            );
        }
    }
    let again = coplay(home.path(), &args);
    assert!(
        !again.status.success() && String::from_utf8_lossy(&again.stderr).contains("not empty")
    );
}

/// A study in which half of the participants wait for an AI partner as if for a person.
const WAITING: &str = "format: 1
study: {id: waiting, version: 1.0.0, title: Waiting, contact: lab@example.edu}
partners:
  human: {policy: person}
  clone: {policy: cook, disclose: false, algorithm: script}
design:
  quota: 16
  between: {partner: {levels: [human, clone]}}
timeline:
  - id: lobby
    type: lobby
    group_size: 2
    timeout_s: 300
    on_timeout: leave
    partner: \"{{ partner }}\"
    simulated_wait_s: [8, 40]
  - id: play
    type: env
    env: overcooked@2.0.0
    players: [self, partner]
    config: {layout: cramped_room, horizon: 60, tick_hz: 10}
    on_disconnect: {grace_s: 5}
  - {id: debrief, type: debrief, file: page.md, reveals: [lobby]}
  - {id: thanks, type: end, file: page.md}
";

#[test]
fn half_wait_for_an_ai_partner_as_for_a_person_and_all_count() {
    let home = tempfile::tempdir().unwrap();
    let study = home.path().join("study");
    std::fs::create_dir(&study).unwrap();
    std::fs::write(study.join("page.md"), "# A page\n").unwrap();
    std::fs::write(study.join("study.yaml"), WAITING).unwrap();
    play(home.path(), "study", "16", "none");
    let sessions = rows(home.path(), "sessions");
    let of = |level: &str| -> Vec<&Value> {
        sessions
            .iter()
            .filter(|row| row["level_partner"] == level)
            .collect()
    };
    assert!(
        sessions.iter().all(|row| row["outcome"] == "completed"),
        "{sessions:#?}"
    );
    assert_eq!((of("human").len(), of("clone").len()), (8, 8));
    let seats = rows(home.path(), "seats");
    let with_clone = seats.iter().filter(|row| row["partner"] == "clone");
    assert_eq!(with_clone.count(), 8);
    let people = seats.iter().filter(|row| row["controller"] == "human");
    assert_eq!(people.count(), 16);
}

#[test]
fn every_part_of_a_study_file_in_the_guide_is_clean() {
    let mut count = 0;
    for block in GUIDE.split("```yaml\n").skip(1) {
        let text = block.split("```").next().unwrap();
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("debrief.md"), "# A page\n").unwrap();
        let head = "format: 1\nstudy: {id: guide, version: 1.0.0, title: Guide, contact: lab@example.edu}\n";
        std::fs::write(home.path().join("study.yaml"), format!("{head}{text}")).unwrap();
        let linted = catalog::lint::lint_study(home.path());
        assert!(
            linted.is_fine() && linted.warnings.is_empty(),
            "{linted}\n{text}"
        );
        count += 1;
    }
    assert_eq!(count, 2);
}
