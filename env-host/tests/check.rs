//! The report on an environment before a study plays it.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::path::Path;

use env_host::{
    HostCommand, HostFault, HostLimits, HostReport, ProcessHost, check_host, find_interpreter,
    write_python_host,
};
use serde_json::{Value, json};

fn check(folder: &str, world: Value) -> HostReport {
    let interpreter = find_interpreter(None).unwrap();
    let files = write_python_host(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let command = HostCommand::python(&interpreter, &files, &folder);
    let mut open = || -> Result<ProcessHost, HostFault> {
        ProcessHost::open(&command, &world, HostLimits::default())
    };
    check_host(&mut open, 60, 5)
}

#[test]
fn a_sound_environment_works_on_a_host_and_its_code_would_in_a_page() {
    let report = check(
        "../coplay/templates/environment",
        json!({ "python": "game.py", "tick_hz": 0 }),
    );
    assert!(report.ways.host.ok && report.is_fine(), "{report}");
    assert!(report.ways.host.why.contains("can be verified"), "{report}");
    assert!(
        report.ways.page.ok && report.ways.page.why.contains("play on alike"),
        "{report}"
    );
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["seats"], json!(["blue", "orange"]));
    assert_eq!(
        json["picture"],
        json!({ "kind": "shapes", "width": 9.0, "height": 6.0 })
    );
    assert_eq!(json["repeats"]["ok"], json!(true));
    assert_eq!(json["keys"]["up"], json!(["ArrowUp", "KeyW"]));
    assert!(json["ways"]["page"]["why"].is_string());
}

#[test]
fn hidden_state_is_found_in_both_ways() {
    let report = check("tests/worlds", json!({ "python": "hidden.py" }));
    assert!(report.ways.host.ok, "{report}");
    assert!(report.ways.host.why.contains("is not verified"), "{report}");
    assert!(
        report.ways.page.why.contains("something outside of itself"),
        "{report}"
    );
    let world = report.world.unwrap();
    assert_eq!(world.repeats.why, "after 1 steps the observations differ");
}

#[test]
fn an_environment_that_fails_says_where() {
    let report = check("tests/worlds", json!({ "python": "faults.py:Throw" }));
    assert!(!report.is_fine());
    assert!(
        report.to_string().contains("KeyError: 'the pot is gone'"),
        "{report}"
    );
    let report = check("tests/worlds", json!({ "python": "nothing.py" }));
    assert!(
        report.world.is_none() && report.to_string().contains("there is no file"),
        "{report}"
    );
}
