//! A study that brings a model: read, compiled, stored by its hash, archived, and simulated again.

use std::fs;
use std::path::Path;

use archive::fixtures::{PageScript, key, log_of};
use archive::{self, Episode};
use catalog::models;
use catalog::read_study;
use dataset::verify::verify_data;
use env_core::World;
use protocol::control::{EndReason, Upload};
use protocol::hash::sha256_hex;
use protocol::log::Header;
use protocol::{Controller, Era, Life, Seat, Tick};
use store::data_folder::DataDir;
use study::Study;
use study::stage::StageKind;

use crate::records::write_rows;

const CLONE: &[u8] = include_bytes!("../../examples/overcooked-coord/cook_clone.onnx");
const LSTM: &[u8] = include_bytes!("../../onnx/tests/golden/lstm.onnx");
const PARAMS: &str = r#"{"horizon":120,"layout":"cramped_room","tick_hz":10}"#;

fn study(dir: &Path, bot: &str, env: &str) {
    let text = format!(
        "format: 1\nstudy: {{id: own, version: 1.0.0, title: Own, contact: lab@example.edu}}\ntimeline:\n  \
         - id: play\n    type: env\n    env: {env}\n    players: [self, {bot}]\n    \
         config: {PARAMS}\n  - {{id: thanks, type: end, file: thanks.md}}\n"
    );
    fs::write(dir.join("study.yaml"), text).unwrap();
    fs::write(dir.join("thanks.md"), "# Thanks\n").unwrap();
}

fn problem(bot: &str, model: &[u8]) -> String {
    let dir = tempfile::tempdir().unwrap();
    study(dir.path(), bot, "overcooked@2.0.0");
    fs::write(dir.path().join("agent.onnx"), model).unwrap();
    let problems = read_study(dir.path()).unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems[0].to_string()
}

#[test]
fn a_model_that_does_not_fit_is_refused_at_its_line() {
    let at = "study.yaml:7:22: timeline[0].players[1].policy: `agent.onnx` cannot play `overcooked`, the environment of this stage: ";
    for (model, expected) in [
        (&b"rubbish"[..], "not an ONNX model: "),
        (&CLONE[..CLONE.len() / 2], "not an ONNX model: "),
        (
            LSTM,
            "no output has 7 values, one for each action; there are `logits` [1, 5]",
        ),
    ] {
        let found = problem("{policy: agent.onnx}", model);
        assert!(found.starts_with(at) && found.contains(expected), "{found}");
    }
    let found = problem("{policy: agent.onnx, observation: pots}", CLONE);
    let expected = "`overcooked` gives no observation `pots` here; it gives `agent_dir` [4], ";
    assert!(found.starts_with(at) && found.contains(expected), "{found}");
    let broken = CLONE.iter().position(|_| true).map(|_| {
        let text = b"relu1";
        let at = CLONE.windows(text.len()).position(|it| it == text).unwrap();
        let mut bytes = CLONE.to_vec();
        // The operator's name follows that of the node.
        let op = at + bytes[at..].windows(4).position(|it| it == b"Relu").unwrap();
        bytes[op..op + 4].copy_from_slice(b"Relq");
        bytes
    });
    let found = problem("{policy: agent.onnx}", &broken.unwrap());
    assert!(
        found.contains("node `relu1` (Relq): `Relq` is not among the operators that can be played"),
        "{found}"
    );
}

fn read(bot: &str) -> Study {
    let dir = tempfile::tempdir().unwrap();
    study(dir.path(), bot, "overcooked@2.0.0");
    fs::write(dir.path().join("agent.onnx"), CLONE).unwrap();
    read_study(dir.path()).unwrap().0
}

/// The name under which the model of a study plays.
fn name(study: &Study) -> String {
    let StageKind::Env(env) = &study.timeline[0].kind else {
        panic!("the first stage is an episode");
    };
    match &env.players[1] {
        study::stage::Player::Bot(bot) => bot.policy.clone(),
        player => panic!("{player:?}"),
    }
}

#[test]
fn how_it_plays_is_part_of_its_name_and_of_the_hash_of_the_study() {
    let bots = [
        "{policy: agent.onnx}",
        "{policy: agent.onnx, temperature: 1}",
        "{policy: agent.onnx, every_ticks: 2}",
    ];
    let studies = bots.map(read);
    let mut names = studies.each_ref().map(name).to_vec();
    assert!(names.iter().all(|name| name.starts_with("agent.onnx@")));
    let mut hashes = studies.each_ref().map(|study| &study.hash).to_vec();
    names.sort();
    names.dedup();
    hashes.sort();
    hashes.dedup();
    assert_eq!((names.len(), hashes.len()), (3, 3));
}

