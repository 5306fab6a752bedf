//! Models as frameworks export them, compared with onnxruntime (`golden.py`).

#![allow(
    clippy::unwrap_used,
    reason = "clippy knows the helpers of a test only inside its function"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "values are compared within a bound, and not bit by bit"
)]

use std::path::{Path, PathBuf};

use env_core::contract::{ActionSpec, FieldSpec};
use env_core::{Spec, World as _, envs};
use onnx::{OnnxError, read, read_for};
use policy::network::ActionChoice;
use policy::{Network, Partners};
use serde_json::{Value, json};

/// The models that `exports.py` makes.
const EXPORTS: [&str; 16] = [
    "flax_attention",
    "flax_conv",
    "flax_gru",
    "flax_lstm",
    "keras_conv",
    "keras_lstm",
    "sb3_dqn",
    "sb3_maskable_ppo",
    "sb3_ppo",
    "torch_attention",
    "torch_attention_dynamo",
    "torch_kitchen",
    "torch_kitchen_dynamo",
    "torch_odds",
    "torch_odds_dynamo",
    "torch_pools",
];

fn folder(name: &str) -> PathBuf {
    // `cargo xtask exports` compares what the libraries export today.
    if let (Some(fresh), "exports") = (std::env::var_os("EXPORTS"), name) {
        return fresh.into();
    }
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name)
}

fn model(name: &str) -> Vec<u8> {
    std::fs::read(folder("golden").join(format!("{name}.onnx"))).unwrap()
}

fn floats(value: &Value) -> Vec<f32> {
    let all = value.as_array().unwrap().iter();
    all.map(|it| it.as_f64().unwrap() as f32).collect()
}

/// An environment of which nothing is known but how many values and actions it has.
fn spec(values: usize, actions: usize) -> Spec {
    let action = |index: usize| ActionSpec {
        name: format!("a{index}"),
        momentary: false,
        keys: Vec::new(),
        ..ActionSpec::default()
    };
    let all = FieldSpec {
        name: "all".into(),
        shape: vec![values as u32],
        ..FieldSpec::default()
    };
    Spec {
        id: "lab".into(),
        version: "1.0.0".into(),
        title: "Lab".into(),
        seats: 1,
        actions: (0..actions).map(action).collect(),
        noop: 0,
        observation: vec![all],
        tick_hz: 10,
        horizon: 100,
        events: Vec::new(),
        compact: false,
        ..Spec::default()
    }
}

/// The greatest difference to onnxruntime.
fn difference(path: &Path) -> f32 {
    let name = path.display();
    let text = std::fs::read_to_string(path.with_extension("json")).unwrap();
    let golden: Value = serde_json::from_str(&text).unwrap();
    let actions = golden["actions"].as_u64().unwrap() as usize;
    let values = golden["decisions"][0]["observation"]
        .as_array()
        .unwrap()
        .len();
    let spec = spec(values, actions);
    let model = std::fs::read(path).unwrap();
    let network = read(&model, &spec, ActionChoice::default());
    let network = network.unwrap_or_else(|error| panic!("{name}: {error}"));
    let again = Network::decode(&network.encode().unwrap()).unwrap();
    assert_eq!(again, network, "{name}");
    let mut memory = vec![0.0; network.memory_len()];
    let mut greatest = 0.0_f32;
    let mut kept = Vec::new();
    for decision in golden["decisions"].as_array().unwrap() {
        let mask = decision["mask"].as_array();
        let bits = mask.into_iter().flatten().enumerate();
        let mask = bits
            .map(|(at, bit)| bit.as_u64().unwrap() << at)
            .reduce(|a, b| a | b);
        let mask = mask.unwrap_or(u64::MAX);
        let observation = floats(&decision["observation"]);
        let found = network.values(&observation, mask, &mut memory);
        let bits: Vec<u32> = found.iter().map(|value| value.to_bits()).collect();
        kept.push(json!({"observation": observation, "mask": mask.to_string(), "bits": bits}));
        let expected = floats(&decision["logits"]);
        assert_eq!(found.len(), expected.len(), "{name}");
        // A softmax at the end is left out: it does not change the order, so the test applies it.
        let found = like(&found, &expected);
        for (found, expected) in found.iter().zip(&expected) {
            let apart = (found - expected).abs() / expected.abs().max(1.0);
            assert!(!apart.is_nan(), "{name}: {found} {expected}");
            greatest = greatest.max(apart);
        }
    }
    keep_for_browsers(path, &network, &kept);
    greatest
}

