//! A study that brings its own environment: read, stored by its hash, archived, and simulated again.

use std::fs;
use std::path::Path;

use archive::fixtures::{PageScript, key};
use archive::{self, Episode};
use catalog::read_study;
use dataset::verify::{StoredModule, verify_data};
use protocol::control::{EndReason, Upload};
use protocol::log::Header;
use protocol::{Controller, Era, Seat, Tick};
use store::data_folder::DataDir;

use crate::records::write_rows;

const FACTS: &str = r#"{"spec":{"id":"counter","version":"1.0.0","title":"Counter","seats":1,
"actions":[{"name":"wait","momentary":false,"keys":[]},{"name":"count","momentary":true,"keys":["Space"]}],"noop":0,
"observation":[{"name":"sum","shape":[1]}],"tick_hz":10,"horizon":20,"events":[]},"params_schema":{},"sprites":[]}"#;

/// A sound module, written by hand.
fn counter() -> Vec<u8> {
    counter_of(FACTS)
}

/// The same with these facts.
fn counter_of(facts_text: &str) -> Vec<u8> {
    let facts: String = facts_text
        .bytes()
        .map(|byte| format!("\\{byte:02x}"))
        .collect();
    let text = include_str!("../../module/tests/hosted/counter.wat")
        .replace("FACTS", &facts)
        .replace("LENGTH", &facts_text.len().to_string());
    wat::parse_str(text).unwrap()
}

fn study(dir: &Path, env: &str) {
    let text = format!(
        "format: 1\nstudy: {{id: own, version: 1.0.0, title: Own, contact: lab@example.edu}}\ntimeline:\n  \
         - id: play\n    type: env\n    env: {env}\n    module: counter.wasm\n  \
         - {{id: thanks, type: end, file: thanks.md}}\n"
    );
    fs::write(dir.join("study.yaml"), text).unwrap();
    fs::write(dir.join("thanks.md"), "# Thanks\n").unwrap();
}

fn problems(env: &str, module: Option<&[u8]>) -> String {
    let dir = tempfile::tempdir().unwrap();
    study(dir.path(), env);
    if let Some(bytes) = module {
        fs::write(dir.path().join("counter.wasm"), bytes).unwrap();
    }
    let problems = read_study(dir.path()).unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems[0].to_string()
}

#[test]
fn a_module_with_secrets_is_refused() {
    let secret = FACTS.replace("\"noop\":0", "\"noop\":0,\"secret\":true");
    let problem = problems("counter@1.0.0", Some(&counter_of(&secret)));
    assert!(problem.contains("timeline[0].module: the environment keeps secrets from players"));
}

#[test]
fn a_module_that_does_not_fit_is_refused_at_its_line() {
    for (env, module, line, expected) in [
        (
            "counter@1.0.0",
            None,
            7,
            "timeline[0].module: there is no file `counter.wasm`",
        ),
        (
            "counter@1.0.0",
            Some(&b"rubbish"[..]),
            7,
            "timeline[0].module: `counter.wasm` cannot be played: ",
        ),
        (
            "tally@1.0.0",
            Some(&counter()),
            7,
            "timeline[0].module: `counter.wasm` holds the environment `counter`; write `env: counter@1.0.0`",
        ),
        (
            "overcooked@2.0.0",
            Some(&counter()),
            7,
            "timeline[0].module: the program has an environment `overcooked` of its own",
        ),
        (
            "counter@2.0.0",
            Some(&counter()),
            6,
            "timeline[0].env: version 2.0.0 of `counter` is not here",
        ),
    ] {
        let found = problems(env, module);
        assert!(
            found.starts_with(&format!("study.yaml:{line}:")) && found.contains(expected),
            "{found}"
        );
    }
}

fn header(module: &str) -> Header {
    Header {
        episode: "E-1".into(),
        study: "own".into(),
        study_version: "1.0.0".into(),
        study_hash: "ab".into(),
        stage: "play".into(),
        group: "G-1".into(),
        participants: vec!["P-A".into()],
        module: module.into(),
        env: "counter".into(),
        env_version: "1.0.0".into(),
        params: "{}".into(),
        seed: 1,
        controllers: vec![Controller::Human],
        tick_hz: 10,
        input_delay: 0,
        t0_us: 0,
        rules: Default::default(),
        course: None,
        keys: vec![key(Seat(0)).verifying_key().to_bytes()],
        way: protocol::EnvWay::Module,
        shared: None,
    }
}

#[tokio::test]
async fn an_episode_in_it_is_archived_and_simulated_again() {
    let dir = tempfile::tempdir().unwrap();
    study(dir.path(), "counter@1.0.0");
    fs::write(dir.path().join("counter.wasm"), counter()).unwrap();
    let (read, facts) = read_study(dir.path()).unwrap();
    let played = facts.values().next().unwrap();
    assert_eq!(played.actions, ["wait", "count"]);
    assert!(
        read.canonical
            .contains(r#""module":{"file":"counter.wasm","sha256":""#)
    );

    let home = tempfile::tempdir().unwrap();
    let data = DataDir::open(home.path()).unwrap();
    let module = data.store_module("counter", counter().into()).unwrap();
    let mut episode = Episode::create(&data.episodes(), header(&module.hash)).unwrap();
    let mut page = PageScript::new(episode.header(), Seat(0));
    let upload = Upload {
        era: Era(1),
        life: protocol::Life(0),
        block: page.sign_block(0, vec![1; 20]),
        changes: 0,
        recheck: 0,
        digests: Vec::new(),
        timing: None,
        ended: Some(Tick(20)),
    };
    assert!(
        episode
            .append_upload(Seat(0), &upload)
            .unwrap()
            .over
            .is_some()
    );
    let ending = episode.end(EndReason::Played).unwrap();
    assert_eq!((ending.ticks, ending.score), (Tick(20), 20));
    let header = episode.header().clone();
    drop(episode);
    write_rows(home.path(), &header).await;

    let path = archive::path(&data.episodes(), "E-1").unwrap();
    Episode::recover(&path).unwrap();
    let report = verify_data(home.path()).await.unwrap();
    assert!(report.is_fine(), "{report:?}");
    assert_eq!(
        (report.episodes[0].module, report.episodes[0].score),
        (StoredModule::Present, Some(20))
    );

    fs::write(
        data.modules_folder().join(format!("{}.wasm", module.hash)),
        b"altered",
    )
    .unwrap();
    let report = verify_data(home.path()).await.unwrap();
    assert!(!report.is_fine());
}
