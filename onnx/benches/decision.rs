//! How long a decision of an AI partner takes: the clone of the example study beside the cook that it was cloned from,
//! and the models of a folder that AGENTS names, as `onnx/benches/agents.py` makes them. Their compiled form is put
//! beside them.
#![expect(clippy::disallowed_types, reason = "a bench measures time")]

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use env_core::contract::{ActionSpec, FieldSpec};
use env_core::{Policy, Spec, World, envs};
use policy::Partners;
use policy::network::ActionChoice;

const MODEL: &[u8] = include_bytes!("../../examples/overcooked-coord/cook_clone.onnx");
const DECISIONS: u32 = 600;
const ROUNDS: u32 = 10;

fn main() {
    let params = r#"{"layout": "cramped_room", "horizon": 600}"#;
    let mut world = envs::open("overcooked", params).expect("the kitchen is known");
    let spec = world.spec().clone();
    let clone = player(&compile(MODEL, &spec), &spec);
    let cook = policy::by_name("cook", &spec).expect("it plays kitchens");
    for (name, mut policy) in [("clone of the cook", clone), ("cook", cook)] {
        let rounds = (0..ROUNDS).map(|seed| play(&mut *world, &mut *policy, u64::from(seed)));
        tell(name, least(rounds));
    }
    if let Some(folder) = std::env::var_os("AGENTS") {
        for name in ["mlp_2x64", "jaxmarl_conv", "gru_128"] {
            model(Path::new(&folder), name);
        }
    }
}

fn tell(name: &str, value: f64) {
    println!(r#"{{"name":"{name}","value":{value:.2},"unit":"µs a decision"}}"#);
}

fn least(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, |best, it| if it < best { it } else { best })
}

/// A model as pages get it.
fn compile(model: &[u8], spec: &Spec) -> Vec<u8> {
    let network = onnx::read(model, spec, ActionChoice::default()).expect("the model is read");
    network.encode().expect("what is read can be written")
}

/// A compiled model in a seat.
fn player(compiled: &[u8], spec: &Spec) -> Box<dyn Policy> {
    let sha256 = "0".repeat(64);
    let mut partners = Partners::default();
    let added = partners.add_model(&sha256, compiled);
    added.expect("what is written can be read");
    let policy = partners.open(&policy::policy_name("model", &sha256), spec);
    policy.expect("it plays the environment that it was read for")
}

/// Measures a model of a folder on observations of which a fifth is not 0, as in a kitchen.
fn model(folder: &Path, name: &str) {
    let bytes = std::fs::read(folder.join(format!("{name}.onnx"))).expect("the model was exported");
    let outline = onnx::outline_model(&bytes).expect("it is a model");
    let values: usize = outline.inputs[0].1.iter().product();
    let action = |at: usize| ActionSpec {
        name: format!("a{at}"),
        ..ActionSpec::default()
    };
    let spec = Spec {
        id: "lab".into(),
        seats: 1,
        actions: (0..6).map(action).collect(),
        observation: vec![FieldSpec {
            name: "all".into(),
            shape: vec![values as u32],
            ..FieldSpec::default()
        }],
        ..Spec::default()
    };
    let compiled = compile(&bytes, &spec);
    // For the browsers, which measure it too.
    std::fs::write(folder.join(format!("{name}.network")), &compiled).expect("the folder is there");
    let mut policy = player(&compiled, &spec);
    policy.reset(0, 0);
    let seen: Vec<f32> = (0..values).map(|at| f32::from(at * 7 % 5 == 0)).collect();
    let round = |_| {
        let before = Instant::now();
        for _ in 0..DECISIONS {
            black_box(policy.act(black_box(&seen)));
        }
        before.elapsed().as_secs_f64() * 1e6 / f64::from(DECISIONS)
    };
    tell(&format!("{name}, here"), least((0..ROUNDS).map(round)));
}

/// Microseconds a decision, in an episode of a seed.
fn play(world: &mut dyn World, policy: &mut dyn Policy, seed: u64) -> f64 {
    world.reset(seed);
    policy.reset(1, seed);
    let noop = world.spec().noop;
    let (mut seen, mut spent, mut acted) = (Vec::new(), 0.0, 0);
    for _ in 0..DECISIONS {
        world.observe(1, &mut seen);
        let before = Instant::now();
        let action = black_box(policy.act(black_box(&seen)));
        spent += before.elapsed().as_secs_f64();
        acted += u32::from(action != noop);
        world.step(&[noop, action]);
    }
    assert!(acted > 0, "a partner that does nothing measures nothing");
    spent * 1e6 / f64::from(DECISIONS)
}
