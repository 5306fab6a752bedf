//! Environments in Python: refused or warned about for what only playing them shows.

#![allow(
    clippy::unwrap_used,
    reason = "clippy knows the helpers of a test only inside its function"
)]

use std::fs;
use std::path::{Path, PathBuf};

use catalog::lint::{Found, Linted, lint_study};
use catalog::python::check_page;
use catalog::read_study;
use serde_json::json;
use study::StageKind;
use study::stage::{PythonFile, PythonWorld};

const HIDDEN: &str = include_str!("../../env-host/tests/worlds/hidden.py");

/// A study of one stage on a host that plays this file, with more keys of `env`.
fn study_of(source: &str, more: &str) -> tempfile::TempDir {
    let study = tempfile::tempdir().unwrap();
    let text = format!(
        "format: 1
study: {{id: small, version: 1.0.0, title: Small, contact: lab@example.edu}}
timeline:
  - {{id: play, type: env, env: {{python: game.py:make{more}}}, mode: turns, players: [self]}}
  - {{id: thanks, type: end, file: thanks.md}}
"
    );
    fs::write(study.path().join("study.yaml"), text).unwrap();
    fs::write(study.path().join("thanks.md"), "# Thanks\n").unwrap();
    fs::write(study.path().join("game.py"), source).unwrap();
    study
}

fn linted(source: &str) -> Linted {
    lint_study(study_of(source, "").path())
}

fn messages(found: &[Found]) -> String {
    let messages = found.iter().map(|found| found.problem.message.as_str());
    messages.collect::<Vec<_>>().join("\n")
}

/// The same world, which repeats itself.
fn sound() -> String {
    HIDDEN.replace("float(time.perf_counter_ns() % 1_000_003)", "0.0")
}

#[test]
fn a_sound_world_on_a_host_has_no_faults_and_no_warnings() {
    let linted = linted(&sound());
    assert!(linted.is_fine() && linted.warnings.is_empty(), "{linted}");
}

#[test]
fn an_action_that_no_key_gives_is_warned_about() {
    let source = sound().replace("keys = {", "no_keys = {");
    let study = study_of(&source, "");
    let found = lint_study(study.path());
    assert!(found.is_fine(), "{found}");
    let told = messages(&found.warnings);
    assert!(told.contains("no key gives `go`"), "{told}");
    assert!(!told.contains("`stay`"), "{told}");
    // The study may name keys, and an environment may take a point on its picture instead.
    let file = study.path().join("study.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let named = text.replace("mode: turns", "mode: turns, keys: {go: [KeyG]}");
    fs::write(file, named).unwrap();
    let found = lint_study(study.path());
    assert!(found.is_fine() && found.warnings.is_empty(), "{found}");
    let pointed = source.replace(
        "    def draw(",
        "    def point(self, seat, x, y):\n        return \"go\"\n\n    def draw(",
    );
    let found = linted(&pointed);
    assert!(found.is_fine() && found.warnings.is_empty(), "{found}");
}

#[test]
fn a_name_in_arguments_is_sent_to_the_config_of_the_stage() {
    let found = lint_study(study_of(&sound(), ", kwargs: {size: \"{{ size }}\"}").path());
    let told = messages(&found.faults);
    assert!(
        told.contains("replaced in `config` of the stage"),
        "{found}"
    );
}

#[test]
fn a_world_on_a_host_that_does_not_repeat_itself_is_warned_about() {
    let linted = linted(HIDDEN);
    assert!(linted.is_fine(), "{linted}");
    let warnings = messages(&linted.warnings);
    assert!(
        warnings.contains("does not repeat itself (after 1 steps the observations differ)"),
        "{warnings}"
    );
}

#[test]
fn a_world_on_a_host_whose_steps_are_late_is_warned_about() {
    let slow = sound()
        .replace("now = 0.0", "time.sleep(0.06); now = 0.0")
        .replace("tick_hz = 0", "tick_hz = 20");
    let study = study_of(&slow, "");
    let file = study.path().join("study.yaml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("mode: turns, ", "")).unwrap();
    let linted = lint_study(study.path());
    assert!(linted.is_fine(), "{linted}");
    let warnings = messages(&linted.warnings);
    assert!(
        warnings.contains("a tick lasts 50000 µs: lower `tick_hz`"),
        "{warnings}"
    );
}

#[test]
fn a_world_on_a_host_without_a_picture_or_that_fails_is_a_fault() {
    let unseen = sound().replace("def draw", "def paint");
    let linted_unseen = linted(&unseen);
    let faults = messages(&linted_unseen.faults);
    assert!(faults.starts_with("it gives no picture"), "{faults}");
    let broken = sound().replace("now = 0.0", "now = 1.0 / 0");
    let linted_broken = linted(&broken);
    let faults = messages(&linted_broken.faults);
    assert!(faults.contains("ZeroDivisionError"), "{faults}");
}

#[test]
fn limits_of_a_world_are_those_of_its_process() {
    let slow = sound().replace("now = 0.0", "time.sleep(2); now = 0.0");
    let study = study_of(&slow, ", limits: {step_ms: 50}");
    let linted = lint_study(study.path());
    let faults = messages(&linted.faults);
    assert!(
        faults.contains("gave no answer to `step` within 50 ms"),
        "{linted}"
    );
}

#[test]
fn the_lock_of_a_study_is_in_the_record_of_its_world() {
    let study = study_of(&sound(), ", requirements: requirements.txt");
    fs::write(study.path().join("requirements.txt"), "# nothing\n").unwrap();
    let source = |dir: &Path| {
        let (study, _) = read_study(dir).unwrap();
        match &study.timeline[0].kind {
            StageKind::Env(env) => env.module.clone().unwrap(),
            _ => panic!("the first stage plays"),
        }
    };
    let files = |bytes: &[u8]| {
        let source: serde_json::Value = serde_json::from_slice(bytes).unwrap();
        source["files"]["requirements.lock"].clone()
    };
    // Without one it is made when the packages are installed.
    let made = source(study.path());
    assert_eq!(files(&made.bytes), json!(""));
    fs::write(study.path().join("requirements.lock"), "# of the study\n").unwrap();
    let shipped = source(study.path());
    assert_eq!(files(&shipped.bytes), json!("# of the study\n"));
    assert_ne!(made.sha256, shipped.sha256);
}

#[test]
fn hidden_state_is_refused_in_the_python_of_pages() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("page-python");
    let release = page_python::install_release(&root.join(".tools/pyodide"), &folder);
    release.expect("`cargo xtask setup` fetches Pyodide for the tests");
    page_python::add_folder(folder);
    let world = json!({ "python": "hidden.py:make" });
    let refused = check_page(&PythonWorld {
        world: world.as_object().unwrap().clone(),
        files: vec![PythonFile::new("hidden.py".into(), HIDDEN.into())],
        requirements: None,
        lock: None,
    });
    let refused = refused.unwrap_err();
    assert!(
        refused.starts_with("pages cannot step this environment, because the law that"),
        "{refused}"
    );
    assert!(refused.contains("run: host"), "{refused}");
}