fn header(policy: &str) -> Header {
    Header {
        episode: "E-1".into(),
        study: "own".into(),
        study_version: "1.0.0".into(),
        study_hash: "ab".into(),
        stage: "play".into(),
        group: "G-1".into(),
        participants: vec!["P-A".into(), String::new()],
        module: sha256_hex(b"module"),
        env: "overcooked".into(),
        env_version: "2.0.0".into(),
        params: PARAMS.into(),
        seed: 4,
        controllers: vec![
            Controller::Human,
            Controller::Ai {
                policy: policy.into(),
            },
        ],
        tick_hz: 10,
        input_delay: 0,
        t0_us: 0,
        rules: Default::default(),
        course: None,
        keys: vec![key(Seat(0)).verifying_key().to_bytes(), [0; 32]],
        way: protocol::EnvWay::Module,
        shared: None,
    }
}

/// The actions of the episode if the person stands still.
fn rows(study: &Study) -> Vec<u16> {
    let mut world = env_core::envs::open("overcooked", PARAMS).unwrap();
    let noop = world.spec().noop;
    world.reset(4);
    let mut partner = models::read_partners(study)
        .open(&name(study), world.spec())
        .unwrap();
    partner.reset(1, 4);
    let (mut rows, mut seen) = (Vec::new(), Vec::new());
    for _ in 0..120 {
        let chosen = env_core::choose_action(&mut *world, &mut *partner, 1, &mut seen);
        let row = [noop, chosen];
        rows.extend(row);
        world.step(&row);
    }
    rows
}

#[tokio::test]
async fn an_episode_with_it_is_verified_from_the_data_folder_alone() {
    verify_episode("{policy: agent.onnx, temperature: 0.5, every_ticks: 2}").await;
}

#[tokio::test]
async fn an_episode_with_one_that_keeps_to_the_action_mask_is_verified() {
    let masked = "{policy: agent.onnx, temperature: 2, action_mask: true}";
    let free = masked.replace(", action_mask: true", "");
    let (masked_rows, free_rows) = (rows(&read(masked)), rows(&read(&free)));
    assert_ne!(masked_rows, free_rows, "the mask takes some actions away");
    verify_episode(masked).await;
}

async fn verify_episode(partner: &str) {
    let study = read(partner);
    let home = tempfile::tempdir().unwrap();
    let data = DataDir::open(home.path()).unwrap();
    for network in &study.models {
        data.store_model(network).unwrap();
    }
    data.store_module("overcooked", b"module".into()).unwrap();
    let mut episode = Episode::create(&data.episodes(), header(&name(&study))).unwrap();
    let rows = rows(&study);
    let acts = rows.iter().filter(|action| **action != 6).count();
    assert!(acts > 8, "{acts}");
    // The person stands still.
    let mut page = PageScript::new(episode.header(), Seat(0));
    let upload = Upload {
        era: Era(1),
        life: Life(0),
        block: page.sign_block(0, vec![rows[0]; 120]),
        changes: 0,
        recheck: 0,
        digests: Vec::new(),
        timing: None,
        ended: Some(Tick(120)),
    };
    assert!(
        episode
            .append_upload(Seat(0), &upload)
            .unwrap()
            .over
            .is_some()
    );
    episode.end(EndReason::Played).unwrap();
    assert_eq!(log_of(&mut episode).rows(), rows);
    let header = episode.header().clone();
    drop(episode);
    write_rows(home.path(), &header).await;
    let path = archive::path(&data.episodes(), "E-1").unwrap();
    Episode::recover(&path).unwrap();
    let report = verify_data(home.path()).await.unwrap();
    assert!(report.is_fine(), "{report:?}");

    // Another network under the name is detected, and a missing one is reported.
    let kept = data
        .models_folder()
        .join(format!("{}.network", study.models[0].sha256));
    let mut bytes = fs::read(&kept).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&kept, bytes).unwrap();
    assert!(!verify_data(home.path()).await.unwrap().is_fine());
    fs::remove_file(&kept).unwrap();
    let report = verify_data(home.path()).await.unwrap();
    assert!(
        format!("{report:?}").contains(&study.models[0].sha256),
        "{report:?}"
    );
}