/// Keeps a network and the bits of its values, for the test that computes them in browsers
/// (`tests/e2e/networks.test.mjs`).
fn keep_for_browsers(model: &Path, network: &Network, decisions: &[Value]) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("networks");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(model.file_name().unwrap());
    std::fs::write(file.with_extension("network"), network.encode().unwrap()).unwrap();
    let text = Value::from(decisions).to_string();
    std::fs::write(file.with_extension("json"), text).unwrap();
}

/// Values as they are, or as probabilities or their logarithms if those expected are such.
fn like(values: &[f32], expected: &[f32]) -> Vec<f32> {
    let total: f32 = expected.iter().sum();
    let powers: f32 = expected.iter().map(|it| it.exp()).sum();
    let sum: f32 = values.iter().map(|it| it.exp()).sum();
    let is_one = |total: f32| (total - 1.0).abs() < 1e-4;
    let each = |value: &f32| match (is_one(total), is_one(powers)) {
        (true, _) => value.exp() / sum,
        (_, true) => value - sum.ln(),
        _ => *value,
    };
    values.iter().map(each).collect()
}

/// The greatest difference to onnxruntime of each model of a folder.
fn differences(name: &str) -> Vec<(String, f32)> {
    let files = std::fs::read_dir(folder(name)).unwrap();
    let paths = files.map(|entry| entry.unwrap().path());
    let models = paths.filter(|path| path.extension().is_some_and(|end| end == "onnx"));
    let mut found: Vec<_> = models
        .map(|path| {
            (
                path.file_stem().unwrap().display().to_string(),
                difference(&path),
            )
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

#[test]
fn every_model_says_what_onnxruntime_says() {
    let found = differences("golden");
    assert_eq!(found.len(), 7);
    assert!(found.iter().all(|(_, apart)| *apart < 1e-5), "{found:?}");
}

#[test]
fn every_export_of_a_library_says_what_onnxruntime_says() {
    let found = differences("exports");
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, EXPORTS);
    assert!(found.iter().all(|(_, apart)| *apart < 1e-5), "{found:?}");
}

/// A network that an earlier version compiled, from its data folder.
const OLD: &[u8] = include_bytes!(
    "../../tests/data-folders/v1/overcooked-coord/data/networks/8eeafb10152a4d3e31b60c9ccb03c733f4674bb4ff1d243d6ab8c32ab6eeddac.network"
);

#[test]
fn a_network_of_an_old_data_folder_is_read_and_keeps_its_bytes() {
    let network = Network::decode(OLD).unwrap();
    assert_eq!(network.encode().unwrap(), OLD);
    assert!(!network.wants_mask());
    // The same model compiles to the same bytes today, so studies keep the hash of their partners.
    let world = envs::open("overcooked", r#"{"layout": "cramped_room"}"#).unwrap();
    let again = read(CLONE, world.spec(), network.choice).unwrap();
    assert_eq!(again.encode().unwrap(), OLD);
}

#[test]
fn only_what_decides_is_kept() {
    let network = read(&model("mlp"), &spec(12, 6), ActionChoice::default()).unwrap();
    // Three layers: 16 · 12, 16 · 16, 6 · 16, and what is added. The value function is gone.
    assert_eq!(network.weights.len(), 192 + 16 + 256 + 16 + 96 + 6);
    assert_eq!(network.inputs(), 12);
}

#[test]
fn a_model_without_a_value_for_each_action_says_what_it_has() {
    let error = read(&model("mlp"), &spec(12, 7), ActionChoice::default()).unwrap_err();
    let told = "no output has 7 values, one for each action; there are `value` [1, 1], `logits` [1, 6]. Choose the environment";
    assert!(error.to_string().starts_with(told), "{error}");
}

#[test]
fn a_model_takes_the_field_that_has_its_shape_and_no_other() {
    let conv = std::fs::read(folder("exports").join("keras_conv.onnx")).unwrap();
    let field = |name: &str, shape: &[u32]| FieldSpec {
        name: name.into(),
        shape: shape.into(),
        ..FieldSpec::default()
    };
    let taken = |model: &[u8], fields: &[FieldSpec], encoding| {
        let spec = Spec {
            observation: fields.into(),
            ..spec(12, 6)
        };
        let network = read_for(model, &spec, encoding, ActionChoice::default())?;
        let names: Vec<String> = network.fields.iter().map(|it| it.name.clone()).collect();
        Ok::<_, OnnxError>(names)
    };
    // Of fields with equal length, the shape tells.
    let shaped = [field("turned", &[5, 4, 6]), field("grid", &[4, 5, 6])];
    assert_eq!(taken(&conv, &shaped, None).unwrap(), ["grid"]);
    for fields in [&shaped[..], &shaped[..1]] {
        let encoding = (fields.len() > 1).then_some("turned");
        let error = taken(&conv, fields, encoding).unwrap_err().to_string();
        let wrong = "input `obs` has the sides [4, 5, 6], and the observation `turned` has [5, 4, 6]: the model would take \
                     each value for another one.";
        assert!(error.starts_with(wrong), "{error}");
    }
    let beside = [field("features", &[12]), field("turned", &[5, 4, 6])];
    let error = taken(&conv, &beside, None).unwrap_err().to_string();
    assert!(error.contains("`turned` has [5, 4, 6]"), "{error}");
    // A row has no sides.
    let row = [field("turned", &[3, 4])];
    assert_eq!(
        taken(&model("mlp"), &row, Some("turned")).unwrap(),
        ["turned"]
    );
    let both = [field("grid", &[4, 5, 6]), field("bright", &[4, 5, 6])];
    assert_eq!(
        taken(&conv, &both, None).unwrap_err().to_string(),
        "input `obs` [1, 4, 5, 6] fits `grid` [4, 5, 6], `bright` [4, 5, 6]; write which one it takes, such as \
         `observation: grid`"
    );
    assert_eq!(taken(&conv, &both, Some("bright")).unwrap(), ["bright"]);
    let wrong = taken(&conv, &both, Some("brigt")).unwrap_err().to_string();
    let told = "`lab` gives no observation `brigt` here; it gives `grid` [4, 5, 6], `bright` [4, 5, 6]. Add";
    assert!(wrong.starts_with(told), "{wrong}");
    // A row of numbers has to be named, as it can fit by chance.
    let rows = [field("features", &[12]), field("pots", &[3])];
    let error = taken(&model("mlp"), &rows, None).unwrap_err().to_string();
    assert_eq!(
        error,
        "input `obs` takes 12 values, and the observation has 15; if it takes `features` [12] alone, write so, such as \
         `observation: features`"
    );
    assert_eq!(
        taken(&model("mlp"), &rows, Some("features")).unwrap(),
        ["features"]
    );
    // A model of another environment takes none of the fields.
    let error = taken(CLONE, &rows, None).unwrap_err().to_string();
    let told = "input `agent_dir` is not a field of the observation of `lab`, whose fields are `features` [12], `pots` [3]";
    assert!(error.starts_with(told), "{error}");
}

#[test]
fn metadata_scale_the_observation_and_ask_for_the_mask() {
    let path = folder("exports").join("torch_kitchen.onnx");
    let bytes = std::fs::read(path).unwrap();
    let network = read(&bytes, &spec(100, 6), ActionChoice::default()).unwrap();
    assert!(network.wants_mask());
    // The key is there once, and as long as another that is not known.
    let key = b"coplay.observation_scale";
    let at = bytes.windows(key.len()).position(|it| it == key).unwrap();
    let mut odd = bytes.clone();
    odd[at..at + key.len()].copy_from_slice(b"coplay.observation_sheep");
    let error = read(&odd, &spec(100, 6), ActionChoice::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the metadata say `coplay.observation_sheep` = `255`; the keys are `coplay.observation_scale` and \
         `coplay.action_mask`"
    );
    let error = read(&bytes, &spec(100, 5), ActionChoice::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "input `action_mask` takes a mask of [1, 6], and `lab` has 5 actions"
    );
}

#[test]
fn what_is_no_model_is_refused() {
    for bytes in [&b""[..], b"hello", &[0xff; 40]] {
        let error = read(bytes, &spec(12, 6), ActionChoice::default()).unwrap_err();
        assert!(matches!(error, OnnxError::Model(_)), "{error}");
    }
}

#[test]
fn a_model_that_is_cut_or_changed_never_panics() {
    let whole = model("lstm");
    for len in (0..whole.len()).step_by(7) {
        assert!(read(&whole[..len], &spec(6, 5), ActionChoice::default()).is_err());
    }
    for place in (0..whole.len()).step_by(3) {
        let mut changed = whole.clone();
        changed[place] ^= 0x5a;
        if let Ok(network) = read(&changed, &spec(6, 5), ActionChoice::default()) {
            network.encode().expect("what is read can be played");
        }
    }
}

/// A model that takes fields as large as in kitchens with two pots.
const CLONE: &[u8] = include_bytes!("../../examples/overcooked-coord/cook_clone.onnx");

/// The clone's input from an observation, put together by hand.
fn taken(network: &Network, spec: &Spec, seen: &[f32]) -> Vec<f32> {
    let mut taken = Vec::new();
    for own in &network.fields {
        let mut start = 0;
        for field in &spec.observation {
            let len = field.shape.iter().product::<u32>() as usize;
            if field.name == own.name {
                taken.extend_from_slice(&seen[start..start + len]);
                taken.resize(taken.len() + own.len as usize - len, 0.0);
            }
            start += len;
        }
    }
    taken
}

fn greatest(values: &[f32]) -> u16 {
    let best = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    values.iter().position(|value| *value == best).unwrap() as u16
}

#[test]
fn an_input_that_is_larger_than_its_field_ends_with_zeros() {
    let mut made = Vec::new();
    for (layout, inputs) in [("cramped_room", 98), ("asymmetric_advantages", 122)] {
        let params = format!(r#"{{"layout": "{layout}", "horizon": 600}}"#);
        let mut world = envs::open("overcooked", &params).unwrap();
        let spec = world.spec().clone();
        let network = read(CLONE, &spec, ActionChoice::default()).unwrap();
        let bytes = network.encode().unwrap();
        let mut partners = Partners::default();
        let sha256 = "0".repeat(64);
        partners.add_model(&sha256, &bytes).unwrap();
        let mut clone = partners
            .open(&policy::policy_name("clone", &sha256), &spec)
            .unwrap();
        let mut cook = partners.open("cook", &spec).unwrap();
        world.reset(3);
        clone.reset(1, 3);
        cook.reset(0, 3);
        let mut seen = [Vec::new(), Vec::new()];
        let mut acts = std::collections::BTreeSet::new();
        for _ in 0..200 {
            world.observe(0, &mut seen[0]);
            world.observe(1, &mut seen[1]);
            let taken = taken(&network, &spec, &seen[1]);
            assert_eq!(taken.len(), 122);
            assert_eq!(seen[1].len() - masks(&spec), inputs);
            let action = clone.act(&seen[1]);
            assert_eq!(action, greatest(&network.values(&taken, u64::MAX, &mut [])));
            acts.insert(action);
            world.step(&[cook.act(&seen[0]), action]);
        }
        assert!(acts.len() > 3, "{layout}: {acts:?}");
        made.push(bytes);
    }
    assert_eq!(made[0], made[1], "one network plays both");
}

/// Values of the field that the clone does not take.
fn masks(spec: &Spec) -> usize {
    let field = spec.observation.last().unwrap();
    assert_eq!(field.name, "object_type_masks");
    field.shape.iter().product::<u32>() as usize
}

#[test]
fn an_input_that_is_smaller_than_its_field_is_refused() {
    let world = envs::open("overcooked", "{}").unwrap();
    let mut spec = world.spec().clone();
    let mut fields = spec.observation.iter_mut();
    let pots = fields.find(|field| field.name == "ordered_pot_features");
    pots.unwrap().shape = vec![3, 12];
    let error = read(CLONE, &spec, ActionChoice::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "input `ordered_pot_features` takes 24 values, and the field `ordered_pot_features` has 36; give the input the \
         size of the largest field that the model is to take"
    );
}
