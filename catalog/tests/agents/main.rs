//! Parity certificates: traces that were played here, written as NumPy writes them, and changed in one place.

#![allow(
    clippy::unwrap_used,
    reason = "clippy knows the helpers of a test only inside its function"
)]

mod files;
mod originals;

use std::path::{Path, PathBuf};

use catalog::agent::{Certificate, CheckOrder, PACKAGES, Tally, check, describe_agent, recipe};
use env_core::envs;
use files::{npy, npy_floats, npy_text, npy_whole, write_npz};
use policy::network::ActionChoice;

const CLONE: &str = "../examples/overcooked-coord/cook_clone.onnx";
const STEPS: usize = 60;
const PARAMS: &str = r#"{"layout": "cramped_room", "horizon": 60}"#;

/// A trace of the clone in seat 1 beside somebody who stands still, in two episodes.
struct Trace {
    observations: Vec<f32>,
    actions: Vec<i64>,
    observed: usize,
}

impl Trace {
    fn play() -> Self {
        let mut world = envs::open("overcooked", PARAMS).unwrap();
        let model = std::fs::read(CLONE).unwrap();
        let network = onnx::read(&model, world.spec(), ActionChoice::default()).unwrap();
        let (noop, spec) = (world.spec().noop, world.spec().clone());
        let (mut observations, mut actions, mut seen) = (Vec::new(), Vec::new(), Vec::new());
        for seed in [7, 8] {
            world.reset(seed);
            for _ in 0..STEPS / 2 {
                world.observe(1, &mut seen);
                let values = network.values(&network.take_values(&spec, &seen), u64::MAX, &mut []);
                let action = network.best_action(&values, u64::MAX) as u16;
                observations.extend(&seen);
                actions.extend([i64::from(noop), i64::from(action)]);
                world.step(&[noop, action]);
            }
        }
        Self {
            observed: spec.observation_len(),
            observations,
            actions,
        }
    }

    fn write(&self, path: &Path, is_compressed: bool) {
        let first: Vec<u8> = (0..STEPS)
            .map(|it| u8::from(it % (STEPS / 2) == 0))
            .collect();
        let arrays = [
            (
                "observations",
                npy_floats(&[STEPS, 1, self.observed], &self.observations),
            ),
            ("actions", npy_whole(&[STEPS, 2], &self.actions)),
            ("is_first", npy("|b1", &[STEPS], &first)),
            ("seats", npy_whole(&[1], &[1])),
            ("seeds", npy_whole(&[2], &[7, 8])),
            ("params", npy_text(PARAMS)),
        ];
        write_npz(path, &arrays, is_compressed);
    }
}

fn order(trace: PathBuf) -> CheckOrder {
    CheckOrder {
        agent: CLONE.into(),
        env: "overcooked".into(),
        params: String::new(),
        rules: None,
        trace,
        actions_only: false,
        is_masked: false,
    }
}

fn checked(trace: &Trace, change: impl Fn(&mut CheckOrder)) -> anyhow::Result<Certificate> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.npz");
    trace.write(&path, true);
    let mut order = order(path);
    change(&mut order);
    check(&order)
}

fn all(count: u64) -> Tally {
    Tally {
        compared: count,
        equal: count,
    }
}

#[test]
fn a_trace_that_was_played_here_is_equal_in_every_number() {
    let trace = Trace::play();
    let dir = tempfile::tempdir().unwrap();
    let mut found = Vec::new();
    for is_compressed in [true, false] {
        let path = dir.path().join("trace.npz");
        trace.write(&path, is_compressed);
        let certificate = check(&order(path)).unwrap();
        assert_eq!(
            (certificate.observations, certificate.actions),
            (all(60), all(60))
        );
        assert!(certificate.is_fine() && certificate.episodes == 2);
        assert!(
            certificate.to_string().contains("60 of 60 equal"),
            "{certificate}"
        );
        found.push(certificate.network_sha256);
    }
    assert_eq!(found[0], found[1]);
}

#[test]
fn the_first_difference_is_named_with_its_step_and_field() {
    let mut trace = Trace::play();
    let (step, at) = (41, 3);
    trace.observations[step * trace.observed + at] += 0.5;
    let certificate = checked(&trace, |_| ()).unwrap();
    assert_eq!(
        (certificate.observations.equal, certificate.is_fine()),
        (59, false)
    );
    let first = certificate.first_observation_difference.unwrap();
    assert_eq!(
        (first.step, first.episode, first.episode_step, first.seat),
        (41, 1, 11, 1)
    );
    let spec = envs::open("overcooked", PARAMS).unwrap().spec().clone();
    let field = &spec.observation[0];
    assert!(
        first.what.starts_with(&format!("{} [", field.name)),
        "{first}"
    );
    assert_eq!(first.recorded - first.here, 0.5);
}

#[test]
fn another_action_is_a_difference_and_without_a_replay_only_actions_are_compared() {
    let mut trace = Trace::play();
    let last = trace.actions.len() - 1;
    trace.actions[last] = (trace.actions[last] + 1) % 6;
    let certificate = checked(&trace, |order| order.actions_only = true).unwrap();
    assert_eq!(
        (certificate.observations.compared, certificate.actions.equal),
        (0, 59)
    );
    let first = certificate.first_action_difference.unwrap();
    assert_eq!((first.step, first.what.as_str()), (59, "action"));
}

#[test]
fn a_trace_that_does_not_fit_is_refused_with_the_fix() {
    let trace = Trace::play();
    let why =
        |change: &dyn Fn(&mut CheckOrder)| format!("{:#}", checked(&trace, change).unwrap_err());
    let other = why(&|order| order.params = r#"{"layout": "asymmetric_advantages"}"#.into());
    assert!(other.contains("an observation of the trace has"), "{other}");
    let odd = why(&|order| order.params = "layout".into());
    assert!(odd.contains("--params: write a JSON object"), "{odd}");
    let none = why(&|order| order.trace = "nowhere.npz".into());
    assert!(none.contains("cannot read nowhere.npz"), "{none}");
    let model = why(&|order| order.trace = CLONE.into());
    assert!(model.contains("it is no .npz file"), "{model}");
}

#[test]
fn a_model_is_shown_with_what_a_decision_costs() {
    let shown = describe_agent(Path::new(CLONE), Some(("overcooked", PARAMS))).unwrap();
    let compiled = shown.compiled.as_ref().unwrap();
    // Two layers of 64: 122 values, and the field of what is decided.
    assert_eq!((compiled.observed, compiled.remembered), (122, 0));
    assert!(compiled.multiplications > 122 * 64, "{compiled:?}");
    assert!(shown.to_string().contains("It plays overcooked"), "{shown}");
    assert!(describe_agent(Path::new("Cargo.toml"), None).is_err());
}

#[test]
fn every_package_has_a_script_that_writes_what_a_check_reads() {
    for package in PACKAGES {
        let script = recipe(package).unwrap();
        for name in [
            "\"observations\"",
            "\"actions\"",
            "\"is_first\"",
            "seats=",
            "seeds=",
            "\"params\"",
            "\"episode_params\"",
            "\"rules\": RULES, \"layout\": LAYOUT, \"horizon\": STEPS",
            "savez_compressed",
        ] {
            assert!(script.contains(name), "{package}: {name}");
        }
        assert_eq!(script.matches("Put your policy here").count(), 1);
    }
    assert_eq!(recipe("chess"), None);
}
